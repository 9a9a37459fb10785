package main

import (
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/measures"
)

func TestTasksFail(t *testing.T) {
	file := tasksFile(t) // 2000 tasks of 700 cycles at 2 GHz, 400 ns each
	for _, tt := range []struct{ expr, err string }{
		{"fine-tasks-%>10", "-fail: fine-tasks-%>10: got 100.00%"},
		{"fine-tasks-%>100%", ""},
		{"coarse-tasks-%>0", ""},
		{"tasks<2000", ""},
		{"tasks<=2000", "tasks<=2000: got 2000"},
		{"cycles/task<700.1, wall/task>1us", "cycles/task<700.1: got 700.00"},
		{"running/task<=350ns", "running/task<=350ns: got 350ns"},
		{"tasks(stock).p50>690, tasks(stock).count<10", "tasks(stock).p50>690: got 70"},
		{"tasks(stock).blocked-%>99", ""},
		{"wall/task>399ns", "wall/task>399ns: got 400ns"},
	} {
		status := exitOK
		if tt.err != "" {
			status = exitFailure
		}
		bottleneck("tasks", "-format", "csv", "-fail", tt.expr, file).want(t, status, "class", tt.err)
	}
	bottleneck("tasks", "-format", "csv", "-class", "^stock$", "-fail", "tasks>1000", file).want(t, exitOK, "stock", "")
}

func TestTasksFailErrors(t *testing.T) {
	file := tasksFile(t)
	for _, tt := range []struct {
		args   []string
		status int
		err    string
	}{
		{[]string{"-fail", "tasks", file}, exitUsage, `"tasks" is not a condition`},
		{[]string{"-fail", "fine-task-%>1", file}, exitUsage, `unknown name "fine-task-%"; did you mean fine-tasks-%?`},
		{[]string{"-fail", "wall/task>1", file}, exitUsage, "wall/task wants a duration"},
		{[]string{"-fail", "tasks>1.x", file}, exitUsage, "tasks wants a number"},
		{[]string{"-fail", "cycles/task>1", phasesTrace}, exitFailure, "a trace has no cycles: compare running/task"},
		{[]string{"-fail", "running/task>1ns", phasesTrace}, exitFailure, "-fail: running/task>1ns"},
		{[]string{"-fail", "tasks(stok).p50>1", file}, exitFailure, `there are no tasks of class "stok"; did you mean "stock"?`},
		{[]string{"-fail", "tasks(stock).p51>1", file}, exitUsage, `unknown name "p51"; did you mean p50?`},
		{[]string{"-fail", "wall/task>1ns", "-user-tasks", computeTrace}, exitFailure, "no task was measured"},
	} {
		out := ""
		if tt.status == exitFailure { // the requested output is written nevertheless
			out = "class,"
		}
		bottleneck(append([]string{"tasks", "-format", "csv"}, tt.args...)...).want(t, tt.status, out, tt.err)
	}
	running, err := measures.Tasks.Find("running/task")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := running.Value(&granularity.Profile{Classes: []granularity.Class{{}}}); err == nil || err.Error() != "no task was measured" {
		t.Errorf("%v", err)
	}
	one := granularity.Class{}
	one.Cycles.Add(100)
	if _, err := running.Value(&granularity.Profile{Classes: []granularity.Class{one}}); err == nil || !strings.Contains(err.Error(), "length of a cycle") {
		t.Errorf("a duration of cycles of no known length: %v", err)
	}
}
