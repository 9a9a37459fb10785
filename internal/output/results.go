package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// Row is the graphs of several runs.
type Row struct {
	Names  []string
	Graphs []*bottle.Graph
}

// RowForms are the forms of several graphs side by side.
var RowForms = FormsOf(func(r Row, d Drawing) (*result.Table, error) {
	t := bottle.Row(r.Names, r.Graphs)
	t.Title = "Shares of the time"
	return t.Top(d.Top), nil
}, func(r Row, d Drawing) (*picture.Drawing, error) {
	return picture.DrawRow(r.Names, r.Graphs, d.Picture())
}, Writers[Row]{
	"text": func(w io.Writer, r Row, d Drawing) error {
		return text.WriteRow(w, r.Names, r.Graphs, d.Options)
	},
	"json": func(w io.Writer, r Row, d Drawing) error {
		return JSON(w, struct {
			Runs   []string      `json:"runs"`
			Groups *result.Table `json:"groups"`
		}{r.Names, bottle.Row(r.Names, r.Graphs)})
	},
})

// GraphForms are the forms of graphs.
var GraphForms = FormsOf(func(g *bottle.Graph, d Drawing) (*result.Table, error) {
	t := g.Top(d.Top).Groups()
	t.SortedBy = "lost_ns"
	return t.By("group", "kind")
},
	func(g *bottle.Graph, d Drawing) (*picture.Drawing, error) { return picture.Draw(g, d.Picture()) }, Writers[*bottle.Graph]{
		"text":  func(w io.Writer, g *bottle.Graph, d Drawing) error { return text.Write(w, g, d.Options) },
		"json":  func(w io.Writer, g *bottle.Graph, d Drawing) error { return bottle.WriteJSON(w, g.Top(d.Top)) },
		"csv":   func(w io.Writer, g *bottle.Graph, d Drawing) error { return text.TableCSV(w, g.Top(d.Top).Table()) },
		"pprof": pprofForm(pprof.Profile, func(d Drawing, g *bottle.Graph) *bottle.Graph { return g.Top(d.Top) }),
	})

// Goroutines reports whether an aspect is that of individual goroutines.
func (d Drawing) Goroutines() bool {
	return slices.ContainsFunc(d.By, func(a string) bool {
		return a == contention.ByOwnerGoroutine || a == contention.ByWaiterGoroutine || a == contention.ByRootGoroutine
	})
}

// ContentionForms are the forms of contention profiles.
var ContentionForms = FormsOf(func(p *contention.Profile, d Drawing) (*result.Table, error) {
	t := d.waits(p).Table()
	var names, columns []string // without call chains, which are too long for a table that people read
	for _, h := range t.Columns {
		if strings.HasSuffix(h.Name, "_stack") || h.Name == "blocked_on" {
			continue
		}
		if columns = append(columns, h.Name); h.Unit.IsText() && !h.Note {
			names = append(names, h.Name)
		}
	}
	t, err := t.By(names...)
	if err != nil {
		return nil, err
	}
	return t.Pick(columns...)
},
	func(p *contention.Profile, d Drawing) (*picture.Drawing, error) {
		return picture.DrawContention(p, d.Picture())
	}, Writers[*contention.Profile]{
		"text": func(w io.Writer, p *contention.Profile, d Drawing) error {
			return text.WriteContention(w, p, d.Options)
		},
		"json": func(w io.Writer, p *contention.Profile, d Drawing) error { return contention.WriteJSON(w, d.waits(p)) },
		"csv":  func(w io.Writer, p *contention.Profile, d Drawing) error { return text.TableCSV(w, d.waits(p).Table()) },
		"folded": func(w io.Writer, p *contention.Profile, d Drawing) error {
			return text.FoldedStacks(w, d.waits(p), cmp.Or(d.View, contention.JoinedView))
		},
		"pprof": pprofForm(pprof.Contention, Drawing.waits),
	})

// waits removes short rows, for forms that cannot summarize them.
func (d Drawing) waits(p *contention.Profile) *contention.Profile {
	if d.Min == 0 {
		return p
	}
	out := p.Filter(nil, nil, d.Min)
	whole, left := sumOf(p), sumOf(out)
	if whole > left {
		out.Warnings = append(slices.Clip(out.Warnings), fmt.Sprintf(
			"Waits shorter than %v are left out (-min): %v of %v. The totals are of those that are left.",
			d.Min, whole-left, whole))
	}
	return out
}

func sumOf(p *contention.Profile) (waited time.Duration) {
	for i := range p.Waits {
		waited += p.Waits[i].Waited
	}
	return waited
}

// TasksForms are the forms of profiles of tasks.
var TasksForms = FormsOf(func(p *granularity.Profile, d Drawing) (*result.Table, error) {
	return d.largest(p).ClassTable(p.ByTime()), nil
}, func(p *granularity.Profile, d Drawing) (*picture.Drawing, error) {
	if d.Strip {
		return picture.DrawStrip(p, d.Picture())
	}
	return picture.DrawTasks(p, d.Picture())
}, Writers[*granularity.Profile]{
	"text": func(w io.Writer, p *granularity.Profile, d Drawing) error { return text.WriteTasks(w, p, d.Options) },
	"json": func(w io.Writer, p *granularity.Profile, d Drawing) error {
		return granularity.WriteJSON(w, d.largest(p))
	},
	"csv": func(w io.Writer, p *granularity.Profile, d Drawing) error {
		return text.TableCSV(w, d.largest(p).Table())
	},
	"pprof": pprofForm(pprof.Tasks, Drawing.largest),
})

// largest keeps the classes with the largest sums, for forms that do not do it themselves.
func (d Drawing) largest(p *granularity.Profile) *granularity.Profile {
	if d.Top <= 0 || d.Top >= len(p.Classes) {
		return p
	}
	out := *p
	out.Classes = p.Classes[:d.Top]
	return &out
}

// TableForms are the forms of a table.
var TableForms = FormsOf(func(t *result.Table, _ Drawing) (*result.Table, error) { return t, nil }, nil, Writers[*result.Table]{
	"text": func(w io.Writer, t *result.Table, d Drawing) error { return text.WriteTable(w, t, d.Options) },
})

// Rows returns the requested rows of a ledger.
func (d Drawing) Rows(l *ledger.Ledger) (*result.Table, error) {
	if d.By == nil {
		return l.Table(), nil
	}
	return l.Table().By(d.By...)
}

// RowsText writes rows of a ledger, by default 20 of them.
func (d Drawing) RowsText(w io.Writer, t *result.Table) error {
	opt := d.Options
	opt.Top = cmp.Or(opt.Top, 20)
	return text.WriteTable(w, t, opt)
}

// LedgerForms are the forms of ledgers.
var LedgerForms = FormsOf(func(l *ledger.Ledger, d Drawing) (*result.Table, error) {
	t, err := d.Rows(l)
	if err != nil {
		return nil, err
	}
	return t.Top(d.Top), nil
}, nil, Writers[*ledger.Ledger]{
	"text": func(w io.Writer, l *ledger.Ledger, d Drawing) error {
		return Via(func(l *ledger.Ledger, d Drawing) (*result.Table, error) { return d.Rows(l) }, d.RowsText)(w, l, d)
	},
	"json":  func(w io.Writer, l *ledger.Ledger, _ Drawing) error { return ledger.WriteJSON(w, l) },
	"pprof": pprofForm(pprof.Ledger, nil),
})

// DefineBy adds -by.
func (d *Destination) DefineBy(usage string) {
	d.Flags.Func("by", usage, func(s string) error {
		for name := range strings.SplitSeq(s, ",") {
			d.Draw.By = append(d.Draw.By, strings.TrimSpace(name))
		}
		_, err := d.Draw.Rows(&ledger.Ledger{})
		return err
	})
}

// CriticalForms are the forms of profiles of critical paths.
var CriticalForms = FormsOf(func(p *critical.Profile, d Drawing) (*result.Table, error) { return p.Table().Top(d.Top), nil }, nil, Writers[*critical.Profile]{
	"text":  func(w io.Writer, p *critical.Profile, d Drawing) error { return text.WritePaths(w, p, d.Options) },
	"json":  func(w io.Writer, p *critical.Profile, _ Drawing) error { return critical.WriteJSON(w, p) },
	"pprof": pprofForm(pprof.Paths, nil),
})

// StackForms are the forms of speedup stacks.
var StackForms = FormsOf(func(s []*speedup.Stack, _ Drawing) (*result.Table, error) {
	t := speedup.Table(s...)
	t.Title = measures.Widest(s).Sentence()
	return t, nil
}, func(s []*speedup.Stack, d Drawing) (*picture.Drawing, error) {
	return picture.DrawStacks(s, d.Picture())
}, Writers[[]*speedup.Stack]{
	"text": func(w io.Writer, s []*speedup.Stack, d Drawing) error { return text.WriteStacks(w, s, d.Options) },
	"json": func(w io.Writer, s []*speedup.Stack, _ Drawing) error { return speedup.WriteJSON(w, s...) },
})
