package ledger

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The ledger of a window equals that of a pass with From and To, and the capacities of all windows
// sum to the whole.
func TestWindowsAreTheLedgersOfTheirTimes(t *testing.T) {
	traces := map[string][]byte{"locks and sleeps": recorded(t)}
	for _, name := range []string{"mutex-go1.26.8", "sys-go1.26.8", "gc-go1.26.8", "compute-go1.22.12"} {
		if b, err := os.ReadFile(filepath.Join("..", "testdata", "small", name+".trace")); err == nil {
			traces[name] = b
		}
	}
	if len(traces) < 3 {
		t.Fatal("the traces are not there")
	}
	for name, b := range traces {
		whole := ledgerOf(t, b, Options{})
		width := whole.Wall/5 + 1
		w, ledgers := NewWindows(Options{}, width)
		if _, err := timeline.Read(context.Background(), bytes.NewReader(b), timeline.Options{}, w); err != nil {
			t.Fatal(name, err)
		}
		if len(ledgers()) != 5 {
			t.Fatalf("%s: %d windows, want 5", name, len(ledgers()))
		}
		var sum time.Duration
		for i, got := range ledgers() {
			if err := got.CheckValid(); err != nil {
				t.Errorf("%s, window %d: %v", name, i, err)
			}
			sum += got.Capacity
			from := time.Duration(i) * width
			want := ledgerOf(t, b, Options{From: from, To: from + width})
			got.Pinned, want.Pinned = nil, nil // only want shows a thread that ran the same before
			if len(got.Rows) != len(want.Rows) {
				t.Errorf("%s, window %d: %d rows, want %d", name, i, len(got.Rows), len(want.Rows))
			}
			for k := range min(len(got.Rows), len(want.Rows)) {
				if !reflect.DeepEqual(got.Rows[k], want.Rows[k]) {
					t.Errorf("%s, window %d, row %d:\n%+v\nwant\n%+v", name, i, k, got.Rows[k], want.Rows[k])
					break
				}
			}
			got.Rows, want.Rows = nil, nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, window %d:\n%+v\nwant\n%+v", name, i, got, want)
			}
		}
		if sum != whole.Capacity {
			t.Errorf("%s: the windows have a capacity of %v, and the whole %v", name, sum, whole.Capacity)
		}
	}
}

// ledgerOf returns the ledger of a trace.
func ledgerOf(t *testing.T, trace []byte, opt Options) *Ledger {
	t.Helper()
	o := NewObserver(opt)
	if _, err := timeline.Read(t.Context(), bytes.NewReader(trace), timeline.Options{}, o); err != nil {
		t.Fatal(err)
	}
	return o.Ledger()
}

// recorded returns the trace of goroutines that compute, sleep and wait for a lock, each for less
// than a window.
func recorded(t *testing.T) []byte {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 20 {
				mu.Lock()
				if i == 0 {
					time.Sleep(time.Millisecond)
				}
				for end := time.Now().Add(200 * time.Microsecond); time.Now().Before(end); {
				}
				mu.Unlock()
				io.WriteString(io.Discard, "x")
				time.Sleep(500 * time.Microsecond)
			}
		})
	}
	wg.Wait()
	trace.Stop()
	return b.Bytes()
}
