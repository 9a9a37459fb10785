package granularity

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/schedstat"
)

// The vertical profile (section 3.3 of the paper) is what the machine did while tasks executed.
// Every 100 ms, the CPU time and the context switches of the process are read, and the collector's
// pauses. A sample's utilization is that of its time outside pauses, and a sample that consists
// mostly of pauses is excluded.

// SampleEvery is the sampling interval of the machine.
const SampleEvery = 100 * time.Millisecond

// waits is how long goroutines and threads of the process have been ready since it began.
type waits struct{ ready, delayed time.Duration }

// processWaits returns the waits of the process, in about 0.1 ms. The runtime samples one in eight
// of the times that a goroutine is ready. The sum uses the upper ends of its buckets, which are up
// to a quarter too large.
func processWaits() (w waits) {
	const tracked = 8 // runtime.gTrackingPeriod
	s := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	if metrics.Read(s); s[0].Value.Kind() == metrics.KindFloat64Histogram {
		h, sum := s[0].Value.Float64Histogram(), 0.0
		for i, n := range h.Counts {
			if n > 0 {
				sum += float64(n) * cmp.Or(finite(h.Buckets[i+1]), h.Buckets[i])
			}
		}
		w.ready = time.Duration(tracked * sum * 1e9)
	}
	if times, known := schedstat.Read(os.Getpid()); known {
		w.delayed = times.Delay
	}
	return w
}

// finite returns v, or 0 if it is infinite.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return 0
	}
	return v
}

// Sample is what the process used during one interval.
type Sample struct {
	// At is the end of the interval on the clock of [Profile].Start: nanoseconds
	// of CLOCK_MONOTONIC on Linux.
	At     int64         `json:"at_ns"`
	Wall   time.Duration `json:"wall_ns"`   // length of the interval
	Paused time.Duration `json:"paused_ns"` // part in which the collector had stopped the world
	CPU    time.Duration `json:"cpu_ns"`    // processor time of all threads of the process
	// Voluntary and Involuntary are the context switches of the process's threads.
	Voluntary   uint64 `json:"voluntary"`
	Involuntary uint64 `json:"involuntary"`
	// Throttles is how often a control group of the process had used up its quota (nr_throttled),
	// and Throttled for how long, summed over the processors (throttled_usec).
	Throttles uint64        `json:"throttles,omitempty"`
	Throttled time.Duration `json:"throttled_ns,omitempty"`
	// CgroupCPU is the processor time that all processes of the control group used, and
	// CgroupCapacity what they could have used: Wall × their processors. MachineCPU and
	// MachineCapacity are those of everything on the machine. On Linux; else they are 0.
	CgroupCPU       time.Duration `json:"cgroup_cpu_ns,omitempty"`
	CgroupCapacity  time.Duration `json:"cgroup_capacity_ns,omitempty"`
	MachineCPU      time.Duration `json:"machine_cpu_ns,omitempty"`
	MachineCapacity time.Duration `json:"machine_capacity_ns,omitempty"`
	// Ready is how long goroutines of the process waited for a processor, summed over all: an
	// upper estimate from the runtime's samples. Delayed is how long its threads waited for other
	// threads. Both are known only for the whole run ([Profile].Run); 0 means unknown.
	Ready   time.Duration `json:"ready_ns,omitempty"`
	Delayed time.Duration `json:"delayed_ns,omitempty"`
	// Utilization is CPU ÷ (Wall × GOMAXPROCS), with pauses excluded from both.
	Utilization float64 `json:"utilization"`
	Excluded    bool    `json:"excluded,omitempty"` // most of the interval was a pause
}

// times and counts return the fields that add up.
func (s *Sample) times() []*time.Duration {
	return []*time.Duration{&s.Wall, &s.Paused, &s.CPU, &s.Ready, &s.Delayed, &s.Throttled,
		&s.CgroupCPU, &s.CgroupCapacity, &s.MachineCPU, &s.MachineCapacity}
}

func (s *Sample) counts() []*uint64 { return []*uint64{&s.Voluntary, &s.Involuntary, &s.Throttles} }

// ThrottledShare returns the share of the processors that throttling took away, at most 1.
func (s *Sample) ThrottledShare(procs int) float64 {
	if s.Wall <= 0 || procs <= 0 {
		return 0
	}
	return min(1, float64(s.Throttled)/float64(s.Wall)/float64(procs))
}

// utilization is the mean utilization of processors in [Profile].Samples.
type utilization struct {
	By         string  // what used them, such as "the process"
	Processors float64 // their number; 0 if the system does not count their use
	// Mean is NaN if unknown. Half is half the width of its 95 % confidence interval, by the
	// variation among independent samples; NaN with fewer than three.
	Mean, Half float64
}

// Utilizations returns the mean utilization by the process, outside pauses, by its control group and
// by all programs of the machine; of a trace, only that by running goroutines.
func (p *Profile) Utilizations() []utilization {
	by := "the process"
	switch {
	case p.Source == SourceTrace:
		by = "running goroutines"
	case p.Instances > 1:
		by = "an average process"
	}
	procs := float64(max(1, p.Procs))
	own := p.mean(by, func(s *Sample) (used, of float64) {
		of = procs * float64(max(0, s.Wall-s.Paused))
		return s.Utilization * of, of
	})
	if own.Processors = procs; p.Source == SourceTrace {
		return []utilization{own}
	}
	return []utilization{own,
		p.mean("the control group", func(s *Sample) (used, of float64) {
			return float64(min(s.CgroupCPU, s.CgroupCapacity)), float64(s.CgroupCapacity)
		}),
		p.mean("all programs of the machine", func(s *Sample) (used, of float64) {
			if p.Wall > 0 && p.Wall < 50*time.Millisecond { // the system counts ticks of 10 ms
				return 0, 0
			}
			return float64(min(s.MachineCPU, s.MachineCapacity)), float64(s.MachineCapacity)
		})}
}

// mean returns the mean of what a function returns for the samples.
func (p *Profile) mean(by string, get func(*Sample) (used, of float64)) utilization {
	var n, wall, all, sum, squares float64
	each := func(f func(s *Sample, used, of float64)) {
		for i := range p.Samples {
			s := &p.Samples[i]
			if used, of := get(s); !s.Excluded && of > 0 && !math.IsNaN(used) {
				f(s, used, of)
			}
		}
	}
	each(func(s *Sample, used, of float64) { n, wall, all, sum = n+1, wall+float64(s.Wall), all+of, sum+used })
	u := utilization{By: by, Mean: sum / all, Half: math.NaN()}
	if n > 0 {
		u.Processors = all / wall
	}
	each(func(_ *Sample, used, of float64) { squares += (used - u.Mean*of) * (used - u.Mean*of) })
	if n >= 3 {
		u.Half = t975(n-1) * math.Sqrt(n/(n-1)*squares) / all
	}
	return u
}

// t975 returns the 97.5 % quantile of Student's t distribution, with degrees of freedom rounded
// down, so the interval is never too narrow.
func t975(df float64) float64 {
	table := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}
	n := max(1, math.Floor(df+1e-9))
	if n <= float64(len(table)) {
		return table[int(n)-1]
	}
	return 1.95996 + 2.37/n + 2.8/(n*n) // within 0.001 from 30 on
}

// String returns the utilization as in "CPU utilization of 4 processors by the process: 63 % ± 4 %
// (95 % confidence)".
func (u utilization) String() string {
	if u.Processors == 0 {
		return "CPU utilization by " + u.By + ": not counted"
	}
	s := "CPU utilization of " + host.Count(math.Round(100*u.Processors)/100) + " by " + u.By
	if !math.IsNaN(u.Mean) {
		s += fmt.Sprintf(": %.0f %%", 100*u.Mean)
	}
	if u.Half < min(u.Mean, 0.5) { // otherwise the samples are too few to say more
		s += fmt.Sprintf(" ± %.0f %% (95 %% confidence)", 100*u.Half)
	}
	return s
}

// GCPause is one interval in which the garbage collector had stopped the world. The two pauses of a
// collection are combined into one, at the end.
type GCPause struct {
	At     int64         `json:"at_ns"` // the end, on the clock of [Profile].Start
	Length time.Duration `json:"length_ns"`
}

const (
	maxSamples = 4096 // beyond this, neighbors are merged: 7 minutes of 100 ms, 14 of 200 ms, …
	maxPauses  = 4096 // the latest are kept
)

// machine collects samples and pauses; guarded by Recorder.mu.
type machine struct {
	samples []Sample
	pauses  []GCPause
	last    moment // of the latest sample
	stop    func()
}

// Start samples the machine every 100 ms until Stop: its utilization, context switches and GC
// pauses. The diagnosis uses the samples of the intervals in which tasks executed. Tasks are
// recorded without it as well. It costs one goroutine and about 0.1 ms every 100 ms.
func (r *Recorder) Start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.machine.stop != nil {
		return
	}
	r.machine.last = r.now()
	quit, done := make(chan bool), make(chan bool)
	r.machine.stop = func() {
		close(quit)
		<-done
	}
	background.Go(func() {
		defer close(done)
		tick := time.NewTicker(SampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				r.mu.Lock()
				r.machine.sample(r.now(), r.base.Refined().Monotonic)
				r.mu.Unlock()
			}
		}
	})
}

// Stop takes a last sample of the machine, ends the sampling and waits for its goroutine.
func (r *Recorder) Stop() {
	r.mu.Lock()
	stop := r.machine.stop
	r.machine.stop = nil
	r.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.machine.stop == nil { // it was not restarted
		r.machine.sample(r.now(), r.base.Refined().Monotonic)
	}
}

// sample appends what happened since the last sample.
func (m *machine) sample(now moment, monotonic func(tick int64) int64) {
	m.collect(&m.last, &now, monotonic)
	if m.last.cpu > 0 && now.cpu > 0 { // otherwise it would appear that nothing was used
		m.add(newSample(&m.last, &now, monotonic(now.tick)))
	}
	m.last = now
}

// newSample describes the interval between two moments.
func newSample(from, to *moment, at int64) Sample {
	s := Sample{
		At:          at,
		Wall:        to.at.Sub(from.at),
		CPU:         to.cpu - from.cpu,
		Voluntary:   to.voluntary - from.voluntary,
		Involuntary: to.involuntary - from.involuntary,
	}
	s.Paused = min(to.paused-from.paused, s.Wall)
	t := to.throttling.Since(from.throttling)
	s.Throttles, s.Throttled = uint64(t.Throttled), t.For
	if from.cgroup > 0 && to.cgroup > 0 {
		s.CgroupCPU, s.CgroupCapacity = max(0, to.cgroup-from.cgroup), time.Duration(host.Processors()*float64(s.Wall))
	}
	if from.processors > 0 && to.processors > 0 {
		s.MachineCPU, s.MachineCapacity = max(0, to.machine-from.machine), time.Duration(to.processors)*s.Wall
	}
	s.judge(runtime.GOMAXPROCS(0), false)
	return s
}

// add appends a sample, merging neighbors if there are too many.
func (m *machine) add(s Sample) {
	m.samples = append(m.samples, s)
	if len(m.samples) < maxSamples {
		return
	}
	m.samples = FoldSamples(m.samples)
	for i := range m.samples {
		m.samples[i].judge(runtime.GOMAXPROCS(0), false)
	}
}

// collect records the collector's pauses between two moments, of which the runtime keeps the last
// 256. They are identified by number, because their time of day may be set back.
func (m *machine) collect(from, to *moment, monotonic func(tick int64) int64) {
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	at := monotonic(to.tick)
	var found []GCPause
	later := stats.NumGC - to.collections
	for i := later; i < min(stats.NumGC-from.collections, int64(len(stats.PauseEnd))); i++ { // latest first
		// The monotonic clock has advanced in parallel since then.
		found = append(found, GCPause{At: at - int64(to.at.Round(0).Sub(stats.PauseEnd[i])), Length: stats.Pause[i]})
	}
	slices.Reverse(found)
	m.pauses = append(m.pauses, found...)
	if over := len(m.pauses) - maxPauses; over > 0 {
		m.pauses = slices.Delete(m.pauses, 0, over)
	}
}
