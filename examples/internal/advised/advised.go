// Package advised runs an example that cuts its work into tasks. It measures the tasks, prints the
// diagnosis, cuts the work as advised, and compares the times.
package advised

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/sweep"
)

// Group executes tasks: a granularity.Group, or an errgroup, which measures nothing.
type Group interface {
	Go(task func() error)
	SetLimit(int)
	Wait() error
}

// Example is the part of an example's program that differs.
type Example struct {
	Tasks int // before the advice
	// Work does the work in a number of tasks. Its result is the same for every number.
	Work func(tasks int, g Group) (result int, err error)
	// Again measures the tasks as advised, too, which are a class of their own.
	Again bool
}

// Options configures Run.
type Options struct {
	Runs int    // of each number of tasks
	JSON string // the file for the profile; "" for none
}

// Main is the main function: it parses the flags, runs the example and exits, with status 2 for
// invalid flags and 1 after an error. start returns the example after the flags were parsed.
func Main(runs int, start func() (Example, error)) {
	log.SetFlags(0)
	log.SetPrefix(filepath.Base(os.Args[0]) + ": ")
	var o Options
	flag.IntVar(&o.Runs, "runs", runs, "number of runs to compare")
	flag.StringVar(&o.JSON, "json", "", "`file` to write the profile to")
	flag.Parse()
	if flag.NArg() > 0 || o.Runs < 3 {
		flag.Usage()
		os.Exit(2)
	}
	e, err := start()
	if err == nil {
		err = Run(os.Stdout, e, o)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Run runs the example.
func Run(w io.Writer, e Example, o Options) error {
	want, err := e.Work(e.Tasks, new(errgroup.Group)) // also warms up
	if err != nil {
		return err
	}
	checked := func(tasks int, g Group) error {
		got, err := e.Work(tasks, g)
		if err == nil && got != want {
			err = fmt.Errorf("the result of %d tasks is %d, that of %d is %d", tasks, got, e.Tasks, want)
		}
		return err
	}
	rec := granularity.NewRecorder()
	rec.Start() // samples the machine
	defer rec.Stop()
	if err := checked(e.Tasks, &granularity.Group{Recorder: rec}); err != nil {
		return err
	}
	profile := rec.Profile()
	if err := text.WriteTasks(w, profile, text.Options{}); err != nil {
		return err
	}
	c, advised := &profile.Classes[0], e.Tasks
	switch c.Diagnosis {
	case granularity.Fine:
		advised = (e.Tasks + int(c.Merge) - 1) / int(c.Merge)
	case granularity.Coarse:
		advised = int(c.Split)
	}
	if e.Again && advised != e.Tasks {
		if err := checked(advised, &granularity.Group{Recorder: rec}); err != nil {
			return err
		}
		profile = rec.Profile()
	}
	if o.JSON != "" {
		if err := atomicfile.Write(o.JSON, func(w io.Writer) error { return granularity.WriteJSON(w, profile) }); err != nil {
			return err
		}
	}
	if advised == e.Tasks {
		_, err := fmt.Fprintln(w, "\nThe tasks are neither too small nor too large on this machine now: there is nothing to change.")
		return err
	}
	fmt.Fprintf(w, "\nAs advised: %d tasks instead of %d. Times of %d interleaved runs each:\n\n", advised, e.Tasks, o.Runs)
	points := sweep.Run(o.Runs, func(tasks int) { err = errors.Join(err, checked(tasks, new(errgroup.Group))) }, e.Tasks, advised)
	if err != nil {
		return err
	}
	if err := text.WriteTable(w, sweep.Table("tasks", points), text.Options{}); err != nil {
		return err
	}
	p := points[1]
	if p.Low < 1 && p.High > 1 {
		fmt.Fprintln(w, "\nThe interval contains 1: other programs may have used the processors. Try again.")
	}
	_, err = fmt.Fprintf(w, "\nSpeed-up: %.2f with %d tasks.\n", p.Speedup, p.Tasks)
	return err
}
