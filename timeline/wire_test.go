package timeline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// wire writes traces by hand, in the format since Go 1.22. The clock ticks in nanoseconds, so the
// times that a test writes are the times that it expects, as long as no two events have the same
// time.
type wire struct {
	version int
	gens    []*wireGen
}

// wireGen is one generation.
type wireGen struct {
	version int
	number  uint64
	base    uint64 // time of the Sync event: before all others
	clock   [3]uint64
	threads []*wireThread
	strings map[string]uint64
	texts   []string
	stacks  map[string]uint64
	frames  [][]string
	pcs     map[string]uint64
	samples []byte
	noFreq  bool
}

// wireThread is the output of one thread: one batch.
type wireThread struct {
	gen   *wireGen
	m     uint64
	start uint64
	last  uint64
	data  []byte
}

// The events of hand-made traces, and the arguments that follow the time.
const (
	wProcsChange       = 9  // GOMAXPROCS, stack
	wProcStart         = 10 // P, seq
	wProcStop          = 11 //
	wProcSteal         = 12 // P, seq, M
	wProcStatus        = 13 // P, status
	wGoCreate          = 14 // G, start stack, stack
	wGoCreateSyscall   = 15 // G
	wGoStart           = 16 // G, seq
	wGoDestroy         = 17 //
	wGoDestroySyscall  = 18 //
	wGoStop            = 19 // reason, stack
	wGoBlock           = 20 // reason, stack
	wGoUnblock         = 21 // G, seq, stack
	wSyscallBegin      = 22 // P seq, stack
	wSyscallEnd        = 23 //
	wSyscallEndBlocked = 24 //
	wGoStatus          = 25 // G, M, status
	wSTWBegin          = 26 // kind, stack
	wSTWEnd            = 27 //
	wGCActive          = 28 // seq
	wGCBegin           = 29 // seq, stack
	wGCEnd             = 30 // seq
	wGCSweepActive     = 31 // P
	wGCSweepBegin      = 32 // stack
	wGCSweepEnd        = 33 // swept, reclaimed
	wAssistActive      = 34 // G
	wAssistBegin       = 35 // stack
	wAssistEnd         = 36 //
	wHeapAlloc         = 37 // bytes
	wGoLabel           = 39 // label
	wTaskBegin         = 40 // id, parent, name, stack
	wTaskEnd           = 41 // id, stack
	wRegionBegin       = 42 // task, name, stack
	wRegionEnd         = 43 // task, name, stack
	wLog               = 44 // task, key, value, stack
	wGoSwitch          = 45 // G, seq (Go 1.23)
	wGoSwitchDestroy   = 46 // G, seq (Go 1.23)
	wGoCreateBlocked   = 47 // G, start stack, stack (Go 1.23)
	wGoStatusStack     = 48 // G, M, status, stack (Go 1.23)
)

// Statuses of goroutines and of Ps.
const (
	sRunnable, sRunning, sSyscall, sWaiting = 1, 2, 3, 4
	pRunning, pIdle, pSyscall               = 1, 2, 3
	noM                                     = ^uint64(0)
)

func newWire(version int) *wire { return &wire{version: version} }

func (w *wire) generation(number, base uint64) *wireGen {
	g := &wireGen{version: w.version, number: number, base: base, strings: map[string]uint64{}, stacks: map[string]uint64{}, pcs: map[string]uint64{}}
	w.gens = append(w.gens, g)
	return g
}

// thread begins the batch of thread m.
func (g *wireGen) thread(m uint64) *wireThread {
	t := &wireThread{gen: g, m: m}
	g.threads = append(g.threads, t)
	return t
}

// ev writes an event. Strings become their numbers, and lists of functions (leaf first) those of
// call chains.
func (t *wireThread) ev(time uint64, typ byte, args ...any) *wireThread {
	if len(t.data) == 0 {
		t.start, t.last = time, time
	}
	if time < t.last {
		panic("time goes back")
	}
	t.data = binary.AppendUvarint(append(t.data, typ), time-t.last)
	t.last = time
	for _, a := range args {
		t.data = binary.AppendUvarint(t.data, t.gen.arg(a))
	}
	return t
}

// runs records that the thread runs goroutine id on P p, for an unknown time already.
func (t *wireThread) runs(time, p, id uint64) *wireThread {
	return t.ev(time, wProcStatus, p, pRunning).ev(time+1, wGoStatus, id, t.m, sRunning)
}

func (g *wireGen) arg(a any) uint64 {
	switch a := a.(type) {
	case int:
		return uint64(a)
	case uint64:
		return a
	case string:
		if a == "" {
			return 0
		}
		id, ok := g.strings[a]
		if !ok {
			id = uint64(len(g.strings) + 1)
			g.strings[a] = id
			g.texts = append(g.texts, a)
		}
		return id
	case []string:
		if len(a) == 0 {
			return 0
		}
		key := fmt.Sprint(a)
		id, ok := g.stacks[key]
		if !ok {
			id = uint64(len(g.stacks) + 1)
			g.stacks[key] = id
			g.frames = append(g.frames, a)
		}
		return id
	}
	panic(fmt.Sprintf("argument %v", a))
}

// stk is a call chain, leaf first. "main.worker@57" is a single call instruction in line 57 of
// main.worker, and "main.worker@57 y.go" one in another file.
func stk(functions ...string) []string { return functions }

func (g *wireGen) sample(time, m, p, id uint64, stack []string) {
	g.samples = append(g.samples, 7)
	for _, v := range []uint64{time, m, p, id, g.arg(stack)} {
		g.samples = binary.AppendUvarint(g.samples, v)
	}
}

// bytes returns the trace.
func (w *wire) bytes() []byte {
	out := fmt.Appendf(nil, "go 1.%d trace\x00\x00\x00", w.version)
	for _, g := range w.gens {
		out = append(out, g.bytes()...)
	}
	return out
}

func (g *wireGen) bytes() []byte {
	var out []byte
	batch := func(m, time uint64, data []byte) {
		out = append(out, 1)
		for _, v := range []uint64{g.number, m, time, uint64(len(data))} {
			out = binary.AppendUvarint(out, v)
		}
		out = append(out, data...)
	}
	frequency := binary.AppendUvarint([]byte{8}, 1e9)
	if g.version >= 25 && !g.noFreq {
		sync := append([]byte{50}, frequency...)
		sync = append(sync, 51)
		for _, v := range []uint64{0, g.clock[0], g.clock[1], g.clock[2]} {
			sync = binary.AppendUvarint(sync, v)
		}
		batch(noM, g.base, sync)
	}
	for _, t := range g.threads {
		batch(t.m, t.start, t.data)
	}
	if g.version < 25 && !g.noFreq {
		batch(noM, g.base, frequency)
	}
	if len(g.samples) > 0 {
		batch(noM, g.base, append([]byte{6}, g.samples...))
	}
	stacks := []byte{2}
	for i, frames := range g.frames {
		stacks = binary.AppendUvarint(append(stacks, 3), uint64(i+1))
		stacks = binary.AppendUvarint(stacks, uint64(len(frames)))
		for _, f := range frames {
			pc, ok := g.pcs[f]
			if !ok {
				pc = 0x400000 + uint64(len(g.pcs))
				g.pcs[f] = pc
			}
			call, file, _ := strings.Cut(f, " ")
			if file == "" {
				file = "x.go"
			}
			name, at, ok := strings.Cut(call, "@")
			line := uint64(10 + i)
			if n, err := strconv.ParseUint(at, 10, 64); ok && err == nil {
				line = n
			}
			for _, v := range []uint64{pc, g.arg(name), g.arg(file), line} {
				stacks = binary.AppendUvarint(stacks, v)
			}
		}
	}
	batch(noM, g.base, stacks)
	strings := []byte{4}
	for i, s := range g.texts {
		strings = binary.AppendUvarint(append(strings, 5), uint64(i+1))
		strings = append(binary.AppendUvarint(strings, uint64(len(s))), s...)
	}
	batch(noM, g.base, strings)
	if g.version >= 26 {
		out = append(out, 52)
	}
	return out
}

// replay replays a hand-made trace, which must be valid, and returns its facts.
func (w *wire) replay(t *testing.T) *facts {
	t.Helper()
	fs := &facts{}
	check := newChecker()
	info := mustRead(t, w.bytes(), Options{}, check, fs)
	check.verify(t, info)
	if info.Inconsistent != 0 || info.Reordered != 0 {
		t.Errorf("%+v", info)
	}
	stream := newChecker()
	info, err := Read(t.Context(), streamOnly{bytes.NewReader(w.bytes())}, Options{}, stream)
	if err != nil || stream.calls != check.calls {
		t.Errorf("as a stream: %d calls, not %d: %v", stream.calls, check.calls, err)
	}
	stream.verify(t, info)
	return fs
}

// handMade is a small trace with many kinds of events, of two generations.
func handMade(version int) []byte {
	w := newWire(version)
	g := w.generation(1, 1000)
	a := g.thread(1).runs(1001, 0, 1)
	a.ev(1010, wProcsChange, 2, stk("runtime.procresize"))
	a.ev(1020, wTaskBegin, 7, 0, "task", stk("main.f")).ev(1030, wRegionBegin, 7, "region", stk("main.f"))
	a.ev(1040, wGoCreate, 9, stk("main.worker.gowrap1"), stk("main.f", "main.main"))
	a.ev(1050, wSyscallBegin, 1, stk("syscall.read", "main.main"))
	b := g.thread(2).runs(1060, 1, 2)
	b.ev(1070, wProcSteal, 0, 2, 1).ev(1080, wGoBlock, "sync", stk("sync.(*Mutex).Lock", "main.other"))
	b.ev(1090, wGoStart, 9, 1).ev(1095, wGoLabel, "GC (idle)")
	a.ev(1100, wSyscallEndBlocked).ev(1110, wProcStart, 0, 3).ev(1120, wGoStart, 1, 1)
	a.ev(1130, wSTWBegin, "GOMAXPROCS", stk("main.f")).ev(1140, wSTWEnd).ev(1150, wGoUnblock, 2, 1, stk("sync.(*Mutex).Unlock", "main.main"))
	b.ev(1160, wGoDestroy)
	a.ev(1170, wGCBegin, 1, stk("main.f")).ev(1180, wLog, 7, "key", "value", stk("main.f"))
	g.sample(1155, 1, 0, 1, stk("main.hot", "main.main"))
	g = w.generation(2, 2000)
	a = g.thread(1).ev(2001, wProcStatus, 0, pRunning).ev(2002, wGCActive, 1).ev(2003, wGoStatus, 1, 1, sRunning)
	a.ev(2010, wRegionEnd, 7, "region", stk("main.f")).ev(2020, wTaskEnd, 7, stk("main.f")).ev(2030, wGCEnd, 2)
	g.thread(2).ev(2034, wProcStatus, 1, pRunning).ev(2035, wGoStatus, 2, noM, sRunnable).ev(2045, wGoStart, 2, 1)
	a.ev(2040, wGoStop, "preempted", stk("main.hot", "main.main"))
	return w.bytes()
}
