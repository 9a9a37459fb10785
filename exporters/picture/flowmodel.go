package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// flowModel is what a picture of contention shows, before anything has a place.
type flowModel struct {
	opt     ContentionOptions
	p       *contention.Profile
	whole   time.Duration // what was waited
	short   time.Duration // of that, what flows that are too short to be drawn have
	waiters []*flowNode   // from the top
	owners  []*flowNode
	flows   []*flow
}

// flowNode is a group of goroutines on one side.
type flowNode struct {
	name, full string
	time       time.Duration
	fill       color.RGBA
	last       bool // stays at the bottom: it is no group, or several
	hatched    bool
	y, h       float64
	next       float64 // where the next flow begins, while they are laid
}

// flow is what one group waited for another.
type flow struct {
	from, to    *flowNode
	time        time.Duration
	contentions int64
	did         contention.Activity // of the owners meanwhile
}

// mostGroups is how many groups stand on either side unless somebody asks for more.
const mostGroups = 15

func newFlowModel(p *contention.Profile, opt ContentionOptions) (*flowModel, error) {
	byWaiter, err := p.Aggregate(contention.ByWaiterGroup, contention.ByOwnerGroup)
	if err != nil {
		return nil, err
	}
	byOwner, err := p.Aggregate(contention.ByOwnerGroup)
	if err != nil {
		return nil, err
	}
	m := &flowModel{opt: opt, p: p, whole: byWaiter.Waited}
	names := shortGroups(byWaiter, byOwner)
	left := m.fold(byWaiter, names)
	right := m.fold(byOwner, names)
	flows := map[[2]*flowNode]*flow{}
	for _, w := range byWaiter.Children {
		for _, o := range w.Children {
			if o.Waited == 0 {
				continue
			}
			k := [2]*flowNode{left[w.Key], right[o.Key]}
			f := flows[k]
			if f == nil {
				f = &flow{from: k[0], to: k[1]}
				flows[k] = f
				m.flows = append(m.flows, f)
			}
			f.time += o.Waited
			f.contentions += o.Contentions
			f.did = f.did.Plus(o.Activity)
		}
	}
	m.flows = slices.DeleteFunc(m.flows, func(f *flow) bool {
		if f.time > 0 && f.time >= opt.Min {
			return false
		}
		m.short += f.time
		return true
	})
	for _, f := range m.flows {
		f.from.time += f.time
		f.to.time += f.time
	}
	m.waiters, m.owners = present(byWaiter, left), present(byOwner, right)
	for i, n := range m.waiters {
		if !n.last {
			n.fill = coolColors[i%len(coolColors)]
		}
	}
	for i, n := range m.owners {
		if !n.last {
			n.fill = warmColors[i%len(warmColors)]
		}
	}
	m.order()
	return m, nil
}

// shortGroups shortens the names of groups as far as they can be told apart.
func shortGroups(trees ...*contention.Tree) map[string]string {
	short := map[string]string{}
	var names []string
	for _, t := range trees {
		for _, c := range t.Children {
			if _, ok := short[c.Key]; !ok {
				short[c.Key] = ""
				names = append(names, c.Key)
			}
		}
	}
	for i, s := range format.Funcs(names) {
		if s = strings.TrimSpace(format.Clean(s)); s == "" {
			s = "(no name)"
		}
		short[names[i]] = s
	}
	return short
}

// fold gives each group of a side its node: one of its own, or that of the others.
func (m *flowModel) fold(t *contention.Tree, names map[string]string) map[string]*flowNode {
	nodes := map[string]*flowNode{}
	top, least := m.opt.Top, time.Duration(0)
	switch {
	case top < 0:
		top = len(t.Children)
	case top == 0:
		top, least = mostGroups, m.whole/100
	}
	var folded []string
	single := 0
	for _, c := range t.Children {
		switch {
		case c.Waited == 0: // ready for a processor, after a wait
		case c.Key == contention.HandOffKey || c.Key == contention.UnattributedKey:
			fill := runtimeColors[0]
			if c.Key == contention.UnattributedKey {
				fill = tracerColors[0]
			}
			nodes[c.Key] = &flowNode{name: strings.Trim(c.Key, "[]"), full: c.Key, last: true, hatched: true, fill: fill}
		case single < top && c.Waited >= least:
			single++
			nodes[c.Key] = &flowNode{name: names[c.Key], full: format.Clean(c.Key)}
		default:
			folded = append(folded, c.Key)
		}
	}
	others := &flowNode{name: format.Plural(len(folded), "other", "others"), last: true, fill: othersColor}
	others.full = others.name
	if len(folded) == 1 { // takes no more room
		others = &flowNode{name: names[folded[0]], full: format.Clean(folded[0])}
	}
	for _, key := range folded {
		nodes[key] = others
	}
	return nodes
}

// present lists the nodes that flows begin or end at, by size; those that are no single group come
// last.
func present(t *contention.Tree, nodes map[string]*flowNode) (out []*flowNode) {
	for _, c := range t.Children {
		if n := nodes[c.Key]; n != nil && n.time > 0 && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b *flowNode) int {
		return cmp.Or(compareBool(a.last, b.last), cmp.Compare(b.time, a.time))
	})
	return out
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (m *flowModel) title() string {
	if t := strings.TrimSpace(format.Clean(m.opt.Title)); t != "" {
		return t
	}
	return "Who waited for whom"
}

// sentence says how much was waited, and for whom most of it.
func (m *flowModel) sentence() string {
	if m.whole == 0 {
		return "no goroutine waited"
	}
	s := format.Duration(m.whole) + " " + m.waited()
	if d := m.p.Duration; d > 0 {
		s += " in " + format.Duration(d)
	}
	var most *flowNode
	for _, n := range m.owners {
		if !n.last && (most == nil || n.time > most.time) {
			most = n
		}
	}
	if most != nil {
		s += fmt.Sprintf("; most for %s: %s (%s)", clipName(most.name), format.Duration(most.time), format.Percent(most.time, m.whole))
	}
	return s
}

// waited is what the time is in which groups waited: in a trace, that in which they were blocked.
func (m *flowModel) waited() string {
	if m.p.TellsReady() {
		return "blocked"
	}
	return "waited"
}

// notes are what the picture leaves out, and the warnings of the profile.
func (m *flowModel) notes() (out []string) {
	if m.short > 0 {
		out = append(out, fmt.Sprintf("Not drawn: %s in flows that are shorter than %s.", format.Duration(m.short), format.Duration(m.opt.Min)))
	}
	return append(out, warningNotes(m.p.Warnings)...)
}

// say tells a flow in words.
func (m *flowModel) say(f *flow) string {
	verb := "waited"
	if m.p.TellsReady() {
		verb = "was blocked"
	}
	s := fmt.Sprintf("%s %s %s (%s) for %s", f.from.full, verb, format.Duration(f.time), format.Percent(f.time, m.whole), f.to.full)
	if f.contentions > 0 {
		s += ", in " + format.Plural(f.contentions, "contention", "contentions")
	}
	if of := f.did.Total(); f.did.Unknown < of {
		s += fmt.Sprintf("; meanwhile it ran %s, was ready to run %s, was itself blocked %s",
			format.Percent(f.did.Running, of), format.Percent(f.did.Runnable, of), format.Percent(f.did.BlockedTotal(), of))
	}
	return s
}

// describe tells the picture in words.
func (m *flowModel) describe() string {
	var b strings.Builder
	b.WriteString("Groups of goroutines that waited, on the left, and those that are to blame for it, on the right, as tall as the time. " + m.sentence() + ".")
	flows := slices.Clone(m.flows)
	slices.SortStableFunc(flows, func(a, b *flow) int { return cmp.Compare(b.time, a.time) })
	for _, f := range flows[:min(len(flows), 20)] {
		b.WriteString(" " + clipName(f.from.name) + " for " + clipName(f.to.name) + ": " + format.Duration(f.time) + ".")
	}
	return b.String()
}
