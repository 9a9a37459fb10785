package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// A Stream is a pass over a trace that is still being written, or over several traces that are
// written one after the other:
//
//	runtime/trace ─ Write ─► splitter ─► queue ─► worker: decode ► replay ─► observers
//	                                                      └─ pace ─┘
//
//  1. Write copies its input and cuts it into generations (splitter.go). It never waits for the
//     worker, because the tracer's buffers, which have no bound, would pile up.
//  2. A complete generation goes into the queue. If it would make more than MaxPending bytes wait,
//     it is dropped as a whole, because half a generation is useless.
//  3. The worker takes generations in order. It charges its CPU time while it spends it, and rests
//     when it has used up what the budget allows so far (budget).
//  4. After a drop, and between two traces, the replay starts again (replay.gap).
//
// The choice of what is read does not depend on its cost. All data written is counted, as read, as
// dropped, or as pending.

// StreamOptions configures a [Stream]. The zero value is ready to use.
type StreamOptions struct {
	// Budget is the share of the machine that the stream may use: its CPU time
	// (StreamStats.CPU) stays below Budget × GOMAXPROCS × the time since the stream began, but
	// for the last slice of 0.25 ms, steps that cannot be interrupted, and the data that Close
	// reads. 0 means 0.02; the maximum is 1. A negative value means no limit.
	Budget float64
	// Show, if positive, limits the observers to the beginning of each trace, for this duration
	// from its first event.
	Show time.Duration
	// MaxPending bounds the bytes that wait to be read, including those of the generation being
	// written. 0 means 64 MB.
	MaxPending int64
	// MaxMemory bounds, in bytes, the growth of the heap while a generation is read, and the
	// state of live goroutines kept between generations. A generation that needs more is
	// dropped, and the state of goroutines is discarded. 0 means half of the memory of the
	// machine or cgroup; a negative value means no limit.
	MaxMemory int64
	// Panicked is called on the worker's goroutine with the panic value if an observer or a
	// function passed to EndTrace panics. They are not called again, and the stream counts all
	// further data as broken. Panicked must not call Close.
	Panicked func(value any)
}

// Stream reads a trace while it is being written, for any length of time. It is the writer to pass
// to runtime/trace.Start:
//
//	s := timeline.NewStream(timeline.StreamOptions{}, observer)
//	if err := trace.Start(s); err != nil { … } // another trace is already running
//	…
//	trace.Stop()
//	err := s.Close()
//
// If a trace costs more than the budget for a long time, busy generations are dropped more often
// than quiet ones. For an unbiased sample, trace for short times that are chosen before their cost
// is known, and call EndTrace in between.
//
// A Stream needs memory for the generations that wait to be read (StreamOptions.MaxPending), about
// five times the size of the generation being read, and for the live state of the program. Memory
// does not grow with time, unless the state of an observer does: those of bottle, contention and
// granularity have Cut methods, which end a result and begin the next.
type Stream struct {
	opt StreamOptions

	mu       sync.Mutex
	wake     sync.Cond // signaled when queue or closed changes
	split    splitter
	queue    []queued
	pending  int64 // bytes of the queue, of the generation being written, and of the one being read
	budget   budget
	stats    StreamStats
	began    time.Time // time of the first byte
	arrived  time.Time // time at which the latest generation was complete
	started  bool      // the worker was started
	closed   bool
	closing  chan struct{} // closed together with the stream
	done     chan struct{} // closed when the worker has ended
	panicked bool          // an observer panicked; none is called again

	// Owned by the worker:
	replay    *replay
	meter     *memory.Meter
	observers []Observer
	gap       bool // generations were dropped, or a trace ended, since the last one that was shown
	pace      pace
	traced    StreamStats // of the current trace so far
	until     Time        // end of the shown part of the current trace, 0 if not yet known

	refuse func(number uint64) bool // tests: which generations to drop
}

// queued is a generation on its way to the worker, a mark for dropped generations, or the end of a
// trace.
type queued struct {
	raw     *rawGeneration
	dropped Drop
	end     *func(*StreamStats)
}

// NewStream returns a stream that shows the trace written to it to the observers. Its goroutine
// starts with the first generation and ends with Close.
func NewStream(opt StreamOptions, observers ...Observer) *Stream {
	if opt.MaxPending <= 0 {
		opt.MaxPending = 64 << 20
	}
	if opt.MaxMemory == 0 {
		opt.MaxMemory = memory.Default()
	}
	here, others := split(observers)
	s := &Stream{opt: opt, observers: append(here, others...), closing: make(chan struct{}), done: make(chan struct{})}
	s.SetBudget(opt.Budget)
	s.wake.L = &s.mu
	s.pace.stream = s
	s.split.stream = s
	return s
}

// SetBudget changes StreamOptions.Budget from now on. It may be called at any time.
func (s *Stream) SetBudget(share float64) {
	share = cmp.Or(share, 0.02)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.began.IsZero() {
		s.budget.fill(time.Now())
	}
	s.budget.share = min(share, 1)
}

// SetShow changes StreamOptions.Show for data written from now on. It must be called between two
// traces.
func (s *Stream) SetShow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opt.Show = d
}

// errClosed is returned by Write after Close.
var errClosed = fmt.Errorf("timeline: the stream is closed: %w", os.ErrClosed)

// Write adds the next bytes of the trace, in pieces of any size. It fails only after Close: errors
// in the data are reported by Stats and Close, because runtime/trace ignores errors of Write. It
// never waits for the observers.
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
		s.arrived, s.budget.at = s.began, s.began
	}
	s.split.write(p)
	s.spend(clock.spent())
	return len(p), nil
}

// EndTrace marks the end of a trace, after runtime/trace.Stop: the next bytes written begin another
// one. When the data written so far has been read, the function then is called on the worker's
// goroutine with the statistics of the trace, before the observers see the gap. It is not called if
// an observer has panicked. The argument is valid only during the call.
func (s *Stream) EndTrace(then func(*StreamStats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.split.end()
	s.split = splitter{stream: s}
	s.queue = append(s.queue, queued{end: &then})
	s.arrived = time.Time{}
	s.run()
}

// spend accounts for CPU time.
func (s *Stream) spend(cpu time.Duration) {
	s.stats.CPU += cpu
	s.budget.spend(time.Now(), cpu)
}

// complete queues a complete generation. If raw is nil, the generation is only counted as dropped,
// with the reason why.
func (s *Stream) complete(raw *rawGeneration, bytes int64, why dropReason) {
	now := time.Now()
	var took time.Duration
	if !s.arrived.IsZero() {
		took = now.Sub(s.arrived)
	}
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
	s.queue = append(s.queue, queued{raw: raw})
	s.stats.Pending++
	s.stats.PendingBytes += raw.size
	s.run()
}

// run wakes the worker, and starts it if necessary.
func (s *Stream) run() {
	if !s.started {
		s.started = true
		background.Go(s.work)
	}
	s.wake.Signal()
}

// drop counts generations that are dropped before the worker has seen them and puts a mark into the
// queue.
func (s *Stream) drop(why dropReason, d Drop) {
	s.stats.drop(why, d)
	if n := len(s.queue); n > 0 && s.queue[n-1].raw == nil && s.queue[n-1].end == nil {
		s.queue[n-1].dropped.add(d)
	} else {
		s.queue = append(s.queue, queued{dropped: d})
	}
}

// release releases the memory of a generation.
func (s *Stream) release(raw *rawGeneration) {
	s.pending -= raw.size
	raw.chunks.Release()
}

// fail records the first error.
func (s *Stream) fail(err error) {
	if s.stats.Err == nil {
		s.stats.Err = err
	}
}

// Stats returns statistics of the stream so far. It may be called at any time, including after
// Close.
func (s *Stream) Stats() StreamStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	if st.Elapsed == 0 && !s.began.IsZero() {
		st.Elapsed = time.Since(s.began)
	}
	return st
}

// Close ends the stream; call it after runtime/trace.Stop. It waits until the pending data has been
// read, without regard to the budget, and the observers have seen the End. It returns the error of
// the stream; see [StreamStats].Err.
func (s *Stream) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.split.end()
		s.closed = true
		close(s.closing)
		s.wake.Broadcast()
		if !s.started {
			close(s.done)
		}
	}
	s.mu.Unlock()
	<-s.done
	s.mu.Lock()
	if s.stats.Elapsed == 0 && !s.began.IsZero() {
		s.stats.Elapsed = time.Since(s.began)
	}
	err := s.stats.Err
	s.mu.Unlock()
	return err
}

// work runs on the worker's goroutine.
func (s *Stream) work() {
	defer close(s.done)
	for {
		q, ok := s.next()
		if !ok {
			break
		}
		switch {
		case q.end != nil:
			s.endTrace(*q.end)
		case q.raw == nil:
			s.gap = true
			s.traced.Dropped.add(q.dropped)
		default:
			s.read(q.raw)
		}
	}
	if s.replay != nil && !s.panicked {
		s.protect(s.replay.end)
	}
}

// next waits for the next item of the queue. It returns false if there will be none.
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
	s.queue = slices.Delete(s.queue, 0, 1)
	return q, true
}

// read decodes a generation and replays it.
func (s *Stream) read(raw *rawGeneration) {
	if s.until != 0 && s.replay != nil && s.replay.now >= s.until {
		s.seen(raw, &StreamStats{}) // nothing of it is shown
		return
	}
	if s.refuse != nil && s.refuse(raw.number) {
		s.skip(raw, dropBehind, nil)
		return
	}
	if s.replay == nil {
		s.meter = memory.NewMeter(s.opt.MaxMemory)
		s.replay = newReplay(raw.version, newStackTable(), s.observers)
		s.replay.info.Version, s.replay.info.Size = raw.version, -1
		s.replay.breathe = s.pace.breathe
	}
	s.pace.begin()
	defer s.pace.end()
	s.meter = s.meter.Next()
	defer s.meter.End()
	s.replay.meter = s.meter
	dec := &decoding{ctx: breathing{context.Background(), &s.pace}, version: raw.version, stacks: s.replay.stacks, meter: s.meter, size: raw.size}
	d := dec.decode(raw.chunks.Reader)
	defer d.release()
	if d.err != nil {
		s.pace.book(collectorCost(raw.size))
		if errors.Is(d.err, ErrMemory) {
			s.skip(raw, dropOverMemory, nil)
			return
		}
		s.skip(raw, dropBroken, fmt.Errorf("timeline: generation %d cannot be read: %w", raw.number, d.err))
		return
	}
	gen := StreamStats{Events: int64(d.events)}
	shown := s.protect(func() { s.show(d, &gen, raw.show) })
	gen.CPU = s.pace.book(collectorCost(raw.size))
	if !shown {
		s.skip(raw, dropBroken, nil)
		return
	}
	if s.replay.full != nil {
		s.protect(s.replay.forget)
		s.skip(raw, dropOverMemory, nil)
		return
	}
	s.seen(raw, &gen)
}

// seen counts a generation that was read.
func (s *Stream) seen(raw *rawGeneration, gen *StreamStats) {
	t := &s.traced
	if gen.Events > 0 {
		if t.Generations == 0 {
			t.Start = gen.Start
		}
		t.Generations++
		t.End = gen.End
	}
	t.Bytes += raw.size
	t.Events += gen.Events
	t.CPU += gen.CPU
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unqueue(raw)
	s.stats.Generations++
	s.stats.Bytes += raw.size
	s.stats.Events += gen.Events
}

// unqueue ends the wait of a generation that is read or dropped.
func (s *Stream) unqueue(raw *rawGeneration) {
	s.stats.Pending--
	s.stats.PendingBytes -= raw.size
	s.release(raw)
}

// endTrace resets the state between two traces and calls then.
func (s *Stream) endTrace(then func(*StreamStats)) {
	traced := s.traced
	s.traced, s.until, s.gap = StreamStats{}, 0, true
	if s.panicked || then == nil {
		return
	}
	s.pace.begin()
	defer s.pace.end()
	s.protect(func() { then(&traced) })
}

// skip drops a generation that the worker has taken from the queue.
func (s *Stream) skip(raw *rawGeneration, why dropReason, err error) {
	s.gap = true
	d := Drop{1, raw.size, raw.took}
	s.traced.Dropped.add(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unqueue(raw)
	s.stats.drop(why, d)
	if err != nil {
		s.fail(err)
	}
}

// show replays a generation, after the gap before it, if any.
func (s *Stream) show(d *decoded, gen *StreamStats, show time.Duration) {
	r := s.replay
	if s.gap && r.begun {
		r.gap(d)
	}
	s.gap = false
	if s.until == 0 && show > 0 && d.hasReal {
		s.until = max(r.now, d.firstReal) + Time(show)
	}
	r.until = s.until
	begun := r.begun
	gen.Start = r.now
	r.generation(d)
	if !begun {
		gen.Start = r.info.Start
	}
	gen.End = r.now
	r.kept = byID{} // every live goroutine has been shown by now
	r.bound()
}

// protect calls f and reports whether it returned. After a panic of an observer, observers are not
// called again.
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
				s.stats.drop(dropBroken, Drop{1, raw.size, raw.took})
				s.unqueue(raw)
			}
		}
		s.mu.Unlock()
	}()
	f()
	return true
}

// slice is how long the worker of a stream runs between two rests. It bounds the time for which
// others wait for its processor.
const slice = 250 * time.Microsecond

// budget is a token bucket of CPU time. It fills at Budget × GOMAXPROCS per second, up to a slice,
// and the CPU time used is taken out. It starts empty, so the CPU time used never exceeds what was
// allowed since the beginning plus the last slice.
type budget struct {
	share  float64   // of each processor; negative means no limit
	at     time.Time // time up to which the bucket was filled
	credit time.Duration
}

// rate is the CPU time allowed per second.
func (b *budget) rate() float64 { return b.share * float64(runtime.GOMAXPROCS(0)) }

func (b *budget) fill(now time.Time) {
	if dt := now.Sub(b.at); dt > 0 && b.share >= 0 {
		b.credit = min(slice, b.credit+time.Duration(float64(dt)*b.rate()))
	}
	b.at = now
}

// spend takes the used CPU time out of the bucket.
func (b *budget) spend(now time.Time, cpu time.Duration) {
	b.fill(now)
	if b.share >= 0 {
		b.credit -= cpu
	}
}

// longestRest bounds a rest, because the budget may change during it.
const longestRest = time.Second

// rest returns how long to rest until a whole slice is available, or 0 while part of the last slice
// is left.
func (b *budget) rest(now time.Time) time.Duration {
	b.fill(now)
	if b.share < 0 || b.credit > 0 {
		return 0
	}
	return time.Duration(min(float64(slice-b.credit)/b.rate(), float64(longestRest)))
}

// pace charges the CPU time of the worker of a stream while it is spent, and makes the worker rest.
type pace struct {
	stream *Stream
	clock  cpuClock
	since  time.Duration // booked since begin
	looked time.Time     // when breathe last read the thread clock
}

// lookEvery is the interval between reads of the thread clock, which take a system call.
const lookEvery = 20 * time.Microsecond

// begin starts the thread clock.
func (p *pace) begin() {
	runtime.LockOSThread()
	p.clock, p.since = startCPUClock(), 0
}

// end charges the CPU time and rests if necessary.
func (p *pace) end() {
	p.book(0)
	runtime.UnlockOSThread()
	p.rest()
}

// book charges the CPU time since the last call and the CPU time spent elsewhere. It returns the
// total since begin.
func (p *pace) book(elsewhere time.Duration) time.Duration {
	cpu := p.clock.spent() + elsewhere
	p.clock = startCPUClock()
	p.since += cpu
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	p.stream.spend(cpu)
	return p.since
}

// breathe is called every few microseconds.
func (p *pace) breathe() {
	now := time.Now()
	if now.Sub(p.looked) < lookEvery {
		return
	}
	p.looked = now
	p.book(0)
	if p.due() <= 0 {
		return
	}
	runtime.UnlockOSThread() // a sleeping thread costs more than a sleeping goroutine
	p.rest()
	runtime.LockOSThread()
	p.clock, p.looked = startCPUClock(), time.Now()
}

// due returns how long to rest now.
func (p *pace) due() time.Duration {
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	if p.stream.closed {
		return 0
	}
	return p.stream.budget.rest(time.Now())
}

// rest returns when the budget allows another slice, or at Close.
func (p *pace) rest() {
	for d := p.due(); d > 0; d = p.due() {
		select {
		case <-time.After(d):
		case <-p.stream.closing:
		}
	}
}

// breathing is a context that is never canceled. A decoder calls its Err method every few hundred
// events.
type breathing struct {
	context.Context
	pace *pace
}

func (b breathing) Err() error {
	b.pace.breathe()
	return nil
}

// The garbage collector works on its own threads, for all allocations of the program. Its cost
// caused by a stream is estimated as its CPU time so far times the stream's share of all allocated
// bytes. In a program with a small heap and many allocations, that is a tenth of the stream's own
// CPU time, otherwise a few percent.

// allocatedPerByte is the number of bytes allocated to read a byte of a trace: 3 to 10 for the
// decoder and the replay, and as much again for the analyses of this module if goroutines are
// short-lived.
const allocatedPerByte = 10

// collectorCost returns the estimated cost of collecting the memory used to read the given number of
// bytes of a trace.
func collectorCost(bytes int64) time.Duration {
	samples := [...]metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples[:])
	cpu, allocated := samples[0].Value, samples[1].Value
	if cpu.Kind() != metrics.KindFloat64 || allocated.Kind() != metrics.KindUint64 || allocated.Uint64() == 0 {
		return 0 // this version of Go does not have the metrics
	}
	own := allocatedPerByte * float64(bytes) / float64(allocated.Uint64())
	return time.Duration(min(own, 1) * cpu.Float64() * float64(time.Second))
}

// Drop counts generations that were dropped.
type Drop struct {
	Generations int64
	Bytes       int64
	// Duration is the time that they cover, by the times of their arrival.
	Duration time.Duration
}

func (d *Drop) add(e Drop) {
	d.Generations += e.Generations
	d.Bytes += e.Bytes
	d.Duration += e.Duration
}

// dropReason is why a generation was dropped.
type dropReason uint8

const (
	dropBehind dropReason = iota
	dropOverMemory
	dropBroken
)

// drop counts generations that were dropped.
func (s *StreamStats) drop(why dropReason, d Drop) {
	s.Dropped.add(d)
	[...]*Drop{dropBehind: &s.Behind, dropOverMemory: &s.OverMemory, dropBroken: &s.Broken}[why].add(d)
}

// StreamStats describes what a [Stream] has done so far, or with one trace: see [Stream.EndTrace].
// Every generation that was written is counted exactly once: in Generations, in Dropped or in
// Pending.
type StreamStats struct {
	// Start and End bound the part of a single trace that was shown.
	Start, End Time
	// Generations is the number shown to the observers, or read after the end of the shown part
	// of a trace (StreamOptions.Show). For a single trace, it has only those that were shown.
	Generations int64
	Bytes       int64 // of the generations that were read
	Events      int64 // in them
	// Dropped has the generations that were dropped, and the next three fields have them by
	// reason.
	Dropped Drop
	// Behind: StreamOptions.MaxPending bytes were already waiting.
	Behind Drop
	// OverMemory: reading them would have taken more memory than StreamOptions.MaxMemory.
	OverMemory Drop
	// Broken: they are not valid trace data, or an observer panicked.
	Broken Drop
	// Pending and PendingBytes count the generations that wait to be read, without the one
	// being written.
	Pending, PendingBytes int64
	// CPU is the CPU time of the stream for copying, decoding, replay and observers, plus the
	// estimated cost of garbage collection for its memory. Where Go cannot read the clock of a
	// thread, wall time is an upper bound.
	CPU time.Duration
	// Elapsed is the time from the first byte until now, or until Close.
	Elapsed time.Duration
	// Err is the first error of the stream: the data written is not a trace, is damaged or is
	// incomplete, or an observer panicked.
	Err error
}
