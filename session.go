package bottleneck

import (
	"runtime"
	"runtime/trace"
	"sync"
	"time"
	"weak"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// session is the analysis between a Start and the following Stop. One goroutine traces the program
// in bursts:
//
//	trace.Start   burst   trace.Stop   gap   trace.Start   …
//	     └── tap ── Write ──► timeline.Stream ──► observers ──► took
//
// and the goroutine of the stream analyzes the trace.
type session struct {
	c      *Continuous
	stream *timeline.Stream
	clock  wallClock
	// window is that of the analyses, whose types a program with a *Continuous alone does not link.
	window func(b burst, t *timeline.StreamStats, clock *wallClock, maxGroups int) *window

	quit   chan struct{}
	halted sync.Once
	done   chan struct{}

	mu      sync.Mutex
	sampler sampler
	budget  float64       // share of the machine
	cpu     time.Duration // CPU time used by the stream when the previous burst was read

	throttling host.Throttling // at the end of the previous burst
}

func newSession(c *Continuous) *session {
	a := &analyses{opt: &c.opt.Options}
	s := &session{c: c, window: a.window, quit: make(chan struct{}), done: make(chan struct{}), budget: c.opt.budget(nil), throttling: host.Throttled()}
	s.stream = timeline.NewStream(timeline.StreamOptions{Budget: s.budget, MaxPending: c.opt.MaxPending, MaxMemory: c.opt.MaxMemory, Panicked: c.panicked},
		append([]timeline.Observer{&s.clock, &a.bursts}, a.observers()...)...)
	return s
}

// begin starts the first burst. If other code traces, it returns an error or, with anyway, waits.
func (s *session) begin(anyway bool) error {
	first := burst{s.c.burst, 1}
	t, err := s.trace(first)
	if err != nil && !anyway {
		return err
	}
	background.Go(func() { s.run(first, t) })
	return nil
}

// run traces the program in bursts. If t is not nil, the first burst is already running.
func (s *session) run(b burst, t *tap) {
	defer close(s.done)
	for {
		if t != nil {
			s.wait(b.length, t.full)
			t.stop(s.quit)
			s.traced(b, t)
		}
		b = s.plan()
		if !s.wait(b.draw(), nil) {
			return
		}
		var err error
		if t, err = s.trace(b); err != nil {
			s.c.count(func(f *found) { f.missed++ })
		}
	}
}

// wait waits for d, or until early is closed. It returns false if the session ends.
func (s *session) wait(d time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-s.quit:
		return false
	}
	return true
}

// plan returns the next burst.
func (s *session) plan() burst {
	pending := s.stream.Stats().PendingBytes
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sampler.plan(s.c.burst, s.budget*float64(runtime.GOMAXPROCS(0)), pending)
}

// trace starts a burst.
func (s *session) trace(b burst) (*tap, error) {
	s.stream.SetShow(b.length)
	return newTap(s.stream, s.c.opt.MaxPending/4)
}

// traced completes a burst.
func (s *session) traced(b burst, t *tap) {
	bytes, now := t.close(), host.Throttled()
	throttling := now.Since(s.throttling)
	s.throttling = now
	s.mu.Lock()
	s.sampler.traced(b.length, bytes)
	s.mu.Unlock()
	s.stream.EndTrace(func(t *timeline.StreamStats) { s.took(b, t, throttling) })
}

// took processes an analyzed burst, on the goroutine of the stream.
func (s *session) took(b burst, t *timeline.StreamStats, throttling host.Throttling) {
	w := s.window(b, t, &s.clock, s.c.opt.MaxGroups)
	if w == nil {
		s.c.count(func(f *found) { f.lost++ })
		return
	}
	w.throttling = throttling
	w.graph.Throttles, w.graph.Throttled = throttling.Throttled, throttling.For
	budget := s.c.opt.budget(w.graph)
	s.stream.SetBudget(budget)
	cpu := s.stream.Stats().CPU
	s.mu.Lock()
	s.sampler.read(cpu-s.cpu, t.Bytes)
	s.cpu, s.budget = cpu, budget
	s.mu.Unlock()
	s.c.add(w)
}

// halt ends the bursts.
func (s *session) halt() { s.halted.Do(func() { close(s.quit) }) }

// end ends the session after everything that was traced has been analyzed.
func (s *session) end() {
	s.halt()
	<-s.done
	s.stream.Close() // errors are in Live.Stream
}

// tap receives the trace of a burst from the tracer, and determines whether trace.Stop would still
// end this trace: other code may have ended it and started another one. A trace that is stopped
// writes the end of a generation, and its rest at once. So it is still running if it has not
// written such an end, or has written more some time later, or if the tracer still references its
// writer after a garbage collection.
type tap struct {
	stream *timeline.Stream
	limit  int64         // in bytes
	full   chan struct{} // closed when the limit is reached
	writer weak.Pointer[writer]

	mu     sync.Mutex
	closed bool
	bytes  int64
	ended  time.Time // time at which the last generation ended, unless more data was written since
	later  time.Time // time at which more data was written, although a generation had ended
}

// writer is the tracer's only reference to a tap: it is garbage once the trace has ended.
type writer struct{ *tap }

// newTap starts a trace.
func newTap(stream *timeline.Stream, limit int64) (*tap, error) {
	t := &tap{stream: stream, limit: limit, full: make(chan struct{})}
	w := &writer{t}
	if err := trace.Start(w); err != nil {
		return nil, err
	}
	t.writer = weak.Make(w)
	return t, nil
}

// rest is how long after the end of a generation written data may be the rest of a stopped trace.
const rest = 20 * time.Millisecond

func (t *tap) Write(p []byte) (int, error) {
	const endOfGeneration = 52
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return len(p), nil
	}
	switch {
	case len(p) == 1 && p[0] == endOfGeneration:
		t.ended = now
	case !t.ended.IsZero() && now.Sub(t.ended) > rest:
		t.ended, t.later = time.Time{}, now
	}
	before := t.bytes
	t.bytes += int64(len(p))
	if before < t.limit && t.bytes >= t.limit {
		close(t.full)
	}
	return t.stream.Write(p)
}

// close makes the tap discard further data, and returns the number of bytes that it received.
func (t *tap) close() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return t.bytes
}

// goesOn reports whether the trace is known to be running, or to have run since a time. In between,
// the next generation may have ended.
func (t *tap) goesOn(since time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended.IsZero() || t.later.After(since)
}

// patience is how long a tap waits for a sign that its trace is running. The tracer writes a
// generation at least once per second.
const patience = 2 * time.Second

// stop ends the trace, unless other code has. If other code stops this trace and starts another one
// at the same instant, stop may end that one, because runtime/trace cannot stop a specific trace.
func (t *tap) stop(quit <-chan struct{}) {
	began, patient := time.Now(), time.After(patience)
	for trace.IsEnabled() && t.writer.Value() != nil {
		if t.goesOn(began) {
			trace.Stop()
			return
		}
		select {
		case <-time.After(rest / 4):
			continue
		case <-quit:
		case <-patient:
		}
		if runtime.GC(); t.writer.Value() != nil {
			trace.Stop()
		}
		return
	}
}
