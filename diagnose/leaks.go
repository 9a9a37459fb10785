package diagnose

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Goroutines that never end show at the end of the trace: many of one group, started at different
// times, wait at one place, and none of the group has continued from there, as in a pool.
// Goroutines that wait for the network or a timer wait for nothing in the program.

// leak is a place where goroutines of a group wait at the end.
type leak struct {
	group           string
	place           timeline.Place
	count           int64
	waited, longest time.Duration
}

// manyLeft is the minimum number of remaining goroutines for a leak.
const manyLeft = 100

// leaks returns the finding about goroutines that do not end; false if there is none.
func (d *diagnosis) leaks() (verdict.Finding, bool) {
	if d.Contention == nil || d.Window || d.windowed() {
		return verdict.Finding{}, false
	}
	type key struct {
		group string
		place timeline.Place
	}
	left := map[key]*leak{}
	for i := range d.Contention.Unfinished {
		u := &d.Contention.Unfinished[i]
		if u.Waiter.Stack == nil || u.Kind == contention.NetworkKind || u.Kind == contention.SleepKind || u.Kind == contention.SyscallKind || u.Kind == contention.GCKind {
			continue
		}
		p := d.waitsAt(u.Waiter.Stack)
		k := key{u.Waiter.Group, p}
		if left[k] == nil {
			left[k] = &leak{group: k.group, place: p}
		}
		l := left[k]
		l.count, l.waited, l.longest = l.count+u.Contentions, l.waited+u.Waited, max(l.longest, u.Longest)
	}
	var most *leak
	for _, l := range left {
		if l.count >= manyLeft && d.leaked(l) && (most == nil || l.count > most.count || l.count == most.count && l.group < most.group) {
			most = l
		}
	}
	if most == nil {
		return verdict.Finding{}, false
	}
	f := verdict.Finding{Kind: Leak, Where: d.places(most.place)}
	all := most.count
	if b := d.boxes[most.group]; b != nil {
		all = max(all, int64(b.Goroutines))
	}
	f.Title = fmt.Sprintf("Goroutines are started and do not end: at the end, %s of %s %s waited at %s.", format.Count(most.count), format.Count(all), format.Func(most.group), short(most.place))
	f.Advice = "Find out what they wait for, and who should end it (a context, a closed channel)."
	if !d.own(most.place) { // a library started them for the program
		f.Where = append(d.places(d.servedBy(most.group).place), f.Where...)
		if strings.HasPrefix(most.group, "net/http.(*persistConn).") {
			f.Advice = cmp.Or(strings.TrimSpace(d.opened()), f.Advice)
		}
	}
	return f, true
}

// leaked reports whether the remaining goroutines were started gradually during the trace, are a
// tenth or more of their group, and wait where few others of the group have continued.
func (d *diagnosis) leaked(l *leak) bool {
	if b := d.boxes[l.group]; b == nil || l.count*10 < int64(b.Goroutines) {
		return false
	}
	if d.l.Born*10 < l.count*9 || l.waited > time.Duration(l.count)*(l.longest/10*8) {
		return false
	}
	var went int64
	for i := range d.Contention.Waits {
		w := &d.Contention.Waits[i]
		if w.Waiter.Group != l.group || w.Waiter.Stack == nil {
			continue
		}
		if d.waitsAt(w.Waiter.Stack) == l.place {
			went += w.Contentions
		}
	}
	return went*10 <= l.count
}

// waitsAt returns the place of a wait in the program's own code, or else in the library that waits.
func (d *diagnosis) waitsAt(s *contention.Stack) timeline.Place {
	p, _ := d.placeIn(s)
	if frames := framesOf(s); p == (timeline.Place{}) && len(frames) > 0 {
		p = placeOf(frames[0])
	}
	return p
}

// stuck returns a sentence about goroutines that, at the end of the trace, have waited to send or
// for a lock for as long as processors were idle because of a cause, adds the place to the finding and
// takes its gain away. It returns "" if there are none. Unlike those that wait to receive, such
// goroutines have work.
func (d *diagnosis) stuck(f *verdict.Finding, c *cause) string {
	if d.Contention == nil || d.Window || d.windowed() {
		return ""
	}
	var most *contention.Wait
	for i := range d.Contention.Unfinished {
		u := &d.Contention.Unfinished[i]
		if u.Waiter.Stack != nil && (u.Kind == contention.ChanSendKind || isLock(string(u.Kind))) && u.Longest*time.Duration(d.l.Procs) >= c.lost*9/10 && (most == nil || u.Contentions > most.Contentions) {
			most = u
		}
	}
	if most == nil {
		return ""
	}
	at := d.waitsAt(most.Waiter.Stack)
	f.Where, f.Gain, f.Basis = append(f.Where[:min(len(f.Where), 2)], d.places(at)...), 0, ""
	return fmt.Sprintf(" All that time, %s of %s waited at %s (%s), to the end: what should let them go on may never happen.", format.Plural(most.Contentions, "goroutine", "goroutines"), format.Func(most.Waiter.Group), at.String(), most.Kind)
}
