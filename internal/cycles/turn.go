package cycles

import (
	"bytes"
	"runtime"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/lazy"
)

// Whether a goroutine has left its thread.
//
// A thread's counter measures a goroutine only if the goroutine stays on the thread. LockOSThread
// makes it stay, but then each time that it blocks costs 10 µs, and a goroutine that is locked may
// not advance an iterator (iter.Pull) that was made unlocked. The runtime counts for each goroutine
// how often it went from running to waiting or ready (g.trackingSeq, 8 bits: what it samples its
// own statistics by). If that count is the same at two readings, the goroutine has stayed on its
// thread between them and no other one has executed there.
//
// Two things escape the count. It wraps: a goroutine that blocks 256 times, or a multiple of that,
// and is on its first thread again, seems to have stayed. And coroutines (iter.Pull) switch without
// counting. Their time belongs to the goroutine that advances them, but a coroutine that blocks may
// come back after other goroutines had the thread. Where the program contains coroutines, the
// reason of the goroutine's last wait (g.waitreason) must be one of those that are known not to be
// a coroutine's.
//
// The count also grows when the stack of the goroutine does: the size of the stack shows it. One
// turn is a growth if the stack has grown. Of several, some may be others; they all count as
// growths only if there are no more than the stack has doubled and the goroutine has never waited
// for anything.
//
// A goroutine that is locked to its thread at both readings stays as well; how often it blocks does
// not matter. (That the program unlocks it between them and locks it again is not seen.)
//
// The places of all in the runtime's structure are found by what they do: see findTurn. Where that
// fails, no goroutine is known to have stayed.

// Turn is the state of a goroutine's scheduling at an instant: the count, the reason of the last
// wait in the byte above, the logarithm of the size of the stack in the next, and two bits. 0 is
// not known.
type Turn uint32

const (
	turnKnown  Turn = 1 << 31
	turnLocked Turn = 1 << 30 // the goroutine is locked to its thread
)

// Stayed reports whether the goroutine is known to have stayed on its thread since start, another
// reading of the same goroutine: the difference of both is what it executed.
func (m *Mark) Stayed(start *Mark) bool {
	if m.Thread != start.Thread || m.Turn == 0 {
		return false
	}
	if m.Turn == start.Turn || m.Turn.grown(start.Turn) {
		return !Coroutines() || harmless[m.Turn.reason()]
	}
	return m.Turn&start.Turn&turnLocked != 0
}

// End is Stop at the end of what began at start, on the same goroutine. If that has left its
// thread, its cycles are not known, and only the time and the turn are read.
func (c *Clock) End(start *Mark) Mark {
	if p := here(); c.rseq && p.tick != 0 && p.turn != start.Turn && p.turn&start.Turn&turnLocked == 0 && !p.turn.grown(start.Turn) {
		return Mark{Wall: p.tick, Thread: start.Thread, Turn: p.turn}
	}
	return c.Stop(start.Thread)
}

// grown reports whether all that happened since start is that the stack has grown.
func (t Turn) grown(start Turn) bool {
	doubled, turns := int(uint8(t>>16))-int(uint8(start>>16)), int(uint8(t)-uint8(start))
	return doubled > 0 && t.reason() == start.reason() && (t^start)&turnLocked == 0 &&
		(turns == 1 || turns <= doubled && t.reason() == 0)
}

// reason is that of the last wait; 0 for none.
func (t Turn) reason() uint8 { return uint8(t >> 8) }

// Turns returns how often the goroutine has let others run since start, less any multiple of 256.
func (m *Mark) Turns(start *Mark) uint8 { return uint8(m.Turn) - uint8(start.Turn) }

// Coroutines reports whether the program may contain coroutines: whether the linker has kept the
// function that makes them for iter.Pull. Without them any goroutine can be locked to its thread
// without breaking the program; with them, advancing a coroutine with other locks than it was made
// with ends it. What cannot be read counts as containing them.
func Coroutines() bool {
	return coroutines.Get(func() bool {
		names := functionNames()
		has := func(name string) bool { return bytes.Contains(names, []byte("\x00"+name+"\x00")) }
		return !has("runtime.gopark") || !has("runtime.GC") || has("runtime.newcoro")
	})
}

var coroutines lazy.Value[bool]

// functionNames returns the names of all functions of the program, each followed by a zero byte;
// nil if they are not found. A *runtime.Func is the entry of the function in the runtime's table,
// whose second word of 32 bits is the place of its name in the names; the header of the table, in
// front of them, has how far the names are from itself, and then how far what follows them is.
func functionNames() []byte {
	f := runtime.FuncForPC(**(**uintptr)(unsafe.Pointer(&runtimeGC)))
	if f == nil {
		return nil
	}
	name := f.Name()
	place := uintptr((*[2]int32)(unsafe.Pointer(f))[1])
	begin := uintptr(unsafe.Pointer(unsafe.StringData(name))) - place
	const magic, words = 0xfffffff1, 16
	size := unsafe.Sizeof(begin)
	for back := range uintptr(words) {
		at := begin - (back+1)*size
		header := *(**[words]uintptr)(unsafe.Pointer(&at))
		if uint32(header[0]) != magic {
			continue
		}
		for i := uintptr(1); i < back; i++ {
			if header[i] == (back+1)*size && header[i+1] > header[i] {
				return unsafe.Slice(*(**byte)(unsafe.Pointer(&begin)), header[i+1]-header[i])
			}
		}
		return nil
	}
	return nil
}

var runtimeGC = runtime.GC
