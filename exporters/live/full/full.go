// Package full adds to the pages of package live what takes much code: the verdict on snapshots,
// contention, tasks, speedup stacks, wall-clock profiles, leaked goroutines, and profiles for pprof.
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/live"
//		"github.com/bottleneck-go/bottleneck/exporters/live/full"
//	)
//
//	func main() {
//		var rec bottle.Recorder
//		if err := rec.Start(); err != nil {
//			log.Print(err)
//		}
//		defer rec.Stop()
//		opt := live.Options{Recorder: &rec, Full: full.Pages{}}
//		log.Print(live.ListenAndServe(context.Background(), "localhost:6060", opt))
//	}
//
// Importing it starts nothing. TestWeight of package live prints what a program grows by.
package full

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/live/internal/page"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Pages is a value for Options.Full of package live, which calls its methods.
type Pages struct{}

var program = filepath.Base(os.Args[0])

// Analyze is [bottleneck.AnalyzeRecorder].
func (Pages) Analyze(ctx context.Context, rec io.WriterTo, opt bottleneck.Options) (*bottleneck.Report, error) {
	return bottleneck.AnalyzeRecorder(ctx, rec, opt)
}

// writer returns a function that writes a profile. A profile without a start begins at from.
func writer(file page.Naming, from time.Time, of func() (*profile.Profile, error)) func(io.Writer) error {
	return func(w io.Writer) error {
		p, err := of()
		if err != nil {
			return err
		}
		if p.TimeNanos == 0 && !from.IsZero() {
			p.TimeNanos = from.UnixNano()
		}
		if file != nil {
			for _, f := range p.Function {
				f.Filename = file(f.Name, f.Filename)
			}
			for _, m := range p.Mapping {
				m.File = file("", m.File)
			}
		}
		return p.Write(w)
	}
}

// Graph returns a function that writes a graph as a profile.
func (Pages) Graph(g *bottle.Graph, from time.Time, file page.Naming) func(io.Writer) error {
	return writer(file, from, func() (*profile.Profile, error) {
		return pprof.Profile(g, pprof.Options{Time: from, File: program})
	})
}

// Contention shows contention.
func (Pages) Contention(p *contention.Profile, from time.Time, view string, look picture.Options, file page.Naming) *page.Shown {
	p = page.TrimContention(p, file)
	return &page.Shown{
		Draw: func() (*picture.Drawing, error) {
			return picture.DrawContention(p, look)
		},
		Text: func(w io.Writer) error { return text.WriteContention(w, p, text.ContentionOptions{}) },
		JSON: func(w io.Writer) error { return contention.WriteJSON(w, p) },
		Profile: writer(file, from, func() (*profile.Profile, error) {
			return pprof.Contention(p, pprof.Options{View: view, File: program})
		}),
	}
}

// Tasks shows the granularity of tasks.
func (Pages) Tasks(p *granularity.Profile, look picture.Options, file page.Naming) *page.Shown {
	p = page.TrimTasks(p, file)
	return &page.Shown{
		Draw:    func() (*picture.Drawing, error) { return picture.DrawTasks(p, look) },
		Text:    func(w io.Writer) error { return text.WriteTasks(w, p, text.Options{}) },
		JSON:    func(w io.Writer) error { return granularity.WriteJSON(w, p) },
		Profile: writer(file, time.Now().Add(-p.Wall), func() (*profile.Profile, error) { return tasks(p) }),
	}
}

func tasks(p *granularity.Profile) (*profile.Profile, error) {
	return pprof.Tasks(p, pprof.Options{File: program})
}

// TaskDelta profiles the tasks that are measured over the time d, from now on.
func (Pages) TaskDelta(ctx context.Context, of func() *granularity.Profile, d time.Duration, file page.Naming) (func(io.Writer) error, error) {
	start := time.Now()
	before, err := tasks(of())
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	after, err := tasks(of())
	if err != nil {
		return nil, err
	}
	p, err := difference(before, after)
	if err != nil {
		return nil, err
	}
	p.TimeNanos, p.DurationNanos = start.UnixNano(), int64(time.Since(start))
	return writer(file, start, func() (*profile.Profile, error) { return p, nil }), nil
}

// difference subtracts profiles. It omits diagnoses, because the diagnosis of a class may have
// changed in between.
func difference(before, after *profile.Profile) (*profile.Profile, error) {
	for _, p := range []*profile.Profile{before, after} {
		for _, s := range p.Sample {
			delete(s.Label, "diagnosis")
		}
	}
	before.Scale(-1)
	p, err := profile.Merge([]*profile.Profile{after, before})
	if err != nil {
		return nil, err
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(s.Value, func(v int64) bool { return v > 0 })
	})
	for _, s := range p.Sample {
		for i, v := range s.Value {
			s.Value[i] = max(0, v)
		}
	}
	return p, nil
}

// Speedup shows a speedup stack.
func (Pages) Speedup(s *speedup.Stack, look picture.Options) *page.Shown {
	stacks := []*speedup.Stack{s}
	return &page.Shown{
		Draw: func() (*picture.Drawing, error) { return picture.DrawStacks(stacks, look) },
		Text: func(w io.Writer) error { return text.WriteStacks(w, stacks, text.Options{}) },
		JSON: func(w io.Writer) error { return speedup.WriteJSON(w, stacks...) },
	}
}

// Wall returns an observer of a trace, and a function that shows its wall-clock profile, which starts
// at from and covers the time d.
func (Pages) Wall(file page.Naming) (timeline.Observer, func(from time.Time, d time.Duration) *page.Shown) {
	o := &wallTrace{spent: map[wallPlace]*spent{}}
	return o, func(from time.Time, d time.Duration) *page.Shown {
		p := o.profile(from, d)
		return &page.Shown{
			Text:    func(w io.Writer) error { return wallText(w, p) },
			Profile: writer(file, time.Time{}, func() (*profile.Profile, error) { return p, nil }),
		}
	}
}
