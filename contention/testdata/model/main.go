// Model runs the locks of words.go, which are copied beside it, in every order of their atomic
// operations. See words_test.go.
package main

import (
	"flag"
	"fmt"
	"runtime"
	"strings"

	"model/sched"
)

// A script is the work of a goroutine, one letter per operation. Upper case: a registered waiter or
// owner.
//
//	l L  Lock, and Unlock    t  TryLock, and Unlock if it succeeded
//	o    Lock, then register as the owner does after a Cond's Wait, and Unlock
//	r R  RLock, and RUnlock  s  TryRLock, and RUnlock if it succeeded
var mutexScripts = []struct {
	scripts     string
	preemptions int
	long        bool
}{
	{"l l", 99, false},
	{"L l", 99, false},
	{"o l", 99, false},
	{"ll t", 99, false},
	{"L L", 99, false},
	{"oo l", 3, false},
	{"ll ll", 5, false},
	{"Ll tL", 4, false},
	{"l l l", 3, false},
	{"L l t", 3, false},
	{"o L l", 2, false},
	{"ll lL", 6, true},
	{"oL lt", 6, true},
	{"l l l", 4, true},
	{"L l o", 4, true},
	{"Ll t L", 3, true},
}

var rwScripts = []struct {
	scripts     string
	preemptions int
	long        bool
}{
	{"l r", 99, false},
	{"L r", 99, false},
	{"l R", 99, false},
	{"t s", 99, false},
	{"l l", 99, false},
	{"lr rl", 4, false},
	{"l r r", 3, false},
	{"l l r", 3, false},
	{"L R r", 3, false},
	{"t r l", 3, false},
	{"l rr s", 3, false},
	{"o r l", 2, false},
	{"ll rr", 5, true},
	{"l rr rr", 4, true},
	{"l L r R", 3, true},
	{"o Rr lt", 3, true},
}

func main() {
	long := flag.Bool("long", false, "minutes rather than seconds")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	for _, c := range mutexScripts {
		if *long || !c.long {
			n := sched.Explore(c.preemptions, func() func() { return mutexProgram(strings.Fields(c.scripts)) })
			fmt.Printf("Mutex    %-8s  up to %2d preemptions: %d orders\n", c.scripts, c.preemptions, n)
		}
	}
	for _, c := range rwScripts {
		if *long || !c.long {
			n := sched.Explore(c.preemptions, func() func() { return rwProgram(strings.Fields(c.scripts)) })
			fmt.Printf("RWMutex  %-8s  up to %2d preemptions: %d orders\n", c.scripts, c.preemptions, n)
		}
	}
}

// inside is the owner of the lock.
type inside struct{ writers, readers int }

func (in *inside) write() {
	in.writers++
	in.check()
	sched.Step("writes", nil)
	in.check()
	in.writers--
}

func (in *inside) read() {
	in.readers++
	in.check()
	sched.Step("reads", nil)
	in.check()
	in.readers--
}

func (in *inside) check() {
	if in.writers > 1 || in.writers == 1 && in.readers > 0 {
		sched.Fail("%d writers and %d readers at once", in.writers, in.readers)
	}
}

func mutexProgram(scripts []string) (check func()) {
	m := new(wordMutex)
	in := new(inside)
	unlock := func() { // as Mutex.Unlock
		if w := m.Word.Add(-wordLocked); w != 0 {
			m.unlockQueued(w)
		}
	}
	lock := func(registered bool) { // as Mutex.Lock, lockMore, lockSlow and wait, unlockSlow and leave
		if !m.Word.CompareAndSwap(0, wordLocked) && !m.tryQueued() {
			if registered {
				m.raise()
			}
			m.Lock()
		} else {
			registered = false
		}
		in.write()
		if registered {
			m.lower()
			m.Unlock()
			return
		}
		unlock()
	}
	for i, script := range scripts {
		sched.Go(fmt.Sprintf("%c%s", 'A'+i, script), func() {
			for _, op := range script {
				switch op {
				case 'l':
					lock(false)
				case 'L':
					lock(true)
				case 't': // as Mutex.TryLock
					if m.Word.CompareAndSwap(0, wordLocked) || m.tryQueued() {
						in.write()
						unlock()
					}
				case 'o': // as Cond.Wait: lockAfterWait and adopt, then leave
					if !m.TryLock() {
						m.Lock()
					}
					m.raiseOwn()
					in.write()
					m.lower()
					m.Unlock()
				}
			}
		})
	}
	return func() {
		if w := m.Word.Load(); w != 0 && w&^(inLine-1) != wordQueued || !m.Mu.Free() {
			sched.Fail("the word is %d in the end, and mu is %+v", w, m.Mu)
		}
	}
}

func rwProgram(scripts []string) (check func()) {
	rw := new(wordRWMutex)
	in := new(inside)
	unusedGates.Empty()
	unlock := func() { // as RWMutex.Unlock
		if rw.Word.CompareAndSwap(-oneWriter, 0) {
			rw.writers.Unlock()
			return
		}
		rw.Unlock()
	}
	lock := func() bool { // as RWMutex.Lock and lockMore
		if rw.writers.TryLock() {
			if rw.Word.CompareAndSwap(0, -oneWriter) {
				return true
			}
			rw.writers.Unlock()
		}
		return rw.TryLock()
	}
	runlock := func() { // as RWMutex.RUnlock
		if c := rw.Word.Add(-1); c < 0 {
			rw.left(c)
		}
	}
	for i, script := range scripts {
		sched.Go(fmt.Sprintf("%c%s", 'A'+i, script), func() {
			for _, op := range script {
				switch op {
				case 'l', 'L', 'o':
					registered := false
					if !lock() {
						if registered = op == 'L'; registered {
							rw.raise()
						}
						rw.Lock()
					}
					if op == 'o' {
						registered = true
						rw.raiseOwn()
					}
					in.write()
					if registered {
						rw.lower()
					}
					unlock()
				case 't':
					if rw.TryLock() {
						in.write()
						unlock()
					}
				case 'r', 'R': // as RWMutex.RLock, rlockMore and rlockWait
					if c := rw.Word.Add(1); c < 0 && written(c) {
						if op == 'R' {
							rw.raise()
						}
						rw.blocking().enter()
						if op == 'R' {
							rw.lower()
						}
					}
					in.read()
					runlock()
				case 's':
					if rw.TryRLock() {
						in.read()
						runlock()
					}
				}
			}
		})
	}
	return func() {
		g := rw.gates.Load()
		if rw.Word.Load() != 0 || !rw.writers.Free() || g != nil && (g.gate != nil || g.waiting != 0 || g.admitted != 0 || g.leaving.Load() != 0 || g.turn.Busy()) {
			sched.Fail("the word is %d in the end, and the gates are %+v", rw.Word.Load(), g)
		}
	}
}
