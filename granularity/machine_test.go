package granularity

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The machine is sampled on the clock of the tasks, and the pauses of the collector are found.
func TestSampling(t *testing.T) {
	noLeak(t)
	rec := recorder(RecorderOptions{Log: 4}) // so that they are measured although they are preempted
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
	for i, s := range p.Samples {
		wall, cpu = wall+s.Wall, cpu+s.CPU
		if s.Utilisation < 0 || s.CPU < 0 || s.Paused > s.Wall {
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
	from := moment{at: at, usage: usage{known: true}, paused: time.Hour}
	to := moment{at: at.Add(100 * time.Millisecond), usage: usage{known: true, cpu: 100 * time.Millisecond}}
	procs := float64(runtime.GOMAXPROCS(0))
	for _, test := range []struct {
		paused   time.Duration
		want     float64
		excluded bool
	}{
		{0, 1 / procs, false},
		{20 * time.Millisecond, 1 / procs, false}, // 80 ms of work in the other 80
		{60 * time.Millisecond, 1 / procs, true},
		{time.Second, 0, true},
	} {
		to.paused = from.paused + test.paused
		s := newSample(&from, &to, 0)
		if d := s.Utilisation - test.want; d > 1e-9 || d < -1e-9 || s.Excluded != test.excluded {
			t.Errorf("%v of 100 ms paused: used to %g, excluded %v; want %g, %v", test.paused, s.Utilisation, s.Excluded, test.want, test.excluded)
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
