package timeline

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// never is a time that is never reached.
const never Time = math.MaxInt64

// ErrTooLarge is the error of [ReadTwice] for a trace that cannot be kept for the second pass.
var ErrTooLarge = errors.New("the trace is too large to be kept in memory for a second pass")

// ReadTwice replays a trace to the observers of a first pass and then to those of a second pass,
// which can use the results of the first. Between the passes, it keeps the decoded trace in memory:
// 16 bytes per event, plus the call chains. maxKept bounds that in bytes; 0 means no bound. If a
// trace needs more, there is no second pass, and the error is [ErrTooLarge] unless the first pass
// had an error. Otherwise ReadTwice behaves like [Read]. The Info is that of the second pass, if
// there was one.
func ReadTwice(ctx context.Context, r io.Reader, opt Options, maxKept int64, first []Observer, second func(*Info) []Observer) (*Info, error) {
	return readTwice(ctx, r, opt, anyFormat(), maxKept, first, func(info *Info) (Time, []Observer) { return 0, second(info) })
}

// ReadSnapshot is like [ReadTwice], but for an uncompressed trace in memory of Go 1.22 or later,
// without a bound of the memory. If last is positive, the observers of the second pass see a trace
// that begins that long before the end, with every goroutine in its actual state.
//
// Without observers of a first pass, it does not keep events: it decodes the last generation first,
// to find the end, and then the generations that cover last. It needs memory for one generation per
// worker (Options.Workers). For a damaged trace, it keeps the events nevertheless.
func ReadSnapshot(ctx context.Context, trace *io.SectionReader, opt Options, last time.Duration, first []Observer, second func() []Observer) (*Info, error) {
	whole := func() io.Reader { return io.NewSectionReader(trace, 0, trace.Size()) }
	if last <= 0 {
		last = math.MaxInt64
	}
	begin := func(info *Info) Time { return max(0, info.End-Time(last)) }
	if len(first) == 0 {
		of := opt
		opt.start, of.start = tailOf(trace, last)
		if of.Progress = nil; of.start > headerSize {
			if info, err := read(ctx, whole(), of, formats{}, 0, nil); err == nil && info.Generations > 0 {
				return read(ctx, whole(), opt, formats{}, begin(info), second())
			}
		}
		opt.start = 0
	}
	return readTwice(ctx, whole(), opt, formats{}, 0, first, func(info *Info) (Time, []Observer) { return begin(info), second() })
}

// readTwice implements ReadTwice and ReadSnapshot. second also returns where the second pass
// begins; 0 is the beginning of the trace.
func readTwice(ctx context.Context, r io.Reader, opt Options, formats formats, maxKept int64, first []Observer, second func(*Info) (Time, []Observer)) (*Info, error) {
	p, err := open(ctx, r, opt, formats, 0, first)
	defer p.in.close()
	if err != nil {
		return &p.replay.info, err
	}
	k := &keeper{limit: maxKept}
	p.keep = k.keep
	defer k.release()
	err = p.all()
	info := &p.replay.info
	switch {
	case info.Generations == 0 || ctx.Err() != nil:
		return info, err
	case k.over && err == nil:
		return info, ErrTooLarge
	case k.over:
		return info, err
	}
	from, observers := second(info)
	again := sides{replay: newReplay(p.in.version, p.stacks, nil), single: p.single}
	again.replay.gate = p.replay.gate.again()
	again.replay.info.Version = p.in.version
	again.replay.meter = p.meter
	again.joinAt(min(from, info.End), observers)
	for _, d := range k.kept {
		if cerr := ctx.Err(); cerr != nil {
			err = context.Cause(ctx)
			break
		}
		if full := again.generation(d); full != nil {
			full.read = max(p.in.size, 0)
			err = &Error{Name: opt.Name, Err: full, Generation: 1, Read: *info, Left: -1, Partial: true}
			break
		}
	}
	again.each((*replay).end)
	out := *info
	out.Start = again.replay.info.Start
	return &out, err
}

// keeper keeps the generations of a pass.
type keeper struct {
	limit, size int64
	kept        []*decoded
	over        bool // the limit was exceeded
}

func (k *keeper) keep(d *decoded) bool {
	if k.over {
		return false
	}
	const chunkSize = recordsPerChunk * 16
	k.size += int64(len(d.chunks))*chunkSize + int64(d.gs.n)*64 + int64(len(d.aux))*128
	if k.limit > 0 && k.size > k.limit {
		k.over = true
		k.release()
		return false
	}
	k.kept = append(k.kept, d)
	return true
}

func (k *keeper) release() {
	for _, d := range k.kept {
		d.release()
	}
	k.kept = nil
}

// joinAt attaches observers at a time; 0 is the beginning.
func (r *replay) joinAt(from Time, observers []Observer) {
	if from == 0 {
		r.observers = observers
		return
	}
	r.from, r.joining = from, observers
}

// join shows the observers a trace that begins at r.from. The replay has reached now.
func (r *replay) join(now Time) {
	t := min(max(r.from, r.info.Start), now)
	r.from, r.observers = never, r.joining
	r.now = t
	r.begin(t)
	for _, g := range r.living() {
		cur := g.cur
		cur.since = t
		g.cur = interval{since: t, proc: -1, thread: -1}
		r.show(g, &cur, nil, nil)
		for i := range g.Regions() {
			g.Extra.Regions[i].Start = 0 // like a region that began before the trace
		}
		if g.Extra == nil {
			continue
		}
		for i := range g.Extra.ranges {
			g.Extra.ranges[i].start = t
			r.showRange(&Span{Time: t, Start: t, Name: g.Extra.ranges[i].name, Begin: true, OfG: true, G: g, Proc: -1})
		}
	}
	order.Stable(r.open, func(a, b openRange) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.proc, b.proc)) })
	for i := range r.open {
		r.open[i].start = t
		r.showRange(&Span{Time: t, Start: t, Name: r.open[i].name, Begin: true, Proc: r.open[i].proc})
	}
	for id, task := range r.tasks {
		task.start = 0
		r.tasks[id] = task
	}
	if r.gomaxprocs > 0 {
		for _, o := range r.observers {
			o.Metric(t, procsMetric, r.gomaxprocs, false)
		}
	}
}

// TailOffset returns the offset of the last generations of a trace that cover the time d. The bytes
// between the 16-byte header and that offset can be omitted: the rest is also a trace. Generations
// take about a second each, so it covers up to a second more. If the trace is shorter, is
// compressed, is older than Go 1.22, or cannot be read, the offset is the length of the header.
// TailOffset reads only the heads of the batches, which takes about 2 µs per megabyte.
func TailOffset(trace *io.SectionReader, d time.Duration) int64 {
	keep, _ := tailOf(trace, d)
	return keep
}

// tailOf returns the offsets of the generations that cover the last d, and of the last generation.
// Both are headerSize if unknown.
func tailOf(trace *io.SectionReader, d time.Duration) (keep, last int64) {
	in, err := openInput(trace, formats{})
	defer in.close()
	if err != nil || in.source == nil || in.compressed != "" {
		return headerSize, headerSize
	}
	c := &cutter{src: in.source, scanner: scanner{version: in.version}, pos: headerSize}
	var gens []*generation
	for {
		g, err := c.next()
		if err != nil {
			break
		}
		if g.cut != nil {
			return headerSize, headerSize // the reader of the trace reports that
		}
		gens = append(gens, g)
	}
	if len(gens) == 0 || c.freq == 0 {
		return headerSize, headerSize
	}
	end := gens[len(gens)-1] // the beginning of its last batch is a lower bound of the last time
	keep = gens[0].off
	for _, g := range gens[1:] {
		if g.first > end.latest || float64(end.latest-g.first)/float64(c.freq) < d.Seconds() {
			break
		}
		keep = g.off
	}
	return keep, end.off
}
