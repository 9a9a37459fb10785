package granularity

import (
	"context"
	"sync"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"golang.org/x/sync/errgroup"
)

// A Group is an [errgroup.Group] that measures its tasks. It is built on one and has the same
// methods with the same meaning. A zero Group is valid, has no limit on the number of active
// goroutines, and does not cancel on error.
//
// As with errgroup, a panic in a task ends the program, and so does a nil function. With a limit of
// 0, Go blocks forever and TryGo returns false. A task that calls [runtime.Goexit] counts as one
// that returned nil.
//
// Measuring costs 0.1 to 0.25 µs per task (see docs/measurements.md) and does not allocate.
type Group struct {
	// Name names the group in profiles and execution traces, where groups of the
	// same name are reported together. It must be set before the first use.
	Name string
	// Recorder records the tasks; the default recorder if nil. It must be set
	// before the first use.
	Recorder *Recorder

	zero  errgroup.Group
	group *errgroup.Group // made by WithContext; otherwise zero is used
	once  sync.Once
	rec   *Recorder
	name  *poolName
	usual usualSite

	limited int // the last limit set; 0: none
}

// WithContext returns a new Group and a context derived from ctx, which is canceled
// the first time a function passed to Go returns a non-nil error or the first
// time Wait returns, whichever occurs first. The group records with the recorder of ctx, see
// [WithRecorder].
func WithContext(ctx context.Context) (*Group, context.Context) {
	group, derived := errgroup.WithContext(ctx)
	return &Group{group: group, Recorder: recorderOf(ctx)}, derived
}

// errgroup returns the underlying group.
func (g *Group) errgroup() *errgroup.Group {
	if g.group != nil {
		return g.group
	}
	return &g.zero
}

// Go calls the function in a new goroutine. It blocks until the new goroutine can be
// added without the number of active goroutines in the group exceeding the
// configured limit. The first error cancels the group's context and is returned by Wait.
func (g *Group) Go(f func() error) {
	g.errgroup().Go(g.task(f, chains.Capture()).run)
}

// TryGo calls the function in a new goroutine only if the number of active goroutines in
// the group is currently below the configured limit. It reports whether it did.
func (g *Group) TryGo(f func() error) bool {
	t := g.task(f, chains.Capture())
	if !g.errgroup().TryGo(t.run) {
		g.rec.unlog(t.log)
		t.free()
		return false
	}
	return true
}

// SetLimit limits the number of active goroutines in this group to at most n. A
// negative value indicates no limit. A limit of zero prevents any new goroutines from being
// added. The limit must not be modified while any goroutines in the group are active.
func (g *Group) SetLimit(n int) {
	g.errgroup().SetLimit(n)
	g.limited = max(n, 0)
	if g.name != nil {
		g.name.limit(g.limited)
	}
}

// Wait blocks until all function calls from the Go method have returned, then
// returns the first non-nil error (if any) from them.
func (g *Group) Wait() error { return g.errgroup().Wait() }

// groupTask is a submitted task. Tasks are reused, and the function run is created once, so
// measuring does not allocate.
type groupTask struct {
	f    func() error
	site *site
	log  *pending
	run  func() error
}

var groupTasks sync.Pool

func newGroupTask() *groupTask {
	if t, ok := groupTasks.Get().(*groupTask); ok {
		return t
	}
	t := new(groupTask)
	t.run = func() error {
		f, s, log := t.f, t.site, t.log
		t.free() // errgroup calls it once, so there are no other references
		var x execution
		x.begin(s, log)
		defer x.end()
		return f()
	}
	return t
}

// settle applies the settings made before the first use.
func (g *Group) settle() {
	g.rec = g.Recorder.or()
	g.name = g.rec.poolName(g.Name)
	if g.limited == 0 {
		g.limited = unlimited
	}
	g.name.limit(g.limited)
}

// task prepares the function for a goroutine.
func (g *Group) task(f func() error, chain *callstack.Chain) *groupTask {
	g.once.Do(g.settle)
	t := newGroupTask()
	t.f = f
	if f != nil {
		t.site = g.usual.site(g.rec, g.name, functionOf(f), chain)
	} else { // panics when it executes, as in errgroup
		t.site = g.rec.site(&siteKey{name: "(nil)", created: chain, submitted: chain, pool: g.name})
	}
	if r := g.rec; r.opts.Log > 0 {
		t.log = r.logging(callstack.Goid)
		t.log.submit(callstack.Goid)
	}
	return t
}

func (t *groupTask) free() {
	t.f = nil
	if t.log != nil {
		t.log = nil
	}
	groupTasks.Put(t)
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
	key := siteKey{name: class, created: chains.Capture()}
	if class == "" {
		key.fn = functionOf(f)
	}
	var x execution
	x.begin(r.site(&key), r.logging(callstack.Goid))
	defer x.end()
	return f(ctx)
}
