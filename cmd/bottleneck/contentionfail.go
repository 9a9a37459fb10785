package main

import (
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// contentionSum is what the measures are made from.
type contentionSum struct {
	waited, handOff, unattributed, longest, duration time.Duration
	ready, readyIdle                                 time.Duration
	contentions, parks                               int64
}

var contentionMeasures = measures[*contention.Profile]{
	example: "waited>2s",
	whole: []measured[*contention.Profile]{
		{measure{name: "waited", wall: true}, ofSum(func(s *contentionSum) float64 { return float64(s.waited) })},
		{measure{name: "longest", wall: true}, ofSum(func(s *contentionSum) float64 { return float64(s.longest) })},
		{measure{name: "ready", wall: true}, ofSum(func(s *contentionSum) float64 { return float64(s.ready) })},
		{measure{name: "ready-idle", wall: true}, ofSum(func(s *contentionSum) float64 { return float64(s.readyIdle) })},
		{measure{name: "contentions"}, ofSum(func(s *contentionSum) float64 { return float64(s.contentions) })},
		{measure{name: "parks"}, ofSum(func(s *contentionSum) float64 { return float64(s.parks) })},
		{measure{name: "waiting"}, ofSum(func(s *contentionSum) float64 { return percent(s.waited, s.duration) / 100 })},
		{measure{name: "handoff-%", percent: true}, ofSum(func(s *contentionSum) float64 { return percent(s.handOff, s.waited) })},
		{measure{name: "unattributed-%", percent: true}, ofSum(func(s *contentionSum) float64 { return percent(s.unattributed, s.waited) })},
	},
	part: ofPart("lock", []measure{{name: "waited", wall: true}, {name: "ready", wall: true}, {name: "contentions"}, {name: "parks"}}, lockMeasure),
}

func ofSum(of func(*contentionSum) float64) func(*contention.Profile) (float64, error) {
	return always(func(p *contention.Profile) float64 { return of(sumContention(p)) })
}

func sumContention(p *contention.Profile) *contentionSum {
	sum := &contentionSum{duration: p.Duration}
	for i := range p.Waits {
		w := &p.Waits[i]
		sum.waited += w.Waited
		sum.handOff += w.HandOff
		sum.unattributed += w.Unattributed
		sum.longest = max(sum.longest, w.Longest)
		sum.ready += w.Ready
		sum.readyIdle += w.ReadyIdle
		sum.contentions += w.Contentions
		sum.parks += w.Parks
	}
	return sum
}

// lockMeasure is one of the locks of a name or class. A lock that nobody waited for is 0: being gone is what one hopes for.
func lockMeasure(p *contention.Profile, lock string, m measure) (sum float64, _ error) {
	for i := range p.Waits {
		w := &p.Waits[i]
		switch {
		case !isLock(w.Lock, lock):
		case m.name == "ready":
			sum += float64(w.Ready)
		case m.name == "parks":
			sum += float64(w.Parks)
		case m.wall:
			sum += float64(w.Waited)
		default:
			sum += float64(w.Contentions)
		}
	}
	return sum, nil
}

// isLock reports whether a lock has that name or class, in full or short.
func isLock(l *contention.Lock, name string) bool {
	return slices.Contains([]string{l.Name, l.String(), format.Func(l.String()), l.Class, format.Func(l.Class)}, name)
}
