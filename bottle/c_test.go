package bottle

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/exp/trace"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// twoInC checks a graph of a program in which two goroutines use the given processor time each, in
// C, on two processors, and nothing else runs. However busy the machine was, they were in C all
// that time. The parallelism is less than 2 if one ended before the other. On a quiet machine,
// almost nothing else takes time.
func twoInC(t *testing.T, g *Graph, each time.Duration, parallelism float64, quiet bool) {
	t.Helper()
	b := boxNamed(t, g, "main.computing")
	if quiet && (g.Idle*20 > g.Wall || b.Share*20 < g.Wall*19) {
		t.Errorf("idle %v, share %v of %v", g.Idle, b.Share, g.Wall)
	}
	if g.Procs != 2 || g.MeanParallelism() < parallelism || g.MeanParallelism() > 2 {
		t.Errorf("GOMAXPROCS %d, parallelism %v", g.Procs, g.MeanParallelism())
	}
	if b.InC < 2*each || b.InC > 2*g.Wall || b.InC*100 < b.Running*99 || b.Share*2 < b.Running || b.Blocked()*20 > b.InC || b.Parallelism < parallelism {
		t.Errorf("in C %v, running %v, share %v of %v, blocked %v, parallelism %v; took %v each", b.InC, b.Running, b.Share, g.Wall, b.Blocked(), b.Parallelism, each)
	}
	if _, ok := b.Waiting["syscall"]; ok {
		t.Errorf("C code is a blocked system call: %v", b.Waiting)
	}
	if s := b.TopSite(InCode); s == nil || s.Func != "main.computing" || !strings.HasSuffix(s.File, "main.go") || s.Time < 2*each {
		t.Errorf("the place is %+v", s)
	}
	if all, running := g.InC(); all != b.InC || running > all || running*20 < all*19 {
		t.Errorf("in C %v, running of it %v", all, running)
	}
	if n := slices.IndexFunc(g.Warnings, func(w string) bool { return strings.HasPrefix(w, "2 goroutines ran C code for ") }); n < 0 ||
		slices.ContainsFunc(g.Warnings[n+1:], func(w string) bool { return strings.Contains(w, "C code") }) {
		t.Errorf("not one warning of C: %q", g.Warnings)
	}
}

// TestTwoGoroutinesThatComputeInCAreNotIdle: in a recorded trace, each of the two goroutines used
// 1 s of processor time.
func TestTwoGoroutinesThatComputeInCAreNotIdle(t *testing.T) {
	g, err := ReadFile(context.Background(), "../testdata/small/cgo-go1.26.8.trace", Options{})
	if err != nil {
		t.Fatal(err)
	}
	twoInC(t, g, time.Second, 1.98, true)
	twice, err := Merge(g, g)
	if err != nil {
		t.Fatal(err)
	}
	all, _ := g.InC()
	if both, _ := twice.InC(); both != 2*all || len(twice.Warnings) != len(g.Warnings) || boxNamed(t, twice, "main.computing").TopSite(InCode).Time != 2*boxNamed(t, g, "main.computing").TopSite(InCode).Time {
		t.Errorf("of two instances: in C %v, of one %v; warnings %q", both, all, twice.Warnings)
	}
}

// TestAProgramThatComputesInC records a program now. Each goroutine uses 200 ms of processor time.
func TestAProgramThatComputesInC(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C")
	}
	testenv.Program(t, "gcc")
	goCmd := testenv.Program(t, "go")
	dir := t.TempDir()
	exe, file := filepath.Join(dir, "cgo.exe"), filepath.Join(dir, "trace")
	build := exec.Command(goCmd, "build", "-o", exe, "../testdata/cgo")
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "CC=gcc")
	if out, err := build.CombinedOutput(); err != nil {
		testenv.Missing(t, "cgo does not work here: ", err, "\n", string(out))
	}
	run := exec.Command(exe, "brief", file)
	run.Env = append(os.Environ(), "GOMAXPROCS=2")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g, err := ReadFile(context.Background(), file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	twoInC(t, g, 200*time.Millisecond, 1.05, false)
}

// sitesDiffer describes how the places of a graph differ from the times by reason; "" if they do
// not.
func sitesDiffer(g *Graph) string {
	for i := range g.Boxes {
		b := &g.Boxes[i]
		want := map[string]time.Duration{}
		for reason, d := range b.Waiting {
			want[reason] = d
		}
		delete(want, InCode)
		if b.InC > 0 {
			want[InCode] = b.InC
		}
		got := map[string]time.Duration{}
		for reason, sites := range b.Sites {
			for _, s := range sites {
				got[reason] += s.Time
			}
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("%s: places sum to %v, want %v", b.Group, got, want)
		}
	}
	return ""
}

// TestPlacesSumToTheBlockedTime: in every recorded trace, the places of each box sum to its
// blocked time, for every reason and grouping, also after Top and in JSON.
func TestPlacesSumToTheBlockedTime(t *testing.T) {
	traces(t, func(t *testing.T, s *study) {
		for _, g := range append(slices.Clone(s.groupings), s.again) {
			for _, g := range []*Graph{g, g.Top(3), throughJSON(t, g)} {
				if d := sitesDiffer(g); d != "" {
					t.Error(d)
				}
			}
		}
	})
}

func throughJSON(t *testing.T, g *Graph) *Graph {
	t.Helper()
	data, err := g.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	back := new(Graph)
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// TestSystemCallsHaveAPlace counts the system calls without a P in a recorded trace again, event
// by event, by the innermost function whose name belongs to the program.
func TestSystemCallsHaveAPlace(t *testing.T) {
	f, err := os.Open("../testdata/small/sys-go1.26.8.trace.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r, err := trace.NewReader(z)
	if err != nil {
		t.Fatal(err)
	}
	type call struct {
		place string
		proc  trace.ProcID
		lost  trace.Time // when it lost its P
	}
	calls := map[trace.GoID]*call{}
	want := map[string]time.Duration{}
	for {
		ev, err := r.ReadEvent()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind() != trace.EventStateTransition {
			continue
		}
		st := ev.StateTransition()
		if st.Resource.Kind == trace.ResourceProc {
			if from, to := st.Proc(); to == trace.ProcIdle && from != to {
				for _, c := range calls {
					if c.proc == st.Resource.Proc() && c.lost == 0 {
						c.lost = ev.Time()
					}
				}
			}
			continue
		}
		if st.Resource.Kind != trace.ResourceGoroutine {
			continue
		}
		id := st.Resource.Goroutine()
		switch from, to := st.Goroutine(); {
		case from == trace.GoRunning && to == trace.GoSyscall:
			c := &call{proc: ev.Proc()}
			for f := range st.Stack.Frames() {
				if strings.HasPrefix(f.Func, "proto/") {
					c.place = fmt.Sprintf("%s:%d", f.Func, f.Line)
					break
				}
			}
			calls[id] = c
		case from == trace.GoSyscall && to != trace.GoSyscall:
			if c := calls[id]; c != nil && c.lost != 0 && c.place != "" {
				want[c.place] += time.Duration(ev.Time() - c.lost)
			}
			delete(calls, id)
		}
	}
	g, err := ReadFile(context.Background(), "../testdata/small/sys-go1.26.8.trace.zst", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]time.Duration{}
	for i := range g.Boxes {
		for _, s := range g.Boxes[i].Sites["syscall"] {
			if strings.HasPrefix(s.Func, "proto/") {
				got[fmt.Sprintf("%s:%d", s.Func, s.Line)] += s.Time
			}
		}
	}
	if len(want) == 0 || len(got) != len(want) {
		t.Errorf("places %v, want %v", got, want)
	}
	for place, d := range want {
		// One Reader over the whole trace moves events a little.
		if off := (got[place] - d).Abs(); off > d/1000+time.Microsecond {
			t.Errorf("%s: %v, want %v", place, got[place], d)
		}
	}
	t.Log(got)
}

// TestPlacesAreBounded: a box keeps a bounded number of places. They still sum to the blocked
// time.
func TestPlacesAreBounded(t *testing.T) {
	var s siteTimes
	for i := range 3 * maxSites {
		frame := *otherFrame
		frame.Func = fmt.Sprintf("main.f%d", i)
		*s.at(siteKey{1, &frame}) += 2
	}
	if len(s.of) != maxSites+1 {
		t.Errorf("%d places", len(s.of))
	}
	sites := s.sites()["other"]
	var sum time.Duration
	for _, s := range sites {
		sum += s.Time
	}
	if sum != 6*maxSites || sites[0].Func != otherSites || len(fewSites(sites, 8)) != 8 {
		t.Errorf("%v in %d places, %+v", sum, len(sites), fewSites(sites, 8))
	}
}
