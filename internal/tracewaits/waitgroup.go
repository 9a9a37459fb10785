package tracewaits

import (
	"cmp"
	"sort"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The goroutines that a WaitGroup waits for
//
// Of the calls of Done, only the one that ends a wait is in the trace. But Done is usually the last
// thing that a goroutine does, and its exit is in the trace. Therefore, the goroutines that exited
// during the wait, and that a goroutine that waits had started in the same call as the one that
// called Done, are taken for those that were waited for, too. Each is blamed for the time for which
// it was the last one out: from the exit before to its own, but not before its start. Of a wait for
// three goroutines that need 10, 20 and 30 ms, each has 10 ms.
//
// A goroutine that had ended a wait before, or whose go statement is unknown, is blamed alone. Time
// in which none of the known goroutines existed is Unattributed.

// startCall identifies a call of a function, by a goroutine, that starts goroutines.
type startCall struct {
	creator int64
	fn      sectionKey
}

// exited is a goroutine that exited.
type exited struct {
	coOwner           // from its start, or 0 if that is before the trace, to its exit
	started *callSite // where it was started
	// did is what it did since the exit before, its start, or the beginning of the latest wait,
	// which is usually what it is blamed for. Its past may be too long to keep.
	did   ledger
	since timeline.Time
	own   bool // nothing else needs its past
}

// exits has the goroutines that exited while the one that had started them waited for a WaitGroup.
type exits struct {
	waiting map[int64]bool // goroutines that wait for a WaitGroup
	of      map[startCall]*exitList
	spare   []*exitList // empty; kept for reuse
	kept    int
	half    timeline.Time // of the latest exits that are kept
	began   timeline.Time // the latest of the waits
	// latest is the latest result of startOf that is known, with the exits of that call, nil if there
	// are none: most goroutines that exit were started like the one before.
	latest struct {
		by   *timeline.Creator
		call startCall
		at   *callSite
		list *exitList
	}
}

// exitList has the exits of the goroutines that one call started.
type exitList struct{ exited []exited }

// maxExits bounds the exits that are kept. The time of those that are forgotten belongs to others
// that exit later.
const maxExits = 1 << 13

// errgroupMethods is the prefix of functions that start goroutines on behalf of their caller.
const errgroupMethods = "golang.org/x/sync/errgroup.(*Group)."

// startOf returns the call that started a goroutine, and the call chain; nil if it is unknown.
func (o *Observer) startOf(g *timeline.Goroutine) (startCall, *callSite) {
	if g.By == nil || g.By.ID == 0 {
		return startCall{}, nil
	}
	latest := &o.exits.latest
	if latest.by == g.By {
		return latest.call, latest.at
	}
	at := o.places.of(g.By.Stack)
	f := at.site.frames
	for len(f) > 1 && strings.HasPrefix(f[0].Func, errgroupMethods) {
		f = f[1:]
	}
	if len(f) == 0 {
		return startCall{}, nil
	}
	call := startCall{g.By.ID, sectionKey{f[0].Func, hashCalls(f[1:])}}
	if at != o.places.dropped {
		latest.by, latest.call, latest.at, latest.list = g.By, call, at.site, o.exits.of[call]
	}
	return call, at.site
}

func (o *Observer) exit(g *tracedGoroutine, t timeline.Time) {
	x := &o.exits
	if g.g.By == nil || !x.waiting[g.g.By.ID] {
		return
	}
	call, at := o.startOf(g.g)
	if at == nil {
		return
	}
	known := x.latest.by == g.g.By // startOf has just found it
	list, from := x.latest.list, max(g.born(), x.began)
	if !known {
		list = x.of[call]
	}
	if list == nil {
		if n := len(x.spare); n > 0 {
			list, x.spare = x.spare[n-1], x.spare[:n-1]
		} else {
			list = &exitList{}
		}
		x.of[call] = list
	} else if n := len(list.exited); n > 0 {
		from = max(from, list.exited[n-1].to)
	}
	if known {
		x.latest.list = list
	}
	by := coOwner{owner: o.ownerAs(g.g, nil, 0), g: g.g.ID, past: o.pastOf(g), from: g.born(), to: t}
	list.exited = append(list.exited, exited{by, at, by.past.between(from, t), from, !g.shown})
	g.shown = true
	switch x.kept++; x.kept {
	case maxExits / 2:
		x.half = t
	case maxExits:
		x.forget(x.half)
		x.half = t
	}
}

// forget drops the exits up to t.
func (x *exits) forget(t timeline.Time) {
	x.kept = 0
	x.latest.by = nil
	for call, list := range x.of {
		if list.exited = append([]exited(nil), list.since(t)...); len(list.exited) == 0 {
			delete(x.of, call)
		}
		x.kept += len(list.exited)
	}
}

// forgetExits drops all exits. It keeps memory for reuse.
func (o *Observer) forgetExits() {
	x := &o.exits
	x.latest.list = nil
	for _, list := range x.of {
		for i := range list.exited {
			if e := &list.exited[i]; e.own && e.past != nil && len(o.sparePasts) < maxSpare {
				e.past.reset()
				o.sparePasts = append(o.sparePasts, e.past)
			}
		}
		if clear(list.exited); len(list.exited) <= maxSpare && len(x.spare) < 16 {
			list.exited = list.exited[:0]
			x.spare = append(x.spare, list)
		}
	}
	clear(x.of)
	x.kept = 0
}

// since returns the exits after t; none if l is nil.
func (l *exitList) since(t timeline.Time) []exited {
	if l == nil {
		return nil
	}
	return l.exited[sort.Search(len(l.exited), func(i int) bool { return l.exited[i].to > t }):]
}

// waitsForGroup notes that g begins to wait for a WaitGroup, or no longer does.
func (o *Observer) waitsForGroup(g *tracedGoroutine, waits bool, t timeline.Time) {
	x := &o.exits
	switch {
	case g.inGroup == waits:
		return
	case waits:
		x.waiting[g.g.ID] = true
		x.began = t
	default:
		if delete(x.waiting, g.g.ID); len(x.waiting) == 0 {
			o.forgetExits()
		}
	}
	g.inGroup = waits
}

// blameGroup divides the last part of a wait for a WaitGroup among the goroutines that it waited
// for.
func (o *Observer) blameGroup(g, waker *tracedGoroutine, t *timeline.Transition, by owner, waited timeline.Time) {
	var list []exited
	start := t.End - waited
	if call, at := o.startOf(waker.g); at != nil {
		at.done = by.site
		if before := waker.locks().done; before == 0 || before > t.Start {
			list = o.exits.of[call].since(start)
		}
		waker.done = t.End
	}
	spans := o.cutRoom.spans[:0]
	var open []stretch // blamed on no goroutine so far
	last := func(by *coOwner, did *ledger, since timeline.Time) {
		open = append(open, stretch{start, by.to})
		start = by.to
		for i := len(open) - 1; i >= 0 && open[i].end > by.from; i-- {
			from := max(open[i].start, by.from)
			piece := heldSpan{from: from, to: open[i].end, what: blamedSpan, holder: by}
			if from == since && piece.to == by.to && did != nil {
				piece.did = did
			} else {
				d := by.past.between(from, piece.to)
				piece.did = &d
			}
			spans = append(spans, piece)
			if open[i].end = from; from > open[i].start {
				break
			}
			open = open[:i]
		}
	}
	for i := range list {
		e := &list[i]
		if e.owner.site = e.started.done; e.owner.site == nil {
			e.owner.site = cmp.Or(o.places.site([]*timeline.Frame{{Func: e.owner.group}}), restSite)
		}
		last(&e.coOwner, &e.did, e.since)
	}
	last(&coOwner{owner: by, g: waker.g.ID, past: o.pastOf(waker), from: waker.born(), to: t.End}, nil, 0)
	order.Stable(spans, func(a, b heldSpan) int { return cmp.Compare(a.from, b.from) })
	o.cutRoom.spans = spans
	c := cutter{o: o, g: g, w: g.wait, start: t.End - waited, at: t.End, placed: o.roots()}
	c.divide(func() { c.stretch(spans) })
}
