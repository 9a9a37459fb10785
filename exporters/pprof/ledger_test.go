package pprof_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// pipeline is the ledger of a writer that waits for a reader, on two processors for 10 s.
func pipeline() *ledger.Ledger {
	idle := ledger.Row{
		Category: ledger.Idle, Group: "main.write", Site: timeline.Place{Func: "main.next", File: "/src/main.go", Line: 20}, Wait: "chan-receive",
		Waker: "main.read", WakerSite: timeline.Place{Func: "main.read", File: "/src/main.go", Line: 10}, Beside: "main.read", Time: 6 * time.Second, Count: 3,
	}
	return &ledger.Ledger{
		Wall: 10 * time.Second, Procs: 2, Capacity: 20 * time.Second,
		Rows: []ledger.Row{
			{Category: ledger.Code, Group: "main.read", Time: 12 * time.Second},
			idle,
			{Category: ledger.GCWorker, Group: "GC (dedicated)", Time: time.Second},
			{Category: ledger.NoWork, Beside: ledger.None, Time: time.Second},
		},
	}
}

func withStacks(l *ledger.Ledger) *ledger.Ledger {
	idle := l.Rows[1]
	idle.Time = 4 * time.Second
	idle.Calls, idle.WakerCalls = callChain("runtime.chanrecv1", "main.next", "main.write"), callChain("main.read")
	l.Stacks = append(l.Stacks, idle)
	idle.Time = 2 * time.Second
	idle.Calls, idle.WakerCalls = callChain("runtime.chanrecv1", "main.next", "main.flush", "main.write"), callChain("main.put", "main.read")
	l.Stacks = append(l.Stacks, idle, l.Rows[2], l.Rows[3])
	return l
}

func ExampleLedger() {
	o := ledger.NewObserver(ledger.Options{Stacks: true})
	if _, err := timeline.ReadFile(context.Background(), "../../testdata/small/mutex-go1.26.8.trace", timeline.Options{}, o); err != nil {
		panic(err)
	}
	p, err := pprof.Ledger(o.Ledger(), pprof.Options{})
	if err != nil {
		panic(err)
	}
	s := p.Sample[0]
	fmt.Println(time.Duration(s.Value[0]).Round(time.Millisecond), s.Label["kind"], s.Label["part"])
	for i := len(s.Location) - 1; i >= 0; i-- {
		fmt.Println(s.Location[i].Line[0].Function.Name)
	}
	// Output:
	// 669ms [mutex] [idle]
	// [idle]
	// proto/work.mutexWorker
	// sync.(*Mutex).Lock
	// [wait] mutex
	// [woken by]
	// sync.(*Mutex).Unlock
	// proto/work.mutexWorker
}

func TestLedgerStacks(t *testing.T) {
	for _, c := range []struct {
		name string
		l    *ledger.Ledger
		want string
	}{
		{"call chains", withStacks(pipeline()), `
4s [idle] > main.write > main.next > runtime.chanrecv1 > [wait] chan-receive > [woken by] > main.read
2s [idle] > main.write > main.flush > main.next > runtime.chanrecv1 > [wait] chan-receive > [woken by] > main.put > main.read
1s [gc-worker] > [group] GC (dedicated)
1s [no-work]
`},
		{"places, where there are no call chains", pipeline(), `
6s [idle] > main.next > [wait] chan-receive > [woken by] > main.read
1s [gc-worker] > [group] GC (dedicated)
1s [no-work]
`},
		{"nothing lost", &ledger.Ledger{}, `
0s [nothing lost]
`},
	} {
		p, err := pprof.Ledger(c.l, pprof.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := "\n"
		for _, s := range p.Sample {
			var names []string
			for i := len(s.Location) - 1; i >= 0; i-- {
				names = append(names, s.Location[i].Line[0].Function.Name)
			}
			got += time.Duration(s.Value[0]).String() + " " + strings.Join(names, " > ") + "\n"
		}
		if got != c.want {
			t.Errorf("%s: got %s want %s", c.name, got, c.want)
		}
	}
	out := goToolOn(t, written(pprof.Ledger(withStacks(pipeline()), pprof.Options{})), "-traces")
	for _, want := range []string{
		"ledger: 8 s lost of a capacity of 20 s (10 s × 2 processors)\nType: lost\n", "Duration: 10s, Total samples = 8s (80.00%)\n",
		"      kind:  chan-receive\n      part:  idle\n     group:  main.write\n     waker:  main.read\n    beside:  main.read\n        4s   main.read\n             [woken by]\n             [wait] chan-receive\n             runtime.chanrecv1\n",
		"      kind:  none\n      part:  gc-worker\n     group:  GC (dedicated)\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
}

func lostSum(p *profile.Profile) (sum time.Duration) {
	for _, s := range p.Sample {
		sum += time.Duration(s.Value[0])
	}
	return sum
}

// The samples sum to the lost capacity: the capacity without the program's code, C code and system
// calls.
func TestLedgerSums(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "*", "*.trace*"))
	if len(files) < 12 {
		t.Fatalf("%d traces", len(files))
	}
	for _, file := range testenv.Some(files) {
		for _, stacks := range []bool{true, false} {
			o := ledger.NewObserver(ledger.Options{Stacks: stacks})
			if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, o); err != nil {
				t.Fatal(err)
			}
			l := o.Ledger()
			p, err := pprof.Ledger(l, pprof.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := l.Capacity - l.Of(ledger.Code) - l.Of(ledger.C) - l.Of(ledger.Syscall)
			if got := lostSum(p); got != want {
				t.Errorf("%s: the samples sum to %v, want %v", file, got, want)
			}
			for _, s := range p.Sample {
				for _, label := range []string{"kind", "part", "group"} {
					if len(s.Label[label]) != 1 || s.Label[label][0] == "" {
						t.Fatalf("%s: a sample has the label %s %q", file, label, s.Label[label])
					}
				}
			}
		}
	}
}

// Rows beyond the limit are summed by category.
func TestLedgerFits(t *testing.T) {
	for _, c := range testenv.Some([]struct{ depth, rows int }{{10, 6000}, {2, 20_000}}) {
		l := &ledger.Ledger{Procs: 2}
		for i := range c.rows {
			functions := make([]string, c.depth)
			for j := range functions {
				functions[j] = fmt.Sprintf("example.com/module/package.function%d", (i*7+j*13)%5000)
			}
			s := pipeline().Rows[1]
			s.Calls, s.WakerCalls = callChain(functions...), callChain(fmt.Sprintf("main.f%d%s", i, strings.Repeat("x", 90*c.depth)))
			s.Time = time.Duration(i + 1)
			l.Stacks = append(l.Stacks, s)
			l.Capacity += s.Time
		}
		p, err := pprof.Ledger(l, pprof.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := p.WriteUncompressed(&buf); err != nil {
			t.Fatal(err)
		}
		if len(p.Sample) >= 16_000 || buf.Len() >= 4<<20 || lostSum(p) != l.Capacity {
			t.Errorf("depth %d: %d samples, %d bytes, sum %d of %d", c.depth, len(p.Sample), buf.Len(), lostSum(p), l.Capacity)
		}
		if notes := strings.Join(p.Comments, "|"); !strings.Contains(notes, "with the least time are added up under [others]") {
			t.Errorf("depth %d: comments: %s", c.depth, notes)
		}
	}
}
