// Scaling is a program with a switch for each reason that keeps N workers from being N times faster
// than one. It runs the same work with one worker and with N under the execution tracer, draws its
// own speedup stack, and prints how far the component of the switch is from its known value:
//
//	go run .                      # all switches, one line each
//	go run . -switch lock         # one of them, with its stack
//	go run . -switch gc -o pictures
//
// The known values follow from the design of the work (see modes.go). They do not hold on a machine
// whose processors other programs use: on Linux, such a run is detected and reported as disturbed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("scaling: ")
	o := options{}
	var names []string
	for _, m := range modes {
		names = append(names, m.name)
	}
	flag.StringVar(&o.name, "switch", "", "what to show: "+strings.Join(names, ", ")+"; all by default")
	flag.IntVar(&o.procs, "n", runtime.GOMAXPROCS(0), "number of processors, and of workers unless the switch sets another number")
	flag.DurationVar(&o.time, "time", time.Second, "approximate time of the run with one worker")
	flag.StringVar(&o.dir, "o", "", "`directory` to write SVGs to")
	flag.Parse()
	if flag.NArg() > 0 || o.procs < 1 || o.time <= 0 || o.name != "" && !slices.Contains(names, o.name) {
		flag.Usage()
		os.Exit(2)
	}
	if o.procs < 2 {
		log.Fatal("scaling needs -n >= 2: nothing scales on one processor")
	}
	if err := o.run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// options are the flags.
type options struct {
	name  string
	procs int
	time  time.Duration
	dir   string
}

func (o options) run(w io.Writer) error {
	steps := calibrate()
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	if o.name == "" {
		fmt.Fprintln(t, "switch\tspeed-up\tmeant to show\tis\tmust be\t")
	}
	for _, m := range modes {
		if o.name != "" && o.name != m.name {
			continue
		}
		r, err := m.record(context.Background(), o.procs, o.time, steps)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if o.name == "" {
			fmt.Fprintf(t, "%s\t%.2f of %d\t%s\t%.3f\t%.3f\t%s\n", m.name, r.stack.Speedup, r.stack.N, m.shows, r.value, r.known, r.verdict())
		} else if err := r.show(w); err != nil {
			return err
		}
		if err := o.draw(m, r.stack); err != nil {
			return err
		}
	}
	return t.Flush()
}

// result is the result of a switch.
type result struct {
	mode         *mode
	stack        *speedup.Stack
	value, known float64
}

// tolerance is the largest deviation of a quiet run from the known value.
const tolerance = 0.1

func (r *result) verdict() string {
	d := math.Abs(r.value - r.known)
	switch {
	case r.stack.Disturbed:
		return "disturbed: no result"
	case d <= tolerance:
		return "as it must be"
	}
	return fmt.Sprintf("off by %.3f", d)
}

// show prints the stack and its component of interest.
func (r *result) show(w io.Writer) error {
	if err := text.WriteStacks(w, []*speedup.Stack{r.stack}, text.Options{}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nThe switch %q is meant to show: %s, because %s.\nIt must be %.3f and is %.3f: %s.\n",
		r.mode.name, r.mode.shows, r.mode.why, r.known, r.value, r.verdict())
	return err
}

// draw writes the stack as a picture.
func (o options) draw(m *mode, s *speedup.Stack) error {
	if o.dir == "" {
		return nil
	}
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return err
	}
	opt := picture.Options{Title: "Speedup stack: " + m.name, Subtitle: "meant to show: " + m.shows + "; " + format.Plural(o.procs, "processor", "processors")}
	d, err := picture.DrawStacks([]*speedup.Stack{s}, opt)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(o.dir, m.name+".svg"), d.SVG)
}
