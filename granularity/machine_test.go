package granularity

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/host"
)

// The machine is sampled on the clock of the tasks, and the pauses of the collector are found.
func TestSampling(t *testing.T) {
	noLeak(t)
	rec := recorder(4) // so that they are measured even if preempted
	rec.Start()
	rec.Start() // does nothing
	ctx := WithRecorder(context.Background(), rec)
	var before debug.GCStats
	debug.ReadGCStats(&before)
	for range 4 {
		Do(ctx, "spin", func(context.Context) error { busy(30 * time.Millisecond); return nil })
		runtime.GC()
	}
	time.Sleep(150 * time.Millisecond)
	var after debug.GCStats
	debug.ReadGCStats(&after)
	p := rec.Profile()
	rec.Stop()
	rec.Stop() // does nothing

	if len(p.Samples) < 2 {
		t.Fatalf("%d samples in %v", len(p.Samples), p.Wall)
	}
	var wall, cpu time.Duration
	var cgroup, machine time.Duration
	for i, s := range p.Samples {
		wall, cpu, cgroup, machine = wall+s.Wall, cpu+s.CPU, cgroup+s.CgroupCPU, machine+s.MachineCPU
		if (s.CgroupCapacity > 0) != (host.GroupTime() > 0) || s.MachineCapacity > 0 && s.MachineCapacity < s.Wall {
			t.Errorf("sample %d has capacities of %v and %v", i, s.CgroupCapacity, s.MachineCapacity)
		}
		if s.Utilization < 0 || s.CPU < 0 || s.Paused > s.Wall {
			t.Errorf("sample %d makes no sense: %+v", i, s)
		}
		if i > 0 && s.At <= p.Samples[i-1].At {
			t.Errorf("sample %d is not after the one before", i)
		}
	}
	if off := p.Samples[len(p.Samples)-1].At - p.Start - int64(p.Wall); off < -int64(time.Second) || off > int64(time.Second) {
		t.Errorf("the last sample is %v away from the profile's end", time.Duration(off))
	}
	spun := time.Duration(classNamed(t, p, "spin").Cycles.Sum() / p.Hz * 1e9)
	if p.Run.CPU < cpu || cpu < spun*8/10 && p.Accuracy == "thread-time" {
		t.Errorf("the samples used %v, the run %v; the tasks alone %v", cpu, p.Run.CPU, spun)
	}
	if p.Samples[0].CgroupCapacity > 0 && cgroup < cpu*95/100-10*time.Millisecond || p.Samples[0].MachineCapacity > 0 && machine < cpu*95/100-100*time.Millisecond {
		t.Errorf("the control group used %v, the machine %v, and the process alone %v", cgroup, machine, cpu)
	}
	if n := after.NumGC - before.NumGC; int64(len(p.Pauses)) < min(n, 4) {
		t.Errorf("%d pauses are known of %d collections", len(p.Pauses), n)
	}
	for _, g := range p.Pauses {
		if g.Length <= 0 || g.At < p.Start-int64(time.Second) || g.At > p.Start+int64(p.Wall)+int64(time.Second) {
			t.Errorf("a pause of %v at %v of the run", g.Length, time.Duration(g.At-p.Start))
		}
	}
	c := classNamed(t, p, "spin")
	var ended uint64
	for _, b := range c.Series {
		ended += b.Ended
	}
	if ended != 4 || c.ActiveShare <= 0 || c.ActiveShare >= 1 {
		t.Errorf("%d tasks over time, active for %g of the run; want 4, and a part", ended, c.ActiveShare)
	}
	if float64(c.WallNS.Sum())*0.9 > c.ActiveShare*float64(p.Wall) || float64(c.WallNS.Sum())*1.1 < c.ActiveShare*float64(p.Wall) {
		t.Errorf("active for %v; the tasks took %v, one after the other", time.Duration(c.ActiveShare*float64(p.Wall)), time.Duration(c.WallNS.Sum()))
	}
}

func TestPausesAreLeftOut(t *testing.T) {
	at := time.Now()
	from := moment{at: at, cpu: time.Hour, paused: time.Hour}
	to := moment{at: at.Add(100 * time.Millisecond), cpu: time.Hour + 100*time.Millisecond}
	procs := float64(runtime.GOMAXPROCS(0))
	for _, test := range []struct {
		paused   time.Duration
		want     float64
		excluded bool
	}{
		{0, 1 / procs, false},
		{20 * time.Millisecond, 1 / procs, false}, // 80 ms of work in the other 80 ms
		{60 * time.Millisecond, 1 / procs, true},
		{time.Second, 0, true},
	} {
		to.paused = from.paused + test.paused
		s := newSample(&from, &to, 0)
		if d := s.Utilization - test.want; d > 1e-9 || d < -1e-9 || s.Excluded != test.excluded {
			t.Errorf("%v of 100 ms paused: used to %g, excluded %v; want %g, %v", test.paused, s.Utilization, s.Excluded, test.want, test.excluded)
		}
	}
}

func TestSamplesAreBounded(t *testing.T) {
	var m machine
	for i := range 3*maxSamples + 5 {
		m.add(Sample{At: int64(i), Wall: SampleEvery, CPU: SampleEvery, Voluntary: 1})
	}
	var wall time.Duration
	var n uint64
	for _, s := range m.samples {
		wall, n = wall+s.Wall, n+s.Voluntary
	}
	if len(m.samples) >= maxSamples || n != 3*maxSamples+5 || wall != (3*maxSamples+5)*SampleEvery {
		t.Errorf("%d samples of %v with %d switches", len(m.samples), wall, n)
	}
}

// The machine counts in steps of 10 ms, which can be more than there was.
func TestUtilizationIsAtMostWhole(t *testing.T) {
	p := &Profile{Procs: 1, Samples: []Sample{{Wall: 100, MachineCPU: 204, MachineCapacity: 200, CgroupCPU: 110, CgroupCapacity: 100}}}
	for _, u := range p.Utilizations()[1:] {
		if u.Mean != 1 {
			t.Errorf("%s", u)
		}
	}
}

// In less than a few of the ticks in which the system counts the machine's time, it is not known.
func TestUtilizationOfTheMachineNeedsTicks(t *testing.T) {
	for wall, want := range map[time.Duration]string{time.Millisecond: ": not counted", time.Second: ": 40 %"} {
		p := &Profile{Wall: wall, Procs: 2, Samples: []Sample{{Wall: wall, MachineCPU: wall * 4 / 5, MachineCapacity: 2 * wall}}}
		if got := p.Utilizations()[2].String(); !strings.HasSuffix(got, want) {
			t.Errorf("%v: %s, want %q", wall, got, want)
		}
	}
}

// Equal intervals of 50, 60 and 70 %: mean 60 %, deviation 10 %, Student's t for two degrees of
// freedom 4.303.
func TestMeanUtilization(t *testing.T) {
	p := &Profile{Procs: 4}
	for _, u := range []float64{.5, .6, .7} {
		p.Samples = append(p.Samples, Sample{Wall: 100, Utilization: u, CgroupCPU: time.Duration(150*u + 30), CgroupCapacity: 150})
	}
	p.Samples = append(p.Samples, Sample{Wall: 100, Utilization: 1, CgroupCapacity: 1e9, Excluded: true})
	var form struct {
		Utilization []struct {
			By            string
			Processors    float64
			Mean, Half_95 *float64
		}
	}
	if text, err := json.Marshal(p); err != nil || json.Unmarshal(text, &form) != nil || len(form.Utilization) != 3 {
		t.Fatalf("JSON has %+v, %v", form, err)
	}
	half := 4.303 * .1 / math.Sqrt(3)
	for i, want := range []utilization{{"the process", 4, .6, half}, {"the control group", 1.5, .8, half}, {By: "all programs of the machine"}} {
		got, saved := p.Utilizations()[i], form.Utilization[i]
		if got.By != want.By || got.Processors != want.Processors || saved.By != want.By || saved.Processors != want.Processors {
			t.Errorf("%+v, JSON %+v, want %+v", got, saved, want)
		}
		switch {
		case want.Processors == 0:
			if !math.IsNaN(got.Mean) || !math.IsNaN(got.Half) || saved.Mean != nil || saved.Half_95 != nil || got.String() != "CPU utilization by all programs of the machine: not counted" {
				t.Errorf("%v of the machine, JSON %+v, want it unknown", got, saved)
			}
		case math.Abs(got.Mean-want.Mean) > 1e-12 || math.Abs(got.Half-want.Half) > 1e-12 || *saved.Mean != got.Mean || *saved.Half_95 != got.Half:
			t.Errorf("%+v, JSON %v ± %v, want %+v", got, *saved.Mean, *saved.Half_95, want)
		}
	}
	for _, c := range []struct {
		p    Profile
		want string
	}{
		{*p, "CPU utilization of 4 processors by the process: 60 % ± 25 % (95 % confidence)"},
		{Profile{Procs: 4, Samples: p.Samples[:2], Source: SourceTrace}, "CPU utilization of 4 processors by running goroutines: 55 %"},
		{Profile{Procs: 1, Samples: []Sample{{Wall: 1, Utilization: .1}, {Wall: 1, Utilization: .7}, {Wall: 1, Utilization: .1}}}, "CPU utilization of 1 processor by the process: 30 %"}, // ± 86 %
		{Profile{Procs: 1, Instances: 2}, "CPU utilization of 1 processor by an average process"},
	} {
		if got := c.p.Utilizations()[0].String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// About 95 of 100 intervals hold the true mean, whatever the lengths of the samples.
func TestMeanUtilizationCoverage(t *testing.T) {
	r, inside := rand.New(rand.NewPCG(3, 3)), 0
	for range 2000 {
		p := &Profile{Procs: 1}
		for range 30 {
			p.Samples = append(p.Samples, Sample{Wall: time.Duration(50 + r.IntN(50)), Utilization: .5 + .1*r.NormFloat64()})
		}
		if u := p.Utilizations()[0]; math.Abs(u.Mean-.5) <= u.Half {
			inside++
		}
	}
	if inside < 1865 || inside > 1935 {
		t.Errorf("%d of 2000 intervals hold the mean", inside)
	}
}

func TestThrottlingIsInTheProfile(t *testing.T) {
	from, to := moment{}, moment{at: time.Time{}.Add(time.Second), throttling: host.Throttling{Periods: 10, Throttled: 7, For: 900 * time.Millisecond}}
	from.throttling = host.Throttling{Throttled: 2, For: 400 * time.Millisecond}
	s := newSample(&from, &to, 0)
	if s.Throttles != 5 || s.Throttled != 500*time.Millisecond || s.ThrottledShare(2) != .25 {
		t.Errorf("throttled %d times for %v, %v of 2 processors; want 5, 500ms, 0.25", s.Throttles, s.Throttled, s.ThrottledShare(2))
	}
	r := NewRecorder()
	r.began.throttling.Throttled -= 5
	r.began.throttling.For -= 2 * time.Second
	if p := r.Profile(); !strings.Contains(strings.Join(p.Warnings, " "), "used up its quota 5 times and lost processors for 2 s") {
		t.Errorf("%q has no warning of the throttling", p.Warnings)
	}
}

func TestT975(t *testing.T) {
	for df, want := range map[float64]float64{0.5: 12.706, 1: 12.706, 4.99: 2.776, 9: 2.262, 30: 2.042, 31: 2.0395, 60: 2.0003, 1e6: 1.95996} {
		if got := t975(df); math.Abs(got-want) > 0.001 {
			t.Errorf("t(%g) = %g; want %g", df, got, want)
		}
	}
}
