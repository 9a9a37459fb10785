package artifact

import (
	"fmt"
	"strings"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spread"
	"github.com/bottleneck-go/bottleneck/ledger"
)

// batch is the number of parts per addition, because each addition copies the sum.
const batch = 16

// Alike returns an error if an artifact and the first one are of different kinds.
func (a Artifact) Alike(first Artifact, done string) error {
	if a.Kind != first.Kind {
		return flags.Errorf("%s is a %s, %s a %s: they cannot be %s; -kind chooses what is made of a trace", first.Label, first.What, a.Label, a.What, done)
	}
	return nil
}

// adder adds up results of a kind.
type adder struct {
	add     func(parts []Artifact) (any, error)
	numbers func(v any) spread.Numbers
	About   func(v any) (instances int, warnings *[]string)
}

// summing returns the adder of results of one type.
func summing[T any](add func(...T) (T, error), of func(T) spread.Numbers, about func(T) (int, *[]string)) *adder {
	return &adder{numbers: func(v any) spread.Numbers { return of(v.(T)) }, About: func(v any) (int, *[]string) { return about(v.(T)) },
		add: func(parts []Artifact) (any, error) {
			var values []T
			for _, p := range parts {
				values = append(values, p.Value.(T))
			}
			return add(values...)
		}}
}

// mergeParts adds up parts of the same kind.
func mergeParts(parts []Artifact) (sum Artifact, err error) {
	sum.Kind, sum.Label = parts[0].Kind, parts[0].Label // for messages
	if sum.Value, err = sum.Sums.add(parts); err != nil || sum.Kind != Graph {
		return sum, err
	}
	var ledgers []*ledger.Ledger
	var waits []*contention.Profile
	for _, p := range parts {
		if p.Report == nil || p.Ledger == nil {
			return sum, nil
		}
		ledgers, waits = append(ledgers, p.Ledger), append(waits, p.Contention)
	}
	sum.Report = &bn.Report{Contention: contention.Merge(waits...)}
	sum.Ledger, err = ledger.Merge(ledgers...)
	return sum, err
}

// Sum is the sum of the parts so far.
type Sum struct {
	Artifact
	Sources int // on the command line, including missing ones
	Missing []string
	pending []Artifact
	Spread  spread.Spread
}

// Add takes the next part, if it can be added to the previous ones.
func (s *Sum) Add(p Artifact) error {
	first := p
	if s.Kind != nil {
		first = s.Artifact
	} else if len(s.pending) > 0 {
		first = s.pending[0]
	}
	if err := p.Alike(first, "merged"); err != nil {
		return err
	}
	if g, ok := p.Value.(*bottle.Graph); ok {
		switch f := first.Value.(*bottle.Graph); {
		case g.GroupBy != f.GroupBy:
			return fmt.Errorf("%s is grouped by %s, %s by %s: they cannot be merged", first.Label, f.GroupBy, p.Label, g.GroupBy)
		case g.Offered != f.Offered:
			return fmt.Errorf("one of %s and %s is of offered parallelism, the other is not: they cannot be merged", first.Label, p.Label)
		}
	}
	s.Spread.Add(p.Label, p.Sums.numbers(p.Value))
	s.pending = append(s.pending, p)
	if len(s.pending) == batch {
		return s.flush()
	}
	return nil
}

// flush adds up the pending parts.
func (s *Sum) flush() (err error) {
	all := s.pending
	if s.Kind != nil {
		all = append([]Artifact{s.Artifact}, all...)
	}
	s.Artifact, err = mergeParts(all)
	clear(s.pending)
	s.pending = s.pending[:0]
	return err
}

// Finish adds up the last parts, and a warning if some are missing.
func (s *Sum) Finish() error {
	if err := s.flush(); err != nil {
		return err
	}
	if g, ok := s.Value.(*bottle.Graph); ok && s.Report != nil { // of traces only
		g.Verdict = diagnose.New(diagnose.Results{Ledger: s.Ledger, Graph: g, Contention: s.Contention})
	}
	if len(s.Missing) > 0 {
		const named = 20
		names := strings.Join(s.Missing[:min(named, len(s.Missing))], ", ")
		if more := len(s.Missing) - named; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		_, warnings := s.Sums.About(s.Value)
		*warnings = append(*warnings, fmt.Sprintf("%d of %s could not be read to the end and are in no number: %s.", len(s.Missing), format.Plural(s.Sources, "source", "sources"), names))
	}
	return nil
}
