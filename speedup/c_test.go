package speedup

import (
	"context"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestWorkersInCRun: lanes of workers that compute in C, 1 s of processor time each, are neither
// in system calls nor blocked.
func TestWorkersInCRun(t *testing.T) {
	const file = "../testdata/small/cgo-go1.26.8.trace"
	workers, err := parseSelector("main.computing")
	if err != nil {
		t.Fatal(err)
	}
	o := newObserver(Options{by: workers, N: 2})
	info, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, o)
	if err != nil {
		t.Fatal(err)
	}
	a := o.Account()
	if run := a.Time[Run]; run*100 < 2*a.Wall*98 || a.Time[Syscall] != 0 || a.Time[IOSyscall] != 0 {
		t.Errorf("of 2 · %v: running %v, in system calls %v and %v", a.Wall, run, a.Time[Syscall], a.Time[IOSyscall])
	}
	if w := strings.Join(info.Warnings(nil), " "); !strings.Contains(w, "C code") {
		t.Errorf("warnings: %q", w)
	}
}
