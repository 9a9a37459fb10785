package main

import (
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// contentionSum is what the measures are made from.
type contentionSum struct {
	waited, handOff, unattributed, longest, duration time.Duration
	contentions                                      int64
}

var contentionMeasures = []profileMeasure[*contentionSum]{
	{measure{name: "waited", wall: true}, always(func(s *contentionSum) float64 { return float64(s.waited) })},
	{measure{name: "longest", wall: true}, always(func(s *contentionSum) float64 { return float64(s.longest) })},
	{measure{name: "contentions"}, always(func(s *contentionSum) float64 { return float64(s.contentions) })},
	{measure{name: "waiting"}, always(func(s *contentionSum) float64 { return percent(s.waited, s.duration) / 100 })},
	{measure{name: "handoff-%", percent: true}, always(func(s *contentionSum) float64 { return percent(s.handOff, s.waited) })},
	{measure{name: "unattributed-%", percent: true}, always(func(s *contentionSum) float64 { return percent(s.unattributed, s.waited) })},
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
