package capture

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"os/signal"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/host"
)

// look is the interval between checks of the conditions. Tests replace it.
var look = time.Second

// Start begins to watch the conditions of Options. It does nothing if they are being watched.
// The other triggers need no Start.
func (c *Capturer) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watched != nil {
		return
	}
	select {
	case <-c.hurry: // stopped before
		c.hurry = make(chan struct{})
	default:
	}
	signals := make(chan os.Signal, 1)
	if len(c.opt.Signals) > 0 {
		signal.Notify(signals, c.opt.Signals...)
	}
	quit, ended := c.hurry, make(chan struct{})
	c.watched = ended
	background.Go(func() {
		defer close(ended)
		c.watch(quit, signals)
	})
}

// Stop stops watching, and waits until a capture in progress, which no longer rests, is stored. It
// waits at most ten seconds for a Sink.
func (c *Capturer) Stop() {
	c.mu.Lock()
	watched := c.watched
	c.watched = nil
	select {
	case <-c.hurry:
	default:
		close(c.hurry)
	}
	c.mu.Unlock()
	if watched != nil {
		<-watched
	}
	c.taking.Lock() // until a capture in progress is stored
	defer c.taking.Unlock()
}

func (c *Capturer) watch(quit <-chan struct{}, signals chan os.Signal) {
	defer signal.Stop(signals)
	w := newWatcher(c)
	timer := time.NewTimer(look)
	defer timer.Stop()
	for {
		select {
		case <-quit:
			return
		case s := <-signals:
			c.Trigger("signal " + s.String())
		case <-timer.C:
			begin := time.Now()
			if reason := w.reason(begin); reason != "" {
				c.Trigger(reason)
			}
			timer.Reset(max(look, 100*time.Since(begin))) // at most 1 % of a processor
		}
	}
}

// watcher checks the conditions of a Capturer.
type watcher struct {
	*Capturer
	ready   func() uint64 // the number of goroutines that are ready to run
	since   time.Time     // since when more goroutines than Options.Runnable were ready; zero if not
	longest time.Duration // wait for a lock that has ended
}

func newWatcher(c *Capturer) *watcher {
	samples := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	return &watcher{Capturer: c, ready: func() uint64 {
		metrics.Read(samples)
		if samples[0].Value.Kind() != metrics.KindUint64 {
			return 0 // a future release may lack this metric
		}
		return samples[0].Value.Uint64()
	}}
}

// reason returns the reason for a capture, or "". A panic of one condition does not affect the
// others. It also writes a note of the cgroup's throttling into the recording, so that each capture
// has several.
func (w *watcher) reason(now time.Time) (reason string) {
	host.Note()
	look := func(what string, condition func(time.Time) string) {
		if reason != "" {
			return
		}
		if err := protect(what, func() error { reason = condition(now); return nil }); err != nil {
			w.fail(err)
		}
	}
	look("runtime/metrics", w.crowded)
	look("Options.Continuous", w.lost)
	look("Options.Locks", w.waits)
	return reason
}

func (w *watcher) crowded(now time.Time) string {
	opt := &w.opt
	if opt.Runnable <= 0 {
		return ""
	}
	n := w.ready()
	switch {
	case n <= uint64(opt.Runnable):
		w.since = time.Time{}
	case w.since.IsZero():
		w.since = now
	case now.Sub(w.since) >= opt.For:
		return fmt.Sprintf("%d goroutines are ready to run, for %s more than %d", n, format.Duration(now.Sub(w.since).Round(time.Second)), opt.Runnable)
	}
	return ""
}

func (w *watcher) lost(now time.Time) string {
	opt, c := &w.opt, w.opt.Continuous
	if opt.Lost <= 0 && opt.Neck <= 0 || c == nil {
		return ""
	}
	if l := c.Last(opt.For); l != nil && l.Bottle != nil && l.Bottle.Capacity > 0 && l.To.Sub(l.From) >= opt.For/2 && now.Sub(l.To) < 30*time.Second {
		g, d := l.Bottle, l.To.Sub(l.From)
		over := func(lost time.Duration, most float64) bool {
			return most > 0 && float64(lost) > most*float64(g.Capacity)
		}
		if neck := g.Lost() - g.IdleLost; over(neck, opt.Neck) {
			return fmt.Sprintf("%s of the capacity lost while something ran, in %s", format.Percent(neck, g.Capacity), format.Duration(d))
		}
		if over(g.Lost(), opt.Lost) {
			return fmt.Sprintf("%s of the capacity lost in %s", format.Percent(g.Lost(), g.Capacity), format.Duration(d))
		}
	}
	return ""
}

func (w *watcher) waits(time.Time) string {
	opt := &w.opt
	if opt.Wait <= 0 || w.opt.Locks == nil {
		return ""
	}
	p := w.opt.Locks.Snapshot()
	for i := range p.Unfinished {
		if u := &p.Unfinished[i]; u.Longest >= opt.Wait {
			return fmt.Sprintf("a goroutine has waited %s for %s", format.Duration(u.Longest), u.Lock)
		}
	}
	var worst string
	for i := range p.Waits {
		if wait := &p.Waits[i]; wait.Longest > w.longest {
			w.longest, worst = wait.Longest, wait.Lock.String()
		}
	}
	if worst != "" && w.longest >= opt.Wait {
		return fmt.Sprintf("a goroutine waited %s for %s", format.Duration(w.longest), worst)
	}
	return ""
}

// Slow takes a capture as soon as an operation has run for longer than d. The caller must call done
// when the operation ends:
//
//	defer c.Slow("checkout", time.Second)()
func (c *Capturer) Slow(what string, d time.Duration) (done func()) {
	return c.begin("", what, d).end // inlined: done is not allocated unless the caller keeps it
}

// SlowRequests returns a handler that takes a capture as soon as a request to h has run for longer
// than d. The reason has the method and the path of the request, without parameters.
func (c *Capturer) SlowRequests(h http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer c.begin(r.Method, r.URL.Path, d).end()
		h.ServeHTTP(w, r)
	})
}

// operation is an operation that is watched.
type operation struct {
	c     *Capturer
	from  time.Duration // since c was made
	d     time.Duration
	timer *time.Timer
}

// begin begins an operation. If a capture will still be too early after d, it starts no timer,
// which would be the largest part of the cost; end then counts the operation.
func (c *Capturer) begin(kind, what string, d time.Duration) operation {
	op := operation{c: c, from: time.Since(c.born), d: d}
	next := c.next.Load()
	if next == math.MaxInt64 {
		next = c.early.Load()
	}
	if op.from >= time.Duration(next)-d {
		op.timer = time.AfterFunc(d, func() {
			c.due()
			if c.admit() {
				c.takeLater(strings.TrimLeft(kind+" "+what, " ") + " runs for more than " + d.String())
			}
		})
	}
	return op
}

func (op operation) end() {
	switch {
	case op.timer != nil:
		op.timer.Stop()
	case time.Since(op.c.born)-op.from > op.d:
		op.c.ignored.Add(1)
	}
}

// Panic takes a capture if the goroutine panics, and then panics again with the same value. It
// waits for the capture, but at most ten seconds for its Sink. It must be deferred:
//
//	defer c.Panic()
//
// It takes none for http.ErrAbortHandler, with which handlers abort a response.
func (c *Capturer) Panic() {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler && c.admit() {
		c.take(fmt.Sprintf("panic: %v", v), false)
	}
	panic(v)
}
