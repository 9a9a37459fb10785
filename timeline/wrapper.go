package timeline

import (
	"fmt"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/starter"
)

// Libraries start goroutines for others: every goroutine of sync.(*WaitGroup).Go
// begins in sync.(*WaitGroup).Go.func1, which tells nothing. Such a goroutine is named by
// the function that it was started for:
//
//   - by what the wrapper calls, as its stacks show, or those of another
//     goroutine that was started at the same place;
//   - by the place, "main.run:57 (WaitGroup.Go)", as long as the trace has no such stack.

// innerFunc returns the outermost function of a stack that is not a wrapper, if
// its root is one; else "".
func innerFunc(s *Stack) string {
	n := len(s.Frames)
	if n == 0 || n >= maxFrames || !starter.Is(s.Frames[n-1].Func) {
		return ""
	}
	for i := n - 2; i >= 0; i-- {
		if fn := s.Frames[i].Func; !starter.Is(fn) {
			if isRuntimeFunc(fn) || ofItself(fn) {
				return "" // the wrapper itself blocks
			}
			return fn
		}
	}
	return ""
}

// ofItself tells what a wrapper calls for its own purposes: none of it is what somebody starts a goroutine for.
func ofItself(fn string) bool {
	for _, pkg := range []string{"sync.", "time.", "syscall.", "os.", "golang.org/x/sys/"} {
		if strings.HasPrefix(fn, pkg) {
			return true
		}
	}
	return false
}

// siteFrame returns the frame that called the wrapper which started a goroutine.
func siteFrame(created *Stack) *Frame {
	if created == nil {
		return nil
	}
	for _, f := range created.Frames {
		if !starter.Is(f.Func) {
			return f
		}
	}
	return nil
}

// learnSites names the places of a generation of which a stack tells what is
// called there.
func (r *replay) learnSites() {
	for i := range r.d.gs {
		l := &r.d.gs[i]
		if l.inner < 0 {
			continue
		}
		f := r.siteOf(l)
		if g := r.gs[l.id]; f == nil && g != nil {
			f = g.site // started in an earlier generation
		}
		if f != nil && r.sites[f] == "" {
			r.sites[f] = r.d.names[l.inner]
		}
	}
}

func (r *replay) siteOf(l *localG) *Frame {
	if !l.wrapped || l.site < 0 {
		return nil
	}
	return siteFrame(r.d.stacks[l.site])
}

// baptise names a goroutine by what the generation tells, if it has something new.
func (r *replay) baptise(g *Goroutine, l *localG) bool {
	if g.site != nil {
		fn := r.sites[g.site]
		if fn == "" {
			return false
		}
		g.site = nil
		g.setFunc(fn)
		return true
	}
	if g.Func != "" || l.name < 0 {
		return false
	}
	name := r.d.names[l.name]
	switch f := r.siteOf(l); {
	case f != nil && r.sites[f] != "":
		name = r.sites[f]
	case f != nil:
		g.site = f
		name = r.place(f, name)
	case l.wrapped && l.inner >= 0:
		name = r.d.names[l.inner]
	}
	g.setFunc(name)
	return true
}

// place names goroutines by where the wrapper was called.
func (r *replay) place(f *Frame, wrapper string) string {
	p := r.places[f]
	if p == "" {
		p = fmt.Sprintf("%s:%d (%s)", f.Func, f.Line, shortWrapper(wrapper))
		r.places[f] = p
	}
	return p
}

// shortWrapper turns "sync.(*WaitGroup).Go.func1" into "WaitGroup.Go".
func shortWrapper(fn string) string {
	if i := strings.LastIndexByte(fn, '/'); i >= 0 {
		fn = fn[i+1:]
	}
	if i := strings.IndexByte(fn, '.'); i >= 0 {
		fn = fn[i+1:]
	}
	if i := strings.Index(fn, ".func"); i >= 0 {
		fn = fn[:i]
	}
	return strings.NewReplacer("(*", "", ")", "").Replace(fn)
}
