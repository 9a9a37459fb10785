package tracewaits

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/race"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func realTrace(t testing.TB, name string) *contention.Profile {
	t.Helper()
	p, err := readFile(filepath.Join("..", "..", "testdata", "real", name+".trace.zst"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, p)
	if p.Source != contention.FromTrace || p.Accuracy != contention.Inferred || p.Start.Year() != 2026 || p.Duration < 100*time.Millisecond {
		t.Errorf("%s, %s, %v, %v", p.Source, p.Accuracy, p.Start, p.Duration)
	}
	return p
}

// sumOf sums the waits of some kinds. Contentions are counted after futile wake-ups are merged.
func sumOf(p *contention.Profile, kinds ...string) (n int64, s contention.Wait) {
	for _, w := range p.Waits {
		if slices.Contains(kinds, w.Kind) {
			n += w.Contentions
			s.Waited += w.Waited
			s.Ready += w.Ready
			s.ReadyIdle += w.ReadyIdle
			s.Parks += w.Parks
			s.Blamed += w.Blamed
			s.HandOff += w.HandOff
			s.Unattributed += w.Unattributed
		}
	}
	return n, s
}

// TestTraceBlocks: the number of blocks on locks agrees with other tools.
func TestTraceBlocks(t *testing.T) {
	for name, want := range map[string]int64{"stdlog-file": 3877, "otel-old": 82312, "json-gogc5": 0, "pgzip": 0, "nethttp-parallel4": 39} {
		if race.Enabled && (name == "otel-old" || name == "nethttp-parallel4") {
			continue // slow, likewise
		}
		o := NewObserver(Options{})
		if _, err := timeline.ReadFile(context.Background(), filepath.Join("..", "..", "testdata", "real", name+".trace.zst"), timeline.Options{}, o); err != nil {
			t.Fatal(err)
		}
		var n int64
		for k, row := range o.rows.united() {
			if lockWait(k.kind) {
				n += row.Parks
			}
		}
		if n != want {
			t.Errorf("%s: %d blocks, want %d", name, n, want)
		}
	}
}

// TestTraceAll: the sums are exact in every recorded trace, of all versions of Go.
func TestTraceAll(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "*", "*.trace*"))
	if len(files) < 12 {
		t.Fatalf("%d traces", len(files))
	}
	if race.Enabled {
		files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".zst") }) // slow, and nothing runs in parallel here
	}
	for _, file := range files {
		var os []*Observer
		var show []timeline.Observer
		for _, opt := range []Options{{}, {Goroutines: true}, {MaxPairs: 3}} {
			o := NewObserver(opt)
			os, show = append(os, o), append(show, o)
		}
		if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, show...); err != nil {
			t.Fatal(err)
		}
		for _, o := range os {
			checkConservation(t, o.Profile())
		}
	}
}

func locksOf(p *contention.Profile, k string) (ls []*contention.Lock) {
	for _, w := range p.Waits {
		if w.Kind == k && !slices.Contains(ls, w.Lock) {
			ls = append(ls, w.Lock)
		}
	}
	return ls
}

func between(t *testing.T, what string, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s: %v, want %v to %v", what, got, low, high)
	}
}

// The waiters and owners of the standard logger are in the same function, which holds its lock
// while it writes. There are 3,877 blocks, 12 of them on a sync.Once; 1,353 of the others were
// futile.
func TestTraceStdlog(t *testing.T) {
	p := realTrace(t, "stdlog-file")
	n, s := sumOf(p, contention.MutexKind)
	if n < 2400 || n > 2600 {
		t.Errorf("%d contentions", n)
	}
	between(t, "blocked", s.Waited, 2569*time.Millisecond, 2570*time.Millisecond)
	between(t, "ready after it", s.Ready, 156*time.Millisecond, 157*time.Millisecond)
	between(t, "blamed", s.Blamed, s.Waited*45/100, s.Waited) // the writes under the lock alone take half of the wall time
	if once, _ := sumOf(p, contention.OnceKind); once != 12 {
		t.Errorf("%d waits for a Once, want 12", once)
	}
	ls := locksOf(p, contention.MutexKind)
	if len(ls) != 1 || ls[0].Class != "log.Logger" || ls[0].Name != "" || ls[0].Waiters != 15 {
		t.Errorf("%d locks, %+v", len(ls), *ls[0])
	}
	between(t, "held while contended", ls[0].Contended, 50*time.Millisecond, p.Duration)
	for _, q := range p.Pairs {
		if q.Kind != contention.MutexKind {
			continue
		}
		w, o := q.Waiter.Stack.Frames[0], q.Owner.Stack.Frames[0]
		if w.Func != "log.(*Logger).output" || w.Line != 242 || o.Func != w.Func || o.Line != 245 || q.Waiter.Group != "main.worker" || q.Owner.Group != "main.worker" {
			t.Errorf("%+v behind %+v", w, o)
		}
	}
}

// A convoy: 82,312 blocks on one lock. Most of the time the chosen goroutine did not run yet.
func TestTraceConvoy(t *testing.T) {
	p := realTrace(t, "otel-old")
	n, s := sumOf(p, contention.MutexKind)
	if n < 50_000 || n > 82_312 {
		t.Errorf("%d contentions", n)
	}
	between(t, "blocked", s.Waited, 315*time.Millisecond, 316*time.Millisecond)
	between(t, "ready after it", s.Ready, 989*time.Millisecond, 991*time.Millisecond)
	if s.Parks != 82_312 {
		t.Errorf("%d parks", s.Parks)
	}
	between(t, "unattributed", s.Unattributed, s.Waited/2, s.Waited)
	ls := locksOf(p, contention.MutexKind)
	if len(ls) != 1 || ls[0].Class != "go.opentelemetry.io/otel/sdk/metric/internal/aggregate.valueMap" || ls[0].Name != "" || ls[0].Waiters != 7 {
		t.Errorf("%d locks, %+v", len(ls), *ls[0])
	}
	// It is held for less time than goroutines spin for it, so most owners are unseen: once
	// that is known, no goroutine is blamed.
	if s.Blamed == 0 || s.Blamed > s.Waited/100 {
		t.Errorf("%v of %v is blamed", s.Blamed, s.Waited)
	}
	for _, q := range p.Pairs {
		if w, o := q.Waiter.Stack.Frames[0], q.Owner.Stack.Frames[0]; q.Kind == contention.MutexKind && (!strings.HasSuffix(w.Func, "valueMap[...]).measure") || w.Line != 38 || o.Func != w.Func || o.Line != 52) {
			t.Errorf("%+v behind %+v", w, o)
		}
	}
}

func TestTraceNoLocks(t *testing.T) {
	p := realTrace(t, "json-gogc5")
	if n, _ := sumOf(p, contention.MutexKind, contention.RWMutexReaderKind, contention.RWMutexWriterKind, contention.OnceKind); n != 0 {
		t.Errorf("%d waits for locks: they are the collector's", n)
	}
	n, s := sumOf(p, contention.GCKind)
	between(t, "gc", s.Waited+s.Ready, 60*time.Millisecond, 85*time.Millisecond)
	if n != 130 { // 94 waits, and 36 times the collector stopped a goroutine to scan its stack
		t.Errorf("%d waits for the collector, want 130", n)
	}

	p = realTrace(t, "pgzip")
	if n, _ := sumOf(p, contention.MutexKind, contention.RWMutexReaderKind, contention.RWMutexWriterKind, contention.OnceKind); n != 0 {
		t.Errorf("pgzip: %d waits for locks", n)
	}
	n, s = sumOf(p, contention.SelectKind)
	if n != 539 || s.Unattributed != 0 {
		t.Errorf("pgzip: %d selects, %v unattributed", n, s.Unattributed)
	}
	if n, _ = sumOf(p, contention.ChanReceiveKind); n != 580 {
		t.Errorf("pgzip: %d receives", n)
	}
	// The reader waits for the goroutines that compress.
	if q := p.Pairs[0]; !strings.HasSuffix(q.Owner.Group, "pgzip.(*Writer).compressBlock") || q.Contentions != 571 {
		t.Errorf("pgzip: %+v", q)
	}
}

// The locks of net/http take less than a millisecond in a run with seconds of other waits.
func TestTraceNetHTTP(t *testing.T) {
	p := realTrace(t, "nethttp-parallel4")
	n, s := sumOf(p, contention.MutexKind, contention.RWMutexReaderKind, contention.RWMutexWriterKind, contention.OnceKind)
	if n < 30 || n > 46 {
		t.Errorf("%d waits for locks", n)
	}
	between(t, "blamed for locks", s.Blamed, 0, time.Millisecond)
	if n, s = sumOf(p, contention.NetworkKind); n != 10045 || s.Unattributed < 9*s.Blamed {
		t.Errorf("network: %d waits, %v unattributed, %v blamed", n, s.Unattributed, s.Blamed)
	}
	if n, s = sumOf(p, contention.CondKind); n != 5001 || s.Blamed == 0 {
		t.Errorf("cond: %d waits", n)
	}
}

// TestTraceProfileIsDeterministic: a trace gives the same profile every time.
func TestTraceProfileIsDeterministic(t *testing.T) {
	if a, b := profileText(realTrace(t, "gocompile-c2")), profileText(realTrace(t, "gocompile-c2")); a != b {
		t.Error("two readings differ")
	}
}
