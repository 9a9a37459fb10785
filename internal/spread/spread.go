// Package spread shows how a number of each group differs among many sources, to find outliers.
package spread

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// Numbers are a number of each group of a source.
type Numbers struct {
	What string      // for the title of the table
	Unit string      // in CSV
	Form result.Unit // in text
	Mean bool        // a source that lacks a group has no number for it, rather than 0
	Of   map[string]float64
}

// Spread records the numbers of sources. Its size does not depend on the number of sources: each
// group has the extremes and a histogram.
type Spread struct {
	last    Numbers
	sources int
	first   string // name of the first source
	groups  map[string]*group
}

// most bounds the number of groups, of about 10 kB each; the first ones are kept.
const most = 2000

// scale scales values to integers for the histogram, whose precision is 1.6 %.
const scale = 1e6

type group struct {
	name          string
	sources       int // sources with a value; it is 0 for the others
	values        granularity.Histogram
	low, high     float64
	lowAt, highAt string
	// Set at the end: the source that is farthest from the median, with its value.
	median, value, distance float64
	at                      string
}

// Add adds the numbers of a source.
func (s *Spread) Add(source string, n Numbers) {
	if s.groups == nil {
		s.groups, s.first = map[string]*group{}, source
	}
	s.last = n
	s.sources++
	for name, v := range n.Of {
		g := s.groups[name]
		if g == nil {
			if len(s.groups) == most {
				continue
			}
			g = &group{name: name, low: math.Inf(1)}
			if s.sources > 1 && !n.Mean {
				g.low, g.lowAt, g.highAt = 0, s.first, s.first
			}
			s.groups[name] = g
		}
		g.sources++
		g.values.Add(uint64(math.Round(v * scale)))
	}
	for name, g := range s.groups {
		v, there := n.Of[name]
		if !there && n.Mean {
			continue
		}
		if v < g.low {
			g.low, g.lowAt = v, source
		}
		if v > g.high || g.highAt == "" {
			g.high, g.highAt = v, source
		}
	}
}

// oddest returns the groups, largest distance from the median first; that of means is relative.
func (s *Spread) oddest() []*group {
	for _, g := range s.groups {
		lacking := s.sources - g.sources
		if s.last.Mean {
			lacking = 0
		}
		if at := float64(lacking+g.sources)/2 - float64(lacking); at > 0 { // index in the sorted values
			g.median = min(max(g.values.Quantile(at/float64(g.sources))/scale, g.low), g.high)
		}
		if g.at, g.value = g.highAt, g.high; g.median-g.low > g.high-g.median {
			g.at, g.value = g.lowAt, g.low
		}
		if g.distance = math.Abs(g.value - g.median); s.last.Mean && g.median > 0 {
			g.distance /= g.median
		}
	}
	return slices.SortedFunc(maps.Values(s.groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.distance, a.distance), cmp.Compare(a.name, b.name))
	})
}

// shown is the default number of rows in text.
const shown = 10

// WriteText writes a table of the groups with outliers. It writes nothing of less than three
// sources, which have none.
func (s *Spread) WriteText(w io.Writer, opt text.Options) error {
	if s.sources < 3 {
		return nil
	}
	value := func(v float64) result.Value {
		if s.last.Form.Whole() {
			return result.Int(int64(math.Round(v)))
		}
		return result.Float(v)
	}
	show := func(v float64) string { return s.last.Form.Format(value(v)) }
	rows := slices.DeleteFunc(s.oddest(), func(g *group) bool { return show(g.value) == show(g.median) })
	if limit := cmp.Or(opt.Top, shown); limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	title := fmt.Sprintf("Spread over %s: %s, the oddest first", format.Plural(s.sources, "source", "sources"), s.last.What)
	if len(rows) == 0 {
		_, err := fmt.Fprintf(w, "\n%s\n\nAll are alike.\n", title)
		return err
	}
	number := func(name string, of func(g *group) float64) result.Column[*group] {
		return result.Column[*group]{Name: name, Title: name, Unit: s.last.Form, Quotient: result.Single, Value: func(g **group) (result.Value, bool) { return value(of(*g)), true }}
	}
	t := result.New([]result.Column[*group]{
		number("min", func(g *group) float64 { return g.low }),
		number("median", func(g *group) float64 { return g.median }),
		number("max", func(g *group) float64 { return g.high }),
		{Name: "group", Title: "group", Unit: result.Func, Value: result.Texts(func(g **group) string { return (*g).name })},
		{Name: "farthest", Title: "farthest from the median", Note: true, Value: result.Texts(func(g **group) string { return show((*g).value) + " in " + (*g).at })},
	}, rows, 0)
	t.Title = title
	fmt.Fprintln(w)
	return text.WriteTable(w, t, opt)
}

// WriteCSV writes all groups.
func (s *Spread) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"group", "unit", "sources", "min", "median", "max", "min_source", "max_source"})
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, g := range s.oddest() {
		out.Write([]string{g.name, s.last.Unit, strconv.Itoa(g.sources), number(g.low), number(g.median), number(g.high), g.lowAt, g.highAt})
	}
	out.Flush()
	return out.Error()
}
