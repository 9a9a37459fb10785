package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// sample is a graph of round numbers: 10 s, of which 2 idle; mean parallelism 1.6;
// a neck of 4 s (40 %); 1 s (10 %) of the collector.
func sample() *bottle.Graph {
	g := &bottle.Graph{
		Wall: 10 * time.Second, Idle: 2 * time.Second, Procs: 4, GroupBy: "function",
		Boxes: []bottle.Box{
			{Group: "runtime.gcBgMarkWorker", Kind: bottle.GC, Goroutines: 4, Share: time.Second, Running: 4 * time.Second, Parallelism: 4},
			{Group: "example.com/queue.(*Pool[...]).run", Kind: bottle.Application, Goroutines: 4, Share: 3 * time.Second, Running: 7500 * time.Millisecond, Parallelism: 2.5},
			{Group: "main.main", Kind: bottle.Application, Goroutines: 1, Share: 4 * time.Second, Running: 4500 * time.Millisecond, Parallelism: 1.125},
		},
	}
	g.SetProcs(4)
	return g
}

// TestConditionsOnStacks: the stack of N workers is found by N; a disturbed stack gives no answer,
// and repeated runs give one only with confidence.
func TestConditionsOnStacks(t *testing.T) {
	stack := func(n int, of float64, runs ...float64) *speedup.Stack {
		s := &speedup.Stack{N: n, Speedup: of, Runs: runs}
		s.Components[speedup.SyncMutex] = float64(n) - of
		return s
	}
	stacks := []*speedup.Stack{stack(2, 1.5, 1.49, 1.5, 1.51), stack(8, 4, 3, 4, 5), stack(4, 2.5)}
	stacks[2].Disturbed = true
	for _, tt := range []struct{ expr, want, note string }{
		{"speedup(2)<1.6", "-fail: speedup(2)<1.6: got 1.50 ± 0.02", ""},
		{"speedup(2)<1.4", "", ""},
		{"speedup(2)<1.505", "", "speedup(2)<1.505: got 1.50 ± 0.02; passes, because that may be chance"},
		{"efficiency(2)<0.8", "efficiency(2)<0.8: got 0.75 ± 0.01", ""},
		{"efficiency<0.8", "efficiency<0.8: got 0.50 ± 0.31", ""},         // t = -4.16, beyond t(0.95, 2) = 2.92
		{"efficiency<0.7", "", "efficiency<0.7: got 0.50 ± 0.31; passes"}, // t = -2.77
		{"speedup<4.5", "", "passes"},
		{"speedup<8", "speedup<8: got 4.00 ± 2.48", ""}, // t = -6.93, p = 0.010
		{"sync-mutex(2)>0.4", "sync-mutex(2)>0.4: got 0.50", ""},
		{"sync-mutex>4.5", "", ""},
		{"sync-mutex>3.5", "sync-mutex>3.5: got 4.00", ""},
		{"speedup(4)<3", "-fail: not measurable, because the machine was disturbed: speedup(4)<3: got 2.50", ""},
		{"speedup(4)<3, speedup(2)<1.6", "-fail: speedup(2)<1.6: got", ""},
		{"speedup(3)<3", `no stack has the number of workers "3"`, ""},
		{"speedup(x)<3", `speedup(x): want a number of workers, not "x"`, ""},
		{"speed(2)<3", `did you mean speedup?`, ""},
		{"speedup(2)<fast", "speedup(2) wants a number", ""},
	} {
		var notes strings.Builder
		c := output.Conditions{List: condition.List{About: []*condition.Measures{&measures.Stack}}}
		err := c.Add(tt.expr)
		if err == nil {
			err = c.Failed(&notes, condition.Of(stacks))
		}
		if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %v, want %q", tt.expr, err, tt.want)
		}
		if !strings.Contains(notes.String(), tt.note) || tt.note == "" && notes.Len() > 0 {
			t.Errorf("%s: note %q, want %q", tt.expr, notes.String(), tt.note)
		}
		var none *condition.Unmeasurable
		if is := errors.As(err, &none); is != strings.Contains(tt.want, "not measurable") {
			t.Errorf("%s: not measurable: %v", tt.expr, is)
		}
	}
	a := &app{stdio: stdio{err: io.Discard}}
	c := subcommand(a.root(), "scale")
	if got := a.status(t.Context(), c, errors.Join(nil, &condition.Unmeasurable{})); got != exitUnmeasurable {
		t.Errorf("status %d, want %d", got, exitUnmeasurable)
	}
	if got := a.status(t.Context(), c, errors.Join(&condition.Unmeasurable{}, io.ErrShortWrite)); got != exitFailure {
		t.Errorf("status %d, want %d", got, exitFailure)
	}
}

func TestConditions(t *testing.T) {
	for _, tt := range []struct {
		expr string
		want string // the error, or "" if no condition holds
	}{
		{"parallelism<1.6", ""},
		{"parallelism<=1.6", "parallelism<=1.6: got 1.60"},
		{"parallelism>=1.6", "parallelism>=1.6: got 1.60"},
		{"parallelism>1.6", ""},
		{"parallelism<1.7", "parallelism<1.7: got 1.60"},
		{" parallelism > 1 ", "parallelism > 1: got 1.60"},
		{"neck-%>39", "neck-%>39: got 40.00%"},
		{"lost-%>59", "lost-%>59: got 60.00%"},
		{"lost-%>60", ""},
		{"group(main.main).lost-%>28", "group(main.main).lost-%>28: got 28.75%"},
		{"neck-%>39%", "neck-%>39%: got 40.00%"},
		{"neck-%>40", ""},
		{"neck-%>39.9999", "neck-%>39.9999: got 40.00%"},
		{"idle-%>=20", "idle-%>=20: got 20.00%"},
		{"idle-%>20", ""},
		{"gc-%>5", "gc-%>5: got 10.00%"},
		{"gc-%>10", ""},
		{"wall>2s", "wall>2s: got 10s"},
		{"wall>10s", ""},
		{"wall<=10000ms", "wall<=10000ms: got 10s"},
		{"group(main.main).share-%>30", "group(main.main).share-%>30: got 40.00%"},
		{"group(main.main).parallelism<1.5", "group(main.main).parallelism<1.5: got 1.12"},
		{"group(example.com/queue.(*Pool[...]).run).share-%>=30", ": got 30.00%"},
		{"group(queue.(*Pool[...]).run).share-%>=30", ": got 30.00%"},
		{"group( main.main ) . share-% > 30", ": got 40.00%"},
		{"group(main.mian).share-%>30", `the graph has no group "main.mian"; did you mean "main.main"?`},
		{"group(nobody).share-%<1", `the graph has no group "nobody"`},
		{"group(nobody(a,b)).share-%<1", `the graph has no group "nobody(a,b)"`},
		{"group(main.main).share-%>99, group(main.main).parallelism<1.5", "-fail: group(main.main).parallelism<1.5: got 1.12"},
		{"parallelism<1,neck-%>90", ""},
		{"parallelism<1,neck-%>39", "-fail: neck-%>39: got 40.00%"},
		{"parallelism<2,idle-%>50,neck-%>39", "-fail: parallelism<2: got 1.60; neck-%>39: got 40.00%"},
	} {
		c := output.Conditions{List: condition.List{About: []*condition.Measures{&measures.Graph}}}
		if err := c.Add(tt.expr); err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		got := ""
		if err := c.Failed(io.Discard, condition.Of(sample())); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", tt.expr, got, tt.want)
		}
	}
}

func TestConditionSyntax(t *testing.T) {
	for expr, want := range map[string]string{
		"":                          "is not a condition",
		"parallelism":               "is not a condition",
		"parallelism=4":             "is not a condition",
		"parallelism<":              `wants a number, not ""`,
		"parallelism<<4":            "wants a number",
		"parallelism<4%":            "wants a number",
		"parallelism<NaN":           "wants a number",
		"parallelism<Inf":           "wants a number",
		"parallelism<4,":            "is not a condition",
		",parallelism<4":            "is not a condition",
		"<4":                        `unknown name ""`,
		"paralelism<4":              "did you mean parallelism?",
		"neck>30":                   "did you mean neck-%?",
		"share-%>3":                 "want one of parallelism, lost-%, neck-%",
		"wall>2":                    "wants a duration",
		"wall>2parsecs":             "wants a duration",
		"group(main.main":           "never closed",
		"group().share-%>3":         "want group(NAME).share-% or group(NAME).lost-% or group(NAME).in-c-% or group(NAME).parallelism",
		"group(main.main)>3":        "want group(NAME).share-% or group(NAME).lost-% or group(NAME).in-c-% or group(NAME).parallelism",
		"group(main.main).neck-%>3": "want one of share-%, lost-%, in-c-%, parallelism",
		"grup(main.main).share-%>3": `unknown name "grup": want one of group(NAME)`,
	} {
		c := output.Conditions{List: condition.List{About: []*condition.Measures{&measures.Graph}}}
		if err := c.Add(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", expr, err, want)
		}
		// An invalid expression is found before the trace is opened.
		bottleneck("graph", "-fail", expr, "missing.trace").want(t, exitUsage, "", "-fail")
	}
}

// What fits no command says which one it fits, and what the command accepts instead.
func TestWrongInputsAreExplained(t *testing.T) {
	graph, stack := saved(t, "g.json", "graph", "-format", "json", computeTrace), saved(t, "s.json", "speedup", "-estimate", "-format", "json", computeTrace)
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(`{"foo":1}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"counters -fail wall>1s " + computeTrace, exitUsage, "unknown flag -fail; it is a flag of verdict, graph, ledger, contention, tasks, critical, speedup, scale, run, diff"},
		{"merge " + other, exitFailure, "it is JSON, but not a bottle graph, ledger, contention profile, profile of tasks or profile of critical paths that this program saved"},
		{"merge " + stack, exitUsage, `is a speedup stack: "bottleneck report" reads it`},
		{"speedup -estimate " + graph, exitUsage, `is a bottle graph: "bottleneck graph" reads it`},
		{"speedup -estimate " + other, exitFailure, "want an execution trace, not JSON"},
		{"speedup -estimate -fail luck<3 " + computeTrace, exitUsage, "want one of speedup, remainder, workers, "},
		{"speedup -estimate -fail sync-mutx<3 " + computeTrace, exitUsage, "did you mean sync-mutex?"},
	} {
		r := bottleneck(strings.Fields(tt.args)...)
		r.want(t, tt.status, "", tt.err)
		if strings.Contains(r.err, "sync-waitgroup") {
			t.Errorf("%s: a long list: %s", tt.args, r.err)
		}
	}
}

// A condition can use every name that the text output has for a group.
func TestFailShortName(t *testing.T) {
	g := sample()
	g.Boxes[0].Group = "stop-the-world (GC mark termination)"
	for _, name := range []string{"stop-the-world (GC mark termination)", "STW (GC mark termination)"} {
		c := output.Conditions{List: condition.List{About: []*condition.Measures{&measures.Graph}}}
		if err := c.Add("group(" + name + ").share-%>5"); err != nil {
			t.Fatal(err)
		}
		if err := c.Failed(io.Discard, condition.Of(g)); err == nil || !strings.Contains(err.Error(), ": got 10.00%") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The exit status follows the conditions. The graph is printed in any case.
func TestFailFlag(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		status int
		err    string
	}{
		{[]string{"-fail", "parallelism>0"}, exitFailure, "bottleneck: graph: -fail: parallelism>0: got "},
		{[]string{"-fail", "parallelism>1000"}, exitOK, ""},
		{[]string{"-fail", "parallelism>1000,wall>1h"}, exitOK, ""},
		{[]string{"-fail", "parallelism>1000", "-fail", "wall>1ns"}, exitFailure, "-fail: wall>1ns: got "},
		{[]string{"-fail", "group(main.main).share-%>=0"}, exitFailure, "group(main.main).share-%>=0: got "},
		{[]string{"-top", "1", "-fail", "group(main.main).share-%>100"}, exitOK, ""}, // folding does not affect conditions
		{[]string{"-fail", "group(main.nobody).share-%>100"}, exitFailure, "no group"},
	} {
		r := bottleneck(append([]string{"graph", mutexTrace}, tt.args...)...)
		r.want(t, tt.status, "Bottle graph", tt.err)
		if strings.Count(r.err, "\n") > 1 {
			t.Errorf("%v: stderr %q", tt.args, r.err)
		}
	}
}

// An empty graph has no percentages.
func TestConditionsOfNothing(t *testing.T) {
	c := output.Conditions{List: condition.List{About: []*condition.Measures{&measures.Graph}}}
	if err := c.Add("neck-%>0,idle-%>0,gc-%>0,in-c-%>0,parallelism>0,wall>0s"); err != nil {
		t.Fatal(err)
	}
	if err := c.Failed(io.Discard, condition.Of(&bottle.Graph{})); err != nil {
		t.Error(err)
	}
}

// A condition on an unknown value is an error.
func TestUnknownLostCapacityFails(t *testing.T) {
	g := sample()
	g.SetProcs(0)
	c := output.Conditions{List: condition.List{About: []*condition.Measures{&measures.Graph}}}
	if err := c.Add("lost-%>1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Failed(io.Discard, condition.Of(g)); err == nil || !strings.Contains(err.Error(), "lost capacity is not known") {
		t.Errorf("%v", err)
	}
}

// Time in C is a measure of graphs, of their groups and of the difference of two graphs.
func TestTimeInCIsAMeasure(t *testing.T) {
	const cTrace = "../../testdata/small/cgo-go1.26.8.trace"
	bottleneck("graph", "-fail", "in-c-%>250,group(main.computing).in-c-%<150", cTrace).want(t, exitOK, "2 goroutines ran C code for", "")
	bottleneck("graph", "-fail", "in-c-%>150", cTrace).want(t, exitFailure, "Bottle graph", "-fail: in-c-%>150: got 19")
	bottleneck("graph", "-fail", "group(main.computing).in-c-%>150", cTrace).want(t, exitFailure, "Bottle graph", "in-c-%>150: got 19")
	bottleneck("graph", "-fail", "in-c-%>0", computeTrace).want(t, exitOK, "Bottle graph", "")
	bottleneck("diff", "-fail", "in-c-%>0", computeTrace, cTrace).want(t, exitFailure, "in C code", "in-c-%>0: got 19")
	bottleneck("diff", "-format", "json", computeTrace, cTrace).want(t, exitOK, `"name": "in-c-%"`, "")
	if r := bottleneck("diff", computeTrace, mutexTrace); strings.Contains(r.out, "in C code") {
		t.Errorf("C code in programs without:\n%s", r.out)
	}
}
