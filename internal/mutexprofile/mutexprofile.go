// Package mutexprofile computes what the block profile and the mutex profile of the runtime have for
// locks, from the trace of the same run of a program that package instrument has built.
package mutexprofile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// Observer collects the waits for locks in a trace.
type Observer struct {
	timeline.Base
	// Waits and Wakes return the names by which waits are summed: of the call chain that waits, and
	// of the one that wakes it.
	Waits, Wakes func(*timeline.Stack) string

	parks []*park
	waits map[int64]*wait // by goroutine: the one that began last
	exits map[owner][]timeline.Time

	// The latest message of an exit, and by how much the clock of the trace is before the other one.
	latest, offset timeline.Time
}

// owner is a goroutine as the owner of a lock.
type owner struct {
	g    int64
	lock string
}

// park is the time for which a goroutine was blocked once.
type park struct {
	start, end   timeline.Time
	asked        timeline.Time // when the goroutine logged that it waits; of a later park, the start
	left         timeline.Time // when the owner that ended it began to release the lock
	waker        int64
	semaphore    string // in the lock
	reader       bool
	waits, wakes string
	of           *wait
	before       *park         // of the same wait, for the same semaphore
	again        bool          // it is in the same call of semacquire1 as the one before
	late         bool          // that call may be one that queues before all others
	since        timeline.Time // acquiretime in runtime/sema.go
}

// wait is a wait for a lock with all its parks.
type wait struct {
	lock   string
	begin  timeline.Time
	latest *park
}

// Transition implements [timeline.Observer].
func (o *Observer) Transition(t *timeline.Transition) {
	if t.State != timeline.Waiting || t.Stack == nil || t.WakerStack == nil {
		return
	}
	switch t.Wait {
	case timeline.WaitMutex, timeline.WaitRWMutexWriter, timeline.WaitRWMutexReader, timeline.WaitOnce:
		o.add(t.G.ID, &park{start: t.Start, end: t.End, waker: t.Waker.ID, semaphore: t.Stack.Frames[0].Func,
			reader: t.Wait == timeline.WaitRWMutexReader, waits: o.Waits(t.Stack), wakes: o.Wakes(t.WakerStack)})
	}
}

// add adds a park to the wait of a goroutine that began last.
func (o *Observer) add(g int64, p *park) {
	o.parks = append(o.parks, p)
	p.asked = p.start
	if p.of = o.waits[g]; p.of == nil {
		return
	}
	if p.of.latest == nil {
		p.asked = p.of.begin
	}
	if before := p.of.latest; before != nil && before.semaphore == p.semaphore {
		p.before = before
	}
	p.of.latest = p
}

// Log implements [timeline.Observer]. Package internal/waitlog documents the messages.
func (o *Observer) Log(m *timeline.Log) {
	f := strings.Fields(m.Message)
	if m.Category != "bottleneck.lock" || m.G == nil || len(f) < 3 {
		return
	}
	if o.waits == nil {
		o.waits, o.exits = map[int64]*wait{}, map[owner][]timeline.Time{}
	}
	switch f[1] {
	case "l":
		o.waits[m.G.ID] = &wait{lock: f[2], begin: m.Time}
	case "x":
		if len(f) < 6 {
			return
		}
		sent, err := strconv.ParseInt(f[2], 36, 64)
		ago, err2 := strconv.ParseInt(f[5], 36, 64)
		if err != nil || err2 != nil {
			return
		}
		of := owner{m.G.ID, f[3]}
		o.exits[of] = append(o.exits[of], o.timeOf(m.Time, sent)-timeline.Time(ago))
	}
}

// timeOf returns the time at which a message was sent, by the clock of the trace. It is in the trace
// later, by the least time that other messages near it took. The clocks differ by at most 20 ppm.
func (o *Observer) timeOf(in timeline.Time, sent int64) timeline.Time {
	off := in - timeline.Time(sent)
	if o.latest != 0 {
		off = min(off, o.offset+(in-o.latest)/50_000)
	}
	o.latest, o.offset = in, off
	return timeline.Time(sent) + off
}

// Times has the time in a profile by call chain. In Least, a wait begins when the trace has the
// goroutine as blocked, and a goroutine that was woken and blocks again asks for the semaphore anew
// whenever the trace does not show that it stays in its call of semacquire1. In Most, it stays, and
// the wait begins with its message: the runtime takes the time for the profiles in between.
type Times struct{ Least, Most map[string]time.Duration }

// Differ returns by how much a time in a profile is off what it may be.
func (t Times) Differ(by string, d time.Duration) time.Duration {
	a, b := t.Least[by], t.Most[by]
	return max(0, min(a, b)-d, d-max(a, b))
}

// Block returns the time that the block profile has, by call chain that waits. A goroutine that is
// woken and finds the semaphore taken stays in the same call of semacquire1, which the profile has
// as one.
func (o *Observer) Block() Times { return Times{o.block(false), o.block(true)} }

func (o *Observer) block(most bool) map[string]time.Duration {
	o.mutex(most)
	sum := map[string]time.Duration{}
	for _, p := range o.parks {
		from := p.start
		if most {
			from = p.asked
		}
		if p.again {
			from = p.before.end
		}
		sum[p.waits] += time.Duration(p.end - from)
	}
	return sum
}

// Mutex returns the time that the mutex profile has, by call chain that wakes. It returns in unknown
// how many goroutines each has woken whose waits are not recorded, so that their locks are unknown.
//
// A wake-up is charged as in semrelease1 of runtime/sema.go, before the runtime takes call chains
// for the profile and for the trace: when the owner leaves, by its message, or after it has woken
// another goroutine. If an owner has no message, it is the time of the wake-up in the trace. It is
// charged with the wait of the first goroutine in the queue of the semaphore, and n times the mean of
// its wait and that of the last one, for the n others; both since the wake-up before. In
// semaRoot.dequeue, "if t.waiters > 1 { t.waiters-- }" keeps n at 1 when only one goroutine remains,
// which has no others. So the wait of the last one is charged twice, and n is one too many until the
// queue is empty.
func (o *Observer) Mutex() (charged Times, unknown map[string]int) {
	charged.Least, unknown = o.mutex(false)
	charged.Most, _ = o.mutex(true)
	return charged, unknown
}

// mutex returns Most or Least of Mutex.
func (o *Observer) mutex(most bool) (charged map[string]time.Duration, unknown map[string]int) {
	type semaphore struct {
		queue  []*park
		others timeline.Time
	}
	type event struct {
		at timeline.Time
		*park
	}
	charged, unknown = map[string]time.Duration{}, map[string]int{}
	var events []event
	woke := map[int64]timeline.Time{} // by goroutine: when it last woke another one
	for _, p := range o.parks {
		if p.of == nil {
			unknown[p.wakes]++
			continue
		}
		p.left = p.end
		exits := o.exits[owner{p.waker, p.of.lock}]
		if i, _ := slices.BinarySearch(exits, p.end); i > 0 && exits[i-1] > p.start {
			p.left = max(exits[i-1], woke[p.waker])
		}
		woke[p.waker] = p.end
		begin := p.start
		if most {
			begin = p.asked
		}
		events = append(events, event{begin, p}, event{p.left, p})
	}
	slices.SortStableFunc(events, func(x, y event) int { return cmp.Compare(x.at, y.at) })
	semaphores := map[string]*semaphore{}
	for _, e := range events {
		key := e.semaphore + e.of.lock
		s := semaphores[key]
		if s == nil {
			s = &semaphore{}
			semaphores[key] = s
		}
		i := slices.Index(s.queue, e.park)
		switch left := len(s.queue); {
		case i >= 0: // it is woken
			// It was the first in the queue, also if the trace has another one's
			// park before its own.
			e.since, s.queue[0].since = s.queue[0].since, e.since
			wait, tail, n := e.at-e.since, e.at-e.since, s.others
			s.queue = slices.Delete(s.queue, i, i+1)
			if left > 1 {
				s.queue[0].since = e.at
				tail = e.at - s.queue[left-2].since
				s.queue[left-2].since = e.at
				s.others = max(1, n-1)
			}
			charged[e.wakes] += time.Duration(wait + n*(wait+tail)/2)
			continue
		case left == 0:
			s.others = 0
		default:
			s.others++
		}
		// The first call of Mutex.Lock queues behind all others, but may find a token and
		// not block. A later one, after a lost race, queues before them.
		first := len(s.queue) == 0 || e.left < s.queue[0].left
		e.since, e.late = e.at, first && !e.reader
		// In the same call, it queues as before.
		e.again = e.before != nil && (!e.late || most && (len(s.queue) == 0 || e.before.late))
		if e.again {
			e.since = e.before.since
		}
		if !e.late || len(s.queue) == 0 {
			s.queue = append(s.queue, e.park)
			continue
		}
		e.since = s.queue[0].since
		s.queue = slices.Insert(s.queue, 0, e.park)
	}
	return charged, unknown
}
