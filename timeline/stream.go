package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// A Stream is a pass over a trace that is still being written:
//
//	runtime/trace ── Write ──► splitter ──► queue ──► worker: budget ► decode ► replay ──► observers
//
//  1. Write copies what comes and cuts it into generations (splitter.go). It never waits for the
//     worker: the tracer's buffers would pile up behind it, and they have no bound.
//  2. A generation is complete every second or so and goes into the queue. If more bytes than
//     MaxPending wait, or it is clear already that the budget will not do, the generation is dropped: whole,
//     since half of one is worth nothing. If more than four wait, the oldest is dropped.
//  3. The worker takes generations in order. The budget (streambudget.go) lets it read one if what it
//     will take, by what the ones before took, is at hand; else the generation is dropped.
//  4. After a drop the replay starts again as at the beginning of a trace (gap.go), and observers are told.
//
// Everything that was written is counted: as read, as dropped, or as pending.

// StreamOptions are the choices of a [Stream]. The zero value is right for most.
type StreamOptions struct {
	// Budget is how much of the machine the stream may use: its CPU time (StreamStats.CPU) stays below
	// Budget × GOMAXPROCS × the time since the stream began, and below the same over any Horizon. Generations
	// that would need more are dropped, and so is the oldest of more than four that wait. 0 means 0.02; at most 1. Less
	// than 0 means that there is no limit.
	Budget float64
	// Horizon is for how long what was not used of the budget is kept. A generation that
	// needs more than Budget × GOMAXPROCS × Horizon is always dropped. 0 means a minute.
	Horizon time.Duration
	// MaxPending bounds the bytes that wait to be read, those of the generation under
	// way included. 0 means 64 MB.
	MaxPending int64
	// MaxMemory bounds what the heap grows by while a generation is read, and what is kept of live goroutines from one to the next, in
	// bytes. A generation that needs more is dropped, and what was known of goroutines is forgotten. 0 means half of the memory of the
	// machine, or of the cgroup; less than 0 means that there is no limit.
	MaxMemory int64
	// AfterGeneration is called on the worker's goroutine, between two calls of the
	// observers, when a generation was shown to them. The argument is valid during the call. It must not call Close.
	AfterGeneration func(*Generation)
	// Panicked is called on the worker's goroutine when an observer, or AfterGeneration, has panicked with the value. None
	// of them is called again: the stream counts all that comes as broken. It must not call Close.
	Panicked func(value any)
}

// Stream reads a trace while it is written, for ever: give it to runtime/trace.Start.
//
//	s := timeline.NewStream(timeline.StreamOptions{}, observer)
//	if err := trace.Start(s); err != nil { … } // somebody else traces already
//	…
//	trace.Stop()
//	err := s.Close()
//
// It needs memory for the generations that wait to be read (StreamOptions.MaxPending), some five times its bytes for
// the one being read, and for what lives in the program; none of it grows with time, and StreamOptions.MaxMemory bounds it. Traces since Go 1.22 can be
// read live; older ones have no generations.
type Stream struct {
	opt StreamOptions

	mu       sync.Mutex
	wake     sync.Cond // the queue or closed has changed
	split    splitter
	queue    []queued
	pending  int64 // bytes of the queue, of the generation under way, and of the one being read
	budget   budget
	collect  collector
	stats    StreamStats
	began    time.Time // when the first byte came
	ended    time.Time // when Close was done
	arrived  time.Time // when the latest generation was complete
	started  bool      // the worker was
	closed   bool
	done     chan struct{} // the worker has ended
	panicked bool          // an observer did: none is called again

	// The worker's own.
	replay    *replay
	meter     *memory.Meter
	observers []Observer
	missing   Gap // dropped since the generation that was shown last

	refuse func(number uint64) bool // tests: which generations to drop
}

// queued is a generation on its way to the worker, or a place where some were dropped.
type queued struct {
	raw     *rawGeneration
	dropped Drop
}

// NewStream returns a stream that shows what is written to it to the observers. Its goroutine starts with the
// first generation; Close ends it.
func NewStream(opt StreamOptions, observers ...Observer) *Stream {
	opt.Budget = budgetOf(opt.Budget)
	if opt.Horizon <= 0 {
		opt.Horizon = time.Minute
	}
	if opt.MaxPending <= 0 {
		opt.MaxPending = 64 << 20
	}
	if opt.MaxMemory == 0 {
		opt.MaxMemory = memory.Default()
	}
	s := &Stream{opt: opt, observers: observers, done: make(chan struct{}), collect: newCollector()}
	s.wake.L = &s.mu
	s.split.stream = s
	s.stats.CPUSource = cpuSource
	return s
}

func budgetOf(share float64) float64 {
	if share == 0 {
		share = 0.02
	}
	return min(share, 1)
}

// SetBudget changes StreamOptions.Budget from now on. What was saved of the old one is kept, up to the new Horizon's worth. It may be
// called at any time, also by AfterGeneration.
func (s *Stream) SetBudget(share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opt.Budget = budgetOf(share)
	if !s.began.IsZero() {
		s.budget.change(time.Now(), s.opt.Budget)
	}
}

// errClosed is what Write returns after Close.
var errClosed = fmt.Errorf("timeline: the stream is closed: %w", os.ErrClosed)

// Write takes the next bytes of the trace, in pieces of any size. It fails only after Close: what is wrong with the bytes
// is told by Stats and Close, since runtime/trace looks at no error. It never waits for the observers.
func (s *Stream) Write(p []byte) (int, error) {
	runtime.LockOSThread() // for the clock of the thread
	defer runtime.UnlockOSThread()
	clock := startCPUClock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errClosed
	}
	if s.began.IsZero() {
		s.began = time.Now()
		s.arrived = s.began
		s.budget.begin(s.began, s.opt.Budget, s.opt.Horizon)
	}
	s.split.write(p)
	s.spend(clock.spent(), 0)
	return len(p), nil
}

// spend counts processor time, of reading so many bytes or, if there are none, of other things.
func (s *Stream) spend(cpu time.Duration, bytes int64) {
	s.stats.CPU += cpu
	s.budget.spend(cpu, bytes)
}

// admit reports whether there is room for n more bytes of a generation that has size already.
func (s *Stream) admit(size, n int64) (why dropReason, ok bool) {
	switch {
	case s.pending+n > s.opt.MaxPending:
		return dropBehind, false
	case s.budget.hopeless(time.Now(), size+n):
		return dropOverBudget, false
	}
	return 0, true
}

// complete takes a generation of which no more comes; dropped says why if it is only to be counted.
func (s *Stream) complete(raw *rawGeneration, bytes int64, why dropReason) {
	now := time.Now()
	took := now.Sub(s.arrived)
	s.arrived = now
	if raw != nil && s.panicked {
		s.release(raw)
		raw, why = nil, dropBroken
	}
	if raw == nil {
		s.drop(why, Drop{1, bytes, took})
		return
	}
	raw.took = took
	if s.stats.Pending >= maxQueued && s.opt.Budget > 0 {
		s.dropOldest()
	}
	s.queue = append(s.queue, queued{raw: raw})
	s.stats.Pending++
	s.stats.PendingBytes += raw.size
	if !s.started {
		s.started = true
		background.Go(s.work)
	}
	s.wake.Signal()
}

// maxQueued is how many generations wait at most: more would be old news when they are read.
const maxQueued = 4

// dropOldest drops the generation that has waited longest.
func (s *Stream) dropOldest() {
	var before Drop // of the marks before it
	for i := range s.queue {
		raw := s.queue[i].raw
		if raw == nil {
			before.add(s.queue[i].dropped)
			continue
		}
		d := Drop{1, raw.size, raw.took}
		s.stats.Pending--
		s.stats.PendingBytes -= raw.size
		s.stats.Dropped.add(dropBehind, d)
		s.release(raw)
		before.add(d)
		s.queue = append(s.queue[:0], s.queue[i:]...)
		s.queue[0] = queued{dropped: before}
		return
	}
}

// drop counts generations that are dropped before the worker has seen them, and leaves a mark in the queue.
func (s *Stream) drop(why dropReason, d Drop) {
	s.stats.Dropped.add(why, d)
	if n := len(s.queue); n > 0 && s.queue[n-1].raw == nil {
		s.queue[n-1].dropped.add(d)
	} else {
		s.queue = append(s.queue, queued{dropped: d})
	}
}

// release gives the memory of a generation back.
func (s *Stream) release(raw *rawGeneration) {
	s.pending -= raw.size
	raw.release()
}

// fail notes the first thing that went wrong.
func (s *Stream) fail(err error) {
	if s.stats.Err == nil {
		s.stats.Err = err
	}
}

// Stats tells what the stream has done so far. It may be called at any time, also after Close.
func (s *Stream) Stats() StreamStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	switch {
	case s.began.IsZero():
	case s.ended.IsZero():
		st.Elapsed = time.Since(s.began)
	default:
		st.Elapsed = s.ended.Sub(s.began)
	}
	return st
}

// Close ends the stream, after runtime/trace.Stop: it waits until what is pending was read, as far as the
// budget goes, and the observers have seen the End. It returns what is wrong with the stream: see [StreamStats].Err.
func (s *Stream) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.split.end()
		s.closed = true
		s.wake.Broadcast()
		if !s.started {
			close(s.done)
		}
	}
	s.mu.Unlock()
	<-s.done
	s.mu.Lock()
	if s.ended.IsZero() {
		s.ended = time.Now()
	}
	s.mu.Unlock()
	return s.Stats().Err
}

// work is the worker's goroutine.
func (s *Stream) work() {
	defer close(s.done)
	for {
		q, ok := s.next()
		if !ok {
			break
		}
		if q.raw == nil {
			s.missing.Generations += int(q.dropped.Generations)
			s.missing.Bytes += q.dropped.Bytes
			continue
		}
		s.read(q.raw)
	}
	if s.replay != nil && !s.panicked {
		s.protect(s.replay.end)
	}
}

// next waits for the next generation; false when there will be none.
func (s *Stream) next() (q queued, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.closed {
		s.wake.Wait()
	}
	if len(s.queue) == 0 {
		return q, false
	}
	q = s.queue[0]
	s.queue = append(s.queue[:0], s.queue[1:]...)
	return q, true
}

// read decodes a generation and replays it, if the budget allows it.
func (s *Stream) read(raw *rawGeneration) {
	s.mu.Lock()
	limit, ok := s.budget.allow(time.Now(), raw.size)
	s.mu.Unlock()
	if s.refuse != nil && s.refuse(raw.number) {
		ok = false
	}
	if !ok {
		s.skip(raw, dropOverBudget, nil)
		return
	}
	runtime.LockOSThread() // for the clock of the thread
	defer runtime.UnlockOSThread()
	clock := startCPUClock()
	if s.replay == nil {
		s.meter = memory.NewMeter(s.opt.MaxMemory)
		s.replay = newReplay(raw.version, newStackTable(), s.observers)
		s.replay.info.Version, s.replay.info.Size = raw.version, -1
	}
	s.meter = s.meter.Next()
	defer s.meter.End()
	s.replay.meter = s.meter
	dec := raw.decoder(s.replay.stacks, s.meter, &clock, limit)
	d := dec.decode(func() io.Reader { return io.MultiReader(bytes.NewReader(raw.header), raw.open()) })
	if d.err != nil && !errors.Is(d.err, errBudget) && !errors.Is(d.err, ErrMemory) {
		var running map[int64]int64 // nothing is known of it after a gap
		if s.missing.Generations == 0 {
			running = s.replay.runners()
		}
		d = decodeAgain(dec, d, raw.header, raw.open(), running)
	}
	defer d.release()
	if d.err != nil {
		s.charge(clock.spent()+s.collect.cost(raw.size), 0)
		switch {
		case errors.Is(d.err, errBudget):
			s.mu.Lock()
			s.budget.tooLow()
			s.mu.Unlock()
			s.skip(raw, dropOverBudget, nil)
		case errors.Is(d.err, ErrMemory):
			s.skip(raw, dropOverMemory, nil)
		default:
			s.skip(raw, dropBroken, fmt.Errorf("timeline: generation %d cannot be read: %w", raw.number, d.err))
		}
		return
	}
	gen := Generation{Number: raw.number, Bytes: raw.size, Events: int64(d.events)}
	if !s.protect(func() { s.show(d, &gen) }) {
		s.charge(clock.spent()+s.collect.cost(raw.size), raw.size)
		s.skip(raw, dropBroken, nil)
		return
	}
	if s.replay.full != nil {
		s.charge(clock.spent()+s.collect.cost(raw.size), raw.size)
		s.protect(s.replay.forget)
		s.skip(raw, dropOverMemory, nil)
		return
	}
	collecting := s.collect.cost(raw.size)
	gen.CPU = clock.spent() + collecting
	s.mu.Lock()
	s.stats.Pending--
	s.stats.PendingBytes -= raw.size
	s.stats.Generations++
	s.stats.Bytes += raw.size
	s.stats.Events += gen.Events
	s.release(raw)
	s.mu.Unlock()
	if f := s.opt.AfterGeneration; f != nil {
		s.protect(func() { f(&gen) })
	}
	s.charge(clock.spent()+collecting, raw.size)
}

func (s *Stream) charge(cpu time.Duration, bytes int64) {
	s.mu.Lock()
	s.spend(cpu, bytes)
	s.mu.Unlock()
}

// skip drops a generation that the worker has taken.
func (s *Stream) skip(raw *rawGeneration, why dropReason, err error) {
	s.missing.Generations++
	s.missing.Bytes += raw.size
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Pending--
	s.stats.PendingBytes -= raw.size
	s.stats.Dropped.add(why, Drop{1, raw.size, raw.took})
	if err != nil {
		s.fail(err)
	}
	s.release(raw)
}

// show replays a generation, after the gap before it if there is one.
func (s *Stream) show(d *decoded, gen *Generation) {
	r := s.replay
	if s.missing.Generations > 0 && r.begun {
		gap := s.missing
		r.gap(d, &gap)
		gen.Gap = &gap
	}
	s.missing = Gap{}
	begun := r.begun
	gen.Start = r.now
	r.generation(d)
	if !begun {
		gen.Start = r.info.Start
	}
	gen.End = r.now
	r.kept = nil // whoever lives was shown by now
	r.bound()
}

// protect calls f and reports whether it came back: an observer that panics is not called again.
func (s *Stream) protect(f func()) (ok bool) {
	defer func() {
		if ok {
			return
		}
		p := recover()
		if f := s.opt.Panicked; f != nil {
			defer f(p)
		}
		s.mu.Lock()
		s.panicked = true
		s.fail(fmt.Errorf("timeline: an observer panicked: %v", p))
		for i := range s.queue {
			if raw := s.queue[i].raw; raw != nil {
				s.queue[i] = queued{dropped: Drop{1, raw.size, raw.took}}
				s.stats.Pending--
				s.stats.PendingBytes -= raw.size
				s.stats.Dropped.add(dropBroken, Drop{1, raw.size, raw.took})
				s.release(raw)
			}
		}
		s.mu.Unlock()
	}()
	f()
	return true
}
