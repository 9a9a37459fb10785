package timeline

import (
	"cmp"
	"context"
	"errors"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"io"
	"maps"
	"math"
	"slices"
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
