package tracetasks

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

var update = flag.Bool("update", false, "write the golden files anew")

// written returns a trace, of one generation of Go 1.26, in words: a line for each
// event, with its time in ns, the thread, what happens, and the call chain after "in", leaf first.
//
//	1001 1 has 0 1              thread 1 runs goroutine 1 on P 0, since before the trace
//	1010 1 creates 7 main.f in main.spawn@12 < main.main
//	1020 1 blocks sync in sync.(*Mutex).Lock < main.main
//	1030 1 runs 7 1             it runs goroutine 7, for the first time
//	1040 1 calls 1 in syscall.read < main.f      (the first system call on this P)
//	1050 1 returns
//	1060 1 wakes 1 1 in main.f
//	1070 1 stops preempted
//	1080 1 exits
//	1090 1 begins REGION in main.f
//	1095 1 ends REGION in main.f
//	1099 1 allocates
func written(t *testing.T, text string) []byte {
	t.Helper()
	w := &writer{strings: map[string]uint64{}, stacks: map[string]uint64{}}
	batches, last, begun := map[string][]byte{}, map[string]uint64{}, map[string]uint64{}
	var threads []string
	for line := range strings.Lines(text) {
		line, chain, _ := strings.Cut(strings.TrimSpace(line), " in ")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		at, m, args := number(t, f[0]), f[1], append(f[3:], "", "")
		if _, known := last[m]; !known {
			threads, begun[m], last[m] = append(threads, m), at, at
		}
		event := func(typ byte, values ...uint64) {
			batches[m] = binary.AppendUvarint(append(batches[m], typ), at-last[m])
			last[m] = at
			batches[m] = numbers(batches[m], values...)
		}
		stack := w.stack(chain)
		switch f[2] {
		case "has":
			event(13, number(t, args[0]), 1)
			event(25, number(t, args[1]), number(t, m), 2)
		case "creates":
			event(14, number(t, args[0]), w.stack(args[1]), stack)
		case "runs":
			event(16, number(t, args[0]), number(t, args[1]))
		case "exits":
			event(17)
		case "stops":
			event(19, w.text(args[0]), stack)
		case "blocks":
			event(20, w.text(args[0]), stack)
		case "wakes":
			event(21, number(t, args[0]), number(t, args[1]), stack)
		case "calls":
			event(22, number(t, args[0]), stack)
		case "returns":
			event(23)
		case "begins":
			event(42, 0, w.text(args[0]), stack)
		case "ends":
			event(43, 0, w.text(args[0]), stack)
		case "allocates":
			event(37, 1)
		default:
			t.Fatalf("no event %q", f[2])
		}
	}
	out := []byte("go 1.26 trace\x00\x00\x00")
	batch := func(m, at uint64, data []byte) {
		out = append(numbers(append(out, 1), 1, m, at, uint64(len(data))), data...)
	}
	const noThread = ^uint64(0)
	batch(noThread, 1000, numbers(append(binary.AppendUvarint([]byte{50, 8}, 1e9), 51), 0, 0, 0, 0))
	for _, m := range threads {
		batch(number(t, m), begun[m], batches[m])
	}
	batch(noThread, 1000, append([]byte{2}, w.chains...))
	batch(noThread, 1000, append([]byte{4}, w.texts...))
	return append(out, 52)
}

// writer numbers the strings and call chains of a trace.
type writer struct {
	strings, stacks map[string]uint64
	texts, chains   []byte
	pcs             uint64
}

func (w *writer) text(s string) uint64 {
	if w.strings[s] == 0 {
		w.strings[s] = uint64(len(w.strings) + 1)
		w.texts = append(numbers(append(w.texts, 5), w.strings[s], uint64(len(s))), s...)
	}
	return w.strings[s]
}

func (w *writer) stack(chain string) uint64 {
	if chain == "" {
		return 0
	}
	if w.stacks[chain] == 0 {
		w.stacks[chain] = uint64(len(w.stacks) + 1)
		frames := strings.Split(chain, " < ")
		var data []byte
		for _, frame := range frames {
			name, line, _ := strings.Cut(frame, "@")
			n, _ := strconv.ParseUint(line, 10, 64)
			w.pcs++
			data = numbers(data, 0x400000+w.pcs, w.text(name), w.text("/src/x.go"), n)
		}
		w.chains = append(numbers(append(w.chains, 3), w.stacks[chain], uint64(len(frames))), data...)
	}
	return w.stacks[chain]
}

func numbers(data []byte, values ...uint64) []byte {
	for _, v := range values {
		data = binary.AppendUvarint(data, v)
	}
	return data
}

func number(t *testing.T, s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// profileText formats a profile in words, one line per class.
func profileText(p *granularity.Profile) string {
	var b strings.Builder
	for i := range p.Classes {
		c := &p.Classes[i]
		fmt.Fprintf(&b, "%s: %d, ran %.0f, took %.0f, off %.0f, ready %.0f", c.Name, c.Tasks, c.RunningNS.Sum(), c.WallNS.Sum(), c.BlockedNS.Sum(), c.ReadyNS.Sum())
		for _, n := range []struct {
			what string
			n    uint64
		}{{"nested", c.Nested}, {"aggregated", c.Aggregated}, {"unmeasured", c.Unmeasured}} {
			if n.n > 0 {
				fmt.Fprintf(&b, ", %d %s", n.n, n.what)
			}
		}
		for j := range c.Sites {
			s := &c.Sites[j]
			fmt.Fprintf(&b, "; %d at %s", s.Tasks, leaf(s.Created))
			if s.Pool != "" {
				b.WriteString(" of " + s.Pool)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const (
	reads    = "syscall.read < internal/poll.(*FD).Read < net/http.(*connReader).Read < net/http.(*conn).serve@5"
	handles  = "runtime.chanrecv1 < main.checkout@20 < net/http.HandlerFunc.ServeHTTP < net/http.serverHandler.ServeHTTP < net/http.(*conn).serve@7"
	writes   = "syscall.write < internal/poll.(*FD).Write < net/http.(*response).finishRequest < net/http.(*conn).serve@9"
	theServe = "net/http.(*Server).Serve@3"
)

// What goroutines did in hand-made traces, and their sizes as tasks.
func TestGoroutinesAreTasks(t *testing.T) {
	for _, tt := range []struct {
		what, trace, want string
		opt               Options
	}{
		{"a goroutine runs, waits, and runs again", `
			1001 1 has 0 1
			1010 1 creates 7 main.f in main.spawn@12 < main.main@4
			1020 1 blocks chan-receive in main.main@5
			1050 1 runs 7 1
			1150 1 calls 1 in syscall.read < main.f@30
			1190 1 returns
			1200 1 stops preempted in main.f@31
			1300 1 runs 7 2
			1310 1 wakes 1 1 in main.f@32
			1320 1 exits
			1330 1 runs 1 2
			1400 1 allocates`,
			"main.f: 1, ran 170, took 310, off 140, ready 140; 1 at main.spawn (x.go:12)\n", Options{}},
		{"two go statements start one function, and one line of a third", `
			1001 1 has 0 1
			1010 1 creates 7 main.f in main.spawn@12 < main.main@4
			1011 1 creates 8 main.f in main.spawn@13 < main.main@4
			1012 1 creates 9 main.f in main.spawn@12 < main.main@5
			1013 1 creates 10 main.g in sync.(*WaitGroup).Go@2 < main.spawn@14 < main.main@5
			1020 1 blocks chan-receive in main.main@5
			1030 1 runs 7 1
			1040 1 exits
			1050 1 runs 8 1
			1070 1 exits
			1080 1 runs 9 1
			1110 1 exits
			1120 1 runs 10 1
			1130 1 exits
			1131 1 allocates`,
			"main.f: 2, ran 40, took 128, off 88, ready 88; 1 at main.spawn (x.go:12); 1 at main.spawn (x.go:12)\n" +
				"main.f (x.go:13): 1, ran 20, took 59, off 39, ready 39; 1 at main.spawn (x.go:13)\n" +
				"main.g: 1, ran 10, took 117, off 107, ready 107; 1 at main.spawn (x.go:14)\n", Options{}},
		{"one that began before the trace, one that does not end, one that neither", `
			1001 1 has 0 1
			1003 2 has 1 5
			1010 1 creates 7 main.f in main.spawn@12
			1020 1 blocks chan-receive in main.main@5
			1030 2 exits
			1040 1 runs 7 1
			1100 1 allocates`,
			"(unnamed): 0, ran 0, took 0, off 0, ready 0, 1 unmeasured\nmain.f: 0, ran 0, took 0, off 0, ready 0, 1 unmeasured\n", Options{}},
		{"a goroutine starts another one, which ends before it", nested,
			"main.f: 1, ran 50, took 160, off 110, ready 70; 1 at main.main (x.go:1)\nmain.g: 1, ran 40, took 60, off 20, ready 20, 1 nested; 1 at main.f (x.go:2)\n", Options{}},
		{"it is part of the other one", nested,
			"main.f: 1, ran 90, took 160, off 70, ready 70; 1 at main.main (x.go:1)\nmain.g: 0, ran 0, took 0, off 0, ready 0, 1 aggregated\n", Options{AggregateNested: true}},
		{"requests on a connection", requests,
			"net/http.(*conn).serve: 1, ran 90, took 210, off 10, ready 10; 1 at net/http.(*Server).Serve (x.go:3)\n" +
				"main.checkout: 2, ran 65, took 110, off 45, ready 15, 2 nested; 2 at net/http.(*Server).Serve (x.go:3) of net/http.(*conn).serve\n", Options{}},
		{"they are part of it", requests,
			"net/http.(*conn).serve: 1, ran 155, took 210, off 55, ready 25; 1 at net/http.(*Server).Serve (x.go:3)\n" +
				"main.checkout: 0, ran 0, took 0, off 0, ready 0, 2 aggregated\n", Options{AggregateNested: true}},
		{"gRPC requests, a goroutine each", grpcStreams,
			"main.(*server).SayHello: 2, ran 63, took 168, off 105, ready 83, 2 nested; 2 at google.golang.org/grpc.(*Server).serveStreams.func2 (x.go:9) of " + stream + "\n" +
				stream + ": 2, ran 10, took 208, off 30, ready 15; 2 at google.golang.org/grpc.(*Server).serveStreams.func2 (x.go:9)\n", Options{}},
		{"gRPC requests of a worker", grpcWorker,
			"main.(*server).SayHello: 2, ran 50, took 80, off 30, ready 15, 2 nested; 2 at google.golang.org/grpc.(*Server).initServerWorkers (x.go:7) of " + grpcWorks + "\n" +
				grpcWorks + ": 1, ran 15, took 165, off 70, ready 40; 1 at google.golang.org/grpc.(*Server).initServerWorkers (x.go:7)\n", Options{}},
		{"a trace with a region has no other tasks", strings.Replace(requests, "1400 1 allocates", `
			1400 1 begins r in main.main@8
			1420 1 ends r in main.main@9
			1500 1 allocates`, 1),
			"r: 1, ran 20, took 20, off 0, ready 0; 1 at main.main (x.go:8)\n", Options{}},
		{"user tasks were asked for", requests, "", Options{Tasks: true}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := readTrace(t, written(t, tt.trace), tt.opt)
			if got := profileText(p); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
			if err := p.CheckValid(); err != nil {
				t.Error(err)
			}
		})
	}
}

const nested = `
	1001 1 has 0 1
	1010 1 creates 7 main.f in main.main@1
	1020 1 blocks chan-receive in main.main@5
	1040 1 runs 7 1
	1060 1 creates 8 main.g in main.f@2
	1070 1 blocks chan-receive in main.f@3
	1080 1 runs 8 1
	1110 1 wakes 7 2 in main.g@4
	1120 1 exits
	1150 1 runs 7 3
	1160 1 wakes 1 1 in main.f@6
	1170 1 exits
	1180 1 runs 1 2
	1200 1 allocates`

// A request of 60 ns, with 25 ns of waiting, and one of 50.
const requests = `
	1001 1 has 0 1
	1010 1 creates 7 net/http.(*conn).serve in ` + theServe + `
	1015 1 blocks chan-receive in main.main@5
	1020 1 runs 7 1
	1030 1 calls 1 in ` + reads + `
	1050 1 returns
	1060 1 blocks chan-receive in ` + handles + `
	1080 1 wakes 7 2
	1085 1 runs 7 3
	1100 1 calls 2 in ` + writes + `
	1110 1 returns
	1120 1 calls 3 in ` + reads + `
	1140 1 returns
	1150 1 blocks chan-receive in ` + handles + `
	1160 1 wakes 7 4
	1170 1 runs 7 5
	1180 1 calls 4 in ` + writes + `
	1190 1 returns
	1200 1 calls 5 in ` + reads + `
	1210 1 returns
	1220 1 exits
	1230 1 wakes 1 1
	1240 1 runs 1 2
	1400 1 allocates`

const (
	unary      = "google.golang.org/grpc.(*Server).processUnaryRPC@4 < google.golang.org/grpc.(*Server).handleStream@5 < "
	says       = "runtime.chanrecv1 < main.(*server).SayHello@30 < example.com/pb._Greeter_SayHello_Handler@3 < " + unary
	receives   = "runtime.selectgo < google.golang.org/grpc/internal/transport.(*recvBufferReader).read@2 < google.golang.org/grpc.(*parser).recvMsg@3 < " + unary
	stream     = "google.golang.org/grpc.(*Server).serveStreams.func2.1"
	grpcWorks  = "google.golang.org/grpc.(*Server).serverWorker"
	ofStreams  = "google.golang.org/grpc.(*Server).serveStreams.func2@9 < main.main@4"
	ofWorkers  = "google.golang.org/grpc.(*Server).initServerWorkers@7 < main.main@4"
	streamTail = stream + "@6"
	workerTail = grpcWorks + "@6"
)

// Two requests, each on a goroutine of its own. The first waits for its message until 1050, takes
// 50 and runs for 30. The handler of the second is the first thing that is seen of its goroutine,
// so it takes all of its 118, of which it runs for 33.
const grpcStreams = `
	1001 1 has 0 1
	1010 1 creates 7 ` + stream + ` in ` + ofStreams + `
	1012 1 creates 8 ` + stream + ` in ` + ofStreams + `
	1015 1 blocks chan-receive in main.main@5
	1020 1 runs 7 1
	1030 1 blocks select in ` + receives + streamTail + `
	1045 1 wakes 7 2
	1050 1 runs 7 3
	1070 1 blocks chan-receive in ` + says + streamTail + `
	1080 1 runs 8 1
	1085 1 wakes 7 4
	1088 1 blocks chan-receive in ` + says + streamTail + `
	1090 1 runs 7 5
	1095 1 wakes 8 2
	1100 1 exits
	1105 1 runs 8 3
	1130 1 exits
	1135 1 wakes 1 1
	1140 1 runs 1 2
	1400 1 allocates`

// A worker of grpc.NumStreamWorkers waits for the next stream with a receive of its own. Requests
// are from 1050 to 1100 and from 1120 to 1150: an interval that begins in the handler is the
// handler's.
const grpcWorker = `
	1001 1 has 0 1
	1010 1 creates 7 ` + grpcWorks + ` in ` + ofWorkers + `
	1015 1 blocks chan-receive in main.main@5
	1020 1 runs 7 1
	1030 1 blocks chan-receive in runtime.chanrecv2 < ` + workerTail + `
	1040 1 wakes 7 2
	1050 1 runs 7 3
	1070 1 blocks chan-receive in ` + says + workerTail + `
	1080 1 wakes 7 4
	1090 1 runs 7 5
	1100 1 blocks chan-receive in runtime.chanrecv2 < ` + workerTail + `
	1110 1 wakes 7 6
	1120 1 runs 7 7
	1125 1 blocks chan-receive in ` + says + workerTail + `
	1130 1 wakes 7 8
	1135 1 runs 7 9
	1150 1 blocks chan-receive in runtime.chanrecv2 < ` + workerTail + `
	1160 1 wakes 7 10
	1170 1 runs 7 11
	1175 1 exits
	1180 1 wakes 1 1
	1190 1 runs 1 2
	1400 1 allocates`

// The totals for goroutines of real programs agree with other tools.
func TestGoroutinesOfRealTraces(t *testing.T) {
	for _, tt := range []struct {
		trace, class string
		tasks        uint64
		median       float64 // ns
	}{
		{"nethttp-parallel4", "net/http.(*connReader).backgroundRead", 5001, 384},
		{"gocompile-c2", "cmd/compile/internal/gc.compileFunctions.func3.1", 1371, 333e3},
		{"pgzip", "github.com/klauspost/pgzip.(*Writer).compressBlock", 1122, 1.81e6},
	} {
		t.Run(tt.trace, func(t *testing.T) {
			text, err := os.ReadFile("../../testdata/real/" + tt.trace + ".trace.zst")
			if err != nil {
				t.Fatal(err)
			}
			p := readTrace(t, text, Options{})
			c := classNamed(t, p, tt.class)
			if m := c.RunningNS.Quantile(.5); c.Tasks != tt.tasks || m < 0.99*tt.median || m > 1.01*tt.median || p.Of != granularity.OfGoroutines {
				t.Errorf("%d tasks of %.0f ns in the middle, of %s; want %d of %.0f", c.Tasks, m, p.Of, tt.tasks, tt.median)
			}
			g, err := bottle.ReadTrace(context.Background(), bytes.NewReader(text), bottle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range g.Boxes { // in the graph, their work for the collector belongs to the collector
				if ran := time.Duration(c.RunningNS.Sum()); b.Group == tt.class && (ran < b.Running || ran > b.Running+2*time.Millisecond+b.Running/100) {
					t.Errorf("they ran for %v; in the graph for %v", ran, b.Running)
				}
			}
			golden := filepath.Join("testdata", tt.trace+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(profileText(p)), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(golden); err != nil || profileText(p) != string(want) {
				t.Errorf("%v; got\n%swant\n%s", err, profileText(p), want)
			}
		})
	}
}

func slow(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Millisecond) }

func slower(w http.ResponseWriter, r *http.Request) { time.Sleep(3 * time.Millisecond) }

// Requests that wait are tasks of their handlers, however many a connection has.
func TestRequestsAreTasks(t *testing.T) {
	text := traced(t, func() {
		mux := http.NewServeMux()
		mux.HandleFunc("/slow", slow)
		mux.HandleFunc("/slower", slower)
		server := httptest.NewServer(mux)
		for i := range 30 {
			answer, err := server.Client().Get(server.URL + []string{"/slow", "/slower", "/slow"}[i%3])
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		}
		server.Close()
	})
	p := readTrace(t, text, Options{})
	const own = "github.com/bottleneck-go/bottleneck/internal/tracetasks."
	for name, want := range map[string]struct {
		tasks uint64
		least float64
	}{own + "slow": {20, 1e6}, own + "slower": {10, 3e6}} {
		c := classNamed(t, p, name)
		if c.Executions() != want.tasks || c.WallNS.Quantile(0) < want.least || c.Nested != c.Tasks || c.Sites[0].Pool != "net/http.(*conn).serve" {
			t.Errorf("%s: %d requests, %d nested, the shortest took %g ns, of %q", name, c.Executions(), c.Nested, c.WallNS.Quantile(0), c.Sites[0].Pool)
		}
	}
	if c := classNamed(t, p, "net/http.(*conn).serve"); c.WallNS.Max() < 50e6 {
		t.Errorf("the connection took %d ns", c.WallNS.Max())
	}
}

// However many goroutines there were, the memory is that of the live ones and of their places,
// whose number is limited.
func TestMemoryFollowsLiveGoroutines(t *testing.T) {
	for _, opt := range []Options{{}, {AggregateNested: true}} {
		o := NewObserver(opt)
		o.Begin(1, 0)
		at := &timeline.Stack{Frames: []*timeline.Frame{{Func: "main.spawn", File: "x.go", Line: 7}}}
		now := timeline.Time(1)
		lives := func(n int, name func(i int) string) {
			for i := range n {
				g := &timeline.Goroutine{ID: int64(now), Index: i % 10, Func: name(i), By: &timeline.Creator{ID: int64(now) - 2, Stack: at}}
				for _, step := range [][2]timeline.State{{timeline.NotExist, timeline.Runnable}, {timeline.Runnable, timeline.Running}, {timeline.Running, timeline.NotExist}} {
					o.Transition(&timeline.Transition{G: g, State: step[0], Start: now, End: now + 1, To: step[1]})
					now++
				}
			}
		}
		one := func(int) string { return "main.f" }
		lives(1000, one)
		before := heapInUse()
		lives(200_000, one)
		if grown := heapInUse() - before; grown > 256<<10 || len(o.sites) != 1 || len(o.living) != 0 {
			t.Errorf("%+v: 200,000 goroutines take %d bytes; %d places, %d alive", opt, grown, len(o.sites), len(o.living))
		}
		lives(10_000, func(i int) string { return fmt.Sprint("main.f", i) })
		if len(o.sites) > 2049 || len(o.classes) > 2049 {
			t.Errorf("%d places of %d classes; want at most 2,048 and (other)", len(o.sites), len(o.classes))
		}
		o.End(now)
		var tasks uint64
		p := o.Profile()
		for i := range p.Classes {
			tasks += p.Classes[i].Tasks
		}
		if tasks != 211_000 || !strings.Contains(strings.Join(p.Warnings, "\n"), "(other)") {
			t.Errorf("%d tasks; want 211,000; %q", tasks, p.Warnings)
		}
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
