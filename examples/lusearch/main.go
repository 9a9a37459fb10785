// Lusearch answers queries on an index in memory with one task per processor, as the benchmark
// lusearch does. The queries of the first task take longer than those of the others, so at the end
// one processor works and the others are idle. It measures its tasks, prints the diagnosis, splits
// the queries into as many tasks as advised, and prints the speed-up:
//
//	go run .                        # the diagnosis and the speed-up
//	go run . -json lusearch.json    # keeps the profile for "bottleneck tasks lusearch.json"
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"

	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("lusearch: ")
	o := options{}
	flag.IntVar(&o.queries, "queries", 6000, "number of queries")
	flag.IntVar(&o.runs, "runs", 9, "number of runs to compare")
	flag.StringVar(&o.json, "json", "", "`file` to write the profile to")
	flag.Parse()
	if flag.NArg() > 0 || o.queries < 1 || o.runs < 3 {
		flag.Usage()
		os.Exit(2)
	}
	if runtime.GOMAXPROCS(0) < 2 {
		log.Fatal("lusearch needs GOMAXPROCS >= 2: a single processor is never idle")
	}
	if err := o.run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// options are the flags.
type options struct {
	queries, runs int
	json          string
}

func (o options) run(w io.Writer) error {
	x := newIndex()
	queries := x.queries(o.queries)
	procs := runtime.GOMAXPROCS(0)
	rec := granularity.NewRecorder(granularity.RecorderOptions{})
	rec.Start() // samples the machine
	want, err := x.searchAll(queries, procs, &granularity.Group{Name: "searchers", Recorder: rec})
	rec.Stop()
	if err != nil {
		return err
	}
	profile := rec.Profile()
	if o.json != "" {
		f, err := os.Create(o.json)
		if err != nil {
			return err
		}
		if err := errors.Join(granularity.WriteJSON(f, profile), f.Close()); err != nil {
			return err
		}
	}
	if err := text.WriteTasks(w, profile, text.Options{}); err != nil {
		return err
	}
	c := &profile.Classes[0]
	if c.Diagnosis != granularity.Coarse {
		_, err := fmt.Fprintf(w, "\nThe tasks are not coarse-grained on this machine now: there is nothing to split.\n")
		return err
	}
	fmt.Fprintf(w, "\nAs advised: %d tasks instead of %d. Times of %d interleaved runs each:\n\n", c.Split, procs, o.runs)
	wrong := error(nil)
	result := granularity.Sweep(o.runs, func(tasks int) {
		g := &granularity.Group{}
		if hits, err := x.searchAll(queries, tasks, g); err != nil || hits != want {
			wrong = errors.Join(err, fmt.Errorf("%d hits with %d tasks, but %d with %d", hits, tasks, want, procs))
		}
	}, procs, int(c.Split))
	if wrong != nil {
		return wrong
	}
	fmt.Fprint(w, result)
	if p := result[1]; p.Low < 1 && p.High > 1 {
		fmt.Fprintln(w, "\nThe interval contains 1: other programs may have used the processors. Try again.")
	}
	_, err = fmt.Fprintf(w, "\nSpeed-up: %.2f with %d tasks.\n", result[1].Speedup, result[1].Tasks)
	return err
}
