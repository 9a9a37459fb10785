package tracewaits

import (
	"cmp"
	"context"
	"fmt"
	"math"
	rtrace "runtime/trace"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// clockTie finds the offset of the clock of the log to that of the trace.
type clockTie struct {
	timeline.Base
	ahead int64
	tied  bool
}

const tieCategory = "oracle's clock"

// tie writes the clock of the log into the trace. This takes some time: the quickest of many
// counts.
func tie() {
	for range 100 {
		rtrace.Log(context.Background(), tieCategory, strconv.FormatInt(now(), 10))
	}
}

func (c *clockTie) Log(l *timeline.Log) {
	if l.Category != tieCategory {
		return
	}
	n, _ := strconv.ParseInt(l.Message, 10, 64)
	if d := n - int64(l.Time); !c.tied || d > c.ahead {
		c.ahead, c.tied = d, true
	}
}

// starts records when goroutines began to run after a wait for a lock.
type starts struct {
	timeline.Base
	of map[int64][]timeline.Time
}

func (s *starts) Transition(t *timeline.Transition) {
	if t.To == timeline.Running && t.State == timeline.Runnable && lockWait(t.Wait) {
		s.of[t.G.ID] = append(s.of[t.G.ID], t.End)
	}
}

// before returns the latest start of a goroutine at or before t.
func (s *starts) before(g string, t timeline.Time) timeline.Time {
	id, _ := strconv.ParseInt(g, 10, 64)
	of := s.of[id]
	if i, _ := slices.BinarySearch(of, t+1); i > 0 {
		return of[i-1]
	}
	return 0
}

// settle narrows a log to what is certain. Between an operation and its line in the log, the
// operating system may take the thread off the processor for milliseconds. A lock was acquired
// after the goroutine had requested it, after its predecessors had released it, and after the
// goroutine began to run. It was released before the next owner had it, and before Unlock returned.
// So the beginning and the end of a hold are set to the first and the last possible instant.
func settle(log []op, ahead int64, runs *starts) []op {
	log = slices.Clone(log)
	got, left := func(o *op) int64 { return o.got }, func(o *op) int64 { return o.left }
	var out []op
	eachLock(log, got, left, func(ops []op, _ int64) {
		var leftWriter, leftAny int64
		rw := slices.ContainsFunc(ops, func(o op) bool { return !o.write })
		for i := range ops {
			o := &ops[i]
			_, g, _ := strings.Cut(o.site, "@")
			first := max(o.request, leftWriter, int64(runs.before(g, timeline.Time(o.got-ahead)))+ahead)
			if o.write {
				first = max(first, leftAny)
				leftWriter = max(leftWriter, o.left)
			}
			leftAny = max(leftAny, o.left)
			o.got = min(o.got, first)
		}
		nextWriter, nextAny := int64(math.MaxInt64), int64(math.MaxInt64)
		for i := len(ops) - 1; i >= 0; i-- {
			o := &ops[i]
			last := min(max(o.left, o.gone), nextWriter)
			if o.write {
				if !rw { // RWMutex.Unlock admits new readers, then wakes the waiting ones, then the next writer
					last = min(last, nextAny)
				}
				nextWriter = min(nextWriter, o.got)
			}
			nextAny = min(nextAny, o.got)
			o.left = max(o.left, last)
		}
		out = append(out, ops...)
	})
	return out
}

// auditor checks every interval that is blamed on an owner against the log of that goroutine.
type auditor struct {
	holds         map[string][]op // by goroutine, in the order of time
	ofLock        map[int][]op    // likewise, by lock, as logged: what is certain
	ahead         int64
	blamed, right float64
}

func newAuditor(log, settled []op, ahead int64) *auditor {
	a := &auditor{holds: map[string][]op{}, ofLock: map[int][]op{}, ahead: ahead}
	for _, o := range settled {
		_, g, _ := strings.Cut(o.site, "@")
		a.holds[g] = append(a.holds[g], o)
	}
	for _, o := range log {
		a.ofLock[o.lock] = append(a.ofLock[o.lock], o)
	}
	for _, ops := range a.ofLock {
		slices.SortFunc(ops, func(x, y op) int { return cmp.Compare(x.got, y.got) })
	}
	for _, ops := range a.holds {
		slices.SortFunc(ops, func(x, y op) int { return cmp.Compare(x.got, y.got) })
	}
	return a
}

// waitedFor returns the lock that a goroutine waited for at an instant, or −1.
func (a *auditor) waitedFor(g *timeline.Goroutine, at int64) int {
	ops := a.holds[fmt.Sprint(g.ID)]
	next, _ := slices.BinarySearchFunc(ops, at, func(o op, at int64) int { return cmp.Compare(o.got, at) })
	for _, o := range ops[min(next, len(ops)):min(next+1, len(ops))] {
		if o.request <= at {
			return o.lock
		}
	}
	return -1
}

func (a *auditor) check(waiter *timeline.Goroutine, g int64, _ owner, from, to, ns timeline.Time) {
	share := float64(ns) / float64(to-from)
	f, t := int64(from)+a.ahead, int64(to)+a.ahead
	lock := a.waitedFor(waiter, (f+t)/2)
	a.blamed += float64(ns)
	if g == 0 { // a hand-off: the lock was free
		a.right += float64(ns)
		ops := a.ofLock[lock]
		first, _ := slices.BinarySearchFunc(ops, f, func(o op, f int64) int { return cmp.Compare(o.got, f) })
		for _, o := range ops[max(0, first-2):] {
			if o.got >= t {
				break
			}
			a.right -= float64(max(0, min(o.left, t)-max(o.got, f)))
		}
		return
	}
	ops := a.holds[fmt.Sprint(g)]
	first, _ := slices.BinarySearchFunc(ops, f, func(o op, f int64) int { return cmp.Compare(o.got, f) })
	held := f // end of the goroutine's counted holds: nested ones overlap
	for _, o := range ops[max(0, first-2):] {
		if o.got >= t {
			break
		}
		if end := min(o.left, t); end > held && o.lock == lock {
			a.right += share * float64(end-max(o.got, held))
			held = end
		}
	}
}
