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
	PC   uint64 // program counter; the return address but for the leaf
	Func string // full name, such as "net/http.(*conn).serve"
	File string
	Line int

	role role // see naming.go
}

// Stack is a call chain, leaf first. Equal call chains of one pass are the
// same *Stack: compare and key by pointer. The runtime keeps at most 128
// frames, so the root of a very deep chain may be missing.
//
// Stacks are shared: do not change them.
type Stack struct {
	Frames []*Frame

	wait   [3]Wait // of a block with the reasons "sync", "select", "chan send": asked for each block, so kept
	parked Wait    // of a status
	calls  *calls  // see naming.go
	block  *Stack  // the stack without the runtime's parking frames; itself when there are none
	inC    bool    // a system call with the stack is a call of C
	fromC  bool    // C called Go at the root
	site   *Frame  // see Site
}

// maxFrames is the number of frames at which the runtime cuts a stack.
const maxFrames = 128

// Leaf returns the innermost frame, or nil. It may be called on a nil Stack.
func (s *Stack) Leaf() *Frame {
	if s == nil || len(s.Frames) == 0 {
		return nil
	}
	return s.Frames[0]
}

// Root returns the outermost frame that the trace holds, or nil. It may be
// called on a nil Stack.
func (s *Stack) Root() *Frame {
	if s == nil || len(s.Frames) == 0 {
		return nil
	}
	return s.Frames[len(s.Frames)-1]
}

// Code returns the frames without those that are there only because the program was interrupted, or
// looked at: runtime.asyncPreempt, which the signal for preemption makes a goroutine call, at the
// leaf, and runtime.goexit, which only samples of the CPU profiler have, at the root. It returns
// nil for a nil Stack.
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

// stackTable interns the call chains of one pass by their program counters:
// the handles of the trace Reader compare by table, of which there is one a
// generation. Decoders of several generations share it; they ask once for each
// distinct handle, so one lock does not show.
type stackTable struct {
	mu     sync.Mutex
	frames map[uint64]*Frame   // the first of each program counter
	others map[Frame]*Frame    // further ones
	stacks map[uint64][]*Stack // by hash of the frames
	calls  map[string]*calls   // by what they show
	key    []byte              // to look them up
}

func newStackTable() *stackTable {
	return &stackTable{frames: map[uint64]*Frame{}, others: map[Frame]*Frame{}, stacks: map[uint64][]*Stack{}, calls: map[string]*calls{}}
}

// intern returns the one *Stack for the call chain of s; nil when it has no frames.
func (t *stackTable) intern(s trace.Stack) *Stack {
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := make([]*Frame, 0, 16)
	for f := range s.Frames() {
		frames = append(frames, t.frame(f))
	}
	return t.internFrames(frames)
}

// count returns the number of call chains.
func (t *stackTable) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.stacks)
}

// frame returns the one *Frame for f. The program counter identifies it but
// for traces made by hand, where it may be zero or used twice.
func (t *stackTable) frame(f trace.StackFrame) *Frame {
	fn := symbol.Unescape(f.Func)
	old := t.frames[f.PC]
	if old != nil && old.Func == fn && old.Line == int(f.Line) && old.File == f.File {
		return old
	}
	nf := &Frame{PC: f.PC, Func: strings.Clone(fn), File: strings.Clone(f.File), Line: int(f.Line)}
	nf.role = roleOf(nf)
	if old == nil {
		t.frames[f.PC] = nf
		return nf
	}
	if other := t.others[*nf]; other != nil {
		return other
	}
	t.others[*nf] = nf
	return nf
}

// internFrames returns the one *Stack for the frames of this table.
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

// classify fills in what is asked of a stack again and again.
func (t *stackTable) classify(s *Stack) {
	s.wait = [3]Wait{waitOf("sync", s), waitOf("select", s), waitOf("chan send", s)}
	s.calls = t.callsOf(s.Frames)
	s.block = s
	s.inC, s.fromC, s.site = callsC(s.Frames), s.Root().Func == callback, siteOf(s.Frames)
	var skip int
	if s.parked, skip = waitOfStatus(s); skip > 0 {
		s.block = t.internFrames(s.Frames[skip:])
	}
}

// blockWait is waitOf with the kept answers.
func (s *Stack) blockWait(reason string) Wait {
	if s != nil {
		switch reason {
		case "sync":
			return s.wait[0]
		case "select":
			return s.wait[1]
		case "chan send":
			return s.wait[2]
		}
	}
	return waitOf(reason, s)
}

// Place is a place in the source. The zero value is a place that is not known.
type Place struct {
	Func string `json:"func,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// String returns the place as "main.work file.go:12", with the last element of the path, or "" if
// it is not known.
func (p Place) String() string {
	name := format.Func(p.Func)
	if source := p.Source(); source != "" {
		return name + " " + source
	}
	return name
}

// Source returns the place as "file.go:12", or "" if it is not known.
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

// Site returns the place in the program's own code at which a call chain left it: the innermost
// frame that belongs neither to the standard library nor to golang.org/x/sync, what cgo generates,
// or the wrappers of this module. Where there is none, as in a connection of net/http, it is the
// innermost one outside the packages through which all waits go, or of the launcher; and in a
// goroutine of the runtime, the leaf. It returns nil for a nil Stack.
func (s *Stack) Site() *Frame {
	if s == nil {
		return nil
	}
	return s.site
}

func siteOf(frames []*Frame) *Frame {
	for _, f := range frames {
		if symbol.IsProgram(f.Func, f.File) && !entersC(f.Func) && !starter.Is(f.Func) && !strings.HasPrefix(f.Func, wrappers) && !strings.HasPrefix(f.Func, "golang.org/x/sync/") {
			return f
		}
	}
	for _, f := range frames {
		if p := symbol.Package(f.Func); !waitsInside(p) && !entersC(f.Func) && !starter.Is(f.Func) {
			return f
		}
	}
	for _, f := range frames { // what a launcher does by itself, such as a worker that waits for tasks
		if symbol.IsProgram(f.Func, f.File) {
			return f
		}
	}
	return frames[0]
}

// waitsInside reports whether goroutines of all sorts wait inside a package of the standard
// library.
func waitsInside(pkg string) bool {
	switch first, _, _ := strings.Cut(pkg, "/"); first {
	case "runtime", "internal", "sync", "syscall", "time":
		return true
	}
	return pkg == "net" || pkg == "io" || pkg == "bufio"
}

// wrappers begins the names of the methods of the locks of this module.
const wrappers = "github.com/bottleneck-go/bottleneck/contention.(*"
