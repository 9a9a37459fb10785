// Pmdtasks is a checker of source files that makes one task of each file, as the benchmark pmd
// does: 570 tasks, so small that handing them to a worker is too expensive. It measures its tasks,
// prints the diagnosis, merges as many files into a task as advised, and prints the speed-up:
//
//	go run .                    # the diagnosis and the speed-up
//	go run . -json pmd.json     # keeps the profile for "bottleneck tasks pmd.json"
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("pmdtasks: ")
	o := options{}
	flag.IntVar(&o.files, "files", 570, "number of files")
	flag.IntVar(&o.runs, "runs", 200, "number of runs to compare")
	flag.StringVar(&o.json, "json", "", "`file` to write the profile to")
	flag.Parse()
	if flag.NArg() > 0 || o.files < 1 || o.runs < 3 {
		flag.Usage()
		os.Exit(2)
	}
	if err := o.run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// options are the flags.
type options struct {
	files, runs int
	json        string
}

func (o options) run(w io.Writer) error {
	files := sources(o.files)
	want := checkAll(files, 1, newPlain()) // also warms up
	rec := granularity.NewRecorder(granularity.RecorderOptions{})
	rec.Start()
	defer rec.Stop()
	measured := func(each int) error {
		if got := checkAll(files, each, granularity.NewPool(granularity.PoolOptions{Name: "checks", Recorder: rec})); got != want {
			return fmt.Errorf("%d violations instead of %d", got, want)
		}
		return nil
	}
	if err := measured(1); err != nil {
		return err
	}
	profile := rec.Profile()
	if err := text.WriteTasks(w, profile, text.Options{}); err != nil {
		return err
	}
	c := &profile.Classes[0]
	if c.Diagnosis != granularity.Fine {
		if err := o.write(profile); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "\nThe tasks are not fine-grained on this machine: there is nothing to merge.\n")
		return err
	}
	if err := measured(int(c.Merge)); err != nil {
		return err
	}
	if err := o.write(rec.Profile()); err != nil {
		return err
	}
	merged := (o.files + int(c.Merge) - 1) / int(c.Merge)
	fmt.Fprintf(w, "\nAs advised: %d files in a task, so %d tasks instead of %d. Times of %d interleaved runs each:\n\n", c.Merge, merged, o.files, o.runs)
	wrong := false
	result := granularity.Sweep(o.runs, func(tasks int) {
		wrong = wrong || checkAll(files, (o.files+tasks-1)/tasks, newPlain()) != want
	}, o.files, merged)
	if wrong {
		return errors.New("the number of tasks changes the result")
	}
	fmt.Fprint(w, result)
	p := result[1]
	if p.Low < 1 && p.High > 1 {
		fmt.Fprintln(w, "\nThe interval contains 1: other programs may have used the processors. Try again.")
	}
	_, err := fmt.Fprintf(w, "\nSpeed-up: %.2f with %d tasks.\n", p.Speedup, p.Tasks)
	return err
}

// write writes a profile if a file was requested.
func (o options) write(p *granularity.Profile) error {
	if o.json == "" {
		return nil
	}
	f, err := os.Create(o.json)
	if err != nil {
		return err
	}
	return errors.Join(granularity.WriteJSON(f, p), f.Close())
}
