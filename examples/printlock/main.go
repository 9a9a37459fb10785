// Printlock is the program avrora of section 6 of the paper on lock contention (Hofer, Gnedt,
// Schörgenhumer, Mössenböck, ICPE 2016) in Go. There, a simulator of sensor networks runs a thread
// for each node. All of them log, and the lock around the output serializes them. The repaired
// version puts the lines into a queue, from which one goroutine prints.
//
//	go run .                  # both versions: waiters, owners and steps per second
//	go run . -o profiles      # keeps profiles for "bottleneck contention profiles/before.json"
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("printlock: ")
	o := options{}
	flag.IntVar(&o.nodes, "nodes", 8, "number of goroutines")
	flag.DurationVar(&o.time, "time", time.Second, "how long each version runs")
	flag.StringVar(&o.dir, "o", "", "`directory` to write profiles to")
	flag.DurationVar(&o.print, "print", 200*time.Microsecond, "time of the terminal for one write, of one or several lines")
	flag.IntVar(&o.compute, "compute", 20_000, "iterations of computation for each step of a node")
	flag.Parse()
	if flag.NArg() > 0 || o.nodes < 2 || o.time <= 0 || o.print < 0 || o.compute < 0 {
		flag.Usage()
		os.Exit(2)
	}
	if _, err := o.run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// options are the flags.
type options struct {
	nodes, compute int
	time, print    time.Duration
	dir            string
}

// result is the result of a version.
type result struct {
	name, about string
	steps       int64
	waits       *contention.Profile
	blame       *contention.Tree // by function of the owner
}

// run runs both versions, and writes a report of each and a table.
func (o *options) run(w io.Writer) ([]*result, error) {
	results := []*result{{name: "before", about: "every node prints under one lock"}, {name: "after", about: "nodes queue their lines, one goroutine prints them"}}
	for i, r := range results {
		if err := o.measure(r, []func(io.Writer) logger{newLocked, newQueued}[i]); err != nil {
			return nil, err
		}
		fmt.Fprintf(w, "── %s: %s ──\n\n", r.name, r.about)
		if err := text.WriteContention(w, r.waits, text.ContentionOptions{Options: text.Options{Top: 3}}); err != nil {
			return nil, err
		}
		fmt.Fprintln(w)
		if err := r.write(o.dir); err != nil {
			return nil, err
		}
	}
	tw := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprintf(tw, "\tsteps/s\t\twaited at a time\tmost of it for\n")
	rate := func(r *result) float64 { return float64(r.steps) / r.waits.Duration.Seconds() }
	for _, r := range results {
		worst := "none"
		if c := r.blame.Children; len(c) > 0 {
			worst = fmt.Sprintf("%s, %s", format.Func(c[0].Key), format.Percent(c[0].Waited, r.blame.Waited))
		}
		fmt.Fprintf(tw, "%s\t%s\t×%.2f\t%s of %d\t%s\n", r.name, format.Count(int64(rate(r))), rate(r)/rate(results[0]),
			format.Parallelism(float64(r.blame.Waited)/float64(r.waits.Duration)), o.nodes, worst)
	}
	return results, tw.Flush()
}

// measure runs a version and collects its waits.
func (o *options) measure(r *result, newLogger func(io.Writer) logger) error {
	l := newLogger(terminal(o.print))
	if err := contention.Start(contention.Options{}); err != nil {
		return err
	}
	end := time.Now().Add(o.time)
	var steps atomic.Int64
	var nodes sync.WaitGroup
	for id := range o.nodes {
		nodes.Go(func() {
			n := &node{id, o.compute}
			for i := 0; time.Now().Before(end); i++ {
				n.step(l, i)
				steps.Add(1)
			}
		})
	}
	nodes.Wait()
	l.Close()
	if err := contention.Stop(); err != nil {
		return err
	}
	var err error
	r.steps, r.waits = steps.Load(), contention.Snapshot()
	r.blame, err = r.waits.Aggregate(contention.ByOwnerFunc)
	return err
}

// write writes the profile of a version.
func (r *result) write(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := contention.WriteJSON(&b, r.waits); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, r.name+".json"), b.Bytes(), 0o666)
}

// terminal is a writer that takes a fixed time for each write, as terminals and files do.
type terminal time.Duration

func (t terminal) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(t))
	return len(p), nil
}
