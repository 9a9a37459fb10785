// Package pprof writes a bottle graph as a profile for go tool pprof and for
// everything else that reads the format: flame graphs in a browser, diffs of two
// runs, databases of profiles.
//
// A small program that writes one:
//
//	package main
//
//	import (
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/pprof"
//	)
//
//	func main() {
//		g, err := bottle.ReadJSON(os.Stdin)
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := pprof.Write(os.Stdout, g, pprof.Options{}); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// and two ways to read it:
//
//	go tool pprof -top bottle.pb.gz                        # who takes the time: the shares; 100% is the wall time
//	go tool pprof -top -sample_index=running bottle.pb.gz  # 308% in all is a mean parallelism of 3.08
//
// Each box is one sample (one for each window when the graph has windows), and
// the idle time is one of its own, [idle]. Stacks are short: below the frame of
// the kind, such as [gc], which the program's own goroutines do not have, stands
// the box: under its own name where that is a function, else as "[group] name".
// What stands in brackets is not code: its file name tells what it is instead.
//
// Samples carry the labels group and kind, and window_start (nanoseconds from
// the beginning of the trace) in a graph with windows, so that
//
//	go tool pprof -top -tagfocus=window_start=1s:2s bottle.pb.gz
//	go tool pprof -http=: -tagroot=window_start bottle.pb.gz
//
// show a phase, or phase by phase. Goroutine ids never become labels.
//
// Databases refuse large profiles. Write stays under 16,000 samples and 4 MB: it
// folds the smallest boxes, or gives up the windows, and the profile's comments
// (go tool pprof -comments) say what was done.
//
// Writing a graph of 12 boxes takes 0.4 ms, one of 300 boxes 2.5 ms, much of
// it for gzip: see BenchmarkWrite.
package pprof

import (
	"fmt"
	"io"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// Options holds what a graph does not know. The zero value is ready to use.
type Options struct {
	// Time is when the graph begins, by the clock on the wall; zero when that is not known.
	Time time.Time
	// File and BuildID name the executable that was traced; empty when not known: pprof then shows
	// "program" in titles.
	File, BuildID string
}

// Profile turns a graph into a profile with the sample types
// share/nanoseconds, the default, and running/nanoseconds. Those of a graph of
// offered parallelism are offered_share and offered_running instead, so that
// no tool adds or compares the two.
//
// The error is that of [profile.Profile.CheckValid].
func Profile(g *bottle.Graph, opt Options) (*profile.Profile, error) {
	g, notes := limit(g)
	p := build(g, opt)
	p.Comments = append(comments(g), notes...)
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("pprof: building the profile: %w", err)
	}
	return p, nil
}

// Write writes the profile of a graph to w, compressed by gzip as is usual.
// The errors are those of [Profile] and of w.
func Write(w io.Writer, g *bottle.Graph, opt Options) error {
	p, err := Profile(g, opt)
	if err != nil {
		return err
	}
	if err := p.Write(w); err != nil {
		return fmt.Errorf("pprof: writing the profile: %w", err)
	}
	return nil
}
