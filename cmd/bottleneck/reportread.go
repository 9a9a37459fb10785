package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters"
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
	if r.trace == "" && slices.ContainsFunc(f.outputs, func(name string) bool { return reportFormOf(name) == perfettoForm }) {
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
	switch {
	case holdsJSON(head):
		data, err := io.ReadAll(from)
		if err != nil {
			return fileError(in.label, err)
		}
		return r.json(in.label, data)
	case bytes.HasPrefix(head, eventMagic):
		p, err := readEvents(from, contention.Options{})
		if p == nil {
			return fmt.Errorf("%s: %w", in.label, err)
		}
		r.save(report.ContentionSection, in.label, func() { r.data.Contention, r.data.ContentionWindows = p, nil })
		return partly(in.label, err)
	}
	again, size, err := seekable(from)
	if err != nil {
		return fileError(in.label, err)
	}
	if r.trace != "" {
		return usagef("two recordings, %s and %s: a page is about one", r.trace, in.label)
	}
	r.trace = in.label
	if counters.IsArchive(head) {
		return r.archive(ctx, in, again, size)
	}
	return r.readTrace(ctx, in, func() (io.Reader, error) {
		_, err := again.Seek(0, io.SeekStart)
		return again, err
	}, true)
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
	rec, err := counters.ReadArchiveAt(ctx, from, size, counters.Options{Group: r.flags.grouping, Name: in.label, Progress: in.decoded})
	if rec == nil {
		return err
	}
	rec.Name = shownSource(in.label)
	r.data.Counters, r.from[report.CountersSection] = rec, in.label
	broken := partly(in.label, err)
	z, err := zip.NewReader(from, size)
	if err != nil {
		return errors.Join(broken, fmt.Errorf("%s: %w", in.label, err))
	}
	err = r.readTrace(ctx, in, func() (io.Reader, error) { return z.Open("trace.zst") }, false)
	if err == nil {
		return broken
	}
	return err
}

// readTrace makes all analyses of a trace, in three passes: two for the speed-up, which must know
// who the workers are before it can count, and one for all others, which then know how long the
// trace is (by a pass of its own where there is no speed-up).
func (r *reportReading) readTrace(ctx context.Context, in *input, open func() (io.Reader, error), quanta bool) error {
	for _, name := range r.flags.outputs {
		if reportFormOf(name) == perfettoForm {
			if err := r.perfetto(ctx, in, name, open); err != nil {
				return err
			}
		}
	}
	if !r.flags.page() {
		return nil
	}
	from, err := open()
	if err != nil {
		return fileError(in.label, err)
	}
	wall := r.speedup(ctx, in, from)
	if wall == 0 {
		wall = r.length(ctx, in, open)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f, window := r.flags, r.flags.window
	if window == 0 {
		window = niceWindow(wall)
	}
	graph := bottle.NewObserver(bottle.Options{Group: f.grouping, Window: window, From: f.from, To: f.to})
	single := bottle.NewObserver(bottle.Options{Group: bottle.ByGoroutine, From: f.from, To: f.to})
	waits := contention.NewTraceObserver(contention.TraceOptions{Window: window})
	tasks := granularity.NewTraceObserver(granularity.TraceOptions{})
	inWindows := newTaskWindows(window)
	observers := []timeline.Observer{graph, single, waits, tasks, inWindows}
	var stack *speedup.Stack
	if len(r.data.Speedup) == 1 {
		stack = r.data.Speedup[0]
	}
	lanes := stackWindows(stack, window)
	if lanes != nil {
		observers = append(observers, lanes)
	}
	var rows *counters.Observer
	if quanta {
		rows = counters.NewObserver(counters.Options{Group: f.grouping, Name: shownSource(in.label)})
		observers = append(observers, rows)
	}
	if from, err = open(); err != nil {
		return fileError(in.label, err)
	}
	info, err := timeline.Read(ctx, from, timeline.Options{Name: in.label, Progress: in.decoded}, observers...)
	switch {
	case info.Generations == 0:
		return err
	case f.from > 0 && f.from >= info.Duration() && err == nil:
		return fmt.Errorf("%s: the trace covers %v, so nothing is left from %v", in.label, info.Duration(), f.from)
	}
	d := r.data
	d.Bottle, d.Goroutines, d.Contention = graph.Graph(), single.Graph(), waits.Profile()
	if from, err := open(); err == nil { // the verdict is on the part of the trace that the graph is about, as everywhere
		if judged, _ := analyzeGraph(ctx, in, from, bottle.Options{From: f.from, To: f.to}); judged != nil {
			d.Bottle.Verdict = judged.Verdict
		}
	}
	d.ContentionWindows = contentionWindows(waits, d.Contention)
	if r.tasks(tasks.Profile()) {
		d.TaskWindows = inWindows.list
	}
	if lanes != nil {
		stack.Multi.Windows = lanes.Account().Windows
	}
	if rows != nil {
		rec, tooMany := rows.Recording()
		if tooMany != nil {
			d.Missing[report.CountersSection] = "There are too many scheduling quanta: " + tooMany.Error() + "."
		} else {
			d.Counters = rec
		}
	}
	d.Warnings = append(d.Warnings, info.Warnings(err)...)
	if err != nil {
		return &partialError{err}
	}
	return nil
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

// speedup estimates the stack, and returns how long the trace is, 0 if that is not known.
func (r *reportReading) speedup(ctx context.Context, in *input, from io.Reader) time.Duration {
	workers, err := speedup.ParseSelector(r.flags.workers)
	if err == nil {
		var s *speedup.Stack
		if s, err = speedup.Estimate(ctx, from, speedup.Options{Workers: workers, MultiName: shownSource(in.label), Progress: in.decoded}); err == nil {
			r.data.Speedup = []*speedup.Stack{s}
			return s.Multi.Wall
		}
	}
	r.data.Missing[report.SpeedupSection] = "There is no speedup stack: " + err.Error() + "."
	return 0
}

// length is how long a trace without a stack is; 0 if that cannot be known.
func (r *reportReading) length(ctx context.Context, in *input, open func() (io.Reader, error)) time.Duration {
	if rec := r.data.Counters; rec != nil {
		return rec.Wall
	}
	from, err := open()
	if err != nil {
		return 0 // the next pass meets the error, too
	}
	info, _ := timeline.Read(ctx, from, timeline.Options{Name: in.label, Progress: in.decoded})
	return info.Duration()
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
	kind := kindOfJSON(data)
	if kind == ledgerDiff {
		return errKind(name, kind)
	}
	if kind == countersOnly {
		rec, err := counters.ReadJSON(bytes.NewReader(data))
		if err != nil {
			return wrap(err)
		}
		r.save(report.CountersSection, name, func() { r.data.Counters = rec })
		return nil
	}
	if kind == stackDiff {
		stacks, err := speedup.ReadJSON(bytes.NewReader(data))
		if err != nil {
			return wrap(err)
		}
		r.save(report.SpeedupSection, name, func() { r.data.Speedup = stacks })
		return nil
	}
	s, err := readSideJSON(data, kind)
	if err != nil {
		return wrap(err)
	}
	switch kind {
	case contentionDiff:
		r.save(report.ContentionSection, name, func() { r.data.Contention, r.data.ContentionWindows = s.contention, nil })
	case tasksDiff:
		r.save(report.TasksSection, name, func() { r.data.Tasks, r.data.TaskWindows = s.tasks, nil })
	default:
		r.save(report.BottleSection, name, func() { r.data.Bottle, r.data.Goroutines = s.graph, nil })
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
