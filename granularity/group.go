package granularity

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// A Group is an errgroup.Group that measures its tasks. It has the same methods with the same
// meaning: see golang.org/x/sync/errgroup. A zero Group is valid, has no limit on the number of
// active goroutines, and does not cancel on error.
//
// As with errgroup, a panic in a task ends the program, and so does a nil function. With a limit of
// 0, Go blocks forever and TryGo returns false. A task that calls [runtime.Goexit] counts as one
// that returned nil.
//
// Measuring a task takes about 0.1 µs and does not allocate. Of tasks of less than 70 µs, only a
// random sample is measured: see [Class].Skipped.
type Group struct {
	// Name names the group in profiles and execution traces, where groups of the
	// same name are reported together. It must be set before the first use.
	Name string
	// Recorder records the tasks; the default recorder if nil. It must be set
	// before the first use.
	Recorder *Recorder

	active sync.WaitGroup
	slots  chan struct{}           // holds one value for each active goroutine; nil: no limit
	cancel context.CancelCauseFunc // nil without a context
	failed sync.Once
	err    error // the first one

	once    sync.Once
	rec     *Recorder
	name    *poolName
	usual   usualSite
	limited int // the last limit set; 0: none
}

// WithContext returns a new Group and a context derived from ctx, which is canceled
// the first time a function passed to Go returns a non-nil error or the first
// time Wait returns, whichever occurs first. The group records with the recorder of ctx, see
// [WithRecorder].
func WithContext(ctx context.Context) (*Group, context.Context) {
	derived, cancel := context.WithCancelCause(ctx)
	return &Group{cancel: cancel, Recorder: recorderOf(ctx)}, derived
}

// Go calls the function in a new goroutine, once the limit permits it. The first error cancels the
// group's context and is returned by Wait.
func (g *Group) Go(f func() error) {
	s, others, skipped := g.draw(f)
	if skipped {
		if g.slots != nil {
			g.slots <- struct{}{}
		}
		g.skip(s, f)
		return
	}
	t := g.task(f, s, others)
	if g.slots != nil {
		g.slots <- struct{}{}
	}
	g.start(f, &t)
}

// TryGo is Go if the limit permits another goroutine now. It reports whether it does.
func (g *Group) TryGo(f func() error) bool {
	if g.slots != nil {
		select {
		case g.slots <- struct{}{}:
		default:
			return false
		}
	}
	s, others, skipped := g.draw(f)
	if skipped {
		g.skip(s, f)
		return true
	}
	t := g.task(f, s, others)
	g.start(f, &t)
	return true
}

// draw is usualSite.draw for the next task of the group.
func (g *Group) draw(f func() error) (usual *site, others uint32, skipped bool) {
	g.once.Do(g.settle)
	if f == nil {
		return nil, 0, false
	}
	return g.usual.draw(functionOf(f))
}

// task returns a task to be measured, without its function. A nil function panics when it executes,
// as in errgroup.
func (g *Group) task(f func() error, usual *site, others uint32) job {
	if f == nil {
		return job{site: g.rec.site(&siteKey{name: "(nil)", chain: chains.Capture(), pool: g.name}), log: g.rec.submitting()}
	}
	return g.usual.drawn(g.rec, g.name, functionOf(f), usual, others)
}

// skip starts the goroutine of a task that is not measured, for which a slot was taken.
func (g *Group) skip(s *site, f func() error) {
	g.active.Add(1)
	go func() {
		var start cycles.Mark
		if s.pace.blocks.Load() {
			defer g.leave()
		} else {
			start = s.rec.clock.Glance()
			defer g.skipped(s, &start)
		}
		if err := f(); err != nil {
			g.fail(err)
		}
	}()
}

// start starts the goroutine of a task, for which a slot was taken.
func (g *Group) start(f func() error, j *job) {
	s, log, others := j.site, j.log, j.others
	if j.skipped {
		g.skip(s, f)
		return
	}
	g.active.Add(1)
	go func() {
		x := execution{others: others}
		x.begin(s, log)
		defer g.done(&x)
		err := f()
		x.end()
		x.site = nil
		if err != nil {
			g.fail(err)
		}
	}()
}

// fail records the error of a task; the first one counts.
func (g *Group) fail(err error) {
	g.failed.Do(func() {
		g.err = err
		if g.cancel != nil {
			g.cancel(err)
		}
	})
}

// done ends the task if the function did not return, and marks the goroutine as inactive.
func (g *Group) done(x *execution) {
	if x.site != nil {
		x.end()
	}
	g.leave()
}

// skipped is leave at the end of a task that was not measured. It releases the slot before it reads
// the time: right after the task, a reading takes 60 ns longer, as it waits for the task's stores.
func (g *Group) skipped(s *site, start *cycles.Mark) {
	if g.slots != nil {
		<-g.slots
	}
	s.checkBrief(start)
	g.active.Done()
}

// leave marks the goroutine as inactive.
func (g *Group) leave() {
	if g.slots != nil {
		<-g.slots
	}
	g.active.Done()
}

// SetLimit limits the number of active goroutines to n; a negative value means no limit. It must not
// be called while goroutines of the group are active.
func (g *Group) SetLimit(n int) {
	switch active := len(g.slots); {
	case n < 0:
		g.slots = nil
	case active != 0:
		panic(fmt.Errorf("granularity: modify limit while %v goroutines in the group are still active", active))
	default:
		g.slots = make(chan struct{}, n)
	}
	g.limited = max(n, 0)
	if g.name != nil {
		g.name.limit(g.limited)
	}
}

// Wait blocks until all function calls from the Go method have returned, then
// returns the first non-nil error (if any) from them.
func (g *Group) Wait() error {
	g.active.Wait()
	if g.cancel != nil {
		g.cancel(g.err)
	}
	return g.err
}

// settle applies the settings made before the first use.
func (g *Group) settle() {
	g.rec = g.Recorder.or()
	g.name = g.rec.poolName(g.Name)
	g.limited = cmp.Or(g.limited, unlimited)
	g.name.limit(g.limited)
}

type recorderKey struct{}

// WithRecorder returns a context whose tasks ([Do]) and groups ([WithContext])
// are recorded by r instead of the default recorder.
func WithRecorder(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// recorderOf returns the context's recorder, or nil.
func recorderOf(ctx context.Context) *Recorder {
	if ctx == nil {
		return nil
	}
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	return r
}

// Do executes f as a task of the named class on the calling goroutine and returns its error. Use it
// in pools other than [Pool]: call it in the worker, around each piece of work.
//
// A Do inside a task is a nested task: it is measured separately and subtracted from the outer
// task. A panic in f passes through, and runtime.Goexit ends the goroutine as usual; the task is
// counted in both cases. An empty class is named after the function f. Do(ctx, class, nil) panics.
//
// It costs about 0.1 µs and does not allocate.
func Do(ctx context.Context, class string, f func(context.Context) error) error {
	if f == nil {
		panic("granularity: Do with a nil function")
	}
	r := recorderOf(ctx).or()
	key := siteKey{name: class, chain: chains.Capture()}
	if class == "" {
		key.fn = functionOf(f)
	}
	var x execution
	x.begin(r.site(&key), r.logging())
	defer x.end()
	return f(ctx)
}
