package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// To the scheduler, a call of C is a system call: the goroutine keeps its P until the runtime takes
// it, after 20 µs to 10 ms, and is then "blocked", though the C code may compute on a thread, and a
// processor, of its own. The stack at the beginning of the call names the function that cgo
// generated for the C function, so such calls are known, and are states of their own:
//
//   - InC: the goroutine still holds its P. It runs.
//   - InCDetached: it has none, and a processor is free for its thread. It counts as running.
//   - InCUncounted: it has none, and no processor is free. It does not count as running.
//
// A processor is free if no goroutine has it: GOMAXPROCS less the goroutines on a P. So no more
// goroutines count as running than there are Ps, at any instant. Where more are in C than
// processors are free, those count that entered C last: one that has been in C for long rather
// waits there, as an event loop in C does. GOMAXPROCS counts as one before the trace has told it.
//
// Whether C code computes or waits (in a system call, for a lock of C, for the processor) a trace
// cannot tell.
//
// A thread that C made, and that has called Go, is a goroutine as well. Between two calls of Go it
// is where no function of the program has sent it: it is SyscallBlocked, with the wait WaitCThread.
// It is called by the function that it calls, or "C thread" where that is not known, or where there
// are several.

// callback is at the root of the call chains of a thread of C.
const callback = "runtime.cgocallback"

// cThread is the name of a thread of C of which no more is known.
const cThread = "C thread"

// NoteC returns the note (Info.Notes) of a pass that has seen C code; "" of others.
func (i *Info) NoteC() string {
	if i.InC <= 0 {
		return ""
	}
	return fmt.Sprintf("%s ran C code for %s, which the scheduler does not see. It counts as running while a processor is free for it; a trace cannot tell whether it computes or waits.",
		format.Plural(i.GoroutinesInC, "goroutine", "goroutines"), format.Duration(time.Duration(i.InC)))
}

// noteUnplaced returns the note of a pass in which goroutines were in system calls, or in C,
// without a call chain; "" if no goroutine is known to have been in C. The trace shows the call
// chain of such a call only at its beginning, or when it lasts as long as a generation: where a
// goroutine went next is not where it was.
func (r *replay) noteUnplaced() string {
	if r.unplaced == 0 || r.info.InC == 0 {
		return ""
	}
	return fmt.Sprintf("Goroutines were in a system call or in C code for %s, and no call chain shows in which, as for those that were there when the trace began. It counts as a system call.", format.Duration(time.Duration(r.unplaced)))
}

// callsC reports whether a stack with which a goroutine left Go for a system call is that of a call
// of C: the innermost function that is not the runtime's was made by cgo, or belongs to purego,
// which does without.
func callsC(frames []*Frame) bool {
	for _, f := range frames {
		if !isRuntimeFunc(f.Func) {
			return entersC(f.Func)
		}
	}
	return false
}

// entersC reports whether a function was generated to call a C function.
func entersC(fn string) bool {
	return strings.Contains(fn, "._Cfunc_") || strings.Contains(fn, "._C2func_") || strings.Contains(fn, "/purego.")
}

// detached reports whether a goroutine in the state is in C without a P.
func (s State) detached() bool { return s == InCDetached || s == InCUncounted }

// detached is the list of the goroutines that are in C without a P, in the order in which they lost
// it or entered.
type detached struct {
	n, counted int        // of them, and of those that count as running: the newest ones
	newest     *Goroutine // the end of the list
	first      *Goroutine // the oldest that counts, if any does
	onProc     int        // goroutines on a P
}

// add appends a goroutine.
func (l *detached) add(g *Goroutine, counts bool) {
	g.others().older = l.newest
	if l.newest != nil {
		l.newest.rare.newer = g
	}
	l.newest = g
	l.n++
	if counts {
		l.counted++
		if l.first == nil {
			l.first = g
		}
	}
}

func (l *detached) remove(g *Goroutine) {
	if g.cur.state == InCDetached {
		l.counted--
		if l.first == g {
			l.first = g.rare.newer
		}
	}
	older, newer := g.rare.older, g.rare.newer
	if older != nil {
		older.rare.newer = newer
	}
	if newer != nil {
		newer.rare.older = older
	} else {
		l.newest = older
	}
	g.rare.older, g.rare.newer = nil, nil
	l.n--
}

// free returns how many processors no goroutine has.
func (r *replay) free() int {
	return int(min(max(r.gomaxprocs, 1), 1<<30)) - r.detached.onProc
}

// enterDetached adds a goroutine to the list and returns its state.
func (r *replay) enterDetached(g *Goroutine) State {
	counts := r.free() > 0
	r.detached.add(g, counts)
	if counts {
		return InCDetached
	}
	return InCUncounted
}

// balance lets as many of the goroutines in C count as running as processors are free.
func (r *replay) balance(t Time) {
	l := &r.detached
	want := max(0, min(r.free(), l.n))
	for ; l.counted > want; l.counted-- {
		g := l.first
		l.first = g.rare.newer
		r.recount(g, InCUncounted, t)
	}
	if l.counted == 0 {
		l.first = nil // one that has just entered may not count
	}
	for ; l.counted < want; l.counted++ {
		if l.first == nil {
			l.first = l.newest
		} else {
			l.first = l.first.rare.older
		}
		r.recount(l.first, InCDetached, t)
	}
}

func (r *replay) recount(g *Goroutine, s State, t Time) {
	cur := g.cur
	cur.state, cur.since = s, t
	r.show(g, &cur, nil, nil)
}
