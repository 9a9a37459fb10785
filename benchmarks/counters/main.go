// Counters measures the cost of recording counters for a service: the same requests without a
// recording, with an execution trace alone, and with the default counters as well, interleaved.
//
//	go run ./benchmarks/counters
//	go run ./benchmarks/counters -counters task-clock,faults -rounds 20
//
// The service is like examples/service, but it computes instead of waiting for a disk, so that both
// processors are busy all the time and the whole cost of a recording appears in the wall time. For
// examples/service itself, without its flight recorder, use
//
//	go test -run - -bench Counters -benchtime 20x ./examples/service
//
// For each way it prints the ratio to the requests without a recording, for the wall time and for
// the processor time of the process: the median of the ratios of the rounds, whose ways run one
// after another, with its 95 % confidence interval. On a shared machine, prefer the processor time.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/proctime"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("counters: ")
	rounds := flag.Int("rounds", 15, "rounds, of each way once")
	requests := flag.Int("requests", 4000, "requests of a round and way")
	work := flag.Duration("work", 200*time.Microsecond, "about how much processor time a request needs")
	list := flag.String("counters", strings.Join(counters.DefaultCounters(), ","), "what to count")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 || *requests < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ways := []*way{
		{name: "no recording"},
		{name: "trace alone", record: true, opt: counters.StartOptions{Counters: []string{}}},
		{name: "trace and counters", record: true, opt: counters.StartOptions{Counters: strings.Split(*list, ",")}},
	}
	s := newService(*work)
	defer s.Close()
	for round := range *rounds + 1 {
		for i := range ways {
			w := ways[(i+round)%len(ways)] // so that no way is always first
			if err := w.run(s, *requests, round > 0); err != nil {
				log.Fatal(err)
			}
		}
	}
	report(ways, *requests)
}

// way is a way of running the requests.
type way struct {
	name      string
	record    bool
	opt       counters.StartOptions
	wall, cpu []time.Duration
	rows      int
	warnings  []string
}

// run answers the requests once. The first round warms up. The measurement ends with the requests:
// in practice, a recording is processed later or elsewhere.
func (w *way) run(s *service, requests int, measured bool) error {
	var session *counters.Session
	if w.record {
		var err error
		if session, err = counters.Start(w.opt); err != nil {
			return err
		}
	}
	begin, cpu := time.Now(), proctime.Self()
	if err := s.load(requests); err != nil {
		return err
	}
	wall, used := time.Since(begin), proctime.Self()-cpu
	if session != nil {
		r, err := quanta.Stop(context.Background(), session, quanta.Options{})
		if err != nil {
			return err
		}
		w.rows, w.warnings = r.Len(), r.Warnings
	}
	if measured {
		w.wall, w.cpu = append(w.wall, wall), append(w.cpu, used)
	}
	return nil
}

func report(ways []*way, requests int) {
	base := ways[0]
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\twall time\tprocessor time\tquanta\t")
	for _, w := range ways {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t\n", w.name, medianRatio(w.wall, base.wall), medianRatio(w.cpu, base.cpu), w.rows)
	}
	t.Flush()
	fmt.Printf("\n%d requests, %d rounds.\n", requests, len(base.wall))
	for _, s := range ways[len(ways)-1].warnings {
		fmt.Println(s)
	}
}

// medianRatio writes the median of the ratios of the rounds, with its 95 % confidence interval.
func medianRatio(a, b []time.Duration) string {
	rs := make([]float64, len(a))
	for i := range a {
		rs[i] = float64(a[i]) / float64(max(b[i], 1))
	}
	return median.Of(rs).Text("%.3f")
}
