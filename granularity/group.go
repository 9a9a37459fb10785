package granularity

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
)

// A Group is an [errgroup.Group] that measures its tasks: it has the same
// methods with the same meaning, because it is built on one. A zero Group is valid,
// has no limit on the number of active goroutines, and does not cancel on error.
//
// What holds for errgroup holds here: a panic in a task ends the program, and so
// does a nil function; with a limit of 0 Go blocks for ever and TryGo returns false. A
// task that calls [runtime.Goexit] counts as one that returned nil.
//
// Measuring costs 0.1 to 0.25 µs a task (see the table in the package's documentation) and
// allocates nothing.
type Group struct {
	// Name names the group in profiles and execution traces, where groups of the
	// same name are reported together. It must be set before the first use.
	Name string
	// Recorder records the tasks; the default recorder if nil. It must be set
	// before the first use.
	Recorder *Recorder

	zero  errgroup.Group
	group *errgroup.Group // instead of zero: the one made by WithContext
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

// errgroup returns the group that does the work.
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

// groupTask is a submitted task. They are used again, and the function run is made once, so
// that measuring allocates nothing.
type groupTask struct {
	f    func() error
	site *site
	log  *pending
	run  func() error
}

var groupTasks sync.Pool

func init() {
	groupTasks.New = func() any {
		t := new(groupTask)
		t.run = func() error {
			f, s, log := t.f, t.site, t.log
			t.free() // nobody else has it: errgroup calls it once
			var x execution
			x.begin(s, nil, false, log)
			defer x.end()
			return f()
		}
		return t
	}
}

// settle takes over what was set before the first use.
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
	t := groupTasks.Get().(*groupTask)
	t.f = f
	if f != nil {
		t.site = g.usual.site(g.rec, g.name, functionOf(f), chain)
	} else { // will panic when it executes, as in errgroup
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
