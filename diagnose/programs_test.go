package diagnose_test

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/causes"
	"github.com/bottleneck-go/bottleneck/speedup/schedstat"
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
	programs := causes.Programs
	if raceEnabled {
		programs = programs[:8] // the race detector has little to do here, and is slow
	}
	for _, p := range programs {
		t.Run(strings.ReplaceAll(p.Name, " ", "-"), func(t *testing.T) {
			// Other programs may take the processors away: then what the trace shows is their doing, too. And they may make
			// waking up slow: then it is enough if the cause is among the findings.
			const tries = 6
			missed, among := 0, 0
			var v *diagnose.Verdict
			for range tries {
				before, begin := delayed(), time.Now()
				recorded := record(t, func() { p.Run(procs) })
				disturbed := delayed()-before > time.Since(begin)*time.Duration(procs)/10
				last := verdict(t, recorded)
				switch at := found(last, p); {
				case at == 0:
					return
				case at > 0:
					among++
				case !disturbed:
					missed++
					v = last
				}
			}
			if missed > 0 {
				var b strings.Builder
				text.Verdict(&b, v, text.Options{Width: 100})
				t.Fatalf("want a %s in %s first:\n%s", p.Kind, p.Func, b.String())
			}
			t.Logf("a %s in %s was among the findings %d times, and never the first; else other programs took the processors away", p.Kind, p.Func, among)
		})
	}
}

// delayed returns for how long threads of this process were ready and had no processor; 0 where the system does not say.
func delayed() time.Duration {
	times, _ := schedstat.Read(os.Getpid())
	return times.Delay
}

// found returns where the cause of a program is among the findings, negative if it is not. Causes that cost
// nothing are not the first.
func found(v *diagnose.Verdict, p causes.Program) int {
	for i := range v.Findings {
		f := &v.Findings[i]
		if string(f.Kind) != p.Kind || !at(f, p.Func) {
			continue
		}
		if f.Lost == 0 {
			return 0
		}
		return i
	}
	return -1
}

// at reports whether a finding names a function.
func at(f *diagnose.Finding, fn string) bool {
	for _, place := range f.Where {
		if strings.Contains(place.Func, "."+fn) {
			return true
		}
	}
	return fn == "" || strings.Contains(f.Title, "."+fn+" ")
}
