package text

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// sitesOf is a line of code that tasks come from, and how many.
type sitesOf struct {
	line  string
	tasks uint64
}

// addSite counts the tasks of a call chain for its leaf.
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

// mostSites is how many call sites of a class are listed.
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
		t.b.WriteString(head + t.style.fit(t.style.clean(s.line), max(20, t.opt.Width-columns(head))) + "\n")
	}
}

// blocks are the heights of a strip.
var (
	blocks      = []rune(" ▁▂▃▄▅▆▇█")
	asciiBlocks = []rune(" .:-=+*#@")
)

// strips draws what was under way over time, a line each.
func (t *tasksText) strips() {
	p := t.p
	begin, end := p.Start, p.Start+int64(p.Wall)
	if end <= begin {
		return
	}
	names := append(slices.Clone(t.names), p.SwitchesName(), "utilisation")
	name := 0
	for _, s := range names {
		name = max(name, columns(s))
	}
	name = min(name, t.opt.Width/3)
	n := t.opt.Width - name - 2
	t.b.WriteByte('\n')
	draw := func(label string, most float64, values []float64) {
		t.b.WriteString(left(t.style.fit(label, name), name) + "  " + t.strip(values, most) + "\n")
	}
	for i, c := range t.classes {
		values := make([]float64, n)
		from := begin
		for _, b := range c.Series {
			spread(values, begin, end, from, b.At, float64(b.Busy))
			from = b.At
		}
		draw(t.names[i], slices.Max(values), values)
	}
	if len(p.Samples) == 0 {
		return
	}
	switches, used := make([]float64, n), make([]float64, n)
	for i := range p.Samples {
		s := &p.Samples[i]
		from := s.At - int64(s.Wall)
		spread(switches, begin, end, from, s.At, float64(s.Voluntary)+float64(s.Involuntary))
		spread(used, begin, end, from, s.At, s.Utilisation*float64(s.Wall))
	}
	draw(p.SwitchesName(), slices.Max(switches), switches)
	draw("utilisation", float64(end-begin)/float64(n), used)
}

// spread adds what happened in [from, to) to the columns that it falls into.
func spread(values []float64, begin, end, from, to int64, amount float64) {
	from, to = max(from, begin), min(to, end)
	if to <= from || !(amount > 0) {
		return
	}
	width := float64(end-begin) / float64(len(values))
	a, b := float64(from-begin)/width, float64(to-begin)/width
	for i := int(a); i < len(values) && float64(i) < b; i++ {
		if overlap := min(b, float64(i+1)) - max(a, float64(i)); overlap > 0 {
			values[i] += amount * overlap / (b - a)
		}
	}
}

// strip writes values as blocks; what is there is never blank.
func (t *tasksText) strip(values []float64, most float64) string {
	set := blocks
	if t.style.ascii {
		set = asciiBlocks
	}
	var b strings.Builder
	for _, v := range values {
		level := 0
		if v > 0 && most > 0 {
			level = min(len(set)-1, max(1, int(v/most*float64(len(set)-1)+0.5)))
		}
		b.WriteRune(set[level])
	}
	return strings.TrimRight(b.String(), " ")
}
