package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// model is the content of a picture, before layout: the groups that are drawn, folded to a
// distinguishable number, each with one color in the whole graph and all windows.
type model struct {
	opt     Options
	whole   *bottle.Graph
	windows []*bottle.Graph
	count   int // original number of windows
	merged  int // windows per panel; 1 unless there were too many
	// entries are the groups in the order in which the boxes of the whole graph are stacked, from
	// the bottom.
	entries []*entry
	byKey   map[key]*entry
	folded  map[key]bool // groups that others were folded into
	never   int          // number of groups that never ran
	// The neck is that of the original graph; folding would change it.
	necks map[key]bool // idle time is the zero key
}

// key identifies a group over all windows.
type key struct {
	group string
	kind  bottle.Kind
}

// entry is a group with its style.
type entry struct {
	box   bottle.Box // of the whole graph
	label string     // shortened
	neck  bool       // in the whole graph; for a diff, in one of the two
	fill  color.RGBA
	hatch color.RGBA // color of the hatch; equal to fill without one
	ink   color.RGBA // color of the label on the box
}

func newModel(g *bottle.Graph, opt Options) *model {
	m := &model{opt: opt, merged: 1, byKey: map[key]*entry{}, folded: map[key]bool{}}
	whole := *g
	whole.Windows = nil
	whole.Boxes, m.never = ran(g.Boxes)
	for _, w := range g.Windows {
		if w != nil {
			w := *w
			w.Boxes, _ = ran(w.Boxes)
			m.windows = append(m.windows, &w)
		}
	}
	m.count = len(m.windows)
	if m.count > 0 && !covers(whole.Boxes, m.windows) {
		sum := mergeWindows(m.windows, m.count)[0]
		whole.Boxes = sum.Boxes
		whole.Wall, whole.Idle = max(whole.Wall, sum.Wall), max(whole.Idle, sum.Idle)
		whole.Capacity, whole.IdleLost = sum.Capacity, sum.IdleLost
	}
	if m.count > opt.panels {
		m.merged = (m.count + opt.panels - 1) / opt.panels
		m.windows = mergeWindows(m.windows, m.merged)
	}
	m.necks = neckOf(&whole)
	top := opt.Top
	if top == 0 {
		top = visible(&whole)
	}
	if top > 0 && len(whole.Boxes) > top+1 { // folding a single group would save nothing
		m.fold(&whole, top)
	}
	m.whole = &whole
	m.addEntries(m.whole)
	return m
}

// visible returns the number of boxes that are visible and distinguishable.
func visible(g *bottle.Graph) (n int) {
	const most, part = 15, 1000
	for i := range g.Boxes {
		if float64(g.Boxes[i].Share) >= height(g)/part {
			n++
		}
	}
	return max(1, min(most, n))
}

// covers reports whether the boxes of a graph include all groups of its windows.
func covers(boxes []bottle.Box, windows []*bottle.Graph) bool {
	known := map[key]bool{}
	for i := range boxes {
		known[keyOf(&boxes[i])] = true
	}
	for _, w := range windows {
		for i := range w.Boxes {
			if b := &w.Boxes[i]; b.Share > 0 && !known[keyOf(b)] {
				return false
			}
		}
	}
	return true
}

func keyOf(b *bottle.Box) key { return key{b.Group, b.Kind} }

// mostParallelism exceeds that of any program. A graph with more is invalid, but drawn.
const mostParallelism = 9999999

// ran returns copies of the boxes that have a height, and the number of the others. The copies are
// safe to draw: negative values are removed, an invalid parallelism is recomputed, and an unknown
// kind becomes the program's own.
func ran(boxes []bottle.Box) (out []bottle.Box, never int) {
	for _, b := range boxes {
		if b.Share <= 0 {
			never++
			continue
		}
		b.Running = max(0, b.Running)
		if !(b.Parallelism >= 0) || math.IsInf(b.Parallelism, 0) {
			b.Parallelism = max(0, float64(b.Running)/float64(b.Share))
		}
		b.Parallelism = min(b.Parallelism, mostParallelism)
		switch b.Kind {
		case bottle.GC, bottle.Runtime, bottle.Tracer:
		default:
			b.Kind = bottle.Application
		}
		out = append(out, b)
	}
	return out, never
}

// fold keeps the largest groups of the whole graph and folds the others, the same ones in the
// windows and in the whole graph.
func (m *model) fold(whole *bottle.Graph, top int) {
	before := map[key]bool{}
	for i := range whole.Boxes {
		before[keyOf(&whole.Boxes[i])] = true
	}
	whole.Boxes = whole.Top(top).Boxes
	kept := map[key]bool{}
	others := map[bottle.Kind]key{}
	for i := range whole.Boxes {
		k := keyOf(&whole.Boxes[i])
		kept[k] = true
		if !before[k] {
			others[k.kind] = k
			m.folded[k] = true
		}
	}
	into := func(k key) key {
		if o, folded := others[k.kind]; folded && !kept[k] {
			return o
		}
		return k
	}
	for i, w := range m.windows {
		m.windows[i] = withBoxes(w, sums(w.Boxes, into))
	}
}

func withBoxes(w *bottle.Graph, boxes []bottle.Box) *bottle.Graph {
	out := *w
	out.Boxes, _ = ran(boxes)
	order.Stable(out.Boxes, func(a, b bottle.Box) int {
		return cmp.Or(cmp.Compare(b.Parallelism, a.Parallelism), strings.Compare(a.Group, b.Group))
	})
	return &out
}

// sums adds up the boxes that into maps to the same group. It does not change its arguments.
func sums(boxes []bottle.Box, into func(key) key) []bottle.Box {
	at := map[key]int{}
	var out []bottle.Box
	for i := range boxes {
		b := &boxes[i]
		k := into(keyOf(b))
		j, ok := at[k]
		if !ok {
			j = len(out)
			at[k] = j
			first := *b
			first.Group, first.Waiting = k.group, nil
			out = append(out, first)
			out[j].Waiting = addWaiting(out[j].Waiting, b.Waiting)
			continue
		}
		s := &out[j]
		s.Goroutines += b.Goroutines
		s.Share += b.Share
		s.Running += b.Running
		s.Lost += b.Lost
		s.Runnable += b.Runnable
		s.SelfParallelism = math.NaN()
		s.Parallelism = math.NaN() // computed by ran
		s.Waiting = addWaiting(s.Waiting, b.Waiting)
	}
	return out
}

func addWaiting(sum, more map[string]time.Duration) map[string]time.Duration {
	if sum == nil && len(more) > 0 {
		sum = make(map[string]time.Duration, len(more))
	}
	for reason, d := range more {
		sum[reason] += d
	}
	return sum
}

// mergeWindows merges each n adjacent windows. Only changes within them are lost: shares, running
// and idle times add up.
func mergeWindows(windows []*bottle.Graph, n int) (out []*bottle.Graph) {
	for part := range slices.Chunk(windows, n) {
		sum := bottle.Graph{}
		var boxes []bottle.Box
		for i, w := range part {
			if i == 0 {
				sum = *w
				sum.Wall, sum.Idle, sum.Capacity, sum.IdleLost = 0, 0, 0, 0
			}
			sum.Wall += w.Wall
			sum.Idle += w.Idle
			sum.Capacity += w.Capacity
			sum.IdleLost += w.IdleLost
			sum.Procs = max(sum.Procs, w.Procs)
			boxes = append(boxes, w.Boxes...)
		}
		merged := sums(boxes, func(k key) key { return k })
		for i := range merged {
			merged[i].Goroutines = 0 // the windows may share goroutines
		}
		out = append(out, withBoxes(&sum, merged))
	}
	return out
}

// addEntries gives the groups their names and colors. The neck is that of the given graphs.
func (m *model) addEntries(graphs ...*bottle.Graph) {
	m.entries = nil
	names := make([]string, len(m.whole.Boxes))
	for i := range m.whole.Boxes {
		names[i] = m.whole.Boxes[i].Group
	}
	if byFunction(m.whole) {
		names = format.Funcs(names)
	}
	isNeck := map[key]bool{}
	if len(graphs) == 1 && graphs[0] == m.whole {
		isNeck = m.necks
		graphs = nil
	}
	for _, g := range graphs {
		maps.Copy(isNeck, neckOf(g))
	}
	for i := range m.whole.Boxes {
		b := m.whole.Boxes[i]
		e := &entry{box: b, label: label(names[i]), neck: isNeck[keyOf(&b)]}
		m.entries = append(m.entries, e)
		m.byKey[keyOf(&b)] = e
	}
	m.addColors()
}

// neckOf returns the groups of a graph's neck.
func neckOf(g *bottle.Graph) map[key]bool {
	out := map[key]bool{}
	for _, l := range g.Neck() {
		if l.Idle() {
			out[key{}] = true
		}
		for _, b := range l.Boxes {
			out[keyOf(b)] = true
		}
	}
	return out
}

// byFunction reports whether groups are functions.
func byFunction(g *bottle.Graph) bool {
	return slices.Contains([]string{"", "function", "creator", "goroutine"}, g.GroupBy)
}

// addColors gives each group its colors. The tallest boxes of the neck and of the collector get the
// strongest ones; the wide boxes get theirs in stacking order, so that neighbors differ.
func (m *model) addColors() {
	var colors colorer
	byShare := slices.Clone(m.entries)
	slices.SortStableFunc(byShare, func(a, b *entry) int { return cmp.Compare(b.box.Share, a.box.Share) })
	for _, e := range byShare {
		if e.neck || e.box.Kind != bottle.Application {
			e.fill = colors.pick(e.box.Kind, e.neck)
		}
	}
	for _, e := range m.entries {
		switch {
		case e.box.Kind == bottle.Application && m.folded[keyOf(&e.box)]:
			e.fill = othersColor
		case !e.neck && e.box.Kind == bottle.Application:
			e.fill = colors.pick(e.box.Kind, e.neck)
		}
		e.hatch = e.fill
		if kindHatch[e.box.Kind] != 0 {
			e.hatch = hatchColor(e.fill)
		}
		e.ink = labelColor(e.fill, e.hatch)
	}
}

// label makes a name safe to show.
func label(name string) string {
	if name = strings.TrimSpace(format.Clean(name)); name == "" {
		return "(no name)"
	}
	return name
}

const maxHeading = 400 // in bytes: about three lines

const axisRoom = 64.0 // left of a plot: title and labels of the time axis

// title returns the default title of the picture.
func (m *model) title() string {
	t := "Bottle graph"
	if by := strings.TrimSpace(format.Clean(m.whole.GroupBy)); by != "" {
		t += " by " + by
	}
	if m.whole.Offered {
		t += ", offered parallelism"
	}
	return t
}

// sentence returns the wall time, and as much of the verdict as fits.
func (m *model) sentence() string {
	g := m.whole
	if g.Wall <= 0 {
		return "no time passed: there is nothing to show"
	}
	s := format.Duration(g.Wall) + " in all"
	if m.count > 0 {
		s += " in " + format.Plural(m.count, "window", "windows")
	}
	if all, _ := g.InC(); all >= g.Wall/20 && all > 0 {
		s += ", " + format.Duration(all) + " of goroutines in C code"
	}
	s += "."
	for i, sentence := range g.Sentences() {
		if i > 0 && len(s)+len(sentence) > maxHeading {
			break
		}
		s += " " + format.Clean(sentence)
	}
	return s
}

// axisTitle returns the title of the parallelism axis.
func (m *model) axisTitle() string {
	if m.whole.Offered {
		return "offered parallelism (goroutines running or ready to run)"
	}
	return "parallelism (goroutines running at once)"
}

// notes returns the footnotes: what was changed for the picture, then the graph's warnings.
func (m *model) notes() (out []string) {
	g := m.whole
	if m.merged > 1 {
		out = append(out, fmt.Sprintf("Each chart puts %s together: one chart for each of the %s would be more than fit.", format.Plural(m.merged, "window", "windows"), format.Count(m.count)))
	}
	if g.Offered {
		out = append(out, "Offered parallelism: goroutines that were ready to run count as if they ran, as on a larger machine.")
	}
	if s := g.Collector.String(); s != "" && g.GroupBy == bottle.ByKind.String() {
		out = append(out, s)
	}
	graphs := m.windows
	if len(graphs) == 0 {
		graphs = []*bottle.Graph{g}
	}
	if _, _, drawn := scales(graphs...); drawn == 0 && g.Procs > 0 && len(m.entries) > 0 {
		out = append(out, fmt.Sprintf("GOMAXPROCS, %s, lies beyond the ends of the axis.", format.Count(g.Procs)))
	}
	return append(out, warningNotes(g.Warnings)...)
}

// describe describes the picture in words.
func (m *model) describe() string {
	var s strings.Builder
	s.WriteString("A bottle graph. Each box is a group of goroutines: its height is the group's share of the time, " +
		"its width how many goroutines ran while it did; tall and narrow boxes limit scaling. " + m.sentence())
	if m.whole.Idle > 0 && m.whole.Wall > m.whole.Idle {
		s.WriteString(" Idle: " + format.Duration(m.whole.Idle) + ".")
	}
	for i := len(m.entries) - 1; i >= 0; i-- {
		e := m.entries[i]
		s.WriteString(" " + clipName(e.label) + ": " + format.Duration(e.box.Share) + " at " + format.Parallelism(e.box.Parallelism) + ".")
	}
	return s.String()
}

// clip truncates a text to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// clipName shortens a name that is read aloud.
func clipName(name string) string { return clip(name, 80) }
