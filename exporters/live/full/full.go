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
//		opt := live.Options{Recorder: &rec, Full: full.Pages}
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
var Pages pages

type pages struct{}

var program = filepath.Base(os.Args[0])

// Analyze is [bottleneck.AnalyzeRecorder].
func (pages) Analyze(ctx context.Context, rec io.WriterTo, opt bottleneck.Options) (*bottleneck.Report, error) {
	return bottleneck.AnalyzeRecorder(ctx, rec, opt)
}

// writer returns a function that writes a profile. A profile without a start begins at from.
func writer(from time.Time, of func() (*profile.Profile, error)) func(io.Writer) error {
	return func(w io.Writer) error {
		p, err := of()
		if err != nil {
			return err
		}
		if p.TimeNanos == 0 && !from.IsZero() {
			p.TimeNanos = from.UnixNano()
		}
		for _, f := range p.Function {
			f.Filename = page.SourceFile(f.Name, f.Filename)
		}
		for _, m := range p.Mapping {
			m.File = page.SourceFile("", m.File)
		}
		return p.Write(w)
	}
}

// Graph returns a function that writes a graph as a profile.
func (pages) Graph(g *bottle.Graph, from time.Time) func(io.Writer) error {
	return writer(from, func() (*profile.Profile, error) {
		return pprof.Profile(g, pprof.Options{Time: from, File: program})
	})
}

// Contention shows contention.
func (pages) Contention(p *contention.Profile, from time.Time, view string, look picture.Options) *page.Shown {
	p = page.Trimmed(p)
	return &page.Shown{
		Draw: func() (*picture.Drawing, error) {
			return picture.DrawContention(p, look)
		},
		Text: func(w io.Writer) error { return text.WriteContention(w, p, text.Options{}) },
		JSON: func(w io.Writer) error { return contention.WriteJSON(w, p) },
		Profile: writer(from, func() (*profile.Profile, error) {
			return pprof.Contention(p, pprof.Options{View: view, File: program})
		}),
	}
}

// Tasks shows the granularity of tasks.
func (pages) Tasks(p *granularity.Profile, look picture.Options) *page.Shown {
	p = page.Trimmed(p)
	return &page.Shown{
		Draw: func() (*picture.Drawing, error) { return picture.DrawTasks(p, look) },
		Text: func(w io.Writer) error { return text.WriteTasks(w, p, text.Options{}) },
		JSON: func(w io.Writer) error { return granularity.WriteJSON(w, p) },
		Profile: writer(time.Now().Add(-p.Wall), func() (*profile.Profile, error) {
			return pprof.Tasks(p, pprof.Options{File: program})
		}),
	}
}

// Since is [granularity.Profile.Since].
func (pages) Since(p, earlier *granularity.Profile) *granularity.Profile { return p.Since(earlier) }

// Speedup shows a speedup stack.
func (pages) Speedup(s *speedup.Stack, look picture.Options) *page.Shown {
	stacks := []*speedup.Stack{s}
	return &page.Shown{
		Draw: func() (*picture.Drawing, error) { return picture.DrawStacks(stacks, look) },
		Text: func(w io.Writer) error { return text.WriteStacks(w, stacks, text.Options{}) },
		JSON: func(w io.Writer) error { return speedup.WriteJSON(w, stacks...) },
	}
}

// Wall returns an observer of a trace, and a function that shows its wall-clock profile, which starts
// at from and covers the time d.
func (pages) Wall() (timeline.Observer, func(from time.Time, d time.Duration) *page.Shown) {
	o := &wallTrace{spent: map[wallPlace]*spent{}}
	return o, func(from time.Time, d time.Duration) *page.Shown {
		p := o.profile(from, d)
		return &page.Shown{
			Text:    func(w io.Writer) error { return o.text(w, p.Comments[0], d) },
			Profile: writer(time.Time{}, func() (*profile.Profile, error) { return p, nil }),
		}
	}
}
