package speedup

import (
	"fmt"
	"math"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// worthNaming is the part of N below which a loss is not mentioned.
const worthNaming = 0.01

// Sentence returns one line with the speed-up and what keeps it below N.
func (s *Stack) Sentence() string {
	times := format.Parallelism(s.Speedup)
	if s.Speedup < 1 && times != format.Parallelism(1) {
		times += " times as fast" // slower
	} else {
		times += " times faster"
	}
	times += " with " + format.Plural(s.N, "worker", "workers")
	if n := len(s.Runs); n > 1 {
		times += fmt.Sprintf(" (%s to %s in %d pairs of runs)", format.Parallelism(s.Runs[0]), format.Parallelism(s.Runs[n-1]), n)
	}
	switch {
	case s.Estimate && s.N == 1:
		times = "at most " + strings.TrimSuffix(times, " with 1 worker") + " than a single-threaded run that does the same work at the same speed (an estimate from one run)"
	case s.Estimate:
		times = "at most " + times + " than with one, if one does the same work at the same speed (an estimate from one run)"
	}
	if s.Disturbed {
		times = "disturbed, not a result: " + times
	}
	worst, found := s.worst()
	switch {
	case !s.Estimate && s.Speedup > (1+worthNaming)*float64(s.N):
		all := "all of them together"
		if s.N == 1 {
			all = "it"
		}
		return times + "; the single-threaded run took longer than " + all + ": it did more work, or did it slower"
	case s.Remainder > 0 && (!found || s.Remainder > worst.part) && s.Remainder >= worthNaming*float64(s.N):
		return times + "; most is lost to the remainder, " + format.Parallelism(s.Remainder)
	case found && worst.part >= worthNaming*float64(s.N):
		times += "; most is lost to " + worst.words + ", " + format.Parallelism(worst.part)
		if without := s.without(worst.part); !math.IsInf(without, 0) {
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

// loss is what keeps the speed-up down, in words, and its amount.
type loss struct {
	words string
	part  float64
}

// mostOfFamily is the part of a family above which its largest component is named instead.
const mostOfFamily = 0.9

// worst returns the family that keeps the speed-up down most, or the component that is nearly all
// of it. found is false if there is none. The parts of one cause, such as those of a collection,
// count together.
func (s *Stack) worst() (worst loss, found bool) {
	for f := Running + 1; int(f) < NumFamilies; f++ {
		part := s.Of(f)
		if part <= worst.part {
			continue
		}
		worst, found = loss{f.String(), part}, true
		for _, c := range Delimiters() {
			if v := s.Components[c]; c.Family() == f && v >= mostOfFamily*part {
				worst = loss{c.Words(), min(v, part)}
			}
		}
	}
	return worst, found
}
