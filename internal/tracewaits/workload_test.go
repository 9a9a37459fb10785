package tracewaits

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/monotime"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The oracle logs the request, acquisition and release of every operation on the locks of a
// workload, from outside, and computes the blame from this log alone. The profile must agree.

// now is the time in nanoseconds by the monotonic clock; never 0.
func now() int64 { return monotime.Now() | 1 }

// op is one operation as seen by its goroutine.
type op struct {
	lock               int
	site               string // the form of the chain key of its calls
	write              bool
	request, got, left int64
	gone               int64 // after the unlock; see settle

}

// anyLock is a Mutex, or an RWMutex for reading or writing.
type anyLock struct {
	id     int
	write  bool
	lock   func()
	unlock func()
}

// worker is one goroutine of a workload.
type worker struct {
	log  []op
	hold time.Duration
	// inner runs while the lock is held.
	inner func(w *worker)
	_     [64]byte // keeps the data of another worker in another cache line
}

// next makes room in the log, so that only a clock reading comes between the lines of the log and
// their operations.
func (w *worker) next(l anyLock, site string) int {
	w.log = append(w.log, op{lock: l.id, site: site, write: l.write})
	return len(w.log) - 1
}

// held is the work of a worker while it has the lock. It returns just before the release.
func (w *worker) held(i int, request int64) (left int64) {
	got := now()
	w.log[i].request, w.log[i].got = request, got
	if w.inner != nil {
		inner := w.inner
		w.inner = nil
		inner(w)
		w.inner = inner
	}
	spin(w.hold)
	return now()
}

//go:noinline
func siteA(w *worker, l anyLock) {
	i, t := w.next(l, "siteA"), now()
	l.lock()
	t = w.held(i, t)
	l.unlock()
	w.log[i].left, w.log[i].gone = t, now()
}

//go:noinline
func siteB(w *worker, l anyLock) {
	i, t := w.next(l, "siteB"), now()
	l.lock()
	t = w.held(i, t)
	l.unlock()
	w.log[i].left, w.log[i].gone = t, now()
}

//go:noinline
func siteC(w *worker, l anyLock) {
	i, t := w.next(l, "siteC"), now()
	l.lock()
	t = w.held(i, t)
	l.unlock()
	w.log[i].left, w.log[i].gone = t, now()
}

//go:noinline
func siteD(w *worker, l anyLock) {
	i, t := w.next(l, "siteD"), now()
	l.lock()
	t = w.held(i, t)
	l.unlock()
	w.log[i].left, w.log[i].gone = t, now()
}

var sites = []func(*worker, anyLock){siteA, siteB, siteC, siteD}

// siteOf finds the site in a stack.
func siteOf(s *contention.Stack) string {
	if s != nil {
		for _, f := range s.Frames {
			if i := strings.LastIndex(f.Func, ".site"); i >= 0 {
				return f.Func[i+1:]
			}
		}
	}
	return "?"
}

// blameKey is one pair of the oracle's table.
type blameKey struct {
	lock          int
	waiter, owner string
}

type blameTable map[blameKey]float64

func (t blameTable) sum() (s float64) {
	for _, v := range t {
		s += v
	}
	return s
}

// errorOf is Σ|estimate − truth| / truth.
func (t blameTable) errorOf(est blameTable) float64 {
	var d float64
	for k, v := range t {
		d += math.Abs(v - est[k])
	}
	for k, v := range est {
		if _, ok := t[k]; !ok {
			d += v
		}
	}
	return d / t.sum()
}

// truth computes the blame by cutting every wait at every event during it.
func truth(log []op) (pairs blameTable, naive blameTable, waited float64) {
	pairs, naive = blameTable{}, blameTable{}
	got, left := func(o *op) int64 { return o.got }, func(o *op) int64 { return o.left }
	eachLock(log, got, left, func(ops []op, longest int64) {
		for i := range ops {
			waited += float64(ops[i].got - ops[i].request)
			blameOne(ops, i, longest, pairs, naive)
		}
	})
	return pairs, naive, waited
}

// eachLock calls f with the operations on each lock in the order of a moment, and the maximum time
// from it to their end.
func eachLock(log []op, moment, end func(*op) int64, f func(ops []op, longest int64)) {
	byLock := map[int][]op{}
	for _, o := range log {
		byLock[o.lock] = append(byLock[o.lock], o)
	}
	for _, ops := range byLock {
		slices.SortFunc(ops, func(a, b op) int { return cmp.Compare(moment(&a), moment(&b)) })
		var longest int64
		for i := range ops {
			longest = max(longest, end(&ops[i])-ops[i].request)
		}
		f(ops, longest)
	}
}

// blameOne adds the time that ops[i] lost to the others.
func blameOne(ops []op, i int, longest int64, pairs, naive blameTable) {
	me := &ops[i]
	var near []*op // operations that may matter: those that overlap the wait
	cuts := []int64{me.request, me.got}
	var waker *op
	first, _ := slices.BinarySearchFunc(ops, me.request-longest, func(o op, at int64) int { return cmp.Compare(o.got, at) })
	for j := first; j < i; j++ { // an owner that acquired it later did not hold it during the wait
		o := &ops[j]
		if o.left <= me.request {
			continue
		}
		near = append(near, o)
		for _, t := range []int64{o.request, o.got, o.left} {
			if t > me.request && t < me.got {
				cuts = append(cuts, t)
			}
		}
		if o.left <= me.got && (waker == nil || o.left > waker.left) {
			waker = o
		}
	}
	if waker != nil {
		naive[blameKey{me.lock, me.site, waker.site}] += float64(me.got - me.request)
	}
	slices.Sort(cuts)
	for c := 1; c < len(cuts); c++ {
		from, to := cuts[c-1], cuts[c]
		var owners []*op
		writer := false
		for _, o := range near {
			if o.got <= from && o.left >= to {
				owners = append(owners, o)
				writer = writer || o.write
			}
		}
		if len(owners) == 0 {
			continue
		}
		if !writer && !me.write {
			// A reader behind readers waits only because a writer is pending: the next
			// one.
			var next *op
			for _, o := range near {
				if o.write && o.request <= from && o.got >= to && o.got <= me.got && (next == nil || o.got < next.got) {
					next = o
				}
			}
			if next == nil {
				continue
			}
			owners = append(owners, next)
		}
		for _, o := range owners {
			pairs[blameKey{me.lock, me.site, o.site}] += float64(to-from) / float64(len(owners))
		}
	}
}

// workload is one row of the error table.
type workload struct {
	name    string
	workers int
	locks   int
	hold    time.Duration
	heavy   time.Duration // hold of the first worker, if any
	think   time.Duration
	rw      float64 // share of writes on RWMutexes; 0: Mutexes
	nested  bool    // a second lock is taken inside
}

// checkConservation tests the identities that hold exactly in every profile.
func checkConservation(t testing.TB, p *contention.Profile) {
	t.Helper()
	type row struct {
		kind   string
		lock   *contention.Lock
		waiter contention.Party
		flags  uint32
	}
	blamed := map[row]time.Duration{}
	for _, q := range p.Pairs {
		blamed[row{q.Kind, q.Lock, q.Waiter, q.Flags & contention.WaiterFlags}] += q.Blamed
		if q.Blamed < 0 || q.Contentions < 0 {
			t.Errorf("negative pair %+v", q)
		}
	}
	for _, w := range p.Waits {
		if w.Waited != w.Blamed+w.HandOff+w.Unattributed {
			t.Errorf("waited %d != blamed %d + hand-off %d + unattributed %d", w.Waited, w.Blamed, w.HandOff, w.Unattributed)
		}
		if w.Waited < 0 || w.Blamed < 0 || w.HandOff < 0 || w.Unattributed < 0 || w.Contentions < w.Observed || w.Observed < 0 || w.Observed == 0 && w.Flags&contention.Estimated == 0 {
			t.Errorf("impossible row %+v", w)
		}
		k := row{w.Kind, w.Lock, w.Waiter, w.Flags}
		if blamed[k] != w.Blamed {
			t.Errorf("pairs of %s sum to %d, its wait is blamed with %d", siteOf(w.Waiter.Stack), blamed[k], w.Blamed)
		}
		delete(blamed, k)
	}
	for k, v := range blamed {
		if v != 0 {
			t.Errorf("pairs without a wait: %v %v", k, v)
		}
	}
	checkOwners(t, p)
}

func totals(p *contention.Profile) (waited, blamed, handOff, unattributed time.Duration) {
	for _, w := range p.Waits {
		waited += w.Waited
		blamed += w.Blamed
		handOff += w.HandOff
		unattributed += w.Unattributed
	}
	return
}

// spin takes about d without giving up the processor.
func spin(d time.Duration) {
	for t := time.Now(); time.Since(t) < d; {
	}
}

// together has goroutines call f for about d and returns the sum of its results per millisecond. On
// few busy processors, the end of d is noticed late.
func together(goroutines int, d time.Duration, f func() int64) float64 {
	var ops atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	began := time.Now()
	for range goroutines {
		wg.Go(func() {
			var mine int64
			for !stop.Load() {
				mine += f()
			}
			ops.Add(mine)
		})
	}
	time.Sleep(d)
	stop.Store(true)
	took := time.Since(began)
	wg.Wait()
	return float64(ops.Load()) / took.Seconds() / 1000
}

// collecting starts collection for the length of a test.
func collecting(t *testing.T, o contention.Options) {
	t.Helper()
	if err := contention.Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { contention.Stop() })
}

//go:noinline
func ownerOne(m *contention.Mutex, d time.Duration) { m.Lock(); time.Sleep(d); m.Unlock() }

//go:noinline
func ownerTwo(m *contention.Mutex, d time.Duration) { m.Lock(); time.Sleep(d); m.Unlock() }

// checkOwners checks that the activities of owners and the roots sum to the blame of the owners.
func checkOwners(t testing.TB, p *contention.Profile) {
	t.Helper()
	type waiter struct {
		kind  string
		lock  *contention.Lock
		party contention.Party
		flags uint32
	}
	waits := map[waiter]int64{}
	for _, w := range p.Waits {
		waits[waiter{w.Kind, w.Lock, w.Waiter, w.Flags}] += w.Contentions
	}
	for _, q := range p.Pairs {
		if n := waits[waiter{q.Kind, q.Lock, q.Waiter, q.Flags & contention.WaiterFlags}]; q.Contentions > n {
			t.Errorf("an owner held the lock in %d of %d waits", q.Contentions, n)
		}
		if q.Running < 0 || q.Runnable < 0 || q.Unknown() < 0 {
			t.Errorf("%v: %+v", q.Blamed, q)
		}
		left := maps.Clone(q.Blocked)
		var sum time.Duration
		for i, r := range q.Roots {
			sum += r.Blamed
			if r.Blamed <= 0 || r.Contentions < 0 || r.Contentions > q.Contentions || (r.Kind == "") != (r.Links == 0) {
				t.Errorf("root %d of %v in %d: %+v", i, q.Blamed, q.Contentions, r)
			}
			if r.Kind == "" && r.Owner != q.Owner {
				t.Errorf("the owner is %+v, itself as a root %+v", q.Owner, r.Owner)
			}
			if r.Kind != "" {
				left[r.Kind] -= r.Blamed
			}
		}
		if q.Roots != nil && sum != q.Blamed {
			t.Errorf("roots sum to %v of %v", sum, q.Blamed)
		}
		for k, d := range left {
			if d < 0 || q.Blocked[k] <= 0 {
				t.Errorf("blocked on %s for %v, %v less than the roots", k, q.Blocked[k], d)
			}
		}
	}
}

// rootsText formats the owners with their activities and roots.
func rootsText(p *contention.Profile) string {
	var b strings.Builder
	for _, q := range p.Pairs {
		fmt.Fprintf(&b, "%s %s for %s%s: %d =%s\n", q.Kind, party(q.Waiter), party(q.Owner), bracketed(contention.FlagNames(q.Flags&^contention.WaiterFlags)), us(q.Blamed), toldActivity(&q))
		for _, r := range q.Roots {
			fmt.Fprintf(&b, "  root %s: %d of %d", party(r.Owner), us(r.Blamed), r.Contentions)
			if r.Kind != "" {
				fmt.Fprintf(&b, " via %s, %d links", r.Kind, r.Links)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func toldActivity(a *contention.Wait) string {
	var b strings.Builder
	add := func(what string, d time.Duration) {
		if d != 0 {
			fmt.Fprintf(&b, " %s %d", what, us(d))
		}
	}
	add("running", a.Running)
	add("runnable", a.Runnable)
	for _, k := range a.BlockedKinds() {
		add(string(k), a.Blocked[k])
	}
	add("unknown", a.Unknown())
	return b.String()
}

func TestActivityKinds(t *testing.T) {
	if doingUnknown.kind() != "" || doingRunning.kind() != "" || doingRunnable.kind() != "" {
		t.Error("a goroutine that is not blocked waits")
	}
	for w, want := range map[timeline.Wait]string{
		timeline.WaitMutex: contention.MutexKind, timeline.WaitRWMutexWriter: contention.RWMutexWriterKind, timeline.WaitRWMutexReader: contention.RWMutexReaderKind,
		timeline.WaitCond: contention.CondKind, timeline.WaitWaitGroup: contention.WaitGroupKind, timeline.WaitOnce: contention.OnceKind,
		timeline.WaitChanSend: contention.ChanSendKind, timeline.WaitChanReceive: contention.ChanReceiveKind, timeline.WaitSelect: contention.SelectKind,
		timeline.WaitSemaphore: contention.SemaphoreKind, timeline.WaitNetwork: contention.NetworkKind, timeline.WaitSleep: contention.SleepKind, timeline.WaitGC: contention.GCKind,
		timeline.WaitSyscall: contention.SyscallKind, timeline.WaitOther: contention.OtherKind, timeline.WaitForever: contention.OtherKind, timeline.WaitRuntime: contention.OtherKind,
	} {
		if got := doingOf[w].kind(); got != want {
			t.Errorf("%v is %q, want %q", w, got, want)
		}
	}
	if int(doings-blockedOn) != len(contention.Kinds) {
		t.Errorf("%d kinds, %d names", doings-blockedOn, len(contention.Kinds))
	}
}

// checkRows checks the guarantees of every profile.
func checkRows(t *testing.T, p *contention.Profile) {
	t.Helper()
	type key struct {
		kind   string
		lock   *contention.Lock
		waiter contention.Party
		flags  uint32
	}
	blamed := map[key]time.Duration{}
	for i := range p.Pairs {
		q := &p.Pairs[i]
		blamed[key{q.Kind, q.Lock, q.Waiter, q.Flags & contention.WaiterFlags}] += q.Blamed
	}
	for i := range p.Waits {
		w := &p.Waits[i]
		if w.Waited != w.Blamed+w.HandOff+w.Unattributed || w.Waited < 0 || w.Blamed < 0 || w.HandOff < 0 || w.Unattributed < 0 {
			t.Errorf("%s: waited %v, blamed %v, hand-off %v, unattributed %v", w.Kind, w.Waited, w.Blamed, w.HandOff, w.Unattributed)
		}
		k := key{w.Kind, w.Lock, w.Waiter, w.Flags}
		if blamed[k] != w.Blamed {
			t.Errorf("%s: %v blamed, %v in pairs", w.Kind, w.Blamed, blamed[k])
		}
		delete(blamed, k)
	}
	for k, d := range blamed {
		t.Errorf("%s: %v blamed in pairs of no row", k.kind, d)
	}
	ids := map[uint64]bool{}
	for _, l := range p.Locks {
		if ids[l.ID] {
			t.Errorf("two locks with the id %d", l.ID)
		}
		ids[l.ID] = true
	}
}
