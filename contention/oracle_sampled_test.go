package contention

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// Rows of hot locks are estimates with a standard error. Here it is held against the truth: how often an estimate is
// within so many standard errors of it.

// deviations are (estimate − truth) / standard error of many rows.
type deviations []float64

func (d *deviations) add(estimate, truth float64, stdErr time.Duration) {
	*d = append(*d, (estimate-truth)/float64(stdErr))
}

// within returns the share of rows that are less than so many standard errors off.
func (d deviations) within(errs float64) float64 {
	n := 0
	for _, z := range d {
		if math.Abs(z) < errs {
			n++
		}
	}
	return float64(n) / float64(len(d))
}

func (d deviations) mean(f func(z float64) float64) (s float64) {
	for _, z := range d {
		s += f(z) / float64(len(d))
	}
	return s
}

// check holds the deviations against what those of a normal distribution are: 68 % of the estimates are within one standard
// error, 95 % within two.
func (d deviations) check(t *testing.T, what string, rows int) {
	t.Helper()
	one, two := d.within(1), d.within(2)
	bias, square := d.mean(func(z float64) float64 { return z }), d.mean(func(z float64) float64 { return z * z })
	t.Logf("%s: of %d, %.1f %% are within one standard error of the truth, %.1f %% within two; on average %+.2f off, squared %.2f", what, len(d), 100*one, 100*two, bias, square)
	if len(d) != rows || one < 0.6 || one > 0.76 || two < 0.9 || two > 0.99 || math.Abs(bias) > 0.25 || square < 0.75 || square > 1.4 {
		t.Errorf("%s: of %d, want %d, %.1f %% are within one standard error, %.1f %% within two; on average %+.2f off, squared %.2f", what, len(d), rows, 100*one, 100*two, bias, square)
	}
}

// TestEstimatesAreAsGoodAsTheySay makes up waits of which the truth is known, draws some of them as a hot lock does, more and more rarely,
// with random numbers that are always the same, and has them settled. Each lock is one experiment.
func TestEstimatesAreAsGoodAsTheySay(t *testing.T) {
	collecting(t, Options{})
	const locks, waits = 300, 12_000
	s := current.Load()
	chains := []*callstack.Chain{
		s.chains().Capture(),
		s.chains().Capture(),
		s.chains().Capture(),
		s.chains().Capture(),
		s.chains().Capture(),
	}
	waiters, owners := chains[:2], chains[2:]
	name := map[string]int{}
	for i, c := range chains {
		name[fmt.Sprint(s.stack(c).Frames)] = i
	}
	type pair struct {
		lock          uint64
		waiter, owner int // of chains
	}
	truth := map[pair]float64{} // the owner −1 is all of the wait
	rng := rand.New(rand.NewPCG(3, 4))
	for range locks {
		st := new(Mutex).state()
		a := st.accountOf(s)
		at := int64(1)
		for i := range waits {
			who, parts := rng.IntN(len(waiters)), 1+rng.IntN(3)
			w := wait{account: a, chain: waiters[who], start: at}
			w.weight = st.weigh(draw{rest: 2<<(4*i/waits) - 1, random: rng.Uint32()})
			if w.weight > 0 {
				w.pinned, w.first = st.pin()
			}
			for range parts {
				by := rng.IntN(len(owners))
				from := at + 10
				at = from + 1 + int64(10_000*rng.ExpFloat64())
				truth[pair{st.info.id, who, len(waiters) + by}] += float64(at - from)
				if w.weight > 0 {
					e, c := st.next()
					e.acquired, e.released = from, at
					st.publish()
					e.complete(c, owners[by])
				}
			}
			truth[pair{st.info.id, who, -1}] += float64(at - w.start)
			if w.weight > 0 {
				w.end, w.last = at, st.seq.Load()
				a.begun.Add(1)
				a.add(&w)
			}
			at += 100
		}
	}
	p := Snapshot()
	checkConservation(t, p)
	var rows, totals, pairs deviations
	type sum struct {
		estimate, truth float64
		stdErr          time.Duration
	}
	total := map[uint64]sum{}
	for _, w := range p.Waits {
		want := truth[pair{w.Lock.ID, name[fmt.Sprint(w.Waiter.Stack.Frames)], -1}]
		rows.add(float64(w.Waited), want, w.StdErr)
		l := total[w.Lock.ID]
		total[w.Lock.ID] = sum{l.estimate + float64(w.Waited), l.truth + want, bothErrors(l.stdErr, w.StdErr)}
	}
	for _, l := range total {
		totals.add(l.estimate, l.truth, l.stdErr)
	}
	for _, q := range p.Pairs {
		pairs.add(float64(q.Blamed), truth[pair{q.Lock.ID, name[fmt.Sprint(q.Waiter.Stack.Frames)], name[fmt.Sprint(q.Owner.Stack.Frames)]}], q.StdErr)
	}
	rows.check(t, "rows", len(waiters)*locks)
	totals.check(t, "locks", locks)
	pairs.check(t, "pairs", len(waiters)*len(owners)*locks)
}

// drawn makes a lock draw one in w, a power of two, of its waits from now on, whatever they cost.
func (st *state) drawn(w uint32) {
	st.sampling.rest.Store(w - 1)
	st.sampling.began.Store(now() + int64(time.Hour)) // the period never ends
}

// TestSampledOracle counts all waits of a workload by the way, drawn or not, in the steps of oracle_bracket_test.go. What the profile says of
// all of them is off by what chance does, however busy the machine is: the variance of the estimate is that of the waits that there were.
func TestSampledOracle(t *testing.T) {
	const w = 8
	for _, wl := range []workload{workloads[0], workloads[2], workloads[len(workloads)-1]} {
		t.Run(wl.name, func(t *testing.T) {
			if err := Start(Options{}); err != nil {
				t.Fatal(err)
			}
			locks, states := wl.probedLocks()
			for _, st := range states {
				st.drawn(w)
			}
			ops := wl.runOn(locks, 100*time.Millisecond)
			p := Snapshot()
			if err := Stop(); err != nil {
				t.Fatal(err)
			}
			checkConservation(t, p)
			var n, waited, squares float64
			for _, o := range ops {
				if o.waited {
					// The profile's wait begins with the first of the steps after request. It ends with the last before
					// got, but that of a reader with the first after in.
					end := o.got
					if !o.write {
						end = o.in
					}
					y := float64(end - o.request)
					n, waited, squares = n+1, waited+y, squares+y*y
				}
			}
			var count, estimate float64
			for _, row := range p.Waits {
				if row.Flags&Estimated == 0 || row.StdErr <= 0 || row.Contentions != w*row.Observed {
					t.Errorf("not sampled: %+v", row)
				}
				count += float64(row.Contentions)
				estimate += float64(row.Waited)
			}
			if n < 20 {
				t.Skipf("%v waits", n)
			}
			zCount := (count - n) / math.Sqrt(n*(w-1))
			zTime := (estimate - waited) / math.Sqrt((w-1)*squares)
			t.Logf("%.0f waits of %.0f ms together, estimated %.0f of %.0f ms: %+.1f and %+.1f standard errors off", n, waited/1e6, count, estimate/1e6, zCount, zTime)
			// Under the race detector, to record a wait takes longer than short ones last.
			judged := !raceEnabled || wl.hold >= 50*time.Microsecond
			if math.Abs(zCount) > 6 || judged && math.Abs(zTime) > 7 {
				t.Errorf("%.0f waits of %.0f ms together, estimated %.0f of %.0f ms: %+.1f and %+.1f standard errors off", n, waited/1e6, count, estimate/1e6, zCount, zTime)
			}
			if p.Accuracy != Sampled {
				t.Errorf("accuracy %s", p.Accuracy)
			}
		})
	}
}

// TestSampledConservation: the sums of estimates are exact, too: in the profile, its growth, what is put together, and the file read back.
func TestSampledConservation(t *testing.T) {
	var file bytes.Buffer
	if err := Start(Options{Events: &file}); err != nil {
		t.Fatal(err)
	}
	var m Mutex
	var rw RWMutex
	m.state().drawn(8)
	rw.state().drawn(4)
	busy := func() {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 1000 {
					m.Lock()
					runtime.Gosched() // the others come, and have to wait
					m.Unlock()
					if i == 0 {
						rw.Lock()
						runtime.Gosched()
						rw.Unlock()
					} else {
						rw.RLock()
						runtime.Gosched()
						rw.RUnlock()
					}
				}
			})
		}
		wg.Wait()
	}
	estimates := func(p *Profile) (n int) {
		for _, w := range p.Waits {
			if w.Flags&Estimated != 0 {
				n++
			}
		}
		return n
	}
	busy()
	for range 100 { // on a busy machine, few waits may come, and none of them be drawn
		if estimates(Snapshot()) > 0 {
			break
		}
		busy()
	}
	first := Snapshot()
	for range 100 {
		busy()
		if estimates(Snapshot().Since(first)) > 0 {
			break
		}
	}
	if err := Stop(); err != nil {
		t.Fatal(err)
	}
	all := Snapshot()
	since := all.Since(first)
	read, err := ReadEvents(&file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*Profile{
		"first": first, "all": all, "since": since, "read": read, "merged": Merge(first, since), "top": all.Top(3),
	} {
		if checkConservation(t, p); estimates(p) == 0 || p.Accuracy != Sampled {
			t.Errorf("%s: %d rows are estimates, accuracy %s", name, estimates(p), p.Accuracy)
		}
	}
	want, _, _, _ := totals(all)
	for name, p := range map[string]*Profile{"read": read, "merged": Merge(first, since), "top": all.Top(3)} {
		if got, _, _, _ := totals(p); got != want {
			t.Errorf("%s: %v waited, want %v", name, got, want)
		}
	}
}
