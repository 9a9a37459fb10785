package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/ledger"
)

// spread is how a number of each group differs among the sources of a merge: which of them is odd.
// Its size does not depend on the number of sources: of each group there are the extremes and a
// histogram.
type spread struct {
	what    string // the number, for the head of the table
	unit    string // in CSV
	mean    bool   // a source that lacks a group has no number for it, rather than 0
	write   func(float64) string
	sources int
	source  string // whose numbers are added
	first   string // the name of the first source
	rows    map[string]*spreadRow
	more    bool // there were too many groups
}

// maxSpread bounds the groups, first come, first kept: with a histogram of some 10 kB each, at most
// 20 MB.
const maxSpread = 2000

// spreadScale makes whole numbers of values for the histogram, which has them to 1.6 %.
const spreadScale = 1e6

// spreadRow is a group.
type spreadRow struct {
	name          string
	sources       int // that have a value, 0 for the others
	values        granularity.Histogram
	low, high     float64
	lowAt, highAt string
}

// of returns the spread, to which the next numbers are those of a source with that name.
func (s *spread) of(source string) *spread {
	s.source = source
	return s
}

// percentOf writes a part of a whole.
func percentOf(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + "%" }

func graphNumbers(s *spread, g *bottle.Graph) map[string]float64 {
	s.what, s.unit, s.write = "share of the time", "ratio", percentOf
	wall := float64(max(1, g.Wall))
	values := map[string]float64{"(idle)": float64(g.Idle) / wall}
	for i := range g.Boxes {
		values[g.Boxes[i].Group] += float64(g.Boxes[i].Share) / wall
	}
	return values
}

func ledgerNumbers(s *spread, l *ledger.Ledger) map[string]float64 {
	s.what, s.unit, s.write = "part of the capacity", "ratio", percentOf
	values := map[string]float64{}
	for i := range l.Rows {
		values[string(l.Rows[i].Category)] += float64(l.Rows[i].Time) / float64(max(1, l.Capacity))
	}
	return values
}

func contentionNumbers(s *spread, p *contention.Profile) map[string]float64 {
	s.what, s.unit = "goroutines that wait, on average", "goroutines"
	s.write = func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	values := map[string]float64{}
	for i := range p.Waits {
		w := &p.Waits[i]
		name := string(w.Kind)
		if w.Lock != nil {
			name += " " + w.Lock.Title()
		}
		values[name] += float64(w.Waited) / float64(max(1, p.Duration))
	}
	return values
}

func taskNumbers(s *spread, p *granularity.Profile) map[string]float64 {
	s.what, s.unit, s.mean = "mean cycles of a task", "cycles", true
	s.write = func(v float64) string { return format.Count(int64(math.Round(v))) }
	if p.ByTime() {
		s.what, s.unit = "mean running time of a task, in ns", "nanoseconds"
	}
	values := map[string]float64{}
	for i := range p.Classes {
		if h := p.Granularity(&p.Classes[i]); h.Count() > 0 {
			values[p.Classes[i].Name] = h.Mean()
		}
	}
	return values
}

// add takes the numbers of a source in.
func (s *spread) add(values map[string]float64) {
	if s.rows == nil {
		s.rows, s.first = map[string]*spreadRow{}, s.source
	}
	s.sources++
	for name, v := range values {
		r := s.rows[name]
		if r == nil {
			if len(s.rows) == maxSpread {
				s.more = true
				continue
			}
			r = &spreadRow{name: name, low: math.Inf(1)}
			if s.sources > 1 && !s.mean {
				r.low, r.lowAt, r.highAt = 0, s.first, s.first
			}
			s.rows[name] = r
		}
		r.sources++
		r.values.Add(uint64(math.Round(v * spreadScale)))
	}
	for name, r := range s.rows {
		v, there := values[name]
		if !there && s.mean {
			continue
		}
		if v < r.low {
			r.low, r.lowAt = v, s.source
		}
		if v > r.high || r.highAt == "" {
			r.high, r.highAt = v, s.source
		}
	}
}

// median is that of all sources.
func (s *spread) median(r *spreadRow) float64 {
	lacking := s.sources - r.sources
	if s.mean {
		lacking = 0
	}
	at := float64(lacking+r.sources)/2 - float64(lacking) // of the values, in order
	if at <= 0 {
		return 0
	}
	return min(max(r.values.Quantile(at/float64(r.sources))/spreadScale, r.low), r.high)
}

// oddity is a row with what is made of it.
type oddity struct {
	*spreadRow
	median, value, distance float64
	at                      string // the source that is farthest from the median, with that value
}

// oddest are the rows, that with the source that is farthest from the median first; means by how
// many times.
func (s *spread) oddest() (out []oddity) {
	for _, r := range s.rows {
		o := oddity{spreadRow: r, median: s.median(r), at: r.highAt, value: r.high}
		if o.median-r.low > r.high-o.median {
			o.at, o.value = r.lowAt, r.low
		}
		o.distance = math.Abs(o.value - o.median)
		if s.mean && o.median > 0 {
			o.distance /= o.median
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b oddity) int {
		return cmp.Or(cmp.Compare(b.distance, a.distance), cmp.Compare(a.name, b.name))
	})
	return out
}

// spreadTop is how many rows text shows unless -top says otherwise.
const spreadTop = 10

// writeText writes the table below that of the sum.
func (s *spread) writeText(w io.Writer, d drawing) error {
	if s.sources < 3 {
		return nil // none of two is the odd one
	}
	same := func(r oddity) bool { return s.write(r.value) == s.write(r.median) }
	rows, limit := slices.DeleteFunc(s.oddest(), same), spreadTop
	if d.topSet {
		limit = d.top
	}
	if limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	if _, err := fmt.Fprintf(w, "\nSpread over %s, each for itself: %s. The oddest first.\n\n", format.Plural(s.sources, "source", "sources"), s.what); err != nil {
		return err
	}
	if len(rows) == 0 {
		_, err := io.WriteString(w, "All are alike.\n")
		return err
	}
	table := [][5]string{{"min", "median", "max", "group", "farthest from the median"}}
	var width [5]int
	for _, r := range rows {
		table = append(table, [5]string{s.write(r.low), s.write(r.median), s.write(r.high), format.Func(format.Clean(r.name)), s.write(r.value) + " in " + oneLine(r.at)})
	}
	for _, line := range table {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range table {
		if _, err := fmt.Fprintf(w, "%*s  %*s  %*s  %-*s  %s\n", width[0], line[0], width[1], line[1], width[2], line[2], width[3], line[3], line[4]); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes all rows.
func (s *spread) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"group", "unit", "sources", "min", "median", "max", "min_source", "max_source"})
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, r := range s.oddest() {
		out.Write([]string{r.name, s.unit, strconv.Itoa(r.sources), number(r.low), number(r.median), number(r.high), r.lowAt, r.highAt})
	}
	out.Flush()
	return out.Error()
}
