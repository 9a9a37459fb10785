package output

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/query"
	"github.com/bottleneck-go/bottleneck/internal/report"
	"github.com/bottleneck-go/bottleneck/result"
)

// Counted is a recording of counters, and what is asked about it.
type Counted struct {
	Context  context.Context
	Explorer *query.Explorer
	Where    string      // only quanta for which this holds
	Sides    []string    // two conditions whose quanta are compared, or nil
	Table    query.Table // otherwise
	Lanes    string      // whose timelines are drawn, or ""
}

// tables returns tables for people, or one for programs, and notes for people.
func (c *Counted) tables(top int, people bool) (tables []*result.Table, notes []string, err error) {
	q := query.Query{Filter: c.Where}
	if c.Sides != nil {
		and := func(side string) string {
			if c.Where == "" {
				return side
			}
			return "(" + c.Where + ") && (" + side + ")"
		}
		q = query.Query{Filter: and(c.Sides[0]), Against: and(c.Sides[1]), Compare: append([]string{}, c.Table.Metrics...)}
	} else {
		table := c.Table
		table.Limit = max(0, top)
		q.Table = &table
	}
	a, err := c.Explorer.Answer(c.Context, q)
	if err != nil {
		return nil, nil, err
	}
	none := func(n int, filter string) {
		if n == 0 && a.Of > 0 {
			notes = append(notes, fmt.Sprintf("None of the %s fulfills %s.", format.Plural(a.Of, "quantum", "quanta"), filter))
		}
	}
	if a.Of == 0 {
		notes = []string{"The recording has no quanta."}
	}
	none(a.Count, a.Filter)
	if c.Sides == nil {
		return a.Tables(people), notes, nil
	}
	none(a.AgainstCount, a.Against)
	if top > 0 {
		a.Comparison = a.Comparison[:min(top, len(a.Comparison))]
	}
	tables = a.Tables(people)
	for _, t := range tables {
		if people {
			t.Title += ". "
		}
		t.Title += "A is " + a.Filter + ", B is " + a.Against
	}
	return tables, notes, nil
}

// table returns the table for programs.
func (c *Counted) table(d Drawing) (*result.Table, error) {
	tables, _, err := c.tables(d.Top, false)
	if err != nil {
		return nil, err
	}
	return tables[0], nil
}

// CountedForms are the forms of the answers.
var CountedForms = FormsOf((*Counted).table, (*Counted).picture, Writers[*Counted]{
	"text": writeCountersText,
	"json": func(w io.Writer, c *Counted, d Drawing) error {
		if c.Lanes != "" {
			l, err := c.timeline(1000, 0, d)
			if err != nil {
				return err
			}
			return json.NewEncoder(w).Encode(l)
		}
		return Via((*Counted).table, TableJSON)(w, c, d)
	},
	"html": Via((*Counted).table, report.WriteTable), // the picture has no comparison
	"pprof": func(w io.Writer, c *Counted, _ Drawing) error {
		set, err := c.Explorer.Select(c.Context, c.Where)
		if err != nil {
			return query.InPart("filter", err)
		}
		return c.Explorer.WriteProfile(w, set)
	},
})

// picture draws the means over time.
func (c *Counted) picture(d Drawing) (*picture.Drawing, error) {
	if c.Lanes != "" {
		return c.drawLanes(d)
	}
	const parts, bins = 4, 240
	q := c.Table
	q.Stats, q.Bins, q.Limit = nil, bins, max(0, cmp.Or(d.Top, parts))
	a, err := c.Explorer.Answer(c.Context, query.Query{Filter: c.Where, Table: &q})
	if err != nil {
		return nil, err
	}
	if a.Count == 0 {
		return nil, fmt.Errorf("no quantum fulfills %s", a.Filter)
	}
	t := a.Table
	rows := t.Rows
	if t.Others != nil {
		rows = append(rows, *t.Others)
	}
	var list []chart.Series
	for i, metric := range t.Metrics {
		for _, row := range rows {
			l := chart.Series{Name: metric, Scale: metric, Unit: query.UnitOf(t.Units[i]), Begin: t.From, End: t.To}
			if q.By != "" {
				l.Name += " of " + row.Key
			}
			for _, mean := range row.Cells[i].Means {
				l.Values = append(l.Values, float64(mean))
			}
			list = append(list, l)
		}
	}
	sentence := "All quanta of " + d.Source
	if c.Where != "" {
		sentence = "Quanta of " + d.Source + " with " + c.Where
	}
	return picture.DrawSeries(list, sentence, picture.Options{Title: d.Title})
}

// timeline returns when the lanes of -timeline ran.
func (c *Counted) timeline(width, long int, d Drawing) (*query.Lanes, error) {
	a, err := c.Explorer.Answer(c.Context, query.Query{Filter: c.Where, Lanes: &query.Lanes{By: c.Lanes, Width: width, Long: long, Limit: max(0, cmp.Or(d.Top, 40))}})
	if err != nil {
		return nil, err
	}
	if len(a.Lanes.Lanes) == 0 {
		return nil, fmt.Errorf("no quantum fulfills %s", a.Filter)
	}
	return a.Lanes, nil
}

// laneName returns the name of a timeline.
func laneName(key, group string) string {
	if group != "" {
		return key + " " + format.Func(group)
	}
	return format.Func(key)
}

func (c *Counted) drawLanes(d Drawing) (*picture.Drawing, error) {
	l, err := c.timeline(1000, 0, d)
	if err != nil {
		return nil, err
	}
	per := float64(l.To-l.From) / float64(l.Width)
	var list []chart.Series
	for i := range l.Lanes {
		lane := chart.Series{Name: laneName(l.Lanes[i].Key, l.Lanes[i].Group), Begin: l.From, End: l.To, Values: make([]float64, l.Width), Ended: make([]string, l.Width)}
		for _, x := range l.Lanes[i].Cells {
			for at := range x.Width {
				lane.Values[x.X+at] = float64(x.Busy) / per / float64(x.Width)
			}
			lane.Ended[x.X+x.Width-1] = x.Ended.String()
		}
		list = append(list, lane)
	}
	return picture.DrawLanes(list, fmt.Sprintf("When each %s ran, of %s", c.Lanes, d.Source), picture.Options{Title: d.Title})
}

// laneGlyphs show in text how quanta ended.
var laneGlyphs = map[quanta.Ending]rune{quanta.Preempted: '▸', quanta.Yielded: '◇', quanta.Blocked: '□'}

// writeLanes draws timelines in text: a column for each part of the time.
func writeLanes(w io.Writer, c *Counted, d Drawing) error {
	const names = 26
	width := max(20, cmp.Or(d.Width, 100)-names-1)
	l, err := c.timeline(width, 3, d)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "When each %s ran, in %s: █ at least three quarters of a column, ▒ a quarter, ░ less.\nEnd of a long quantum: ▸ preempted, ◇ yielded, □ blocked.\n\n", c.Lanes, format.Duration(time.Duration(l.To-l.From)))
	per := float64(l.To-l.From) / float64(width)
	for i := range l.Lanes {
		line := []rune(strings.Repeat(" ", width))
		for _, x := range l.Lanes[i].Cells {
			full := '░'
			if busy := float64(x.Busy) / per / float64(x.Width); busy >= .75 {
				full = '█'
			} else if busy >= .25 {
				full = '▒'
			}
			for at := x.X; at < x.X+x.Width; at++ {
				line[at] = full
			}
			if g, ok := laneGlyphs[x.Ended]; ok {
				line[x.X+x.Width-1] = g
			}
		}
		name := []rune(format.Clean(laneName(l.Lanes[i].Key, l.Lanes[i].Group)))
		fmt.Fprintf(w, "%-*s %s\n", names, string(name[:min(len(name), names)]), strings.TrimRight(string(line), " "))
	}
	if l.Omitted > 0 {
		fmt.Fprintf(w, "(%s more, which ran for %s)\n", format.Count(l.Omitted), format.Duration(time.Duration(l.OmittedBusy)))
	}
	return nil
}

func writeCountersText(w io.Writer, c *Counted, d Drawing) error {
	if c.Lanes != "" {
		return writeLanes(w, c, d)
	}
	const parts = 10
	tables, notes, err := c.tables(cmp.Or(d.Top, parts), true)
	if err != nil {
		return err
	}
	for i, t := range tables {
		if i > 0 {
			io.WriteString(w, "\n")
		}
		if err := text.WriteTable(w, t, d.Options); err != nil {
			return err
		}
	}
	for _, warning := range c.Explorer.Recording().Warnings {
		notes = append(notes, "Warning: "+warning)
	}
	if len(tables) > 0 && len(notes) > 0 {
		io.WriteString(w, "\n")
	}
	for _, note := range notes {
		if _, err := io.WriteString(w, Wrapped(2, format.Clean(note))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// CountersForms are the forms of the list of counters.
var CountersForms = FormsOf(func(all *result.Table, d Drawing) (*result.Table, error) { return all, nil }, nil, Writers[*result.Table]{
	"text": func(w io.Writer, all *result.Table, d Drawing) error {
		refused := map[string][]string{} // by reason
		has, err := all.Pick("counter", "how")
		if err != nil {
			return err
		}
		has.Rows = nil
		for _, row := range all.Rows {
			if reason := row[2].Text; reason != "" {
				refused[reason] = append(refused[reason], row[0].Text)
			} else {
				has.Rows = append(has.Rows, row[:2])
			}
		}
		if err := text.WriteTable(w, has, d.Options); err != nil {
			return err
		}
		for _, reason := range slices.Sorted(maps.Keys(refused)) {
			if _, err := fmt.Fprintf(w, "\n%s\n  %s\n", Wrapped(0, "Not counted here, because "+reason+":"), Wrapped(2, strings.Join(refused[reason], ", "))); err != nil {
				return err
			}
		}
		return nil
	},
})
