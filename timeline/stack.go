package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/exp/trace"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// Frame is one frame of a call chain.
type Frame struct {
	PC   uint64 // program counter; except for the leaf, the return address
	Func string // full name, such as "net/http.(*conn).serve"
	File string
	Line int

	role role // see naming.go
}

// Stack is a call chain, leaf first. Equal call chains of one pass are the same *Stack, so they can
// be compared by pointer and used as map keys. The runtime records at most 128 frames, so the root
// of a very deep chain may be missing.
//
// Stacks are shared and must not be modified.
type Stack struct {
	Frames []*Frame

	wait   [len(byStack)]Wait // cached for blocks with these reasons
	parked Wait               // for a status
	calls  *calls             // see naming.go
	block  *Stack             // the stack without the runtime's parking frames; itself if it has none
	inC    bool               // a system call with this stack is a call of C
	fromC  bool               // the root is a call of Go from C
	forks  bool               // see Forks
	wakes  bool               // see WakesAll
	site   *Frame             // see Site
}

// maxFrames is the number of frames at which the runtime truncates a stack.
const maxFrames = 128

// Root returns the outermost frame in the trace, or nil if there is none. It may be called on a nil
// Stack.
func (s *Stack) Root() *Frame {
	if s == nil || len(s.Frames) == 0 {
		return nil
	}
	return s.Frames[len(s.Frames)-1]
}

// Code returns the frames without those caused by interrupting or profiling the program:
// runtime.asyncPreempt at the leaf, which a preempted goroutine calls, and runtime.goexit at the
// root, which only samples of the CPU profiler have. It returns nil for a nil Stack.
func (s *Stack) Code() []*Frame {
	if s == nil {
		return nil
	}
	frames := s.Frames
	for len(frames) > 1 && (frames[0].Func == "runtime.asyncPreempt2" || frames[0].Func == "runtime.asyncPreempt") {
		frames = frames[1:]
	}
	if last := len(frames) - 1; last > 0 && frames[last].Func == "runtime.goexit" {
		frames = frames[:last]
	}
	return frames
}

// fromRuntime reports whether the runtime calls the program, as it calls finalizers. The root is then
// the start function even if the chain lacks the caller of the leaf.
func (s *Stack) fromRuntime() bool {
	code := s.Code()
	return len(code) > 1 && isRuntimeFunc(code[len(code)-1].Func) && !isRuntimeFunc(code[0].Func)
}

// String returns "leaf < caller < … < root", or "" for a nil Stack.
func (s *Stack) String() string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	for i, f := range s.Frames {
		if i > 0 {
			b.WriteString(" < ")
		}
		b.WriteString(f.Func)
	}
	return b.String()
}

// stackTable interns the call chains of one pass by their program counters. The stack handles of
// the trace Reader are comparable only within one generation. Decoders of several generations share
// the table. They look up each distinct handle only once, so a single lock is sufficient.
type stackTable struct {
	mu     sync.Mutex
	frames map[Frame]*Frame    // by their fields, without a role
	stacks map[uint64][]*Stack // by hash of the frames
	calls  map[string]*calls   // by what they show
	key    []byte              // buffer for keys of calls
}

func newStackTable() *stackTable {
	return &stackTable{frames: map[Frame]*Frame{}, stacks: map[uint64][]*Stack{}, calls: map[string]*calls{}}
}

// intern returns the canonical *Stack of s, or nil if s has no frames.
func (t *stackTable) intern(s trace.Stack) *Stack {
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := make([]*Frame, 0, 16)
	for f := range s.Frames() {
		frames = append(frames, t.frame(Frame{PC: f.PC, Func: f.Func, File: f.File, Line: int(f.Line)}))
	}
	return t.internFrames(frames)
}

// count returns the number of call chains.
func (t *stackTable) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.stacks)
}

// frame returns the canonical *Frame equal to f, whose strings may be temporary.
func (t *stackTable) frame(f Frame) *Frame {
	f.Func = symbol.Unescape(f.Func)
	if old := t.frames[f]; old != nil {
		return old
	}
	f.Func, f.File = strings.Clone(f.Func), strings.Clone(f.File)
	nf := new(Frame)
	*nf = f
	nf.role = roleOf(nf)
	t.frames[f] = nf
	return nf
}

// internFrames returns the canonical *Stack of frames, which must be frames of this table.
func (t *stackTable) internFrames(frames []*Frame) *Stack {
	if len(frames) == 0 {
		return nil
	}
	h := uint64(len(frames))
	for _, f := range frames {
		h = (h ^ uint64(uintptr(unsafe.Pointer(f)))) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	for _, s := range t.stacks[h] {
		if slices.Equal(s.Frames, frames) {
			return s
		}
	}
	s := &Stack{Frames: frames[:len(frames):len(frames)]}
	t.stacks[h] = append(t.stacks[h], s)
	t.classify(s)
	return s
}

// byStack are the reasons of blocks that the call chain refines.
var byStack = [...]string{"sync", "select", "chan send"}

// classify computes the cached properties of a stack.
func (t *stackTable) classify(s *Stack) {
	for i, reason := range byStack {
		s.wait[i] = waitOf(reason, s)
	}
	s.calls = t.callsOf(s.Frames)
	s.block = s
	s.inC, s.fromC, s.site = callsC(s.Frames), s.Root().Func == callback, siteOf(s.Frames)
	s.forks = slices.ContainsFunc(s.Frames, func(f *Frame) bool { return f.Func == "syscall.forkExec" })
	var skip int
	s.wakes = s.Frames[0].Func == "sync.(*Cond).Broadcast"
	if s.parked, skip = waitOfStatus(s); skip > 0 {
		s.block = t.internFrames(s.Frames[skip:])
	}
}

// Forks reports whether a goroutine with this call chain starts a command. The system call that forks
// the process leaves no event, and holds the thread until the command has been loaded: the slice that
// ends there is that call. It returns false for a nil Stack.
func (s *Stack) Forks() bool { return s != nil && s.forks }

// WakesAll reports whether a goroutine with this call chain wakes all others that wait for a
// sync.Cond. It returns false for a nil Stack.
func (s *Stack) WakesAll() bool { return s != nil && s.wakes }

// Place is a place in the source. The zero value is an unknown place.
type Place struct {
	Func string `json:"func,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Place returns where the frame is in the source.
func (f *Frame) Place() Place { return Place{f.Func, f.File, f.Line} }

// String returns the place as "main.work file.go:12", with the last element of the path, or "" if
// it is unknown.
func (p Place) String() string {
	name := format.Func(p.Func)
	if source := p.Source(); source != "" {
		return name + " " + source
	}
	return name
}

// Source returns the place as "file.go:12", or "" if it is unknown.
func (p Place) Source() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", format.Clean(p.File[strings.LastIndexAny(p.File, `/\`)+1:]), p.Line)
}

// Compare orders places by function, file and line.
func (p Place) Compare(q Place) int {
	return cmp.Or(strings.Compare(p.Func, q.Func), strings.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line))
}

// Site returns the frame at which a call chain left the program's own code: the innermost frame
// that does not belong to the standard library, golang.org/x/sync, code generated by cgo, or the
// lock wrappers of this module. If there is none, as in a connection goroutine of net/http, it is
// the innermost frame that belongs neither to the packages in which all waits happen nor to a
// launcher; for goroutines of the runtime, it is the leaf. What package testing does between
// benchmarks is not done by their TestMain. Site returns nil for a nil Stack.
func (s *Stack) Site() *Frame {
	if s == nil {
		return nil
	}
	return s.site
}

func siteOf(frames []*Frame) *Frame {
	for _, f := range frames {
		if f.Func == runsTests {
			break
		}
		if symbol.IsProgram(f.Func, f.File) && !symbol.IsWrapper(f.Func, f.File) && !entersC(f.Func) && !starts(f) && !strings.HasPrefix(f.Func, wrappers) && !strings.HasPrefix(f.Func, "golang.org/x/sync/") {
			return f
		}
	}
	for _, f := range frames {
		if p := symbol.Package(f.Func); !waitsInside(p) && !entersC(f.Func) && !starter.Is(f.Func) {
			return f
		}
	}
	for _, f := range frames { // the launcher itself, such as a worker that waits for tasks
		if symbol.IsProgram(f.Func, f.File) {
			return f
		}
	}
	return frames[0]
}

// starts reports whether a frame belongs to a library that starts goroutines for others, and not to
// the tests of that library.
func starts(f *Frame) bool { return starter.Is(f.Func) && !strings.HasSuffix(f.File, "_test.go") }

// runsTests is called by TestMain, or by the main function that go test generates.
const runsTests = "testing.(*M).Run"

// waitsInside reports whether pkg is a standard library package in which goroutines of all kinds
// wait.
func waitsInside(pkg string) bool {
	switch first, _, _ := strings.Cut(pkg, "/"); first {
	case "runtime", "internal", "sync", "syscall", "time":
		return true
	}
	return pkg == "net" || pkg == "io" || pkg == "bufio"
}

// wrappers is the name prefix of the methods of this module's locks.
const wrappers = "github.com/bottleneck-go/bottleneck/contention.(*"
