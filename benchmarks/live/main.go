// Live measures the cost of observing a running program, compared with doing nothing and with
// trace.FlightRecorder alone, on which all of it is based.
//
//	go run ./benchmarks/live                        # all workloads, some ten minutes
//	go run ./benchmarks/live -workload service -rounds 5
//	go run ./benchmarks/live -workload fasthttp,redcon      # fetches these modules
//	go run ./benchmarks/live -workload 1000 -ways flight,continuous   # 1,000 goroutines, one mutex
//	go run ./benchmarks/live -workload service -ways nothing,trace,counters
//	go run ./benchmarks/live -storm -for 90s        # 10,000 slow requests a second, watched or not
//	go run ./benchmarks/live -fair 20 -for 1m       # are shares within their intervals?
//	go run ./benchmarks/live -churn -for 10m        # 100,000 goroutines a second: is memory flat?
//
// The ways are: flight, a trace.FlightRecorder; nothing; recorder, a bottle.Recorder; continuous, a
// bottleneck.Continuous. Others are compared only by name: trace, an execution trace in a file, and
// counters, the trace and the default counters. Server and clients run in one process, on the loopback.
// Each way runs for a few seconds in turn, back and forth, and is compared to the first one in the same
// round.
//
// The latency is that of clients that arrive at random times and use a third of the processors
// together, from their scheduled time; for goroutines that wait for a mutex, from the request for
// it.
//
// Quote the ratios and their confidence intervals: on a busy machine these are wide.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/benchmarks/live/ab"
)

func main() {
	names := flag.String("workload", "service,fasthttp,redcon,pingpong,100,1000,10000", "which workloads, separated by commas; a number is that of goroutines that wait for one mutex")
	slice := flag.Duration("slice", 4*time.Second, "how long each way runs at a time")
	rounds := flag.Int("rounds", 10, "how often each way gets its turn")
	ways := flag.String("ways", "", "which ways, separated by commas, compared to the first one; all, compared to flight, if empty")
	heap := flag.Int("heap", 128, "how many MB the program keeps besides what the workload does")
	churning := flag.Bool("churn", false, "instead: continuous analysis while goroutines are born and gone, and the memory")
	storm := flag.Bool("storm", false, "instead: the service beside 10,000 slow requests a second, which a capture.Capturer watches or not")
	length := flag.Duration("for", 10*time.Minute, "how long the storm, the churn, or each run of -fair, lasts")
	rate := flag.Int("rate", 100_000, "goroutines a second in the churn")
	budget := flag.Float64("budget", 0.02, "of the continuous analysis in the churn")
	fairly := flag.Int("fair", 0, "instead: how many times to compare the shares of a program that is busy and quiet alternately to the true ones")
	every := flag.Duration("every", 20*time.Second, "how often the churn prints the memory")
	flag.Parse()
	var err error
	switch {
	case *fairly > 0:
		err = fair(os.Stdout, *fairly, *length)
	case *churning:
		_, err = churn(os.Stdout, *length, *every, *rate, *budget)
	case *storm:
		err = ab.Storm(os.Stdout, service(), *length, *heap<<20)
	default:
		err = compare(strings.Split(*names, ","), ab.Options{Slice: *slice, Rounds: *rounds, Ways: *ways, Heap: *heap << 20})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

var workloads = map[string]func() ab.Workload{"service": service, "pingpong": pingPong}

func compare(names []string, opt ab.Options) error {
	for _, name := range names {
		var err error
		if n, bad := strconv.Atoi(name); bad == nil && n > 0 {
			err = ab.Compare(os.Stdout, waiters(n), opt)
		} else if own := workloads[name]; own != nil {
			err = ab.Compare(os.Stdout, own(), opt)
		} else {
			err = foreign(name, opt)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
