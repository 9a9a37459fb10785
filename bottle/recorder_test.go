package bottle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime/trace"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// started returns a started recorder, or skips the test.
func started(t *testing.T, r *Recorder) *Recorder {
	t.Helper()
	if err := r.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(r.Stop)
	return r
}

// recorded returns the graph of what the recorder holds.
func recorded(r *Recorder) (*Graph, error) {
	var buf bytes.Buffer
	if _, err := r.WriteTo(&buf); err != nil {
		return nil, err
	}
	return ReadTrace(context.Background(), &buf, Options{})
}

// keepBusy runs two goroutines until the test ends. One waits for the other.
func keepBusy(t *testing.T) {
	stop := make(chan struct{})
	c := make(chan int)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case c <- 1:
				time.Sleep(100 * time.Microsecond)
			case <-stop:
				return
			}
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-c:
			case <-stop:
				return
			}
		}
	})
	t.Cleanup(func() { close(stop); wg.Wait() })
}

func TestRecorder(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("snapshot", func(t *testing.T) {
		keepBusy(t)
		var r Recorder // the zero value
		if r.Enabled() || r.Window() != 5*time.Second {
			t.Error("enabled before Start, or another window than 5 s")
		}
		if _, err := recorded(&r); !errors.Is(err, ErrRecorderStopped) {
			t.Errorf("snapshot before Start: %v", err)
		}
		if err := r.Start(); err != nil {
			t.Skip(err)
		}
		defer r.Stop()
		if err := r.Start(); err != nil || !r.Enabled() {
			t.Errorf("Start again: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
		g, err := recorded(&r)
		if err != nil {
			t.Fatal(err)
		}
		checkSum(t, g)
		if g.Wall < 40*time.Millisecond || len(g.Boxes) == 0 {
			t.Errorf("%v, %d boxes", g.Wall, len(g.Boxes))
		}
		var buf bytes.Buffer
		if n, err := r.WriteTo(&buf); err != nil || n != int64(buf.Len()) {
			t.Fatalf("WriteTo: %d of %d, %v", n, buf.Len(), err)
		}
		r.Stop()
		r.Stop()
		if _, err := r.WriteTo(io.Discard); !errors.Is(err, ErrRecorderStopped) {
			t.Errorf("WriteTo after Stop: %v", err)
		}
		if err := r.Start(); err != nil {
			t.Errorf("Start after Stop: %v", err)
		}
	})
}

func TestRecorderFaults(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("another flight recorder runs", func(t *testing.T) {
		flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
		if err := flight.Start(); err != nil {
			t.Skip(err)
		}
		defer flight.Stop()
		var r Recorder
		if err := r.Start(); !errors.Is(err, ErrBusy) || r.Enabled() {
			t.Errorf("Start: %v", err)
		}
		r2 := &Recorder{Source: flight}
		time.Sleep(time.Millisecond)
		if g, err := recorded(r2); err != nil || g == nil || !r2.Enabled() {
			t.Errorf("of the other: %v, %v", g, err)
		}
		r2.Stop()
		if _, err := recorded(r2); !errors.Is(err, ErrRecorderStopped) || !flight.Enabled() {
			t.Errorf("after Stop: %v; the other runs: %v", err, flight.Enabled())
		}
		flight.Stop()
		if err := r2.Start(); err != nil {
			t.Error(err)
		}
		if _, err := recorded(r2); !errors.Is(err, ErrRecorderStopped) {
			t.Errorf("the other was stopped: %v", err)
		}
	})
	t.Run("another trace is running", func(t *testing.T) {
		if err := trace.Start(io.Discard); err != nil {
			t.Skip(err)
		}
		defer trace.Stop()
		r := started(t, &Recorder{})
		time.Sleep(2 * time.Millisecond)
		if g, err := recorded(r); err != nil || g == nil {
			t.Errorf("%v, %v", g, err)
		}
	})
	t.Run("stopped twice", func(t *testing.T) {
		r := started(t, &Recorder{})
		trace.Stop() // although only the flight recorder traced
		if trace.IsEnabled() {
			t.Skip("the runtime prevents it")
		}
		if _, err := recorded(r); !errors.Is(err, ErrRecorderStopped) || r.Enabled() {
			t.Errorf("snapshot: %v; enabled: %v", err, r.Enabled())
		}
		if err := r.Start(); err != nil || !r.Enabled() || !trace.IsEnabled() {
			t.Errorf("Start again: %v; enabled: %v", err, r.Enabled())
		}
		time.Sleep(2 * time.Millisecond)
		if g, err := recorded(r); err != nil || g == nil {
			t.Errorf("then: %v, %v", g, err)
		}
	})
	t.Run("panics", func(t *testing.T) {
		r := &Recorder{Source: panicking{}}
		for range 2 { // and the recorder is free again
			if _, err := r.WriteTo(io.Discard); err == nil || !strings.Contains(err.Error(), "source") {
				t.Error(err)
			}
		}
	})
	t.Run("the disk is full", func(t *testing.T) {
		r := started(t, &Recorder{})
		disk := fullDisk(100)
		if n, err := r.WriteTo(&disk); n != 100 || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%d bytes, %v", n, err)
		}
		if n, err := r.WriteTo(io.Discard); n <= 100 || err != nil {
			t.Errorf("afterwards: %d bytes, %v", n, err)
		}
	})
}

// fullDisk accepts some bytes and then none.
type fullDisk int

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), int(*d))
	*d -= fullDisk(n)
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

type panicking struct{}

func (panicking) WriteTo(io.Writer) (int64, error) { panic("source") }

// TestRecorderConcurrentSnapshots: each of ten concurrent snapshots gets a graph or ErrBusy, also
// while the recorder is stopped and started.
func TestRecorderConcurrentSnapshots(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r := started(t, &Recorder{})
	defer r.Stop()
	time.Sleep(5 * time.Millisecond)
	var mu sync.Mutex
	counts := map[string]int{}
	round := func(during func()) {
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				g, err := recorded(r)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, ErrBusy):
					counts["busy"]++
				case errors.Is(err, ErrRecorderStopped):
					counts["stopped"]++
				case g == nil:
					counts["else"]++
					t.Errorf("neither a graph nor a known error: %v", err)
				default:
					counts["graph"]++
				}
			})
		}
		during()
		wg.Wait()
	}
	round(func() {})
	if counts["graph"] == 0 || counts["stopped"] != 0 {
		t.Errorf("%v", counts)
	}
	for range 5 {
		round(func() { r.Stop() })
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if counts["graph"]+counts["busy"]+counts["stopped"] != 60 {
		t.Errorf("%v", counts)
	}
}
