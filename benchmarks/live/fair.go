package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/trace"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
)

// The phases of a program that is alternately busy and quiet: two goroutines hand a value over,
// 37,000, 170,000 and some 1.7 million times a second.

func quiet(from, to chan bool, end func()) { handOver(from, to, end, 27*time.Microsecond) }
func brisk(from, to chan bool, end func()) { handOver(from, to, end, 5800*time.Nanosecond) }
func busy(from, to chan bool, end func())  { handOver(from, to, end, 0) }

var phases = []struct {
	name string
	run  func(from, to chan bool, end func())
}{{"main.quiet", quiet}, {"main.brisk", brisk}, {"main.busy", busy}}

// handOver receives values, works, and passes them on, until the channel is closed.
func handOver(from, to chan bool, end func(), work time.Duration) {
	defer end()
	for range from {
		if work > 0 {
			for start := time.Now(); time.Since(start) < work; {
			}
		}
		to <- true
	}
}

// phase is the time of a phase.
type phase struct {
	kind     int
	from, to time.Time
}

// one runs a phase for a while.
func one(kind int, d time.Duration) phase {
	p := phase{kind: kind, from: time.Now()}
	a, b, ended := make(chan bool), make(chan bool), make(chan bool)
	go phases[kind].run(a, b, func() { close(b) })
	go phases[kind].run(b, a, func() { close(ended) })
	a <- true
	time.Sleep(d)
	<-a // the value arrives eventually
	close(a)
	<-ended
	p.to = time.Now()
	return p
}

// shareOf returns the share of a phase's group in a graph, and half the width of its interval.
func shareOf(g *bottle.Graph, kind int) (share, half float64) {
	for i := range g.Boxes {
		if b := &g.Boxes[i]; strings.HasSuffix(b.Group, phases[kind].name[len("main"):]) {
			share, half = float64(b.Share)/float64(g.Wall), float64(b.ShareError)/float64(g.Wall)
		}
	}
	return share, half
}

// alone returns the share of a phase's group in a time with no other phase, from a trace of all of
// it: the rest is the tracer's, and idle time between hand-overs.
func alone(kind int) (float64, error) {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		return 0, err
	}
	one(kind, time.Second)
	trace.Stop()
	g, err := bottle.ReadTrace(context.Background(), &buf, bottle.Options{})
	if err != nil {
		return 0, err
	}
	share, _ := shareOf(g, kind)
	return share, nil
}

// alternate runs phases of half a second to one and a half seconds, until some time has passed.
func alternate(length time.Duration) (done []phase) {
	for begin := time.Now(); time.Since(begin) < length; {
		done = append(done, one(len(done)%len(phases), time.Duration((0.5+rand.Float64())*float64(time.Second))))
	}
	return done
}

// fair repeatedly runs a continuous analysis of that program, and prints how often the share of
// each phase is within its interval.
func fair(w io.Writer, runs int, length time.Duration) error {
	within, all := 0, 0
	whole := make([]float64, len(phases))
	for kind := range phases {
		var err error
		if whole[kind], err = alone(kind); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s has %.1f %% of its own time\n", phases[kind].name, 100*whole[kind])
	}
	for i := range runs {
		c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
		if err := c.Start(); err != nil {
			return err
		}
		done := alternate(length)
		c.Stop()
		l := c.Read()
		fmt.Fprintf(w, "run %2d: %d bursts, %.1f %% of the time seen, %.2f %% of the machine used:", i+1, l.Windows, 100*l.Coverage,
			100*float64(l.Stream.CPU)/float64(l.Stream.Elapsed)/float64(l.Bottle.Procs))
		for kind := range phases {
			var truth float64
			for _, p := range done {
				if p.kind == kind {
					truth += p.to.Sub(p.from).Seconds() / done[len(done)-1].to.Sub(done[0].from).Seconds()
				}
			}
			truth *= whole[kind]
			share, half := shareOf(l.Bottle, kind)
			mark := "outside"
			if all++; share-half <= truth && truth <= share+half {
				mark = "within"
				within++
			}
			fmt.Fprintf(w, "  %s %.0f %% ± %.0f (true %.0f: %s)", phases[kind].name, 100*share, 100*half, 100*truth, mark)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%d of %d shares within their interval of 95 %%\n", within, all)
	return nil
}
