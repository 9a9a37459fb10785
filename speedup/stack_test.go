package speedup

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// checkStack checks S + Σ components + remainder = N over the rationals, and that the
// stack's numbers are those rationals, rounded.
func checkStack(t testing.TB, s *Stack) {
	t.Helper()
	tp := int64(s.Multi.Wall)
	sum := big.NewRat(int64(s.Single.Wall), tp)
	same := func(what string, got float64, r *big.Rat) {
		if want, _ := r.Float64(); got != want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	same("the speed-up", s.Speedup, sum)
	for c := range Component(NumComponents) {
		part := big.NewRat(int64(s.Multi.Time[c]-s.Single.Time[c]), tp)
		sum.Add(sum, part)
		if c == Run {
			same("the remainder", s.Remainder, part)
		} else {
			same(c.String(), s.Components[c], part)
		}
	}
	if sum.Cmp(big.NewRat(int64(s.N), 1)) != 0 {
		t.Errorf("speed-up, components and remainder sum to %v, want %d", sum, s.N)
	}
}

func TestWhatIf(t *testing.T) {
	s := &Stack{N: 4, Speedup: 2}
	s.Components[SyncMutex], s.Components[SyncCond], s.Components[Imbalance], s.Components[GCAssist] = 1, 0.5, 0.75, -0.25
	for _, tt := range []struct{ got, want float64 }{
		{s.WhatIf(SyncMutex), 2 * 4 / 3.0},
		{s.WhatIf(GCAssist), 2 * 4 / 4.25},
		{s.without(s.Of(Synchronization)), 2 * 4 / 2.5},
		{s.WhatIf(Spawn), 2},
		{(&Stack{N: 1, Components: [NumComponents]float64{Sequential: 1}}).WhatIf(Sequential), math.Inf(1)},
		{(&Stack{N: 2, Speedup: 1.6, Components: [NumComponents]float64{SyncChanReceive: 0.8, Sequential: -0.4}}).WhatIf(SyncChanReceive), 2},
		{(&Stack{N: 2, Speedup: 2.2, Components: [NumComponents]float64{SyncMutex: 0.2, Sequential: -0.4}}).WhatIf(SyncMutex), 2.2},
		{(&Stack{N: 2, Speedup: 1.6, Components: [NumComponents]float64{SyncMutex: 0.8, IOSleep: -0.25, Sequential: -0.15}}).WhatIf(SyncMutex), 2.25},
	} {
		if tt.got != tt.want {
			t.Errorf("%v, want %v", tt.got, tt.want)
		}
	}
}

// Without the wait of a goroutine for one that sleeps, the other sleeps for as long: two processors
// do not make it faster.
func TestWhatIfOfASleep(t *testing.T) {
	single := accountOf(t, "w 0 run 1 sleep 99 run; w 0 chan-receive 100 run; end 101", 1, Options{N: 1})
	s := newStack(single, accountOf(t, "w 0 run 1 sleep 99 run; w 0 chan-receive 100 run; end 101", 2, Options{N: 2}))
	checkStack(t, s)
	if s.Idle < 0.97 || s.Idle > 0.98 || !math.IsNaN(s.WhatIf(SyncChanReceive)) || !math.IsNaN(s.WhatIf(IOSleep)) || math.IsNaN(s.WhatIf(SyncMutex)) {
		t.Errorf("idle for %v; without the channel %v, without sleep %v, without a mutex %v", s.Idle, s.WhatIf(SyncChanReceive), s.WhatIf(IOSleep), s.WhatIf(SyncMutex))
	}
}

// Eq. 4: of the collector's part, what the single-threaded run has as well is subtracted.
func TestEquation4(t *testing.T) {
	single, multi := &account{N: 1, Wall: 300, Workers: 1}, &account{N: 4, Wall: 100, Workers: 4}
	single.Time[GCStopTheWorld], single.Time[GCAssist], single.Time[Run] = 12, 30, 258
	multi.Time[GCStopTheWorld], multi.Time[GCAssist], multi.Time[GCWorkers], multi.Time[Run] = 40, 20, 60, 280
	s := newStack(single, multi)
	checkStack(t, s)
	for c, want := range map[Component]float64{GCStopTheWorld: 4*10.0/100 - 12.0/100, GCAssist: -0.10, GCWorkers: 0.60} {
		if got := s.Components[c]; math.Abs(got-want) > 1e-12 {
			t.Errorf("%v is %v, want %v", c, got, want)
		}
	}
	if got := s.Of(GarbageCollection); math.Abs(got-0.78) > 1e-12 {
		t.Errorf("the collector's part is %v, want 0.78", got)
	}
}

// Without a lock, no goroutine has to be woken for it: WhatIf is the time of the same work without
// it.
func TestWhatIfOfALock(t *testing.T) {
	single := accountOf(t, "w 0 run 40 exit; end 40", 2, Options{N: 1})
	with := newStack(single, accountOf(t, "w 0 run 10 mutex 14 ready 16 run; w 0 run 4 mutex 8 ready 10 run; end 26", 2, Options{N: 2}))
	without := newStack(single, accountOf(t, "w 0 run; w 0 run; end 20", 2, Options{N: 2}))
	checkStack(t, with)
	if got := with.WhatIf(SyncMutex); math.Abs(got-without.Speedup) > 1e-9 {
		t.Errorf("without the lock %v times faster, where the program is %v times", got, without.Speedup)
	}
}

// Without a worker in the single-threaded run, its sequential part is assumed.
func TestSingleWithoutWorkers(t *testing.T) {
	single := accountOf(t, "m 0 run; end 120", 1, Options{N: 1})
	multi := accountOf(t, "m 0 run 60 waitgroup; w 60 run; w 60 run; end 90", 2, Options{N: 2})
	s := newStack(single, multi)
	checkStack(t, s)
	if s.Remainder != 0 || s.Components[Sequential] != 60.0/90 || len(s.Warnings) != 1 {
		t.Errorf("remainder %v, sequential %v, warnings %q", s.Remainder, s.Components[Sequential], s.Warnings)
	}
	if single.Time[Run] != 0 {
		t.Error("the account was changed")
	}
}

func TestEstimate(t *testing.T) {
	multi := accountOf(t, "m 0 run 20 waitgroup; w 20 run 60 mutex 80 run; w 20 run; x 90 GC mark termination 100 go; end 100", 2, Options{N: 2, Window: 40})
	s := estimated(multi)
	checkStack(t, s)
	// run 50+70, collector 2·10, sequential 20 of each lane
	if want := (120 + 20 + 20) / 100.0; s.Speedup != want || !s.Estimate || s.Remainder != 0 {
		t.Errorf("%v, want %v; remainder %v", s.Speedup, want, s.Remainder)
	}
	if s.Components[SyncMutex] != 0.2 || s.Components[Sequential] != 0.2 || s.Components[GCStopTheWorld] != 0 {
		t.Errorf("components %v", s.Components)
	}
	windows := s.Windows()
	if len(windows) != 3 {
		t.Fatalf("%d windows", len(windows))
	}
	for _, w := range windows {
		checkStack(t, w)
	}
	if w := windows[1]; w.Speedup != 1.5 || w.Components[SyncMutex] != 0.5 || !w.Estimate {
		t.Errorf("second window: %v, %v", w.Speedup, w.Components)
	}
	if w := (&Stack{}).Windows(); w != nil {
		t.Error("a stack without accounts has windows")
	}
}

// Units of equal work that ran alone show how much longer the others took.
func TestUnits(t *testing.T) {
	// Alone, a unit takes 10; in parallel with another, 16.
	run := `w 0 run 0 (unit 10 ) 10 (unit 20 ) 20 (unit 30 ) 40 (unit 56 )
		w 30 mutex 40 run 40 (unit 56 )
		end 60`
	multi := accountOf(t, run, 2, Options{N: 2, Unit: "unit"})
	want := unitTimes{Count: 5, Running: 62, Alone: 3, Median: 10}
	if *multi.Units != want {
		t.Fatalf("%+v, want %+v", *multi.Units, want)
	}
	s := estimated(multi)
	checkStack(t, s)
	// 80 ran, 62 of it in 5 units that take 10 each
	if want := (80 - 62 + 50) / 60.0; math.Abs(s.Speedup-want) > 1e-15 || s.Remainder != (62-50)/60.0 {
		t.Errorf("speed-up %v, want %v; remainder %v", s.Speedup, want, s.Remainder)
	}
	if w := estimateWarnings(s, "unit"); len(w) != 1 || !strings.Contains(w[0], "5 units of work, each taken to be as long as the 3 that ran alone (10 ns)") {
		t.Errorf("%q", w)
	}
	few := accountOf(t, "w 0 run 1 (unit 5 (unit 7 ) 11 ) ; w 0 run; end 60", 2, Options{N: 2, Unit: "unit"})
	if *few.Units != (unitTimes{Count: 1, Running: 10}) {
		t.Errorf("%+v", *few.Units)
	}
	if w := estimateWarnings(estimated(few), "unit"); len(w) != 2 || !strings.HasPrefix(w[0], "Only 0 of the 1 region of type") {
		t.Errorf("%q", w)
	}
}

func TestFamilies(t *testing.T) {
	var families []string
	for c := range Component(NumComponents) {
		families = append(families, c.Family())
		if back, err := ParseComponent(c.String()); err != nil || back != c {
			t.Errorf("%v: %v, %v", c, back, err)
		}
	}
	families = slices.Compact(families)
	if !slices.Equal(families, []string{Running, GarbageCollection, SequentialPart, Synchronization, InputOutput, SystemCalls, ImbalanceFamily, SpawnFamily, NoWorkerFamily, Scheduling, RuntimeFamily}) || Component(200).String() != "other" {
		t.Errorf("a component is missing, or the families are not in order: %q", families)
	}
	var s Stack
	s.N = 2
	for c := range s.Components {
		s.Components[c] = 1
	}
	sum := 0.0
	for _, f := range families[1:] {
		sum += s.Of(f)
	}
	if int(sum) != NumComponents-1 {
		t.Errorf("the families sum to %v", sum)
	}
	if time.Duration(1) > maxWall(1<<20) {
		t.Error("no time fits")
	}
}
