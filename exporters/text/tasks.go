package text

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
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
	if top == len(t.p.Classes)-1 {
		top++ // as [result.Table.Top]
	}
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
	var created, submitted []sitesOf
	for i := range c.Sites {
		s := &c.Sites[i]
		created, submitted = addSite(created, s.Created, s.Tasks), addSite(submitted, s.Submitted, s.Tasks)
	}
	if slices.Equal(created, submitted) {
		t.sites("created and submitted", created)
		return
	}
	t.sites("created", created)
	t.sites("submitted", submitted)
}

// sitesOf is a line of code that tasks come from, with their number.
type sitesOf struct {
	line  string
	tasks uint64
}

// addSite adds the tasks of a call stack to its leaf.
func addSite(sites []sitesOf, chain []granularity.Frame, tasks uint64) []sitesOf {
	if len(chain) == 0 {
		return sites
	}
	line := chain[0].String()
	if i := slices.IndexFunc(sites, func(s sitesOf) bool { return s.line == line }); i >= 0 {
		sites[i].tasks += tasks
		return sites
	}
	return append(sites, sitesOf{line, tasks})
}

// mostSites is the maximum number of call sites listed per class.
const mostSites = 5

// sites lists the lines, most tasks first.
func (t *tasksText) sites(verb string, sites []sitesOf) {
	order.Stable(sites, func(a, b sitesOf) int { return cmp.Compare(b.tasks, a.tasks) })
	for i, s := range sites {
		if i == mostSites && len(sites) > mostSites+1 {
			t.b.WriteString("  and at " + format.Plural(len(sites)-i, "other line", "other lines") + "\n")
			return
		}
		head := "  " + format.Plural(s.tasks, "task", "tasks") + " " + verb + " at "
		t.b.WriteString(head + fit(clean(s.line), max(20, t.opt.Width-columns(head))) + "\n")
	}
}
