package text

import (
	"fmt"
	"strings"

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

// cells keeps the numbers of a line that the profile can tell: not ready if it does not, nor what owners did if that is not known.
func (m *contentionModel) cells(waited, percent, ready, count string, did [3]string) []string {
	cells := []string{waited, percent}
	if m.tellsReady() {
		cells = append(cells, ready)
	}
	cells = append(cells, count)
	if m.known() {
		cells = append(cells, did[:]...)
	}
	return cells
}

// split takes those waits apart in which goroutines wait for others to finish, for the network, or for something to do. Most of them cost nothing,
// however long they are: the main goroutine waits for its workers, and a connection that is kept open for the next request. idle is nil if
// there are none of one sort. Rows of both are those of p.
func split(p *contention.Profile) (costs, idle *contention.Profile) {
	first, second := *p, *p
	first.Waits, first.Pairs, second.Waits, second.Pairs = nil, nil, nil, nil
	for _, w := range p.Waits {
		if waitsForWork(w.Kind, w.Waiter.Stack) {
			second.Waits = append(second.Waits, w)
		} else {
			first.Waits = append(first.Waits, w)
		}
	}
	for _, q := range p.Pairs {
		if waitsForWork(q.Kind, q.Waiter.Stack) {
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

// waitsForWork reports whether waits of a kind and call chain are of that sort.
func waitsForWork(kind contention.Kind, waiter *contention.Stack) bool {
	switch kind {
	case contention.WaitGroupKind, contention.NetworkKind, contention.SleepKind:
		return true
	case contention.ChanReceiveKind, contention.SelectKind, contention.CondKind:
	default:
		return false
	}
	if waiter == nil || len(waiter.Frames) == 0 {
		return false
	}
	// Benchmarks and tests wait for those that they run; connections for requests, answers and their ends.
	for _, of := range []string{"testing.(*", "net/http.(*persistConn).", "net/http.(*conn).", "net/http.(*connReader).", "net/http.(*http2", "os/signal."} {
		if strings.HasPrefix(waiter.Frames[0].Func, of) {
			return true
		}
	}
	return false
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
	if m.known() {
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
	m.addLines(&lines, tree, 0, short)
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
	row(dim, headings, "by "+strings.Join(aspects, " > "), true)
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

func (m *contentionModel) addLines(out *[]treeLine, t *contention.Tree, depth int, short map[string]string) {
	shown := m.worthShowing(t)
	for _, c := range t.Children[:shown] {
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
		m.addLines(out, c, depth+1, short)
	}
	var rest contention.Tree
	for _, c := range t.Children[shown:] {
		rest.Waited += c.Waited
		rest.Ready += c.Ready
		rest.Contentions += c.Contentions
		rest.Blamed += c.Blamed
		rest.Activity = rest.Activity.Plus(c.Activity)
	}
	if more := len(t.Children) - shown; more > 0 {
		l := m.line(&rest, depth)
		l.name, l.attribute = fmt.Sprintf("(%s more)", format.Count(more)), dim
		*out = append(*out, l)
	}
}

func (m *contentionModel) line(t *contention.Tree, depth int) treeLine {
	count := ""
	if t.Contentions > 0 { // else nobody was the owner
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

// worthShowing is how many children of a node have lines of their own; they are sorted.
func (m *contentionModel) worthShowing(t *contention.Tree) int {
	top, least := m.opt.Top, m.opt.Min
	switch {
	case top < 0:
		top = len(t.Children)
	case top == 0:
		top = 12
		if least == 0 {
			least = m.tree.Waited / 200
		}
	}
	n := 0
	for n < len(t.Children) && n < top && max(t.Children[n].Waited, t.Children[n].Ready) >= least {
		n++
	}
	if n == 0 && m.opt.Min == 0 && len(t.Children) > 0 {
		n = 1
	}
	if n == len(t.Children)-1 && m.opt.Min == 0 {
		n++ // "(1 more)" would be no shorter
	}
	return n
}
