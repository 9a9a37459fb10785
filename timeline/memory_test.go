package timeline

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/bulk"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/race"
)

// TestPassStaysBelowItsMemoryLimit: for traces that need several times the limit, a pass ends with
// an error that names the limit, how much was read, and the flag. The heap never exceeds the
// limit.
func TestPassStaysBelowItsMemoryLimit(t *testing.T) {
	const limit = 32 << 20
	for name, n := range map[string]int{
		"strings":                     180_000,
		"long strings":                40_000,
		"stacks":                      60_000,
		"goroutines at the same time": 400_000,
		"waiters for one lock":        200_000,
	} {
		if race.Enabled && name != "stacks" {
			continue // it finds the same in the others, which take long
		}
		var b bytes.Buffer
		if err := bulk.Named(name).Write(&b, n); err != nil {
			t.Fatal(err)
		}
		for _, packed := range []bool{false, true} {
			data := b.Bytes()
			if packed && name != "strings" && name != "goroutines at the same time" {
				continue
			}
			if packed {
				var z bytes.Buffer
				pack, _ := gzip.NewWriterLevel(&z, gzip.BestSpeed)
				pack.Write(data)
				pack.Close()
				data = z.Bytes()
			}
			t.Run(fmt.Sprintf("%s, packed %v", name, packed), func(t *testing.T) {
				var info *Info
				var err error
				most := highWater(func() {
					info, err = Read(t.Context(), bytes.NewReader(data), Options{Name: "x.trace", MaxMemory: limit}, Base{})
				})
				if !errors.Is(err, ErrMemory) {
					t.Fatalf("%d events of %d bytes: error %v", info.Events, b.Len(), err)
				}
				for _, want := range []string{"memory limit 33.6 MB exceeded after reading ", "-memory", "x.trace: "} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q has no %q", err, want)
					}
				}
				if most > limit+limit/50 { // what is allocated between two looks at the heap
					t.Errorf("the heap grew by %d, the limit is %d", most, limit)
				}
			})
		}
	}
}

// TestTwentyMillionGoroutines, with BOTTLENECK_LONG=1: a trace of half a gigabyte with 20 million
// goroutines one after another, and one of 140 MB in which they live at the same time, are read
// within the memory limit, or end with its error.
func TestTwentyMillionGoroutines(t *testing.T) {
	if os.Getenv("BOTTLENECK_LONG") != "1" {
		t.Skip("BOTTLENECK_LONG=1 is not set")
	}
	for _, name := range []string{"goroutines, one after the other", "goroutines at the same time"} {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := bulk.Named(name).Write(f, 20_000_000); err != nil {
			t.Fatal(err)
		}
		f.Close()
		for _, limit := range []int64{1 << 30, 0} {
			began := time.Now()
			var info *Info
			most := highWater(func() { info, err = ReadFile(t.Context(), f.Name(), Options{MaxMemory: limit}, Base{}) })
			if limit == 0 {
				limit = memory.Default()
			}
			t.Logf("%s: %d events in %v, up to %d MB of %d: %v", name, info.Events, time.Since(began).Round(time.Second), most>>20, limit>>20, err)
			if most > limit || err != nil && !errors.Is(err, ErrMemory) {
				t.Errorf("%s: the heap grew by %d, the limit is %d: %v", name, most, limit, err)
			}
		}
	}
}

// TestStreamStaysBelowItsMemoryLimit: a Stream drops exactly the generations that need more than
// its limit. The heap never grows by more than the limit.
func TestStreamStaysBelowItsMemoryLimit(t *testing.T) {
	const limit = 32 << 20
	for name, want := range map[string]struct {
		n       int
		all     int64 // generations
		dropped int64 // at least
	}{
		"generations of many strings":           {140_000, 8, 6},
		"goroutines of one generation of three": {350_000, 3, 1},
		"generations":                           {20, 20, 0},
	} {
		if race.Enabled && want.all == 8 {
			continue // likewise
		}
		var b bytes.Buffer
		if err := bulk.Named(name).Write(&b, want.n); err != nil {
			t.Fatal(err)
		}
		s := NewStream(StreamOptions{Budget: -1, MaxMemory: limit}, Base{})
		most := highWater(func() {
			for data := b.Bytes(); len(data) > 0; {
				for s.Stats().Pending > 0 { // the backlog has a limit of its own
					time.Sleep(time.Millisecond)
				}
				n := min(len(data), 64<<10)
				s.Write(data[:n])
				data = data[n:]
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		st := s.Stats()
		if over := st.OverMemory; st.Generations+over.Generations != want.all || over != st.Dropped || over.Generations < want.dropped || want.dropped < 2 && over.Generations > want.dropped {
			t.Errorf("%s: %d read, dropped %+v; want %d of %d", name, st.Generations, st.Dropped, want.dropped, want.all)
		}
		if most > limit {
			t.Errorf("%s: the heap grew by %d, the limit is %d", name, most, limit)
		}
	}
}

// TestStreamForgetsGoroutinesBeyondItsMemoryLimit: goroutines that appear in generation after
// generation and never exit do not accumulate.
func TestStreamForgetsGoroutinesBeyondItsMemoryLimit(t *testing.T) {
	r := newReplay(26, newStackTable(), nil)
	r.meter = memory.NewMeter(memory.Least)
	for id := range int64(memory.Least/ofGoroutine + 1) {
		r.add(id)
	}
	if r.bound(); r.live != 0 || len(r.gs.pages) != 0 {
		t.Errorf("%d goroutines are known", max(r.live, len(r.gs.pages)))
	}
}

// highWater returns the maximum growth of the heap while f executes, as seen by periodic readings.
func highWater(f func()) (most int64) {
	objects := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	runtime.GC()
	base := objects()
	done, seen := make(chan bool), make(chan int64)
	go func() {
		var most int64
		for {
			most = max(most, objects()-base)
			select {
			case <-done:
				seen <- most
				return
			case <-time.After(500 * time.Microsecond):
			}
		}
	}()
	f()
	close(done)
	return <-seen
}

// late is an observer that is slow at first, so that generations accumulate before it.
type late struct {
	Base
	seen bool
}

func (l *late) Log(*Log) {
	if !l.seen {
		l.seen = true
		time.Sleep(300 * time.Millisecond)
	}
}

// TestScarceMemoryDecodesOneGenerationAtATime: a trace whose generations fit one at a time, but
// not side by side, is read to its end.
func TestScarceMemoryDecodesOneGenerationAtATime(t *testing.T) {
	var b bytes.Buffer
	if err := bulk.Named("generations of many strings").Write(&b, 50_000); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	for _, r := range []func() (int64, error){
		func() (int64, error) {
			info, err := Read(t.Context(), bytes.NewReader(b.Bytes()), Options{MaxMemory: 40 << 20, Workers: 8}, &late{})
			return info.Events, err
		},
		func() (int64, error) {
			if race.Enabled {
				return 8 * 50_000, nil // takes as long as the first
			}
			info, err := Read(t.Context(), streamOnly{bytes.NewReader(b.Bytes())}, Options{MaxMemory: -1, Workers: 8})
			return info.Events, err
		},
	} {
		events, err := r()
		if err != nil || events < 8*50_000 {
			t.Errorf("%d events of %d bytes: %v", events, b.Len(), err)
		}
	}
}
