package counters

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// TestStart: a session of a program that allocates has the levels and allocations of the runtime.
func TestStart(t *testing.T) {
	s, err := begin(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var keep [][]byte
	for range 400 {
		keep = append(keep, make([]byte, 100<<10))
		time.Sleep(100 * time.Microsecond)
	}
	runtime.KeepAlive(keep)
	r, err := quanta.Stop(t.Context(), s.stopTo, quanta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkTable(t, r)
	if c := r.Counter("heap-allocs"); c == nil || c.Total < 40_000_000 || c.Total > 400_000_000 || c.Accuracy != quanta.Interpolated {
		t.Errorf("heap-allocs: %+v", c)
	}
	if c := r.Counter("goroutines"); c == nil || !c.Level {
		t.Errorf("goroutines: %+v", c)
	}
	for _, name := range DefaultCounters() {
		if r.Counter(name) == nil && !strings.Contains(strings.Join(r.Warnings, "\n"), name) {
			t.Errorf("%s is missing without a warning: %q", name, r.Warnings)
		}
	}
	if err := s.stopTo(io.Discard); err != ErrStopped {
		t.Errorf("a second Stop: %v", err)
	}
}

// TestStartRefuses: invalid options are errors that state valid ones.
func TestStartRefuses(t *testing.T) {
	if _, err := begin(Options{Counters: []string{"cycle"}}); err == nil || !strings.Contains(err.Error(), "instructions") {
		t.Errorf("a counter that there is not: %v", err)
	}
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if _, err := begin(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second trace: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	trace.Stop()
	s, err := begin(Options{Dir: dir, Counters: []string{"task-clock", "heap-allocs"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := quanta.Stop(t.Context(), s.stopTo, quanta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkTable(t, r)
	if r.Counter("heap-allocs") == nil {
		t.Error("no heap-allocs")
	}
	if err := s.stopTo(io.Discard); err != ErrStopped {
		t.Errorf("a second time: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestUnknownDevice: an event that this system does not list gives a warning, not an error.
func TestUnknownDevice(t *testing.T) {
	s, err := begin(Options{Counters: []string{"nosuchdevice/event", "minor-faults"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := quanta.Stop(t.Context(), s.stopTo, quanta.Options{})
	if err != nil || !strings.Contains(strings.Join(r.Warnings, "\n"), "nosuchdevice/event: not counted") {
		t.Errorf("%v, %q", err, r.Warnings)
	}
}

// TestTooManyRecords: if the bound is too low, the error includes the records that exist, and the
// table still sums up.
func TestTooManyRecords(t *testing.T) {
	s, err := begin(Options{Counters: []string{"task-clock", "minor-faults"}, MaxBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	if s.c.sampler == nil {
		s.stopTo(io.Discard)
		t.Skip(s.c.meta.Warnings)
	}
	for range 50 {
		time.Sleep(time.Millisecond)
	}
	r, err := quanta.Stop(t.Context(), s.stopTo, quanta.Options{})
	if err == nil || !strings.Contains(err.Error(), "100 bytes") || errors.Is(err, ErrStopped) {
		t.Errorf("%v", err)
	}
	checkTable(t, r)
}

func TestPlan(t *testing.T) {
	p, warnings, err := newPlan([]string{"faults", " tsc", "switches", "minor-faults", "", "goroutines"})
	if err != nil || len(p.hits) != 2 || len(p.switched) != 2 || len(p.metrics) != 1 || len(p.group)+len(warnings) != 1 {
		t.Errorf("%+v, %q, %v", p, warnings, err)
	}
	if p, _, _ := newPlan([]string{}); p.sampled() || p.metrics != nil {
		t.Errorf("nothing was asked for: %+v", p)
	}
	for _, name := range KnownCounters() {
		if _, _, err := newPlan([]string{name}); err != nil {
			t.Error(err)
		}
	}
}

// If the clock is set back during a recording, the readings of the runtime's metrics stay in
// order.
func TestMetricsWhileTheClockIsSet(t *testing.T) {
	r := newMetricReader([]string{"goroutines"})
	// The first word of a time with a monotonic reading has one flag bit, 33 bits of seconds
	// and 30 of nanoseconds.
	const hour = 3600 << 30
	*(*uint64)(unsafe.Pointer(&r.start)) += hour
	if d := time.Until(r.start); d > 0 {
		t.Skipf("times are otherwise in this Go: %v", d)
	}
	before := r.start.UnixNano()
	for range 3 {
		r.read()
		at := r.samples[len(r.samples)-1].Wall
		if at < before {
			t.Errorf("a reading %v before the one before it", time.Duration(before-at))
		}
		before = at
	}
}

// BenchmarkMetrics measures a reading of the runtime's metrics.
func BenchmarkMetrics(b *testing.B) {
	r := newMetricReader([]string{"goroutines", "heap-allocs"})
	for b.Loop() {
		r.read()
		r.samples = r.samples[:0]
	}
}

// Everything listed as counted is counted. The rest has a reason.
func TestList(t *testing.T) {
	list := List().Rows
	var names []string
	for _, a := range list {
		if a[2].Text == "" {
			names = append(names, a[0].Text)
		}
		if a[1].Text == "" {
			t.Errorf("%+v", a)
		}
	}
	if len(list) < 20 || len(names) < 3 {
		t.Fatalf("%d can be counted, of %d", len(names), len(list))
	}
	s, err := begin(Options{Counters: names})
	if err != nil {
		t.Fatal(err)
	}
	r, err := quanta.Stop(t.Context(), s.stopTo, quanta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if r.Counter(name) == nil {
			t.Errorf("%s is listed as counted, but was not: %q", name, r.Warnings)
		}
	}
}
