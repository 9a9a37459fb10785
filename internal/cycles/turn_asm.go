//go:build amd64 || arm64 || 386

package cycles

import (
	"math/bits"
	"runtime"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/background"
)

// Offsets of the count, the reason and the lock in the runtime's goroutine structure, and the bits
// of a Turn that are known. All are set before the first clock is opened.
var (
	seqAt, reasonAt, lockAt uintptr
	turnMask                Turn
	harmless                [256]bool // wait reasons that are not a coroutine's
)

// The part of a goroutine's structure that is searched. It begins after the fields that precede the
// count in all releases.
const structureFrom, structureTo = 17 * int(unsafe.Sizeof(uintptr(0))), 256

// structure is the runtime's structure of a goroutine.
type structure [structureTo]byte

// findTurn finds the count and the reason on a new goroutine, which has not waited yet. If other
// goroutines preempt it during that time, which also counts, it tries again.
func findTurn() {
	for range 10 {
		found := make(chan bool)
		background.Go(func() { found <- stackFound() && findCount() && findLock() && (!Coroutines() || findReason()) })
		if <-found {
			turnMask = ^Turn(0)
			return
		}
	}
}

// stack returns the bounds of the goroutine's stack. C code of the runtime relies on their
// position, too.
func (s *structure) stack() (lo, hi uintptr) {
	return *(*uintptr)(unsafe.Pointer(&s[0])), *(*uintptr)(unsafe.Pointer(&s[unsafe.Sizeof(lo)]))
}

// stackFound verifies these bounds: a local variable must be on the stack.
func stackFound() bool {
	var here byte
	at := uintptr(unsafe.Pointer(&here))
	lo, hi := thisStructure().stack()
	return lo < at && at < hi && bits.OnesCount64(uint64(hi-lo)) == 1
}

// findCount finds the only byte that grows by 1 whenever the goroutine lets others run.
func findCount() bool {
	g := thisStructure()
	var grows [structureTo]bool
	for i := structureFrom; i < structureTo; i++ {
		grows[i] = true
	}
	for round := range 8 {
		before := *g
		if round%2 == 0 {
			runtime.Gosched()
		} else {
			time.Sleep(time.Nanosecond)
		}
		for i := structureFrom; i < structureTo; i++ {
			grows[i] = grows[i] && g[i]-before[i] == 1
		}
	}
	at, ok := only(func(i int) bool { return grows[i] })
	seqAt = uintptr(at)
	return ok
}

// findLock finds the only word that is 0 unless the goroutine is locked to its thread.
func findLock() bool {
	const size = unsafe.Sizeof(uintptr(0))
	g := thisStructure()
	word := func(i int) uintptr { return *(*uintptr)(unsafe.Pointer(&g[i])) }
	free := *g
	runtime.LockOSThread()
	locked := *g
	runtime.UnlockOSThread()
	at, ok := only(func(i int) bool {
		return uintptr(i)%size == 0 && uintptr(i)+size <= structureTo && word(i) == 0 &&
			*(*[size]byte)(free[i:]) == [size]byte{} && *(*[size]byte)(locked[i:]) != [size]byte{}
	})
	lockAt = uintptr(at)
	return ok
}

// findReason finds the only byte that is 0 at first and then identifies the last wait: a different
// value for each kind of wait, and always the same value for one kind.
func findReason() bool {
	g := thisStructure()
	ping, pong := make(chan bool, 1), make(chan bool)
	defer close(ping)
	background.Go(func() {
		for range ping {
			pong <- true
		}
	})
	var never chan bool
	waits := [...]func(){
		func() { time.Sleep(time.Nanosecond) },
		func() { ping <- true; <-pong },
		func() {
			ping <- true
			select {
			case <-pong:
			case <-never:
			}
		},
	}
	var after [2][len(waits)]structure
	for round := range after {
		for i, wait := range waits {
			waited := false
			for range 50 { // the answer may arrive before it waits
				before := g[seqAt]
				if wait(); g[seqAt] != before {
					waited = true
					break
				}
			}
			if !waited {
				return false
			}
			after[round][i] = *g
		}
	}
	at, ok := only(func(i int) bool {
		sleep, receive, choose := after[0][0][i], after[0][1][i], after[0][2][i]
		return sleep != 0 && receive != 0 && choose != 0 && sleep != receive && receive != choose && choose != sleep &&
			after[1][0][i] == sleep && after[1][1][i] == receive && after[1][2][i] == choose && uintptr(i) != seqAt
	})
	reasonAt = uintptr(at)
	harmless[0] = true
	for _, g := range after[0] {
		harmless[g[at]] = true
	}
	return ok
}

// only returns the only place for which is returns true.
func only(is func(place int) bool) (place int, ok bool) {
	n := 0
	for i := structureFrom; i < structureTo; i++ {
		if is(i) {
			place, n = i, n+1
		}
	}
	return place, n == 1
}

// thisStructure returns the calling goroutine's structure.
func thisStructure() *structure {
	g := getg()
	return *(**structure)(unsafe.Pointer(&g))
}

// turn returns the state of the calling goroutine's scheduling.
func turn() Turn {
	s := thisStructure()
	lo, hi := s.stack()
	t := turnKnown | Turn(s[seqAt]) | Turn(s[reasonAt])<<8 | Turn(bits.Len64(uint64(hi-lo))-1)<<16
	if *(*uintptr)(unsafe.Pointer(&s[lockAt])) != 0 {
		t |= turnLocked
	}
	return t & turnMask
}

// TurnsKnown reports whether it can be detected that a goroutine has left its thread.
func TurnsKnown() bool { return turnMask != 0 }

// Goroutine returns the address of the calling goroutine's descriptor in the runtime, in 2 ns. It
// identifies living goroutines; later ones may reuse the address. On processors other than amd64,
// arm64 and 386, it returns the goroutine's ID.
func Goroutine() uintptr { return getg() }

// Reused reports whether a later goroutine may get the same value of Goroutine.
const Reused = true

// getg returns the address of the calling goroutine's descriptor.
//
//go:noescape
func getg() uintptr
