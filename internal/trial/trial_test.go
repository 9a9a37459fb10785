package trial

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The speed-up of each round does not depend on which run was chosen.
func TestSpeedupsOfRounds(t *testing.T) {
	one := &Run{walls: []time.Duration{4 * time.Second, 6 * time.Second}}
	two := &Run{walls: []time.Duration{2 * time.Second, 4 * time.Second}}
	if got := two.speedups(one); !slices.Equal(got, []float64{2, 1.5}) {
		t.Errorf("%v, want 2 and 1.5", got)
	}
}

// What a benchmark does not time makes the speed-up of its run another one than that of its loop.
func TestUntimedPartOfABenchmark(t *testing.T) {
	run := func(width int, wall time.Duration, each float64) *Run {
		return &Run{Width: width, Wall: wall, ops: 10, each: each}
	}
	for _, tt := range []struct {
		single, multi *Run
		want          string
	}{
		{run(1, 2*time.Second, 1e8), run(2, 1500*time.Millisecond, 5e7), "By its ns/op, the benchmark is 2.00 times as fast with 2 processors. The stack also has what the benchmark does not time, such as its set-up: 50 % of the run on 1 processor, and 67 % of this one."},
		{run(1, 1010*time.Millisecond, 1e8), run(2, 510*time.Millisecond, 5e7), ""},
		{run(1, 2*time.Second, 0), run(2, time.Second, 0), ""}, // a program
	} {
		if got := tt.multi.untimed(tt.single); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestCommands(t *testing.T) {
	for _, tt := range []struct{ command, want string }{
		{"go test -bench X -benchtime 2s ./p", "go test -cpu=2 -trace=T -count=1 -benchtime=77x -o=tmp/scaled.test -bench X ./p"},
		{"go test -bench X -benchtime=9x ./p -args -count 3", "go test -cpu=2 -trace=T -count=1 -o=tmp/scaled.test -bench X -benchtime=9x ./p -args -count 3"},
		{"go test -C dir -bench X", "go test -C dir -cpu=2 -trace=T -count=1 -benchtime=77x -o=tmp/scaled.test -bench X"},
		{"go test -C=dir -bench X", "go test -C=dir -cpu=2 -trace=T -count=1 -benchtime=77x -o=tmp/scaled.test -bench X"},
		{"./p.test -test.bench X", "./p.test -test.cpu=2 -test.trace=T -test.count=1 -test.benchtime=77x -test.bench X"},
		{"./p -w {cpu} -t={trace}", "./p -w 2 -t=T"},
		{"go run ./p -bench {cpu}", "go run ./p -bench 2"},
	} {
		target, err := New(strings.Fields(tt.command))
		if err != nil {
			t.Fatal(err)
		}
		if err := target.fixWork(func(args []string) (string, error) {
			if slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "trace") }) {
				t.Errorf("%q is run with a trace before its work is known", args)
			}
			return "goos: linux\nBenchmarkX-2   \t      77\t  3 ns/op\nPASS\n", nil
		}, 2, "tmp"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(target.args(2, "T", "tmp"), " "); filepath.ToSlash(got) != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.command, got, tt.want)
		}
	}
	target, _ := New([]string{"x.test", "-test.bench=."})
	if err := target.fixWork(func([]string) (string, error) { return "BenchmarkA 1 2 ns/op\nBenchmarkB 3 4 ns/op\n", nil }, 1, ""); err == nil || !strings.Contains(err.Error(), "2 benchmarks match (BenchmarkA, BenchmarkB)") {
		t.Error(err)
	}
	// Empty output is not quoted.
	if err := target.fixWork(func([]string) (string, error) { return "\n", nil }, 1, ""); err == nil || err.Error() != "x.test -test.bench=.: no benchmark has run" {
		t.Error(err)
	}
}
