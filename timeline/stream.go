package timeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// A Stream is a pass over a trace that is still being written, or over several that are written one
// after the other:
//
//	runtime/trace ── Write ──► splitter ──► queue ──► worker: decode ► replay ──► observers
//	                                                          └─ pace ─┘
//
//  1. Write copies what comes and cuts it into generations (splitter.go). It never waits for the
//     worker: the tracer's buffers would pile up behind it, and they have no bound.
//  2. A generation that is complete goes into the queue. If more bytes than MaxPending wait, it is
//     dropped: whole, since half of one is worth nothing.
//  3. The worker takes generations in order. It books its processor time while it spends it, every
//     few dozen microseconds, and rests when it has used what the budget allows so far (budget).
//  4. After a drop, and between two traces, the replay starts again as at the beginning of a trace
//     (replay.gap), and observers are shown the Gap.
//
// What is read does not depend on what it costs: reading takes longer then. Everything that was
// written is counted: as read, as dropped, or as pending.

// StreamOptions configures a [Stream]. The zero value is ready to use.
type StreamOptions struct {
	// Budget is how much of the machine the stream may use: its CPU time (StreamStats.CPU)
	// stays below Budget × GOMAXPROCS × the time since the stream began, but for the last slice
	// of 0.25 ms, for steps that cannot be interrupted, such as AfterGeneration, which are made
	// up for, and for what Close reads. 0 means 0.02; at most 1. Less than 0 means that there
	// is no limit.
	Budget float64
	// Show, if positive, is how much of each trace the observers see, from its first event on.
	Show time.Duration
	// MaxPending bounds the bytes that wait to be read, those of the generation under
	// way included. 0 means 64 MB.
	MaxPending int64
	// MaxMemory bounds what the heap grows by while a generation is read, and what is kept of
	// live goroutines from one to the next, in bytes. A generation that needs more is dropped,
	// and what was known of goroutines is forgotten. 0 means half of the memory of the machine,
	// or of the cgroup; less than 0 means that there is no limit.
	MaxMemory int64
	// AfterGeneration is called on the worker's goroutine, between two calls of the
	// observers, when a generation was shown to them. The argument is valid during the call. It
	// must not call Close.
	AfterGeneration func(*Generation)
	// Panicked is called on the worker's goroutine when an observer, AfterGeneration or a
	// function that was given to EndTrace has panicked with the value. None of them is called
	// again: the stream counts all that comes as broken. It must not call Close.
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
// A trace that costs more than the budget for long is not read as a whole: what does not fit into
// MaxPending is dropped, busy generations more often than quiet ones. For a fair sample, trace for
// a short time now and then, decided before it is known what that costs, and call EndTrace in
// between.
//
// It needs memory for the generations that wait to be read (StreamOptions.MaxPending), some five
// times its bytes for the one being read, and for what lives in the program; none of it grows with
// time, and StreamOptions.MaxMemory bounds it. Traces since Go 1.22 can be read live; older ones
// have no generations.
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
	closing  chan struct{} // closed with it
	done     chan struct{} // the worker has ended
	panicked bool          // an observer did: none is called again

	// The worker's own.
	replay    *replay
	meter     *memory.Meter
	observers []Observer
	missing   Gap // dropped since the generation that was shown last
	pace      pace
	traced    Traced // the trace at hand, as far as it was read
	cut       bool   // a trace has ended since the generation that was shown last
	until     Time   // the end of what is shown of the trace at hand, 0 if that is not known yet

	refuse func(number uint64) bool // tests: which generations to drop
}

// queued is a generation on its way to the worker, a place where some were dropped, or the end of a
// trace.
type queued struct {
	raw     *rawGeneration
	dropped Drop
	end     *func(*Traced)
}

// NewStream returns a stream that shows what is written to it to the observers. Its goroutine
// starts with the first generation; Close ends it.
func NewStream(opt StreamOptions, observers ...Observer) *Stream {
	opt.Budget = budgetOf(opt.Budget)
	if opt.MaxPending <= 0 {
		opt.MaxPending = 64 << 20
	}
	if opt.MaxMemory == 0 {
		opt.MaxMemory = memory.Default()
	}
	here, others := split(observers)
	s := &Stream{opt: opt, observers: append(here, others...), closing: make(chan struct{}), done: make(chan struct{}), collect: newCollector()}
	s.wake.L = &s.mu
	s.pace.stream = s
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

// SetBudget changes StreamOptions.Budget from now on. It may be called at any time, also by
// AfterGeneration.
func (s *Stream) SetBudget(share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opt.Budget = budgetOf(share)
	if !s.began.IsZero() {
		s.budget.change(time.Now(), s.opt.Budget)
	}
}

// SetShow changes StreamOptions.Show for what is written from now on. Call it between two traces.
func (s *Stream) SetShow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opt.Show = d
}

// errClosed is what Write returns after Close.
var errClosed = fmt.Errorf("timeline: the stream is closed: %w", os.ErrClosed)

// Write takes the next bytes of the trace, in pieces of any size. It fails only after Close: what
// is wrong with the bytes is told by Stats and Close, since runtime/trace looks at no error. It
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
		s.arrived = s.began
		s.budget.begin(s.began, s.opt.Budget)
	}
	s.split.write(p)
	s.spend(clock.spent())
	return len(p), nil
}

// EndTrace tells the stream, after runtime/trace.Stop, that what is written next is the beginning
// of another trace. When what was written so far has been read, then is called on the worker's
// goroutine with what there was of the trace, before the observers see the gap; not if an observer
// has panicked. The argument is valid during the call.
func (s *Stream) EndTrace(then func(*Traced)) {
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

// spend counts processor time.
func (s *Stream) spend(cpu time.Duration) {
	s.stats.CPU += cpu
	s.budget.spend(time.Now(), cpu)
}

// complete takes a generation of which no more comes; dropped says why if it is only to be counted.
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

// run sees to it that the worker looks at the queue.
func (s *Stream) run() {
	if !s.started {
		s.started = true
		background.Go(s.work)
	}
	s.wake.Signal()
}

// drop counts generations that are dropped before the worker has seen them, and leaves a mark in
// the queue.
func (s *Stream) drop(why dropReason, d Drop) {
	s.stats.Dropped.add(why, d)
	if n := len(s.queue); n > 0 && s.queue[n-1].raw == nil && s.queue[n-1].end == nil {
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

// Close ends the stream, after runtime/trace.Stop: it waits until what is pending was read, which
// is done without a rest now, and the observers have seen the End. It returns what is wrong with
// the stream: see [StreamStats].Err.
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
		switch {
		case q.end != nil:
			s.endTrace(*q.end)
		case q.raw == nil:
			s.missing.Generations += int(q.dropped.Generations)
			s.missing.Bytes += q.dropped.Bytes
			s.traced.Dropped += q.dropped.Generations
		default:
			s.read(q.raw)
		}
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

// read decodes a generation and replays it.
func (s *Stream) read(raw *rawGeneration) {
	if s.until != 0 && s.replay != nil && s.replay.now >= s.until {
		s.seen(raw, &Generation{Number: raw.number, Bytes: raw.size}) // nothing of it is to be shown
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
	dec := &wireDecoder{decoding: decoding{ctx: s.pace.context(), stacks: s.replay.stacks, meter: s.meter, limit: s.until, size: raw.size}}
	open := func() io.Reader { return io.MultiReader(bytes.NewReader(raw.header), raw.open()) }
	d := dec.decode(open)
	if len(d.lost) > 0 && s.missing.Generations == 0 && !s.cut { // nothing is known of it after a gap
		if running := s.replay.runners(); d.knowsLost(running) {
			d.release()
			dec.running = running
			d = dec.decode(open)
		}
	}
	defer d.release()
	if d.err != nil {
		s.pace.book(s.collect.cost(raw.size))
		if errors.Is(d.err, ErrMemory) {
			s.skip(raw, dropOverMemory, nil)
			return
		}
		s.skip(raw, dropBroken, fmt.Errorf("timeline: generation %d cannot be read: %w", raw.number, d.err))
		return
	}
	gen := Generation{Number: raw.number, Bytes: raw.size, Events: int64(d.events)}
	shown := s.protect(func() { s.show(d, &gen, raw.show) })
	gen.CPU = s.pace.book(s.collect.cost(raw.size))
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
	if f := s.opt.AfterGeneration; f != nil {
		s.protect(func() { f(&gen) })
	}
}

// seen counts a generation that was read.
func (s *Stream) seen(raw *rawGeneration, gen *Generation) {
	if gen.Events > 0 {
		if s.traced.Generations == 0 {
			s.traced.Start = gen.Start
		}
		s.traced.Generations++
		s.traced.End = gen.End
	}
	s.traced.Bytes += gen.Bytes
	s.traced.Events += gen.Events
	s.traced.CPU += gen.CPU
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Pending--
	s.stats.PendingBytes -= raw.size
	s.stats.Generations++
	s.stats.Bytes += raw.size
	s.stats.Events += gen.Events
	s.release(raw)
}

// endTrace does what is to be done between two traces.
func (s *Stream) endTrace(then func(*Traced)) {
	traced := s.traced
	s.traced, s.until, s.cut = Traced{}, 0, true
	if s.panicked || then == nil {
		return
	}
	s.pace.begin()
	defer s.pace.end()
	s.protect(func() { then(&traced) })
}

func (s *Stream) charge(cpu time.Duration) {
	s.mu.Lock()
	s.spend(cpu)
	s.mu.Unlock()
}

// skip drops a generation that the worker has taken.
func (s *Stream) skip(raw *rawGeneration, why dropReason, err error) {
	s.missing.Generations++
	s.missing.Bytes += raw.size
	s.traced.Dropped++
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
func (s *Stream) show(d *decoded, gen *Generation, show time.Duration) {
	r := s.replay
	if (s.missing.Generations > 0 || s.cut) && r.begun {
		gap := s.missing
		r.gap(d, &gap)
		gen.Gap = &gap
	}
	s.missing, s.cut = Gap{}, false
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

// slice is how long the worker of a stream goes on, when it has rested: so long at most do others
// wait for its processor.
const slice = 250 * time.Microsecond

// budget is a bucket of processor time. It fills with Budget × GOMAXPROCS for each second, up to a
// slice, and what the stream uses is taken out. It begins empty, so what was used is at no time
// more than what was allowed since the beginning and the last slice.
type budget struct {
	share  float64   // of each processor; below 0 there is no limit
	at     time.Time // up to when the bucket was filled
	credit time.Duration
}

func (b *budget) begin(now time.Time, share float64) { *b = budget{share: share, at: now} }

// rate is how much processor time there is for a second.
func (b *budget) rate() float64 { return b.share * float64(runtime.GOMAXPROCS(0)) }

func (b *budget) fill(now time.Time) {
	if dt := now.Sub(b.at); dt > 0 && b.share >= 0 {
		b.credit = min(slice, b.credit+time.Duration(float64(dt)*b.rate()))
	}
	b.at = now
}

// change changes the share from now on.
func (b *budget) change(now time.Time, share float64) {
	b.fill(now)
	b.share = share
}

// spend takes out what was used.
func (b *budget) spend(now time.Time, cpu time.Duration) {
	b.fill(now)
	if b.share >= 0 {
		b.credit -= cpu
	}
}

// longestRest is after how long a rest is thought over: the budget may have changed.
const longestRest = time.Second

// rest returns how long to rest until there is a slice again; 0 while something is left of the last
// one.
func (b *budget) rest(now time.Time) time.Duration {
	b.fill(now)
	if b.share < 0 || b.credit > 0 {
		return 0
	}
	return time.Duration(min(float64(slice-b.credit)/b.rate(), float64(longestRest)))
}

// pace books the processor time of the worker of a stream while it is spent, and has it rest.
type pace struct {
	stream *Stream
	clock  cpuClock
	since  time.Duration // booked since begin
	looked time.Time     // when breathe looked at the clock of the thread last
}

// lookEvery is how often that is: it is a system call.
const lookEvery = 20 * time.Microsecond

// begin starts the clock of the thread.
func (p *pace) begin() {
	runtime.LockOSThread()
	p.clock, p.since = startCPUClock(), 0
}

// end books what was spent, and rests if need be.
func (p *pace) end() {
	p.book(0)
	runtime.UnlockOSThread()
	p.rest()
}

// book books what was spent, and more that was spent elsewhere, and returns all since begin.
func (p *pace) book(elsewhere time.Duration) time.Duration {
	cpu := p.clock.spent() + elsewhere
	p.clock = startCPUClock()
	p.since += cpu
	p.stream.charge(cpu)
	return p.since
}

// breathe is called again and again, every few microseconds.
func (p *pace) breathe() {
	now := time.Now()
	if now.Sub(p.looked) < lookEvery {
		return
	}
	p.looked = now
	p.book(0)
	s := p.stream
	s.mu.Lock()
	tired := !s.closed && s.budget.rest(now) > 0
	s.mu.Unlock()
	if !tired {
		return
	}
	runtime.UnlockOSThread() // a thread that sleeps costs more than a goroutine
	p.rest()
	runtime.LockOSThread()
	p.clock, p.looked = startCPUClock(), time.Now()
}

// rest returns when the budget allows another slice, or at Close.
func (p *pace) rest() {
	s := p.stream
	for {
		s.mu.Lock()
		d := s.budget.rest(time.Now())
		s.mu.Unlock()
		if d <= 0 {
			return
		}
		timer := time.NewTimer(d)
		select {
		case <-timer.C:
		case <-s.closing:
			timer.Stop()
			return
		}
	}
}

// context returns a context that never ends. A decoder asks it every few hundred events whether it
// has.
func (p *pace) context() context.Context { return breathing{context.Background(), p} }

type breathing struct {
	context.Context
	pace *pace
}

func (b breathing) Err() error {
	b.pace.breathe()
	return nil
}

// The garbage collector works on threads of its own, for all that the program allocates. What it
// does because of a stream is estimated: its processor time so far, by the stream's part of what
// was allocated. In a program that keeps little and allocates much that is a tenth of what the
// stream takes itself, else a few hundredths.

// allocatedPerByte is how many bytes are allocated to read a byte of a trace: 3 to 10 for the
// decoder and the replay, and as much again for the analyses of this module where goroutines live
// shortly.
const allocatedPerByte = 10

// collector reads what the garbage collector has cost so far.
type collector struct{ samples [2]metrics.Sample }

func newCollector() collector {
	return collector{[2]metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/heap/allocs:bytes"}}}
}

// cost is what collecting the memory takes that was used to read so many bytes of a trace.
func (c *collector) cost(bytes int64) time.Duration {
	metrics.Read(c.samples[:])
	cpu, allocated := c.samples[0].Value, c.samples[1].Value
	if cpu.Kind() != metrics.KindFloat64 || allocated.Kind() != metrics.KindUint64 || allocated.Uint64() == 0 {
		return 0 // a version of Go that does not tell
	}
	own := allocatedPerByte * float64(bytes) / float64(allocated.Uint64())
	return time.Duration(min(own, 1) * cpu.Float64() * float64(time.Second))
}

// Generation tells of a generation of a trace that the observers of a [Stream] have seen.
type Generation struct {
	Number     uint64 // the runtime's count, from 1
	Start, End Time   // the time that it added to the pass
	Bytes      int64
	Events     int64
	// CPU is what reading it took; see [StreamStats].CPUSource.
	CPU time.Duration
	// Gap is what is missing directly before it, or nil.
	Gap *Gap
}

// Traced tells of a trace that a [Stream] has read: see [Stream.EndTrace].
type Traced struct {
	// Start and End are the time that was shown of it.
	Start, End Time
	// Generations were shown, Dropped were not.
	Generations, Dropped int64
	Bytes, Events        int64
	// CPU is what reading it took; see [StreamStats].CPUSource.
	CPU time.Duration
}

// Drop counts generations that were dropped.
type Drop struct {
	Generations int64
	Bytes       int64
	// Duration is the time they were about, by when they arrived.
	Duration time.Duration
}

func (d *Drop) add(e Drop) {
	d.Generations += e.Generations
	d.Bytes += e.Bytes
	d.Duration += e.Duration
}

// Dropped counts what a [Stream] dropped, in sum and by reason.
type Dropped struct {
	Drop
	// Behind: StreamOptions.MaxPending bytes were waiting already.
	Behind Drop
	// OverMemory: reading them would have needed more memory than StreamOptions.MaxMemory.
	OverMemory Drop
	// Broken: they are not what a trace consists of, or an observer panicked.
	Broken Drop
}

// dropReason is one of the fields of Dropped.
type dropReason uint8

const (
	dropBehind dropReason = iota
	dropOverMemory
	dropBroken
)

func (d *Dropped) add(why dropReason, e Drop) {
	d.Drop.add(e)
	(*[...]*Drop{dropBehind: &d.Behind, dropOverMemory: &d.OverMemory, dropBroken: &d.Broken}[why]).add(e)
}

// StreamStats tells what a [Stream] has done so far. Every generation that was
// written is counted once: in Generations, in Dropped or in Pending.
type StreamStats struct {
	Generations int64 // shown to the observers, or after the end of what is to be shown of a trace (StreamOptions.Show)
	Bytes       int64 // of these generations
	Events      int64 // in them
	Dropped     Dropped
	// Pending and PendingBytes are what waits to be read, without the generation under way.
	Pending, PendingBytes int64
	// CPU is the time that the stream used: for copying, decoding, replay and observers, and
	// what the garbage collector does because of the memory that this takes, by estimate.
	CPU time.Duration
	// CPUSource says how CPU was measured: "thread clock", or "wall clock", an upper
	// bound, on systems where Go does not reach the clock of a thread.
	CPUSource string
	// Elapsed is the time from the first byte until now, or until Close.
	Elapsed time.Duration
	// Err is what is wrong with the stream: what was written is no trace, is broken or ends in
	// the middle, or an observer panicked.
	Err error
}
