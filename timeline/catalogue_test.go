//lint:file-ignore SA2001 The critical sections are empty on purpose: only the wait for them matters.

package timeline

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/bottleneck-go/bottleneck/granularity"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The catalogue: every way of waiting that a program can cause, recorded now with the Go that
// compiles this test, and how a pass reports it. A scene blocks in a region of its own name, which
// identifies its interval.

// scene is one way of waiting.
type scene struct {
	name  string
	wait  Wait
	state State
	// play blocks the goroutine that calls waits, and returns after the wait.
	play func(s *stage)
	// rare scenes need luck and take several forms: if one is seen, only the kind of waiting is
	// compared.
	rare bool
}

// stage runs the parts of a scene.
type stage struct {
	ctx  context.Context
	name string
	wg   sync.WaitGroup
}

// waits runs f, which blocks, on a goroutine of its own in the scene's region.
func (s *stage) waits(f func()) {
	s.wg.Go(func() { trace.WithRegion(s.ctx, s.name, f) })
}

// blocked waits until a goroutine is in a function of the given name.
func (s *stage) blocked(function string) {
	buf := make([]byte, 1<<20)
	for range 10000 {
		for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			head, chain, _ := strings.Cut(g, "\n")
			if strings.Contains(chain, function+"(") && strings.Contains(chain, "(*stage).waits") && !strings.Contains(head, "[runn") {
				return
			}
		}
		time.Sleep(200 * time.Microsecond)
	}
	panic("nothing ever blocks in " + function)
}

func scenes() []scene {
	return []scene{
		{name: "mutex", wait: WaitMutex, state: Waiting, play: func(s *stage) {
			var mu sync.Mutex
			mu.Lock()
			s.waits(func() { mu.Lock(); mu.Unlock() })
			s.blocked("sync.(*Mutex).Lock")
			mu.Unlock()
		}},
		{name: "mutex by Locker", wait: WaitMutex, state: Waiting, play: func(s *stage) {
			var l sync.Locker = new(sync.Mutex)
			l.Lock()
			s.waits(func() { l.Lock(); l.Unlock() })
			s.blocked("sync.(*Mutex).Lock")
			l.Unlock()
		}},
		{name: "rwmutex, writer behind reader", wait: WaitRWMutexWriter, state: Waiting, play: func(s *stage) {
			var mu sync.RWMutex
			mu.RLock()
			s.waits(func() { mu.Lock(); mu.Unlock() })
			s.blocked("sync.(*RWMutex).Lock")
			mu.RUnlock()
		}},
		{name: "rwmutex, writer behind writer", wait: WaitRWMutexWriter, state: Waiting, play: func(s *stage) {
			var mu sync.RWMutex
			mu.Lock()
			s.waits(func() { mu.Lock(); mu.Unlock() })
			s.blocked("sync.(*RWMutex).Lock")
			mu.Unlock()
		}},
		{name: "rwmutex, reader behind writer", wait: WaitRWMutexReader, state: Waiting, play: func(s *stage) {
			var mu sync.RWMutex
			mu.Lock()
			s.waits(func() { mu.RLock(); mu.RUnlock() })
			s.blocked("sync.(*RWMutex).RLock")
			mu.Unlock()
		}},
		{name: "waitgroup", wait: WaitWaitGroup, state: Waiting, play: func(s *stage) {
			var wg sync.WaitGroup
			wg.Add(1)
			s.waits(wg.Wait)
			s.blocked("sync.(*WaitGroup).Wait")
			wg.Done()
		}},
		{name: "cond, signalled", wait: WaitCond, state: Waiting, play: func(s *stage) {
			c := sync.NewCond(new(sync.Mutex))
			s.waits(func() { c.L.Lock(); c.Wait(); c.L.Unlock() })
			s.blocked("sync.(*Cond).Wait")
			c.Signal()
		}},
		{name: "cond, broadcast", wait: WaitCond, state: Waiting, play: func(s *stage) {
			c := sync.NewCond(new(sync.Mutex))
			s.waits(func() { c.L.Lock(); c.Wait(); c.L.Unlock() })
			s.blocked("sync.(*Cond).Wait")
			c.Broadcast()
		}},
		{name: "once", wait: WaitOnce, state: Waiting, play: func(s *stage) {
			var once sync.Once
			inside, leave := make(chan int), make(chan int)
			go once.Do(func() { close(inside); <-leave })
			<-inside
			s.waits(func() { once.Do(func() {}) })
			s.blocked("sync.(*Once).doSlow")
			close(leave)
		}},
		{name: "channel, send", wait: WaitChanSend, state: Waiting, play: func(s *stage) {
			c := make(chan int)
			s.waits(func() { sendOn(c) })
			s.blocked("timeline.sendOn")
			<-c
		}},
		{name: "channel, receive", wait: WaitChanReceive, state: Waiting, play: func(s *stage) {
			c := make(chan int)
			s.waits(func() { receiveFrom(c) })
			s.blocked("timeline.receiveFrom")
			c <- 1
		}},
		{name: "channel, receive until closed", wait: WaitChanReceive, state: Waiting, play: func(s *stage) {
			c := make(chan int)
			s.waits(func() { rangeOver(c) })
			s.blocked("timeline.rangeOver")
			close(c)
		}},
		{name: "select", wait: WaitSelect, state: Waiting, play: func(s *stage) {
			a, b := make(chan int), make(chan int)
			s.waits(func() { selectOf(a, b) })
			s.blocked("timeline.selectOf")
			b <- 1
		}},
		{name: "context", wait: WaitChanReceive, state: Waiting, play: func(s *stage) {
			ctx, cancel := context.WithCancel(context.Background())
			s.waits(func() { awaitDone(ctx) })
			s.blocked("timeline.awaitDone")
			cancel()
		}},
		{name: "semaphore", wait: WaitSemaphore, state: Waiting, play: func(s *stage) {
			sem := semaphore.NewWeighted(1)
			sem.Acquire(context.Background(), 1)
			s.waits(func() { sem.Acquire(context.Background(), 1) })
			s.blocked("golang.org/x/sync/semaphore.(*Weighted).Acquire")
			sem.Release(1)
		}},
		{name: "errgroup, limit", wait: WaitSemaphore, state: Waiting, play: func(s *stage) {
			var g errgroup.Group
			g.SetLimit(1)
			leave := make(chan int)
			g.Go(func() error { <-leave; return nil })
			s.waits(func() { g.Go(func() error { return nil }) })
			s.blocked("golang.org/x/sync/errgroup.(*Group).Go")
			close(leave)
		}},
		{name: "granularity.Group, limit", wait: WaitSemaphore, state: Waiting, play: func(s *stage) {
			var g granularity.Group
			g.SetLimit(1)
			leave := make(chan int)
			g.Go(func() error { <-leave; return nil })
			s.waits(func() { g.Go(func() error { return nil }) })
			s.blocked("granularity.(*Group).Go")
			close(leave)
		}},
		{name: "errgroup, wait", wait: WaitWaitGroup, state: Waiting, play: func(s *stage) {
			var g errgroup.Group
			leave := make(chan int)
			g.Go(func() error { <-leave; return nil })
			s.waits(func() { g.Wait() })
			s.blocked("golang.org/x/sync/errgroup.(*Group).Wait")
			close(leave)
		}},
		{name: "network, accept", wait: WaitNetwork, state: Waiting, play: func(s *stage) {
			l := listen()
			defer l.Close()
			s.waits(func() { l.Accept() })
			s.blocked("net.(*TCPListener).Accept")
			net.Dial("tcp", l.Addr().String())
			s.wg.Wait()
		}},
		{name: "network, read", wait: WaitNetwork, state: Waiting, play: func(s *stage) {
			l := listen()
			defer l.Close()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				panic(err)
			}
			defer c.Close()
			peer, err := l.Accept()
			if err != nil {
				panic(err)
			}
			defer peer.Close()
			s.waits(func() { c.Read(make([]byte, 1)) })
			s.blocked("net.(*conn).Read")
			peer.Write([]byte{1})
			s.wg.Wait()
		}},
		{name: "sleep", wait: WaitSleep, state: Waiting, play: func(s *stage) {
			s.waits(func() { time.Sleep(3 * time.Millisecond) })
		}},
		{name: "timer", wait: WaitChanReceive, state: Waiting, play: func(s *stage) {
			s.waits(func() { <-time.After(3 * time.Millisecond) })
		}},
		{name: "nothing, for ever", wait: WaitForever, state: Waiting, play: func(s *stage) {
			go trace.WithRegion(s.ctx, s.name, func() { (&stage{}).foreverSelect() })
			time.Sleep(5 * time.Millisecond)
		}},
		{name: "a nil channel, for ever", wait: WaitForever, state: Waiting, play: func(s *stage) {
			go trace.WithRegion(s.ctx, s.name, func() { receiveFrom(nil) })
			time.Sleep(5 * time.Millisecond)
		}},
		{name: "coroutine", wait: WaitCoroutine, state: Waiting, play: func(s *stage) {
			s.waits(func() {
				next, stop := iter.Pull(func(yield func(int) bool) {
					for i := range 3 {
						if !yield(i) {
							return
						}
					}
				})
				for range 3 {
					next()
				}
				stop()
			})
		}},
		{name: "the end of a collection", wait: WaitGC, state: Waiting, play: func(s *stage) {
			s.waits(func() {
				for range 5 {
					runtime.GC()
				}
			})
		}},
		{name: "system call, with its P", wait: WaitSyscall, state: Syscall, play: func(s *stage) {
			null, err := syscall.Open(os.DevNull, syscall.O_WRONLY, 0)
			if err != nil {
				panic(err)
			}
			s.waits(func() {
				for range 20 {
					syscall.Write(null, []byte("x"))
				}
				syscall.Close(null)
			})
		}},
		{name: "system call, without P", wait: WaitSyscall, state: SyscallBlocked, play: func(s *stage) {
			read, write, shut, err := blockingPipe()
			if err != nil {
				panic(err)
			}
			s.waits(read)
			time.Sleep(40 * time.Millisecond) // the P is retaken after 20 µs to 10 ms
			write()
			s.wg.Wait()
			shut()
		}},
		{name: "yield", wait: WaitYield, state: Runnable, play: func(s *stage) {
			s.waits(func() {
				for range 10 {
					runtime.Gosched()
				}
			})
		}},
		{name: "end of the time slice", wait: WaitPreempted, state: Runnable, play: func(s *stage) {
			for range 2*runtime.GOMAXPROCS(0) + 1 {
				s.waits(func() { spin(50 * time.Millisecond) })
			}
		}},
		{name: "sync.Map", wait: WaitMutex, state: Waiting, rare: true, play: func(s *stage) {
			var m sync.Map
			for range 4 {
				s.waits(func() {
					for i := range 3000 {
						m.Swap(i%3, i)
						m.CompareAndDelete(i%3, i)
					}
				})
			}
		}},
		{name: "assist", wait: WaitGC, state: Waiting, rare: true, play: func(s *stage) {
			for range 4 {
				s.waits(func() { ballast(1 << 13) })
			}
		}},
	}
}

//go:noinline
func sendOn(c chan int) { c <- 1 }

//go:noinline
func receiveFrom(c chan int) int { return <-c }

//go:noinline
func rangeOver(c chan int) {
	for range c {
	}
}

//go:noinline
func selectOf(a, b chan int) int {
	select {
	case i := <-a:
		return i
	case i := <-b:
		return i
	}
}

//go:noinline
func awaitDone(ctx context.Context) { <-ctx.Done() }

//go:noinline
func (s *stage) foreverSelect() { select {} }

func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

func listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l
}

// spotter is an Observer that finds the intervals of scenes.
type spotter struct {
	Base
	scenes map[string]scene
	seen   map[string]string   // by scene: its line of the catalogue
	others map[string][]string // other events in its region
}

// ours shortens the names of this test's own functions, which closures number.
func ours(function string) string {
	if strings.Contains(function, "/timeline.") {
		short := function[strings.LastIndex(function, "/timeline.")+1:]
		if strings.Contains(short, "func") || short == "timeline.TestCatalogue" {
			return "(the test)"
		}
		return short
	}
	if function == "testing.tRunner" {
		return "(the test)"
	}
	return function
}

func (sp *spotter) Transition(tr *Transition) {
	if len(tr.G.Regions()) == 0 {
		return
	}
	s, ok := sp.scenes[tr.G.Regions()[0].Name]
	if !ok || tr.State == Running {
		return
	}
	line := fmt.Sprintf("%s: %v, %v", s.name, tr.State, tr.Wait)
	if tr.Reason != "" {
		line += fmt.Sprintf(", %q", tr.Reason)
	}
	// It is random which goroutine polls the network or runs the timers: usually none, but a
	// goroutine that starts the world does it, too.
	byChance := s.wait == WaitNetwork || s.wait == WaitSleep || s.name == "timer"
	if s.wait != WaitPreempted && s.wait != WaitGC { // these may be anywhere
		if f := leafOf(tr.Stack); f != nil {
			line += ", in " + ours(f.Func)
		}
		switch {
		case byChance:
		case tr.Waker != nil:
			line += ", woken by " + ours(tr.Waker.Name())
			if f := leafOf(tr.WakerStack); f != nil {
				line += " in " + ours(f.Func)
			}
		case tr.State == Waiting && tr.To == Runnable:
			line += ", woken by nobody"
		}
	}
	if tr.Wait != s.wait || tr.State != s.state {
		if len(sp.others[s.name]) < 10 {
			sp.others[s.name] = append(sp.others[s.name], line)
		}
		return
	}
	if s.state == Runnable && tr.Reason == "" {
		return // ready again after something else
	}
	if _, ok := sp.seen[s.name]; !ok {
		sp.seen[s.name] = line
	}
}

// golden reads, or with -update writes, the golden catalogue. There is one for all releases of Go:
// if a new release waits differently, the test fails.
func golden(t *testing.T, kind string, seen []string) map[string]string {
	t.Helper()
	file := filepath.Join("testdata", "golden", kind+".txt")
	if *update {
		write(t, file, []byte(strings.Join(seen, "\n")+"\n"))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("-update writes it: %v", err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, _, _ := strings.Cut(line, ": ")
		lines[name] = strings.TrimSpace(line)
	}
	return lines
}

// TestCatalogue runs all scenes under the tracer.
func TestCatalogue(t *testing.T) {
	sp := &spotter{scenes: map[string]scene{}, seen: map[string]string{}, others: map[string][]string{}}
	var all []scene
	for _, s := range scenes() {
		if runtime.GOOS != "linux" && strings.HasPrefix(s.name, "system call") {
			continue
		}
		all = append(all, s)
		sp.scenes[s.name] = s
	}
	// Most scenes always block; a few need a second attempt on a busy machine.
	for try := range 5 {
		missing := 0
		data := recordTrace(t, func() {
			for _, s := range all {
				if _, ok := sp.seen[s.name]; !ok && (try < 2 || !s.rare) {
					missing++
					st := &stage{ctx: context.Background(), name: s.name}
					s.play(st)
					st.wg.Wait()
				}
			}
		})
		if missing == 0 {
			break
		}
		check := newChecker()
		info := mustRead(t, data, Options{}, check, sp)
		check.verify(t, info)
		if info.Inconsistent != 0 {
			t.Errorf("%+v", info)
		}
	}
	var lines []string
	for _, s := range all {
		if line, ok := sp.seen[s.name]; ok && !s.rare {
			lines = append(lines, line)
		}
	}
	want := golden(t, "waits", lines)
	for _, s := range all {
		line, ok := sp.seen[s.name]
		switch {
		case !ok && s.rare:
			t.Logf("%s: did not happen this time", s.name)
		case !ok:
			t.Errorf("%s: nothing is %v for %v; but\n\t%s", s.name, s.state, s.wait, strings.Join(sp.others[s.name], "\n\t"))
		case runtime.GOOS == "windows" && s.wait == WaitNetwork: // all of it waits in another function there
		case !s.rare && want[s.name] != line:
			t.Errorf("got  %s\nwant %s", line, want[s.name])
		}
	}
}
