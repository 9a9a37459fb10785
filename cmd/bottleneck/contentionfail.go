package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
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
		measuring("waited", result.Duration, "what all goroutines waited together, as a duration: waited>2s", ofSum(func(s *contentionSum) float64 { return float64(s.waited) })),
		measuring("longest", result.Duration, "the longest wait, as a duration", ofSum(func(s *contentionSum) float64 { return float64(s.longest) })),
		measuring("ready", result.Duration, "for how long they were ready after that, until they had a processor", ofSum(func(s *contentionSum) float64 { return float64(s.ready) })),
		measuring("ready-idle", result.Duration, "the part of ready in which a processor was idle", ofSum(func(s *contentionSum) float64 { return float64(s.readyIdle) })),
		measuring("contentions", result.Number, "the number of waits", ofSum(func(s *contentionSum) float64 { return float64(s.contentions) })),
		measuring("parks", result.Number, "how often they blocked: a goroutine that is woken, loses the race for the lock and blocks again is one wait, but counts twice here", ofSum(func(s *contentionSum) float64 { return float64(s.parks) })),
		measuring("waiting", result.Number, "how many goroutines waited at a time, on average", ofSum(func(s *contentionSum) float64 { return percent(s.waited, s.duration) / 100 })),
		measuring("handoff-%", result.Ratio, "the part of the waiting in which the lock was on its way to its next owner", ofSum(func(s *contentionSum) float64 { return percent(s.handOff, s.waited) })),
		measuring("unattributed-%", result.Ratio, "the part for which it is not known who held the lock, or whether it was held", ofSum(func(s *contentionSum) float64 { return percent(s.unattributed, s.waited) })),
	},
	parts: "or waited, ready, contentions or parks of one lock, as lock(LOCK).waited, by its name or class.",
	part:  ofPart("lock", []measure{{name: "waited", unit: result.Duration}, {name: "ready", unit: result.Duration}, {name: "contentions", unit: result.Number}, {name: "parks", unit: result.Number}}, lockMeasure),
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

// lockMeasure is one of the locks of a name or class. A lock that is not in the profile is 0: that
// nobody waits for it is what one hopes for. But it is an error if there is one with nearly that
// name.
func lockMeasure(p *contention.Profile, lock string, m measure) (sum float64, _ error) {
	found := false
	for i := range p.Waits {
		w := &p.Waits[i]
		is := isLock(w.Lock, lock)
		found = found || is
		switch {
		case !is:
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
	if near := mistyped(p, lock); !found && near != "" {
		return 0, fmt.Errorf("no goroutine waited for a lock %q; did you mean %q?", lock, near)
	}
	return sum, nil
}

// mistyped returns the lock that a name which is not in the profile may be meant to be, or "".
// Names that differ only in the number after # are those of two locks.
func mistyped(p *contention.Profile, lock string) string {
	word, _, _ := strings.Cut(lock, "#")
	var names []string
	for _, l := range p.Locks {
		for _, name := range lockNames(l) {
			if name, _, _ = strings.Cut(name, "#"); name == word {
				return ""
			}
			names = append(names, name)
		}
	}
	return spelling.Nearest(word, names)
}

// isLock reports whether a lock has that name or class, in full or short.
func isLock(l *contention.Lock, name string) bool {
	return slices.Contains(lockNames(l), name)
}

// lockNames are what a lock may be called.
func lockNames(l *contention.Lock) []string {
	return []string{l.Name, l.String(), format.Func(l.String()), l.Class, format.Func(l.Class)}
}
