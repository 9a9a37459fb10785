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

// session is the analysis from a Start to the Stop after it. One goroutine traces the program in
// bursts:
//
//	trace.Start   burst   trace.Stop   gap   trace.Start   …
//	     └── tap ── Write ──► timeline.Stream ──► observers ──► took
//
// and that of the stream analyzes what was traced.
type session struct {
	c        *Continuous
	stream   *timeline.Stream
	analyses *analyses
	clock    wallClock

	quit   chan struct{}
	halted sync.Once
	done   chan struct{}

	mu      sync.Mutex
	sampler sampler
	budget  float64       // share of the machine
	cpu     time.Duration // that the stream had used when the burst before was read

	throttling host.Throttling // when the burst before ended
}

func newSession(c *Continuous) *session {
	s := &session{c: c, analyses: newAnalyses(&c.opt.Options), quit: make(chan struct{}), done: make(chan struct{}), budget: c.opt.budget(nil), throttling: host.Throttled()}
	s.stream = timeline.NewStream(timeline.StreamOptions{Budget: s.budget, MaxPending: c.opt.MaxPending, MaxMemory: c.opt.MaxMemory, Panicked: c.panicked},
		append([]timeline.Observer{&s.clock, &s.analyses.bursts}, s.analyses.observers()...)...)
	return s
}

// begin begins with the first burst. If something else traces the program it fails, or waits for a
// gap if it is to begin anyway.
func (s *session) begin(anyway bool) error {
	first := burst{s.c.burst, 1}
	t, err := s.trace(first)
	if err != nil && !anyway {
		return err
	}
	background.Go(func() { s.run(first, t) })
	return nil
}

// run traces the program in bursts, the first of which is under way if t is not nil.
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

// wait waits for a while, or until early is closed. It returns false if the session ends.
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

// trace begins a burst.
func (s *session) trace(b burst) (*tap, error) {
	s.stream.SetShow(b.length)
	return newTap(s.stream, s.c.opt.MaxPending/4)
}

// traced does what is to be done after a burst.
func (s *session) traced(b burst, t *tap) {
	bytes, now := t.close(), host.Throttled()
	throttling := now.Since(s.throttling)
	s.throttling = now
	s.mu.Lock()
	s.sampler.traced(b.length, bytes)
	s.mu.Unlock()
	s.stream.EndTrace(func(t *timeline.Traced) { s.took(b, t, throttling) })
}

// took takes a burst that was analyzed, and the throttling since the burst before. It is called on
// the goroutine of the stream.
func (s *session) took(b burst, t *timeline.Traced, throttling host.Throttling) {
	w := s.analyses.window(b, t, &s.clock, s.c.opt.MaxGroups)
	if w == nil {
		s.c.count(func(f *found) { f.lost++ })
		return
	}
	w.throttling = throttling
	budget := s.c.opt.budget(w.graph)
	s.stream.SetBudget(budget)
	cpu := s.stream.Stats().CPU
	s.mu.Lock()
	s.sampler.read(cpu-s.cpu, t.Bytes)
	s.cpu, s.budget = cpu, budget
	s.mu.Unlock()
	s.c.add(w)
}

// halt has the bursts end.
func (s *session) halt() { s.halted.Do(func() { close(s.quit) }) }

// end ends the session, with all that was traced analyzed.
func (s *session) end() {
	s.halt()
	<-s.done
	s.stream.Close() // what was wrong is in Live.Stream
}

// tap is what takes the trace of a burst from the tracer, and finds out whether it is still this
// trace that trace.Stop would end: something else may have ended it and begun another one. There is
// no question to ask the runtime, but a trace that is ended writes the end of a generation. Without
// one since the beginning, the trace goes on; with one, it does if
//
//   - some more was written a while later: when a trace is ended, the rest comes at once; or
//   - after a garbage collection, the tracer still has the writer that it was given.
type tap struct {
	stream *timeline.Stream
	limit  int64         // of bytes
	full   chan struct{} // is closed when it is reached
	writer weak.Pointer[writer]

	mu     sync.Mutex
	closed bool
	bytes  int64
	ended  time.Time // when a generation did last, unless more was written since
}

// writer is what the tracer has of a tap. Nothing else has it, so it is garbage when the trace has
// ended.
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

// rest is how long after the end of a generation what is written may be the rest of a trace that
// was ended.
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
		t.ended = time.Time{}
	}
	before := t.bytes
	t.bytes += int64(len(p))
	if before < t.limit && t.bytes >= t.limit {
		close(t.full)
	}
	return t.stream.Write(p)
}

// close has the tap take nothing more, and returns how much it took.
func (t *tap) close() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return t.bytes
}

// goesOn reports whether the trace is known to go on.
func (t *tap) goesOn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended.IsZero()
}

// patience is for how long a tap waits for a sign that its trace goes on: a generation is written
// once a second at least.
const patience = 2 * time.Second

// stop ends the trace, unless something else has. What something else begins within the same
// instant in which it ends this one may be taken for it: runtime/trace has no way to end a certain
// trace.
func (t *tap) stop(quit <-chan struct{}) {
	patient := time.After(patience)
	for trace.IsEnabled() && t.writer.Value() != nil {
		if t.goesOn() {
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
