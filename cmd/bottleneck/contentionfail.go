package main

import (
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
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
		measuring("waited", result.Duration, ofSum(func(s *contentionSum) float64 { return float64(s.waited) })),
		measuring("longest", result.Duration, ofSum(func(s *contentionSum) float64 { return float64(s.longest) })),
		measuring("ready", result.Duration, ofSum(func(s *contentionSum) float64 { return float64(s.ready) })),
		measuring("ready-idle", result.Duration, ofSum(func(s *contentionSum) float64 { return float64(s.readyIdle) })),
		measuring("contentions", result.Number, ofSum(func(s *contentionSum) float64 { return float64(s.contentions) })),
		measuring("parks", result.Number, ofSum(func(s *contentionSum) float64 { return float64(s.parks) })),
		measuring("waiting", result.Number, ofSum(func(s *contentionSum) float64 { return percent(s.waited, s.duration) / 100 })),
		measuring("handoff-%", result.Ratio, ofSum(func(s *contentionSum) float64 { return percent(s.handOff, s.waited) })),
		measuring("unattributed-%", result.Ratio, ofSum(func(s *contentionSum) float64 { return percent(s.unattributed, s.waited) })),
	},
	part: ofPart("lock", []measure{{name: "waited", unit: result.Duration}, {name: "ready", unit: result.Duration}, {name: "contentions", unit: result.Number}, {name: "parks", unit: result.Number}}, lockMeasure),
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

// lockMeasure is one of the locks of a name or class. A lock that nobody waited for is 0: being
// gone is what one hopes for.
func lockMeasure(p *contention.Profile, lock string, m measure) (sum float64, _ error) {
	for i := range p.Waits {
		w := &p.Waits[i]
		switch {
		case !isLock(w.Lock, lock):
		case m.name == "ready":
			sum += float64(w.Ready)
		case m.name == "parks":
			sum += float64(w.Parks)
		case m.unit == result.Duration:
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
