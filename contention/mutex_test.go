//lint:file-ignore SA2001 empty critical sections are what is tested

package contention

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/race"
)

func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(Mutex{}); n > 24 {
		t.Errorf("Mutex is %d bytes", n)
	}
	if n := unsafe.Sizeof(RWMutex{}); n > 40 {
		t.Errorf("RWMutex is %d bytes", n)
	}
}

// collecting starts collection for the length of a test.
func collecting(t *testing.T, o Options) {
	t.Helper()
	if err := Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Stop() })
}

// waitFor polls until the condition holds; a test that hangs here has failed.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("timeout: ", what)
		}
	}
}

func (t *tracker[L]) registered() int { return int(t.waiters.Load()) }

type cache struct{ mu Mutex }

func (c *cache) get() {
	c.mu.Lock()
	defer c.mu.Unlock()
}

func TestUncontendedLeavesNoTrace(t *testing.T) {
	collecting(t, Options{})
	var m Mutex
	var rw RWMutex
	for range 100 {
		m.Lock()
		m.Unlock()
		rw.Lock()
		rw.Unlock()
		rw.RLock()
		rw.RLock()
		rw.RUnlock()
		rw.RUnlock()
	}
	if m.st.Load() != nil || rw.st.Load() != nil {
		t.Error("a lock without waits has state")
	}
	if p := Snapshot(); len(p.Waits) != 0 || len(p.Locks) != 0 {
		t.Errorf("profile has rows: %+v", p)
	}
}

func TestOffRecordsNothing(t *testing.T) {
	var m Mutex
	contend(t, &m, nil)
	if m.st.Load() != nil {
		t.Error("a lock has state although collection is off")
	}
}

// contend makes one goroutine wait for m until another one unlocks it, and calls during, if not
// nil, in that time.
func contend(t *testing.T, m *Mutex, during func()) {
	t.Helper()
	m.Lock()
	done := make(chan bool)
	go func() {
		c := m
		c.Lock()
		c.Unlock()
		close(done)
	}()
	if current.Load() != nil {
		waitFor(t, "the waiter", func() bool { return m.registered() > 0 })
	} else {
		time.Sleep(time.Millisecond)
	}
	if during != nil {
		during()
	}
	m.Unlock()
	<-done
}

func TestOneWait(t *testing.T) {
	collecting(t, Options{Goroutines: true})
	var m Mutex
	m.SetName("the lock")
	const hold = 20 * time.Millisecond
	contend(t, &m, func() { time.Sleep(hold) })

	p := Snapshot()
	checkConservation(t, p)
	if len(p.Waits) != 1 || len(p.Pairs) != 1 || len(p.Locks) != 1 {
		t.Fatalf("want one row each, got %+v", p)
	}
	w, q := p.Waits[0], p.Pairs[0]
	if w.Kind != MutexKind || w.Contentions != 1 || w.Observed != 1 || w.Lock.Name != "the lock" || w.Lock.Waiters != 1 {
		t.Errorf("wait is %+v of %+v", w, w.Lock)
	}
	if q.Blamed < hold || w.Waited < q.Blamed || w.Longest != w.Waited || w.Lock.Longest != w.Waited || q.Longest != q.Blamed {
		t.Errorf("waited %v, blamed %v", w.Waited, q.Blamed)
	}
	if f := w.Waiter.Stack.Frames[0].Func; !strings.HasSuffix(f, "contend.func1") || w.Waiter.Group != f {
		t.Errorf("waiter is %s of group %s", f, w.Waiter.Group)
	}
	if f := q.Owner.Stack.Frames[0].Func; !strings.HasSuffix(f, ".contend") || !strings.HasSuffix(q.Owner.Group, ".TestOneWait") {
		t.Errorf("owner is %s of group %s", f, q.Owner.Group)
	}
	if haveIDs := w.Waiter.Goroutine != 0; haveIDs && w.Waiter.Goroutine == q.Owner.Goroutine {
		t.Errorf("waiter and owner are both goroutine %d", q.Owner.Goroutine)
	}
	if p.Accuracy != Exact || p.Source != FromWrappers || p.InFlight != 0 || len(p.Warnings) != 0 {
		t.Errorf("%s, %s, %d in flight, %q", p.Accuracy, p.Source, p.InFlight, p.Warnings)
	}
}

func TestSplitAmongOwners(t *testing.T) {
	collecting(t, Options{Exact: true})
	var m Mutex
	m.Lock()
	var wg sync.WaitGroup
	queued := 0
	queue := func(f func(m *Mutex)) {
		queued++
		wg.Go(func() { f(&m) })
		waitFor(t, "a waiter", func() bool { return m.registered() == queued })
		time.Sleep(2 * time.Millisecond) // until it sleeps: sleepers queue first in, first out
	}
	queue(func(m *Mutex) { ownerOne(m, 10*time.Millisecond) })
	queue(func(m *Mutex) { ownerTwo(m, 30*time.Millisecond) })
	queue(func(m *Mutex) { victim(m) })
	time.Sleep(5 * time.Millisecond)
	m.Unlock()
	wg.Wait()

	p := Snapshot()
	checkConservation(t, p)
	blamed := map[string]time.Duration{}
	for _, q := range p.Pairs {
		if strings.HasSuffix(q.Waiter.Stack.Frames[0].Func, ".victim") {
			f := q.Owner.Stack.Frames[0].Func
			blamed[f[strings.LastIndexByte(f, '.')+1:]] += q.Blamed
		}
	}
	for name, least := range map[string]time.Duration{"TestSplitAmongOwners": 5, "ownerOne": 10, "ownerTwo": 30} {
		if got := blamed[name]; got < least*time.Millisecond {
			t.Errorf("%s is blamed for %v, held the lock for %d ms: %v", name, got, least, blamed)
		}
	}
}

//go:noinline
func ownerOne(m *Mutex, d time.Duration) { m.Lock(); time.Sleep(d); m.Unlock() }

//go:noinline
func ownerTwo(m *Mutex, d time.Duration) { m.Lock(); time.Sleep(d); m.Unlock() }

//go:noinline
func victim(m *Mutex) { m.Lock(); m.Unlock() }

// An owner that overtakes the waiters with TryLock is blamed from then on, not for the time
// before.
func TestBargingOwner(t *testing.T) {
	collecting(t, Options{Exact: true})
	var m Mutex
	m.register(now()) // as before a wait
	m.state().accountOf(current.Load())
	m.state().pin()
	if !m.TryLock() {
		t.Fatal("TryLock of a free lock failed")
	}
	if m.st.Load().since == 0 {
		t.Error("TryLock with a waiter did not record the time")
	}
	m.Unlock()
	m.Lock()
	if m.st.Load().since == 0 {
		t.Error("Lock with a waiter did not record the time")
	}
	if m.TryLock() {
		t.Error("TryLock of a locked lock succeeded")
	}
	m.Unlock()
	if n := m.st.Load().seq.Load() + m.st.Load().extended.Load(); n != 2 {
		t.Errorf("%d exits, want 2", n)
	}
}

func TestUnlockElsewhereDeferredAndInPanic(t *testing.T) {
	collecting(t, Options{Exact: true})
	var m Mutex
	done := make(chan bool)
	wait := func() {
		go func() { victim(&m); done <- true }()
		waitFor(t, "the waiter", func() bool { return m.registered() > 0 })
	}
	m.Lock()
	wait()
	go otherUnlocks(&m)
	<-done
	func() {
		m.Lock()
		defer m.Unlock()
		wait()
	}()
	<-done
	func() {
		defer func() { recover() }()
		m.Lock()
		defer m.Unlock()
		wait()
		panic("while locked")
	}()
	<-done
	p := Snapshot()
	checkConservation(t, p)
	var owners []string
	for _, q := range p.Pairs {
		f := q.Owner.Stack.Frames[0].Func
		if strings.HasPrefix(f, "runtime.") { // gopanic runs deferred calls
			f = q.Owner.Stack.Frames[1].Func
		}
		owners = append(owners, f)
	}
	all := strings.Join(owners, " ")
	for _, want := range []string{"otherUnlocks", "InPanic.func2", "InPanic.func3"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not among the owners %q", want, owners)
		}
	}
	if m.registered() != 0 {
		t.Errorf("%d waiters left", m.registered())
	}
}

func otherUnlocks(m *Mutex) { m.Unlock() }

func TestNewRemembersItsCaller(t *testing.T) {
	collecting(t, Options{})
	m := NewMutex("made")
	contend(t, m, nil)
	c := new(cache)
	c.mu.Lock()
	go c.get()
	waitFor(t, "the waiter", func() bool { return c.mu.registered() > 0 })
	c.mu.Unlock()
	waitFor(t, "the end", func() bool { return c.mu.registered() == 0 })
	p := Snapshot()
	if len(p.Locks) != 2 {
		t.Fatalf("%d locks", len(p.Locks))
	}
	a, b := p.Locks[0], p.Locks[1]
	if a.Name != "made" || a.Created == nil || !strings.Contains(a.Class, "contention.TestNewRemembersItsCaller:") {
		t.Errorf("lock from NewMutex: %+v", a)
	}
	if b.Name != "" || b.Created != nil || b.Class != "github.com/bottleneck-go/bottleneck/contention.cache" {
		t.Errorf("zero-value lock: %+v", b)
	}
}

// A lock without a name is named after the type whose method waits for it, whichever goroutine
// unlocks it. The picture shows it between the waiter and the owner.
func TestLocksAreNamedByTheirTypeNotTheUnlocker(t *testing.T) {
	collecting(t, Options{})
	c := new(cache)
	c.mu.Lock()
	done := make(chan bool)
	go func() {
		c.get()
		close(done)
	}()
	waitFor(t, "the waiter", func() bool { return c.mu.registered() > 0 })
	time.Sleep(time.Millisecond)
	otherUnlocks(&c.mu)
	<-done
	p := Snapshot()
	if len(p.Locks) != 1 || p.Locks[0].Title() != pkgPath+"cache" {
		t.Fatalf("%+v", p.Locks)
	}
	seen := false
	for stack := range p.Samples(JoinedView) {
		var text []string
		for _, f := range stack {
			text = append(text, f.Func)
		}
		i := slices.Index(text, "[lock] "+pkgPath+"cache")
		if i < 1 || text[i-1] != pkgPath+"(*cache).get" {
			t.Errorf("the picture shows %q", text)
		} else if text[i+1] == heldByKey {
			seen = seen || text[i+2] == pkgPath+"otherUnlocks"
		}
	}
	if !seen {
		t.Error("the picture does not show who unlocked it")
	}
}

const pkgPath = "github.com/bottleneck-go/bottleneck/contention."

// The total of the waits agrees with /sync/mutex/wait/total of the runtime, which samples one
// in eight goroutine state changes and counts it eightfold. The standard error of its total is
// the root of 7 Σ w² over the waits w, which for n equal waits is √(7/n) of the total, here
// 2.6 %. On a busy machine a few rounds have most of the waiting, so each round counts with its
// duration.
func TestTotalAgreesWithTheRuntimesMetric(t *testing.T) {
	for name, oneIn := range map[string]uint32{"all waits recorded": 1, "one in 8": 8} {
		t.Run(name, func(t *testing.T) { compareWithTheRuntime(t, oneIn) })
	}
}

func compareWithTheRuntime(t *testing.T, oneIn uint32) {
	const rounds, waiters = 100, 100
	collecting(t, Options{})
	total := func() time.Duration {
		s := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
		metrics.Read(s)
		return time.Duration(s[0].Value.Float64() * float64(time.Second))
	}
	before := total()
	var m Mutex
	m.state().drawn(oneIn)
	var sum, squares float64 // of the durations of rounds
	for range rounds {
		begin := time.Now()
		m.Lock()
		var wg sync.WaitGroup
		var arrived atomic.Int32
		for range waiters {
			wg.Go(func() {
				arrived.Add(1)
				m.Lock()
				m.Unlock() //lint:ignore SA2001 it waits
			})
		}
		waitFor(t, "the waiters", func() bool { return arrived.Load() == waiters })
		time.Sleep(2 * time.Millisecond)
		m.Unlock()
		wg.Wait()
		d := time.Since(begin).Seconds()
		sum += d
		squares += d * d
	}
	want := total() - before
	p := Snapshot()
	checkConservation(t, p)
	got, _, _, _ := totals(p)
	ratio := float64(want) / float64(got)
	// Where they end one after the other, the mean square of waits is 4/3 of the square of their mean.
	deviation := math.Sqrt(7*4/3.0*squares/waiters) / sum
	t.Logf("waited %v; the runtime has %.3f of it, with a standard error of %.3f", got, ratio, deviation)
	over := 0.05 + 6*deviation
	if race.Enabled {
		over += 0.5 // the race detector makes waits for the lock of an account long, which only the runtime counts
	}
	if ratio < 0.95-6*deviation || ratio > 1+over {
		t.Errorf("waited %v, the runtime has %v", got, want)
	}
	if sampled := p.Accuracy == Sampled; sampled != (oneIn > 1) {
		t.Errorf("accuracy %s", p.Accuracy)
	}
}

// With very little memory, all time is still accounted for.
func TestBoundedMemory(t *testing.T) {
	collecting(t, Options{Exact: true, MaxChains: 3, MaxLocks: 2, MaxPairs: 4})
	var locks [5]Mutex
	for i := range locks {
		for range 3 {
			contend(t, &locks[i], nil)
		}
		m := &locks[i]
		m.Lock()
		go victim(m)
		waitFor(t, "the waiter", func() bool { return m.registered() > 0 })
		m.Unlock()
		waitFor(t, "the end", func() bool { return m.registered() == 0 })
	}
	waitFor(t, "the last wait to be settled", func() bool { return Snapshot().InFlight == 0 })
	p := Snapshot()
	checkConservation(t, p)
	if len(p.Locks) != 3 || p.Dropped.Locks != 3 || p.Locks[2].Name != otherLocks {
		t.Errorf("%d locks, %d dropped", len(p.Locks), p.Dropped.Locks)
	}
	if p.Dropped.Chains == 0 || p.Dropped.Pairs == 0 {
		t.Errorf("dropped %+v", p.Dropped)
	}
	var n int64
	for _, w := range p.Waits {
		n += w.Contentions
	}
	if n != 20 {
		t.Errorf("%d contentions, want 20", n)
	}
	if len(p.Warnings) != 3 {
		t.Errorf("warnings %q", p.Warnings)
	}
}

func TestStartStop(t *testing.T) {
	if err := Stop(); err != ErrNotStarted {
		t.Errorf("Stop without Start: %v", err)
	}
	collecting(t, Options{})
	if err := Start(Options{}); err != ErrStarted {
		t.Errorf("Start twice: %v", err)
	}
	var m Mutex
	m.Lock()
	done := make(chan bool)
	go func() { victim(&m); close(done) }()
	// A waiter registers before it is counted.
	waitFor(t, "the waiter", func() bool { return Snapshot().InFlight > 0 })
	if p := Snapshot(); p.InFlight != 1 || len(p.Waits) != 0 {
		t.Errorf("during the wait: %d in flight, %d rows", p.InFlight, len(p.Waits))
	}
	if err := Stop(); err != nil {
		t.Error(err)
	}
	m.Unlock()
	<-done
	waitFor(t, "the wait to be settled", func() bool { return Snapshot().InFlight == 0 })
	if p := Snapshot(); len(p.Waits) != 1 {
		t.Errorf("after Stop: %d rows, want the wait that began before", len(p.Waits))
	}
	collecting(t, Options{})
	if p := Snapshot(); len(p.Waits) != 0 {
		t.Error("Start did not forget the last collection")
	}
}

// Snapshot, Start and Stop at any time, under load.
func TestSnapshotUnderLoad(t *testing.T) {
	var m Mutex
	var rw RWMutex
	stop := make(chan bool)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				m.Lock()
				work(200)
				m.Unlock()
				rw.RLock()
				work(200)
				rw.RUnlock()
				rw.Lock()
				rw.Unlock()
				runtime.Gosched()
			}
		})
	}
	wg.Go(func() { // also while it starts and stops
		for {
			select {
			case <-stop:
				return
			default:
				checkConservation(t, Snapshot())
				runtime.Gosched()
			}
		}
	})
	for i := range 10 {
		if err := Start(Options{Exact: i%2 == 0, Goroutines: i%3 == 0}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(2 * time.Millisecond)
			checkConservation(t, Snapshot())
		}
		if err := Stop(); err != nil {
			t.Fatal(err)
		}
		checkConservation(t, Snapshot())
	}
	close(stop)
	wg.Wait()
	if m.registered() != 0 || rw.registered() != 0 {
		t.Errorf("waiters left: %d, %d", m.registered(), rw.registered())
	}
	if p := Snapshot(); p.InFlight != 0 {
		t.Errorf("%d in flight", p.InFlight)
	}
}

// With very many call chains, those that do not fit are counted, and no time is lost.
func TestManyCallChains(t *testing.T) {
	collecting(t, Options{Exact: true, MaxChains: 100, MaxPairs: 50})
	var m Mutex
	const n = 400
	for i := range n {
		m.Lock()
		done := make(chan bool)
		go func() { recurse(i%200, func() { m.Lock(); m.Unlock() }); close(done) }()
		waitFor(t, "the waiter", func() bool { return m.registered() > 0 })
		m.Unlock()
		<-done
	}
	p := Snapshot()
	checkConservation(t, p)
	var contentions int64
	for _, w := range p.Waits {
		contentions += w.Contentions
	}
	if contentions != n || len(p.Waits)+len(p.Pairs) > 102 || p.Dropped.Chains == 0 || p.Dropped.Pairs == 0 {
		t.Errorf("%d contentions, %d+%d rows, dropped %+v", contentions, len(p.Waits), len(p.Pairs), p.Dropped)
	}
}

//go:noinline
func recurse(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	recurse(n-1, f)
	runtime.KeepAlive(f)
}

// box has a lock that a New function made, as the fields of a type may.
type box struct{ mu *Mutex }

func (b *box) get() {
	b.mu.Lock()
	defer b.mu.Unlock()
}

// TestClass: locks are grouped by the type whose method waited and by the place that made them.
func TestClass(t *testing.T) {
	collecting(t, Options{Exact: true})
	var boxes []*box
	for range 2 {
		boxes = append(boxes, &box{NewMutex("")})
	}
	boxes = append(boxes, &box{NewMutex("")})
	lone := NewMutex("")
	for i, get := range []func(){boxes[0].get, boxes[1].get, boxes[2].get, func() { lone.Lock(); lone.Unlock() }} {
		m := lone
		if i < len(boxes) {
			m = boxes[i].mu
		}
		m.Lock()
		done := make(chan bool)
		go func() { get(); close(done) }()
		waitFor(t, "a goroutine to wait", func() bool { return m.registered() == 1 })
		m.Unlock()
		<-done
	}
	tree, err := Snapshot().Aggregate(ByClass)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range tree.Children {
		got = append(got, fmt.Sprint(c.Key[strings.LastIndexByte(c.Key, '/')+1:], " ", c.Contentions))
	}
	slices.Sort(got)
	_, _, line, _ := runtime.Caller(0)
	want := fmt.Sprintf("[contention.TestClass:%d 1 contention.box (TestClass:%d) 2 contention.box (TestClass:%d) 1]", line-22, line-25, line-23)
	if fmt.Sprint(got) != want {
		t.Errorf("%v\nwant %s", got, want)
	}
}
