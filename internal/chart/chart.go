// Package chart has what packages text and picture draw: the neck, the names and the colors of
// the groups of a bottle graph, the parts of speedup stacks, values over time, and screens of a
// live view.
package chart

import (
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Key identifies a group in several graphs. The zero Key is the idle time.
type Key struct {
	Group string
	Kind  timeline.Kind
}

// KeyOf returns the key of a box.
func KeyOf(b *bottle.Box) Key { return Key{b.Group, b.Kind} }

// Neck returns the neck of a graph.
func Neck(g *bottle.Graph) map[Key]bool {
	boxes, idle := g.Neck()
	out := map[Key]bool{}
	if idle {
		out[Key{}] = true
	}
	for _, b := range boxes {
		out[KeyOf(b)] = true
	}
	return out
}

// Names returns the groups of a graph by their short names, while these are distinct.
func Names(g *bottle.Graph, groups []string) []string {
	switch g.GroupBy {
	case "", "function", "creator", "goroutine":
		return format.Funcs(groups)
	}
	short := slices.Clone(groups)
	for i := range g.Boxes {
		// Groups that are not of the application have the names of functions in every grouping.
		if k := slices.Index(groups, g.Boxes[i].Group); k >= 0 && g.Boxes[i].Kind != bottle.Application {
			short[k] = format.Func(groups[k])
		}
	}
	return short
}

// Palette hands out the colors of lists in turn: warm ones to the neck.
type Palette[Color any] struct {
	Cool, Warm, GC, Runtime, Tracer []Color
	given                           map[*Color]int
}

// Next returns the next color of a list. After the last color, a list starts again.
func (p *Palette[Color]) Next(list []Color) Color {
	if p.given == nil {
		p.given = map[*Color]int{}
	}
	n := p.given[&list[0]]
	p.given[&list[0]] = n + 1
	return list[n%len(list)]
}

// Of returns the next color for a group.
func (p *Palette[Color]) Of(kind timeline.Kind, neck bool) Color {
	switch {
	case kind == bottle.GC:
		return p.Next(p.GC)
	case kind == bottle.Runtime:
		return p.Next(p.Runtime)
	case kind == bottle.Tracer:
		return p.Next(p.Tracer)
	case neck:
		return p.Next(p.Warm)
	}
	return p.Next(p.Cool)
}

// NiceStep returns the smallest of …, 0.1, 0.2, 0.5, 1, 2, 5, 10, … that is at least least.
func NiceStep(least float64) float64 {
	if !(least > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= least*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// Part is a part of speedup stacks.
type Part struct {
	Name      string
	Values    []float64 // by stack
	Component speedup.Component
	// What distinguishes the speed-up, the remainder, and small components that are added up.
	Speedup, Remainder, Small bool
}

// Parts returns the parts of stacks from the bottom: the speed-up, the components of at least least
// of N in one of the stacks, the smaller ones together, and the remainder.
func Parts(stacks []*speedup.Stack, least float64) (parts []Part) {
	part := func(name string, of func(*speedup.Stack) float64) Part {
		p := Part{Name: name}
		for _, s := range stacks {
			v := of(s)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				v = 0
			}
			p.Values = append(p.Values, v)
		}
		return p
	}
	speed := part("speed-up", func(s *speedup.Stack) float64 { return s.Speedup })
	if slices.ContainsFunc(stacks, func(s *speedup.Stack) bool { return s.Estimate }) {
		speed.Name = "speed-up (at most)"
	}
	speed.Speedup = true
	parts = append(parts, speed)
	var small []Part
	for _, c := range speedup.Delimiters() {
		p := part(c.Words(), func(s *speedup.Stack) float64 { return s.Components[c] })
		p.Component = c
		switch {
		case p.exceeds(stacks, least):
			parts = append(parts, p)
		case p.exceeds(stacks, 0):
			small = append(small, p)
		}
	}
	if len(small) > 1 { // otherwise it takes no more room
		sum := Part{Name: format.Plural(len(small), "small component", "small components"), Values: make([]float64, len(stacks)), Small: true}
		for _, p := range small {
			for i, v := range p.Values {
				sum.Values[i] += v
			}
		}
		small = []Part{sum}
	}
	parts = append(parts, small...)
	rest := part("remainder", func(s *speedup.Stack) float64 { return s.Remainder })
	if rest.Remainder = true; rest.exceeds(stacks, 0) {
		parts = append(parts, rest)
	}
	return parts
}

// exceeds reports whether the part is more than some part of N in one of the stacks.
func (p *Part) exceeds(stacks []*speedup.Stack, least float64) bool {
	for i, v := range p.Values {
		if math.Abs(v) > least*float64(max(1, stacks[i].N)) {
			return true
		}
	}
	return false
}

// Without returns the speed-up of a stack if the part were zero; 0 if that is not known.
func (p *Part) Without(s *speedup.Stack) float64 {
	if v := s.WhatIf(p.Component); !p.Speedup && !p.Remainder && !p.Small && !math.IsInf(v, 0) && !math.IsNaN(v) {
		return v
	}
	return 0
}

// Warnings returns the warnings of stacks without duplicates.
func Warnings(stacks []*speedup.Stack) (out []string) {
	for _, s := range stacks {
		for _, w := range s.Warnings {
			if !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

// Series is a value over time, one for each of equally long intervals from Begin to End, in ns. NaN
// is an unknown value.
type Series struct {
	// Name stands above the panel, or before the timeline. Series with the same Scale, such as the
	// name of a metric, are drawn on the same scale.
	Name, Scale string
	Unit        result.Unit // Duration, Bytes or Number
	Begin, End  int64
	Values      []float64
	// Ended is, for timelines, how a long quantum ended at the end of each interval: "preempted",
	// "yielded" or "blocked". The rest is not shown.
	Ended []string
}

// At returns the beginning of an interval.
func (l *Series) At(i int) int64 {
	return l.Begin + int64(float64(i)*float64(l.End-l.Begin)/float64(len(l.Values)))
}

// Screen is the content of a screen of a live view in the style of top: a graph of the last seconds
// that is replaced repeatedly. text.WriteTop writes it.
type Screen struct {
	// Graph covers the last seconds; nil before the first one.
	Graph *bottle.Graph
	// Before is the graph of the previous refresh, for the trends, or nil.
	Before *bottle.Graph
	// Source is the origin of the graphs.
	Source string
	// Taken is the time of Graph; not shown if zero.
	Taken time.Time
	// Interval is the time between refreshes; not shown if 0.
	Interval time.Duration
	// Note is a remark on its own line, such as a limitation of the source.
	Note string
	// Problem is the reason why Graph is out of date, or "".
	Problem string
	// Paused is set while the user has paused the refreshes.
	Paused bool

	// Height is the number of lines of the screen. Lines that do not fit are omitted, and the last
	// line lists the keys. 0 is for a file: as many lines as text.Options.Top selects, and no keys.
	Height int
	// Sort is one of text.TopSorts; "" means the first.
	Sort string
	// Skip is the number of groups that are scrolled past.
	Skip int
}
