package pprof_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// checks is a program at 2 GHz that creates tasks of two sizes in one place, and others in another.
func checks() *granularity.Profile {
	walk := granularity.Site{
		Pool: "checks", Tasks: 100,
		Created:   []granularity.Frame{{Func: "example.com/pmd.walk", File: "/src/walk.go", Line: 12}, {Func: "main.main", File: "/src/main.go", Line: 3}},
		Submitted: []granularity.Frame{{Func: "example.com/pmd.queue", File: "/src/queue.go", Line: 7}},
	}
	for i := range 100 {
		if i < 90 {
			walk.Cycles.Add(2000)
		} else {
			walk.Cycles.Add(500_000)
		}
	}
	inline := granularity.Site{Tasks: 1, Created: []granularity.Frame{{Func: "main.main", File: "/src/main.go", Line: 9}}}
	inline.Cycles.Add(40_000_000)
	c := granularity.Class{Name: "example.com/pmd.check", Tasks: 101, Diagnosis: granularity.Fine, Sites: []granularity.Site{walk, inline}}
	c.Cycles.Merge(&walk.Cycles)
	c.Cycles.Merge(&inline.Cycles)
	bare := granularity.Class{Name: "no sites", Tasks: 1}
	bare.Cycles.Add(0)
	return &granularity.Profile{
		Source: "rseq-clock", Accuracy: "thread-time", Hz: 2e9, Wall: time.Second, Time: time.Unix(1, 0),
		Classes: []granularity.Class{c, bare}, Warnings: []string{"a warning"},
	}
}

func ExampleTasks() {
	p, err := pprof.Tasks(checks(), pprof.Options{})
	if err != nil {
		panic(err)
	}
	for _, s := range p.Sample {
		fmt.Print(s.Value[0], " tasks, ", s.Value[1], " cycles, ", time.Duration(s.Value[2]), ", ", s.Label["granularity"][0], ":\n\t")
		for i := len(s.Location) - 1; i >= 0; i-- {
			fmt.Print(" > ", s.Location[i].Line[0].Function.Name)
		}
		fmt.Println()
	}
	// Output:
	// 1 tasks, 40000000 cycles, 20ms, 1e7-1e8 cycles:
	// 	 > main.main > [class] example.com/pmd.check
	// 10 tasks, 4999342 cycles, 2.499671ms, 1e5-1e6 cycles:
	// 	 > main.main > example.com/pmd.walk > [class] example.com/pmd.check
	// 90 tasks, 180658 cycles, 90.329µs, 1e3-1e4 cycles:
	// 	 > main.main > example.com/pmd.walk > [class] example.com/pmd.check
	// 1 tasks, 0 cycles, 0s, 1e0-1e1 cycles:
	// 	 > [class] no sites
}

// Every sample has the labels. By time, there are no cycles.
func TestTasksLabels(t *testing.T) {
	byTime := checks()
	byTime.Source, byTime.Hz = granularity.SourceTrace, 0
	for i := range byTime.Classes {
		c := &byTime.Classes[i]
		c.RunningNS = c.Cycles
		for j := range c.Sites {
			c.Sites[j].RunningNS = c.Sites[j].Cycles
		}
	}
	for _, p := range []*granularity.Profile{checks(), byTime, {}, {Classes: []granularity.Class{{}}}} {
		for _, opt := range []pprof.Options{{}, {File: "pmd", BuildID: "x"}} {
			out, err := pprof.Tasks(p, opt)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Sample) == 0 {
				t.Error("no samples")
			}
			for _, s := range out.Sample {
				for _, label := range []string{"granularity", "class", "diagnosis"} {
					if len(s.Label[label]) != 1 || s.Label[label][0] == "" {
						t.Errorf("no label %s: %v", label, s.Label)
					}
				}
				if p == byTime && (s.Value[1] != 0 || strings.Contains(s.Label["granularity"][0], "cycles")) {
					t.Errorf("cycles in a profile by time: %v %v", s.Value, s.Label)
				}
				if leaf := s.Location[0]; leaf.Mapping != nil || !strings.HasPrefix(leaf.Line[0].Function.Name, "[") {
					t.Errorf("the leaf is %v", leaf.Line[0].Function.Name)
				}
			}
		}
	}
	out, err := pprof.Tasks(byTime, pprof.Options{})
	if err != nil || out.Sample[1].Label["granularity"][0] != "100µs-1ms" || out.Sample[1].Location[1].Line[0].Function.Name != "example.com/pmd.walk" {
		t.Errorf("%v: %v", err, out.Sample[1].Label)
	}
}

// Very many classes with hostile names stay within the limits, and nothing is lost.
func TestTasksLimits(t *testing.T) {
	p := &granularity.Profile{Hz: 1e9}
	for i := range 20_000 {
		c := granularity.Class{Name: fmt.Sprintf("%d\x1b[31m\n%s", i, strings.Repeat("x", 300)), Tasks: 1, Diagnosis: "\x00"}
		c.Cycles.Add(uint64(i))
		p.Classes = append(p.Classes, c)
	}
	huge := granularity.Class{Name: "huge", Tasks: 3}
	huge.Cycles.AddN(math.MaxUint64, 1)
	p.Classes = append(p.Classes, huge)
	out, err := pprof.Tasks(p, pprof.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := out.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	var tasks int64
	for _, s := range out.Sample {
		tasks += s.Value[0]
	}
	if len(out.Sample) >= 16_000 || b.Len() > 4<<20 || tasks != 20_001 {
		t.Errorf("%d samples, %d bytes, %d tasks; want 20001", len(out.Sample), b.Len(), tasks)
	}
	if !strings.Contains(strings.Join(out.Comments, "\n"), "[others]") {
		t.Errorf("comments %q", out.Comments)
	}
	for _, fn := range out.Function {
		if strings.ContainsAny(fn.Name, "\x1b\n") {
			t.Fatalf("a function is called %q", fn.Name)
		}
	}
	if _, err := pprof.Tasks(nil, pprof.Options{}); err == nil {
		t.Error("no profile is accepted")
	}
	if err := written(pprof.Tasks(checks(), pprof.Options{}))(brokenPipe{}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

var errBroken = errors.New("broken")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

// go tool pprof reads the profile as intended.
func TestTasksWithRealPprof(t *testing.T) {
	write := written(pprof.Tasks(checks(), pprof.Options{}))
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"-top", []string{"Type: time", "[class] example.com/pmd.check", "22.59ms"}},
		{"-top -cum -sample_index=tasks", []string{"100 98.04%", "example.com/pmd.walk"}},
		{"-top -sample_index=cycles", []string{"45180000", "Type: cycles"}},
		{"-tags -sample_index=tasks", []string{"granularity: Total 102", "1e3-1e4 cycles", "diagnosis: Total", "pool: Total 100"}},
		{"-top -sample_index=tasks -tagfocus=granularity=1e5", []string{"10", "pmd.check"}},
		{"-comments", []string{"task granularity by creation, from rseq-clock, thread-time", "a warning"}},
		{"-traces", []string{"example.com/pmd.walk", "main.main"}},
	} {
		out := goToolOn(t, write, strings.Fields(tt.args)...)
		for _, want := range tt.want {
			if !strings.Contains(out, want) {
				t.Errorf("go tool pprof %s: %q is not in\n%s", tt.args, want, out)
			}
		}
	}
}
