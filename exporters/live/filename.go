package live

import (
	"net/url"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// The names of source files in call chains are those of the machine that built the program, such as
// "/home/ann/src/shop/cart/cart.go": they tell who built it, and where. Unless Options.FilePaths asks for them, they are replaced by
// what "go build -trimpath" would have put there, "example.com/shop/cart/cart.go", as far as the function's name tells it.

// sourceFile is the name of a function's file by its package.
func sourceFile(function, file string) string {
	slash := strings.LastIndexAny(file, `/\`)
	if slash < 0 {
		return file
	}
	base := file[slash+1:]
	if p := packageOf(function); p != "" {
		return p + "/" + base
	}
	return base
}

// packageOf is the import path in the full name of a function, "" if there is none.
func packageOf(function string) string {
	name, _, _ := strings.Cut(function, "[") // type parameters may have slashes
	last := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[last:], '.')
	if dot < 0 {
		return ""
	}
	path := name[:last+dot]
	if plain, err := url.PathUnescape(path); err == nil {
		return plain // the linker writes gopkg.in/yaml%2ev3
	}
	return path
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

// trimContention returns a copy of a profile with other names of files: the call chains may be somebody else's, too.
func trimContention(p *contention.Profile) *contention.Profile {
	stacks := map[*contention.Stack]*contention.Stack{nil: nil}
	stack := func(s *contention.Stack) *contention.Stack {
		c, ok := stacks[s]
		if !ok {
			c = &contention.Stack{Frames: slices.Clone(s.Frames), Truncated: s.Truncated}
			for i := range c.Frames {
				f := &c.Frames[i]
				f.File = sourceFile(f.Func, f.File)
			}
			stacks[s] = c
		}
		return c
	}
	out := *p
	locks := map[*contention.Lock]*contention.Lock{nil: nil}
	out.Locks = slices.Clone(p.Locks)
	for i, l := range out.Locks {
		c := *l
		c.Created = stack(l.Created)
		out.Locks[i], locks[l] = &c, &c
	}
	out.Waits = slices.Clone(p.Waits)
	for i := range out.Waits {
		w := &out.Waits[i]
		w.Lock, w.Waiter.Stack = locks[w.Lock], stack(w.Waiter.Stack)
	}
	out.Pairs = slices.Clone(p.Pairs)
	for i := range out.Pairs {
		r := &out.Pairs[i]
		r.Lock, r.Waiter.Stack, r.Owner.Stack = locks[r.Lock], stack(r.Waiter.Stack), stack(r.Owner.Stack)
	}
	return &out
}

// trimTasks returns a copy of a profile of tasks with other names of files.
func trimTasks(p *granularity.Profile) *granularity.Profile {
	chain := func(frames []granularity.Frame) []granularity.Frame {
		frames = slices.Clone(frames)
		for i := range frames {
			f := &frames[i]
			f.File = sourceFile(f.Func, f.File)
		}
		return frames
	}
	out := *p
	out.Classes = slices.Clone(p.Classes)
	for i := range out.Classes {
		c := &out.Classes[i]
		c.Sites = slices.Clone(c.Sites)
		for j := range c.Sites {
			s := &c.Sites[j]
			s.Created, s.Submitted = chain(s.Created), chain(s.Submitted)
		}
	}
	out.Log = slices.Clone(p.Log)
	for i := range out.Log {
		l := &out.Log[i]
		l.Created, l.Submitted = chain(l.Created), chain(l.Submitted)
	}
	return &out
}
