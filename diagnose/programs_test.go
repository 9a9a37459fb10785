package diagnose_test

import (
	"bytes"
	"context"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/causes"
)

// record returns the trace of a function.
func record(t *testing.T, f func()) []byte {
	t.Helper()
	runtime.GC()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	f()
	trace.Stop()
	return b.Bytes()
}

func verdict(t *testing.T, recorded []byte) *diagnose.Verdict {
	t.Helper()
	r, err := bottleneck.Analyze(context.Background(), bytes.NewReader(recorded), bottleneck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Ledger.CheckValid(); err != nil {
		t.Error(err)
	}
	return r.Verdict
}

// The first finding names the cause, and the function where it is.
func TestFirstFindingNamesTheCause(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	if procs < 2 {
		t.Skip("needs two processors")
	}
	for _, p := range causes.Programs {
		t.Run(strings.ReplaceAll(p.Name, " ", "-"), func(t *testing.T) {
			const tries = 4 // other programs may take the processors away
			for try := 1; ; try++ {
				v := verdict(t, record(t, func() { p.Run(procs) }))
				if names(v, p) {
					return
				}
				if try == tries {
					var b strings.Builder
					text.Verdict(&b, v, text.Options{Width: 100})
					t.Fatalf("want a %s in %s first:\n%s", p.Kind, p.Func, b.String())
				}
			}
		})
	}
}

func names(v *diagnose.Verdict, p causes.Program) bool {
	if len(v.Findings) == 0 {
		return false
	}
	f := &v.Findings[0]
	if p.Kind == string(diagnose.Leak) { // costs nothing, and so comes last
		f = &v.Findings[len(v.Findings)-1]
	}
	if string(f.Kind) != p.Kind {
		return false
	}
	if p.Func == "" {
		return true
	}
	for _, place := range f.Where {
		if strings.Contains(place.Func, "."+p.Func) || strings.Contains(place.Func, ")."+p.Func) {
			return true
		}
	}
	return false
}
