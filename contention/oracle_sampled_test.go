package contention

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// Rows of sampled locks are estimates. Here, waits with known blame go through the sampler, and the
// profile is compared with the truth.

// replayed is one wait of a log, and the time that it lost to each owner.
type replayed struct {
	waiter int
	took   int64
	lost   [owners]int64
}

const owners = 4

// replays returns waits of programs: from logs, and generated.
func replays(t *testing.T) map[string][]replayed {
	all := map[string][]replayed{}
	for _, name := range []string{"10µs-64", "2µs-64", "2µs-8"} {
		for range 8 { // the logs are short
			all[name] = append(all[name], readReplay(t, name)...)
		}
	}
	rng := rand.New(rand.NewPCG(7, 8))
	made := func(name string, n int, took func(i int) float64) {
		for i := range n {
			r := replayed{waiter: rng.IntN(owners), took: int64(took(i))}
			left := r.took
			for left > 0 { // longer waits have more owners; the waiter's number makes one of them likely
				by := rng.IntN(owners)
				if rng.IntN(3) == 0 {
					by = r.waiter
				}
				part := min(left, 1+int64(20_000*rng.ExpFloat64()))
				r.lost[by] += part
				left -= part
			}
			all[name] = append(all[name], r)
		}
	}
	made("exponential", 12_000, func(int) float64 { return 10_000 * rng.ExpFloat64() })
	made("heavy tail", 12_000, func(int) float64 { return min(1e9, 2000/math.Pow(rng.Float64(), 1/1.1)) })
	made("short, and rarely starving", 12_000, func(int) float64 {
		if rng.IntN(200) == 0 {
			return 1e6 + 20e6*rng.ExpFloat64()
		}
		return 500 * rng.ExpFloat64()
	})
	made("starving", 4000, func(int) float64 { return float64(leastLong) + 10e6*rng.ExpFloat64() })
	made("more and more", 12_000, func(i int) float64 { return float64(i) * 10 * rng.ExpFloat64() })
	return all
}

// readReplay reads waits of a program with 64 or 8 goroutines that hold a lock for 10 or 2 µs,
// logged outside the lock: the waiter, the length of the wait, and the time lost to each of four
// owners.
func readReplay(t *testing.T, name string) (rs []replayed) {
	b, err := os.ReadFile("testdata/waits-" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var r replayed
		if _, err := fmt.Sscan(line, &r.waiter, &r.took, &r.lost[0], &r.lost[1], &r.lost[2], &r.lost[3]); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		rs = append(rs, r)
	}
	return rs
}

// TestSampledIntervalsContainTheTruth replays waits 32 times, each time with other random
// numbers, which are the same in every test. Totals are exact in all replays. The 95 % intervals
// of the time that waiters lost to owners contain the truth in at least 90 %, unless the profile
// warns that too few waits were recorded. The mean of the estimates is the truth, except for what
// the profile marks as not sampled.
func TestSampledIntervalsContainTheTruth(t *testing.T) {
	runs := 32 / min(race.Slowdown, 3)
	collecting(t, Options{})
	var chains [owners]*callstack.Chain
	for i := range chains {
		chains[i] = callstack.NewChain([]callstack.Frame{{Func: "f" + strconv.Itoa(i)}}, false)
	}
	for name, waits := range replays(t) {
		for _, w := range testenv.Some([]uint32{4, 32}) {
			rng := rand.New(rand.NewPCG(uint64(len(waits)), uint64(w)))
			held, stated, unknown := 0, 0, 0
			var estimates, squares [owners]float64
			var missing float64
			var truth [owners]float64
			for run := range runs {
				st := new(Mutex).state()
				a := newSession(Options{}, now()).newAccount(st.info, false)
				st.account.Store(a)
				st.sampling.began.Store(now() + int64(time.Hour)) // the period never ends
				var total int64
				at := int64(1)
				for _, r := range waits {
					total += r.took
					wait := wait{account: a, chain: chains[r.waiter], start: at, end: at + r.took, weight: 1, count: 1}
					if run == 0 {
						for by, ns := range r.lost {
							truth[by] += float64(ns)
						}
					}
					if (draw{rest: w - 1, random: rng.Uint32()}).passed() {
						if r.took < leastLong {
							a.timed(&wait)
						} else {
							a.timedLong(&wait)
						}
						continue
					}
					var owners []holder
					from := at
					for by, ns := range r.lost {
						owners = append(owners, holder{acquired: from, released: from + ns, chain: chains[by]})
						from += ns
					}
					a.represent(&wait)
					a.begun.Add(1)
					a.bookBehind(&wait, owners...)
				}
				p := &Profile{Accuracy: Exact}
				a.copyTo(p)
				checkConservation(t, p)
				waited, _, _, _ := totals(p)
				var n int64
				for _, row := range p.Waits {
					n += row.Contentions
				}
				if int64(waited) != total || n != int64(len(waits)) {
					t.Fatalf("%s: %d waits of %d ns, want %d of %d", name, n, waited, len(waits), total)
				}
				checkLong(t, name, waits, p)
				var observed int64
				for _, row := range p.Waits {
					observed += row.Observed
					missing += float64(row.Unattributed) / float64(runs)
				}
				for by := range owners {
					var estimate, stdErr time.Duration
					for _, q := range p.Pairs {
						if q.Owner.Stack.Frames[0].Func == "f"+strconv.Itoa(by) {
							estimate += q.Blamed
							stdErr = bothErrors(stdErr, q.StdErr)
						}
					}
					z := float64(estimate) - truth[by]
					estimates[by] += float64(estimate) / float64(runs)
					squares[by] += z * z / float64(runs)
					if observed < fewDrawn {
						unknown++
						continue
					}
					stated++
					if math.Abs(z) <= 1.96*float64(stdErr) {
						held++
					}
				}
			}
			for by := range owners {
				bias := (estimates[by] - truth[by]) / truth[by]
				t.Logf("%s, 1 in %d, owner %d: mean of the estimates %+.1f %% off, each by %.1f %%, %.1f %% are not sampled", name, w, by, 100*bias, 100*math.Sqrt(squares[by])/truth[by], 100*missing/truth[by])
				if noise := 3 * math.Sqrt(squares[by]/float64(runs)); estimates[by] > truth[by]+noise || estimates[by] < truth[by]-missing-noise {
					t.Errorf("%s, 1 in %d, owner %d: the mean of the estimates is %+.1f %% off", name, w, by, 100*bias)
				}
			}
			if t.Logf("%s, 1 in %d: %d of %d intervals hold the truth, %d are unknown", name, w, held, stated, unknown); float64(held) < 0.9*float64(stated) {
				t.Errorf("%s, 1 in %d: only %d of %d intervals hold the truth", name, w, held, stated)
			}
		}
	}
}

// checkLong checks that the profile of replayed waits has all long waits in the rows of their
// waiters. If all are long, the rows have nothing else.
func checkLong(t *testing.T, name string, waits []replayed, p *Profile) {
	t.Helper()
	var all, long, said [owners]struct{ n, ns, longest int64 }
	for _, r := range waits {
		all[r.waiter].n++
		all[r.waiter].ns += r.took
		if r.took >= leastLong {
			l := &long[r.waiter]
			l.n++
			l.ns += r.took
			l.longest = max(l.longest, r.took)
		}
	}
	for _, row := range p.Waits {
		if by, err := strconv.Atoi(row.Waiter.Stack.Frames[0].Func[1:]); err == nil {
			said[by].n += row.Contentions
			said[by].ns += int64(row.Waited)
			said[by].longest = max(said[by].longest, int64(row.Longest))
			if long == all && row.StdErr != 0 {
				t.Errorf("%s: waiter %d: ± %v", name, by, row.StdErr)
			}
		}
	}
	for by, want := range long {
		got := said[by]
		if got.n < want.n || got.ns < want.ns || got.longest < want.longest || long == all && got != want {
			t.Fatalf("%s: waiter %d: %+v, want %+v", name, by, got, want)
		}
	}
}

// drawn makes a lock draw one in w, a power of two, of its waits from now on, whatever they cost.
func (st *state) drawn(w uint32) {
	st.sampling.rest.Store(w - 1)
	st.sampling.began.Store(now() + int64(time.Hour)) // the period never ends
}

// liveLocks are workloads of 8 and 64 goroutines at three locks.
var liveLocks = []workload{
	{name: "8 goroutines", workers: 8, locks: 3, hold: 2 * time.Microsecond, think: 5 * time.Microsecond},
	{name: "64 goroutines", workers: 64, locks: 3, hold: 10 * time.Microsecond, think: 10 * time.Microsecond},
	{name: "64 readers and writers", workers: 64, locks: 3, hold: 10 * time.Microsecond, think: 10 * time.Microsecond, rw: 0.2},
}

// TestSampledTotalsAreExact counts all waits for live locks, drawn or not, in the steps of
// oracle_bracket_test.go. However busy the machine is, the profile has all of them for each lock,
// and their total within the steps. The profile is marked as sampled if and only if not all waits
// were recorded.
func TestSampledTotalsAreExact(t *testing.T) {
	for _, oneIn := range []uint32{0, 8, 1 << 10} { // 0: depending on the cost
		for _, wl := range liveLocks {
			t.Run(fmt.Sprintf("%s, one in %d", wl.name, oneIn), func(t *testing.T) {
				collecting(t, Options{})
				locks, states := wl.probedLocks()
				for _, st := range states {
					if oneIn > 0 {
						st.drawn(oneIn)
					}
				}
				ops := wl.runOn(locks, 50*time.Millisecond)
				p := Snapshot()
				checkConservation(t, p)
				checkTotals(t, wl, ops, p)
			})
		}
	}
}

// TestAccuracyOfDrawnWaits: a profile is exact if each wait happened to be drawn, though not each
// would have been.
func TestAccuracyOfDrawnWaits(t *testing.T) {
	waits := 0
	for range 20 {
		t.Run("", func(t *testing.T) {
			collecting(t, Options{})
			var mu Mutex
			mu.state().drawn(2)
			mu.Lock()
			var wg sync.WaitGroup
			wg.Go(func() {
				mu.Lock()
				defer mu.Unlock()
			})
			time.Sleep(time.Millisecond) // a waiter that is not drawn shows nowhere
			mu.Unlock()
			wg.Wait()
			p := Snapshot()
			waits += len(p.Waits)
			estimated := slices.ContainsFunc(p.Waits, func(w Wait) bool { return w.Flags&Estimated != 0 })
			if (p.Accuracy == Sampled) != estimated {
				t.Errorf("accuracy %s; rows %+v", p.Accuracy, p.Waits)
			}
		})
	}
	if waits == 0 {
		t.Error("no goroutine waited")
	}
}

// TestLongWaitsAreAlwaysRecorded: of live locks that draw one wait in 65,536, every wait of 1 ms or
// more is in the row of its call chain, with its time. The truth is the log of the steps: a wait
// took at least from asked to in, and at most from request to got.
func TestLongWaitsAreAlwaysRecorded(t *testing.T) {
	needTwoProcessors(t)
	for _, wl := range []workload{
		{name: "mutex", workers: 8, locks: 2, hold: 700 * time.Microsecond, think: 10 * time.Microsecond},
		{name: "readers and writers", workers: 8, locks: 2, hold: 700 * time.Microsecond, think: 10 * time.Microsecond, rw: 0.5},
	} {
		t.Run(wl.name, func(t *testing.T) {
			collecting(t, Options{})
			locks, states := wl.probedLocks()
			for _, st := range states {
				st.drawn(1 << 16)
			}
			ops := wl.runOn(locks, 150*time.Millisecond)
			p := Snapshot()
			checkConservation(t, p)
			checkTotals(t, wl, ops, p)
			type row struct {
				lock  int
				site  string
				write bool
			}
			type sums struct{ n, least, most int64 }
			surely, maybe := map[row]sums{}, map[row]sums{}
			for _, o := range ops {
				if !o.waited {
					continue
				}
				k, least, most := row{o.lock, o.site, o.write}, o.in-o.asked, o.got-o.request
				add := func(to map[row]sums) { s := to[k]; to[k] = sums{s.n + 1, s.least + least, s.most + most} }
				if least >= leastLong {
					add(surely)
				}
				if most >= leastLong {
					add(maybe)
				}
			}
			if len(surely) < 4 {
				t.Fatalf("long waits in %d rows only", len(surely))
			}
			said, drawn := map[row]sums{}, int64(0)
			for _, w := range p.Waits {
				drawn += w.Observed
				if leafFunc(&w.Waiter) == notSampled {
					continue
				}
				var k row
				fmt.Sscanf(w.Lock.Name, "lock%d", &k.lock)
				k.site, k.write = siteOf(w.Waiter.Stack), w.Kind != RWMutexReaderKind
				s := said[k]
				said[k] = sums{n: s.n + w.Contentions, most: s.most + int64(w.Waited)}
			}
			for k, want := range maybe {
				least, got := surely[k], said[k]
				if got.n < least.n || got.most < least.least {
					t.Errorf("%v: %d waits of %d ns, want %d of %d", k, got.n, got.most, least.n, least.least)
				}
				if got.n > want.n && drawn == 0 { // a drawn wait represents shorter ones, too
					t.Errorf("%v: %d waits, want %d at most", k, got.n, want.n)
				}
			}
		})
	}
}

// The limit rises while recording long waits takes more than 1 % of the time, and falls when it
// does not any more.
func TestLongWaitsAreRecordedByCost(t *testing.T) {
	const ms = int64(time.Millisecond)
	run := func(s *sampling, seconds int64, cost func(raised int32) int64) (share float64) {
		var spent int64
		for range seconds * 1000 {
			c := cost(s.raised.Load())
			spent += c
			s.chooseLong(c, ms)
		}
		return float64(spent) / float64(seconds*1000*ms)
	}
	s := new(sampling)
	if run(s, 10, func(int32) int64 { return 9 * ms / 1000 }); s.raised.Load() != 0 {
		t.Errorf("at 0.9 %% of the time, raised by %d", s.raised.Load())
	}
	// 1000 goroutines, whose waits take 1 ms or, if there are no others, longer: 200 ns each.
	share := run(s, 10, func(raised int32) int64 { return 1000 * 200 * ms / (leastLong << (2 * raised)) })
	if raised := s.raised.Load(); raised < 1 || raised > 3 || share > 2*longBudget {
		t.Errorf("raised by %d, took %.2f %% of the time", raised, 100*share)
	}
	if run(s, 5, func(int32) int64 { return 0 }); s.raised.Load() != 0 {
		t.Errorf("still raised by %d", s.raised.Load())
	}
}

func checkTotals(t *testing.T, wl workload, ops []op, p *Profile) {
	type sums struct{ n, least, most int64 }
	logged, profiled := make([]sums, wl.locks), make([]sums, wl.locks)
	for _, o := range ops {
		if o.waited {
			l := &logged[o.lock]
			l.n++
			l.least += o.in - o.asked
			l.most += o.got - o.request
		}
	}
	sampled := false
	for _, row := range p.Waits {
		if row.Flags&Estimated == 0 && row.Contentions != row.Observed {
			t.Errorf("not flagged: %+v", row)
		}
		sampled = sampled || row.Flags&Estimated != 0
		var id int
		fmt.Sscanf(row.Lock.Name, "lock%d", &id)
		profiled[id].n += row.Contentions
		profiled[id].most += int64(row.Waited)
	}
	for i, want := range logged {
		slack := want.n * int64(clockCost())
		if got := profiled[i]; got.n != want.n || got.most < want.least-slack || got.most > want.most+slack {
			t.Errorf("lock %d: %d waits of %d ns, want %d of %d to %d", i, got.n, got.most, want.n, want.least, want.most)
		}
	}
	if (p.Accuracy == Sampled) != sampled {
		t.Errorf("accuracy %s, but rows that are estimated: %v", p.Accuracy, sampled)
	}
}

// TestSampledBlameOfLiveLocks: one wait in 8 is drawn. For most pairs of call chains at live
// locks, the 95 % interval covers what the steps leave open. Preemption by another process between
// two steps only makes that range larger.
func TestSampledBlameOfLiveLocks(t *testing.T) {
	held, stated := 0, 0
	for _, wl := range liveLocks[:2] {
		for range 3 {
			if err := Start(Options{}); err != nil {
				t.Fatal(err)
			}
			locks, states := wl.probedLocks()
			for _, st := range states {
				st.drawn(8)
			}
			ops := wl.runOn(locks, 100*time.Millisecond)
			p := Snapshot()
			if err := Stop(); err != nil {
				t.Fatal(err)
			}
			b := bracketOf(ops)
			est, errs := estimate(p), blameTable{}
			for _, q := range p.Pairs {
				var id int
				fmt.Sscanf(q.Lock.Name, "lock%d", &id)
				k := blameKey{id, siteOf(q.Waiter.Stack), siteOf(q.Owner.Stack)}
				errs[k] = math.Hypot(errs[k], float64(q.StdErr))
			}
			n := 0
			for k, most := range b.most {
				if most == 0 || errs[k] == 0 {
					continue
				}
				stated++
				if est[k] >= b.least[k]-1.96*errs[k] && est[k] <= most+1.96*errs[k] {
					held++
					n++
				}
			}
			t.Logf("%s: %d of %d", wl.name, n, len(b.most))
		}
	}
	// The pairs of a run are not independent, and there are few of them on a busy machine.
	if t.Logf("%d of %d intervals hold the truth", held, stated); float64(held) < 0.9*float64(stated)-2.5*math.Sqrt(float64(stated)) {
		t.Errorf("only %d of %d intervals hold the truth", held, stated)
	}
}

// TestSampledConservation: sums of estimates are exact, too, in the profile, in that of a second
// Collector and in merged profiles.
func TestSampledConservation(t *testing.T) {
	if err := Start(Options{}); err != nil {
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
					runtime.Gosched() // the others arrive and have to wait
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
	for range 100 { // on a busy machine there may be few waits, none of them drawn
		if estimates(Snapshot()) > 0 {
			break
		}
		busy()
	}
	first := Snapshot()
	var second Collector
	if err := second.Start(Options{}); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		busy()
		if estimates(second.Snapshot()) > 0 {
			break
		}
	}
	if err := errors.Join(second.Stop(), Stop()); err != nil {
		t.Fatal(err)
	}
	all, since := Snapshot(), second.Snapshot()
	for name, p := range map[string]*Profile{
		"first": first, "all": all, "since": since, "merged": Merge(first, since), "top": all.Top(3),
	} {
		if checkConservation(t, p); estimates(p) == 0 || p.Accuracy != Sampled {
			t.Errorf("%s: %d rows are estimates, accuracy %s", name, estimates(p), p.Accuracy)
		}
	}
	want, _, _, _ := totals(all)
	for name, p := range map[string]*Profile{"merged": Merge(first, since), "top": all.Top(3)} {
		if got, _, _, _ := totals(p); got != want {
			t.Errorf("%s: %v waited, want %v", name, got, want)
		}
	}
}
