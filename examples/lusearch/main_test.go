package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/examples/internal/advised"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// The program works as described, whatever else the machine does.
func TestRun(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor")
	}
	file := filepath.Join(t.TempDir(), "lusearch.json")
	var b strings.Builder
	if err := advised.Run(&b, example(500), advised.Options{Runs: 3, JSON: file}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "Speed-up: ") && !strings.Contains(b.String(), "nothing to change") || !strings.Contains(b.String(), "searchAll (main.go:") {
		t.Errorf("no result:\n%s", b.String())
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p, err := granularity.ReadJSON(f); err != nil || p.Classes[0].Executions() != uint64(runtime.GOMAXPROCS(0)) || p.Classes[0].Tasks == 0 {
		t.Errorf("%v: %v", err, p)
	}
}

// Every number of tasks finds the same hits as counting does.
func TestSearch(t *testing.T) {
	x := newIndex()
	queries := x.queries(30)
	want := 0
	for _, q := range queries {
		in := map[uint32]int{}
		for _, w := range q {
			for _, d := range x.postings[w] {
				in[d]++
			}
		}
		for _, n := range in {
			if n == 3 {
				want++
			}
		}
	}
	for _, tasks := range []int{1, 2, 7, 30, 50} {
		if got, err := x.searchAll(queries, tasks, &granularity.Group{}); err != nil || got != want || want == 0 {
			t.Errorf("%d tasks: %d hits, %v; want %d", tasks, got, err, want)
		}
	}
}
