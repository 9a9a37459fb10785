package granularity

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// The part before and the part after sum to the whole.
func TestSince(t *testing.T) {
	rec := recorder(10_000) // so that all are measured
	ctx := WithRecorder(context.Background(), rec)
	do := func(class string, n, steps int) {
		for range n {
			Do(ctx, class, func(context.Context) error { compute(steps); return nil })
		}
	}
	do("both", 300, 10)
	do("before", 5, 100)
	first := rec.Profile()
	do("both", 200, 10_000)
	do("after", 7, 100)
	whole := rec.Profile()
	later := whole.Since(first)
	if later.Wall != whole.Wall-first.Wall || len(later.Log) != 207 {
		t.Errorf("%v after %v of %v; %d in the log", later.Wall, first.Wall, whole.Wall, len(later.Log))
	}
	want := map[string]uint64{"both": 200, "after": 7}
	if len(later.Classes) != len(want) {
		t.Errorf("%d classes; want %d", len(later.Classes), len(want))
	}
	for name, n := range want {
		c := classNamed(t, later, name)
		if c.Tasks != n || c.Cycles.Count() != n || c.WallNS.Count() != n {
			t.Errorf("%s: %d tasks, %d, %d; want %d", name, c.Tasks, c.Cycles.Count(), c.WallNS.Count(), n)
		}
		var all []uint64
		var sum float64
		for _, task := range later.Log {
			if task.Class == name {
				all, sum = append(all, task.Cycles), sum+float64(task.Cycles)
			}
		}
		slices.Sort(all)
		if middle := float64(all[(len(all)-1)/2]); math.Abs(c.Cycles.Quantile(.5)-middle) > 0.02*middle+2 || c.Cycles.Sum() != sum {
			t.Errorf("%s: median %g, sum %g; the log has %g, %g", name, c.Cycles.Quantile(.5), c.Cycles.Sum(), middle, sum)
		}
	}
}

// The tasks of a part are as many as were counted in it, also if most are estimated from a sample of
// the whole time, which shows in the second part that those of the first were shorter.
func TestSinceOfEstimates(t *testing.T) {
	r := NewRecorder()
	s := r.site(&siteKey{name: "x"})
	us := r.base.FromNS(1000)
	add := func(kind noteKind, n int, wall, self int64) {
		for range n {
			s.cell.add(&note{site: s, first: r.began.tick, wall: wall * us, self: self, kind: kind})
		}
	}
	add(noteLeft, 1000, 1000, 0)
	add(noteSample, 10, 500, 4000)
	first := r.Profile()
	add(noteLeft, 500, 2000, 0)
	add(noteSample, 10, 500, 2000)
	second := r.Profile()
	add(noteLeft, 100, 3000, 0)
	third := r.Profile()
	for _, tt := range []struct {
		of                string
		p                 *Profile
		tasks             uint64
		wall, least, most float64 // wall in ms; cycles of a task
	}{
		{"first", first, 1010, 1005, 3950, 4050},
		{"second", second.Since(first), 510, 1005, 1980, 2020},
		{"third, without a sample", third.Since(second), 100, 300, 2950, 3050},
		{"both", third.Since(first), 610, 1305, 1980, 2020},
	} {
		c := classNamed(t, tt.p, "x")
		wall, each := c.WallNS.Sum()/1e6, c.Cycles.Mean()
		if c.Tasks != tt.tasks || c.Cycles.Count() != tt.tasks || c.WallNS.Count() != tt.tasks || c.BlockedNS.Count() != tt.tasks || len(c.Sites) != 1 || c.Sites[0].Tasks != tt.tasks {
			t.Errorf("%s: %d tasks; cycles of %d, times of %d, blocked %d, want %d", tt.of, c.Tasks, c.Cycles.Count(), c.WallNS.Count(), c.BlockedNS.Count(), tt.tasks)
		}
		if wall < 0.98*tt.wall || wall > 1.02*tt.wall || each < tt.least || each > tt.most {
			t.Errorf("%s: %g ms, want %g; %g cycles a task", tt.of, wall, tt.wall, each)
		}
	}
}

// Whatever tasks do, each execution is counted once, by site, class and part of the run, all
// distributions have as many values, and a profile or a part of it can be read back.
func TestProfilesOfRandomTasks(t *testing.T) {
	for seed := range uint64(testenv.Rounds(20)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := NewRecorder()
		r.AggregateNested, r.Log = rng.IntN(4) == 0, 100*rng.IntN(2)
		ctx := WithRecorder(context.Background(), r)
		chance := func() float64 { return rng.Float64() * float64(rng.IntN(2)) }
		exits, pauses, nests, blocks := chance()/100, chance(), chance(), chance()
		var executed atomic.Uint64
		task := func(i int) {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			executed.Add(1)
			if rng.Float64() < exits {
				runtime.Goexit()
			}
			if rng.Float64() < pauses {
				if resume := Pause(); rng.IntN(50) > 0 { // others are never resumed
					runtime.Gosched()
					resume()
				}
			}
			if rng.Float64() < nests {
				Do(ctx, "inner", func(context.Context) error { executed.Add(1); return nil })
			}
			if rng.Float64() < blocks {
				time.Sleep(time.Duration(rng.IntN(50)) * time.Microsecond)
			}
		}
		n, limit := 3000+rng.IntN(10_000), 1+rng.IntN(50)
		before := r.Profile()
		submit := func(submit func(func())) {
			for i := range n {
				if submit(func() { task(i) }); i%1000 == 0 {
					p := r.Profile()
					consistent(t, p.Since(before))
					before = p
				}
			}
		}
		if rng.IntN(2) == 0 {
			p := &Pool{Recorder: r, Workers: limit}
			submit(func(f func()) { p.Submit(f) })
			p.Close()
		} else {
			g := Group{Recorder: r}
			g.SetLimit(limit)
			submit(func(f func()) { g.Go(func() error { f(); return nil }) })
			g.Wait()
		}
		whole := r.Profile()
		if all := consistent(t, whole); all != executed.Load() {
			t.Errorf("seed %d: %d executions, want %d", seed, all, executed.Load())
		}
		consistent(t, whole.Since(before))
	}
}

// consistent checks a profile, and returns the number of executions.
func consistent(t *testing.T, p *Profile) (all uint64) {
	t.Helper()
	var file bytes.Buffer
	if err := WriteJSON(&file, p); err != nil {
		t.Error(err)
	}
	if _, err := ReadJSON(&file); err != nil {
		t.Error(err)
	}
	for i := range p.Classes {
		c, ofSites := &p.Classes[i], uint64(0)
		all += c.Executions() + c.Aggregated
		for _, s := range c.Sites {
			ofSites += s.Tasks
		}
		if c.Cycles.Count() != c.Tasks || c.WallNS.Count() != c.Tasks || c.BlockedNS.Count() > c.Tasks || ofSites != c.Tasks {
			t.Errorf("%s: %d tasks, %d of the sites; cycles of %d, times of %d, blocked %d", c.Name, c.Tasks, ofSites, c.Cycles.Count(), c.WallNS.Count(), c.BlockedNS.Count())
		}
	}
	return all
}

// What happened before the earlier profile is not in the later one.
func TestSinceSubtractsTheRun(t *testing.T) {
	earlier := &Profile{Run: Sample{Wall: 4, CPU: 3, Throttles: 2, Throttled: 3, Ready: 9}}
	later := &Profile{Run: Sample{Wall: 10, CPU: 8, Throttles: 5, Throttled: 7, Ready: 8}}
	got := later.Since(earlier).Run
	got.Utilization = 0
	if want := (Sample{Wall: 6, CPU: 5, Throttles: 3, Throttled: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A class of a profile that was combined from others may have no sites.
func TestSinceWithoutSites(t *testing.T) {
	profile := func(n uint64) *Profile {
		c := Class{Name: "x", Tasks: n}
		for _, h := range []*Histogram{&c.Cycles, &c.WallNS, &c.BlockedNS} {
			h.AddN(100, n)
		}
		return &Profile{Classes: []Class{c}}
	}
	later := profile(10).Since(profile(3))
	if len(later.Classes) != 1 || later.Classes[0].Tasks != 7 || later.Classes[0].Cycles.Sum() != 700 {
		t.Errorf("%+v, want 7 tasks of 100 cycles", later.Classes)
	}
}
