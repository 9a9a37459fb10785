package tracewaits

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/contention"
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

// readTrace returns the profile of all that can be read of a trace.
func readTrace(r io.Reader, opt Options) (*contention.Profile, error) {
	o := NewObserver(opt)
	_, err := timeline.Read(context.Background(), r, timeline.Options{}, o)
	return o.Profile(), err
}

// readFile is readTrace for a file.
func readFile(name string, opt Options) (*contention.Profile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readTrace(f, opt)
}

// TestTraceCut: the profile of the readable part of a truncated trace is consistent.
func TestTraceCut(t *testing.T) {
	whole := mutexTrace(t)
	full, err := readTrace(bytes.NewReader(whole), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, full)
	p, err := readTrace(bytes.NewReader(whole[:len(whole)*3/4]), Options{})
	if e := (*timeline.Error)(nil); !errors.As(err, &e) {
		t.Fatal(err)
	}
	checkConservation(t, p)
	if p.Duration > full.Duration {
		t.Errorf("%v of %v", p.Duration, full.Duration)
	}
}

// TestTraceRuntime: the runtime's own goroutines are excluded.
func TestTraceRuntime(t *testing.T) {
	p, err := readFile(filepath.Join("..", "..", "testdata", "real", "json-gogc5.trace.zst"), Options{})
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
