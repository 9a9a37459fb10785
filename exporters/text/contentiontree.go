package text

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// treeLine is a node of the tree, or what is left out below one.
type treeLine struct {
	numbers   []string // blocked or waited, part of the whole, ready, contentions, and what owners did
	name      string
	attribute string
	depth     int
	stack     bool // it matters less, the farther to the right
}

// cells keeps the numbers of a line that the profile can tell: not ready if it does not, nor what
// owners did if that is not known.
func (m *contentionModel) cells(waited, percent, ready, count string, did [3]string) []string {
	cells := []string{waited, percent}
	if m.ready {
		cells = append(cells, ready)
	}
	cells = append(cells, count)
	if m.showsDid() {
		cells = append(cells, did[:]...)
	}
	return cells
}

// showsDid reports whether the tree has the columns of what owners did. Where they would leave
// names no room, they are in the table of locks only, unless the tree is about roots, which they
// explain.
func (m *contentionModel) showsDid() bool {
	return m.known() && (m.opt.Width >= 100 || slices.ContainsFunc(m.opt.By, func(a contention.Aspect) bool { return strings.HasPrefix(string(a), "root-") }))
}

// split takes the waits apart that need not cost anything; see [contention.Wait.ForWork]. idle is
// nil if there are none of one sort. Rows of both are those of p.
func split(p *contention.Profile) (costs, idle *contention.Profile) {
	first, second := *p, *p
	first.Waits, first.Pairs, second.Waits, second.Pairs = nil, nil, nil, nil
	for _, w := range p.Waits {
		if w.ForWork() {
			second.Waits = append(second.Waits, w)
		} else {
			first.Waits = append(first.Waits, w)
		}
	}
	for _, q := range p.Pairs {
		if q.ForWork() {
			second.Pairs = append(second.Pairs, q)
		} else {
			first.Pairs = append(first.Pairs, q)
		}
	}
	if len(first.Waits) == 0 || len(second.Waits) == 0 {
		return p, nil
	}
	return &first, &second
}

// trees writes the tree; in two parts, if waits that are idle come second.
func (m *contentionModel) trees(idle *contention.Profile) string {
	s := ""
	if idle == nil {
		s = m.treeText(m.tree)
	} else {
		first, _ := m.costs.Aggregate(m.opt.By...) // the whole was aggregated by the same
		second, _ := idle.Aggregate(m.opt.By...)
		s = m.treeText(first) + m.paragraph(bold, fmt.Sprintf("Waiting for workers, for work or for the network (%s), which need not cost anything:", format.Percent(second.Waited, m.tree.Waited))) + m.treeText(second)
	}
	if m.showsDid() {
		s += m.style.paintLines(dim, wrap(didLegend, m.opt.Width, 0)) + "\n"
	}
	if countsTwice(m.tree) {
		s += m.style.paintLines(dim, wrap("contentions: "+severalLegend, m.opt.Width, 0)) + "\n"
	}
	return s
}

// treeText writes a tree, a line for each node, below the names of the aspects.
func (m *contentionModel) treeText(tree *contention.Tree) string {
	short := shortNames(m.tree)
	var lines []treeLine
	m.addLines(&lines, tree, 0, short, m.least(tree.Waited))
	headings := m.cells(m.heading(), "%", "ready", "contentions", didHeadings)
	width := make([]int, len(headings))
	for i := range width {
		width[i] = columns(headings[i])
		for _, l := range lines {
			width[i] = max(width[i], columns(l.numbers[i]))
		}
	}
	var b strings.Builder
	row := func(attribute string, numbers []string, name string, stack bool) {
		s, used := "", 0
		for i, n := range numbers {
			s += right(n, width[i]) + "  "
			used += width[i] + 2
		}
		room := max(minName, m.opt.Width-used)
		if stack && columns(name) > room {
			name = head(name, room-1) + m.style.or("…", "~")
		}
		name = m.style.fit(name, room)
		b.WriteString(strings.TrimRight(s+m.style.paint(attribute, name), " ") + "\n")
	}
	var aspects []string
	for _, a := range m.opt.By {
		aspects = append(aspects, string(a))
	}
	by, used := "by "+strings.Join(aspects, " > "), 0
	for _, w := range width {
		used += w + 2
	}
	if columns(by) > m.opt.Width-used {
		b.WriteString(m.style.paintLines(dim, wrap(by+":", m.opt.Width, 0)) + "\n")
		by = ""
	}
	row(dim, headings, by, false)
	for _, l := range lines {
		row(l.attribute, l.numbers, spaces(2*l.depth)+l.name, l.stack)
	}
	return b.String()
}

// severalLegend explains why numbers of waits sum to more than there were.
const severalLegend = "a wait behind several owners counts for each of them."

// countsTwice reports whether a wait is counted for several owners, or roots, somewhere in a tree.
func countsTwice(t *contention.Tree) bool {
	var sum int64
	for _, c := range t.Children {
		if countsTwice(c) {
			return true
		}
		sum += c.Contentions
	}
	return sum > t.Contentions
}

func (m *contentionModel) addLines(out *[]treeLine, t *contention.Tree, depth int, short map[string]string, least time.Duration) {
	shown, left := m.worthShowing(t, least)
	for _, c := range shown {
		l := m.line(c, depth)
		name := c.Key
		if l.stack = isStack(c.Aspect); l.stack {
			name = shortStack(name, short)
		} else if s, ok := short[name]; ok {
			name = s
		}
		if l.name = m.style.clean(name); strings.TrimSpace(l.name) == "" {
			l.name = "(none)"
		}
		if depth == 0 {
			l.attribute = bold
		}
		*out = append(*out, l)
		m.addLines(out, c, depth+1, short, least)
	}
	var rest contention.Tree
	for _, c := range left {
		rest.Waited += c.Waited
		rest.Ready += c.Ready
		rest.Contentions += c.Contentions
		rest.Blamed += c.Blamed
		rest.Activity = rest.Activity.Plus(c.Activity)
	}
	if len(left) > 0 {
		l := m.line(&rest, depth)
		l.name, l.attribute = fmt.Sprintf("(%s more)", format.Count(len(left))), dim
		*out = append(*out, l)
	}
}

func (m *contentionModel) line(t *contention.Tree, depth int) treeLine {
	count := ""
	if t.Contentions > 0 { // else there is no owner
		count = format.Count(t.Contentions)
	}
	waited, percent, ready := m.duration(t.Waited), m.percent(t.Waited), ""
	if t.Ready > 0 {
		if ready = m.duration(t.Ready); t.Waited == 0 {
			waited, percent = "", ""
		}
	}
	return treeLine{numbers: m.cells(waited, percent, ready, count, m.did(t.Activity, t.Blamed)), depth: depth}
}

// least is for how long something is waited that has a line among what is waited for the given time
// in all.
func (m *contentionModel) least(waited time.Duration) time.Duration {
	return max(waited/200, m.tree.Waited/2000)
}

// limits are how many lines are shown, all if negative, and for how long something is waited that
// has one: at least for the given time, if the options do not say.
func (m *contentionModel) limits(least time.Duration) (int, time.Duration) {
	switch {
	case m.opt.Top != 0:
		return m.opt.Top, m.opt.Min
	case m.opt.Min > 0:
		return 12, m.opt.Min
	}
	return 12, least
}

// worthShowing takes the children of a node that have lines of their own from those that are left:
// least is for how long they waited, if the options do not say.
func (m *contentionModel) worthShowing(t *contention.Tree, least time.Duration) (shown, left []*contention.Tree) {
	top, least := m.limits(least)
	if top < 0 {
		top = len(t.Children)
	}
	for _, c := range t.Children {
		if len(shown) < top && max(c.Waited, c.Ready) >= least {
			shown = append(shown, c)
		} else {
			left = append(left, c)
		}
	}
	if m.opt.Min > 0 || len(t.Children) == 0 {
		return shown, left
	}
	if len(shown) == 0 {
		shown, left = t.Children[:1], t.Children[1:]
	}
	if len(left) == 1 { // "(1 more)" would be no shorter
		return t.Children, nil
	}
	return shown, left
}

// shortNames shortens the functions in a tree as far as they can be told apart.
func shortNames(t *contention.Tree) map[string]string {
	var names []string
	seen := map[string]string{}
	add := func(name string) {
		if _, ok := seen[name]; !ok {
			seen[name] = ""
			names = append(names, name)
		}
	}
	var walk func(t *contention.Tree)
	walk = func(t *contention.Tree) {
		switch t.Aspect {
		case contention.ByOwnerFunc, contention.ByWaiterFunc, contention.ByRootFunc, contention.ByOwnerGroup, contention.ByWaiterGroup, contention.ByRootGroup, contention.ByClass:
			add(t.Key)
		case contention.ByLock:
			if strings.Contains(t.Key, "#") { // names that people gave stay as they are
				add(t.Key)
			}
		}
		if isStack(t.Aspect) {
			for frame := range strings.SplitSeq(t.Key, frameSeparator) {
				name, _ := cutFrame(frame)
				add(name)
			}
		}
		for _, c := range t.Children {
			walk(c)
		}
	}
	walk(t)
	for i, s := range format.Funcs(names) {
		seen[names[i]] = s
	}
	return seen
}

func isStack(a contention.Aspect) bool {
	return a == contention.ByOwnerStack || a == contention.ByWaiterStack || a == contention.ByRootStack
}

// frameSeparator is what [contention.Stack.String] puts between the frames "func file:line" of a
// call chain.
const frameSeparator = " < "

// shortStack shortens the functions and files of a call chain: where the chains part should fit
// into the line.
func shortStack(key string, short map[string]string) string {
	frames := strings.Split(key, frameSeparator)
	for i, frame := range frames {
		name, place := cutFrame(frame)
		if s, ok := short[name]; ok {
			name = s
		}
		if place != "" {
			name += " " + place[strings.LastIndexAny(place, `/\`)+1:]
		}
		frames[i] = name
	}
	return strings.Join(frames, frameSeparator)
}

// cutFrame cuts a frame into its function and its place, "" if there is none. Blanks in brackets
// belong to type parameters.
func cutFrame(frame string) (function, place string) {
	depth := 0
	for i, r := range frame {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case ' ':
			if depth == 0 {
				return frame[:i], frame[i+1:]
			}
		}
	}
	return frame, ""
}
