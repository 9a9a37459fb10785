package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// -generations reads some generations of a trace, in all commands that read one trace.
func TestGenerations(t *testing.T) {
	for _, command := range []string{"graph", "contention", "tasks"} {
		if r := bottleneck(command, "-generations", "2:3", "-format", "json", computeTrace); r.status != exitOK || !strings.Contains(r.out, "The first generation of the trace was not decoded") {
			t.Errorf("%s: status %d, %s%.300s", command, r.status, r.err, r.out)
		}
		bottleneck(command, "-generations", "7:", computeTrace).want(t, exitFailure, "", "compute-go1.26.8.trace: there is no generation 7: the trace has 5 generations")
		for value, want := range map[string]string{
			"0":   "-generations 0: want a range such as 3:7, 3: or :7, from 1",
			"x:2": "want a range",
			":":   "want a range",
			"3:2": "-generations 3:2: the last is before the first",
			"-1":  "want a range",
		} {
			bottleneck(command, "-generations", value, computeTrace).want(t, exitUsage, "", want)
		}
	}
	whole := parseGraph(t, bottleneck("graph", "-format", "json", computeTrace).out)
	sum := int64(0)
	for _, part := range []string{"1", "2:3", "4:"} {
		sum += parseGraph(t, bottleneck("graph", "-generations", part, "-format", "json", computeTrace).out).Wall
	}
	if gap := whole.Wall - sum; gap < 0 || gap > whole.Wall/100 {
		t.Errorf("the parts cover %d ns of %d", sum, whole.Wall)
	}
	first := parseGraph(t, bottleneck("graph", "-generations", ":1", "-format", "json", computeTrace).out)
	if one := parseGraph(t, bottleneck("graph", "-generations", "1", "-format", "json", computeTrace).out); one.Wall != first.Wall {
		t.Errorf("%d, %d", one.Wall, first.Wall)
	}
	_, saved, _ := parts(t, "graph", ".json")
	bottleneck("graph", "-generations", "2", saved).want(t, exitUsage, "", "are for traces; "+saved+" is a graph already")
	_, saved, _ = parts(t, "contention", ".json")
	bottleneck("contention", "-generations", "2", saved).want(t, exitUsage, "", "-generations, -during and -outside are for traces; "+saved+" is none")
	saved = filepath.ToSlash(tasksFile(t))
	bottleneck("tasks", "-generations", "2", saved).want(t, exitUsage, "", "-generations, -during, -outside and -hz are for traces")
}
