package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// contentionMeasure is something about a contention profile that -fail can compare.
type contentionMeasure struct {
	measure
	of func(*contentionSum) float64
}

// contentionSum is what the measures are made from.
type contentionSum struct {
	waited, handOff, unattributed, longest, duration time.Duration
	contentions                                      int64
}

var contentionMeasures = []contentionMeasure{
	{measure{name: "waited", wall: true}, func(s *contentionSum) float64 { return float64(s.waited) }},
	{measure{name: "longest", wall: true}, func(s *contentionSum) float64 { return float64(s.longest) }},
	{measure{name: "contentions"}, func(s *contentionSum) float64 { return float64(s.contentions) }},
	{measure{name: "waiting"}, func(s *contentionSum) float64 { return percent(s.waited, s.duration) / 100 }},
	{measure{name: "handoff-%", percent: true}, func(s *contentionSum) float64 { return percent(s.handOff, s.waited) }},
	{measure{name: "unattributed-%", percent: true}, func(s *contentionSum) float64 { return percent(s.unattributed, s.waited) }},
}

// contentionConditions is the value of -fail.
type contentionConditions []contentionCondition

type contentionCondition struct {
	condition
	of func(*contentionSum) float64
}

// String implements flag.Value.
func (c *contentionConditions) String() string {
	var texts []string
	for _, one := range *c {
		texts = append(texts, one.text)
	}
	return strings.Join(texts, ",")
}

// Set implements flag.Value: it adds conditions.
func (c *contentionConditions) Set(s string) error {
	for one := range strings.SplitSeq(s, ",") {
		one = strings.TrimSpace(one)
		at := strings.IndexAny(one, "<>")
		if at < 0 {
			return fmt.Errorf("%q is not a condition: want a name, one of < <= > >=, and a value, as in waited>2s", one)
		}
		name, op, value := strings.TrimSpace(one[:at]), one[at:at+1], one[at+1:]
		if v, ok := strings.CutPrefix(value, "="); ok {
			op, value = op+"=", v
		}
		i := slices.IndexFunc(contentionMeasures, func(m contentionMeasure) bool { return m.name == name })
		if i < 0 {
			var known []measure
			for _, m := range contentionMeasures {
				known = append(known, m.measure)
			}
			return unknownMeasure(name, known)
		}
		m := contentionMeasures[i]
		limit, err := m.parse(strings.TrimSpace(value))
		if err != nil {
			return err
		}
		*c = append(*c, contentionCondition{condition{text: one, measure: m.measure, op: op, limit: limit}, m.of})
	}
	return nil
}

// check returns an error of one line that tells all conditions that hold, with their values,
// or nil when none does.
func (c contentionConditions) check(p *contention.Profile) error {
	sum := sumContention(p)
	var held []string
	for _, one := range c {
		if v := one.of(sum); one.holds(v) {
			held = append(held, fmt.Sprintf("%s (it is %s)", one.text, one.format(v)))
		}
	}
	if held == nil {
		return nil
	}
	return fmt.Errorf("failed, as -fail says: %s", strings.Join(held, ", "))
}

func sumContention(p *contention.Profile) *contentionSum {
	sum := &contentionSum{duration: p.Duration}
	for i := range p.Waits {
		w := &p.Waits[i]
		sum.waited += w.Waited
		sum.handOff += w.HandOff
		sum.unattributed += w.Unattributed
		sum.longest = max(sum.longest, w.Longest)
		sum.contentions += w.Contentions
	}
	return sum
}
