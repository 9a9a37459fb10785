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
	"fmt"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
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

// node is a simulated node.
type node struct{ id, compute int }

// step computes and logs its results: three measurements, then a packet.
func (n *node) step(l logger, i int) {
	state := uint64(n.id)<<32 + uint64(i)
	for range n.compute {
		state = state*6364136223846793005 + 1442695040888963407
	}
	if i%4 == 3 {
		n.send(l, i, state)
	} else {
		n.sense(l, i, state)
	}
}

func (n *node) sense(l logger, i int, state uint64) {
	l.Print(fmt.Sprintf("node %d, step %d: measured %d\n", n.id, i, state>>32))
}

func (n *node) send(l logger, i int, state uint64) {
	l.Print(
		fmt.Sprintf("node %d, step %d: sent a packet\n", n.id, i),
		fmt.Sprintf("    header %08x\n", state>>32),
		fmt.Sprintf("    body   %08x\n", state<<32>>32))
}

// logger prints lines. The lines of one call stay together. Close waits until all are printed.
type logger interface {
	Print(lines ...string)
	Close()
}

// locked prints each line immediately. Its lock is held while the terminal writes.
type locked struct {
	mu  contention.Mutex // was: sync.Mutex
	out io.Writer
}

func newLocked(out io.Writer) logger {
	l := &locked{out: out}
	l.mu.SetName("terminal")
	return l
}

func (l *locked) Print(lines ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range lines {
		io.WriteString(l.out, line)
	}
}

func (l *locked) Close() {}

// queued keeps the lines for one goroutine, which prints all queued lines at once. Its lock is held
// only to append a line.
type queued struct {
	mu    contention.Mutex
	lines []byte
	more  chan struct{} // signals that there are lines; closed at the end
	done  chan struct{}
}

func newQueued(out io.Writer) logger {
	q := &queued{more: make(chan struct{}, 1), done: make(chan struct{})}
	q.mu.SetName("queue")
	go q.print(out)
	return q
}

func (q *queued) Print(lines ...string) {
	q.mu.Lock()
	for _, line := range lines {
		q.lines = append(q.lines, line...)
	}
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default: // already signaled
	}
}

// print writes the queued lines until the queue is closed.
func (q *queued) print(out io.Writer) {
	defer close(q.done)
	var batch []byte
	for open := true; open; {
		_, open = <-q.more
		q.mu.Lock()
		batch, q.lines = q.lines, batch[:0]
		q.mu.Unlock()
		if len(batch) > 0 {
			out.Write(batch)
		}
	}
}

func (q *queued) Close() {
	close(q.more)
	<-q.done
}
