// Package page defines what a page of package live can show.
package page

import (
	"io"
	"maps"
	"slices"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Shown is the data of a page, with a function for each available format.
type Shown struct {
	Draw func() (*picture.Drawing, error)
	Text func(io.Writer) error
	JSON func(io.Writer) error
	// Profile writes the data for pprof.
	Profile func(io.Writer) error
}

// Naming returns the name of the source file of a function in profiles.
type Naming func(function, file string) string

// Invalid is the error of a request that cannot be answered as it is.
type Invalid string

func (e Invalid) Error() string { return string(e) }

// The functions below return copies in which the file names of all call stacks and places are
// replaced. The source may share the originals with other users. TestTrimFindsEveryPath of package
// live finds what these functions miss.

// copied returns a copy of s with change applied to each element.
func copied[S ~[]E, E any](s S, change func(*E)) S {
	s = slices.Clone(s)
	for i := range s {
		change(&s[i])
	}
	return s
}

// TrimGraph returns a copy of a graph with other names of files, or the
// original if file is nil.
func TrimGraph(g *bottle.Graph, file Naming) *bottle.Graph {
	if file == nil {
		return g
	}
	out := *g
	out.Boxes = copied(g.Boxes, func(b *bottle.Box) {
		b.Sites = maps.Clone(b.Sites)
		for reason, list := range b.Sites {
			b.Sites[reason] = copied(list, func(s *bottle.Site) { s.File = file(s.Func, s.File) })
		}
	})
	if g.Verdict != nil {
		v := *g.Verdict
		v.Findings = copied(v.Findings, func(f *verdict.Finding) {
			f.Where = copied(f.Where, func(p *timeline.Place) { p.File = file(p.Func, p.File) })
		})
		out.Verdict = &v
	}
	out.Windows = copied(g.Windows, func(w **bottle.Graph) { *w = TrimGraph(*w, file) })
	return &out
}

// trimmed returns a function that replaces pointers by pointers to changed copies. Equal pointers
// stay equal.
func trimmed[T any](change func(*T)) func(**T) {
	seen := map[*T]*T{nil: nil}
	return func(p **T) {
		out, ok := seen[*p]
		if !ok {
			out = new(T)
			*out = **p
			change(out)
			seen[*p] = out
		}
		*p = out
	}
}

// TrimContention returns a copy of a profile of contention with other names of files, or the
// original if file is nil.
func TrimContention(p *contention.Profile, file Naming) *contention.Profile {
	if file == nil {
		return p
	}
	stack := trimmed(func(s *contention.Stack) {
		s.Frames = copied(s.Frames, func(f *contention.Frame) { f.File = file(f.Func, f.File) })
	})
	lock := trimmed(func(l *contention.Lock) { stack(&l.Created) })
	out := *p
	out.Locks = copied(p.Locks, lock)
	wait := func(w *contention.Wait) {
		lock(&w.Lock)
		stack(&w.Waiter.Stack)
		stack(&w.Holder.Stack)
	}
	out.Waits, out.Unfinished = copied(p.Waits, wait), copied(p.Unfinished, wait)
	out.Pairs = copied(p.Pairs, func(q *contention.Pair) {
		lock(&q.Lock)
		stack(&q.Waiter.Stack)
		stack(&q.Owner.Stack)
		q.Roots = copied(q.Roots, func(r *contention.Root) { stack(&r.Owner.Stack) })
	})
	return &out
}

// TrimTasks returns a copy of a profile of tasks with other names of files, or the
// original if file is nil.
func TrimTasks(p *granularity.Profile, file Naming) *granularity.Profile {
	if file == nil {
		return p
	}
	chain := func(frames []granularity.Frame) []granularity.Frame {
		return copied(frames, func(f *granularity.Frame) { f.File = file(f.Func, f.File) })
	}
	out := *p
	out.Classes = copied(p.Classes, func(c *granularity.Class) {
		c.Sites = copied(c.Sites, func(s *granularity.Site) { s.Created, s.Submitted = chain(s.Created), chain(s.Submitted) })
	})
	out.Log = copied(p.Log, func(e *granularity.TaskRecord) { e.Created, e.Submitted = chain(e.Created), chain(e.Submitted) })
	return &out
}
