package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// model is the content of a picture of bottle graphs, before layout: the groups that are drawn,
// folded to a distinguishable number, each with one color in all charts.
type model struct {
	opt    Options
	whole  oneGraph
	charts []oneGraph // the windows or the runs, side by side; none for a single graph
	runs   bool       // whether the charts are runs
	count  int        // original number of charts
	merged int        // windows per chart; 1 unless there were too many
	// entries are the groups in the order in which the boxes of the whole graph are stacked, from
	// the bottom.
	entries []*entry
	byKey   map[chart.Key]*entry
	folded  map[chart.Key]bool // groups that others were folded into
	never   int                // number of groups that never ran
}

// oneGraph is one of the graphs of a picture.
type oneGraph struct {
	graph *bottle.Graph
	name  string             // of a run
	necks map[chart.Key]bool // the neck before folding, which would change it; idle time is the zero key
}

// entry is a group with its style.
type entry struct {
	box   bottle.Box // of the whole graph
	label string     // shortened
	neck  bool       // in the whole graph, or in one of the runs
	fill  color.RGBA
	hatch color.RGBA // color of the hatch; equal to fill without one
	ink   color.RGBA // color of the label on the box
}

// maxCharts is the number of charts that can be compared at a glance.
const maxCharts = 48

func newModel(whole *bottle.Graph, parts []*bottle.Graph, opt Options) (*model, error) {
	m := &model{opt: opt, folded: map[chart.Key]bool{}}
	m.whole, m.never = newChart(whole)
	parts = slices.DeleteFunc(slices.Clone(parts), func(g *bottle.Graph) bool { return g == nil })
	m.count, m.merged = len(parts), max(1, (len(parts)+maxCharts-1)/maxCharts)
	for some := range slices.Chunk(parts, m.merged) {
		sum := some[0]
		if len(some) > 1 {
			var err error
			if sum, err = bottle.Merge(some...); err != nil {
				return nil, fmt.Errorf("picture: %w", err)
			}
			for i := range sum.Boxes {
				sum.Boxes[i].Goroutines = 0 // the windows may share goroutines
			}
		}
		c, _ := newChart(sum)
		m.charts = append(m.charts, c)
	}
	top := opt.Top
	if top == 0 {
		top = visible(m.whole.graph)
	}
	if top > 0 && len(m.whole.graph.Boxes) > top+1 { // folding a single group would save nothing
		if err := m.fold(top); err != nil {
			return nil, fmt.Errorf("picture: %w", err)
		}
	}
	m.addEntries()
	return m, nil
}

func newChart(g *bottle.Graph) (c oneGraph, never int) {
	out := *g
	out.Windows = nil
	out.Boxes, never = ran(g.Boxes)
	return oneGraph{graph: &out, necks: chart.Neck(&out)}, never
}

// graphs returns the graphs that are drawn.
func (m *model) graphs() (out []*bottle.Graph) {
	for _, c := range m.charts {
		out = append(out, c.graph)
	}
	if len(out) == 0 {
		out = append(out, m.whole.graph)
	}
	return out
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

// fold keeps the largest groups of the whole graph and folds the others, the same ones in the charts
// and in the whole graph.
func (m *model) fold(top int) error {
	whole := m.whole.graph
	before, kept, others := map[chart.Key]bool{}, map[chart.Key]bool{}, map[timeline.Kind]string{}
	for i := range whole.Boxes {
		before[chart.KeyOf(&whole.Boxes[i])] = true
	}
	whole.Boxes = whole.Top(top).Boxes
	for i := range whole.Boxes {
		k := chart.KeyOf(&whole.Boxes[i])
		kept[k] = true
		if !before[k] {
			others[k.Kind] = k.Group
			m.folded[k] = true
		}
	}
	for i := range m.charts {
		g := *m.charts[i].graph
		g.Boxes = slices.Clone(g.Boxes)
		for j := range g.Boxes {
			b := &g.Boxes[j]
			if group, some := others[b.Kind]; some && !kept[chart.KeyOf(b)] {
				b.Group = group
			}
		}
		sum, err := bottle.Merge(&g)
		if err != nil {
			return err
		}
		sum.Boxes, _ = ran(sum.Boxes)
		m.charts[i].graph = sum
	}
	return nil
}

// addEntries gives the groups their names and colors.
func (m *model) addEntries() {
	whole := m.whole.graph
	m.entries, m.byKey = nil, map[chart.Key]*entry{}
	names := make([]string, len(whole.Boxes))
	for i := range whole.Boxes {
		names[i] = whole.Boxes[i].Group
	}
	names = chart.Names(whole, names)
	for i := range whole.Boxes {
		b := whole.Boxes[i]
		e := &entry{box: b, label: label(names[i]), neck: m.whole.necks[chart.KeyOf(&b)]}
		m.entries = append(m.entries, e)
		m.byKey[chart.KeyOf(&b)] = e
	}
	m.addColors()
}

// addColors gives each group its colors. The tallest boxes of the neck and of the collector get the
// strongest ones; the wide boxes get theirs in stacking order, so that neighbors differ.
func (m *model) addColors() {
	colors := palette()
	byShare := slices.Clone(m.entries)
	slices.SortStableFunc(byShare, func(a, b *entry) int { return cmp.Compare(b.box.Share, a.box.Share) })
	for _, e := range byShare {
		if e.neck || e.box.Kind != bottle.Application {
			e.fill = colors.Of(e.box.Kind, e.neck)
		}
	}
	for _, e := range m.entries {
		switch {
		case e.box.Kind == bottle.Application && m.folded[chart.KeyOf(&e.box)]:
			e.fill = othersColor
		case !e.neck && e.box.Kind == bottle.Application:
			e.fill = colors.Of(e.box.Kind, e.neck)
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
	return cmp.Or(strings.TrimSpace(format.Clean(name)), "(no name)")
}

const maxHeading = 400 // in bytes: about three lines

const axisRoom = 64.0 // left of a plot: title and labels of the time axis

// title returns the default title of the picture.
func (m *model) title() string {
	t := "Bottle graph"
	if by := strings.TrimSpace(format.Clean(m.whole.graph.GroupBy)); by != "" {
		t += " by " + by
	}
	if m.whole.graph.Offered {
		t += ", offered parallelism"
	}
	return t
}

// sentence returns the wall time, and as much of the verdict as fits.
func (m *model) sentence() string {
	g := m.whole.graph
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
	if m.whole.graph.Offered {
		return "offered parallelism (goroutines running or ready to run)"
	}
	return "parallelism (goroutines running at once)"
}

// notes returns the footnotes: what was changed for the picture, then the graph's warnings.
func (m *model) notes() (out []string) {
	g := m.whole.graph
	if m.merged > 1 {
		out = append(out, fmt.Sprintf("Each chart puts %s together: one chart for each of the %s would be more than fit.", format.Plural(m.merged, "window", "windows"), format.Count(m.count)))
	}
	if g.Offered {
		out = append(out, "Offered parallelism: goroutines that were ready to run count as if they ran, as on a larger machine.")
	}
	if s := g.Collector.String(); s != "" && g.GroupBy == bottle.ByKind.String() {
		out = append(out, s)
	}
	if _, _, drawn := scales(m.graphs()...); drawn == 0 && g.Procs > 0 && len(m.entries) > 0 {
		out = append(out, fmt.Sprintf("GOMAXPROCS, %s, lies beyond the ends of the axis.", format.Count(g.Procs)))
	}
	return append(out, warningNotes(g.Warnings)...)
}

// describe describes the picture in words.
func (m *model) describe() string {
	var s strings.Builder
	s.WriteString("A bottle graph. Each box is a group of goroutines: its height is the group's share of the time, " +
		"its width how many goroutines ran while it did; tall and narrow boxes limit scaling. " + m.sentence())
	if g := m.whole.graph; g.Idle > 0 && g.Wall > g.Idle {
		s.WriteString(" Idle: " + format.Duration(g.Idle) + ".")
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
