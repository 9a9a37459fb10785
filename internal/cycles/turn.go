package cycles

import (
	"bytes"
	"runtime"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/lazy"
)

// Whether a goroutine has left its thread.
//
// A thread's counter measures a goroutine only while it stays on the thread. LockOSThread makes it
// stay, but then each block costs 10 µs, and a locked goroutine may not advance an iterator
// (iter.Pull) that was created unlocked. The runtime counts how often each goroutine went from
// running to waiting or ready (g.trackingSeq, 8 bits). If that count is equal at two readings, no
// other goroutine has executed on the thread between them.
//
// The count wraps: a goroutine that blocks 256 times, or a multiple of that, and is back on its first
// thread appears to have stayed. Coroutines (iter.Pull) switch without counting. In a program with
// coroutines, the reason of the goroutine's last wait (g.waitreason) must not be a coroutine's.
//
// The count also grows when the stack does. A single turn is a growth if the stack has grown,
// several only if it has doubled as often and the goroutine has never waited. A goroutine that is
// locked to its thread at both readings also stays.
//
// findTurn finds the positions of these fields in the runtime's structure by their behavior. If
// that fails, no goroutine is known to have stayed.

// Turn is the state of a goroutine's scheduling at an instant: the count in the lowest byte, then
// the reason of the last wait, then the logarithm of the stack size, and two bits. 0 means unknown.
type Turn uint32

const (
	turnKnown  Turn = 1 << 31
	turnLocked Turn = 1 << 30 // the goroutine is locked to its thread
)

// Stayed reports whether the goroutine is known to have stayed on its thread since start, another
// reading of the same goroutine. Their difference is then what it executed.
func (m *Mark) Stayed(start *Mark) bool {
	if m.Thread != start.Thread || m.Turn == 0 {
		return false
	}
	if m.Turn == start.Turn || m.Turn.grown(start.Turn) {
		return !Coroutines() || harmless[m.Turn.reason()]
	}
	return m.Turn&start.Turn&turnLocked != 0
}

// End is Stop for a measurement that began at start on the same goroutine. If the goroutine has
// left its thread, its cycles are unknown, and End reads only the time and the turn.
func (c *Clock) End(start *Mark) Mark {
	if !c.rseq {
		return c.readSlow()
	}
	p := here()
	if p.tick != 0 && p.turn != start.Turn && p.turn&start.Turn&turnLocked == 0 && !p.turn.grown(start.Turn) {
		return Mark{Wall: p.tick, Thread: start.Thread, Turn: p.turn}
	}
	return c.stop(&p, start.Thread)
}

// grown reports whether nothing has happened since start except that the stack has grown.
func (t Turn) grown(start Turn) bool {
	doubled, turns := int(uint8(t>>16))-int(uint8(start>>16)), int(uint8(t)-uint8(start))
	return doubled > 0 && t.reason() == start.reason() && (t^start)&turnLocked == 0 &&
		(turns == 1 || turns <= doubled && t.reason() == 0)
}

// reason returns the reason of the last wait; 0 for none.
func (t Turn) reason() uint8 { return uint8(t >> 8) }

// Turns returns how often the goroutine has let others run since start, modulo 256.
func (m *Mark) Turns(start *Mark) uint8 { return uint8(m.Turn) - uint8(start.Turn) }

// Coroutines reports whether the program may contain coroutines: whether the linker has kept the
// function that creates them, or the function names cannot be read. No goroutine of such a program
// may be locked to its thread: to advance a coroutine under other locks than at its creation ends
// the program.
func Coroutines() bool {
	return coroutines.Get(func() bool {
		names := functionNames()
		return !named(names, "runtime.gopark", 'k') || !named(names, "runtime.GC", 'G') || named(names, "runtime.newcoro", 'w')
	})
}

var coroutines lazy.Value[bool]

// named reports whether the names, which may be a megabyte, contain the name. It looks for a rare
// byte of it.
func named(names []byte, name string, rare byte) bool {
	whole := []byte("\x00" + name + "\x00")
	before := bytes.IndexByte(whole, rare)
	for from := before; from < len(names); from++ {
		at := bytes.IndexByte(names[from:], rare)
		if at < 0 {
			return false
		}
		if from += at; bytes.HasPrefix(names[from-before:], whole) {
			return true
		}
	}
	return false
}

// functionNames returns the names of all functions of the program, each followed by a zero byte, or
// nil if they are not found. The second 32-bit word of a *runtime.Func is the offset of its name
// among them. The header of the runtime's table precedes them. It contains the offset of the names
// from the header, followed by the offset of what follows them.
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
