package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The conditions of -fail:
//
//	conditions = condition { "," condition }
//	condition  = name ( "<" | "<=" | ">" | ">=" ) value
//	name       = "parallelism" | "neck-%" | "idle-%" | "gc-%" | "wall" |
//	             "group(" NAME ")." ( "share-%" | "parallelism" )
//	value      = a number, with or without "%" for the names that end in it; a duration for wall
//
// Blanks may stand anywhere between them. A group's NAME ends at the parenthesis that
// closes the first one, so that main.(*T).run needs no quoting.

// condition is one comparison.
type condition struct {
	text    string // as the user wrote it
	group   string // of group(NAME)
	measure measure
	op      string
	limit   float64
}

// measure is something about a graph, or about one of its groups, that can be compared.
type measure struct {
	name    string
	percent bool
	wall    bool // a duration, in nanoseconds
	of      func(g *bottle.Graph) float64
	ofBox   func(g *bottle.Graph, b *bottle.Box) float64
}

var graphMeasures = []measure{
	{name: "parallelism", of: (*bottle.Graph).MeanParallelism},
	{name: "neck-%", percent: true, of: func(g *bottle.Graph) float64 { _, share := g.Neck(); return percent(share, g.Wall) }},
	{name: "idle-%", percent: true, of: func(g *bottle.Graph) float64 { return percent(g.Idle, g.Wall) }},
	{name: "gc-%", percent: true, of: gcPercent},
	{name: "wall", wall: true, of: func(g *bottle.Graph) float64 { return float64(g.Wall) }},
}

var groupMeasures = []measure{
	{name: "share-%", percent: true, ofBox: func(g *bottle.Graph, b *bottle.Box) float64 { return percent(b.Share, g.Wall) }},
	{name: "parallelism", ofBox: func(_ *bottle.Graph, b *bottle.Box) float64 { return b.Parallelism }},
}

func gcPercent(g *bottle.Graph) float64 {
	var d time.Duration
	for i := range g.Boxes {
		if g.Boxes[i].Kind == bottle.GC {
			d += g.Boxes[i].Share
		}
	}
	return percent(d, g.Wall)
}

func percent(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// conditions is the value of -fail.
type conditions []condition

// String implements flag.Value.
func (c *conditions) String() string {
	var texts []string
	for _, one := range *c {
		texts = append(texts, one.text)
	}
	return strings.Join(texts, ",")
}

// Set implements flag.Value: it adds conditions.
func (c *conditions) Set(s string) error {
	for {
		one, rest, err := parseCondition(s)
		if err != nil {
			return err
		}
		*c = append(*c, one)
		if rest == "" {
			return nil
		}
		s = rest[1:] // after the comma
	}
}

// parseCondition parses the first condition of s and returns what follows, from the comma on.
func parseCondition(s string) (c condition, rest string, err error) {
	head, measures := s, graphMeasures
	if inner, ok := strings.CutPrefix(strings.TrimSpace(s), "group("); ok {
		end := closing(inner)
		if end < 0 {
			return c, "", errors.New(`"group(" is never closed`)
		}
		c.group = strings.TrimSpace(inner[:end])
		if c.group == "" {
			return c, "", errors.New("group() names no group")
		}
		var dot bool
		if head, dot = strings.CutPrefix(strings.TrimSpace(inner[end+1:]), "."); !dot {
			return c, "", errors.New("after group(…) comes .share-% or .parallelism")
		}
		measures = groupMeasures
	}
	if i := strings.IndexByte(head, ','); i >= 0 {
		head, rest = head[:i], head[i:]
	}
	c.text = strings.TrimSpace(strings.TrimSuffix(s, rest))
	at := strings.IndexAny(head, "<>")
	if at < 0 {
		return c, "", fmt.Errorf("%q is not a condition: want a name, one of < <= > >=, and a value, as in parallelism<4", c.text)
	}
	name, value := strings.TrimSpace(head[:at]), head[at+1:]
	c.op = head[at : at+1]
	if v, ok := strings.CutPrefix(value, "="); ok {
		c.op, value = c.op+"=", v
	}
	i := slices.IndexFunc(measures, func(m measure) bool { return m.name == name })
	if i < 0 {
		return c, "", unknownMeasure(name, measures)
	}
	c.measure = measures[i]
	c.limit, err = c.measure.parse(strings.TrimSpace(value))
	return c, rest, err
}

// closing returns where the parenthesis that was opened before s is closed, or −1.
func closing(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func unknownMeasure(name string, known []measure) error {
	var names []string
	for _, m := range known {
		names = append(names, m.name)
	}
	if near := nearest(name, names); near != "" {
		return fmt.Errorf("unknown name %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("unknown name %q: want one of %s", name, strings.Join(names, ", "))
}

// parse parses a value to compare with.
func (m measure) parse(s string) (float64, error) {
	if m.wall {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%s wants a duration such as 1.5s, not %q", m.name, s)
		}
		return float64(d), nil
	}
	number := s
	if m.percent {
		number = strings.TrimSpace(strings.TrimSuffix(s, "%"))
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%s wants a number, not %q", m.name, s)
	}
	return f, nil
}

// check returns an error of one line that tells all conditions that hold, with
// their values, or nil when none does.
func (c conditions) check(g *bottle.Graph) error {
	var held []string
	for _, one := range c {
		v, err := one.value(g)
		if err != nil {
			return fmt.Errorf("-fail %s: %w", one.text, err)
		}
		if one.holds(v) {
			held = append(held, fmt.Sprintf("%s (it is %s)", one.text, one.format(v)))
		}
	}
	if held == nil {
		return nil
	}
	return fmt.Errorf("failed, as -fail says: %s", strings.Join(held, ", "))
}

func (c condition) holds(v float64) bool {
	switch c.op {
	case "<":
		return v < c.limit
	case "<=":
		return v <= c.limit
	case ">":
		return v > c.limit
	}
	return v >= c.limit
}

func (c condition) value(g *bottle.Graph) (float64, error) {
	if c.group == "" {
		return c.measure.of(g), nil
	}
	b, err := findGroup(g, c.group)
	if err != nil {
		return 0, err
	}
	return c.measure.ofBox(g, b), nil
}

// findGroup finds a box by its name, in full or as text and pictures shorten it.
func findGroup(g *bottle.Graph, name string) (*bottle.Box, error) {
	names := make([]string, len(g.Boxes))
	for i := range g.Boxes {
		if names[i] = g.Boxes[i].Group; names[i] == name {
			return &g.Boxes[i], nil
		}
	}
	short := format.Funcs(names)
	if i := slices.Index(short, name); i >= 0 {
		return &g.Boxes[i], nil
	}
	if near := nearest(name, append(names, short...)); near != "" {
		return nil, fmt.Errorf("the graph has no group %q; did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("the graph has no group %q", name)
}

// format writes a value with as many digits as it takes to see that it is not the limit.
func (c condition) format(v float64) string {
	if c.measure.wall {
		return time.Duration(v).String()
	}
	s := ""
	for decimals := 2; decimals < 20; decimals++ {
		s = strconv.FormatFloat(v, 'f', decimals, 64)
		if shown, _ := strconv.ParseFloat(s, 64); shown != c.limit || v == c.limit {
			break
		}
	}
	if c.measure.percent {
		s += "%"
	}
	return s
}
