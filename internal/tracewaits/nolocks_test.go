package tracewaits

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/exp/trace"
)

// checkNoLocks fails if the profile has a wait for a lock, or one named after the function in which
// the runtime stopped a goroutine.
func checkNoLocks(t *testing.T, name string, p *contention.Profile) {
	t.Helper()
	for _, w := range p.Waits {
		switch w.Kind {
		case contention.MutexKind, contention.RWMutexWriterKind, contention.RWMutexReaderKind, contention.OnceKind, contention.OtherKind:
			t.Errorf("%s: %s for %s, in %s", name, w.Kind, w.Lock, w.Waiter.Stack)
		case contention.GCKind:
			if w.Lock.Name != "[gc]" {
				t.Errorf("%s: a wait for the collector is for %s", name, w.Lock)
			}
		}
	}
}

// TestProgramsWithoutLocksHaveNoLocksInContention analyzes recorded programs and one that keeps
// the collector busy, so that it stops goroutines to scan their stacks.
func TestProgramsWithoutLocksHaveNoLocksInContention(t *testing.T) {
	for _, name := range testenv.Some([]string{"pgzip", "json-gogc5"}) {
		checkNoLocks(t, name, realTrace(t, name))
	}
	var buf bytes.Buffer
	if err := rtrace.Start(&buf); err != nil {
		t.Skip(err) // the tests themselves are traced
	}
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var keep [64][]byte
			for i := range testenv.Rounds(1 << 13) {
				keep[i%len(keep)] = make([]byte, 4<<10)
			}
			runtime.KeepAlive(keep)
		})
	}
	wg.Wait()
	rtrace.Stop()
	suspensions := &suspensionCounter{}
	o := NewObserver(Options{})
	if _, err := timeline.Read(context.Background(), &buf, timeline.Options{}, o, suspensions); err != nil {
		t.Fatal(err)
	}
	if suspensions.n == 0 {
		t.Skip("the collector stopped no goroutine")
	}
	checkNoLocks(t, "a program that keeps the collector busy", o.Profile())
}

type suspensionCounter struct {
	timeline.Base
	n int
}

func (c *suspensionCounter) Transition(t *timeline.Transition) {
	if t.State == timeline.Waiting && t.Reason == "preempted" && t.G.Kind == timeline.Application {
		c.n++
	}
}

// TestSuspensionsBelongToTheCollector: a goroutine stopped while the collector marks waits for the
// collector, wherever it was. One that the tracer stops does not wait.
func TestSuspensionsBelongToTheCollector(t *testing.T) {
	s := newScript(t, Options{})
	s.play("10 2 runs\n 10 3 runs")
	s.o.Range(&timeline.Span{Time: 20_000, Name: "GC concurrent mark phase", Begin: true})
	s.suspend(30_000, 2, "fmt.(*pp).free < main.f:10")
	s.play("35 3 wakes 2 in runtime.gcDrain < runtime.gcBgMarkWorker\n 36 2 runs")
	s.o.Range(&timeline.Span{Time: 40_000, Name: "GC concurrent mark phase"})
	s.suspend(50_000, 2, "fmt.(*pp).free < main.f:10")
	s.play("55 3 wakes 2 in runtime.traceAdvance\n 56 2 runs\n 60 ends")
	p := s.o.Profile()
	checkConservation(t, p)
	if len(p.Waits) != 1 || p.Waits[0].Kind != contention.GCKind || p.Waits[0].Lock.Name != "[gc]" || p.Waits[0].Contentions != 1 {
		t.Errorf("\n%s", profileText(p))
	}
}

// suspend makes the runtime stop a goroutine.
func (s *script) suspend(at timeline.Time, id int64, where string) {
	s.to(at, id, timeline.Waiting, timeline.WaitRuntime, s.stack(where))
	s.now[id].Reason = "preempted"
}

// TestSyscallsAreListedByTheirSite compares the time of system calls without a processor with a
// count by the accessors of x/exp/trace, and their sites with those of "go tool trace
// -pprof=syscall", which has the whole time of all system calls.
func TestSyscallsAreListedByTheirSite(t *testing.T) {
	for _, file := range testenv.Some([]string{filepath.Join("..", "..", "testdata", "small", "sys-go1.26.8.trace.zst"), filepath.Join("..", "..", "testdata", "real", "stdlog-file.trace.zst")}) {
		p, err := readFile(file, Options{Syscalls: true})
		if err != nil {
			t.Fatal(err)
		}
		checkConservation(t, p)
		without, bySite := countSyscalls(t, file)
		var got time.Duration
		for _, w := range p.Waits {
			if w.Kind != contention.SyscallKind {
				continue
			}
			got += w.Waited
			if site := shortSite(w.Waiter.Stack.Frames); w.Waited > bySite[site] {
				t.Errorf("%s: %v in %s, where all system calls took %v", file, w.Waited, site, bySite[site])
			}
		}
		if got != without {
			t.Errorf("%s: %v in system calls without a processor, want %v", file, got, without)
		}
		if without == 0 && strings.Contains(file, "sys-") {
			t.Errorf("%s: no system call lost its processor", file)
		}
		if p, err = readFile(file, Options{}); err != nil {
			t.Fatal(err)
		}
		if n, _ := sumOf(p, contention.SyscallKind); n != 0 {
			t.Errorf("%s: %d system calls without the option", file, n)
		}
	}
}

func shortSite(frames []contention.Frame) string {
	var names []string
	for _, f := range frames {
		if !plumbing(f.Func) {
			names = append(names, f.Func)
		}
	}
	return strings.Join(names, " < ")
}

// countSyscalls returns how long application goroutines were in system calls without a processor,
// except for calls whose end is not in the trace, and how long they were in system calls in total,
// by call chain.
func countSyscalls(t *testing.T, file string) (without time.Duration, bySite map[string]time.Duration) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := trace.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	type call struct {
		from, lost trace.Time
		site       string
		p          trace.ProcID
	}
	var first trace.Time
	calls := map[trace.GoID]*call{}
	bySite = map[string]time.Duration{}
	for {
		ev, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return without, bySite
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind() != trace.EventStateTransition {
			continue
		}
		if first == 0 {
			first = ev.Time()
		}
		st := ev.StateTransition()
		switch st.Resource.Kind {
		case trace.ResourceProc:
			if from, to := st.Proc(); from == trace.ProcRunning && to == trace.ProcIdle {
				for _, c := range calls {
					if c.lost == 0 && c.p == st.Resource.Proc() {
						c.lost = ev.Time()
					}
				}
			}
		case trace.ResourceGoroutine:
			id := st.Resource.Goroutine()
			from, to := st.Goroutine()
			if to == trace.GoSyscall && from != trace.GoSyscall && (from != trace.GoUndetermined || calls[id] == nil) {
				c := &call{from: ev.Time(), p: ev.Proc()}
				var frames []contention.Frame
				for f := range ev.Stack().Frames() {
					frames = append(frames, contention.Frame{Func: f.Func})
				}
				c.site = shortSite(frames)
				if from == trace.GoUndetermined { // since before the trace
					c.from, c.lost = first, first
				}
				calls[id] = c
			}
			if c := calls[id]; c != nil && from == trace.GoSyscall && to != trace.GoSyscall {
				delete(calls, id)
				bySite[c.site] += time.Duration(ev.Time() - c.from)
				if c.lost != 0 {
					without += time.Duration(ev.Time() - c.lost)
				}
			}
		}
	}
}
