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
//	go tool pprof -top -cum bottle.pb.gz                   # who takes the time: the shares; 100% is the wall time
//	go tool pprof -top -sample_index=running bottle.pb.gz  # 308% in all is a mean parallelism of 3.08
//	go tool pprof -http=: bottle.pb.gz                     # the flame graph: the code of each box, as wide as its share
//
// The root of each stack is a box, "[group] name". The call chains of its goroutines follow, if the
// graph has them ([bottle.Options.Stacks]): the samples of a box sum to its share and to its
// running time. What has no call chain is "[not sampled]"; the idle time is a sample of its own,
// "[idle]". Without call chains, as in a graph with windows or one that was saved as JSON, a box is
// one sample. What stands in brackets is not code: its file name tells what it is instead.
//
// Samples carry the labels group, kind and source, and window_start (nanoseconds from
// the beginning of the trace) in a graph with windows. The source is that of the call chain: "cpu
// samples" where a CPU profile ran as well; "scheduling events" where the event that stopped the
// goroutine stands for the time before it; "not sampled" or "none". So
//
//	go tool pprof -top -tagfocus=window_start=1s:2s bottle.pb.gz
//	go tool pprof -http=: -tagroot=window_start bottle.pb.gz
//
// show a phase, or phase by phase. Goroutine ids never become labels.
//
// Databases refuse large profiles. Write stays under 16,000 samples and 4 MB: it
// folds the smallest boxes and call chains, or gives up the windows, and the profile's comments
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
	// File and BuildID name the executable that was traced; empty when not known: pprof then
	// shows "program" in titles.
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
	p.Comments = append(p.Comments, notes...)
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
