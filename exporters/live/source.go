package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// All analyses cover the last seconds rather than the next ones. So an answer needs no waiting, and
// it covers the events that prompted the request.
//
//   - While the continuous analysis is enabled, its windows of the last seconds are summed up. That
//     takes milliseconds, and the windows are about a second long.
//   - Otherwise, the end of a snapshot of the recorder is analyzed. An estimate of the speedup
//     always needs a snapshot.
//
// If less is known than was requested, or only of an earlier time, the answer covers what is known,
// with a warning.

// noSource returns what the handler lacks for an analysis of the last seconds.
func noSource(h *handler) string {
	if h.recorder == nil && h.continuous == nil {
		return "nothing is recorded: neither live.Options.Recorder nor live.Options.Continuous is set"
	}
	return ""
}

// report analyzes the last d; stacks is as in grouped.
func (h *handler) report(ctx context.Context, d time.Duration, stacks bool) (*bottleneck.Live, error) {
	if h.continuous != nil && h.continuous.Enabled() {
		return h.windows(d)
	}
	if h.recorder == nil {
		return nil, &problem{status: http.StatusServiceUnavailable, retry: 5 * time.Second, text: "the continuous analysis is not running" + h.panicked()}
	}
	return h.ofSnapshot(ctx, d, bottleneck.Options{Want: bottleneck.WantVerdict | bottleneck.WantContention | bottleneck.WantTasks, Bottle: bottle.Options{Stacks: stacks}})
}

// panicked returns why the continuous analysis is suspended or has ended after a panic of an
// observer; "" if there was none.
func (h *handler) panicked() string {
	if h.continuous == nil {
		return ""
	}
	l := h.continuous.Read()
	if l == nil || l.Panics == 0 {
		return ""
	}
	return fmt.Sprintf(": an observer or grouping of it has panicked %s, the last time with: %s", format.Plural(l.Panics, "time", "times"), l.Panic)
}

// grouped is report with the given grouping of the graph; "" means the default. The continuous
// analysis has a single grouping; other groupings need a snapshot. stacks requests call stacks,
// which the continuous analysis has if its options ask for them.
func (h *handler) grouped(ctx context.Context, d time.Duration, name string, stacks bool) (*bottleneck.Live, error) {
	if name == "" {
		return h.report(ctx, d, stacks)
	}
	if h.continuous != nil && h.continuous.Enabled() {
		live, err := h.windows(d)
		if err == nil && live.Bottle.GroupBy == name || err != nil && h.recorder == nil {
			return live, err
		}
	}
	if h.recorder == nil {
		return nil, &problem{status: http.StatusNotImplemented, text: "another grouping needs a snapshot, and there is no recorder: live.Options.Recorder is not set"}
	}
	group, err := bottle.ParseGrouping(name)
	if err != nil {
		return nil, err
	}
	return h.ofSnapshot(ctx, d, bottleneck.Options{Want: bottleneck.WantVerdict | bottleneck.WantTasks, Bottle: bottle.Options{Group: group, Stacks: stacks}})
}

// ofSnapshot analyzes the end of the recorder's data. Requests are processed one at a time.
func (h *handler) ofSnapshot(ctx context.Context, d time.Duration, opt bottleneck.Options) (*bottleneck.Live, error) {
	leave, err := enter(ctx, h.analysis)
	if err != nil {
		return nil, err
	}
	defer leave()
	data, err := h.recorded(ctx, d)
	if err != nil {
		return nil, err
	}
	defer h.room.give(data.Size())
	now := time.Now() // before the analysis, which may take long
	rep, err := h.analyze(ctx, data, d, opt)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, timeline.ErrMemory):
		return nil, &problem{status: http.StatusServiceUnavailable, retry: time.Minute, text: fmt.Sprintf("the analysis of the last %s would take more than %s of memory (live.Options.MaxMemory): ask for fewer seconds, or take the trace and analyze it elsewhere",
			format.Duration(d), memory.Text(h.room.limit))}
	case rep == nil || rep.Bottle == nil:
		return nil, fmt.Errorf("the snapshot cannot be read: %w", err)
	}
	live := &bottleneck.Live{Report: *rep, From: now.Add(-rep.Bottle.Wall), To: now, Covered: rep.Bottle.Wall}
	live.Bottle = warned(rep.Bottle, d, rep.Bottle.Wall)
	if rep.Verdict != nil {
		h.judged.Store(&bottleneck.Live{Report: bottleneck.Report{Verdict: rep.Verdict}, To: now})
	}
	return live, nil
}

// enter waits for the token of the channel.
func enter(ctx context.Context, token chan struct{}) (leave func(), err error) {
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, &problem{status: http.StatusServiceUnavailable, retry: 5 * time.Second, text: "other answers take the recorder's snapshots at the moment: one after the other"}
		}
		return nil, ctx.Err()
	}
}

// windows sums up the windows of the continuous analysis.
func (h *handler) windows(d time.Duration) (*bottleneck.Live, error) {
	last := h.continuous.Last(d)
	if last == nil || last.Bottle == nil || last.Bottle.Wall == 0 {
		text := "the continuous analysis has not analyzed a burst of tracing yet, which takes a second or two" + h.panicked()
		if last != nil && last.Stream.Dropped.Generations > 0 {
			text = fmt.Sprintf("the continuous analysis has seen nothing in the last %s: %s been dropped so far, since they did not fit into memory or were broken%s",
				format.Duration(d), format.Plural(last.Stream.Dropped.Generations, "generation has", "generations have"), h.panicked())
		}
		return nil, &problem{status: http.StatusServiceUnavailable, retry: 2 * time.Second, text: text}
	}
	live := *last
	known := last.To.Sub(last.From)
	if last.Windows > 0 {
		// There is a gap before the first burst, and after the last one.
		known += 2 * known / time.Duration(last.Windows)
	}
	live.Bottle = dated(warned(last.Bottle, d, known), last.To)
	if last.Panics > 0 {
		g := *live.Bottle
		g.Warnings = append(slices.Clip(g.Warnings), fmt.Sprintf("The analysis began anew after a panic, so what was before is lost: an observer or grouping of it has panicked %s, the last time with: %s.", format.Plural(last.Panics, "time", "times"), last.Panic))
		live.Bottle = &g
	}
	return &live, nil
}

// oldNews is the age at which the latest window is considered old. Bursts come at random times, can
// be seconds apart if they are expensive, and are read with a delay.
const oldNews = 30 * time.Second

// dated adds a warning to a graph that ended long ago. There are no bursts while something else
// traces the program.
func dated(g *bottle.Graph, to time.Time) *bottle.Graph {
	age := time.Since(to)
	if to.IsZero() || age < oldNews {
		return g
	}
	out := *g
	out.Warnings = append(slices.Clip(g.Warnings), fmt.Sprintf("It ends %s ago: what came after waits to be read, or there was no burst of tracing.", format.Duration(age)))
	return &out
}

// warned adds a warning to a graph that covers much less time than requested.
func warned(g *bottle.Graph, d, known time.Duration) *bottle.Graph {
	if missing := d - known; missing < 1500*time.Millisecond || missing < d/4 {
		return g
	}
	out := *g
	out.Warnings = append(slices.Clip(g.Warnings), fmt.Sprintf("Asked for the last %s, but no more than %s are known: that is what has been kept.", format.Duration(d), format.Duration(known)))
	return &out
}

// recorded takes the last d from the recorder as a trace and reserves room for it, which the caller
// must release.
func (h *handler) recorded(ctx context.Context, d time.Duration) (*snapshot.Buffer, error) {
	if !h.recorder.Enabled() {
		return nil, &problem{status: http.StatusServiceUnavailable, retry: 5 * time.Second, text: "the recorder is not running"}
	}
	// Several answers may need one, but the recorder gives one snapshot at a time.
	leave, err := enter(ctx, h.snapshot)
	if err != nil {
		return nil, err
	}
	defer leave()
	likely := min(h.latest.Load(), h.room.limit)
	if err := h.room.take(likely); err != nil { // before there is more
		return nil, err
	}
	h.room.give(likely)
	data := snapshot.New(ctx)
	_, err = h.recorder.WriteTo(data)
	switch {
	case errors.Is(err, bottle.ErrRecorderStopped):
		return nil, &problem{status: http.StatusServiceUnavailable, retry: 5 * time.Second, text: "the recorder is not running"}
	case errors.Is(err, bottle.ErrBusy):
		return nil, &problem{status: http.StatusServiceUnavailable, retry: time.Second, text: "the recorder is busy: another snapshot is in progress"}
	case err != nil:
		return nil, fmt.Errorf("no snapshot: %w", err)
	}
	h.latest.Store(data.Size())
	data.DropTo(timeline.TailOffset(data.Reader(), d))
	return data, h.room.take(data.Size())
}

// analyzeSnapshot runs all analyses on the last d of a trace, generation by generation.
func (h *handler) analyzeSnapshot(ctx context.Context, data *snapshot.Buffer, d time.Duration, opt bottleneck.Options) (*bottleneck.Report, error) {
	opt.Last, opt.MaxMemory, opt.Workers = d, h.room.limit, 1
	y := &yielder{Context: ctx}
	ctx, opt.Observers = y, append(slices.Clip(opt.Observers), y)
	if h.opt.Full != nil {
		return h.opt.Full.Analyze(ctx, data, opt)
	}
	return bottleneck.GraphRecorder(ctx, data, opt)
}

// yielder lets the goroutines of the service run before an analysis that has run for workSlice. It
// is an observer, and a context whose Err the decoder calls every few hundred events.
type yielder struct {
	timeline.Base
	context.Context
	events  int
	yielded atomic.Int64 // time.Time.UnixNano
}

const workSlice = 250 * time.Microsecond

func (y *yielder) Transition(*timeline.Transition) {
	if y.events++; y.events%128 == 0 {
		y.yield()
	}
}

// Err implements context.Context.
func (y *yielder) Err() error {
	y.yield()
	return y.Context.Err()
}

func (y *yielder) yield() {
	if d := time.Now().UnixNano() - y.yielded.Load(); d < 0 || d > int64(workSlice) {
		runtime.Gosched()
		y.yielded.Store(time.Now().UnixNano())
	}
}
