// Warmup is a program whose locality drops before each garbage collection and recovers after it, as
// in figures 3, 8 and 9 of P. Sweeney, M. Hauswirth and others, "Using Hardware Performance
// Monitors to Understand the Behavior of Java Applications" (VM 2004), where the collector's
// copying puts objects that belong together next to each other again.
//
// A worker walks along a list, unit of work by unit of work, and replaces entries. Package counters
// records each unit as a quantum. The program prints the time of a unit in each tenth of the
// interval between two collections, and writes an archive for the page:
//
//	go run .                    # units get slower towards each collection
//	go run . -every 50          # the cure: compact every 50 units, not after collections
//	go run . -o warmup.zip      # keeps the recording, for "bottleneck report warmup.zip"
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strings"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("warmup: ")
	o := options{}
	flag.IntVar(&o.units, "units", 3000, "units of work")
	flag.IntVar(&o.entries, "entries", 1<<17, "entries of the cache, of 64 bytes each")
	flag.IntVar(&o.every, "every", 0, "compact every n `units`, instead of after each collection")
	flag.StringVar(&o.file, "o", "", "`file` to write the recording to, as an archive")
	flag.Parse()
	if flag.NArg() > 0 || o.units < 1 || o.entries < 1000 || o.every < 0 {
		flag.Usage()
		os.Exit(2)
	}
	r, err := o.record()
	if err != nil {
		log.Fatal(err)
	}
	if err := o.report(os.Stdout, r); err != nil {
		log.Fatal(err)
	}
}

// options are the flags.
type options struct {
	units, entries, every int
	file                  string
	cache                 *cache
}

// record runs the units while counters are recorded.
func (o *options) record() (*quanta.Recording, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	o.cache = newCache(o.entries)
	stop, err := counters.Start(counters.Options{})
	if err != nil {
		return nil, err
	}
	requests, answers := make(chan int), make(chan uint64)
	go worker(o.cache, requests, answers)
	for i := range o.units {
		requests <- i
		<-answers
		if o.every > 0 && i%o.every == 0 || o.every == 0 && o.cache.collected() {
			compactor(o.cache)
		}
	}
	close(requests)
	if o.file == "" {
		return quanta.Stop(context.Background(), stop, quanta.Options{})
	}
	f, err := os.Create(o.file)
	if err != nil {
		return nil, errors.Join(err, stop(io.Discard))
	}
	if err := errors.Join(stop(f), f.Close()); err != nil {
		return nil, err
	}
	return quanta.ReadFile(context.Background(), o.file, quanta.Options{})
}

// worker does one unit of work for each request. It waits between them, so each unit is a quantum.
func worker(c *cache, requests <-chan int, answers chan<- uint64) {
	for range requests {
		answers <- c.unit(len(c.at)/32, len(c.at)/400)
	}
}

// compactor marks its compactions, which the page shows beside the units.
func compactor(c *cache) {
	counters.Mark(context.Background(), "compact")
	c.compact()
}

// report prints how long units take between collections.
func (o *options) report(w io.Writer, r *quanta.Recording) error {
	metric, tenths, collections := tenthsOf(r)
	fmt.Fprintf(w, "%d units of work, %d collections, %d compactions in %v.\n", o.units, collections, o.cache.compacted, r.Wall.Round(1e6))
	if collections < 2 {
		fmt.Fprintln(w, "There are not enough collections to compare what is before and after them.")
		return nil
	}
	fmt.Fprintf(w, "\n%s of a unit, by when it was between two collections:\n\n", metric)
	var most float64
	for _, t := range tenths {
		most = max(most, t)
	}
	for i, t := range tenths {
		fmt.Fprintf(w, "  %3d – %3d %%  %7.0f µs  %s\n", 10*i, 10*i+10, t/1e3, strings.Repeat("█", int(40*t/max(most, 1)+.5)))
	}
	fmt.Fprintf(w, "\nThe units just before a collection take %.1f times as long as those just after one.\n", tenths[9]/tenths[0])
	if o.file != "" {
		fmt.Fprintf(w, "Wrote %s: explore it with \"bottleneck report -http=: %s\".\n", o.file, o.file)
	}
	return nil
}

// tenthsOf returns the mean time of a unit of work in each tenth of the time between two
// collections, and what measured it: the clock of the thread, or the duration, which includes time
// in which the thread was preempted.
func tenthsOf(r *quanta.Recording) (metric string, tenths [10]float64, collections int) {
	var marks []quanta.Span
	for _, s := range r.Spans {
		if s.Name == "GC concurrent mark phase" {
			marks = append(marks, s)
		}
	}
	metric, values := "duration", r.Duration
	if c := r.Counter("task-clock"); c != nil {
		metric, values = c.Name, c.Values
	}
	var n [10]float64
	k := 0
	for row, begin := range r.Begin {
		for k+1 < len(marks) && marks[k+1].Begin <= begin {
			k++
		}
		unit := strings.HasSuffix(r.Groups[r.Group[row]].Name, ".worker") && r.Ending[row] == quanta.Blocked
		if !unit || k+1 >= len(marks) || begin < marks[k].End || values[row] == quanta.Unknown {
			continue
		}
		t := min(9, 10*(begin-marks[k].End)/max(1, marks[k+1].Begin-marks[k].End))
		tenths[t] += float64(values[row])
		n[t]++
	}
	for t := range tenths {
		tenths[t] /= max(n[t], 1)
	}
	return metric, tenths, len(marks)
}
