package diagnose_test

import (
	"slices"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/ledger"
)

// System calls at many places are one finding, unless one place has two thirds of their time.
func TestPlacesOfOneKindAreOneFinding(t *testing.T) {
	at := func(line int) ledger.Place { return ledger.Place{Func: "main.work", File: "main.go", Line: line} }
	for _, c := range []struct {
		name  string
		times []time.Duration // by line, of 100
		title string
		where []ledger.Place
	}{
		{"even", []time.Duration{14, 12, 10}, "System calls held processors for 36% of the capacity (3 calls of 12 ns), most at main.work main.go:0 (14%) and main.work main.go:1 (12%).", []ledger.Place{at(0), at(1)}},
		{"one has most", []time.Duration{24, 4, 2}, "System calls at main.work main.go:0 held processors for 24% of the capacity (1 call of 24 ns).", []ledger.Place{at(0)}},
	} {
		l := &ledger.Ledger{Wall: 100, Procs: 1, Capacity: 100}
		var sum time.Duration
		for line, d := range c.times {
			l.Rows = append(l.Rows, ledger.Row{Category: ledger.Syscall, Group: "main.work", Site: at(line), Time: d, Count: 1})
			sum += d
		}
		l.Rows = append(l.Rows, ledger.Row{Category: ledger.Code, Group: "main.work", Time: 100 - sum, Count: 1})
		f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
		if f.Title != c.title || !slices.Equal(f.Where, c.where) {
			t.Errorf("%s: %s %v", c.name, f.Title, f.Where)
		}
	}
}
