// Package callstack captures call chains cheaply and identifies goroutines.
//
// A profiler inside the profiled program captures call chains far more often than it prints them.
// So a chain is captured in two steps:
//
//  1. Key. On amd64 and arm64 the chain of frame pointers is walked in assembly and
//     the return addresses on it are hashed to 64 bits: two calls from the same place
//     have the same hash. Elsewhere, and with the build tag purego, the program
//     counters of [runtime.Callers] are hashed instead.
//  2. Intern. A [Table] maps the hash to a [Chain]. Only the first time a hash is
//     seen does [runtime.Callers] run, because only it expands inlined calls.
//
// Names, files and lines are resolved by the first call of [Chain.Frames]. It removes the
// profiler's own frames by function name, never by a fixed number of levels, which inlining would
// invalidate.
//
// Two different chains share a hash with probability 2⁻⁶⁴. Among a million chains, some two do with
// probability 3·10⁻⁸, and would then be reported as one.
//
// Costs on one core of the development machine (go test -bench . in this directory):
//
//	                   amd64, frame pointers   portable
//	known chain, 8 deep               15 ns      1.0 µs
//	known chain, 32 deep              69 ns      1.8 µs
//	new chain                         1–2 µs     1–2 µs
//	goroutine id                       2 ns     unknown (0)
//
// The arm64 assembly is tested under emulation (QEMU), where times are meaningless.
package callstack

import (
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// MaxDepth is the largest number of calls that a [Chain] holds, counted from the
// leaf. Deeper chains are cut at the root and marked as truncated.
const MaxDepth = 128

// Chain is one call chain. Chains of one [Table] can be compared by address:
// the same calls give the same *Chain. It is safe for concurrent use.
type Chain struct {
	hash   uint64
	pcs    []uintptr
	frames atomic.Pointer[[]Frame]
	cut    bool // for a chain without pcs: its root is missing
}

// NewChain returns a chain that was captured elsewhere, such as one read from a file.
func NewChain(frames []Frame, truncated bool) *Chain {
	c := &Chain{cut: truncated}
	c.frames.Store(&frames)
	return c
}

// Frame is one call in a chain.
type Frame struct {
	// Func is the full name of the function, such as "net/http.(*Server).Serve".
	Func string
	// File is the path of its source, as the compiler recorded it.
	File string
	// Line is the line of the call; 0 if unknown.
	Line int
	// PC is the program counter of the call; 0 if unknown.
	PC uintptr
}

// Truncated reports whether the chain was longer than [MaxDepth], so its root is missing.
func (c *Chain) Truncated() bool { return c.cut || len(c.pcs) == MaxDepth }

// Dropped is the name of the only function in the chain that represents all chains that did not fit
// into a full table.
const Dropped = "[call chains dropped]"

// Frames returns the calls, leaf first, without those inside the profiler itself. The first call
// symbolizes the chain (some µs); later calls are a single load. The caller must not modify the
// result.
func (c *Chain) Frames() []Frame {
	if f := c.frames.Load(); f != nil {
		return *f
	}
	frames := symbolize(c.pcs)
	c.frames.Store(&frames)
	return frames
}

func symbolize(pcs []uintptr) []Frame {
	if len(pcs) == 0 {
		return []Frame{{Func: Dropped}}
	}
	out := make([]Frame, 0, len(pcs))
	iter := runtime.CallersFrames(pcs)
	for {
		f, more := iter.Next()
		own := len(out) == 0 && isOwn(f.Function, f.File)
		start := f.Function == "runtime.goexit" || f.Function == "runtime.main"
		if f.Function != "" && !own && !start {
			out = append(out, Frame{Func: symbol.Unescape(f.Function), File: f.File, Line: f.Line, PC: f.PC})
		}
		if !more {
			return out
		}
	}
}

// Packages whose functions belong to the profiler and are never reported as a cause. Their tests
// are in the same packages but do count as callers.
var ownPackages = []string{
	"github.com/bottleneck-go/bottleneck/contention",
	"github.com/bottleneck-go/bottleneck/granularity",
	"github.com/bottleneck-go/bottleneck/internal/callstack",
}

// isOwn reports whether a leaf frame belongs to the profiler. That includes the standard library's
// Cond when it calls back into a wrapper's lock.
func isOwn(function, file string) bool {
	if function == "sync.(*Cond).Wait" || function == "runtime.Callers" {
		return true
	}
	for _, p := range ownPackages {
		if rest, ok := strings.CutPrefix(function, p); ok && strings.HasPrefix(rest, ".") {
			return !strings.HasSuffix(file, "_test.go")
		}
	}
	return false
}
