package timeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// never is a time that is not reached.
const never Time = math.MaxInt64

// Second is the second pass of [ReadTwice].
type Second struct {
	// From is when it begins; 0 means at the beginning. The observers see a trace that begins
	// then, with every goroutine in the state that it really was in.
	From Time
	// Observers see it.
	Observers []Observer
}

// ErrTooLarge is the error of [ReadTwice] for a trace that cannot be kept for the second pass.
var ErrTooLarge = errors.New("the trace is too large to be kept in memory for a second pass")

// ReadTwice replays a trace to the observers of a first pass and then, knowing what the first one
// found, to those of a second one. The trace is decoded once and kept in memory in between: 16
// bytes for each event, and the call chains. Replaying takes about a fifth of what decoding does.
//
// maxKept bounds the memory in bytes, 0 means that there is no bound; of a trace that needs more,
// there is no second pass, and an error that is [ErrTooLarge] unless the first pass had one. Else
// it does what [Read] does. The Info is that of the second pass, if there was one.
func ReadTwice(ctx context.Context, r io.Reader, opt Options, maxKept int64, first []Observer, second func(*Info) Second) (*Info, error) {
	return readTwice(ctx, r, opt, anyFormat(), maxKept, first, second)
}

// ReadSnapshot is [ReadTwice] of a trace that is in memory, not packed, and of Go 1.22 or later. It
// has no bound of what is kept.
func ReadSnapshot(ctx context.Context, trace *io.SectionReader, opt Options, first []Observer, second func(*Info) Second) (*Info, error) {
	return readTwice(ctx, io.NewSectionReader(trace, 0, trace.Size()), opt, formats{}, 0, first, second)
}

// readTwice reads once if there is no second pass.
func readTwice(ctx context.Context, r io.Reader, opt Options, formats formats, maxKept int64, first []Observer, second func(*Info) Second) (*Info, error) {
	p, err := open(ctx, r, opt, formats, first)
	if p.in != nil {
		defer p.in.close()
	}
	if err != nil {
		return &p.replay.info, err
	}
	if second == nil {
		err = p.all()
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
	plan := second(info)
	again := sides{replay: newReplay(p.in.version, p.stacks, nil), single: p.single}
	again.replay.gate = newGate(opt.Part.During)
	again.replay.info.Version = p.in.version
	plan.From = min(plan.From, info.End)
	again.replay.meter = p.meter
	again.joinAt(plan)
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
	over        bool // the limit was
}

func (k *keeper) keep(d *decoded) bool {
	if k.over {
		return false
	}
	const chunkSize = recordsPerChunk * 16
	k.size += int64(len(d.chunks))*chunkSize + int64(len(d.gs))*64 + int64(len(d.aux))*128
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

// joinAt lets observers see the pass from some time on.
func (r *replay) joinAt(s Second) {
	if s.From == 0 {
		r.observers = s.Observers
		return
	}
	r.from, r.joining = s.From, s.Observers
}

// join shows the observers a trace that begins at r.from, of which the replay has reached now.
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
		for i := range g.Regions {
			g.Regions[i].Start = 0 // as of one that began before the trace
		}
		if g.rare == nil {
			continue
		}
		for i := range g.rare.ranges {
			g.rare.ranges[i].start = t
			r.showRange(&Range{Time: t, Start: t, Name: g.rare.ranges[i].name, Begin: true, Scope: ScopeGoroutine, G: g, Proc: -1})
		}
	}
	open := slices.Collect(maps.Keys(r.open))
	order.Stable(open, func(a, b rangeKey) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.proc, b.proc)) })
	for _, key := range open {
		r.open[key] = t
		scope := ScopeProc
		if key.proc < 0 {
			scope = ScopeGlobal
		}
		r.showRange(&Range{Time: t, Start: t, Name: key.name, Begin: true, Scope: scope, Proc: key.proc})
	}
	for id, task := range r.tasks {
		task.start = 0
		r.tasks[id] = task
	}
	if r.gomaxprocs > 0 {
		m := &Metric{Time: t, Name: "/sched/gomaxprocs:threads", Value: r.gomaxprocs}
		for _, o := range r.observers {
			o.Metric(m)
		}
	}
}

// Tail returns the end of a trace: its header and as many of the last generations as it takes to
// cover the time d, which is a trace, too. Generations take about a second each, so it covers up to
// that much more. Of a trace that has no more, that is packed, older than Go 1.22, or that cannot
// be read, it returns all.
//
// A recorder of the last seconds keeps as many as the longest question needs; Tail is for the
// shorter ones. It reads the heads of the batches only, some 2 µs for a megabyte, and copies what
// it returns unless that is all.
func Tail(trace []byte, d time.Duration) []byte {
	keep, _ := tailOf(bytes.NewReader(trace), d)
	if keep <= headerSize {
		return trace
	}
	return append(bytes.Clone(trace[:headerSize]), trace[keep:]...)
}

// TailOffset returns where the generations of [Tail] begin: what is between the 16 bytes of the
// header and that offset can be left out.
func TailOffset(trace *io.SectionReader, d time.Duration) int64 {
	keep, _ := tailOf(trace, d)
	return keep
}

// sizedReader is a trace with random access.
type sizedReader interface {
	io.Reader
	sized
}

// tailOf returns where the last generations begin that cover the time d, and where the very last
// one does. Both are headerSize where they are not known.
func tailOf(trace sizedReader, d time.Duration) (keep, last int64) {
	in, err := openInput(trace, formats{})
	defer in.close()
	if err != nil || in.source == nil || in.compressed != "" {
		return headerSize, headerSize
	}
	c := &cutter{src: in.source, version: in.version, pos: headerSize}
	var offsets []int64
	for {
		g, err := c.next()
		if err != nil {
			break
		}
		if g.cut != nil {
			return headerSize, headerSize // the reader of the trace reports that
		}
		offsets = append(offsets, g.off)
	}
	if len(offsets) == 0 || c.freq == 0 {
		return headerSize, headerSize
	}
	keep, last = offsets[0], offsets[len(offsets)-1]
	end := latestBatch(in.source, last)
	for _, off := range offsets[1:] {
		head, err := in.source.head(off)
		if err != nil || len(head) == 0 {
			break
		}
		h, err := wireformat.ParseHead(head)
		if err != nil || h.Time > end || float64(end-h.Time)/float64(c.freq) < d.Seconds() {
			break
		}
		keep = off
	}
	return keep, last
}

// latestBatch is the time at which the last batch from an offset on begins: at most that of the
// last event.
func latestBatch(src source, off int64) (latest uint64) {
	for {
		head, err := src.head(off)
		if err != nil || len(head) == 0 || head[0] == evEndOfGeneration {
			return latest
		}
		h, err := wireformat.ParseHead(head)
		if err != nil || h.HeadLen+h.DataLen > math.MaxInt64-off {
			return latest
		}
		latest = max(latest, h.Time)
		off += h.HeadLen + h.DataLen
	}
}

// ReadLast replays the last d of a trace to observers, who see a trace that begins then, with every
// goroutine in the state that it really was in. Unlike [ReadTwice] it keeps no events: it decodes
// the last generation first, to find the end, and then the generations that cover d. The memory is
// that of one generation for each of Options.Workers. Of a trace that is broken, events are kept
// all the same. A packed one, or one of before Go 1.22, is an error.
func ReadLast(ctx context.Context, trace *io.SectionReader, opt Options, d time.Duration, observers []Observer) (*Info, error) {
	keep, last := tailOf(trace, d)
	if last > headerSize {
		end := opt
		end.Progress = nil
		info, err := readTwice(ctx, without(trace, last), end, formats{}, 0, nil, nil)
		if err == nil && info.Generations > 0 {
			p, err := open(ctx, without(trace, keep), opt, formats{}, nil)
			if p.in != nil {
				defer p.in.close()
			}
			if err != nil {
				return &p.replay.info, err
			}
			p.joinAt(Second{From: max(0, info.End-Time(d)), Observers: observers})
			err = p.all()
			return &p.replay.info, err
		}
	}
	return ReadSnapshot(ctx, trace, opt, nil, func(info *Info) Second {
		return Second{From: max(info.Start, info.End-Time(d)), Observers: observers}
	})
}

// without returns a trace without what is between its header and an offset.
func without(trace *io.SectionReader, off int64) *io.SectionReader {
	left := off - headerSize
	return io.NewSectionReader(&shortened{trace, left}, 0, trace.Size()-left)
}

// shortened is a trace of which some bytes after the header are left out.
type shortened struct {
	trace io.ReaderAt
	left  int64
}

func (s *shortened) ReadAt(p []byte, off int64) (n int, err error) {
	if off < headerSize {
		part := p[:min(int64(len(p)), headerSize-off)]
		if n, err = s.trace.ReadAt(part, off); err != nil || n == len(p) {
			return n, err
		}
		p, off = p[n:], headerSize
	}
	k, err := s.trace.ReadAt(p, off+s.left)
	return n + k, err
}
