package speedup

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The rules taken literally, instant by instant: at each nanosecond, every goroutine's state is
// looked up in the words, every lane is put into a component, and shared lanes are counted as
// rationals.

// stateAt returns the state of a goroutine at an instant, "" if it is not alive.
func (l life) stateAt(at timeline.Time) (what string) {
	for _, a := range l.acts {
		if a.at <= at && a.what[0] != '(' && a.what != ")" {
			what = a.what
		}
	}
	if what == "exit" {
		return ""
	}
	return what
}

var oracleWaits = strings.NewReplacer("waitgroup", "sync-waitgroup", "mutex", "sync-mutex", "rwmutex-writer", "sync-rwmutex", "rwmutex-reader", "sync-rwmutex",
	"cond", "sync-cond", "once", "sync-once", "chan-send", "sync-chan-send", "chan-receive", "sync-chan-receive", "select", "sync-select",
	"semaphore", "sync-semaphore", "network", "io-network", "sleep", "io-sleep", "blocked", "io-syscall", "gc", "gc-wait", "runtime", "runtime-wait",
	"coroutine", "sync-other", "forever", "sync-other", "other", "sync-other", "assist", "gc-assist")

// waitedAt returns the wait before a ready state; "" if there was none.
func (l life) waitedAt(at timeline.Time) (wait string) {
	for _, a := range l.acts {
		if a.at > at || a.what[0] == '(' || a.what == ")" || a.what == "ready" {
			continue
		}
		wait = ""
		if a.what != "run" && a.what != "assist" && a.what != "syscall" && a.what != "exit" {
			wait = oracleWaits.Replace(a.what)
		}
	}
	return wait
}

// instant returns the components of the lanes at an instant.
func (w words) instant(at timeline.Time, n, procs int, peakAt timeline.Time) map[string]*big.Rat {
	lanes := map[string]*big.Rat{}
	add := func(c string, num, den int64) {
		if lanes[c] == nil {
			lanes[c] = new(big.Rat)
		}
		lanes[c].Add(lanes[c], big.NewRat(num, den))
	}
	var working, waiting, risers []string
	holders := map[byte]int{}
	var ready, stopGC, stop int
	for _, l := range w.lives {
		s := l.stateAt(at)
		onProc := s == "run" || s == "assist" || s == "syscall"
		switch {
		case s == "" || l.kind == 'x' && s == "go":
		case l.kind == 'x' && strings.HasPrefix(s, "GC"):
			stopGC++
		case l.kind == 'x':
			stop++
		case l.kind != 'w' && onProc:
			holders[l.kind]++
		case l.kind != 'w':
		case onProc:
			working = append(working, oracleWaits.Replace(s))
		case s == "ready":
			ready++
			risers = append(risers, l.waitedAt(at))
		default:
			waiting = append(waiting, oracleWaits.Replace(s))
		}
	}
	live := len(working) + len(waiting) + ready
	switch {
	case stopGC > 0:
		add("gc-stop-the-world", int64(n), 1)
		return lanes
	case stop > 0:
		add("runtime-stop-the-world", int64(n), 1)
		return lanes
	case live == 0 || len(working)+ready == 0 && holders['m'] > 0:
		add("sequential", int64(n), 1)
		return lanes
	}
	var keepers []string // each keeps a ready worker from running
	for _, h := range []struct {
		kind byte
		what string
	}{{'g', "gc-workers"}, {'r', "sched-runtime"}, {'t', "sched-runtime"}, {'m', "sched-application"}} {
		for range holders[h.kind] {
			keepers = append(keepers, h.what)
		}
	}
	first := min(n, len(working))
	for _, c := range working {
		add(c, int64(first), int64(len(working)))
	}
	rest := min(n-first, len(waiting)+ready)
	free := procs - len(working) - len(keepers)
	if free >= ready { // until they start, they count as waiting
		ready = 0
		for _, s := range risers {
			if s == "" {
				ready++
			} else {
				waiting = append(waiting, s)
			}
		}
	}
	late := min(free, ready)
	keepers = keepers[:min(len(keepers), ready-late)]
	// If no processor is free, a lane of a ready worker is kept from it.
	kept := min(len(keepers), max(0, rest-free))
	for _, c := range keepers {
		add(c, int64(kept), int64(len(keepers)))
	}
	// All other waiting goroutines have equal parts of the other lanes. Among the parts of the
	// ready ones, the free processors come first.
	all, others := len(waiting)+ready-kept, rest-kept
	for _, c := range waiting {
		add(c, int64(others), int64(all))
	}
	if ready > kept && others > 0 {
		part := big.NewRat(int64(others*(ready-kept)), int64(all))
		wakeup := big.NewRat(int64(late), 1)
		if wakeup.Cmp(part) > 0 {
			wakeup = part
		}
		add("sched-wakeup", 0, 1)
		lanes["sched-wakeup"].Add(lanes["sched-wakeup"], wakeup)
		add("sched-workers", 0, 1)
		lanes["sched-workers"].Add(lanes["sched-workers"], part.Sub(part, wakeup))
	}
	if none := n - first - rest; none > 0 {
		if at < peakAt {
			add("spawn", int64(none), 1)
		} else {
			add("imbalance", int64(none), 1)
		}
	}
	return lanes
}

// peakAt returns the first instant with the maximum number of live workers, or with n. Workers may
// live for no time.
func (w words) peakAt(n int) (at timeline.Time, peak int) {
	type edge struct {
		at   timeline.Time
		by   int
		life int
	}
	var edges []edge
	for i, l := range w.lives {
		if l.kind != 'w' {
			continue
		}
		edges = append(edges, edge{l.acts[0].at, 1, i})
		if last := l.acts[len(l.acts)-1]; last.what == "exit" {
			edges = append(edges, edge{last.at, -1, i})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return int(a.at - b.at) })
	live := 0
	for _, e := range edges {
		if live += e.by; live > peak {
			peak = live
			if live <= n {
				at = e.at
			}
		}
	}
	return at, peak
}

func (w words) oracle(from, to timeline.Time, n, procs int) map[string]*big.Rat {
	sum := map[string]*big.Rat{}
	peakAt, peak := w.peakAt(n)
	workers := 0
	for _, l := range w.lives {
		if l.kind == 'w' {
			workers++
		}
	}
	for at := from; at < to; at++ {
		for c, x := range w.instant(at, n, procs, peakAt) {
			if (c == "spawn" || c == "imbalance") && workers >= 2*peak { // workers with short lives
				c = "no-worker"
			}
			if sum[c] == nil {
				sum[c] = new(big.Rat)
			}
			sum[c].Add(sum[c], x)
		}
	}
	return sum
}

// randomWords makes a run with all kinds of goroutines, with at most as many on processors as there
// are processors.
func randomWords(rng *rand.Rand) (text string, n, procs int) {
	n, procs = 1+rng.IntN(5), 1+rng.IntN(6)
	end := 20 + rng.IntN(200)
	type actor struct {
		line     string
		kind     byte
		on, gone bool
	}
	var actors []*actor
	worlds := 0
	onProcs := 0
	waits := []string{"mutex", "rwmutex-writer", "rwmutex-reader", "waitgroup", "cond", "once", "chan-send", "chan-receive", "select", "semaphore",
		"network", "sleep", "gc", "runtime", "coroutine", "forever", "other", "blocked", "ready", "ready", "ready"}
	for at := 0; at < end; at += rng.IntN(6) {
		if rng.IntN(25) == 0 && worlds == 0 {
			actors = append(actors, &actor{kind: 'x', line: fmt.Sprintf("x %d %s %d go", at, []string{"GC mark termination", "read mem stats"}[rng.IntN(2)], at+rng.IntN(9)), gone: true})
			continue
		}
		var a *actor
		if len(actors) < 2 || rng.IntN(8) == 0 && len(actors) < 14 {
			kind := "wwwwwwmgrt"[rng.IntN(10)]
			a = &actor{kind: kind, line: string(kind)}
			actors = append(actors, a)
		} else if a = actors[rng.IntN(len(actors))]; a.gone {
			continue
		}
		what := waits[rng.IntN(len(waits))]
		switch k := rng.IntN(10); {
		case k < 5 && (a.on || onProcs < procs):
			what = []string{"run", "run", "run", "syscall", "assist"}[rng.IntN(5)]
			if what == "assist" && a.kind != 'w' {
				what = "run"
			}
		case k == 9 && a.line != string(a.kind) && rng.IntN(3) == 0:
			what, a.gone = "exit", true
		}
		if a.on {
			onProcs--
		}
		if a.on = what == "run" || what == "syscall" || what == "assist"; a.on {
			onProcs++
		}
		a.line += fmt.Sprintf(" %d %s", at, what)
	}
	for _, a := range actors {
		text += a.line + "\n"
	}
	return text + fmt.Sprintf("end %d", end+10), n, procs
}

func TestByInstants(t *testing.T) {
	runs := uint64(testenv.Rounds(600))
	if testing.Short() {
		runs = 100
	}
	for seed := range runs {
		rng := rand.New(rand.NewPCG(seed, 0x5bee))
		text, n, procs := randomWords(rng)
		w := parseWords(t, text)
		cfg := Options{N: n}
		if rng.IntN(2) == 0 {
			cfg.Window = 1 + 1<<rng.IntN(7)
		}
		a := accountOf(t, text, procs, cfg)
		_, peak := w.peakAt(n)
		if a.Peak != peak {
			t.Errorf("seed %d: peak %d, want %d", seed, a.Peak, peak)
		}
		parts := append([]*account{a}, a.Windows...)
		for i, p := range parts {
			want := w.oracle(timeline.Time(p.Start), timeline.Time(p.Start+p.Wall), n, procs)
			bound := int64(1) // for rounding
			if i == 0 {
				bound = max(1, int64(len(a.Windows)))
			}
			if peak <= n {
				bound = 0
			}
			for c := range Component(NumComponents) {
				diff := big.NewRat(int64(p.Time[c]), 1)
				if x := want[c.String()]; x != nil {
					diff.Sub(diff, x)
				}
				if diff.Abs(diff).Cmp(big.NewRat(bound, 1)) > 0 || bound == 0 && diff.Sign() != 0 {
					t.Fatalf("seed %d, %d lanes, %d processors, part %d of %d: %v is %d, want %v\n%s\n%s", seed, n, procs, i, len(parts), c, p.Time[c], want[c.String()], text, inWords(p))
				}
			}
		}
	}
}
