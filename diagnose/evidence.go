package diagnose

import (
	"cmp"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Evidence is the data behind a finding.
type Evidence struct {
	Number  int             `json:"number"` // of the finding, from 1
	Finding verdict.Finding `json:"finding"`
	// Capacity is that of the ledger. Rows are the rows of the ledger that the finding is
	// about, largest first.
	Capacity time.Duration `json:"capacity"`
	Rows     []ledger.Row  `json:"rows"`
	// Blocked are the call chains that waited in these rows, longest wait first. Ran are those
	// that ran in or beside them, by share of the wall time. Ran is empty unless the graph has
	// call chains (bottle.Options.Stacks).
	Blocked []Chain `json:"blocked"`
	Ran     []Chain `json:"ran"`
	// Missing is a sentence about data that the saved results lack; "" if nothing is missing.
	Missing string `json:"missing,omitempty"`
}

// Chain is a call chain and the time that it took.
type Chain struct {
	Group string           `json:"group"`          // the name of the goroutines
	Wait  string           `json:"wait,omitempty"` // what they waited for, as in timeline.Wait
	Calls []timeline.Place `json:"calls"`          // leaf first; empty if unknown
	// Time is the sum over the goroutines. Share, for a chain that ran, is its part of the wall
	// time, as in a bottle graph.
	Time  time.Duration `json:"time"`
	Share time.Duration `json:"share,omitempty"`
	Count int64         `json:"count,omitempty"` // of waits
	// Source is the origin of a call chain that ran, as in package bottle.
	Source string `json:"source,omitempty"`
}

// Explain returns the evidence for finding number n, counted from 1, of a verdict on the same
// results. Without a ledger the evidence is only the finding.
func Explain(r Results, v *verdict.Verdict, n int) *Evidence {
	e := &Evidence{Number: n, Finding: v.Findings[n-1], Capacity: v.Capacity, Rows: []ledger.Row{}, Blocked: []Chain{}, Ran: []Chain{}}
	switch {
	case r.Ledger == nil:
		e.Missing = "The rows of the ledger and the call chains were not saved: they are in the trace."
		return e
	case r.Contention == nil && r.Graph == nil:
		e.Missing = "The call chains were not saved: they are in the trace."
	}
	for _, row := range e.Finding.Rows {
		e.Rows = append(e.Rows, r.Ledger.Rows[row])
	}
	e.addBlocked(r)
	e.addRan(r)
	return e
}

// addBlocked adds the waits that ended at the sites of rows in which a goroutine had waited.
func (e *Evidence) addBlocked(r Results) {
	if r.Contention == nil {
		return
	}
	type at struct {
		place timeline.Place
		wait  string
	}
	waited := map[at]bool{}
	for i := range e.Rows {
		if row := &e.Rows[i]; row.Wait != "" && row.Site.Func != "" {
			waited[at{row.Site, row.Wait}] = true
		}
	}
	for i := range r.Contention.Waits {
		w := &r.Contention.Waits[i]
		if w.Waiter.Stack == nil {
			continue
		}
		behind := false
		calls := make([]timeline.Place, len(w.Waiter.Stack.Frames))
		for k, f := range w.Waiter.Stack.Frames {
			calls[k] = timeline.Place{Func: f.Func, File: f.File, Line: f.Line}
			behind = behind || waited[at{calls[k], string(w.Kind)}]
		}
		if behind {
			e.Blocked = append(e.Blocked, Chain{Group: w.Waiter.Group, Wait: string(w.Kind), Calls: calls, Time: w.Waited, Count: w.Contentions})
		}
	}
	order.Stable(e.Blocked, func(a, b Chain) int { return cmp.Compare(b.Time, a.Time) })
}

// addRan adds what ran: for rows in which goroutines ran, their call chains; for rows of an empty
// processor, all call chains of the goroutines that ran beside it.
func (e *Evidence) addRan(r Results) {
	if r.Graph == nil {
		return
	}
	places := map[string]map[timeline.Place]bool{} // by group; nil is all
	for i := range e.Rows {
		switch row := &e.Rows[i]; {
		case row.Empty() && row.Beside != "" && row.Beside != ledger.None && row.Beside != ledger.Several:
			places[row.Beside] = nil
		case !row.Empty() && row.Group != "" && row.Site.Func != "":
			of, known := places[row.Group]
			if !known {
				of = map[timeline.Place]bool{}
				places[row.Group] = of
			}
			if of != nil {
				of[row.Site] = true
			}
		}
	}
	for i := range r.Graph.Boxes {
		b := &r.Graph.Boxes[i]
		of, behind := places[b.Group]
		if !behind {
			continue
		}
		for k := range b.Stacks {
			if c, ok := chainOf(b, &b.Stacks[k], of); ok {
				e.Ran = append(e.Ran, c)
			}
		}
	}
	order.Stable(e.Ran, func(a, b Chain) int { return cmp.Compare(b.Share, a.Share) })
}

// chainOf returns a call chain of a box if it contains one of the places, or if of is nil.
func chainOf(b *bottle.Box, s *bottle.Stack, of map[timeline.Place]bool) (Chain, bool) {
	c := Chain{Group: b.Group, Calls: []timeline.Place{}, Time: s.Running, Share: s.Share, Source: string(s.Source)}
	through := of == nil
	if s.Calls != nil {
		for _, f := range s.Calls.Frames {
			p := timeline.Place{Func: f.Func, File: f.File, Line: f.Line}
			c.Calls = append(c.Calls, p)
			through = through || of[p]
		}
	}
	return c, through && s.Running > 0
}
