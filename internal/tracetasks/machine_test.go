package tracetasks

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The processor time of each sample is the running time of goroutines in it, without pauses. Here
// it is summed from the times of each goroutine, cut at the edges of the samples.
func TestTraceMachineSamples(t *testing.T) {
	type ran struct{ from, to timeline.Time }
	const begin = 1000
	r := rand.New(rand.NewPCG(1, 1))
	var m traceMachine
	m.begin(begin)
	var runs, pauses []ran
	since := make([]timeline.Time, 4) // of running goroutines; 0 for the others
	paused, now := timeline.Time(0), timeline.Time(begin)
	for range 5000 {
		now += timeline.Time(r.IntN(int(granularity.SampleEvery) / 20))
		if r.IntN(10) == 0 {
			m.stopped(&timeline.Span{Name: "stop-the-world (GC mark termination)", Time: now, Begin: paused == 0})
			if paused == 0 {
				paused = now
			} else {
				pauses, paused = append(pauses, ran{paused, now}), 0
			}
			continue
		}
		g := r.IntN(len(since))
		tr := &timeline.Transition{To: timeline.Running}
		tr.State, tr.End = timeline.Runnable, now
		if since[g] == 0 {
			since[g] = now
		} else {
			tr.State, tr.To = timeline.Running, timeline.Waiting
			runs, since[g] = append(runs, ran{since[g], now}), 0
		}
		m.transition(tr)
	}
	for _, s := range since {
		if s != 0 {
			runs = append(runs, ran{s, now})
		}
	}
	if paused != 0 {
		pauses = append(pauses, ran{paused, now})
	}
	m.finish(now)
	overlap := func(a, b ran) timeline.Time { return max(0, min(a.to, b.to)-max(a.from, b.from)) }
	for i, p := range m.pauses {
		if want := pauses[i]; p.At != int64(want.to) || p.Length != time.Duration(want.to-want.from) {
			t.Errorf("pause %d: %v up to %d, want %v", i, p.Length, p.At, want)
		}
	}
	if ended := len(m.pauses); ended < 100 || ended != len(pauses) && ended+1 != len(pauses) {
		t.Errorf("%d pauses, want %d", ended, len(pauses))
	}
	at := timeline.Time(begin)
	for i, s := range m.samples {
		part := ran{at, at + timeline.Time(s.Wall)}
		at = part.to
		cpu := timeline.Time(0)
		for _, x := range runs {
			cpu += overlap(x, part)
			for _, p := range pauses {
				cpu -= overlap(ran{max(x.from, p.from), min(x.to, p.to)}, part)
			}
		}
		if s.CPU != time.Duration(cpu) || s.At != int64(at) {
			t.Fatalf("sample %d, up to %d: %v at %d, want %v", i, at, s.CPU, s.At, time.Duration(cpu))
		}
	}
	if at != now || len(m.samples) < 100 {
		t.Errorf("%d samples up to %d, want %d", len(m.samples), at, now)
	}
}
