package timeline

import (
	"context"
	"runtime"
	"time"
)

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
