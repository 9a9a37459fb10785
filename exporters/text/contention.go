package text

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// defaultAspects are the default levels of the tree: owner, lock and waiter.
var defaultAspects = []string{contention.ByOwnerFunc, contention.ByLock, contention.ByWaiterFunc}

var errNoContention = errors.New("text: no contention profile")

// WriteContention writes a contention profile: sentences on how long goroutines waited and on the
// main owners, the tree of the totals by some aspects, the table of locks, and the warnings.
// Options.Top is the maximum number of lines below each line of the tree, and of locks; 0 means up
// to 12, those with at least half a percent. The error is that of w, or one about unknown or
// duplicated aspects.
func WriteContention(w io.Writer, p *contention.Profile, opt Options) error {
	if p == nil {
		return errNoContention
	}
	var st style
	opt, st = opt.withDefaults()
	costs, idle := p, (*contention.Profile)(nil)
	if len(opt.By) == 0 {
		opt.By = defaultAspects
		costs, idle = split(p)
	}
	tree, err := p.Aggregate(opt.By...)
	if err != nil {
		return fmt.Errorf("text: %w", err)
	}
	m := &contentionModel{p: p, costs: costs, tree: tree, opt: opt, ready: p.HasReady(), style: st}
	sections := []string{m.headline()}
	if tree.Waited > 0 || tree.Ready > 0 {
		sections = append(sections, m.trees(idle), m.locks())
	}
	if opt.Rates {
		sections[0] += m.paragraph("", p.Rates())
	}
	if s := m.unfinished(); s != "" {
		sections = append(sections, s)
	}
	if s := m.style.warnings(p.Warnings, opt.Width); s != "" {
		sections = append(sections, s)
	}
	return emit(w, strings.Join(sections, "\n"))
}

// contentionModel is a profile prepared for output.
type contentionModel struct {
	p     *contention.Profile
	costs *contention.Profile // the waits in p that are shown first; see split
	tree  *contention.Tree
	opt   Options
	ready bool // see contention.Profile.HasReady
	style style
}

// percent formats a part of the wait time.
func (m *contentionModel) percent(d time.Duration) string { return format.Percent(d, m.tree.Waited) }

func (m *contentionModel) paragraph(attribute, s string) string {
	return m.style.paintLines(attribute, wrap(clean(s), m.opt.Width, 0)) + "\n"
}

// headline returns the sentences on how long goroutines waited, for what, and for which owner.
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

// verb returns the verb for the wait, in the past tense.
func (m *contentionModel) verb() string {
	if m.ready {
		return "were blocked"
	}
	return "waited"
}

// heading returns the title of the column of the wait time.
func (m *contentionModel) heading() string { return strings.TrimPrefix(m.verb(), "were ") }

func (m *contentionModel) during() string {
	if m.p.Duration <= 0 {
		return ""
	}
	return " in " + format.Duration(m.p.Duration)
}

// most returns the owner that others waited for longest, by an aspect such as its function.
func (m *contentionModel) most(by string) (string, time.Duration) {
	t, err := m.costs.Aggregate(by)
	if err != nil {
		return "", 0
	}
	i := slices.IndexFunc(t.Children, func(c *contention.Tree) bool { return c.Blamed > 0 && c.Key != contention.UnknownKey })
	if i < 0 {
		return "", 0
	}
	return fit(clean(format.Func(t.Children[i].Key)), maxName), t.Children[i].Blamed
}

// kinds returns the times by kind if there are several kinds.
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

// contentionLine is a line of the tree or of the table of locks: a node, or the sum of those that
// are omitted.
type contentionLine struct {
	*contention.Tree
	several   bool // locks
	name      string
	attribute string
	stack     bool // the left end of the name matters most
}

// numbers returns the known columns of numbers of the tree, or of the table of locks.
func (m *contentionModel) numbers(lines []contentionLine, locks bool) (table []*columnText) {
	add := func(heading string, known bool, cell func(l *contentionLine) string) {
		if !known {
			return
		}
		c := newColumns(heading)[0]
		c.left = false
		for i := range lines {
			c.add(cell(&lines[i]))
		}
		table = append(table, c)
	}
	afterwards := func(l *contentionLine) bool { return !locks && l.Waited == 0 && l.Ready > 0 }
	single := func(of func(l *contentionLine) (string, bool)) func(l *contentionLine) string {
		return func(l *contentionLine) string {
			s, known := of(l)
			switch {
			case l.several:
				return ""
			case !known:
				return format.Unknown
			}
			return s
		}
	}
	add(m.heading(), true, func(l *contentionLine) string { return unless(afterwards(l), format.Duration(l.Waited)) })
	add("%", true, func(l *contentionLine) string { return unless(afterwards(l), m.percent(l.Waited)) })
	add("ready", m.ready, func(l *contentionLine) string {
		if locks && l.Parks == 0 { // of wrapped locks, it is not known what was after the wait
			return format.Unknown
		}
		return unless(!locks && l.Ready == 0, format.Duration(l.Ready))
	})
	add("idle%", m.ready && locks, func(l *contentionLine) string {
		if l.Parks == 0 {
			return format.Unknown
		}
		return unless(l.Ready == 0, format.Percent(l.ReadyIdle, l.Ready))
	})
	add("contentions", true, func(l *contentionLine) string { // without any, there is no owner
		return unless(!locks && l.Contentions == 0, format.Count(l.Contentions))
	})
	add("parks", m.ready && locks, func(l *contentionLine) string { return format.Count(l.Parks) })
	add("longest", locks, func(l *contentionLine) string { return format.Duration(l.Lock.Longest) })
	add("at once", locks, single(func(l *contentionLine) (string, bool) { return strconv.Itoa(l.Lock.Waiters), l.Lock.Waiters > 0 }))
	add("held%", locks, single(func(l *contentionLine) (string, bool) {
		return format.Percent(l.Lock.Contended, m.p.Duration), l.Lock.Contended > 0 && m.p.Duration > 0
	}))
	for _, did := range []struct {
		heading string
		of      func(*contention.Wait) time.Duration
	}{
		{"run%", func(w *contention.Wait) time.Duration { return w.Running }},
		{"ready%", func(w *contention.Wait) time.Duration { return w.Runnable }},
		{"block%", (*contention.Wait).BlockedTotal},
	} {
		add(did.heading, m.showsDid() || locks && m.known(), func(l *contentionLine) string {
			if l.Blamed > 0 && l.Unknown() >= l.Blamed {
				return format.Unknown
			}
			return unless(l.Blamed <= 0, format.Percent(did.of(&l.Wait), l.Blamed))
		})
	}
	return table
}

// unless returns s, or "" if it has no meaning.
func unless(meaningless bool, s string) string {
	if meaningless {
		return ""
	}
	return s
}

// showsDid reports whether the tree has the columns of owner activity: if there is room beside
// names, or if the tree is about roots, which they explain.
func (m *contentionModel) showsDid() bool {
	return m.known() && (m.opt.Width >= 100 || slices.ContainsFunc(m.opt.By, func(a string) bool { return strings.HasPrefix(a, "root-") }))
}

// split separates the waits that need not cost anything; see [contention.Wait.ForWork]. idle is nil
// if all waits are of one sort.
func split(p *contention.Profile) (costs, idle *contention.Profile) {
	first, second := *p, *p
	forWork := func(w contention.Wait) bool { return w.ForWork() }
	others := func(w contention.Wait) bool { return !w.ForWork() }
	first.Waits, first.Pairs = slices.DeleteFunc(slices.Clone(p.Waits), forWork), slices.DeleteFunc(slices.Clone(p.Pairs), forWork)
	second.Waits, second.Pairs = slices.DeleteFunc(slices.Clone(p.Waits), others), slices.DeleteFunc(slices.Clone(p.Pairs), others)
	if len(first.Waits) == 0 || len(second.Waits) == 0 {
		return p, nil
	}
	return &first, &second
}

// trees writes the tree, in two parts if there are idle waits, which come second.
func (m *contentionModel) trees(idle *contention.Profile) string {
	s := ""
	if idle == nil {
		s = m.treeText(m.tree)
	} else {
		// No error: the whole was aggregated by the same aspects.
		first, _ := m.costs.Aggregate(m.opt.By...)
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

// treeText formats a tree, one line per node, below the names of the aspects.
func (m *contentionModel) treeText(tree *contention.Tree) string {
	var lines []contentionLine
	m.addLines(&lines, tree, 0, shortNames(m.tree), m.least(tree.Waited))
	table := m.numbers(lines, false)
	name := &columnText{left: true}
	used := 0
	for _, c := range table {
		used += c.width + 2
	}
	var b strings.Builder
	by := "by " + strings.ReplaceAll(strings.Trim(fmt.Sprint(m.opt.By), "[]"), " ", " > ")
	if columns(by) > m.opt.Width-used {
		b.WriteString(m.style.paintLines(dim, wrap(by+":", m.opt.Width, 0)) + "\n")
		by = ""
	}
	name.add(by)
	for _, l := range lines {
		name.add(l.name)
	}
	name.width = max(minName, m.opt.Width-used)
	name.paint = func(i int, cell string) string {
		if i == 0 {
			return m.style.paint(dim, cell)
		}
		return m.style.paint(lines[i-1].attribute, cell)
	}
	name.short = func(i, width int) string {
		if lines[i-1].stack {
			return head(name.cells[i], width-1) + "…"
		}
		return fit(name.cells[i], width)
	}
	for _, line := range linesOf(append(table, name)) {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// severalLegend explains why the numbers of waits sum to more than their total.
const severalLegend = "a wait behind several owners counts for each of them."

// countsTwice reports whether a tree counts a wait for several owners or roots.
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

func (m *contentionModel) addLines(out *[]contentionLine, t *contention.Tree, depth int, short map[string]string, least time.Duration) {
	shown, left := m.worthShowing(t, least)
	for _, c := range shown {
		l := contentionLine{Tree: c, stack: isStack(c.Aspect)}
		name := c.Key
		if l.stack {
			name = shortStack(name, short)
		} else if s, ok := short[name]; ok {
			name = s
		}
		if name = clean(name); strings.TrimSpace(name) == "" {
			name = "(none)"
		}
		if l.name = spaces(2*depth) + name; depth == 0 {
			l.attribute = bold
		}
		*out = append(*out, l)
		m.addLines(out, c, depth+1, short, least)
	}
	var rest contention.Tree
	for _, c := range left {
		rest.Add(c)
	}
	if len(left) > 0 {
		*out = append(*out, contentionLine{Tree: &rest, name: fmt.Sprintf("%s(%s more)", spaces(2*depth), format.Count(len(left))), attribute: dim})
	}
}

// least returns the shortest time that has its own line below a line with the given wait time.
func (m *contentionModel) least(waited time.Duration) time.Duration {
	return max(waited/200, m.tree.Waited/2000)
}

// limits returns the maximum number of lines, negative for all, and the shortest time that has its
// own line: the given one unless the options set it.
func (m *contentionModel) limits(least time.Duration) (int, time.Duration) {
	switch {
	case m.opt.Top != 0:
		return m.opt.Top, m.opt.Min
	case m.opt.Min > 0:
		return 12, m.opt.Min
	}
	return 12, least
}

// worthShowing splits the children of a node into those that have their own lines and the rest.
// least is the shortest wait time of a line unless the options set it.
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

// shortNames shortens the functions in a tree while they stay distinct.
func shortNames(t *contention.Tree) map[string]string {
	seen := map[string]string{}
	var walk func(t *contention.Tree)
	walk = func(t *contention.Tree) {
		switch t.Aspect {
		case contention.ByOwnerFunc, contention.ByWaiterFunc, contention.ByRootFunc, contention.ByOwnerGroup, contention.ByWaiterGroup, contention.ByRootGroup, contention.ByClass:
			seen[t.Key] = ""
		case contention.ByLock:
			if strings.Contains(t.Key, "#") { // names given by people stay unchanged
				seen[t.Key] = ""
			}
		}
		if isStack(t.Aspect) {
			for frame := range strings.SplitSeq(t.Key, frameSeparator) {
				name, _ := cutFrame(frame)
				seen[name] = ""
			}
		}
		for _, c := range t.Children {
			walk(c)
		}
	}
	walk(t)
	names := slices.Sorted(maps.Keys(seen))
	for i, s := range format.Funcs(names) {
		seen[names[i]] = s
	}
	return seen
}

func isStack(a string) bool {
	return a == contention.ByOwnerStack || a == contention.ByWaiterStack || a == contention.ByRootStack
}

// frameSeparator separates the frames in [contention.Stack.String].
const frameSeparator = " < "

// shortStack shortens the functions and files of a call stack.
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

// cutFrame splits a frame at the blank, unless it is in the brackets of type parameters.
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

// locks writes the table of the locks with the longest waits.
func (m *contentionModel) locks() string {
	rows := m.p.LockTable()
	var waited, forWork time.Duration
	for _, r := range rows {
		waited, forWork = waited+r.Waited, forWork+r.ForWork
	}
	top, least := m.limits(m.least(waited - forWork))
	_, leastForWork := m.limits(m.least(waited))
	var worth, more []*contention.Tree
	for _, r := range rows {
		costs := max(r.Waited-r.ForWork, r.Ready)
		if (top < 0 || len(worth) < top) && (costs > 0 && costs >= least || r.Waited > 0 && r.Waited >= leastForWork) {
			worth = append(worth, r)
		} else {
			more = append(more, r)
		}
	}
	if len(more) == 1 && m.opt.Min == 0 { // "(1 more lock)" would be no shorter
		worth, more = rows, nil
	}
	shown := len(worth)
	if shown == 0 {
		return ""
	}
	rows = append(worth, more...)
	names := lockNames(rows)[:shown]
	var lines []contentionLine
	for i, r := range rows[:shown] {
		lines = append(lines, contentionLine{Tree: r, name: names[i]})
	}
	if shown < len(rows) {
		rest := contentionLine{Tree: &contention.Tree{Wait: contention.Wait{Lock: &contention.Lock{}}}, several: true, name: "(" + format.Plural(len(rows)-shown, "more lock", "more locks") + ")"}
		for _, r := range rows[shown:] {
			rest.Add(r)
			rest.Lock.Longest = max(rest.Lock.Longest, r.Lock.Longest)
		}
		lines = append(lines, rest)
	}
	return m.lockLines(lines)
}

// lockNames names locks as the tree does, and adds numbers to equal names.
func lockNames(rows []*contention.Tree) []string {
	times := map[string]int{}
	for _, r := range rows {
		times[r.Lock.String()]++
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Lock.String()
		switch {
		case r.Lock.Name == "":
			names[i] = format.Func(names[i])
		case times[names[i]] > 1:
			names[i] = fmt.Sprintf("%s#%d", names[i], r.Lock.ID)
		}
	}
	return names
}

// leastLockName is the minimum width of names beside the other columns.
const leastLockName = 24

// lockLines formats the table, numbers first as in the tree. Columns that do not fit beside the
// names follow in a second table of the same locks.
func (m *contentionModel) lockLines(lines []contentionLine) string {
	var b strings.Builder
	table := m.numbers(lines, true)
	for from, to := 0, 0; from < len(table); from = to {
		used := 0
		for ; to < len(table) && (to == from || used+table[to].width+2+leastLockName <= m.opt.Width); to++ {
			used += table[to].width + 2
		}
		lock := newColumns("lock")[0]
		for i := range lines {
			lock.add(clean(lines[i].name))
		}
		lock.width = max(minName, m.opt.Width-used)
		writeColumns(&b, append(slices.Clone(table[from:to]), lock), m.style)
	}
	legend := "at once: most goroutines that waited at the same time; held%: part of the time in which the lock is known to have been held while others waited."
	if m.ready {
		legend = "ready: after the wait, until they had a processor; idle%: part of that in which a processor was idle; " +
			"parks: how often they blocked, as the runtime's profiles count; " + legend
	}
	if m.known() && !m.showsDid() {
		legend += " " + didLegend
	}
	b.WriteString(m.style.paintLines(dim, wrap(legend, m.opt.Width, 0)) + "\n")
	return b.String()
}

const didLegend = "run%, ready%, block%: part of the blamed time in which the owner ran, was ready to run, was itself blocked."

// known reports whether any owner activity is known.
func (m *contentionModel) known() bool { return m.tree.Unknown() < m.tree.Blamed }

// owners returns a paragraph on what owners did, and on the ends of the chains of blame.
func (m *contentionModel) owners() string {
	s := ""
	if m.known() {
		a, of := &m.tree.Wait, m.tree.Blamed
		var on []string
		for _, k := range a.BlockedKinds() {
			if a.Blocked[k] >= of/200 {
				on = append(on, string(k)+" "+format.Percent(a.Blocked[k], of))
			}
		}
		s = fmt.Sprintf("During the waits the owners ran for %s of the blamed time, were ready to run for %s, and were themselves blocked for %s",
			format.Percent(a.Running, of), format.Percent(a.Runnable, of), format.Percent(a.BlockedTotal(), of))
		if len(on) > 0 {
			s += " (" + strings.Join(on, ", ") + ")"
		}
		if a.Unknown() > 0 {
			s += "; what they did for " + format.Percent(a.Unknown(), of) + " is not known"
		}
		s += "."
	}
	if who, d := m.mostAtRoot(); d > 0 { // of the same waits as the previous sentence
		s += fmt.Sprintf(" At the end of the chains of blame, most is due to %s: %s (%s).", who, format.Duration(d), format.Percent(d, m.tree.Waited))
	}
	if s == "" {
		return ""
	}
	return m.paragraph("", strings.TrimSpace(s))
}

// mostAtRoot returns the root function with the largest time, if an owner was blocked by another.
func (m *contentionModel) mostAtRoot() (string, time.Duration) {
	for i := range m.p.Pairs {
		if m.p.Pairs[i].Roots != nil {
			return m.most(contention.ByRootFunc)
		}
	}
	return "", 0
}

// unfinished lists the waits in progress at the end, and the holders of the locks.
func (m *contentionModel) unfinished() string {
	var rows []*contention.Wait
	for i := range m.p.Unfinished {
		if u := &m.p.Unfinished[i]; u.Waited >= m.opt.Min && m.showsUnfinished(u) {
			rows = append(rows, u)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	shown := m.opt.top(12, len(rows))
	when := "when the trace ended"
	if m.p.Source == contention.FromWrappers {
		when = "at the end"
	}
	s := m.paragraph(bold, "Still waiting "+when+" (in none of the sums):")
	for _, u := range rows[:shown] {
		s += m.paragraph("", m.unfinishedSentence(u))
	}
	if n := len(rows) - shown; n > 0 {
		s += m.paragraph("", "("+format.Plural(n, "more row", "more rows")+")")
	}
	return s
}

// showsUnfinished reports whether to list a wait in progress: those for work only if requested.
func (m *contentionModel) showsUnfinished(u *contention.Wait) bool {
	switch u.Kind {
	case contention.MutexKind, contention.RWMutexWriterKind, contention.RWMutexReaderKind, contention.OnceKind, contention.WaitGroupKind, contention.SemaphoreKind:
		return true
	case contention.CondKind:
		return slices.Contains(m.opt.Kinds, u.Kind) || !u.ForWork()
	}
	return slices.Contains(m.opt.Kinds, u.Kind)
}

func (m *contentionModel) unfinishedSentence(u *contention.Wait) string {
	where := contention.UnknownKey
	if u.Waiter.Stack != nil && len(u.Waiter.Stack.Frames) > 0 {
		where = format.Func(u.Waiter.Stack.Frames[0].Func)
	}
	lock := u.Lock.String()
	if !strings.HasPrefix(lock, "[") {
		lock = format.Func(lock)
	}
	s := fmt.Sprintf("%s in %s: %s of %s", format.Plural(u.Contentions, "goroutine", "goroutines"), where, u.Kind, lock)
	if u.Contentions == 1 {
		s += ", for " + format.Duration(u.Waited)
	} else {
		s += fmt.Sprintf(", for up to %s, %s in all", format.Duration(u.Longest), format.Duration(u.Waited))
	}
	if !u.OfLock() {
		return s + "."
	}
	switch {
	case u.Owner.Group != "":
	case m.p.Source == contention.FromWrappers:
		return s + "; cannot tell who holds it, or since when, because that goroutine did not wait for it."
	default:
		return s + "; cannot tell who holds it, or since when, because no event of the trace shows it."
	}
	s += "; " + format.Func(u.Owner.Group)
	switch {
	case u.Held <= 0:
		s += " holds it"
	case m.p.Source == contention.FromWrappers:
		s += " has held it for " + format.Duration(u.Held)
	default:
		s += " has held it for at least " + format.Duration(u.Held)
	}
	if h := u.Owner.Stack; h != nil && len(h.Frames) > 0 {
		s += ", at " + format.Func(h.Frames[0].Func)
		if len(h.Frames) > 1 {
			s += " in " + format.Func(h.Frames[1].Func)
		}
	}
	return s + "."
}

// FoldedStacks writes a contention profile as folded stacks for flamegraph.pl and many viewers: one
// line per stack, with its frames from the root separated by semicolons, a blank, and the
// nanoseconds. Equal stacks are combined, in the order of their first row. It returns an error of
// w, or an error for an unknown view.
//
//	bottleneck contention -format folded trace.out | flamegraph.pl --countname ns > contention.svg
//
// Semicolons in names become colons, and control characters U+FFFD.
func FoldedStacks(w io.Writer, p *contention.Profile, view string) error {
	if p == nil {
		return errNoContention
	}
	if err := contention.CheckView(view); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	sums := map[string]time.Duration{}
	var order []string
	for frames, q := range p.Samples(view) {
		if q.Owner.Group == contention.ReadyKey {
			continue
		}
		var b strings.Builder
		for i, f := range frames {
			if i > 0 {
				b.WriteByte(';')
			}
			name := cmp.Or(strings.TrimSpace(strings.ReplaceAll(format.Clean(f.Func), ";", ":")), contention.UnknownKey)
			b.WriteString(name)
		}
		stack := b.String()
		if _, ok := sums[stack]; !ok {
			order = append(order, stack)
		}
		sums[stack] += q.Blamed
	}
	var b strings.Builder
	for _, stack := range order {
		if sums[stack] > 0 {
			b.WriteString(stack + " " + strconv.FormatInt(int64(sums[stack]), 10) + "\n")
		}
	}
	return emit(w, b.String())
}
