package memory

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]int64{
		"2GB": 2e9, "512MB": 512e6, "2GiB": 2 << 30, "1.5GiB": 3 << 29, "64MiB": 64 << 20, "800000000": 8e8, "300kB": 3e5, "1TB": 1e12, "2G": 2e9, "2gb": -1,
		"": -1, "GB": -1, "-1GB": -1, "0": -1, "0GB": -1, "2 GB": -1, "2XB": -1, "NaN": -1, "Inf": -1, "1e300GB": -1, "2GBGB": -1, "half": -1,
	} {
		got, err := Parse(s)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
}

func TestText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 100_000: "100 kB", 2e9: "2 GB", 2.5e9: "2.5 GB", 512e6: "512 MB", 1 << 30: "1.07 GB", 12_345_678: "12.3 MB", 999_999_999: "1 GB"} {
		if got := Text(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestMeterCountsLiveMemory: live memory is counted, garbage is not.
func TestMeterCountsLiveMemory(t *testing.T) {
	const limit = 64 << 20
	garbage = nil
	runtime.GC()
	m := NewMeter(limit)
	for i := range 400 {
		garbage = make([]byte, 1<<20)
		if m.Exceeded() {
			t.Fatalf("exceeded by garbage after %d MB", i)
		}
	}
	var kept [][]byte
	for !m.Exceeded() {
		if kept = append(kept, make([]byte, 1<<20)); len(kept) > 64 {
			t.Fatal("64 MB live, and the meter has not noticed")
		}
	}
	if len(kept) < 32 {
		t.Errorf("exceeded by %d MB", len(kept))
	}
	runtime.KeepAlive(kept)
	if none := NewMeter(-1); none.Exceeded() {
		t.Error("no limit is exceeded")
	}
}

var garbage []byte

// TestRoom: a table fits while it and the live memory are below the limit.
func TestRoom(t *testing.T) {
	garbage = nil
	runtime.GC()
	m := NewMeter(64 << 20)
	if !m.Room(40<<20) || m.Room(65<<20) {
		t.Error("an empty meter of 64 MB has room for 40 MB, not for 65")
	}
	kept := make([]byte, 32<<20)
	if m.Room(40<<20) || !m.Room(20<<20) {
		t.Error("beside 32 MB there is room for 20 MB, not for 40")
	}
	runtime.KeepAlive(kept)
}

func BenchmarkExceeded(b *testing.B) {
	m := NewMeter(1 << 40)
	for b.Loop() {
		m.Exceeded()
	}
}

func TestDefaultIsHalf(t *testing.T) {
	if n := total(); n > 0 && Default() != n/2 && n > 2*Least && n < 1<<40 && Default() != 1e9 {
		t.Errorf("default %d of %d", Default(), n)
	}
}

// TestNextPassDoesNotCountTheOneBefore: memory of an ended pass does not count as memory that
// lived before the next pass, although the collector found it alive.
func TestNextPassDoesNotCountTheOneBefore(t *testing.T) {
	runtime.GC()
	m := NewMeter(Least)
	held := make([]byte, 64<<20)
	held[len(held)-1] = 1
	runtime.GC()
	runtime.KeepAlive(held)
	m.End()
	if next := m.Next(); next.base > m.base {
		t.Errorf("%d bytes are taken to live, %d did", next.base, m.base)
	}
	held = nil
	runtime.GC()
	runtime.GC()
	if next := m.Next(); next.base > m.base+1<<20 {
		t.Errorf("after two collections, %d bytes are taken to live, %d did", next.base, m.base)
	}
	if (*Meter)(nil).Next() != nil {
		t.Error("no limit became one")
	}
}

// A small heap may double between two collections, a large one grows by a bounded amount, a huge
// one by a quarter. Any other GOGC than the default stays.
func TestPace(t *testing.T) {
	for _, tt := range []struct {
		live int64
		want int
	}{{0, 100}, {pacedGarbage, 100}, {2 * pacedGarbage, 50}, {4 * pacedGarbage, 25}, {1 << 40, 25}} {
		if got := pacedPercent(tt.live); got != tt.want {
			t.Errorf("%d bytes live: GOGC %d, want %d", tt.live, got, tt.want)
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	held := make([]byte, 2*pacedGarbage)
	pace := Pace()
	runtime.GC()
	pace()
	if got := debug.SetGCPercent(70); got > 55 {
		t.Errorf("GOGC is %d with %d bytes live", got, lived())
	}
	Pace()()
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("a GOGC of 70 became %d", got)
	}
	runtime.KeepAlive(held)
}
