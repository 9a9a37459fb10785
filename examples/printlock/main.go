// Printlock is the program avrora of section 6 of the paper on lock contention (Hofer, Gnedt,
// Schörgenhumer, Mössenböck, ICPE 2016) in Go. There, a simulator of sensor networks runs a thread
// for each node. All of them log, and the lock around the output serializes them. The repaired
// version puts the lines into a queue, from which one goroutine prints.
//
//	go run .                  # both versions: waiters, owners and steps per second
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
	flag.DurationVar(&o.print, "print", 200*time.Microsecond, "time of the terminal for one write, of one or several lines")
	flag.IntVar(&o.compute, "compute", 20_000, "steps of computation for each step of a node")
	beforeafter.Main("steps", func() bool { return o.print >= 0 && o.compute >= 0 }, o.variants)
}

type options struct {
	compute int
	print   time.Duration
}

func (o *options) variants() []beforeafter.Variant {
	version := func(newLogger func(io.Writer) logger) func() (func(id, i int), func()) {
		return func() (func(id, i int), func()) {
			l := newLogger(terminal(o.print))
			return func(id, i int) { (&node{id, o.compute}).step(l, i) }, l.Close
		}
	}
	return []beforeafter.Variant{
		{Name: "before", About: "every node prints under one lock", Start: version(newLocked)},
		{Name: "after", About: "nodes queue their lines, one goroutine prints them", Start: version(newQueued)},
	}
}

// terminal is a writer that takes a fixed time for each write, as terminals and files do.
type terminal time.Duration

func (t terminal) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(t))
	return len(p), nil
}
