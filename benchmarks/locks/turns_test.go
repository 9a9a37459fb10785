package main

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

func TestParse(t *testing.T) {
	s := parse("goos: linux\nBenchmarkA-2   \t 1000\t       50.0 ns/op\t 3 B/op\nBenchmarkB \t 10 \t 200 ns/op\nBenchmarkC 1 0 ns/op\nBenchmarkD\nPASS\n")
	if len(s) != 2 || s["BenchmarkA-2"] != 2e7 || s["BenchmarkB"] != 5e6 {
		t.Errorf("%v", s)
	}
	if s := parse("BenchmarkA 1 10 ns/op\nBenchmarkA 1 900 ns/op\nBenchmarkA 1 20 ns/op\n"); s["BenchmarkA"] != 5e7 {
		t.Errorf("of three runs: %v, want the median", s)
	}
}

func TestRatio(t *testing.T) {
	if r := ratio(speeds{"a": 2, "b": 2, "only": 9}, speeds{"a": 1, "b": 4}); math.Abs(r-1) > 1e-12 {
		t.Errorf("%v", r)
	}
}

// Each variant runs once a round. No variant is always first or always follows the same one.
func TestEachVariantRunsOnceARound(t *testing.T) {
	var ran []int
	s := subject{run: func(_ context.Context, _, v int) (speeds, error) {
		ran = append(ran, v)
		return speeds{"x": []float64{100, 100, 90}[v]}, nil
	}}
	again, ours, err := s.turns(t.Context(), 6)
	if err != nil || len(ours.ratios) != 6 || again.ratios[5] != 1 || math.Abs(ours.ratios[0]-0.9) > 1e-12 || math.Abs(ours.best-0.9) > 1e-12 || again.best != 1 {
		t.Errorf("%v %v %v", again, ours, err)
	}
	if e := ours.each["x"]; len(e) != 6 || e[5] != ours.ratios[5] || ours.bestOf["x"] != ours.best {
		t.Errorf("by benchmark %v, best %v", ours.each, ours.bestOf)
	}
	first, follows := map[int]int{}, map[[2]int]int{}
	for i := 0; i < len(ran); i += variants {
		first[ran[i]]++
		follows[[2]int{ran[i], ran[i+1]}]++
		follows[[2]int{ran[i+1], ran[i+2]}]++
	}
	for pair, n := range follows {
		if n != 2 {
			t.Errorf("%d follows %d %d times", pair[1], pair[0], n)
		}
	}
	if len(ran) != 18 || first[original] != 2 || first[originalAgain] != 2 || first[wrapped] != 2 {
		t.Errorf("ran %v", ran)
	}
}

func TestOwnSubjectsDoSomething(t *testing.T) {
	for _, s := range ownSubjects(5 * time.Millisecond) {
		again, ours, err := s.turns(t.Context(), 6)
		if err != nil || len(again.each[s.name]) != 6 || len(ours.each[s.name]) != 6 || ours.best <= 0 {
			t.Errorf("%s: %v, %v, %v", s.name, again, ours, err)
		}
	}
	if err := contention.Stop(); err != contention.ErrNotStarted {
		t.Errorf("collection was left on: %v", err)
	}
}

// The process that keeps the processors busy exits at the end of its input.
func TestKeepBusyEnds(t *testing.T) {
	r, w := io.Pipe()
	done := make(chan struct{})
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	go func() {
		keepBusy(r)
		close(done)
	}()
	w.Close()
	<-done
}

// Without a network and with an empty cache, the error states the cause.
func TestDownloadOffline(t *testing.T) {
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	_, err := libraries[0].download(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "check the network") {
		t.Errorf("%v", err)
	}
}

func TestCopyTree(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(from, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "a/b/c.go"), []byte("package c"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "a/b/c.go"), nil, 0o644); err != nil {
		t.Errorf("the copy cannot be changed: %v", err)
	}
}

func TestMedianOf(t *testing.T) {
	if got, want := medianOf([]float64{6, 5, 4, 3, 2, 1}), "3.500  [1.000, 6.000]"; got != want { // P(all on one side) = 2/64
		t.Errorf("%s, want %s", got, want)
	}
}

func TestGeometricMean(t *testing.T) {
	if g := geometricMean([]float64{2, 0.5}); math.Abs(g-1) > 1e-12 {
		t.Errorf("geometric mean %v", g)
	}
}
