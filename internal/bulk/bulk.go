// Package bulk writes execution traces with a large number of one thing: strings, call chains,
// goroutines, waiters, regions or generations. They are the inputs of tests that check that the
// time and memory of every pass are within n log n and within its limits.
//
// Each [Input] is a well-formed trace of Go 1.26 with one processor, on which goroutine 1 of a
// program executes main.main. Times are nanoseconds. Writing takes memory for the tables of one
// generation.
package bulk

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// Input is a kind of trace.
type Input struct {
	// Name is the kind of thing that the trace contains many times.
	Name string
	// Write writes a trace with n of them.
	Write func(w io.Writer, n int) error
}

// Inputs lists all kinds of traces.
var Inputs = []Input{
	{"strings", each(func(g *generation, i int) {
		g.ev(wireformat.UserLog, 0, g.text("category"), g.text(fmt.Sprintf("message %d of many that are all distinct", i)), 0)
	})},
	{"long strings", each(func(g *generation, i int) {
		g.ev(wireformat.UserLog, 0, g.text("category"), g.text(fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000))), 0)
	})},
	{"strings that no event uses", oneGeneration(func(g *generation, n int) {
		for i := range n {
			g.text(fmt.Sprintf("string %d", i))
		}
		g.ev(wireformat.HeapAlloc, 1)
		g.ev(wireformat.HeapAlloc, 2)
	})},
	{"stacks", each(func(g *generation, i int) {
		var chain []string
		for bit := range 24 {
			chain = append(chain, fmt.Sprintf("main.f%d_%d", bit, i>>bit&1))
		}
		g.ev(wireformat.GoStop, g.text("preempted"), g.stack(append(chain, "main.main")...))
		g.resume()
	})},
	{"functions", each(func(g *generation, i int) {
		g.ev(wireformat.GoStop, g.text("preempted"), g.stack(fmt.Sprintf("main.f%d", i), "main.main"))
		g.resume()
	})},
	{"goroutines, one after the other", each(func(g *generation, i int) {
		g.worker(uint64(i) + 2)
		g.ev(wireformat.GoDestroy)
		g.resume()
	})},
	{"goroutines at the same time", each(func(g *generation, i int) {
		g.create(uint64(i) + 2)
	})},
	{"groups", each(func(g *generation, i int) {
		g.child(uint64(i)+2, g.stack(fmt.Sprintf("main.worker%d", i)), g.stack("main.main"))
		g.ev(wireformat.GoDestroy)
		g.resume()
	})},
	{"waiters for one lock", oneGeneration(func(g *generation, n int) {
		for i := range n {
			g.waiter(uint64(i) + 2)
		}
		unlock := g.stack("sync.(*Mutex).Unlock", "main.worker")
		g.ev(wireformat.GoUnblock, 2, 2, g.stack("sync.(*Mutex).Unlock", "main.main"))
		g.ev(wireformat.GoBlock, g.text("chan receive"), g.stack("main.main"))
		for i := range n {
			g.ev(wireformat.GoStart, uint64(i)+2, 3)
			if i+1 < n {
				g.ev(wireformat.GoUnblock, uint64(i)+3, 2, unlock)
			}
			g.ev(wireformat.GoDestroy)
		}
	})},
	{"waiters for one lock, to the end", each(func(g *generation, i int) { g.waiter(uint64(i) + 2) })},
	{"locks", each(func(g *generation, i int) {
		f := fmt.Sprintf("main.critical%d", i)
		id := uint64(i) + 2
		g.waiter(id, f)
		g.ev(wireformat.GoUnblock, id, 2, g.stack("sync.(*Mutex).Unlock", f, "main.main"))
		g.seq++
		g.ev(wireformat.GoStop, g.text("runtime.Gosched"), g.stack("main.main"))
		g.ev(wireformat.GoStart, id, 3)
		g.ev(wireformat.GoDestroy)
		g.ev(wireformat.GoStart, 1, g.seq)
	})},
	{"kinds of waits", oneGeneration(func(g *generation, n int) {
		site := g.stack("main.main")
		g.worker(2)
		for i := range n {
			g.ev(wireformat.GoBlock, g.text(fmt.Sprintf("reason %d", i)), site)
			g.resume()
			g.ev(wireformat.GoUnblock, 2, uint64(2*i+2), site)
			g.ev(wireformat.GoStop, g.text("runtime.Gosched"), site)
			g.ev(wireformat.GoStart, 2, uint64(2*i+3))
		}
	})},
	{"regions of distinct names", each(func(g *generation, i int) {
		name := g.text(fmt.Sprintf("region %d", i))
		g.ev(wireformat.UserRegionBegin, 0, name, 0)
		g.ev(wireformat.UserRegionEnd, 0, name, 0)
	})},
	{"regions in each other", oneGeneration(func(g *generation, n int) {
		name, stack := g.text("region"), g.stack("main.f", "main.main")
		for range n {
			g.ev(wireformat.UserRegionBegin, 0, name, stack)
		}
		for i := range n {
			if i%100 == 0 {
				g.ev(wireformat.GoStop, g.text("preempted"), stack)
				g.resume()
			}
			g.ev(wireformat.UserRegionEnd, 0, name, stack)
		}
	})},
	{"regions of many goroutines", each(func(g *generation, i int) {
		g.worker(uint64(i) + 2)
		g.ev(wireformat.UserRegionBegin, 0, g.text("region"), g.stack("main.main"))
		g.ev(wireformat.GoBlock, g.text("chan receive"), g.stack("main.main"))
		g.resume()
	})},
	{"tasks, one after the other", each(func(g *generation, i int) {
		id, name := uint64(i)+1, g.text(fmt.Sprintf("task %d", i))
		g.ev(wireformat.UserTaskBegin, id, 0, name, 0)
		g.ev(wireformat.UserRegionBegin, id, g.text("part"), 0)
		g.ev(wireformat.UserRegionEnd, id, g.text("part"), 0)
		g.ev(wireformat.UserTaskEnd, id, 0)
	})},
	{"tasks at the same time", oneGeneration(func(g *generation, n int) {
		name := g.text("task")
		for i := range n {
			g.ev(wireformat.UserTaskBegin, uint64(i)+1, uint64(i), name, 0)
		}
		for i := range n {
			g.ev(wireformat.UserTaskEnd, uint64(i)+1, 0)
		}
	})},
	{"metrics", each(func(g *generation, i int) {
		g.ev(wireformat.HeapAlloc, uint64(i))
	})},
	{"ranges of distinct names", each(func(g *generation, i int) {
		g.ev(wireformat.STWBegin, g.text(fmt.Sprintf("reason %d", i)), 0)
		g.ev(wireformat.STWEnd)
	})},
	{"labels", each(func(g *generation, i int) {
		g.ev(wireformat.GoLabel, g.text(fmt.Sprintf("label %d", i)))
	})},
	{"samples", each(func(g *generation, i int) {
		g.ev(wireformat.HeapAlloc, uint64(i))
		g.sample(g.stack(fmt.Sprintf("main.f%d", i), "main.main"))
	})},
	{"system calls", each(func(g *generation, i int) {
		g.procSeq++
		g.ev(wireformat.GoSyscallBegin, g.procSeq, g.stack("syscall.Read", fmt.Sprintf("main.f%d", i), "main.main"))
		g.ev(wireformat.GoSyscallEnd)
	})},
	{"generations", generations(0, func(g *generation, k, n int) {
		g.ev(wireformat.HeapAlloc, uint64(k))
		g.ev(wireformat.HeapAlloc, uint64(k)+1)
	})},
	{"generations of many strings", generations(8, func(g *generation, k, n int) {
		for i := range n {
			g.ev(wireformat.UserLog, 0, g.text("category"), g.text(fmt.Sprintf("message %d of many that are all distinct", i)), 0)
		}
	})},
	{"goroutines of one generation of three", generations(3, func(g *generation, k, n int) {
		for i := 0; k == 1 && i < n; i++ {
			g.create(uint64(i) + 2)
		}
		g.ev(wireformat.HeapAlloc, uint64(k))
		g.ev(wireformat.HeapAlloc, uint64(k)+1)
	})},
	{"generations with other functions at one address", generations(0, func(g *generation, k, n int) {
		g.ev(wireformat.GoStop, g.text("preempted"), g.stack(fmt.Sprintf("main.f%d", k), "main.main"))
		g.resume()
		g.ev(wireformat.HeapAlloc, uint64(k))
	})},
}

// Named returns the input with the given name.
func Named(name string) Input {
	for _, in := range Inputs {
		if in.Name == name {
			return in
		}
	}
	panic("no input is named " + name)
}

// Service writes a trace of a service in package pkg that answers n requests, of which each runs
// twice for the time work in pkg.(*Server).serve, and waits in between for the time hold, while the
// accepting goroutine has a lock. There are eight generations.
//
// An event takes 10 ns more. So the goroutines of the requests run for n × 2 × (work + 10 ns).
func Service(w io.Writer, pkg string, n int, work, hold time.Duration) error {
	id := uint64(1)
	serve := pkg + ".(*Server).serve"
	return generations(8, func(g *generation, k, n int) {
		accept := g.stack(pkg+".(*Server).accept", "main.main")
		start, unlock := g.stack(serve), g.stack("sync.(*Mutex).Unlock", pkg+".(*Cache).refresh", pkg+".(*Server).accept", "main.main")
		for ; k < n; k += 8 {
			id++
			g.child(id, start, accept)
			g.now += uint64(work)
			handler := fmt.Sprintf("%s.handle%d", pkg, k/8%32)
			g.ev(wireformat.GoBlock, g.text("sync"), g.stack("sync.(*Mutex).Lock", pkg+".(*Cache).get", handler, pkg+".route", pkg+".logged", serve))
			g.resume()
			g.now += uint64(hold)
			g.ev(wireformat.GoUnblock, id, 2, unlock)
			g.seq++
			g.ev(wireformat.GoStop, g.text("runtime.Gosched"), accept)
			g.ev(wireformat.GoStart, id, 3)
			g.now += uint64(work)
			g.ev(wireformat.GoDestroy)
			g.ev(wireformat.GoStart, 1, g.seq)
		}
	})(w, n)
}

const (
	thread   = 1
	noThread = ^uint64(0)
	maxBatch = 60 << 10
)

// trace is a trace being written.
type trace struct {
	out    *bufio.Writer
	number uint64
	now    uint64
}

func begin(w io.Writer) *trace {
	t := &trace{out: bufio.NewWriter(w), now: 1000}
	fmt.Fprint(t.out, "go 1.26 trace\x00\x00\x00")
	return t
}

// generation is the generation being written.
type generation struct {
	*trace
	start   uint64
	events  []byte // the current batch
	from    uint64 // time of the current batch
	last    uint64
	texts   map[string]uint64
	strings batches
	stacks  map[string]uint64
	chains  batches
	pcs     map[string]uint64
	samples batches
	seq     uint64 // of goroutine 1
	procSeq uint64
}

// batches collects entries of a table into batches that begin with the byte first.
type batches struct {
	first wireformat.Type
	full  [][]byte
	data  []byte
}

func (b *batches) add(entry []byte) {
	if len(b.data)+len(entry) > maxBatch {
		b.full, b.data = append(b.full, b.data), nil
	}
	if len(b.data) == 0 {
		b.data = append(b.data, byte(b.first))
	}
	b.data = append(b.data, entry...)
}

func (t *trace) generation() *generation {
	t.number++
	g := &generation{
		trace: t, start: t.now, texts: map[string]uint64{}, stacks: map[string]uint64{}, pcs: map[string]uint64{},
		strings: batches{first: wireformat.Strings}, chains: batches{first: wireformat.Stacks}, samples: batches{first: wireformat.CPUSamples},
	}
	sync := binary.AppendUvarint([]byte{byte(wireformat.Sync), byte(wireformat.Frequency)}, 1e9)
	sync = append(sync, byte(wireformat.ClockSnapshot))
	for _, v := range []uint64{0, 1, 1, 1} {
		sync = binary.AppendUvarint(sync, v)
	}
	g.batch(noThread, g.start, sync)
	return g
}

// generations writes count generations, n if count is 0.
func generations(count int, events func(g *generation, k, n int)) func(w io.Writer, n int) error {
	return func(w io.Writer, n int) error {
		t := begin(w)
		for k := range cmp.Or(count, n) {
			g := t.generation()
			g.status()
			events(g, k, n)
			g.end()
		}
		return t.out.Flush()
	}
}

func oneGeneration(events func(g *generation, n int)) func(w io.Writer, n int) error {
	return generations(1, func(g *generation, _, n int) { events(g, n) })
}

// each calls events n times.
func each(events func(g *generation, i int)) func(w io.Writer, n int) error {
	return oneGeneration(func(g *generation, n int) {
		for i := range n {
			events(g, i)
		}
	})
}

// status begins a generation: goroutine 1 runs.
func (g *generation) status() {
	g.ev(wireformat.ProcStatus, 0, wireformat.ProcRunning)
	g.ev(wireformat.GoStatus, 1, thread, wireformat.GoRunning)
}

// child creates a goroutine and runs it in place of goroutine 1.
func (g *generation) child(id, start, site uint64) {
	g.ev(wireformat.GoCreate, id, start, site)
	g.ev(wireformat.GoStop, g.text("runtime.Gosched"), site)
	g.ev(wireformat.GoStart, id, 1)
}

// create creates a goroutine of main.worker in main.main.
func (g *generation) create(id uint64) {
	g.ev(wireformat.GoCreate, id, g.stack("main.worker"), g.stack("main.main"))
}

// waiter runs a worker until it waits for a lock in functions, and then goroutine 1.
func (g *generation) waiter(id uint64, functions ...string) {
	g.worker(id)
	g.ev(wireformat.GoBlock, g.text("sync"), g.stack(slices.Concat([]string{"sync.(*Mutex).Lock"}, functions, []string{"main.worker"})...))
	g.resume()
}

// worker is child for a goroutine of main.worker that main.main starts.
func (g *generation) worker(id uint64) { g.child(id, g.stack("main.worker"), g.stack("main.main")) }

// resume runs goroutine 1 again.
func (g *generation) resume() {
	g.seq++
	g.ev(wireformat.GoStart, 1, g.seq)
}

func (g *generation) ev(typ wireformat.Type, args ...uint64) {
	if len(g.events) > maxBatch {
		g.flush()
	}
	g.now += 10
	if len(g.events) == 0 {
		g.from, g.last = g.now, g.now
	}
	g.events = binary.AppendUvarint(append(g.events, byte(typ)), g.now-g.last)
	g.last = g.now
	for _, a := range args {
		g.events = binary.AppendUvarint(g.events, a)
	}
}

func (g *generation) flush() {
	g.batch(thread, g.from, g.events)
	g.events = g.events[:0]
}

func (g *generation) batch(m, time uint64, data []byte) {
	head := []byte{1}
	for _, v := range []uint64{g.number, m, time, uint64(len(data))} {
		head = binary.AppendUvarint(head, v)
	}
	g.out.Write(head)
	g.out.Write(data)
}

// text returns the number of a string, which it adds if it is new.
func (g *generation) text(s string) uint64 {
	id, ok := g.texts[s]
	if !ok {
		id = uint64(len(g.texts) + 1)
		g.texts[s] = id
		e := binary.AppendUvarint([]byte{byte(wireformat.String)}, id)
		g.strings.add(append(binary.AppendUvarint(e, uint64(len(s))), s...))
	}
	return id
}

// stack returns the number of a call chain, leaf first, which it adds if it is new.
func (g *generation) stack(functions ...string) uint64 {
	key := strings.Join(functions, "\n")
	id, ok := g.stacks[key]
	if ok {
		return id
	}
	id = uint64(len(g.stacks) + 1)
	g.stacks[key] = id
	e := binary.AppendUvarint([]byte{byte(wireformat.Stack)}, id)
	e = binary.AppendUvarint(e, uint64(len(functions)))
	for _, f := range functions {
		pc, ok := g.pcs[f]
		if !ok {
			pc = 0x400000 + uint64(len(g.pcs))
			g.pcs[f] = pc
		}
		for _, v := range []uint64{pc, g.text(f), g.text("main.go"), 10} {
			e = binary.AppendUvarint(e, v)
		}
	}
	g.chains.add(e)
	return id
}

// sample adds a sample of the CPU profiler.
func (g *generation) sample(stack uint64) {
	e := []byte{byte(wireformat.CPUSample)}
	for _, v := range []uint64{g.now, thread, 0, 1, stack} {
		e = binary.AppendUvarint(e, v)
	}
	g.samples.add(e)
}

func (g *generation) end() {
	g.flush()
	for _, b := range []*batches{&g.samples, &g.chains, &g.strings} {
		for _, data := range append(b.full, b.data) {
			if len(data) > 0 {
				g.batch(noThread, g.start, data)
			}
		}
	}
	g.out.WriteByte(byte(wireformat.EndOfGeneration))
	g.now += 1000
}
