package live

import (
	"maps"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Call stacks name source files as the build machine did, such as
// "/home/ann/src/shop/cart/cart.go", which reveals who built the program, and where. Unless
// Options.FilePaths is set, the names are replaced by those of "go build -trimpath",
// "example.com/shop/cart/cart.go", to the extent that the function's name contains them.

// sourceFile returns the file name of a function, derived from its package.
func sourceFile(function, file string) string {
	slash := strings.LastIndexAny(file, `/\`)
	if slash < 0 {
		return file
	}
	base := file[slash+1:]
	if p := symbol.Package(symbol.Unescape(function)); p != "" {
		return p + "/" + base
	}
	return base
}

// The functions below return copies in which the file names of all call stacks and places are
// replaced. The source may share the originals with other users. TestTrimFindsEveryPath finds what
// these functions miss.

// copied returns a copy of s with change applied to each element.
func copied[S ~[]E, E any](s S, change func(*E)) S {
	s = slices.Clone(s)
	for i := range s {
		change(&s[i])
	}
	return s
}

func trimGraph(g *bottle.Graph) *bottle.Graph {
	out := *g
	out.Boxes = copied(g.Boxes, func(b *bottle.Box) {
		b.Sites = maps.Clone(b.Sites)
		for reason, list := range b.Sites {
			b.Sites[reason] = copied(list, func(s *bottle.Site) { s.File = sourceFile(s.Func, s.File) })
		}
	})
	if g.Verdict != nil {
		v := *g.Verdict
		v.Findings = copied(v.Findings, func(f *verdict.Finding) {
			f.Where = copied(f.Where, func(p *timeline.Place) { p.File = sourceFile(p.Func, p.File) })
		})
		out.Verdict = &v
	}
	out.Windows = copied(g.Windows, func(w **bottle.Graph) { *w = trimGraph(*w) })
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

func trimContention(p *contention.Profile) *contention.Profile {
	stack := trimmed(func(s *contention.Stack) {
		s.Frames = copied(s.Frames, func(f *contention.Frame) { f.File = sourceFile(f.Func, f.File) })
	})
	lock := trimmed(func(l *contention.Lock) { stack(&l.Created) })
	out := *p
	out.Locks = copied(p.Locks, lock)
	out.Waits = copied(p.Waits, func(w *contention.Wait) {
		lock(&w.Lock)
		stack(&w.Waiter.Stack)
	})
	out.Pairs = copied(p.Pairs, func(q *contention.Pair) {
		lock(&q.Lock)
		stack(&q.Waiter.Stack)
		stack(&q.Owner.Stack)
		q.Roots = copied(q.Roots, func(r *contention.Root) { stack(&r.Owner.Stack) })
	})
	out.Unfinished = copied(p.Unfinished, func(u *contention.Unfinished) {
		stack(&u.Waiter.Stack)
		stack(&u.Holder.Stack)
	})
	return &out
}

func trimTasks(p *granularity.Profile) *granularity.Profile {
	chain := func(frames []granularity.Frame) []granularity.Frame {
		return copied(frames, func(f *granularity.Frame) { f.File = sourceFile(f.Func, f.File) })
	}
	out := *p
	out.Classes = copied(p.Classes, func(c *granularity.Class) {
		c.Sites = copied(c.Sites, func(s *granularity.Site) { s.Created, s.Submitted = chain(s.Created), chain(s.Submitted) })
	})
	out.Log = copied(p.Log, func(e *granularity.TaskRecord) { e.Created, e.Submitted = chain(e.Created), chain(e.Submitted) })
	return &out
}
