package timeline

import (
	"context"
	"errors"
	"math"
	"runtime"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// budget is a bucket of processor time. It fills with Budget × GOMAXPROCS for each second, up to that of
// the horizon, and what the stream uses is taken out. It begins empty, so what was used is at no time more than what was allowed
// since the beginning. A generation is read only if what it will probably take is in the bucket. That is
// learnt from the generations before; if one takes longer than the bucket has, its decoding is broken off.
type budget struct {
	share   float64 // of each processor; below 0 there is no limit
	horizon time.Duration
	at      time.Time // up to when the bucket was filled
	credit  time.Duration
	perByte float64 // ns: what a byte of a generation takes
	learnt  bool    // perByte was
}

// firstPerByte is what a byte of a trace is taken to need, in ns, as long as nothing is known: most
// traces need 20 to 60, by what the observers do.
const firstPerByte = 60

func (b *budget) begin(now time.Time, share float64, horizon time.Duration) {
	*b = budget{share: share, horizon: horizon, at: now, perByte: firstPerByte}
}

// rate is how much processor time there is for a second.
func (b *budget) rate() float64 { return b.share * float64(runtime.GOMAXPROCS(0)) }

func (b *budget) fill(now time.Time) {
	rate := b.rate()
	if dt := now.Sub(b.at); dt > 0 {
		b.credit += time.Duration(float64(dt) * rate)
		b.at = now
	}
	b.credit = min(b.credit, time.Duration(float64(b.horizon)*rate))
}

// change changes the share from now on.
func (b *budget) change(now time.Time, share float64) {
	if b.share >= 0 {
		b.fill(now)
	}
	b.share, b.at = share, now
}

// cost is what reading so many bytes will probably take.
func (b *budget) cost(bytes int64) time.Duration { return time.Duration(float64(bytes) * b.perByte) }

// hopeless reports whether a generation that has so many bytes already will cost more than there will be.
func (b *budget) hopeless(now time.Time, bytes int64) bool {
	if bytes < streamChunk || b.share < 0 {
		return false
	}
	b.fill(now)
	soon := time.Duration(2 * float64(time.Second) * b.rate()) // when it will be complete
	return b.cost(bytes) > max(b.credit, 0)+soon
}

// allow reports whether a generation may be read, and how long that may take.
func (b *budget) allow(now time.Time, bytes int64) (limit time.Duration, ok bool) {
	if b.share < 0 {
		return math.MaxInt64, true
	}
	b.fill(now)
	return b.credit, b.cost(bytes) <= b.credit
}

// spend takes out what was used, and learns from it if it was for reading so many bytes.
func (b *budget) spend(cpu time.Duration, bytes int64) {
	b.credit -= cpu
	if bytes < 1<<10 {
		return
	}
	// Quick to learn that it takes longer, slow to forget.
	if seen := float64(cpu) / float64(bytes); seen > b.perByte || !b.learnt {
		b.perByte, b.learnt = seen, true
	} else {
		b.perByte += (seen - b.perByte) / 8
	}
}

// tooLow notes that a generation took more than was expected, and how much more is not known.
func (b *budget) tooLow() { b.perByte, b.learnt = 2*b.perByte, true }

// errBudget ends the decoding of a generation that takes too long.
var errBudget = errors.New("CPU budget exceeded")

// cpuBound is a context that ends when the thread has used so much processor time.
type cpuBound struct {
	context.Context
	clock *cpuClock
	limit time.Duration
}

func (c *cpuBound) Err() error {
	if c.clock.spent() > c.limit {
		return errBudget
	}
	return nil
}

// decoder decodes the generation on the thread of the clock, for as long as limit allows.
func (g *rawGeneration) decoder(stacks *stackTable, meter *memory.Meter, clock *cpuClock, limit time.Duration) decoder {
	const forReplay = 0.7 // the replay and the observers take the rest
	ctx := &cpuBound{Context: context.Background(), clock: clock, limit: time.Duration(forReplay * float64(limit))}
	return &readerDecoder{ctx: ctx, stacks: stacks, meter: meter}
}
