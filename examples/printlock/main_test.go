package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/examples/internal/beforeafter"
)

// The lock is blamed before the repair and gets almost no blame after it. This does not depend on
// the load of the machine: a step writes to the terminal under the lock before the repair, and
// outside of it after.
func TestRepairRemovesTheBlame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profiles")
	o := options{compute: 100, print: 5 * time.Millisecond}
	opt := beforeafter.Options{Goroutines: 4, Time: 200 * time.Millisecond, Dir: dir, Unit: "steps"}
	var out bytes.Buffer
	results, err := beforeafter.Run(context.Background(), &out, o.variants(), opt)
	if err != nil {
		t.Fatal(err)
	}
	before, after := results[0], results[1]
	if !strings.HasSuffix(before.Worst, ".(*locked).Print") || before.Profile.Locks[0].Name != "terminal" {
		t.Errorf("to blame is %s at %s", before.Worst, before.Profile.Locks[0])
	}
	perStep := func(waited time.Duration, steps int64) time.Duration { return waited / time.Duration(max(1, steps)) }
	if b, a := perStep(before.Waited, before.Done), perStep(after.Waited, after.Done); b < 5*time.Millisecond || a > b/2 {
		t.Errorf("a step waited %v before, %v after", b, a)
	}
	for _, want := range []string{"── before: ", "── after: ", "(*locked).Print, ", "steps/s", "×1.00"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, name := range []string{"before.json", "before.pb.gz", "before.svg", "after.json", "after.pb.gz", "after.svg"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() == 0 {
			t.Error(name, err)
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := beforeafter.Run(cancelled, &out, o.variants(), opt); err == nil {
		t.Error("a cancelled run gave no error")
	}
}

// Both versions print the same lines.
func TestBothPrintTheSameLines(t *testing.T) {
	print := func(newLogger func(w *bytes.Buffer) logger) []string {
		var b bytes.Buffer
		l := newLogger(&b)
		var wg sync.WaitGroup
		for id := range 4 {
			wg.Go(func() {
				for n := range 50 {
					(&node{id, 1}).step(l, n)
				}
			})
		}
		wg.Wait()
		l.Close()
		lines := strings.SplitAfter(b.String(), "\n")
		slices.Sort(lines)
		return lines
	}
	a := print(func(w *bytes.Buffer) logger { return newLocked(w) })
	b := print(func(w *bytes.Buffer) logger { return newQueued(w) })
	if len(a) != 4*(38+12*3)+1 || !slices.Equal(a, b) {
		t.Errorf("%d and %d lines, or other ones", len(a), len(b))
	}
}
