package timeline_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// TailOffset finds a trace that covers the requested time with little more than one generation in
// addition, ends where the whole ends, and has the generations that a reader of the whole sees
// last.
func TestTail(t *testing.T) {
	whole := longTrace(t)
	info, err := timeline.Read(context.Background(), bytes.NewReader(whole), timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Generations < 3 {
		t.Fatalf("%d generations do not test much", info.Generations)
	}
	last := info.Generations + 1
	for d := info.Duration() + time.Hour; d > 0; d = d*2/3 - 1 {
		tail := tailOf(whole, d)
		got, err := timeline.Read(context.Background(), bytes.NewReader(tail), timeline.Options{})
		if err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		if got.Duration() < min(d, info.Duration()) {
			t.Errorf("%v: covers %v", d, got.Duration())
		}
		if got.End != info.End {
			t.Errorf("%v: ends at %v, not at %v", d, got.End, info.End)
		}
		if got.Generations > last {
			t.Errorf("%v: %d generations, more than for a longer time", d, got.Generations)
		}
		last = got.Generations
	}
	if last != 1 {
		t.Errorf("a nanosecond takes %d generations", last)
	}
	if tail := tailOf(whole, info.Duration()+time.Hour); !bytes.Equal(tail, whole) {
		t.Error("a longer time than there is does not give all")
	}
}

// tailOf returns the end of a trace that TailOffset finds.
func tailOf(trace []byte, d time.Duration) []byte {
	off := timeline.TailOffset(io.NewSectionReader(bytes.NewReader(trace), 0, int64(len(trace))), d)
	if off >= int64(len(trace)) {
		return trace
	}
	return append(bytes.Clone(trace[:16]), trace[off:]...)
}

// longTrace returns the small fixture with the most generations.
func longTrace(t *testing.T) []byte {
	files, err := filepath.Glob("../testdata/small/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures: ", err)
	}
	var best []byte
	most := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := timeline.Read(context.Background(), bytes.NewReader(data), timeline.Options{}); err == nil && info.Version >= 25 && info.Generations > most {
			best, most = data, info.Generations
		}
	}
	return best
}

// An input that is not a trace, or a damaged one, is returned unchanged.
func TestTailOfBroken(t *testing.T) {
	whole := longTrace(t)
	for _, data := range [][]byte{nil, {}, []byte("go 1.26 trace\x00\x00\x00"), []byte("hello"), whole[:len(whole)-1], whole[:len(whole)/2], whole[:17]} {
		if got := tailOf(data, time.Nanosecond); !bytes.Equal(got, data) && len(data) < 20 {
			t.Errorf("%d bytes became %d", len(data), len(got))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		data := bytes.Clone(whole)
		for range 3 {
			data[r.IntN(len(data))] = byte(r.Uint32())
		}
		tailOf(data, time.Millisecond) // must not panic
	}
}
