package main

import (
	"context"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

func TestGeometricMean(t *testing.T) {
	if g := geometricMean("goos: linux\nBenchmarkA-2   \t 1000\t       50.0 ns/op\t 3 B/op\nBenchmarkB \t 10 \t 200 ns/op\nBenchmarkC 1 0 ns/op\nBenchmarkD\nPASS\n"); math.Abs(g-1e7) > 1 {
		t.Errorf("%v, want the mean of 2e7 and 5e6", g)
	}
	if g := geometricMean("PASS\n"); !math.IsNaN(g) {
		t.Errorf("%v of nothing", g)
	}
}

// Each variant runs once a round. No variant is always first or always follows the same one.
func TestEachVariantRunsOnceARound(t *testing.T) {
	var ran []int
	s := subject{begin: func(context.Context, string) (func(context.Context, int) (float64, error), func(), error) {
		return func(_ context.Context, v int) (float64, error) {
			ran = append(ran, v)
			return []float64{100, 100, 90}[v], nil
		}, func() {}, nil
	}}
	again, ours, err := s.turns(t.Context(), "", 6)
	if err != nil || len(ours) != 6 || again[5] != 1 || math.Abs(ours[0]-0.9) > 1e-12 {
		t.Errorf("%v %v %v", again, ours, err)
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

func TestExamplesDoSomething(t *testing.T) {
	for _, s := range examples(5 * time.Millisecond) {
		again, ours, err := s.turns(t.Context(), "", 6)
		if err != nil || len(again) != 6 || len(ours) != 6 || !(ours[0] > 0) {
			t.Errorf("%s: %v, %v, %v", s.name, again, ours, err)
		}
	}
	if err := contention.Stop(); err != contention.ErrNotStarted {
		t.Errorf("collection was left on: %v", err)
	}
}

// Without a network and with an empty cache, the error states the cause.
func TestDownloadOffline(t *testing.T) {
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	_, _, err := libraries(1)[0].begin(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "check the network") {
		t.Errorf("%v", err)
	}
}

func TestReplaceLocks(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "p.go")
	for _, tt := range []struct{ src, want, never string }{
		{"// Package p.\npackage p\n\nimport (\n\t\"fmt\"\n\t\"sync\"\n)\n\ntype T struct{ mu sync.RWMutex }\n\nvar _ = fmt.Sprint\n", "mu contention.RWMutex", "sync.RWMutex"},
		{"package p\n\nimport \"sync\"\n\nvar mu sync.Mutex\nvar once sync.Once\n", "mu contention.Mutex\nvar once sync.Once", "sync.Mutex"},
	} {
		if err := os.WriteFile(name, []byte(tt.src), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := replaceLocks(dir); err != nil {
			t.Fatal(err)
		}
		out, err := os.ReadFile(name)
		if _, parseErr := parser.ParseFile(token.NewFileSet(), name, out, 0); err != nil || parseErr != nil {
			t.Errorf("%v, %v\n%s", err, parseErr, out)
		}
		if s := string(out); !strings.Contains(s, tt.want) || !strings.Contains(s, wrappers) || strings.Contains(s, tt.never) {
			t.Errorf("%s", s)
		}
		os.Remove(name)
	}
	if err := replaceLocks(dir); err == nil {
		t.Error("no error for a folder without locks")
	}
}
