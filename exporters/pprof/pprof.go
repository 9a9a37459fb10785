// Package pprof makes results profiles for go tool pprof and other tools that read the format, such
// as that of a bottle graph:
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
//		p, err := pprof.Profile(g, pprof.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := p.Write(os.Stdout); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// Three ways to read it:
//
//	go tool pprof -top -cum bottle.pb.gz                   # shares; 100% is the wall time
//	go tool pprof -top -sample_index=running bottle.pb.gz  # 308% is a parallelism of 3.08
//	go tool pprof -http=: bottle.pb.gz                     # flame graph of the shares
//
// The root of each stack is a box, "[group] name". If the graph has call stacks
// ([bottle.Options.Stacks]), those of its goroutines follow: the samples of a box sum to its share
// and to its running time. Time without a call stack is "[not sampled]", idle time "[idle]".
//
// Samples have the labels group, kind and source (of the call stack: "cpu samples", or "scheduling
// events" if the event that stopped the goroutine stands for the time before it). In a graph with
// windows they have window_start, so "go tool pprof -tagroot=window_start" shows all phases.
//
// Databases refuse large profiles. Those of this package stay under 16,000 samples and 4 MB: the
// smallest boxes and call stacks are folded, or the windows dropped, and the profile's comments
// record that. A graph of 300 boxes takes 2.5 ms (BenchmarkWrite).
package pprof

import (
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// Options configures profiles. The zero value is ready to use.
type Options struct {
	// Time is the wall-clock time at which a graph or a ledger begins; zero if unknown. Other
	// results have their own.
	Time time.Time
	// File and BuildID identify the traced executable. If File is empty, pprof shows "program" in
	// titles.
	File, BuildID string
	// View selects whose call stacks the samples of [Contention] have; empty means
	// [contention.OwnerView].
	View string
}

// Profile returns a graph as a profile with the sample types share/nanoseconds, the default, and
// running/nanoseconds. For a graph of offered parallelism they are offered_share and
// offered_running instead, so that no tool adds or compares the two.
//
// The error is that of [profile.Profile.CheckValid].
func Profile(g *bottle.Graph, opt Options) (*profile.Profile, error) {
	return checked(build(g, opt))
}
