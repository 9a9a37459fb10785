package contention

import (
	"cmp"
	"context"
	"fmt"
	rtrace "runtime/trace"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// clockTie finds how much the clock of the log is ahead of that of the trace.
type clockTie struct {
	timeline.Base
	ahead int64
	tied  bool
}

const tieCategory = "oracle's clock"

// tie writes the clock of the log into the trace. Some time goes by until it is there: the
// quickest of many counts.
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

// auditor checks every stretch that is blamed on an owner against the log of that goroutine.
type auditor struct {
	holds         map[string][]op // by goroutine, in the order of time
	ofLock        map[int][]op    // likewise, by lock
	ahead         int64
	blamed, right float64
}

func newAuditor(log []op, ahead int64) *auditor {
	a := &auditor{holds: map[string][]op{}, ofLock: map[int][]op{}, ahead: ahead}
	for _, o := range log {
		_, g, _ := strings.Cut(o.site, "@")
		a.holds[g] = append(a.holds[g], o)
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

// waitedFor returns the lock that a goroutine waited for at an instant, −1 if it did not.
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
	held := f // up to which the goroutine's holds are counted: nested ones overlap
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
