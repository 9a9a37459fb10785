package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/bottleneck-go/bottleneck/examples/internal/advised"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// The program works as described, in any time.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pmd.json")
	var b strings.Builder
	if err := advised.Run(&b, example(570), advised.Options{Runs: 3, JSON: file}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"570 tasks of 1 class", ".checkAll (main.go:"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if !strings.Contains(b.String(), "Speed-up: ") && !strings.Contains(b.String(), "nothing to change") {
		t.Errorf("no result:\n%s", b.String())
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p, err := granularity.ReadJSON(f); err != nil || !slices.ContainsFunc(p.Classes, func(c granularity.Class) bool { return c.Executions() == 570 }) {
		t.Errorf("%v: %v", err, p)
	}
}

func TestViolations(t *testing.T) {
	for file, want := range map[string]int{"": 0, "a {\n}\n": 0, "a \n": 1, "}\n": 1, "{{\n": 2, strings.Repeat("x", 50) + "\n": 1} {
		if got := violations(file); got != want {
			t.Errorf("%q has %d violations; want %d", file, got, want)
		}
	}
	files := sources(57)
	want, _ := checkAll(files, 1, new(errgroup.Group))
	for _, each := range []int{2, 10, 57, 100} {
		if got, _ := checkAll(files, each, new(errgroup.Group)); got != want || want == 0 {
			t.Errorf("%d files a task: %d violations; want %d", each, got, want)
		}
	}
}
