package text

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// WriteTasks writes a task profile: a sentence, a table with the quantiles and the diagnosis of
// each class, and for each class the reasons, the advice and the call sites that create and submit
// its tasks. Granularity is in cycles, with the equivalent time, or in time if cycles are unknown.
// Options.Top is the number of classes; 0 means 15. The error is that of w.
func WriteTasks(w io.Writer, p *granularity.Profile, opt Options) error {
	if p == nil {
		return errors.New("text: no profile of tasks")
	}
	opt, st := opt.withDefaults()
	t := &tasksText{p: p, opt: opt, style: st}
	t.choose()
	t.headline()
	t.table()
	for i, c := range t.classes {
		t.class(c, t.names[i])
	}
	return emit(w, t.b.String()+t.style.warnings(p.Warnings, opt.Width))
}

// tasksText is the text of a profile under construction.
type tasksText struct {
	p       *granularity.Profile
	opt     Options
	style   style
	classes []*granularity.Class
	names   []string // display names
	b       strings.Builder
}

// choose selects the classes with the largest sums, and shortens their names.
func (t *tasksText) choose() {
	top := t.opt.top(15, len(t.p.Classes))
	var full []string
	for i := range t.p.Classes[:top] {
		t.classes = append(t.classes, &t.p.Classes[i])
		full = append(full, t.p.Classes[i].Name)
	}
	for _, name := range format.Funcs(full) {
		t.names = append(t.names, label(name))
	}
}

// headline writes what was measured, and how well.
func (t *tasksText) headline() {
	p := t.p
	var tasks uint64
	for i := range p.Classes {
		tasks += p.Classes[i].Executions()
	}
	s := "Task granularity: " + format.Plural(tasks, "task", "tasks") + " of " + format.Plural(len(p.Classes), "class", "classes")
	if p.Wall > 0 {
		s += " in " + format.Duration(p.Wall)
	}
	if p.Procs > 0 {
		s += fmt.Sprintf(", GOMAXPROCS %d", p.Procs)
	}
	t.b.WriteString(t.style.paintLines(bold, wrap(s, t.opt.Width, 0)) + "\n")
	s = "Source: " + p.Source + ", accuracy: " + p.Accuracy
	if p.Hz > 0 {
		s += fmt.Sprintf(", %.4g GHz", p.Hz/1e9)
	}
	if p.Overhead > 0 {
		s += "; overhead of a task " + format.Duration(p.Overhead) + ": " + p.OverheadOrigin
	}
	t.b.WriteString(t.style.paintLines(dim, wrap(clean(s), t.opt.Width, 0)) + "\n")
	if len(p.Samples) > 0 {
		for _, u := range p.Utilizations() {
			t.b.WriteString(t.style.paintLines(dim, wrap(u.String(), t.opt.Width, 0)) + "\n")
		}
	}
	t.b.WriteString("\n")
}

// table writes a line for each class.
func (t *tasksText) table() {
	if len(t.classes) == 0 {
		t.b.WriteString("No tasks were measured.\n")
		return
	}
	s := "Granularity in cycles (k, M, G: 10^3, 10^6, 10^9)."
	if t.p.ByTime() {
		s = "Granularity in running time."
	}
	s += " Blocked: off the processor."
	writeRows(&t.b, t.p.ClassTable(t.p.ByTime()), len(t.classes), t.opt.Width, t.style)
	t.b.WriteString(t.style.paintLines(dim, wrap(s, t.opt.Width, 0)) + "\n")
}

// class writes the reasons, the advice and the call sites of a class.
func (t *tasksText) class(c *granularity.Class, name string) {
	t.b.WriteString("\n" + t.style.paint(bold, fit(name, t.opt.Width-12)) + ": " + c.DiagnosisOrUnknown() + "\n")
	paragraph := func(mark, s string) {
		t.b.WriteString("  " + mark + " " + strings.ReplaceAll(wrap(clean(s), t.opt.Width-4, 0), "\n", "\n  ") + "\n")
	}
	for _, s := range c.Reasons {
		paragraph("-", s)
	}
	for _, s := range c.Advice {
		paragraph("→", s)
	}
	created, submitted := map[string]uint64{}, map[string]uint64{} // numbers of tasks by line
	add := func(to map[string]uint64, chain []granularity.Frame, tasks uint64) {
		if len(chain) > 0 {
			to[chain[0].String()] += tasks
		}
	}
	for i := range c.Sites {
		add(created, c.Sites[i].Created, c.Sites[i].Tasks)
		add(submitted, c.Sites[i].Submitted, c.Sites[i].Tasks)
	}
	if maps.Equal(created, submitted) {
		t.sites("created and submitted", created)
		return
	}
	t.sites("created", created)
	t.sites("submitted", submitted)
}

// mostSites is the maximum number of call sites listed per class.
const mostSites = 5

// sites lists the lines, most tasks first.
func (t *tasksText) sites(verb string, tasks map[string]uint64) {
	lines := slices.SortedFunc(maps.Keys(tasks), func(a, b string) int { return cmp.Or(cmp.Compare(tasks[b], tasks[a]), cmp.Compare(a, b)) })
	for i, line := range lines {
		if i == mostSites && len(lines) > mostSites+1 {
			t.b.WriteString("  and at " + format.Plural(len(lines)-i, "other line", "other lines") + "\n")
			return
		}
		head := "  " + format.Plural(tasks[line], "task", "tasks") + " " + verb + " at "
		t.b.WriteString(head + fit(clean(line), max(20, t.opt.Width-columns(head))) + "\n")
	}
}
