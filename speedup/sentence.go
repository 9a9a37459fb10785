package speedup

import (
	"math"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// worthNaming is the part of N below which what is lost is not worth a sentence.
const worthNaming = 0.01

// Sentence says in a line how much faster a run is and what keeps it from being N times faster.
func (s *Stack) Sentence() string {
	times := format.Parallelism(s.Speedup)
	if s.Speedup < 1 && times != format.Parallelism(1) {
		times += " times as fast" // slower, that is
	} else {
		times += " times faster"
	}
	times += " with " + format.Plural(s.N, "worker", "workers")
	switch {
	case s.Estimate && s.N == 1:
		times = "at most " + strings.TrimSuffix(times, " with 1 worker") + " than a single-threaded run that does the same work at the same speed (an estimate from one run)"
	case s.Estimate:
		times = "at most " + times + " than with one, if one does the same work at the same speed (an estimate from one run)"
	}
	if s.Disturbed {
		times = "disturbed, not a result: " + times
	}
	worst, found := s.Largest()
	switch {
	case !s.Estimate && s.Speedup > (1+worthNaming)*float64(s.N):
		all := "all of them together"
		if s.N == 1 {
			all = "it"
		}
		return times + "; the single-threaded run took longer than " + all + ": it did more work, or did it slower"
	case s.Remainder > 0 && (!found || s.Remainder > s.Components[worst]) && s.Remainder >= worthNaming*float64(s.N):
		return times + "; most is lost to the remainder, " + format.Parallelism(s.Remainder)
	case found && s.Components[worst] >= worthNaming*float64(s.N):
		times += "; most is lost to " + worst.Words() + ", " + format.Parallelism(s.Components[worst])
		if without := s.WhatIf(worst); !math.IsInf(without, 0) {
			times += "; without it, "
			if s.Estimate {
				times += "at most "
			}
			times += format.Parallelism(without) + " times"
		}
		return times
	}
	return times + "; nothing is lost"
}
