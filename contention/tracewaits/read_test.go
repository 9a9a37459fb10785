package tracewaits

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

func mutexTrace(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "small", "mutex-go1.26.8.trace"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTraceCut: the readable part of a truncated trace is reported together with an error.
func TestTraceCut(t *testing.T) {
	whole := mutexTrace(t)
	full, err := Read(context.Background(), bytes.NewReader(whole), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, full)
	p, err := Read(context.Background(), bytes.NewReader(whole[:len(whole)*3/4]), Options{Name: "cut.trace"})
	var e *timeline.Error
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "cut.trace: ") || p == nil {
		t.Fatalf("%v, %v", p, err)
	}
	checkConservation(t, p)
	if w := strings.Join(p.Warnings, " "); !strings.Contains(w, "The trace could not be read to its end: cut.trace: ") {
		t.Errorf("%q", w)
	}
	if full.Bytes != int64(len(whole)-16) || full.Events < 100 || p.Bytes >= full.Bytes || p.Events >= full.Events {
		t.Errorf("%d events and %d of %d bytes, %d and %d of the readable part", full.Events, full.Bytes, len(whole), p.Events, p.Bytes)
	}
	if p.Duration > full.Duration {
		t.Errorf("%v of %v", p.Duration, full.Duration)
	}
}

func TestTraceNothingToRead(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"empty":     strings.NewReader(""),
		"foreign":   strings.NewReader("bnkevt\x00\x01 is another format, and long enough"),
		"no events": strings.NewReader("go 1.26 trace\x00\x00\x00"),
	} {
		if p, err := Read(context.Background(), r, Options{Name: name}); p != nil || err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if p, err := ReadFile(context.Background(), "no such file", Options{}); p != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", p, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, bytes.NewReader(mutexTrace(t)), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestTraceRuntime: the runtime's own goroutines are excluded.
func TestTraceRuntime(t *testing.T) {
	p, err := ReadFile(context.Background(), filepath.Join("..", "..", "testdata", "real", "json-gogc5.trace.zst"), Options{})
	if err != nil || len(p.Waits) == 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	checkConservation(t, p)
	for _, w := range p.Waits {
		if strings.HasPrefix(w.Waiter.Group, "runtime.gc") || strings.HasPrefix(w.Waiter.Group, "runtime.(*trace") || strings.HasPrefix(w.Waiter.Group, "runtime/trace.") {
			t.Errorf("%s waited %v for %v", w.Waiter.Group, w.Waited, w.Lock)
		}
	}
}

// BenchmarkTraceRead compares a pass with the analysis to one without.
func BenchmarkTraceRead(b *testing.B) {
	for _, name := range []string{"otel-old", "stdlog-file", "nethttp-parallel4"} {
		f, err := os.ReadFile(filepath.Join("..", "..", "testdata", "real", name+".trace.zst"))
		if err != nil {
			b.Fatal(err)
		}
		run := func(os func() []timeline.Observer) func(*testing.B) {
			return func(b *testing.B) {
				b.ReportAllocs()
				var events int64
				for range b.N {
					info, err := timeline.Read(context.Background(), bytes.NewReader(f), timeline.Options{}, os()...)
					if err != nil {
						b.Fatal(err)
					}
					events += info.Events
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
			}
		}
		b.Run(name+"/with", run(func() []timeline.Observer { return []timeline.Observer{NewObserver(Options{})} }))
		b.Run(name+"/without", run(func() []timeline.Observer { return nil }))
	}
}

// TestEventsAreThoseOfAllTime: a profile of a part of the time does not have the events of the rest.
func TestEventsAreThoseOfAllTime(t *testing.T) {
	for part, some := range map[string]bool{"": true, "gc": false} {
		opt := Options{Part: timeline.Part{During: part}}
		p, err := ReadFile(t.Context(), "../../testdata/real/nethttp-parallel4.trace.zst", opt)
		if err != nil || (p.Events > 0) != some || (p.Bytes > 0) != some {
			t.Errorf("%q: %d events in %v, %v", part, p.Events, p.Duration, err)
		}
	}
}
