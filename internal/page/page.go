// Package page makes the page of a recording and of saved results, and serves it.
package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/artifact"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/report"
	"github.com/bottleneck-go/bottleneck/internal/tracetasks"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Reader fills the sections of a page from files.
type Reader struct {
	Group  bottle.Grouping
	Window time.Duration // 0 means a hundredth of the recording
	NoPage bool          // only write the Tracks
	Tracks []string      // files for Perfetto, which the pass over the trace writes

	data  *report.Data
	from  map[string]string // saved profile that filled a section, in place of the trace
	trace string            // trace file
}

// Read reads all files. With an error, the data may be that of the part that could be read.
func (r *Reader) Read(ctx context.Context, stdin io.Reader, progress input.Progress, files []string) (*report.Data, error) {
	r.data, r.from = &report.Data{Missing: map[string]string{}}, map[string]string{}
	var broken []error
	for _, name := range files {
		in, err := input.Find(stdin, name)
		if err != nil {
			return nil, err
		}
		in.Archives = true
		partly, err := input.Read(ctx, progress, in, func(ctx context.Context, from io.Reader, head []byte) (bool, error) {
			return r.file(ctx, in, from, head)
		})
		if err != nil && !partly {
			return nil, err
		}
		broken = append(broken, err)
	}
	if r.trace == "" && len(r.Tracks) > 0 {
		return nil, flags.Errorf("there is no trace among the files: -o FILE.perfetto-trace takes one")
	}
	return r.data, errors.Join(broken...)
}

// file reads one file of any kind. With an error, partly reports whether a part was read.
func (r *Reader) file(ctx context.Context, in *input.Source, from io.Reader, head []byte) (partly bool, err error) {
	if input.HoldsJSON(head) {
		data, err := io.ReadAll(from)
		if err != nil {
			return false, input.FileError(in.Label, err)
		}
		return false, r.json(in.Label, data)
	}
	again, size, err := input.Seekable(from)
	if err != nil {
		return false, input.FileError(in.Label, err)
	}
	if r.trace != "" {
		return false, flags.Errorf("two recordings, %s and %s: a page is about one", r.trace, in.Label)
	}
	r.trace = in.Label
	if quanta.IsArchive(head) {
		return r.archive(ctx, in, again, size)
	}
	return r.readTrace(ctx, in, again, true)
}

// archive reads the output of "bottleneck record -counters": a trace with samples.
func (r *Reader) archive(ctx context.Context, in *input.Source, from io.ReaderAt, size int64) (partly bool, err error) {
	rec, broken := quanta.ReadArchiveAt(ctx, from, size, quanta.Options{Group: r.Group, Name: in.Label, Progress: in.Decoded})
	if rec == nil {
		return false, broken
	}
	rec.Name = input.Short(in.Label)
	r.data.Counters = rec
	if broken != nil {
		broken = fmt.Errorf("%s: %w", in.Label, broken)
	}
	trace, err := quanta.TraceIn(from, size)
	if err != nil {
		return false, errors.Join(broken, fmt.Errorf("%s: %w", in.Label, err))
	}
	if partly, err := r.readTrace(ctx, in, trace, false); err != nil {
		return partly, err
	}
	return true, broken
}

// readTrace makes all results of a trace in one pass.
func (r *Reader) readTrace(ctx context.Context, in *input.Source, from io.Reader, counted bool) (partly bool, err error) {
	d := r.data
	opt := bn.Options{Want: bn.WantInfo}
	single := bottle.NewObserver(bottle.Options{Group: bottle.ByGoroutine})
	var inWindows *tracetasks.Observer
	var rows *quanta.Observer
	if !r.NoPage {
		opt.Want = bn.WantVerdict | bn.WantContention | bn.WantSpeedup
		opt.Bottle.Group, opt.Speedup.MultiName = r.Group, input.Short(in.Label)
		opt.Plan = func(opt *bn.Options, info *timeline.Info) {
			window := cmp.Or(r.Window, niceWindow(info.Duration()))
			opt.Bottle.Window, opt.Contention.Window, opt.Speedup.Window = window, window, window
			inWindows = tracetasks.NewObserver(tracetasks.Options{Window: window})
			opt.Observers = append(opt.Observers, inWindows, single)
			if counted {
				rows = quanta.NewObserver(quanta.Options{Group: r.Group, Name: input.Short(in.Label)})
				opt.Observers = append(opt.Observers, rows)
			}
		}
	}
	all, err := r.pass(ctx, in, from, opt, r.Tracks)
	if all == nil || ctx.Err() != nil {
		return false, err
	}
	if !r.NoPage {
		r.warn(all, err)
		if r.from[report.BottleSection] == "" {
			d.Bottle, d.Goroutines = all.Bottle, single.Graph()
		}
		if r.from[report.ContentionSection] == "" {
			d.Contention, d.ContentionWindows, d.ContentionWindow = all.Contention, all.ContentionWindows, all.ContentionWindow
		}
		switch {
		case r.from[report.TasksSection] != "":
		case len(all.Tasks.Classes) == 0:
			d.Missing[report.TasksSection] = "The trace has no regions (runtime/trace.StartRegion), which are what is a task there. Package granularity measures the tasks of pools and errgroups."
		default:
			d.Tasks = all.Tasks
			d.TaskWindows, d.TaskWindow = inWindows.Windows()
		}
		switch {
		case r.from[report.SpeedupSection] != "":
		case all.Speedup == nil:
			d.Missing[report.SpeedupSection] = "There is no speedup stack: " + all.SpeedupErr.Error() + "."
		default:
			d.Speedup = []*speedup.Stack{all.Speedup}
		}
		if rows != nil {
			rec, tooMany := rows.Recording()
			if tooMany != nil {
				d.Missing[report.CountersSection] = "There are too many scheduling quanta: " + tooMany.Error() + "."
			} else {
				d.Counters = rec
			}
		}
	}
	return true, err
}

// pass reads a trace for the page, and writes it to the Perfetto files at the same time.
func (r *Reader) pass(ctx context.Context, in *input.Source, from io.Reader, opt bn.Options, files []string) (report *bn.Report, err error) {
	if len(files) == 0 {
		return artifact.Analyze(ctx, in, from, opt)
	}
	var missing error
	err = atomicfile.Write(files[0], func(w io.Writer) error {
		o, finish := perfetto.New(w, input.Short(in.Label))
		opt.Observers = append(opt.Observers, o)
		if report, missing = r.pass(ctx, in, from, opt, files[1:]); report == nil || ctx.Err() != nil {
			return errors.Join(missing, finish())
		}
		return finish()
	})
	switch {
	case report == nil:
		return nil, missing // not an error of the output file
	case err != nil:
		return nil, err
	}
	return report, missing
}

// warn moves general warnings from the results to the top of the page.
func (r *Reader) warn(all *bn.Report, err error) {
	general := all.Info.Warnings(err)
	r.data.Warnings = append(r.data.Warnings, general...)
	for _, w := range []*[]string{&all.Bottle.Warnings, &all.Contention.Warnings, &all.Tasks.Warnings} {
		*w = slices.DeleteFunc(*w, func(s string) bool { return slices.Contains(general, s) })
	}
}

// niceWindow returns about a hundredth of a time, as a round number; 100 ms if the time is unknown.
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

// json reads a saved result, which replaces that of the trace.
func (r *Reader) json(name string, data []byte) error {
	a, err := artifact.OfJSON(name, data, artifact.Graph, artifact.Stack, artifact.Contention, artifact.Tasks)
	if err != nil {
		return err
	}
	var section string
	d := r.data
	switch v := a.Value.(type) {
	case []*speedup.Stack:
		section, d.Speedup = report.SpeedupSection, v
	case *contention.Profile:
		section, d.Contention, d.ContentionWindows = report.ContentionSection, v, nil
	case *granularity.Profile:
		section, d.Tasks, d.TaskWindows = report.TasksSection, v, nil
	case *bottle.Graph:
		section, d.Bottle, d.Goroutines = report.BottleSection, v, nil
	}
	if other := r.from[section]; other != "" {
		return flags.Errorf("%s and %s are both for the section %s", other, name, section)
	}
	r.from[section] = name
	return nil
}
