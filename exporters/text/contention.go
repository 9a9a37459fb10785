package text

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// ContentionOptions says how a contention profile is written. The zero value is right for
// a file.
type ContentionOptions struct {
	// Options says how the text looks. Top is the number of lines that are shown below each
	// line of the tree, and of locks; 0 means up to 12, as many as have half a percent.
	Options
	// By are the aspects of the tree; none means owner-func, lock, waiter-func.
	By []contention.Aspect
	// Kinds are those that the profile was cut down to, if it was. Of what goroutines still
	// waited for when a trace ended, only locks and the like are shown, and what is named here.
	Kinds []contention.Kind
	// Min leaves out what is shorter. What is left out below a line is added up.
	Min time.Duration
}

// DefaultAspects are those that [WriteContention] tells waits apart by if nobody says
// otherwise: who is to blame, at which lock, and who waited.
var DefaultAspects = []contention.Aspect{contention.ByOwnerFunc, contention.ByLock, contention.ByWaiterFunc}

var errNoContention = errors.New("text: no contention profile")

// WriteContention writes a contention profile: in sentences how long goroutines waited and who is
// most to blame, the tree of the totals by some aspects, the table of locks and the warnings. The
// error is that of w, or of aspects that are unknown or come twice.
func WriteContention(w io.Writer, p *contention.Profile, opt ContentionOptions) error {
	if p == nil {
		return errNoContention
	}
	opt.Options = opt.withDefaults()
	costs, idle := p, (*contention.Profile)(nil)
	if len(opt.By) == 0 {
		opt.By = DefaultAspects
		costs, idle = split(p)
	}
	tree, err := p.Aggregate(opt.By...)
	if err != nil {
		return fmt.Errorf("text: %w", err)
	}
	m := &contentionModel{p: p, costs: costs, tree: tree, opt: opt, ready: p.TellsReady(), style: style{colour: opt.Colour, ascii: opt.ASCII}}
	sections := []string{m.headline()}
	if tree.Waited > 0 || tree.Ready > 0 {
		sections = append(sections, m.trees(idle), m.locks())
	}
	if s := m.unfinished(); s != "" {
		sections = append(sections, s)
	}
	if s := m.warnings(); s != "" {
		sections = append(sections, s)
	}
	if _, err := io.WriteString(w, strings.Join(sections, "\n")); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

// contentionModel is a profile on its way to text.
type contentionModel struct {
	p     *contention.Profile
	costs *contention.Profile // what of p comes first, see split
	tree  *contention.Tree
	opt   ContentionOptions
	ready bool // see contention.Profile.TellsReady
	style style
}

func (m *contentionModel) duration(d time.Duration) string { return m.style.plain(format.Duration(d)) }

// percent is a part of what was waited.
func (m *contentionModel) percent(d time.Duration) string {
	return m.style.plain(format.Percent(d, m.tree.Waited))
}

func (m *contentionModel) paragraph(attribute, s string) string {
	return m.style.paintLines(attribute, wrap(m.style.clean(s), m.opt.Width, 0)) + "\n"
}

// headline says how much was waited, for what, and because of whom.
func (m *contentionModel) headline() string {
	t := m.tree
	if t.Waited == 0 && t.Ready == 0 {
		if len(m.p.Unfinished) > 0 {
			return m.paragraph(bold, "No wait ended"+m.during()+".")
		}
		return m.paragraph(bold, "No goroutine waited"+m.during()+".")
	}
	sum := fmt.Sprintf("Goroutines %s %s in %s%s", m.verb(), format.Duration(t.Waited), format.Plural(t.Contentions, "contention", "contentions"), m.during())
	if d := m.p.Duration; d > 0 {
		sum += fmt.Sprintf(": %s %s at a time, on average", format.Parallelism(float64(t.Waited)/float64(d)), m.heading())
	}
	s := m.paragraph(bold, sum+".")
	parts := fmt.Sprintf("%s of that is blamed on owners, %s is hand-off (the lock was on its way to its next owner), %s is unattributed.",
		format.Percent(t.Blamed, t.Waited), format.Percent(t.HandOff, t.Waited), format.Percent(t.Unattributed, t.Waited))
	if t.Ready > 0 {
		parts += fmt.Sprintf(" Then they were ready for %s until they had a processor; for %s of that, one was idle.", format.Duration(t.Ready), format.Duration(t.ReadyIdle))
	}
	if who, d := m.most(contention.ByOwnerFunc); d > 0 {
		most := "Most to blame"
		if m.costs != m.p {
			most += ", apart from waits for workers, work or the network"
		}
		parts += fmt.Sprintf(" %s: %s, %s (%s).", most, who, format.Duration(d), format.Percent(d, t.Waited))
	}
	return s + m.paragraph("", parts) + m.owners() + m.kinds()
}

// verb is what goroutines did, in the past tense.
func (m *contentionModel) verb() string {
	if m.ready {
		return "were blocked"
	}
	return "waited"
}

// heading is the title of the column of that time.
func (m *contentionModel) heading() string { return strings.TrimPrefix(m.verb(), "were ") }

func (m *contentionModel) during() string {
	if m.p.Duration <= 0 {
		return ""
	}
	return " in " + format.Duration(m.p.Duration)
}

// most is what others are held up by for longest, by an aspect such as the owner's function.
func (m *contentionModel) most(by contention.Aspect) (string, time.Duration) {
	t, err := m.costs.Aggregate(by)
	if err != nil {
		return "", 0
	}
	i := slices.IndexFunc(t.Children, func(c *contention.Tree) bool { return c.Blamed > 0 && c.Key != contention.UnknownKey })
	if i < 0 {
		return "", 0
	}
	return m.style.fit(m.style.clean(format.Func(t.Children[i].Key)), maxName), t.Children[i].Blamed
}

// kinds tells the kinds apart where there are several.
func (m *contentionModel) kinds() string {
	t, err := m.p.Aggregate(contention.ByKind)
	if err != nil || len(t.Children) < 2 {
		return ""
	}
	var parts []string
	for _, c := range t.Children {
		part := fmt.Sprintf("%s %s (%s", c.Key, format.Duration(c.Waited), format.Plural(c.Contentions, "wait", "waits"))
		if c.Ready > 0 {
			part += ", then ready " + format.Duration(c.Ready)
		}
		parts = append(parts, part+")")
	}
	return m.paragraph("", "By kind: "+strings.Join(parts, ", ")+".")
}

func (m *contentionModel) warnings() string {
	var b strings.Builder
	for _, w := range m.p.Warnings {
		b.WriteString(m.style.paint(bold, "Warning:") + wrap(m.style.clean(w), m.opt.Width, len("Warning:")) + "\n")
	}
	return b.String()
}
