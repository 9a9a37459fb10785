package timeline

import (
	"fmt"
	"strings"
)

// Libraries start goroutines for others: every goroutine of sync.(*WaitGroup).Go
// begins in sync.(*WaitGroup).Go.func1, which tells nothing. Such a goroutine is named by
// the function that it was started for:
//
//   - by what the wrapper calls, as the root of its stacks shows, once one of
//     the goroutines that were started at the same place has blocked;
//   - else by the place: "main.run:57 (WaitGroup.Go)".
//
// The first name that a place gets is kept, so that its goroutines stay together.

// wrapperPrefixes begin the names of functions that start goroutines for their callers.
var wrapperPrefixes = []string{
	"sync.(*WaitGroup).Go",
	"golang.org/x/sync/errgroup.(*Group).",
	"github.com/sourcegraph/conc",
	"github.com/bottleneck-go/bottleneck/granularity.",
}

func isWrapper(fn string) bool {
	for _, p := range wrapperPrefixes {
		if strings.HasPrefix(fn, p) {
			return true
		}
	}
	return false
}

// innerFunc returns the outermost function of a stack that is not a wrapper, if
// its root is one; else "".
func innerFunc(s *Stack) string {
	n := len(s.Frames)
	if n == 0 || n >= maxFrames || !isWrapper(s.Frames[n-1].Func) {
		return ""
	}
	for i := n - 2; i >= 0; i-- {
		if fn := s.Frames[i].Func; !isWrapper(fn) {
			if isRuntimeFunc(fn) || strings.HasPrefix(fn, "sync.") {
				return "" // the wrapper itself blocks
			}
			return fn
		}
	}
	return ""
}

// siteFrame returns the frame that called the wrapper which started a goroutine.
func siteFrame(created *Stack) *Frame {
	if created == nil {
		return nil
	}
	for _, f := range created.Frames {
		if !isWrapper(f.Func) {
			return f
		}
	}
	return nil
}

// learnSites names the places of a generation that a stack has told.
func (r *replay) learnSites() {
	for i := range r.d.gs {
		l := &r.d.gs[i]
		if !l.wrapped || l.inner < 0 || l.site < 0 {
			continue
		}
		if f := siteFrame(r.d.stacks[l.site]); f != nil && r.sites[f] == "" {
			r.sites[f] = r.d.names[l.inner]
		}
	}
}

// startFunc returns the name of a goroutine that the generation has told.
func (r *replay) startFunc(l *localG) string {
	name := r.d.names[l.name]
	if !l.wrapped {
		return name
	}
	if l.site >= 0 {
		if f := siteFrame(r.d.stacks[l.site]); f != nil {
			if r.sites[f] == "" {
				r.sites[f] = fmt.Sprintf("%s:%d (%s)", f.Func, f.Line, shortWrapper(name))
			}
			return r.sites[f]
		}
	}
	if l.inner >= 0 {
		return r.d.names[l.inner]
	}
	return name
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
