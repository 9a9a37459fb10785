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

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
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

// add takes the numbers of a source in.
func (s *spread) add(p *mergePart) {
	values := map[string]float64{}
	switch {
	case p.graph != nil:
		s.what, s.unit = "share of the time", "ratio"
		s.write = func(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + "%" }
		wall := float64(max(1, p.graph.Wall))
		for i := range p.graph.Boxes {
			b := &p.graph.Boxes[i]
			values[b.Group] += float64(b.Share) / wall
		}
		values["(idle)"] = float64(p.graph.Idle) / wall
	case p.ledger != nil:
		s.what, s.unit = "part of the capacity", "ratio"
		s.write = func(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + "%" }
		for i := range p.ledger.Rows {
			r := &p.ledger.Rows[i]
			values[string(r.Category)] += float64(r.Time) / float64(max(1, p.ledger.Capacity))
		}
	case p.contention != nil:
		s.what, s.unit = "goroutines that wait, on average", "goroutines"
		s.write = func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
		wall := float64(max(1, p.contention.Duration))
		for i := range p.contention.Waits {
			w := &p.contention.Waits[i]
			name := string(w.Kind)
			if w.Lock != nil {
				name += " " + w.Lock.Title()
			}
			values[name] += float64(w.Waited) / wall
		}
	case p.tasks != nil:
		s.what, s.unit, s.mean = "mean cycles of a task", "cycles", true
		s.write = func(v float64) string { return format.Count(int64(math.Round(v))) }
		if p.tasks.ByTime() {
			s.what, s.unit = "mean running time of a task, in ns", "nanoseconds"
		}
		for i := range p.tasks.Classes {
			c := &p.tasks.Classes[i]
			if h := p.tasks.Granularity(c); h.Count() > 0 {
				values[c.Name] = h.Mean()
			}
		}
	default:
		return // a profile of pprof
	}
	if s.rows == nil {
		s.rows, s.first = map[string]*spreadRow{}, p.name
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
			r.low, r.lowAt = v, p.name
		}
		if v > r.high || r.highAt == "" {
			r.high, r.highAt = v, p.name
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
