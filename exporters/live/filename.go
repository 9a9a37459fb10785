package live

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// The names of source files in call chains are those of the machine that built the program, such as
// "/home/ann/src/shop/cart/cart.go": they tell who built it, and where. Unless Options.FilePaths
// asks for them, they are replaced by what "go build -trimpath" would have put there,
// "example.com/shop/cart/cart.go", as far as the function's name tells it.

// sourceFile is the name of a function's file by its package.
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

// trimProfile replaces the names of files of a profile for pprof.
func trimProfile(p *profile.Profile) {
	for _, f := range p.Function {
		f.Filename = sourceFile(f.Name, f.Filename)
	}
	for _, m := range p.Mapping {
		m.File = m.File[strings.LastIndexAny(m.File, `/\`)+1:]
	}
}

// The functions below return copies in which all call chains and places have other names of files.
// The originals belong to the source, which may have given them to others, too. A test finds the
// names that they miss.

func trimGraph(g *bottle.Graph) *bottle.Graph {
	out := *g
	out.Boxes = slices.Clone(g.Boxes)
	for i := range out.Boxes {
		sites := maps.Clone(out.Boxes[i].Sites)
		for reason, list := range sites {
			list = slices.Clone(list)
			for k := range list {
				list[k].File = sourceFile(list[k].Func, list[k].File)
			}
			sites[reason] = list
		}
		out.Boxes[i].Sites = sites
	}
	if g.Verdict != nil {
		v := *g.Verdict
		v.Findings = slices.Clone(v.Findings)
		for i := range v.Findings {
			where := slices.Clone(v.Findings[i].Where)
			for k := range where {
				where[k].File = sourceFile(where[k].Func, where[k].File)
			}
			v.Findings[i].Where = where
		}
		out.Verdict = &v
	}
	out.Windows = slices.Clone(g.Windows)
	for i, w := range out.Windows {
		out.Windows[i] = trimGraph(w)
	}
	return &out
}

func trimContention(p *contention.Profile) *contention.Profile {
	out := *p
	stacks := map[*contention.Stack]*contention.Stack{nil: nil} // the same chain is the same pointer
	stack := func(s **contention.Stack) {
		trimmed, ok := stacks[*s]
		if !ok {
			trimmed = &contention.Stack{Frames: slices.Clone((*s).Frames), Truncated: (*s).Truncated}
			for i := range trimmed.Frames {
				f := &trimmed.Frames[i]
				f.File = sourceFile(f.Func, f.File)
			}
			stacks[*s] = trimmed
		}
		*s = trimmed
	}
	locks := map[*contention.Lock]*contention.Lock{nil: nil}
	lock := func(l **contention.Lock) {
		trimmed, ok := locks[*l]
		if !ok {
			copied := **l
			trimmed = &copied
			stack(&trimmed.Created)
			locks[*l] = trimmed
		}
		*l = trimmed
	}
	out.Locks, out.Waits, out.Pairs, out.Unfinished = slices.Clone(p.Locks), slices.Clone(p.Waits), slices.Clone(p.Pairs), slices.Clone(p.Unfinished)
	for i := range out.Locks {
		lock(&out.Locks[i])
	}
	for i := range out.Waits {
		w := &out.Waits[i]
		lock(&w.Lock)
		stack(&w.Waiter.Stack)
	}
	for i := range out.Pairs {
		q := &out.Pairs[i]
		lock(&q.Lock)
		stack(&q.Waiter.Stack)
		stack(&q.Owner.Stack)
		q.Roots = slices.Clone(q.Roots)
		for k := range q.Roots {
			stack(&q.Roots[k].Owner.Stack)
		}
	}
	for i := range out.Unfinished {
		stack(&out.Unfinished[i].Waiter.Stack)
		stack(&out.Unfinished[i].Holder.Stack)
	}
	return &out
}

func trimTasks(p *granularity.Profile) *granularity.Profile {
	out := *p
	chain := func(frames *[]granularity.Frame) {
		*frames = slices.Clone(*frames)
		for i := range *frames {
			f := &(*frames)[i]
			f.File = sourceFile(f.Func, f.File)
		}
	}
	out.Classes, out.Log = slices.Clone(p.Classes), slices.Clone(p.Log)
	for i := range out.Classes {
		sites := slices.Clone(out.Classes[i].Sites)
		for k := range sites {
			chain(&sites[k].Created)
			chain(&sites[k].Submitted)
		}
		out.Classes[i].Sites = sites
	}
	for i := range out.Log {
		chain(&out.Log[i].Created)
		chain(&out.Log[i].Submitted)
	}
	return &out
}
