package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// reportReading fills the sections of a page from files.
type reportReading struct {
	flags *reportFlags
	data  *report.Data
	from  map[report.Section]string // which file has filled a section
	trace string                    // the file with a trace
	saved []func() error            // saved profiles come after the trace, whose parts they replace
}

// read reads all files. The data may be there even if there is an error: it is then what could be
// read.
func (f *reportFlags) read(ctx context.Context, std stdio, files []string) (*report.Data, error) {
	r := &reportReading{flags: f, data: &report.Data{Missing: map[report.Section]string{}}, from: map[report.Section]string{}}
	var broken []error
	for _, name := range files {
		in, err := findInput(std, name)
		if err != nil {
			return nil, err
		}
		_, err = readInput(ctx, std, in, func(ctx context.Context, from io.Reader, head []byte) (struct{}, error) {
			return struct{}{}, r.file(ctx, in, from, head)
		})
		var partial *partialError
		switch {
		case errors.As(err, &partial):
			broken = append(broken, partial.err)
		case err != nil:
			return nil, err
		}
	}
	if r.trace == "" && len(f.perfetto()) > 0 {
		return nil, usagef("there is no trace among the files: -o FILE.perfetto-trace takes one")
	}
	for _, apply := range r.saved {
		if err := apply(); err != nil {
			return nil, err
		}
	}
	if err := r.narrow(ctx); err != nil {
		return nil, err
	}
	return r.data, errors.Join(broken...)
}

// partialError tells that something was read, but not all.
type partialError struct{ err error }

func (e *partialError) Error() string { return e.err.Error() }

// file reads one file, whatever it is.
func (r *reportReading) file(ctx context.Context, in *input, from io.Reader, head []byte) error {
	if holdsJSON(head) {
		data, err := io.ReadAll(from)
		if err != nil {
			return fileError(in.label, err)
		}
		return r.json(in.label, data)
	}
	again, size, err := seekable(from)
	if err != nil {
		return fileError(in.label, err)
	}
	if r.trace != "" {
		return usagef("two recordings, %s and %s: a page is about one", r.trace, in.label)
	}
	r.trace = in.label
	if quanta.IsArchive(head) {
		return r.archive(ctx, in, again, size)
	}
	return r.readTrace(ctx, in, again, true)
}

func partly(name string, err error) error {
	if err == nil {
		return nil
	}
	return &partialError{fmt.Errorf("%s: %w", name, err)}
}

type seeker interface {
	io.ReadSeeker
	io.ReaderAt
}

// seekable returns a reader that can be read several times: the file itself, or all of it in
// memory.
func seekable(from io.Reader) (seeker, int64, error) {
	if f, ok := from.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			return f, st.Size(), nil
		}
	}
	data, err := io.ReadAll(from)
	return bytes.NewReader(data), int64(len(data)), err
}

// archive reads what "bottleneck record -counters" wrote: a trace with samples beside it.
func (r *reportReading) archive(ctx context.Context, in *input, from io.ReaderAt, size int64) error {
	rec, err := quanta.ReadArchiveAt(ctx, from, size, quanta.Options{Group: r.flags.grouping, Name: in.label, Progress: in.decoded})
	if rec == nil {
		return err
	}
	rec.Name = shownSource(in.label)
	r.data.Counters, r.from[report.CountersSection] = rec, in.label
	broken := partly(in.label, err)
	trace, err := quanta.TraceIn(from, size)
	if err != nil {
		return errors.Join(broken, fmt.Errorf("%s: %w", in.label, err))
	}
	if err := r.readTrace(ctx, in, trace, false); err != nil {
		return err
	}
	return broken
}

// readTrace makes all results of a trace in one pass. Where -from and -to ask for a part, the
// graph, the verdict and the goroutines are of that, and another pass makes them.
func (r *reportReading) readTrace(ctx context.Context, in *input, from io.ReadSeeker, counted bool) error {
	f, d := r.flags, r.data
	opt := bn.Options{Want: bn.WantInfo}
	part := bn.Options{Want: bn.WantVerdict, Bottle: bottle.Options{Group: f.grouping, From: f.from, To: f.to}}
	single := bottle.NewObserver(bottle.Options{Group: bottle.ByGoroutine, From: f.from, To: f.to})
	narrowed := f.from > 0 || f.to > 0
	var inWindows *taskWindows
	var rows *quanta.Observer
	if f.page() {
		opt.Want = bn.WantContention | bn.WantTasks
		workers, err := speedup.ParseSelector(f.workers)
		if err == nil {
			opt.Want |= bn.WantSpeedup
			opt.Speedup = speedup.Options{Workers: workers, MultiName: shownSource(in.label)}
		} else {
			r.noSpeedup(err)
		}
		if !narrowed {
			opt.Want |= bn.WantVerdict
			opt.Bottle = part.Bottle
		}
		opt.Plan = func(opt *bn.Options, info *timeline.Info) {
			window := f.window
			if window == 0 {
				window = niceWindow(info.Duration())
			}
			opt.Bottle.Window, opt.Contention.Window, opt.Speedup.Window, part.Bottle.Window = window, window, window, window
			inWindows = newTaskWindows(window)
			opt.Observers = append(opt.Observers, inWindows)
			if !narrowed {
				opt.Observers = append(opt.Observers, single)
			}
			if counted {
				rows = quanta.NewObserver(quanta.Options{Group: f.grouping, Name: shownSource(in.label)})
				opt.Observers = append(opt.Observers, rows)
			}
		}
	}
	all, err := r.pass(ctx, in, from, opt, f.perfetto())
	if all == nil || ctx.Err() != nil {
		return err
	}
	if f.page() {
		judged := all
		if narrowed {
			if _, err := from.Seek(0, io.SeekStart); err != nil {
				return fileError(in.label, err)
			}
			part.Observers = []timeline.Observer{single}
			var missing error
			if judged, missing = analyze(ctx, in, from, part); judged == nil {
				return missing
			}
		}
		d.Bottle, d.Goroutines, d.Contention = judged.Bottle, single.Graph(), all.Contention
		d.ContentionWindows = contentionWindows(all)
		if r.tasks(all.Tasks) {
			d.TaskWindows = inWindows.list
		}
		if all.Speedup != nil {
			d.Speedup = []*speedup.Stack{all.Speedup}
		} else if opt.Want&bn.WantSpeedup != 0 {
			r.noSpeedup(all.SpeedupErr)
		}
		if rows != nil {
			rec, tooMany := rows.Recording()
			if tooMany != nil {
				d.Missing[report.CountersSection] = "There are too many scheduling quanta: " + tooMany.Error() + "."
			} else {
				d.Counters = rec
			}
		}
		r.warn(all.Info.Warnings(err))
	}
	if err != nil {
		return &partialError{err}
	}
	return nil
}

// pass reads a trace for the page, and writes it as Perfetto reads it to files at the same time.
func (r *reportReading) pass(ctx context.Context, in *input, from io.Reader, opt bn.Options, files []string) (report *bn.Report, err error) {
	if len(files) == 0 {
		return analyze(ctx, in, from, opt)
	}
	var missing error
	err = writeFile(files[0], func(w io.Writer) error {
		p := perfetto.NewWriter(w, perfetto.Options{Name: shownSource(in.label)})
		opt.Observers = append(opt.Observers, p.Observer())
		if report, missing = r.pass(ctx, in, from, opt, files[1:]); report == nil || ctx.Err() != nil {
			return errors.Join(missing, p.Close())
		}
		return p.Close()
	})
	switch {
	case report == nil:
		return nil, missing // not the fault of the file that was to be written
	case err != nil:
		return nil, err
	}
	return report, missing
}

// noSpeedup says why there is no stack.
func (r *reportReading) noSpeedup(err error) {
	r.data.Missing[report.SpeedupSection] = "There is no speedup stack: " + err.Error() + "."
}

// tasks keeps the tasks of a trace, and reports whether it has some.
func (r *reportReading) tasks(p *granularity.Profile) bool {
	if len(p.Classes) == 0 {
		r.data.Missing[report.TasksSection] = "The trace has no regions (runtime/trace.StartRegion), which are what is a task there. Package granularity measures the tasks of pools and errgroups."
		return false
	}
	p.Diagnose()
	r.data.Tasks = p
	return true
}

// warn puts warnings that are about all of the page above it, and takes them out of its sections.
func (r *reportReading) warn(general []string) {
	d := r.data
	d.Warnings = append(d.Warnings, general...)
	of := []*[]string{&d.Bottle.Warnings, &d.Contention.Warnings}
	if d.Tasks != nil {
		of = append(of, &d.Tasks.Warnings)
	}
	for _, w := range of {
		*w = slices.DeleteFunc(*w, func(s string) bool { return slices.Contains(general, s) })
	}
}

// niceWindow is about a hundredth of a time, in a round number; 100 ms if the time is not known.
func niceWindow(wall time.Duration) time.Duration {
	if wall <= 0 {
		return 100 * time.Millisecond
	}
	ten := time.Duration(math.Pow(10, math.Floor(math.Log10(float64(max(1000, wall/100))))))
	for _, n := range []time.Duration{1, 2, 5} {
		if n*ten >= wall/100 {
			return n * ten
		}
	}
	return 10 * ten
}

// json reads what a command has saved.
func (r *reportReading) json(name string, data []byte) error {
	wrap := func(err error) error { return fmt.Errorf("%s: %w", name, err) }
	k := kindOfJSON(data)
	switch k {
	case ledgerKind, verdictKind:
		return errKind(name, k)
	case countersKind:
		rec, err := quanta.ReadJSON(bytes.NewReader(data))
		if err != nil {
			return wrap(err)
		}
		r.save(report.CountersSection, name, func() { r.data.Counters = rec })
		return nil
	case stackKind: // of several widths, all
		stacks, err := speedup.ReadJSON(bytes.NewReader(data))
		if err != nil {
			return wrap(err)
		}
		r.save(report.SpeedupSection, name, func() { r.data.Speedup = stacks })
		return nil
	case nil:
		k = graphKind // which tells what is wrong
	}
	a, err := readArtifact(data, k)
	if err != nil {
		return wrap(err)
	}
	switch v := a.value.(type) {
	case *contention.Profile:
		r.save(report.ContentionSection, name, func() { r.data.Contention, r.data.ContentionWindows = v, nil })
	case *granularity.Profile:
		r.save(report.TasksSection, name, func() { r.data.Tasks, r.data.TaskWindows = v, nil })
	case *bottle.Graph:
		r.save(report.BottleSection, name, func() { r.data.Bottle, r.data.Goroutines = v, nil })
	}
	return nil
}

// save keeps what fills a section until the trace was read.
func (r *reportReading) save(s report.Section, name string, apply func()) {
	r.saved = append(r.saved, func() error {
		if other := r.from[s]; other != "" && other != r.trace {
			return usagef("%s and %s are both for the section %s", other, name, s)
		}
		r.from[s] = name
		delete(r.data.Missing, s)
		apply()
		return nil
	})
}
