//lint:file-ignore SA2001 The critical sections are empty on purpose: only the wait for them matters.

package timeline

import (
	"context"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// Goroutines that are older than the trace: each function blocks until leave is closed, together
// with everything prepared in old.

type old struct {
	mu       sync.Mutex
	rw, rw2  sync.RWMutex
	wg       sync.WaitGroup
	cond     *sync.Cond
	ch, send chan int
	leave    chan int
	final    chan int // all block here last, which shows their names
	stop     atomic.Bool
	started  atomic.Int32
}

func (o *old) inMutex()     { o.mu.Lock(); o.mu.Unlock(); <-o.final }
func (o *old) inWriter()    { o.rw.Lock(); o.rw.Unlock(); <-o.final }
func (o *old) inReader()    { o.rw2.RLock(); o.rw2.RUnlock(); <-o.final }
func (o *old) inWaitGroup() { o.wg.Wait(); <-o.final }
func (o *old) inCond()      { o.cond.L.Lock(); o.cond.Wait(); o.cond.L.Unlock(); <-o.final }
func (o *old) inReceive()   { <-o.ch; <-o.final }
func (o *old) inSend()      { o.send <- 1; <-o.final }
func (o *old) inSelect() {
	select {
	case <-o.leave:
	case <-o.ch:
	}
	<-o.final
}
func (o *old) inSleep() {
	for !o.stop.Load() {
		time.Sleep(time.Second)
	}
}
func (o *old) spinning() {
	o.started.Add(1)
	for !o.stop.Load() {
	}
	<-o.final
}

// startOld starts them and waits until all are in place.
func startOld(t *testing.T) *old {
	t.Helper()
	until(t, func() bool { return blockedIn("(*old).") == 0 }) // goroutines of another test
	o := &old{ch: make(chan int), send: make(chan int), leave: make(chan int), final: make(chan int), cond: sync.NewCond(new(sync.Mutex))}
	o.mu.Lock()
	o.rw.RLock()
	o.rw2.Lock()
	o.wg.Add(1)
	for _, f := range []func(){o.inMutex, o.inWriter, o.inReader, o.inWaitGroup, o.inCond, o.inReceive, o.inSend, o.inSelect, o.inSleep} {
		go f()
	}
	go o.spinning()
	until(t, func() bool { return blockedIn("(*old).in") == 9 && o.started.Load() == 1 })
	return o
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for range 10000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the goroutines do not come to where they shall be")
}

// blockedIn counts the goroutines that are blocked in a function.
func blockedIn(function string) int {
	buf := make([]byte, 1<<20)
	n := 0
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		head, chain, _ := strings.Cut(g, "\n")
		if strings.Contains(chain, function) && !strings.Contains(head, "[runn") {
			n++
		}
	}
	return n
}

// end lets all of them exit.
func (o *old) end() {
	o.stop.Store(true)
	o.mu.Unlock()
	o.rw.RUnlock()
	o.rw2.Unlock()
	o.wg.Done()
	o.cond.Broadcast()
	<-o.send
	close(o.ch)
	close(o.leave)
}

// TestGoroutinesOlderThanTheTrace: goroutines older than the trace exist from its first instant,
// with their names. The reason of a wait is known for those that wait all the time.
func TestGoroutinesOlderThanTheTrace(t *testing.T) {
	want := map[string]Wait{
		"inMutex": WaitMutex, "inWriter": WaitRWMutexWriter, "inReader": WaitRWMutexReader, "inWaitGroup": WaitWaitGroup,
		"inCond": WaitCond, "inReceive": WaitChanReceive, "inSend": WaitChanSend, "inSelect": WaitSelect, "inSleep": WaitSleep,
	}
	for _, wake := range []bool{true, false} {
		o := startOld(t)
		data := recordTrace(t, func() {
			time.Sleep(2 * time.Millisecond)
			if wake {
				o.end()
				until(t, func() bool { return blockedIn("(*old).") == 10 }) // all at their last wait, or asleep
			}
		})
		if !wake {
			o.end()
		}
		close(o.final)
		fs := &facts{}
		check := newChecker()
		check.verify(t, mustRead(t, data, Options{}, check, fs))
		found := map[string]bool{}
		for _, f := range fs.intervals {
			_, name, ok := strings.Cut(f.Func, "(*old).")
			name = strings.TrimSuffix(name, "-fm") // a method value
			if f.State == Unknown && ok && !found[name] && (f.End != fs.begin || f.Start != fs.begin) {
				t.Errorf("wake %v: %s appears at %d, the trace begins at %d", wake, name, f.End, fs.begin)
			}
			if !ok || f.Start != fs.begin || !f.State.Alive() {
				continue
			}
			if name == "inSleep" && f.End != fs.end {
				continue // it is just waking up
			}
			if name == "spinning" {
				// It runs, unless the machine is busy: then it may just have been
				// stopped.
				if f.State == Running || f.State == Runnable {
					found[name] = true
				}
				continue
			}
			found[name] = true
			expect := want[name]
			if wake && f.Leaf == "" {
				expect = WaitOther // the trace has the call chain only of those that wait all the time
			}
			if f.State != Waiting || f.Wait != expect {
				t.Errorf("wake %v: %s: %v", wake, name, f)
			}
			// The leaf is that of a block event.
			if strings.HasPrefix(f.Leaf, "runtime.") && !entryFrames[f.Leaf] {
				t.Errorf("wake %v: %s: the runtime's parking is in the call chain: %s", wake, name, f.Stack)
			}
			if !wake && f.End != fs.end && name != "inSleep" {
				t.Errorf("%s ends at %d, the trace at %d", name, f.End, fs.end)
			}
			if wake && name == "inMutex" && (f.WakerLeaf != "sync.(*Mutex).Unlock" || f.To != Runnable) {
				t.Errorf("%s: %v", name, f)
			}
		}
		for name := range want {
			if !found[name] && name != "inSleep" { // it may be just waking up
				t.Errorf("wake %v: %s was not found", wake, name)
			}
		}
		if wake && !found["spinning"] {
			t.Errorf("the goroutine that ran at the start was not found: %v", check.goroutines)
		}
	}
}

func bornOfTimer(c chan int) { c <- 1; time.Sleep(time.Millisecond) }

func bornOfUs(ctx context.Context, c chan int) {
	defer trace.StartRegion(ctx, "region of the child").End()
	trace.Log(ctx, "category", "message")
	c <- 1
}

// TestCreatorsInALiveTrace: creators, start functions, regions, tasks and logs of a program
// recorded now.
func TestCreatorsInALiveTrace(t *testing.T) {
	data := recordTrace(t, func() {
		c := make(chan int)
		time.AfterFunc(time.Millisecond, func() { bornOfTimer(c) })
		<-c
		ctx, task := trace.NewTask(context.Background(), "outer task")
		inner, task2 := trace.NewTask(ctx, "inner task")
		trace.WithRegion(inner, "region of the parent", func() {
			go bornOfUs(inner, c) // with arguments: wrapped by the compiler
			<-c
		})
		task2.End()
		task.End()
		time.Sleep(time.Millisecond)
	})
	fs := &facts{}
	words := &noted{}
	check := newChecker()
	check.verify(t, mustRead(t, data, Options{}, check, fs, words))
	var timer, child bool
	for _, b := range fs.born {
		switch {
		case strings.Contains(b.Func, "TestCreatorsInALiveTrace.func1.") && b.CreatorID == 0:
			timer = true
			if b.CreatorFunc != "" || b.CreatorLeaf != "" {
				t.Errorf("a timer's goroutine has a creator: %+v", b)
			}
		case strings.HasSuffix(b.Func, "timeline.bornOfUs"):
			child = true
			if b.CreatorID == 0 || !strings.Contains(b.CreatorLeaf, "TestCreatorsInALiveTrace") || b.Task != "inner task" {
				t.Errorf("%+v", b)
			}
		}
	}
	if !timer || !child {
		t.Errorf("timer %v, child %v: %v", timer, child, fs.born)
	}
	all := strings.Join(words.all, "\n")
	for _, want := range []string{
		`"outer task" of 0 begins`, `"inner task" of 1 begins`, `region "region of the parent" of task 2 "inner task" begins`,
		`region "region of the child" of task 2 "inner task" begins`, `log category=message, task 2`,
		`region "region of the child" of task 2 "inner task" ends`, `"inner task" of 1 ends`, `"outer task" of 0 ends`,
	} {
		id := "0123456789"
		plain := strings.Map(func(r rune) rune {
			if strings.ContainsRune(id, r) {
				return -1
			}
			return r
		}, all)
		if !strings.Contains(plain, strings.Map(func(r rune) rune {
			if strings.ContainsRune(id, r) {
				return -1
			}
			return r
		}, want)) {
			t.Errorf("nothing like %s in\n%s", want, all)
		}
	}
}

// TestShortGenerations: a trace of many generations. It needs a process of its own: the tracer
// reads their length when a program starts.
func TestShortGenerations(t *testing.T) {
	file := os.Getenv("BOTTLENECK_TEST_RECORD")
	if file != "" {
		data := recordTrace(t, func() {
			for range 8 {
				recordableWork(t)
				time.Sleep(10 * time.Millisecond)
			}
		})
		write(t, file, data)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		testenv.Missing(t, err)
	}
	file = filepath.Join(t.TempDir(), "many.trace")
	cmd := exec.Command(exe, "-test.run=^TestShortGenerations$", "-test.count=1")
	cmd.Env = append(os.Environ(), "BOTTLENECK_TEST_RECORD="+file, "GODEBUG=traceadvanceperiod=20000000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	check := newChecker()
	one := &transcript{keep: !race.Enabled}
	info := mustRead(t, data, Options{Workers: 1}, check, one)
	check.verify(t, info)
	if info.Generations < 4 || info.Inconsistent != 0 {
		t.Errorf("%+v", info)
	}
	t.Logf("%d bytes, %d generations, %d events, reordered %d", len(data), info.Generations, info.Events, info.Reordered)
	many := &transcript{keep: !race.Enabled}
	mustRead(t, data, Options{Workers: 8}, many)
	many.sameAs(t, "8 workers", one)

	// The states agree with one Reader over the whole: only the times of statuses, and of
	// events that these delay, differ.
	whole := newChecker()
	whole.verify(t, readWhole(t, data, whole))
	if whole.transitions != check.transitions || whole.goroutines != check.goroutines {
		t.Errorf("one Reader: %d transitions of %d goroutines; one a generation: %d of %d", whole.transitions, whole.goroutines, check.transitions, check.goroutines)
	}
}

func recordableWork(t testing.TB) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		wg.Go(func() {
			for range 20 {
				mu.Lock()
				runtime.Gosched()
				mu.Unlock()
				os.Getpid()
				time.Sleep(50 * time.Microsecond)
			}
			ballast(1 << 9)
		})
	}
	wg.Wait()
}

// TestFlightRecorder: a snapshot begins anywhere in the life of a program.
func TestFlightRecorder(t *testing.T) {
	fr := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 50 * time.Millisecond})
	if err := fr.Start(); err != nil {
		t.Fatal(err)
	}
	defer fr.Stop()
	for range 3 {
		recordableWork(t)
	}
	var buf strings.Builder
	if _, err := fr.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	check := newChecker()
	info, err := Read(t.Context(), strings.NewReader(buf.String()), Options{}, check)
	if err != nil {
		t.Fatal(err)
	}
	check.verify(t, info)
	if info.Inconsistent != 0 || check.transitions < 100 {
		t.Errorf("%+v", info)
	}
}
