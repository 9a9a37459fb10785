package tracewaits

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// callSite is a call chain of the program, without the frames of the packages that block: the place
// where a lock is asked for or released.
type callSite struct {
	id        int               // in order of appearance in the trace
	stack     *contention.Stack // for the profile
	frames    []*timeline.Frame // of stack
	lock      *tracedLock       // the lock used there; nil if there is none yet. See lockOf.
	pseudo    *tracedLock       // the latest result of pseudoLock
	pseudoFor timeline.Wait     // the kind of wait for which pseudo is the result
	holds     durations         // durations of the holds released here
	done      *callSite         // the latest Done, for a WaitGroup, of goroutines started here
	// asked and exclusive are the latest arguments of readSections.learn for a lock released here.
	asked     *callSite
	exclusive bool
	fit       *callSite // the latest one that fits; see Observer.fit
	// paired counts the releases here by a goroutine that had waited for the lock, and foreign
	// those of a lock that another goroutine held.
	paired, foreign int
}

// place is a call chain as the trace shows it.
type place struct {
	site  *callSite
	queue queue  // of goroutines that block here
	flags uint32 // of goroutines that block or release here
	rw    bool   // an RWMutex is released here

	wrapped bool // a lock of package contention is asked for or released here
	own     bool // a lock that package contention needs for its records is asked for or released here
}

// queue is one of the queues of a lock. Each wakes its goroutines in order.
type queue uint8

const (
	exclusiveQueue queue = iota // of a Mutex, or of the Mutex inside an RWMutex or a Once
	writerQueue                 // of the writer that waits for readers to leave
	readerQueue                 // of the readers that wait for a writer
	queues
)

// places has all call chains of a pass.
type places struct {
	recent  *[recentPlaces]recentPlace // recent entries of byStack, with a high hit rate
	byStack map[*timeline.Stack]*place
	sites   map[uint64][]*callSite // by hash of the program counters
	count   int
	unknown *place // stands for call chains missing from the trace
	max     int    // maximum number of distinct call chains
	dropped *place // stands for call chains in excess of max
	uses    uint64 // number of uses of dropped
}

type recentPlace struct {
	stack *timeline.Stack
	place *place
}

const recentPlaces = 1 << 8

// slotOf returns the index of a call chain in a cache with the given number of slots.
func slotOf(s *timeline.Stack, slots uintptr) uintptr {
	h := uintptr(unsafe.Pointer(s)) >> 4
	return (h ^ h>>9) % slots
}

func newPlaces(limit int) places {
	return places{
		recent:  new([recentPlaces]recentPlace),
		byStack: map[*timeline.Stack]*place{},
		sites:   map[uint64][]*callSite{},
		unknown: &place{site: &callSite{}},
		max:     limit,
		dropped: &place{site: &callSite{stack: restSite.stack}},
	}
}

// known reports whether a place identifies a lock.
func (p *places) known(at *place) bool { return at != p.unknown && at != p.dropped }

// of returns the place of a call chain.
func (p *places) of(s *timeline.Stack) *place {
	if e := &p.recent[slotOf(s, recentPlaces)]; e.stack == s && s != nil {
		return e.place
	}
	return p.look(s)
}

// look is of for a call chain that is not among the recent ones.
func (p *places) look(s *timeline.Stack) *place {
	if s == nil {
		return p.unknown
	}
	at := p.find(s)
	if at != p.dropped {
		p.recent[slotOf(s, recentPlaces)] = recentPlace{s, at}
	}
	return at
}

// find is of without the cache.
func (p *places) find(s *timeline.Stack) *place {
	if len(s.Frames) == 0 {
		return p.unknown
	}
	if l := p.byStack[s]; l != nil {
		return l
	}
	l := &place{}
	frames := s.Frames[l.strip(s.Frames):]
	if l.own { // not the program's: it must not be taken for the lock asked for there
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

// strip returns the number of innermost frames that belong to the code that blocks or wakes, and
// sets the fields of l from them. If all frames are of that kind, it returns only the number of
// those of the tracer.
func (l *place) strip(frames []*timeline.Frame) int {
	n := 0
	inLock := len(frames) > 0 && hasPrefix(frames[0].Func, "sync.", "internal/sync.")
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
	if n == 0 { // a function of package runtime sends, and receives, but none closes
		l.flags |= contention.Closer
	}
	l.wrapped = l.wrapped && !l.own
	if n == len(frames) { // only the runtime: keep all but the tracer
		for n = 0; n < len(frames)-1 && strings.HasPrefix(frames[n].Func, "runtime.trace"); n++ {
		}
	}
	return n
}

// plumbing reports whether a function blocks or wakes on behalf of its caller.
func plumbing(fn string) bool {
	if strings.Contains(fn, "sync.(*HashTrieMap[") || strings.HasPrefix(fn, "sync.(*Map).") {
		return false // they have locks
	}
	return hasPrefix(fn, "sync.", "internal/sync.", "runtime.", "runtime/trace.Log", "internal/poll.runtime_", wrapperMethods, callstackMethods)
}

const (
	// wrapperMethods is the prefix of the names of the methods of package contention's types, and
	// callstackMethods that of the table of call chains.
	wrapperMethods   = "github.com/bottleneck-go/bottleneck/contention.(*"
	callstackMethods = "github.com/bottleneck-go/bottleneck/internal/callstack.(*"

	// profilerLock is the innermost frame, and thus the name, of the locks that protect the records
	// of package contention.
	profilerLock = "[profiler]"
)

// ownRecords reports whether a function maintains the records of wrapped locks. If it blocks, that
// is not for one of the program's locks: those are waited for in functions that do only that.
func ownRecords(fn string) bool {
	method, ok := strings.CutPrefix(fn, wrapperMethods)
	return strings.HasPrefix(fn, callstackMethods) || ok && hasPrefix(method, "account)", "release)", "session)", "state)", "waitedTable)", "tracker[")
}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// maxTraceFrames is the number of frames at which the runtime cuts a call chain.
const maxTraceFrames = 128

// site returns the unique site of the frames, or nil if there is no room for it.
func (p *places) site(frames []*timeline.Frame) *callSite {
	h := uint64(len(frames))
	for _, f := range frames {
		h = hashCall(h, f)
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

// inCommon returns the number of calls, from the root, that two call chains have in common.
func inCommon(a, b []*timeline.Frame) (n int) {
	for n < len(a) && n < len(b) && sameFrame(a[len(a)-1-n], b[len(b)-1-n]) {
		n++
	}
	return n
}

// fits reports whether a lock that was asked for at s may be the one that the same goroutine
// releases at r: both happen in the same call of the same function, or in two methods of one type
// called from there.
func (s *callSite) fits(r *callSite) bool {
	n := inCommon(s.frames, r.frames)
	a, b := s.frames[:len(s.frames)-n], r.frames[:len(r.frames)-n]
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

// outer returns the name of the function that contains a function literal.
func outer(fn string) string {
	slash := strings.LastIndexByte(fn, '/') + 1
	if i := strings.Index(fn[slash:], ".func"); i >= 0 {
		return fn[:slash+i]
	}
	return strings.TrimSuffix(fn, "-fm")
}

// maxFits is the number of cached results of callSite.fits.
const maxFits = 1 << 16

// fit returns the result of callSite.fits, cached.
func (o *Observer) fit(s, r *callSite) bool {
	if r.fit == s {
		return true
	}
	k := [2]*callSite{s, r}
	ok, known := o.fits[k]
	if !known {
		ok = s.fits(r)
		if len(o.fits) >= maxFits {
			clear(o.fits)
		}
		o.fits[k] = ok
	}
	if ok {
		r.fit = s
	}
	return ok
}
