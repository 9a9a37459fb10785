// Pmd is section 5 of the paper on bottle graphs (Du Bois, Sartor, Eyerman, Eeckhout,
// OOPSLA 2013) as a Go program. There, the benchmark pmd checks a queue of source files
// with several threads, and its graph shows one thread as a tall, narrow box: one file
// is so much larger than the others that its thread goes on alone when they are done.
//
// The program runs such a queue under the execution tracer, as it is and with two repairs,
// and compares the necks of the bottle graphs:
//
//	go run .                  # the graph as it is, and a comparison with both repairs
//	go run . -largest-first   # the graph with the largest file at the head of the queue
//	go run . -split           # the graph with the large file cut into pieces
//	go run . -o pictures      # writes the graphs as SVG, too
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/workload"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("pmd: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	procs := runtime.GOMAXPROCS(0)
	o := options{}
	flag.IntVar(&o.workers, "workers", procs, "number of workers")
	flag.IntVar(&o.small, "files", 40*procs, "number of files beside the large one")
	flag.IntVar(&o.factor, "factor", 60, "how many times larger the large file is")
	flag.DurationVar(&o.time, "time", 2*time.Second, "about how long the run takes as it is")
	flag.BoolVar(&o.largestFirst, "largest-first", false, "repair: begin with the largest file")
	flag.BoolVar(&o.split, "split", false, "repair: cut the large file into pieces")
	flag.StringVar(&o.dir, "o", "", "`directory` to write SVGs to")
	flag.Parse()
	switch {
	case flag.NArg() > 0 || o.workers < 2 || o.small < 1 || o.factor < 2 || o.time <= 0:
		flag.Usage()
		os.Exit(2)
	case procs < 2:
		log.Fatal("one processor (GOMAXPROCS is 1) has no neck: nothing can run in parallel on it")
	}
	if err := o.run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// options are the flags.
type options struct {
	workers, small, factor int
	time                   time.Duration
	largestFirst, split    bool
	dir                    string
}

// variant is a way to run the queue.
type variant struct {
	name   string // also of its picture
	title  string
	repair workload.Repair
	show   bool // print the whole graph, not only its line in the comparison
	graph  *bottle.Graph
	result *workload.Result
	// crowded tells that other programs disturbed the run.
	crowded bool
}

// variants are the queue as it is and the repairs that were asked for, whose graphs are then
// shown; or, when none was, both repairs for comparison.
func (o options) variants() []*variant {
	none := !o.largestFirst && !o.split
	out := []*variant{{name: "before", title: "as it is", show: none}}
	if o.largestFirst || none {
		out = append(out, &variant{name: "largest-first", title: "with the largest file first", repair: workload.Repair{LargestFirst: true}, show: o.largestFirst})
	}
	if o.split || none {
		out = append(out, &variant{name: "split", title: "with the large file split", repair: workload.Repair{Split: true}, show: o.split})
	}
	return out
}

// config is the queue and the workers. The amount of work is fixed here, once for all variants.
func (o options) config() workload.Config {
	config := workload.Config{Workers: o.workers, Small: o.small, Factor: o.factor}
	config.Unit = config.StepsFor(o.time, runtime.GOMAXPROCS(0))
	return config
}

func (o options) run(ctx context.Context, w io.Writer) error {
	config, variants := o.config(), o.variants()
	for _, v := range variants {
		if err := v.record(ctx, config); err != nil {
			return err
		}
		if v.result.Sum != variants[0].result.Sum {
			return errors.New(v.name + ": the repaired program computes something else")
		}
		if !v.show {
			continue
		}
		fmt.Fprintf(w, "── pmd, %s ──\n\n", v.title)
		if err := text.Write(w, v.graph, text.Options{}); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if err := compare(w, variants); err != nil {
		return err
	}
	return o.draw(w, variants)
}

// record runs the queue under the execution tracer and makes the bottle graph. The trace
// stays in memory; a program that is not a demonstration would rather write it to a file.
func (v *variant) record(ctx context.Context, config workload.Config) error {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		return err
	}
	result, err := config.Run(ctx, v.repair)
	trace.Stop()
	if err != nil {
		return err
	}
	v.result = result
	// All workers start with the same function. Each is in a user region of its own, by
	// which they can be told apart.
	v.graph, err = bottle.ReadTrace(ctx, &buf, bottle.Options{Group: bottle.ByRegion})
	if err != nil {
		return err
	}
	running := time.Duration(v.graph.MeanParallelism() * float64(v.graph.Wall))
	if warning := workload.Crowded(result.CPU, running); warning != "" {
		v.crowded = true
		v.graph.Warnings = append(v.graph.Warnings, warning)
	}
	return nil
}

// neck returns the box of the worker that lost most of the capacity, if it is in the neck;
// nil if there is none.
func (v *variant) neck() *bottle.Box {
	for _, l := range v.graph.Neck() {
		if !l.Idle() && strings.HasPrefix(l.Boxes[0].Group, "worker ") {
			return l.Boxes[0]
		}
	}
	return nil
}

// compare prints what the repairs did to the neck and to the time.
func compare(w io.Writer, variants []*variant) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "\twall time\tprocessor time\tparallelism\tneck's height\tneck's width\t")
	crowded := false
	for _, v := range variants {
		height, width, cpu := "none", "", format.Unknown
		if v.result.CPU > 0 {
			cpu = format.Duration(v.result.CPU)
		}
		if b := v.neck(); b != nil {
			height = fmt.Sprintf("%s (%s)", format.Duration(b.Share), b.Group)
			width = format.Parallelism(b.Parallelism)
		}
		crowded = crowded || v.crowded
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t\n", v.name, format.Duration(v.graph.Wall), cpu, format.Parallelism(v.graph.MeanParallelism()), height, width)
	}
	if err := t.Flush(); err != nil || !crowded {
		return err
	}
	_, err := fmt.Fprintln(w, "Other programs used the processors meanwhile: compare the necks, not the wall times.")
	return err
}

// draw writes the graphs as pictures.
func (o options) draw(w io.Writer, variants []*variant) error {
	if o.dir == "" {
		return nil
	}
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return err
	}
	for _, v := range variants {
		var svg bytes.Buffer
		opt := picture.Options{
			Title:    "pmd, " + v.title,
			Subtitle: fmt.Sprintf("%d workers, %d files, one of them %d times larger than the others", o.workers, o.small+1, o.factor),
		}
		if err := picture.SVG(&svg, v.graph, opt); err != nil {
			return err
		}
		name := filepath.Join(o.dir, v.name+".svg")
		if err := os.WriteFile(name, svg.Bytes(), 0o666); err != nil {
			return err
		}
		fmt.Fprintln(w, "wrote", name)
	}
	return nil
}
