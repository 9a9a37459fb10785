package diagnose_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/ledger"
)

// Who runs alone in C code, or in short system calls, is limited by these.
func TestAloneInCalls(t *testing.T) {
	at := ledger.Place{Func: "main.fetch", File: "/src/main.go", Line: 16}
	for _, tt := range []struct {
		ran   ledger.Category
		kind  diagnose.Kind
		title string
	}{
		{ledger.C, diagnose.Cgo, "C code at main.fetch main.go:16 left 50% of the capacity idle: no others ran beside main.main, which calls it."},
		{ledger.Syscall, diagnose.Syscalls, "System calls at main.fetch main.go:16 held processors for 40% of the capacity (40,000 calls of 20 µs); while main.main ran alone, the other processors had nothing to do for 50%."},
		{ledger.Code, diagnose.Serial, "While main.main ran alone, the other processors had nothing to do: 50% of the capacity."},
	} {
		l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
			{Category: ledger.NoWork, Meanwhile: "main.main", Time: time.Second, Count: 1},
			{Category: tt.ran, Group: "main.main", Site: at, Time: 800 * time.Millisecond, Count: 40_000},
			{Category: ledger.Code, Group: "main.main", Site: at, Time: 200 * time.Millisecond, Count: 40_000},
		}}
		if err := l.CheckValid(); err != nil {
			t.Fatal(err)
		}
		f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
		if f.Kind != tt.kind || f.Title != tt.title || len(f.Where) == 0 || f.Where[0] != at {
			t.Errorf("%s: got %s: %s %v", tt.ran, f.Kind, f.Title, f.Where)
		}
		if tt.kind != diagnose.Serial && (f.Gain != 0 || !strings.Contains(f.Basis, "more")) {
			t.Errorf("%s: fewer calls gain more, and the gain is %v, %q", tt.ran, f.Gain, f.Basis)
		}
	}
}

// Goroutines that are too short to show a call chain have the line at which they are started.
func TestShortGoroutinesHaveALine(t *testing.T) {
	start := ledger.Place{Func: "main.start", File: "/src/main.go", Line: 7}
	l := &ledger.Ledger{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Rows: []ledger.Row{
		{Category: ledger.Code, Group: "main.start.func1", Time: time.Second, Count: 100},
		{Category: ledger.NoWork, Meanwhile: "main.start.func1", Time: 900 * time.Millisecond, Count: 1},
		{Category: ledger.Idle, Group: "main.start.func1", Site: start, Wait: "created", Waker: "main.main", Meanwhile: ledger.Nobody, Time: 100 * time.Millisecond, Count: 100},
	}}
	if err := l.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]; f.Kind != diagnose.Serial || len(f.Where) == 0 || f.Where[0] != start {
		t.Errorf("got %s: %s %v", f.Kind, f.Title, f.Where)
	}
}
