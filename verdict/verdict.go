// Package verdict holds the limits of a program as data: where the capacity of its processors went,
// and the findings. Package diagnose makes a verdict from a trace, and everything that shows a
// recording shows it. A graph that was saved as JSON has it:
//
//	package main
//
//	import (
//		"fmt"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//	)
//
//	func main() {
//		g, err := bottle.ReadJSON(os.Stdin)
//		if err != nil {
//			log.Fatal(err)
//		}
//		if v := g.Verdict; v != nil {
//			for _, f := range v.Findings {
//				fmt.Println(f.Title, f.Where)
//			}
//		}
//	}
//
// A sum of several recordings has a verdict only if it was made from their traces or ledgers.
package verdict

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Finding is a cause of lost capacity, or another remark about a program.
type Finding struct {
	// Kind is one of those that package diagnose lists.
	Kind string `json:"kind"`
	// Title is a sentence, with a number.
	Title string `json:"title"`
	// Where are places in the program's own code, the most important first.
	Where []timeline.Place `json:"where,omitempty"`
	// Advice is what to do, in a sentence or two; "" if nothing follows from the evidence.
	Advice string `json:"advice,omitempty"`
	// Lost is the capacity that it cost, in ns·processors, and Share is its part of the
	// capacity.
	Lost  time.Duration `json:"lost"`
	Share float64       `json:"share"`
	// Gain is how many times as fast the program would be at best without Lost. What runs is assumed
	// to be the same, less at most 10 µs for each wait that is saved; if goroutines could then run at
	// the same time, they have the processors that were idle for other reasons, too. It is 0 if it
	// cannot be computed; Basis then is the reason, and otherwise how Gain is computed.
	Gain  float64 `json:"gain,omitempty"`
	Basis string  `json:"basis,omitempty"`
	// Rows are the indices of the ledger rows behind it, largest first. They sum to Lost or,
	// for a program that uses its processors, to what ran.
	Rows []int `json:"rows,omitempty"`
}

// Part is a part of the capacity, for the summary.
type Part struct {
	Name  string        `json:"name"`
	Time  time.Duration `json:"time"` // ns·processors
	Share float64       `json:"share"`
}

// Verdict is what limits a program.
type Verdict struct {
	// Start is where the time of the verdict begins, from the beginning of the trace.
	Start      time.Duration `json:"start,omitempty"`
	Wall       time.Duration `json:"wall"`
	Procs      int           `json:"procs"`
	Capacity   time.Duration `json:"capacity"`
	Goroutines int           `json:"goroutines,omitempty"`
	// Focus is the group of goroutines that the verdict is about; "" for the whole program.
	Focus string `json:"focus,omitempty"`
	// Parts sum to the capacity.
	Parts []Part `json:"parts"`
	// Findings are at most five, the most costly first, after those that qualify all others.
	Findings []Finding `json:"findings"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Head describes the capacity, such as "2.25 s × 2 processors, 3 goroutines".
func (v *Verdict) Head() string {
	s := format.Capacity(v.Wall, v.Capacity, v.Procs)
	if v.Goroutines > 0 {
		s += ", " + format.Plural(v.Goroutines, "goroutine", "goroutines")
	}
	if v.Focus != "" {
		s += "; what " + format.Func(v.Focus) + " is part of"
	}
	return s
}

// Bound returns what the program would gain without the finding, or why that is unknown.
func (f *Finding) Bound() string {
	if f.Gain > 0 {
		return "at best " + format.Number(f.Gain) + " times as fast" + f.Half()
	}
	return f.Basis
}

// Half returns what half of the loss is worth, in parentheses, if nearly all was lost; else "". A
// timer that sets the pace may be shortened, but seldom to nothing.
func (f *Finding) Half() string {
	if f.Gain < 10 {
		return ""
	}
	return " (" + format.Number(2*f.Gain/(f.Gain+1)) + " times if half of that loss remains)"
}

// CheckValid returns an error if the verdict contradicts itself. Nil is valid.
func (v *Verdict) CheckValid() error {
	if v == nil {
		return nil
	}
	switch {
	case v.Start < 0 || v.Wall < 0 || v.Capacity < 0 || v.Procs < 0 || v.Goroutines < 0:
		return errors.New("verdict: a total is negative")
	case len(v.Findings) > maxRead || len(v.Parts) > maxRead:
		return errors.New("verdict: too many findings or parts")
	}
	sum := time.Duration(0)
	for _, p := range v.Parts {
		if p.Time < 0 || p.Time > v.Capacity-sum || !(p.Share >= 0 && p.Share <= 1) {
			return fmt.Errorf("verdict: part %q is not a part of the capacity", format.Clean(p.Name))
		}
		sum += p.Time
	}
	if sum != v.Capacity {
		return fmt.Errorf("verdict: the parts sum to %d ns, and the capacity is %d ns", sum, v.Capacity)
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Title == "" || !(f.Share >= 0 && f.Share <= 1) || !(f.Gain >= 0) || slices.ContainsFunc(f.Rows, func(row int) bool { return row < 0 }) {
			return fmt.Errorf("verdict: finding %d has no title, or a number out of range", i+1)
		}
	}
	return nil
}

// maxRead bounds the numbers of elements read.
const maxRead = 100

// Columns are the columns of [Verdict.Findings].
var Columns = []result.Column[Finding]{
	{Name: "lost", Title: "lost", Unit: result.Duration, Part: true, Help: "the capacity that it cost",
		Value: func(f *Finding) (result.Value, bool) { return result.Int(f.Lost), true }},
	{Name: "kind", Title: "kind", Help: "the sort of the finding",
		Value: func(f *Finding) (result.Value, bool) { return result.Str(f.Kind), true }},
	{Name: "function", Title: "function", Unit: result.Func, Help: "where in the program's own code",
		Value: result.Lists(func(f *Finding) (functions []string) {
			for _, p := range f.Where {
				functions = append(functions, p.Func)
			}
			return functions
		})},
	{Name: "gain", Title: "gain", Unit: result.Number, Help: "how many times as fast the program would be at best without it",
		Value: func(f *Finding) (result.Value, bool) { return result.Float(f.Gain), f.Gain > 0 }},
	{Name: "title", Title: "finding", Help: "the finding, as a sentence",
		Value: func(f *Finding) (result.Value, bool) { return result.Str(f.Title), true }},
}

// Table returns the findings as a table.
func (v *Verdict) Table() *result.Table { return result.New(Columns, v.Findings, v.Capacity) }
