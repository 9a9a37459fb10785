package timeline

import (
	"bytes"
	"context"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

func TestShortStarter(t *testing.T) {
	for fn, want := range map[string]string{
		"sync.(*WaitGroup).Go.func1":                          "WaitGroup.Go",
		"golang.org/x/sync/errgroup.(*Group).TryGo.func2":     "Group.TryGo",
		"github.com/sourcegraph/conc.(*WaitGroup).Go.func1.1": "WaitGroup.Go",
	} {
		if got := shortStarter(fn); got != want {
			t.Errorf("shortStarter(%q) = %q, want %q", fn, got, want)
		}
	}
}

// names collects the goroutines of a pass by name, and how often each was named late.
type names struct {
	Base
	seen map[string]int
}

func (n *names) Transition(t *Transition) {
	if t.State == NotExist {
		n.seen[t.G.Func]++
	}
}

func blocksOnce() { time.Sleep(time.Millisecond) }

// TestWrappedGoroutines records goroutines that libraries start. They are named by the function
// that they were started for.
func TestWrappedGoroutines(t *testing.T) {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip("the tracer is in use:", err)
	}
	var wg sync.WaitGroup
	var eg errgroup.Group
	for range 3 {
		wg.Go(func() { blocksOnce() })
		eg.Go(func() error { blocksOnce(); return nil })
	}
	for range 2 {
		wg.Go(func() {}) // never blocks: only the place is known
	}
	wg.Wait()
	eg.Wait()
	trace.Stop()

	n := &names{seen: map[string]int{}}
	if _, err := Read(context.Background(), &buf, Options{}, n); err != nil {
		t.Fatal(err)
	}
	const pkg = "github.com/bottleneck-go/bottleneck/timeline.TestWrappedGoroutines"
	if got := n.seen[pkg+".func1"]; got != 3 {
		t.Errorf("%d goroutines of WaitGroup.Go are named by their function, want 3: %v", got, n.seen)
	}
	if got := n.seen[pkg+".func2"]; got != 3 {
		t.Errorf("%d goroutines of errgroup are named by their function, want 3: %v", got, n.seen)
	}
	places := 0
	for name, count := range n.seen {
		if strings.HasPrefix(name, pkg+":") && strings.HasSuffix(name, " (WaitGroup.Go)") {
			places += count
		}
	}
	if places != 2 {
		t.Errorf("%d goroutines that never blocked are named by their place, want 2: %v", places, n.seen)
	}
}

// newNames records every name that a goroutine gets.
type newNames struct {
	Base
	got []string
}

func (r *newNames) Transition(t *Transition) {
	if t.State == NotExist {
		r.got = append(r.got, "born "+t.G.Func)
	}
}

func (r *newNames) Named(g *Goroutine, _ Time) { r.got = append(r.got, "named "+g.Func) }

// TestPlaceUntilKnown: in the first of two generations, a goroutine of WaitGroup.Go has no call
// chain. In the second, it blocks.
func TestPlaceUntilKnown(t *testing.T) {
	w := newWire(26)
	m := w.generation(1, 1000).thread(1).runs(1001, 0, 1)
	m.ev(1010, wGoCreate, 7, stk("sync.(*WaitGroup).Go.func1"), stk("sync.(*WaitGroup).Go", "main.run@20", "main.main")).ev(1900, wHeapAlloc, 1)
	m = w.generation(2, 2000).thread(1).ev(2001, wProcStatus, 0, pRunning).ev(2002, wGoStatus, 1, 1, sRunning).ev(2010, wGoBlock, "select", stk("main.main"))
	m.ev(2015, wGoStatus, 7, noM, sRunnable).ev(2020, wGoStart, 7, 1).ev(2030, wGoBlock, "select", stk("main.leaf", "main.run.func1", "sync.(*WaitGroup).Go.func1"))
	o := &newNames{}
	info := mustRead(t, w.bytes(), Options{}, o)
	want := []string{"born main.run:20 (WaitGroup.Go)", "named main.run.func1"}
	if !slices.Equal(o.got, want) {
		t.Errorf("got %q, want %q", o.got, want)
	}
	note := "1 goroutine has two names, as the trace shows only later what they are for: one is called main.run:20 (WaitGroup.Go) until 1 µs, then main.run.func1."
	if !slices.Contains(info.Notes, note) {
		t.Errorf("the notes are %q, want %q", info.Notes, note)
	}
}

// life describes a goroutine in a hand-made trace: a start function, the call chain of its
// creation, and the call chains with which it blocks, one after another; "preempted" before a call
// chain makes it stopped.
type life struct {
	start   string
	created []string
	blocks  [][]string
}

// namesOf replays lives, one goroutine after another, and returns the names of each in order.
func namesOf(t *testing.T, lives ...life) [][]string {
	t.Helper()
	w := newWire(26)
	m := w.generation(1, 1000).thread(1).runs(1001, 0, 1)
	at := uint64(1010)
	for i, l := range lives {
		m.ev(at, wGoCreate, 10+i, stk(l.start), l.created)
		at += 10
	}
	m.ev(at, wGoBlock, "select", stk("main.main"))
	for i, l := range lives {
		seq := 0
		for _, b := range l.blocks {
			seq++
			m.ev(at+10, wGoStart, 10+i, seq)
			at += 20
			if b[0] == "preempted" {
				m.ev(at, wGoStop, "preempted", b[1:])
			} else {
				seq++
				m.ev(at, wGoBlock, "sleep", b).ev(at+5, wGoUnblock, 10+i, seq, stk())
			}
		}
		m.ev(at+10, wGoStart, 10+i, seq+1).ev(at+15, wGoDestroy)
		at += 20
	}
	r := &allNames{names: make([][]string, len(lives))}
	mustRead(t, w.bytes(), Options{}, newChecker(), r)
	return r.names
}

// allNames collects the names that goroutines 10, 11, … have in running intervals that end with a
// call chain.
type allNames struct {
	Base
	names [][]string
}

func (a *allNames) Transition(t *Transition) {
	if i := t.G.ID - 10; i >= 0 && i < int64(len(a.names)) && t.State == Running {
		a.names[i] = append(a.names[i], t.G.Func)
	}
}

// TestGoroutinesAreNamedByTheirFirstMeaningfulFrame: the ways in which goroutines are started. The
// last name is that of the interval that ends with the goroutine.
func TestGoroutinesAreNamedByTheirFirstMeaningfulFrame(t *testing.T) {
	const (
		ants     = "github.com/panjf2000/ants/v2.(*goWorker).run.func1"
		pond     = "github.com/alitto/pond/v2/internal/dispatcher.(*Dispatcher[...]).run"
		stopper  = "github.com/cockroachdb/cockroach/pkg/util/stop.(*Stopper).RunAsyncTaskEx.func2"
		serve    = "net/http.(*conn).serve"
		grpc     = "google.golang.org/grpc.(*Server).serveStreams.func2.1"
		waitGo   = "sync.(*WaitGroup).Go.func1"
		parallel = "testing.(*B).RunParallel.func1"
		cron     = "github.com/robfig/cron/v3.(*Cron).startJob.func1"
		conc     = "github.com/sourcegraph/conc.(*WaitGroup).Go.func1"
		ours     = "github.com/bottleneck-go/bottleneck/"
		ourPool  = ours + "granularity.(*Pool).work"
		redcon   = "github.com/tidwall/redcon.handle"

		// Frames of other modules.
		antsFile   = "@4 /go/pkg/mod/github.com/panjf2000/ants/v2@v2.12.1/worker.go"
		cronFile   = "@312 github.com/robfig/cron/v3@v3.0.1/cron.go" // -trimpath
		redconFile = "@9 /go/pkg/mod/github.com/tidwall/redcon@v1.6.4/redcon.go"
	)
	sleeps := func(frames ...string) []string { return append([]string{"time.Sleep"}, frames...) }
	mainRun := stk("main.run@20", "main.main@5")
	tests := []struct {
		what  string
		lives []life
		want  [][]string
	}{
		{"a function of the program", []life{{"main.worker", mainRun, [][]string{sleeps("main.worker@7")}}}, [][]string{{"main.worker", "main.worker"}}},
		{"a function that calls many others", []life{{"main.worker", mainRun, [][]string{
			sleeps("main.parse@3", "main.worker@7"), sleeps("main.encode@3", "main.worker@8"), sleeps("main.worker.func1@3", "main.worker@9"),
			sleeps("main.(*T).MarshalJSON@3", "encoding/json.Marshal@9", "main.worker@10"), sleeps("main.(*U).MarshalJSON@3", "encoding/json.Marshal@9", "main.worker@10"),
		}}}, [][]string{{"main.worker", "main.worker", "main.worker", "main.worker", "main.worker", "main.worker"}}},
		{"go f(x) of a variable", []life{
			{"main.g.gowrap2", stk("main.g@12", "main.main@5"), [][]string{sleeps("main.makeA.func1@3")}},
			{"main.g.gowrap2", stk("main.g@12", "main.main@5"), [][]string{sleeps("main.makeB.func1@3")}},
			{"main.g.gowrap2", stk("main.g@12", "main.main@5"), nil},
		}, [][]string{{"main.makeA.func1", "main.makeA.func1"}, {"main.makeB.func1", "main.makeB.func1"}, {"main.g:12 (go)"}}},
		{"go x.Method() of an interface: what one shows, the others of its kind are", []life{
			{"main.g.gowrap1", stk("main.g@12", "main.main@5"), [][]string{{"preempted", "main.spin@9", "main.(*T).Do@3"}}},
			{"main.g.gowrap1", stk("main.g@12", "main.main@5"), nil},
			{"main.g.gowrap2", stk("main.g@13", "main.main@5"), nil},
		}, [][]string{{"main.(*T).Do", "main.(*T).Do"}, {"main.(*T).Do"}, {"main.g:13 (go)"}}},
		{"sync.WaitGroup.Go", []life{
			{waitGo, stk("sync.(*WaitGroup).Go@9", "main.run@20", "main.main"), [][]string{sleeps("main.run.func1@3", waitGo+"@4")}},
			{waitGo, stk("sync.(*WaitGroup).Go@9", "main.run@21", "main.main"), nil},
		}, [][]string{{"main.run.func1", "main.run.func1"}, {"main.run:21 (WaitGroup.Go)"}}},
		{"stopped in a function without a frame, whose caller is missing", []life{
			{"sync.(*WaitGroup).Go.func1", stk("sync.(*WaitGroup).Go@9", "main.run@20"), [][]string{
				sleeps("main.work@8", "main.run.func1@3", "sync.(*WaitGroup).Go.func1@4"),
				{"preempted", "runtime.asyncPreempt2", "runtime.asyncPreempt", "main.hash@9", "main.run.func1@3", "sync.(*WaitGroup).Go.func1@4"},
				{"preempted", "runtime.asyncPreempt2", "runtime.asyncPreempt", "main.hash@9", "sync.(*WaitGroup).Go.func1@4"},
			}},
			{"sync.(*WaitGroup).Go.func1", stk("sync.(*WaitGroup).Go@9", "main.run@21"), [][]string{
				{"preempted", "runtime.asyncPreempt2", "runtime.asyncPreempt", "main.alone@9", "sync.(*WaitGroup).Go.func1@4"},
			}},
			{"sync.(*WaitGroup).Go.func1", stk("sync.(*WaitGroup).Go@9", "main.run@22"), [][]string{
				{"preempted", "runtime.asyncPreempt2", "runtime.asyncPreempt", "main.hash@9", "sync.(*WaitGroup).Go.func1@4"},
			}},
		}, [][]string{{"main.run.func1", "main.run.func1", "main.run.func1", "main.run.func1"}, {"main.alone", "main.alone"}, {"main.run.func1", "main.run.func1"}}},
		{"stopped in a function that two others call", []life{
			{"sync.(*WaitGroup).Go.func1", stk("sync.(*WaitGroup).Go@9", "main.run@20"), [][]string{sleeps("main.hash@8", "main.run.func1@3", "sync.(*WaitGroup).Go.func1@4")}},
			{"sync.(*WaitGroup).Go.func1", stk("sync.(*WaitGroup).Go@9", "main.run@21"), [][]string{sleeps("main.hash@8", "main.run.func2@3", "sync.(*WaitGroup).Go.func1@4")}},
			{"sync.(*WaitGroup).Go.func1", stk("sync.(*WaitGroup).Go@9", "main.run@22"), [][]string{
				{"preempted", "runtime.asyncPreempt2", "runtime.asyncPreempt", "main.hash@9", "sync.(*WaitGroup).Go.func1@4"},
			}},
		}, [][]string{{"main.run.func1", "main.run.func1"}, {"main.run.func2", "main.run.func2"}, {"main.hash", "main.hash"}}},
		{"errgroup in front of WaitGroup.Go", []life{
			{"golang.org/x/sync/errgroup.(*Group).Go.func1", stk("golang.org/x/sync/errgroup.(*Group).Go@9", "main.run@20"), [][]string{sleeps("main.fetch@3", "golang.org/x/sync/errgroup.(*Group).Go.func1@4")}},
		}, [][]string{{"main.fetch", "main.fetch"}}},
		{"testing.RunParallel", []life{
			{parallel, stk("testing.(*B).RunParallel@9", "a.b/c.BenchmarkX@20"), [][]string{{"preempted", "a.b/c.hot@9", "a.b/c.BenchmarkX.func1@3", parallel + "@4"}}},
			{parallel, stk("testing.(*B).RunParallel@9", "a.b/c.BenchmarkX@20"), nil},
		}, [][]string{{"a.b/c.BenchmarkX.func1", "a.b/c.BenchmarkX.func1"}, {"a.b/c.BenchmarkX.func1"}}},
		{"singleflight", []life{
			{"golang.org/x/sync/singleflight.(*Group).DoChan.gowrap1", stk("golang.org/x/sync/singleflight.(*Group).DoChan@9", "main.get@20"),
				[][]string{sleeps("main.load.func1@3", "golang.org/x/sync/singleflight.(*Group).doCall.func2@4", "golang.org/x/sync/singleflight.(*Group).doCall@5")}},
			{"golang.org/x/sync/singleflight.(*Group).DoChan.gowrap1", stk("golang.org/x/sync/singleflight.(*Group).DoChan@9", "main.get@20"),
				[][]string{sleeps("main.store.func1@3", "golang.org/x/sync/singleflight.(*Group).doCall.func2@4", "golang.org/x/sync/singleflight.(*Group).doCall@5")}},
		}, [][]string{{"main.load.func1", "main.load.func1"}, {"main.store.func1", "main.store.func1"}}},
		{"a runner of the program's own", []life{
			{"main.(*errGroup).Go.func1", stk("main.(*errGroup).Go@9", "main.run@20"), [][]string{sleeps("main.run.func1@3", "main.(*errGroup).Go.func1@4")}},
			{"main.(*errGroup).Go.func1", stk("main.(*errGroup).Go@9", "main.load@30"), [][]string{sleeps("main.load.func1@3", "main.(*errGroup).Go.func1@4")}},
			{"main.(*errGroup).Go.func1", stk("main.(*errGroup).Go@9", "main.store@40"), nil},
		}, [][]string{{"main.run.func1", "main.run.func1"}, {"main.load.func1", "main.load.func1"}, {"main.store:40 (errGroup.Go)"}}},
		{"a runner of one function is none", []life{
			{"main.(*errGroup).Go.func1", mainRun, [][]string{sleeps("main.run.func1@3", "main.(*errGroup).Go.func1@4")}},
		}, [][]string{{"main.(*errGroup).Go.func1", "main.(*errGroup).Go.func1"}}},
		{"the worker of a pool does one thing after the other", []life{
			{ants, stk("github.com/panjf2000/ants/v2.(*goWorker).run@9", "github.com/panjf2000/ants/v2.(*Pool).Submit@8", "main.run@20"), [][]string{
				sleeps("main.parse@3", ants+"@4"), {"runtime.chanrecv2", ants + "@5"}, {"preempted", "main.hot@9", "main.encode@3", ants + "@4"}, {"sync.(*Mutex).Lock", "github.com/panjf2000/ants/v2.(*Pool).revertWorker@3", ants + "@6"},
			}},
		}, [][]string{{ants, ants, ants, ants, ants}}}, // the code between two call chains is unknown
		{"a worker that does one thing only", []life{
			{ants, mainRun, [][]string{sleeps("main.parse@3", ants+"@4"), {"runtime.chanrecv2", ants + "@5"}}},
			{ants, mainRun, [][]string{sleeps("main.encode@3", ants+"@4")}},
		}, [][]string{{"main.parse", "main.parse", "main.parse"}, {"main.encode", "main.encode"}}},
		{"a pool with calls of its own in between", []life{
			{pond, mainRun, [][]string{sleeps("main.a.func1@3", "github.com/alitto/pond/v2/internal/dispatcher.invoke@4", pond+"@5")}},
			{pond, mainRun, [][]string{sleeps("main.b.func1@3", "github.com/alitto/pond/v2/internal/dispatcher.invoke@4", pond+"@5")}},
		}, [][]string{{"main.a.func1", "main.a.func1"}, {"main.b.func1", "main.b.func1"}}},
		{"the worker of another module's pool that does one thing only", []life{
			{ants, mainRun, [][]string{sleeps("main.parse@3", "sync.(*Once).Do@3", ants+antsFile), {"runtime.chanrecv2", ants + antsFile}}},
			{ants, mainRun, [][]string{{"runtime.chanrecv2", ants + antsFile}}},
		}, [][]string{{"main.parse", "main.parse", "main.parse"}, {"main.parse", "main.parse"}}}, // the same go statement
		{"one that does two things", []life{
			{ants, mainRun, [][]string{sleeps("main.parse@3", ants+antsFile), sleeps("example.com/p/q.Encode@3", ants+antsFile)}},
		}, [][]string{{"main.run:20 (goWorker.run)", "main.run:20 (goWorker.run)", "main.run:20 (goWorker.run)"}}},
		{"one of our pools that does two things, and opens its counter of cycles", []life{
			{ourPool, mainRun, [][]string{
				sleeps("golang.org/x/sys/unix.PerfEventOpen@3 /go/pkg/mod/golang.org/x/sys@v0.40.0/unix/zsyscall_linux.go", ours+"internal/perfevent.OpenThread@4", ourPool),
				sleeps("main.parse@3", ours+"granularity.(*Pool).run@5", ourPool), sleeps("main.render@3", ours+"granularity.(*Pool).run@5", ourPool),
			}},
			{ourPool, mainRun, [][]string{sleeps("golang.org/x/sys/unix.PerfEventOpen@3 /go/pkg/mod/golang.org/x/sys@v0.40.0/unix/zsyscall_linux.go", ours+"internal/perfevent.OpenThread@4", ourPool)}},
		}, [][]string{{"main.run:20 (Pool.work)", "main.run:20 (Pool.work)", "main.run:20 (Pool.work)", "main.run:20 (Pool.work)"}, {"main.run:20 (Pool.work)", "main.run:20 (Pool.work)"}}},
		{"one that does what a third module has", []life{
			{ants, mainRun, [][]string{sleeps("main.parse@3", ants+antsFile)}},
			{ants, mainRun, [][]string{sleeps("gopkg.in/mail.v2.(*Mailer).Send@3 vendor/gopkg.in/mail.v2@v2.0.1/mail.go", ants+antsFile), {"runtime.chanrecv2", ants + antsFile}}},
		}, [][]string{{"main.parse", "main.parse"}, {"gopkg.in/mail.v2.(*Mailer).Send", "gopkg.in/mail.v2.(*Mailer).Send", "gopkg.in/mail.v2.(*Mailer).Send"}}},
		{"a literal of another module that is inlined", []life{
			{cron, mainRun, [][]string{sleeps("main.(*job).Run@3", "main.jobs.Recover.func1.1@53 /home/x/vendor/github.com/robfig/cron/v3/chain.go", cron+cronFile)}},
		}, [][]string{{"main.(*job).Run", "main.(*job).Run"}}},
		{"a library that does its own work, without the program", []life{
			{cron, mainRun, [][]string{sleeps("github.com/x/y.Next@3 /go/pkg/mod/github.com/x/y@v0.1.0/y.go", cron+cronFile)}},
		}, [][]string{{cron, cron}}},
		{"starters that are known, with two jobs", []life{
			{conc, mainRun, [][]string{sleeps("main.a@3", conc), sleeps("main.b@3", conc)}},
		}, [][]string{{"main.run:20 (WaitGroup.Go)", "main.run:20 (WaitGroup.Go)", "main.run:20 (WaitGroup.Go)"}}},
		{"coroutines", []life{
			{"runtime.corostart", stk("iter.Pull[...]@271", "main.run@20"), [][]string{sleeps("main.generate@3", "iter.Pull[...].func1", "runtime.corostart")}},
			{"runtime.corostart", stk("iter.Pull[...]@271", "main.run@21"), nil},
		}, [][]string{{"main.generate", "main.generate"}, {"main.run:21 (iter.Pull)"}}},
		{"a library's goroutine that reads, and calls the program", []life{
			{redcon, mainRun, [][]string{
				{"internal/poll.(*FD).Read", "net.(*conn).Read", redcon + redconFile}, sleeps("main.serve.func1@3", redcon+redconFile),
				{"internal/poll.(*FD).Write", "net.(*conn).Write", redcon + redconFile}, {"internal/poll.(*FD).Read", "net.(*conn).Read", redcon + redconFile},
			}},
		}, [][]string{{redcon + " (reading)", "main.serve.func1", "main.serve.func1", redcon + " (reading)", redcon + " (reading)"}}},
		{"and one of the standard library that calls a hook", []life{
			{"net/http.(*persistConn).readLoop", mainRun, [][]string{
				{"internal/poll.(*FD).Read", "net.(*conn).Read", "net/http.(*persistConn).readLoop@9"}, sleeps("main.get.func1@3", "net/http.(*persistConn).readLoop@10"), {"runtime.selectgo", "net/http.(*persistConn).readLoop@11"},
			}},
		}, [][]string{{"net/http.(*persistConn).readLoop (reading)", "main.get.func1", "main.get.func1", "net/http.(*persistConn).readLoop"}}},
		{"cockroach's stopper", []life{
			{stopper, mainRun, [][]string{sleeps("github.com/cockroachdb/cockroach/pkg/kv.(*Gossip).start.func1@3", stopper+"@4")}},
			{stopper, mainRun, [][]string{sleeps("github.com/cockroachdb/cockroach/pkg/sql.(*Server).drain@3", stopper+"@4")}},
		}, [][]string{{"github.com/cockroachdb/cockroach/pkg/kv.(*Gossip).start.func1", "github.com/cockroachdb/cockroach/pkg/kv.(*Gossip).start.func1"},
			{"github.com/cockroachdb/cockroach/pkg/sql.(*Server).drain", "github.com/cockroachdb/cockroach/pkg/sql.(*Server).drain"}}},
		{"a worker with a table of functions", []life{
			{"main.worker", mainRun, [][]string{sleeps("main.parse@3", "main.worker@7"), sleeps("main.encode@3", "main.worker@7")}},
		}, [][]string{{"main.worker", "main.worker", "main.worker"}}},
		{"net/http", []life{
			{serve, stk("net/http.(*Server).Serve@9", "main.main"), [][]string{
				{"internal/poll.(*FD).Read", "net/http.(*connReader).Read@3", "bufio.(*Reader).Peek@4", serve + "@5"},
				sleeps("main.handle@3", "net/http.HandlerFunc.ServeHTTP@4", "net/http.(*ServeMux).ServeHTTP@5", "net/http.serverHandler.ServeHTTP@6", serve+"@7"),
				{"syscall.write", "net/http.(*response).finishRequest@3", serve + "@8"}, // after the sleep, the handler went on
				{"syscall.write", "net/http.(*response).finishRequest@3", serve + "@8"},
				{"internal/poll.(*FD).Read", "net/http.(*connReader).Read@3", "bufio.(*Reader).Peek@4", serve + "@5"},
				{"syscall.close", "net/http.(*conn).close@3", serve + "@9"},
			}},
		}, [][]string{{serve + " (reading)", "main.handle", "main.handle", serve, serve + " (reading)", serve + " (reading)", serve + " (reading)"}}},
		{"middleware that calls several handlers", []life{
			{serve, stk("net/http.(*Server).Serve@9", "main.main"), [][]string{
				sleeps("main.a@3", "net/http.HandlerFunc.ServeHTTP@4", "github.com/gorilla/mux.(*Router).ServeHTTP@5", "net/http.serverHandler.ServeHTTP@6", serve+"@7"),
				sleeps("main.b@3", "net/http.HandlerFunc.ServeHTTP@4", "github.com/gorilla/mux.(*Router).ServeHTTP@5", "net/http.serverHandler.ServeHTTP@6", serve+"@7"),
			}},
		}, [][]string{{"main.a", "main.b", "main.b"}}},
		{"middleware that calls one handler", []life{
			{serve, stk("net/http.(*Server).Serve@9", "main.main"), [][]string{
				sleeps("main.handle@3", "net/http.HandlerFunc.ServeHTTP@4", "net/http.(*ServeMux).ServeHTTP@5", "main.logged.func1@6", "net/http.HandlerFunc.ServeHTTP@4", "net/http.serverHandler.ServeHTTP@6", serve+"@7"),
				sleeps("main.page.ServeHTTP@3", "main.auth.ServeHTTP@4", "net/http.serverHandler.ServeHTTP@6", serve+"@7"),
				sleeps("main.logged.func1@5", "net/http.HandlerFunc.ServeHTTP@4", "net/http.serverHandler.ServeHTTP@6", serve+"@7"),
			}},
		}, [][]string{{"main.handle", "main.page.ServeHTTP", "main.logged.func1", "main.logged.func1"}}},
		{"a benchmark that calls handlers and function literals", []life{
			{"testing.(*B).run1.func1", stk("testing.(*B).run1@247", "main.main@5"), [][]string{
				sleeps("example.com/p.limit.func1.1@9", "net/http.HandlerFunc.ServeHTTP@4", "example.com/p.BenchmarkLimit@7", "testing.(*B).runN@219", "testing.(*B).run1.func1@245"),
				sleeps("example.com/p.each.func2@9", "example.com/p.BenchmarkLimit@8", "testing.(*B).runN@219", "testing.(*B).run1.func1@245"),
			}},
		}, [][]string{{"example.com/p.BenchmarkLimit", "example.com/p.BenchmarkLimit", "example.com/p.BenchmarkLimit"}}},
		{"a connection of gRPC", []life{
			{"google.golang.org/grpc.(*Server).handleRawConn.func1", mainRun, [][]string{{"internal/poll.(*FD).Read", "golang.org/x/net/http2.(*Framer).ReadFrame@9 /go/pkg/mod/golang.org/x/net@v0.60.0/http2/frame.go", "google.golang.org/grpc.(*Server).handleRawConn.func1@8"}}},
		}, [][]string{{"google.golang.org/grpc.(*Server).handleRawConn.func1", "google.golang.org/grpc.(*Server).handleRawConn.func1"}}},
		{"a stream of gRPC behind an interceptor", []life{
			{grpc, stk("google.golang.org/grpc.(*Server).serveStreams.func2@9", "main.main"), [][]string{
				sleeps("main.(*server).SayHello@3", "example.com/pb._Greeter_SayHello_Handler.func1@2", "main.logCalls@3", "example.com/pb._Greeter_SayHello_Handler@3", "google.golang.org/grpc.(*Server).processUnaryRPC@4", grpc+"@6"),
			}},
		}, [][]string{{"main.(*server).SayHello", "main.(*server).SayHello"}}},
		{"a stream of gRPC", []life{
			{grpc, stk("google.golang.org/grpc.(*Server).serveStreams.func2@9", "main.main"), [][]string{
				{"runtime.selectgo", "google.golang.org/grpc/internal/transport.(*recvBufferReader).read@2", "google.golang.org/grpc.(*parser).recvMsg@3", "google.golang.org/grpc.(*Server).processUnaryRPC@4", "google.golang.org/grpc.(*Server).handleStream@5", grpc + "@6"},
				sleeps("main.(*server).SayHello@3", "example.com/pb._Greeter_SayHello_Handler@3", "google.golang.org/grpc.(*Server).processUnaryRPC@4", "google.golang.org/grpc.(*Server).handleStream@5", grpc+"@6"),
			}},
		}, [][]string{{grpc + " (reading)", "main.(*server).SayHello", "main.(*server).SayHello"}}},
		{"the standard library's own", []life{{"net/http.(*persistConn).readLoop", stk("net/http.(*Transport).dialConn@9", "main.run@20"), [][]string{{"internal/poll.(*FD).Read", "net/http.(*persistConn).readLoop@5"}}}},
			[][]string{{"net/http.(*persistConn).readLoop", "net/http.(*persistConn).readLoop"}}},
		{"a program without a dot in its path", []life{{"work.Run", mainRun, [][]string{sleeps("work.Run@5")}}}, [][]string{{"work.Run", "work.Run"}}},
		{"the compiler", []life{{"cmd/compile/internal/gc.compileFunctions.func3.1", mainRun, nil}}, [][]string{{"cmd/compile/internal/gc.compileFunctions.func3.1"}}},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			for i, got := range namesOf(t, tt.lives...) {
				if !slices.Equal(got, tt.want[i]) {
					t.Errorf("goroutine %d: %q\nwant %q", i, got, tt.want[i])
				}
			}
		})
	}
}

type doer interface{ do(*sync.WaitGroup) }

type sleeper struct{}

func (sleeper) do(wg *sync.WaitGroup) { defer wg.Done(); blocksOnce() }

type napper struct{ _ [8]int }

func (*napper) do(wg *sync.WaitGroup) { defer wg.Done(); blocksOnce() }

func makeNaps() func(*sync.WaitGroup) {
	return func(wg *sync.WaitGroup) { defer wg.Done(); blocksOnce() }
}
func makeSleeps() func(*sync.WaitGroup) {
	return func(wg *sync.WaitGroup) { defer wg.Done(); blocksOnce() }
}

//go:noinline
func dispatch(wg *sync.WaitGroup, fs []func(*sync.WaitGroup), ds []doer) {
	for range 50 {
		for _, f := range fs {
			wg.Add(1)
			go f(wg)
		}
		for _, d := range ds {
			wg.Add(1)
			go d.do(wg)
		}
	}
	wg.Wait()
}

func runJobs(jobs <-chan func(), ended chan<- bool) {
	for f := range jobs {
		f()
	}
	ended <- true
}

// TestDispatcherSharesNoNameWithTheGoroutinesThatItStarts records "go f(x)" of variables and of
// interface methods, and the worker of a pool that executes closures.
func TestDispatcherSharesNoNameWithTheGoroutinesThatItStarts(t *testing.T) {
	jobs := make(chan func())
	data := recordTrace(t, func() {
		var wg sync.WaitGroup
		done := make(chan bool)
		go func() {
			dispatch(&wg, []func(*sync.WaitGroup){makeNaps(), makeSleeps()}, []doer{sleeper{}, &napper{}})
			close(done)
		}()
		<-done
		ended := make(chan bool)
		go runJobs(jobs, ended)
		for range 3 {
			jobs <- func() { blocksOnce() }
			jobs <- func() { time.Sleep(2 * time.Millisecond) }
		}
		close(jobs)
		<-ended
	})
	n := &lifeNames{names: map[string]map[int64]bool{}, starts: map[string]bool{}, worker: map[int64]bool{}}
	mustRead(t, data, Options{}, newChecker(), n)
	for what, want := range map[string]int{"makeNaps": 50, "makeSleeps": 50, "sleeper.do": 50, "(*napper).do": 50, "dispatch": 0} {
		got := map[int64]bool{}
		for name, ids := range n.names {
			if strings.Contains(name, "timeline.") && strings.Contains(name, what) {
				for id := range ids {
					got[id] = true
				}
			}
		}
		if len(got) != want {
			t.Errorf("%d goroutines are named %s, want %d: %v", len(got), what, want, n.names)
		}
	}
	const pkg = "github.com/bottleneck-go/bottleneck/timeline."
	if !n.starts[pkg+"dispatch.gowrap1"] || !n.starts[pkg+"dispatch.gowrap2"] {
		t.Errorf("the start functions are %v", n.starts)
	}
	worker := map[int64]int{}
	for name, ids := range n.names {
		for id := range ids {
			if n.worker[id] && name == pkg+"runJobs" {
				worker[id]++
			} else if n.worker[id] {
				t.Errorf("the worker is called %s", name)
			}
		}
	}
	if len(worker) != 1 {
		t.Errorf("a worker that does several jobs is to have the name of the launcher: %v, %v", worker, n.names)
	}
}

// TestServersGoroutineIsNamedByItsHandler: one that starts, and one that has waited in a handler
// since before the trace.
func TestServersGoroutineIsNamedByItsHandler(t *testing.T) {
	serve := "net/http.(*conn).serve"
	handler := stk("time.Sleep", "main.handle@3", "net/http.HandlerFunc.ServeHTTP@4", serve+"@7")
	w := newWire(26)
	m := w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wGoCreate, 5, stk(serve), stk("net/http.(*Server).Serve", "main.main"))
	m.ev(1020, wGoStatusStack, 6, noM, sWaiting, handler).ev(1030, wGoBlock, "select", stk("main.main"))
	m.ev(1040, wGoStart, 5, 1).ev(1050, wGoBlock, "sleep", handler).ev(1060, wGoUnblock, 5, 2, stk()).ev(1070, wGoStart, 5, 3)
	m.ev(1080, wGoCreate, 7, stk(serve), stk("net/http.(*connReader).startBackgroundRead", serve)).ev(1090, wGoBlock, "network", stk("internal/poll.(*FD).Read", "net/http.(*connReader).Read@3", serve+"@5"))
	m.ev(1100, wGoStart, 7, 1).ev(1110, wGoBlock, "sleep", handler).ev(1900, wHeapAlloc, 1)
	fs := w.replay(t)
	for id, f := range map[int64]string{5: fs.born[5].Func, 6: fs.born[6].Func, 7: fs.born[7].Func} {
		if f != "main.handle" {
			t.Errorf("goroutine %d begins as %q", id, f)
		}
	}
	if want := []string{"5 net/http.(*conn).serve (reading) at 1090"}; !slices.Equal(fs.named, want) {
		t.Errorf("named later: %v, want %v", fs.named, want)
	}
}

// lifeNames collects, for each name, the goroutines that had it while they ran, and all start
// functions.
type lifeNames struct {
	Base
	names  map[string]map[int64]bool
	starts map[string]bool
	worker map[int64]bool // goroutines that start in runJobs
}

func (l *lifeNames) Transition(t *Transition) {
	if t.State != Running {
		return
	}
	if l.names[t.G.Func] == nil {
		l.names[t.G.Func] = map[int64]bool{}
	}
	l.names[t.G.Func][t.G.ID] = true
	l.starts[t.G.Start] = true
	if strings.HasSuffix(t.G.Start, ".runJobs") {
		l.worker[t.G.ID] = true
	}
}
