// Printlock is the avrora of section 6 of the paper on lock contention (Hofer, Gnedt,
// Schörgenhumer, Mössenböck, ICPE 2016) as a Go program. There, a simulator of sensor networks runs a
// thread for each node; all of them log what they do, and the lock around the output
// serialises them. The repaired version puts the lines into a queue, from which one goroutine prints.
//
//	go run .                  # both versions: who waited for whom, and steps a second
//	go run . -o profiles      # writes profiles for go tool pprof, JSON and pictures, too
package main

import (
	"flag"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/examples/internal/beforeafter"
)

func main() {
	o := options{}
	flag.DurationVar(&o.print, "print", 200*time.Microsecond, "how long the terminal takes for a line, or several that are written at once")
	flag.IntVar(&o.compute, "compute", 20_000, "steps of computation for each step of a node, which is a goroutine")
	beforeafter.Main(beforeafter.Example{
		Unit:     "steps",
		Valid:    func() bool { return o.print >= 0 && o.compute >= 0 },
		Variants: o.variants,
	})
}

type options struct {
	compute int
	print   time.Duration
}

func (o *options) variants() []beforeafter.Variant {
	version := func(newLogger func(io.Writer) logger) func() beforeafter.Work {
		return func() beforeafter.Work {
			return &simulation{compute: o.compute, logger: newLogger(terminal(o.print))}
		}
	}
	return []beforeafter.Variant{
		{Name: "before", About: "every node prints under one lock", Start: version(newLocked)},
		{Name: "after", About: "nodes queue their lines, one goroutine prints them", Start: version(newQueued)},
	}
}

// simulation is what goroutines do: each is a node.
type simulation struct {
	compute int
	logger
}

// Do is the next step of a node.
func (s *simulation) Do(id, i int) { (&node{id, s.compute}).step(s.logger, i) }

// terminal is a writer that takes its time for each write, as terminals and files do.
type terminal time.Duration

func (t terminal) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(t))
	return len(p), nil
}
