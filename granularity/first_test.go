package granularity

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
	"github.com/bottleneck-go/bottleneck/internal/race"
)

// firstChild prints the time for handing over the first task of a process, and the time until it
// runs.
func firstChild() {
	from := time.Now()
	var began time.Duration
	var g Group
	g.Go(func() error {
		began = time.Since(from)
		return nil
	})
	handed := time.Since(from)
	g.Wait()
	fmt.Println(int64(handed), int64(began))
}

// The goroutine of the first task chooses and calibrates the clock. That takes 0.7 ms, in which Go
// has returned: it does not wait for it, as it once did, for more than 10 ms.
func TestFirstTaskIsQuick(t *testing.T) {
	limit := 5*time.Millisecond + 500*cycles.Default().Info().Costs // if each clock reading is slow
	if race.Enabled {
		limit *= 4
	}
	handed, began := time.Hour, time.Hour
	for range 20 { // the machine may be busy
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "GRANULARITY_TEST_CHILD=first", "GORACE=atexit_sleep_ms=0") // not a second after the end
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var h, b time.Duration
		if _, err := fmt.Sscan(string(out), &h, &b); err != nil {
			t.Fatalf("%v: %q", err, out)
		}
		handed, began = min(handed, h), min(began, b)
		if handed <= time.Millisecond && began <= limit {
			break
		}
	}
	if t.Logf("handed over after %v and begun after %v at best", handed, began); handed > time.Millisecond || began > limit {
		t.Errorf("the first Group.Go takes %v at best, and its task begins after %v", handed, began)
	}
}

// A class takes at most 20 kB in the recorder, whatever the number of threads and goroutines that
// execute its tasks, and at most 20 kB in a profile.
func TestMemoryOfAClass(t *testing.T) {
	quick := func(context.Context) error { return nil }
	longer := func(context.Context) error { busy(5 * time.Microsecond); return nil }
	blocks := func(context.Context) error { runtime.Gosched(); return nil }
	for _, tt := range []struct {
		classes int
		do      func(ctx context.Context, class string)
	}{
		{500, func(ctx context.Context, class string) { // three sites each
			Do(ctx, class, quick)
			Do(ctx, class, longer)
			Do(ctx, class, blocks)
		}},
		{2000, func(ctx context.Context, class string) {
			for _, f := range []func(context.Context) error{quick, longer, blocks} {
				Do(ctx, class, f)
			}
		}},
	} {
		rec := NewRecorder()
		rec.began.tick -= rec.base.FromNS(int64(time.Minute)) // a series takes the most in a long run
		ctx := WithRecorder(context.Background(), rec)
		before := heapInUse()
		for i := range tt.classes {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { tt.do(ctx, fmt.Sprint("class ", i)) })
			}
			wg.Wait()
		}
		countNotes()
		recorded := (heapInUse() - before) / int64(tt.classes)
		p := rec.Profile()
		both := (heapInUse() - before) / int64(tt.classes)
		t.Logf("each of %d classes takes %d bytes in the recorder, and %d with its profile", tt.classes, recorded, both)
		if max(recorded, both-recorded) > 20_000 {
			t.Error("more than 20 kB")
		}
		runtime.KeepAlive(rec)
		if n := len(p.Classes); n != tt.classes {
			t.Errorf("%d classes; want %d", n, tt.classes)
		}
	}
}

// BenchmarkProfile makes the profile of 2,000 classes.
func BenchmarkProfile(b *testing.B) {
	rec := NewRecorder()
	ctx := WithRecorder(context.Background(), rec)
	for i := range 2000 {
		for range 10 {
			Do(ctx, fmt.Sprint("class ", i), namedTask)
		}
	}
	for b.Loop() {
		rec.Profile()
	}
}

// heapInUse returns the bytes in use.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
