package tracewaits

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// callSite is a call chain of the program, without the frames of the packages that block: the
// place where a lock is asked for or let go of.
type callSite struct {
	id     int               // in the order of the trace
	stack  *contention.Stack // for the profile
	frames []*timeline.Frame // the same
	lock   *tracedLock       // the lock that is meant there; nil if none is. See lockOf.
	pseudo *tracedLock       // what pseudoLock has answered last,
	// pseudoFor such a wait.
	pseudoFor timeline.Wait
	holds     durations // how long those who let go of a lock here had held it
	// paired is how often a goroutine let go of a lock here that it had waited for, and foreign
	// how often of one that another held.
	paired, foreign int
}

// place is a call chain as the trace shows it.
type place struct {
	site  *callSite
	queue queue            // of those who block here
	flags contention.Flags // of those who block or let go here
	rw    bool             // a RWMutex lets go here

	wrapped bool // a lock of package contention is asked for or let go of here
	own     bool // a lock that package contention needs for its records is
}

// queue tells the queues of one lock apart: each wakes its goroutines in order.
type queue uint8

const (
	exclusiveQueue queue = iota // of a Mutex, or of the Mutex inside a RWMutex or a Once
	writerQueue                 // of the writer that waits for readers to leave
	readerQueue                 // of the readers that wait for a writer
	queues
)

// places are all call chains of a pass.
type places struct {
	recent  *[recentPlaces]recentPlace // of which most are found
	byStack map[*timeline.Stack]*place
	sites   map[uint64][]*callSite // by hash of the program counters
	count   int
	unknown *place // stands for the call chains that the trace does not tell
	max     int    // how many call chains are told apart
	dropped *place // stands for those beyond
	uses    uint64 // of dropped
}

type recentPlace struct {
	stack *timeline.Stack
	place *place
}

const recentPlaces = 1 << 8

// slotOf returns where a table of so many recent answers has that for a call chain.
func slotOf(s *timeline.Stack, slots uintptr) uintptr {
	h := uintptr(unsafe.Pointer(s)) / unsafe.Sizeof(*s)
	return (h ^ h>>9) % slots
}

func newPlaces(limit int) places {
	return places{
		recent:  new([recentPlaces]recentPlace),
		byStack: map[*timeline.Stack]*place{},
		sites:   map[uint64][]*callSite{},
		unknown: &place{site: &callSite{}},
		max:     limit,
		dropped: &place{site: &callSite{stack: &contention.Stack{Frames: []contention.Frame{{Func: callstack.Dropped}}}}},
	}
}

// tell reports whether a place tells which lock is meant there.
func (p *places) tell(at *place) bool { return at != p.unknown && at != p.dropped }

// of returns the place of a call chain.
func (p *places) of(s *timeline.Stack) *place {
	if s == nil {
		return p.unknown
	}
	e := &p.recent[slotOf(s, recentPlaces)]
	if e.stack != s {
		at := p.find(s)
		if at == p.dropped {
			return at
		}
		e.stack, e.place = s, at
	}
	return e.place
}

// find is of without the recent places.
func (p *places) find(s *timeline.Stack) *place {
	if len(s.Frames) == 0 {
		return p.unknown
	}
	if l := p.byStack[s]; l != nil {
		return l
	}
	l := &place{}
	frames := s.Frames[l.strip(s.Frames):]
	if l.own { // not the program's: it is not to be taken for the lock that was asked for there
		frames = append([]*timeline.Frame{{Func: profilerLock}}, frames...)
	}
	if l.site = p.site(frames); l.site == nil {
		p.uses++
		return p.dropped
	}
	if len(p.byStack) < 4*p.max {
		p.byStack[s] = l
	}
	return l
}

// strip returns how many of the innermost frames belong to what blocks or wakes,
// and takes from them what they tell. If that is all of them, it is those of the tracer only.
func (l *place) strip(frames []*timeline.Frame) int {
	n := 0
	inLock := len(frames) > 0 && (strings.HasPrefix(frames[0].Func, "sync.") || strings.HasPrefix(frames[0].Func, "internal/sync."))
	for n < len(frames) && plumbing(frames[n].Func) {
		l.wrapped = l.wrapped || strings.HasPrefix(frames[n].Func, wrapperMethods)
		l.own = l.own || inLock && ownRecords(frames[n].Func) // not where messages are written
		switch _, fn, _ := strings.Cut(frames[n].Func, "("); {
		case strings.HasPrefix(fn, "*RWMutex).RLock"):
			l.queue = readerQueue
		case strings.HasPrefix(fn, "*RWMutex).Unlock"):
			l.rw = true
		case strings.HasPrefix(fn, "*RWMutex).RUnlock"):
			l.flags |= contention.ReadOwner
		case strings.HasPrefix(fn, "*RWMutex).Lock") && n == 0:
			l.queue = writerQueue
		case strings.HasPrefix(fn, "*Cond).Wait"):
			l.flags |= contention.Reacquire | contention.InWait
		}
		n++
	}
	l.wrapped = l.wrapped && !l.own
	if n == len(frames) { // only the runtime: all of it but the tracer
		for n = 0; n < len(frames)-1 && strings.HasPrefix(frames[n].Func, "runtime.trace"); n++ {
		}
	}
	return n
}

// plumbing reports whether a function blocks or wakes on behalf of its caller.
func plumbing(fn string) bool {
	for _, p := range []string{"sync.", "internal/sync.", "runtime.", "runtime/trace.Log", "internal/poll.runtime_", wrapperMethods, callstackMethods} {
		if strings.HasPrefix(fn, p) {
			return true
		}
	}
	return false
}

// wrapperMethods begins the names of the methods of the types of package contention.
const wrapperMethods = "github.com/bottleneck-go/bottleneck/contention.(*"

// callstackMethods begins those of the table of call chains.
const callstackMethods = "github.com/bottleneck-go/bottleneck/internal/callstack.(*"

// profilerLock is the innermost frame, and so the name, of the locks with which package contention
// keeps its records.
const profilerLock = "[profiler]"

// ownRecords reports whether a function keeps the records of wrapped locks. What blocks in it is
// none of the program's locks: these wait in functions that do nothing but that.
func ownRecords(fn string) bool {
	if strings.HasPrefix(fn, callstackMethods) {
		return true
	}
	method, ok := strings.CutPrefix(fn, wrapperMethods)
	if !ok {
		return false
	}
	for _, typ := range []string{"account)", "release)", "session)", "state)", "waitedTable)", "tracker["} {
		if strings.HasPrefix(method, typ) {
			return true
		}
	}
	return false
}

// maxTraceFrames is the number of frames at which the runtime cuts a call chain.
const maxTraceFrames = 128

// site returns the one site of the frames, nil if there is no room for it.
func (p *places) site(frames []*timeline.Frame) *callSite {
	h := uint64(len(frames))
	for _, f := range frames {
		h = (h ^ f.PC ^ uint64(f.Line)) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	for _, s := range p.sites[h] {
		if slices.EqualFunc(s.frames, frames, sameFrame) {
			return s
		}
	}
	if p.count >= p.max {
		return nil
	}
	st := &contention.Stack{Frames: make([]contention.Frame, len(frames)), Truncated: len(frames) >= maxTraceFrames}
	for i, f := range frames {
		st.Frames[i] = contention.Frame{Func: f.Func, File: f.File, Line: f.Line, PC: f.PC}
	}
	p.count++
	s := &callSite{id: p.count, stack: st, frames: frames}
	p.sites[h] = append(p.sites[h], s)
	return s
}

func sameFrame(a, b *timeline.Frame) bool { return a == b || *a == *b }

// fits reports whether a lock that was asked for at s may be the one that is let go of at r
// by the same goroutine: both happen in the same call of the same function, or in two
// methods of one type that were called from there.
func (s *callSite) fits(r *callSite) bool {
	a, b := s.frames, r.frames
	for len(a) > 0 && len(b) > 0 && sameFrame(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b) // the same place
	}
	if outer(a[len(a)-1].Func) != outer(b[len(b)-1].Func) {
		return false
	}
	switch {
	case len(a) == 1 && len(b) == 1:
		return true
	case len(a) == 1 && len(b) == 2:
		return outer(b[0].Func) == outer(a[0].Func) // a deferred function literal
	}
	t, typ := symbol.Receiver(a[0].Func), symbol.Receiver(b[0].Func)
	return len(a) <= 3 && len(b) <= 3 && t == typ && t != outer(a[0].Func)
}

// class returns the type whose method waits at the site, or the function if it is not a method.
func (s *callSite) class() string {
	if s.stack == nil || len(s.stack.Frames) == 0 {
		return ""
	}
	return symbol.Receiver(s.stack.Frames[0].Func)
}

// outer returns the named function around a function literal.
func outer(fn string) string {
	slash := strings.LastIndexByte(fn, '/') + 1
	if i := strings.Index(fn[slash:], ".func"); i >= 0 {
		return fn[:slash+i]
	}
	return strings.TrimSuffix(fn, "-fm")
}

// maxFits is how many answers of callSite.fits are kept.
const maxFits = 1 << 16

// fit is callSite.fits with the kept answers.
func (o *Observer) fit(s, r *callSite) bool {
	k := [2]*callSite{s, r}
	ok, known := o.fits[k]
	if !known {
		ok = s.fits(r)
		if len(o.fits) >= maxFits {
			clear(o.fits)
		}
		o.fits[k] = ok
	}
	return ok
}
