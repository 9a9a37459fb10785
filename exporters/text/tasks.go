package text

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// TasksOptions says how a profile of tasks is written. The zero value is right for a file.
type TasksOptions struct {
	Options // of them, Top is the number of classes; 0 means 15
	// Creation and Submission choose the call sites that are listed; both if neither is set.
	Creation, Submission bool
	// Strip adds a line of blocks for each class that shows when its tasks were under way, and
	// such lines of the context switches and of the utilisation of the processors.
	Strip bool
}

// WriteTasks writes a profile of tasks: a sentence, a table with the quantiles and the diagnosis of
// each class, and for each class the reasons, the advice and the call sites that create and submit
// its tasks. Granularity is in cycles, with the time they take, or in time where cycles are not
// known. The error is that of w.
func WriteTasks(w io.Writer, p *granularity.Profile, opt TasksOptions) error {
	if p == nil {
		return errors.New("text: no profile of tasks")
	}
	opt.Options = opt.withDefaults()
	if !opt.Creation && !opt.Submission {
		opt.Creation, opt.Submission = true, true
	}
	t := &tasksText{p: p, opt: opt, style: style{colour: opt.Colour, ascii: opt.ASCII}}
	t.choose()
	t.headline()
	t.table()
	if opt.Strip {
		t.strips()
	}
	for i, c := range t.classes {
		t.class(c, t.names[i])
	}
	for _, warning := range p.Warnings {
		t.b.WriteString(t.style.paint(bold, "Warning:") + wrap(t.style.clean(warning), opt.Width, len("Warning:")) + "\n")
	}
	if _, err := io.WriteString(w, t.b.String()); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

// tasksText is the text of a profile under way.
type tasksText struct {
	p       *granularity.Profile
	opt     TasksOptions
	style   style
	classes []*granularity.Class
	names   []string // as they are shown
	more    int      // classes that are left out
	b       strings.Builder
}

// choose takes the classes with the largest sums, and shortens their names.
func (t *tasksText) choose() {
	top := t.opt.Top
	if top == 0 {
		top = 15
	}
	if top < 0 || top > len(t.p.Classes) {
		top = len(t.p.Classes)
	}
	var full []string
	for i := range t.p.Classes[:top] {
		t.classes = append(t.classes, &t.p.Classes[i])
		full = append(full, t.p.Classes[i].Name)
	}
	t.more = len(t.p.Classes) - top
	for _, name := range format.Funcs(full) {
		if name = strings.TrimSpace(t.style.clean(name)); name == "" {
			name = "(no name)"
		}
		t.names = append(t.names, name)
	}
}

// headline says what was measured, and how well.
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
	t.b.WriteString(t.style.paintLines(bold, wrap(t.style.plain(s), t.opt.Width, 0)) + "\n")
	s = "Source: " + p.Source + ", accuracy: " + p.Accuracy
	if p.Hz > 0 {
		s += fmt.Sprintf(", %.4g GHz", p.Hz/1e9)
	}
	if p.Overhead > 0 {
		s += "; overhead of a task " + format.Duration(p.Overhead) + ": " + p.OverheadOrigin
	}
	t.b.WriteString(t.style.paintLines(dim, wrap(t.style.clean(s), t.opt.Width, 0)) + "\n\n")
}

// table has a line for each class.
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
	table := t.p.ClassTable(t.p.ByTime())
	table.Rows = table.Rows[:len(t.classes)]
	writeRows(&t.b, table, 0, t.opt.Width, t.style)
	if t.more > 0 {
		s = format.Plural(t.more, "smaller class is", "smaller classes are") + " not shown. " + s
	}
	t.b.WriteString(t.style.paintLines(dim, wrap(s, t.opt.Width, 0)) + "\n")
}

// class writes why, what to do, and where.
func (t *tasksText) class(c *granularity.Class, name string) {
	t.b.WriteString("\n" + t.style.paint(bold, t.style.fit(name, t.opt.Width-12)) + ": " + string(c.Diagnosis.OrUnknown()) + "\n")
	paragraph := func(mark, s string) {
		t.b.WriteString("  " + mark + " " + strings.ReplaceAll(wrap(t.style.clean(s), t.opt.Width-4, 0), "\n", "\n  ") + "\n")
	}
	for _, s := range c.Reasons {
		paragraph("-", s)
	}
	for _, s := range c.Advice {
		paragraph(t.style.or("→", ">"), s)
	}
	var created, submitted []sitesOf
	for i := range c.Sites {
		s := &c.Sites[i]
		created, submitted = addSite(created, s.Created, s.Tasks), addSite(submitted, s.Submitted, s.Tasks)
	}
	if t.opt.Creation {
		t.sites("created", created)
	}
	if t.opt.Submission {
		t.sites("submitted", submitted)
	}
}
