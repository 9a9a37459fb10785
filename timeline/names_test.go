package timeline

import (
	"fmt"
	"slices"
	"testing"
)

// TestNames: the sources of a goroutine's name, and when it becomes known.
func TestNames(t *testing.T) {
	deep := make([]string, maxFrames)
	for i := range deep {
		deep[i] = fmt.Sprintf("main.recurse%d", i)
	}
	nearly := deep[:maxFrames-1]
	starts := func(m *wireThread) *wireThread { // goroutine 5, which is older
		return m.ev(1100, wGoStatus, 5, noM, sRunnable).ev(1110, wGoBlock, "select", stk("main.main")).ev(1120, wGoStart, 5, 1)
	}
	tests := []struct {
		what  string
		event func(m *wireThread)
		want  string // name of goroutine 5
	}{
		{"its creation", func(m *wireThread) {
			m.ev(1100, wGoCreate, 5, stk("main.worker"), stk("main.main"))
		}, "main.worker"},
		{"a go statement with arguments", func(m *wireThread) {
			m.ev(1100, wGoCreate, 5, stk("main.serve.func2.gowrap3"), stk("main.serve.func2@30", "main.main"))
		}, "main.serve.func2:30 (go)"},
		{"not the wrapper's number", func(m *wireThread) {
			m.ev(1100, wGoCreate, 5, stk("main.gowrapper"), stk("main.main"))
		}, "main.gowrapper"},
		{"its status", func(m *wireThread) {
			m.ev(1100, wGoStatusStack, 5, noM, sWaiting, stk("runtime.gopark", "main.wait", "main.old"))
		}, "main.old"},
		{"the place where it blocks", func(m *wireThread) {
			starts(m).ev(1130, wGoBlock, "select", stk("main.leaf", "main.blocker"))
		}, "main.blocker"},
		{"the place of its system call", func(m *wireThread) {
			starts(m).ev(1130, wSyscallBegin, 1, stk("syscall.read", "main.reader"))
		}, "main.reader"},
		{"or else the outermost function in which it is preempted", func(m *wireThread) {
			starts(m).ev(1130, wGoStop, "preempted", stk("main.loop", "main.part"))
		}, "main.part"},
		{"not the only one: its caller may be missing", func(m *wireThread) {
			starts(m).ev(1130, wGoStop, "preempted", stk("runtime.asyncPreempt", "main.loop"))
		}, ""},
		{"nor several", func(m *wireThread) {
			starts(m).ev(1130, wGoStop, "preempted", stk("main.loop", "main.part")).
				ev(1140, wGoStart, 5, 2).ev(1150, wGoStop, "preempted", stk("main.loop", "main.other")).
				ev(1160, wGoStart, 5, 3).ev(1170, wGoStop, "preempted", stk("main.loop"))
		}, ""},
		{"but where it lets others run", func(m *wireThread) {
			starts(m).ev(1130, wGoStop, "runtime.Gosched", stk("runtime.Gosched", "main.loop", "main.polite"))
		}, "main.polite"},
		{"and the runtime's function that calls the program", func(m *wireThread) {
			starts(m).ev(1130, wGoStop, "preempted", stk("runtime.asyncPreempt", "main.hash", "main.close", "runtime.runFinalizers"))
		}, "runtime.runFinalizers"},
		{"or suspended", func(m *wireThread) {
			starts(m).ev(1130, wGoBlock, "preempted", stk("main.loop", "main.part"))
		}, "main.part"},
		{"nor a call chain that is cut at its root", func(m *wireThread) {
			m.ev(1100, wGoStatusStack, 5, noM, sWaiting, deep)
		}, ""},
		{"but one that just fits", func(m *wireThread) {
			m.ev(1100, wGoStatusStack, 5, noM, sWaiting, nearly)
		}, "main.recurse126"},
		{"nothing at all", func(m *wireThread) {
			m.ev(1100, wGoStatus, 5, noM, sWaiting)
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			w := newWire(26)
			m := w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1)
			tt.event(m)
			m.ev(1900, wHeapAlloc, 1)
			fs := w.replay(t)
			last := fs.intervals[slices.IndexFunc(fs.intervals, func(f fact) bool { return f.G == 5 && f.To == Unknown })]
			if last.Func != tt.want {
				t.Errorf("%q, want %q", last.Func, tt.want)
			}
			// A name in a generation holds from the beginning of the generation.
			if first := fs.born[5]; first.Func != tt.want {
				t.Errorf("at first sight %q, want %q", first.Func, tt.want)
			}
			if len(fs.named) != 0 {
				t.Errorf("named later: %v", fs.named)
			}
		})
	}
}

// TestNamedLater: a goroutine that ran through the first generation is named by its events in the
// next one.
func TestNamedLater(t *testing.T) {
	w := newWire(26)
	w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1900, wHeapAlloc, 1)
	w.generation(2, 2000).thread(1).runs(2001, 0, 1).ev(2010, wHeapAlloc, 1).ev(2500, wGoBlock, "select", stk("main.leaf", "main.main"))
	w.generation(3, 3000).thread(1).ev(3001, wProcStatus, 0, pRunning).ev(3002, wGoStatusStack, 1, noM, sWaiting, stk("runtime.gopark", "main.leaf", "main.other")).ev(3010, wHeapAlloc, 1)
	fs := w.replay(t)
	if want := []string{"1 main.main at 2010"}; !slices.Equal(fs.named, want) {
		t.Errorf("%v, want %v", fs.named, want)
	}
}

// TestNameOfMain: the first call chain of the main goroutine may be that of an initialization.
func TestNameOfMain(t *testing.T) {
	w := newWire(26)
	m := w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wGoCreate, 2, stk("main.worker"), stk("main.init.0", "runtime.doInit1"))
	m.ev(1020, wGoBlock, "select", stk("runtime.gopark", "main.init.0", "runtime.doInit1")).ev(1900, wHeapAlloc, 1)
	fs := w.replay(t)
	last := fs.intervals[slices.IndexFunc(fs.intervals, func(f fact) bool { return f.G == 1 && f.To == Unknown })]
	if last.Func != "main.main" || last.Kind != Application {
		t.Errorf("%q of kind %v, want main.main", last.Func, last.Kind)
	}
}

// TestCreators: which goroutine started a goroutine.
func TestCreators(t *testing.T) {
	w := newWire(26)
	g := w.generation(1, 1000)
	m := g.thread(1).ev(1001, wProcStatus, 0, pRunning).ev(1002, wGoStatusStack, 1, 1, sRunning, stk("main.busy", "main.main"))
	m.ev(1010, wGoCreate, 2, stk("main.worker"), stk("main.spawn", "main.main")).ev(1020, wGoBlock, "select", stk("main.main"))
	m.ev(1030, wGoCreate, 3, stk("main.timer"), stk()) // time.AfterFunc: started by the scheduler
	m.ev(1100, wHeapAlloc, 1)
	fs := w.replay(t)
	if got, want := fs.born[2], (birthFact{"main.worker", "main.main", "main.spawn", "", 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := fs.born[3], (birthFact{Func: "main.timer"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := fs.born[1], (birthFact{Func: "main.main"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestKinds(t *testing.T) {
	for in, want := range map[string]Kind{
		"main.main": Application, "runtime.main": Application, "": Application, "net/http.(*conn).serve": Application, "runtimes.f": Application, "runtime.corostart": Application,
		"runtime.gcBgMarkWorker": GC, "runtime.bgsweep": GC, "runtime.bgscavenge": GC, "runtime.forcegchelper": GC, "runtime.gcenable.func1": GC,
		"runtime.runfinq": Runtime, "runtime.runFinalizers": Runtime, "runtime.runCleanups": Runtime, "runtime/pprof.profileWriter": Runtime, "os/signal.loop": Runtime,
		"runtime/trace.Start.func1": Tracer, "runtime.traceStartReadCPU.func1": Tracer, "runtime.(*traceAdvancerState).start.func1": Tracer, "runtime/trace.(*traceMultiplexer).startLocked.func1": Tracer,
		"github.com/bottleneck-go/bottleneck/internal/background.Go": Tracer, "github.com/bottleneck-go/bottleneck/internal/background.Go.gowrap1": Tracer,
		"github.com/bottleneck-go/bottleneck/internal/background.run": Tracer, "github.com/bottleneck-go/bottleneck/granularity.(*Pool).work": Application,
		"example.com/internal/background.Go": Application,
	} {
		if got := kindOf(in); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

// TestNamesOfATraceAreUnescaped: the linker's escapes of import paths appear neither in names of
// goroutines nor in call chains.
func TestNamesOfATraceAreUnescaped(t *testing.T) {
	w := newWire(26)
	m := w.generation(1, 1000).thread(1).runs(1001, 0, 1)
	m.ev(1100, wGoCreate, 5, stk("github.com/nats-io/nats%2ego.(*Conn).readLoop"), stk("github.com/nats-io/nats%2ego.(*Conn).connect", "main.main"))
	m.ev(1900, wHeapAlloc, 1)
	fs := w.replay(t)
	want := birthFact{"github.com/nats-io/nats.go.(*Conn).readLoop", "main.main", "github.com/nats-io/nats.go.(*Conn).connect", "", 1}
	if got := fs.born[5]; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
