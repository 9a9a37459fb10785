package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// The program works as described, in any time.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pmd.json")
	var b strings.Builder
	if err := (options{files: 570, runs: 3, json: file}).run(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"570 tasks of 1 class", ".checkAll (check.go:"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if !strings.Contains(b.String(), "Speed-up: ") && !strings.Contains(b.String(), "nothing to merge") {
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
	want := checkAll(files, 1, newPlain())
	for _, each := range []int{2, 10, 57, 100} {
		if got := checkAll(files, each, newPlain()); got != want || want == 0 {
			t.Errorf("%d files a task: %d violations; want %d", each, got, want)
		}
	}
}
