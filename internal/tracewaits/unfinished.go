package tracewaits

import (
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The holder of a lock at the end of the trace is known in two cases:
//
//   - The goroutine is in a system call, blocked or stopped between the lines of Lock and Unlock
//     (readers.go). It has held the lock at least since then.
//   - It is the waiter that was woken last, and it continued after that Lock, in the same call of
//     the function, while another one waited in the queue all the time: its Unlock would have woken
//     that one. It has held the lock since it ran after its wait.

// unfinishedWait is a wait in progress at the end of the trace.
type unfinishedWait struct {
	g        *timeline.Goroutine
	kind     timeline.Wait
	lock     *tracedLock
	site     *callSite
	queue    queue
	from, to timeline.Time
}

// leftHolding is a goroutine that waited for locks and had not been seen to release them when the
// trace ended.
type leftHolding struct {
	g     *timeline.Goroutine
	held  []heldLock
	stack *timeline.Stack
}

// unfinished records a wait in progress at the end of the trace.
func (o *Observer) unfinished(t *timeline.Transition) {
	o.inFlight++
	kind := waitOf(t)
	if lockWait(kind) {
		o.cutOff = max(o.cutOff, t.End-t.Start)
	}
	at := o.places.of(t.Stack)
	o.waiting = append(o.waiting, unfinishedWait{g: t.G, kind: kind, lock: o.waitedFor(kind, at.site), site: at.site, queue: at.queue, from: t.Start, to: t.End})
}

// leaves records the locks that a goroutine may still hold at the end of the trace.
func (o *Observer) leaves(g *tracedGoroutine, t *timeline.Transition) {
	if t.To != timeline.NotExist && t.State != timeline.Running && t.Stack != nil && len(g.held) > 0 {
		o.left = append(o.left, leftHolding{g.g, slices.Clone(g.held), t.Stack})
	}
}

// holding is the holder of a lock, and since when at least it has held it.
type holding struct {
	by    contention.Party // no group: unknown
	since timeline.Time
}

// holderSeen returns the observed holder of the lock of an unfinished wait.
func (o *Observer) holderSeen(u *unfinishedWait) holding {
	l := u.lock.root()
	for _, s := range l.seen {
		if at := o.places.of(s.at); s.to == u.to && s.section.right > 0 && s.section.trusted() && s.g != u.g.ID && at.flags&contention.InWait == 0 {
			return holding{at.party(&s.owner), s.from}
		}
	}
	return holding{}
}

// holderWoken returns the goroutine that was woken last for a lock, if it seems to hold the lock
// still: some of the current waiters have waited since before it ran, and it has not left the code
// after its Lock.
func (o *Observer) holderWoken(l *tracedLock, waits []unfinishedWait, left map[*hold]leftHolding) holding {
	x := l.woken
	if x == nil || x.ran == 0 || x.again ||
		!slices.ContainsFunc(waits, func(u unfinishedWait) bool { return u.queue == exclusiveQueue && u.from < x.ran }) {
		return holding{}
	}
	h, ok := left[x]
	if !ok || h.g.ID != x.wokenG {
		return holding{}
	}
	at := o.places.of(h.stack)
	i := slices.IndexFunc(h.held, func(h heldLock) bool { return h.by == x })
	if at.flags&contention.InWait != 0 || !o.stillIn(&h.held[i], h.stack) {
		return holding{}
	}
	by := o.ownerAs(h.g, nil, 0)
	return holding{at.party(&by), h.held[i].at}
}

func (p *place) party(by *owner) contention.Party {
	return contention.Party{Goroutine: uint64(by.g), Group: by.group, Stack: p.site.stack}
}

// stillIn reports whether a call chain is after the Lock of a hold, in the same call of the function,
// and not after the Unlock if that is known.
func (o *Observer) stillIn(h *heldLock, now *timeline.Stack) bool {
	lock, at := h.site.frames, o.apartOf(h.site, now)
	if !at.inside || at.line <= lock[0].Line {
		return false
	}
	for _, calls := range [2]uint64{hashCalls(lock[1:]), anyCalls} {
		for _, x := range o.sections.in[sectionKey{lock[0].Func, calls}] {
			if x.first == lock[0].Line && x.last < at.line {
				return false
			}
		}
	}
	return true
}

// unfinishedRows returns rows for the waits in progress at the end of the trace, in no order.
func (o *Observer) unfinishedRows() []contention.Wait {
	type key struct {
		kind   timeline.Wait
		lock   *tracedLock
		waiter contention.Party
		holder contention.Party
	}
	byLock := map[*tracedLock][]unfinishedWait{}
	for _, u := range o.waiting {
		byLock[u.lock.root()] = append(byLock[u.lock.root()], u)
	}
	at := map[key]int{}
	var rows []contention.Wait
	left := map[*hold]leftHolding{}
	for _, h := range o.left {
		for i := range h.held {
			left[h.held[i].by] = h
		}
	}
	woken := map[*tracedLock]holding{}
	for l, waits := range byLock {
		if lockWait(waits[0].kind) && !l.several() {
			woken[l] = o.holderWoken(l, waits, left)
		}
	}
	for i := range o.waiting {
		u := &o.waiting[i]
		waited := time.Duration(o.cuts.since(u.from, u.to))
		l := u.lock.root()
		var holder holding
		if h, known := woken[l]; known {
			if holder = o.holderSeen(u); u.queue == exclusiveQueue && (holder.by.Group == "" || holder.by == h.by) {
				holder = h
			}
		}
		k := key{u.kind, l, contention.Party{Group: u.g.Func, Stack: u.site.stack}, holder.by}
		if o.opt.Goroutines {
			k.waiter.Goroutine = uint64(u.g.ID)
		}
		n, ok := at[k]
		if !ok {
			if len(rows) >= o.rows.max {
				continue
			}
			n = len(rows)
			at[k] = n
			rows = append(rows, contention.Wait{Kind: doingOf[u.kind].kind(), Lock: &contention.Lock{Name: l.named().String()}, Waiter: k.waiter, Owner: k.holder})
		}
		if k.holder.Group != "" {
			rows[n].Held = max(rows[n].Held, time.Duration(u.to-holder.since))
		}
		rows[n].Contentions++
		rows[n].Waited += waited
		rows[n].Longest = max(rows[n].Longest, waited)
	}
	return rows
}
