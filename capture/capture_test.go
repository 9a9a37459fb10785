package capture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// memorySink keeps the files of captures in memory.
type memorySink struct {
	mu       sync.Mutex
	captures []map[string][]byte
	err      error
	block    chan struct{} // if not nil, Store waits for it
	calls    atomic.Int32  // of Store
}

func (m *memorySink) Store(ctx context.Context, name string, files []File) error {
	m.calls.Add(1)
	if m.block != nil {
		<-m.block
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	c := map[string][]byte{"": []byte(name)}
	for _, f := range files {
		var b bytes.Buffer
		if n, err := f.Data.WriteTo(&b); err != nil || n != f.Size {
			return errors.Join(err, errors.New(f.Name+" has another size than stated"))
		}
		c[f.Name] = b.Bytes()
	}
	m.captures = append(m.captures, c)
	return nil
}

func (m *memorySink) list() []map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.captures
}

// recording returns a recorder with some data.
func recording(t *testing.T) *bottle.Recorder {
	t.Helper()
	rec := &bottle.Recorder{Last: time.Second}
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rec.Stop)
	time.Sleep(10 * time.Millisecond)
	return rec
}

func TestCaptureHasTheTraceItsVerdictAndTheReason(t *testing.T) {
	var locks contention.Collector
	if err := locks.Start(contention.Options{}); err != nil {
		t.Fatal(err)
	}
	defer locks.Stop()
	sink := &memorySink{}
	c := New(Options{Recorder: recording(t), Sink: sink, Locks: &locks, Leaks: true, CPU: 50 * time.Millisecond, Version: "v1.2.3", Labels: map[string]string{"region": "eu"}})
	if !c.Trigger("the cache\nis cold") || c.Trigger("again") || c.Trigger("and again") {
		t.Fatal("one of three triggers in a row takes a capture, and it is the first")
	}
	c.Stop()
	list := sink.list()
	if len(list) != 1 {
		t.Fatalf("%d captures were stored", len(list))
	}
	files := list[0]
	var info Info
	if err := json.Unmarshal(files[InfoFile], &info); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	if info.Reason != "the cache is cold" || info.Host != host || info.GoVersion != runtime.Version() || time.Since(info.Time) > time.Minute || info.Version != "v1.2.3" || info.Labels["region"] != "eu" || info.PID != os.Getpid() || info.Name != string(files[""]) {
		t.Errorf("info is %+v", info)
	}
	leaks, err := profile.ParseData(files[LeaksFile])
	switch {
	case pprof.Lookup("goroutineleak") == nil:
		if len(info.Problems) != 1 || !strings.HasPrefix(info.Problems[0], "no leaks.pb.gz: the runtime of this program has no profile of leaked goroutines") {
			t.Errorf("problems %q", info.Problems)
		}
	case err != nil || len(leaks.SampleType) != 1 || len(info.Problems) > 0:
		t.Errorf("the profile of leaked goroutines: %v, problems %q", err, info.Problems)
	}
	var sum int64
	for _, f := range info.Files {
		sum += int64(len(files[f]))
	}
	if len(info.Files) != len(files)-2 || sum != info.Bytes {
		t.Errorf("info lists %v with %d bytes; %d files with %d bytes were stored", info.Files, info.Bytes, len(files)-2, sum)
	}
	rep, err := bottleneck.Analyze(t.Context(), bytes.NewReader(files[TraceFile]), bottleneck.Options{})
	if err != nil || rep.Bottle.Wall == 0 {
		t.Errorf("the trace cannot be analyzed: %v", err)
	}
	if l := info.Latency; l == nil || l.Count == 0 || l.Count != rep.Bottle.Latency.Count || l.Total != rep.Bottle.Latency.Total || !bytes.Contains(files[VerdictFile], []byte(l.String())) {
		t.Errorf("scheduling latencies %+v, in the trace %+v", l, rep.Bottle.Latency)
	}
	var v verdict.Verdict
	if err := json.Unmarshal(files[VerdictJSON], &v); err != nil || v.CheckValid() != nil || len(v.Findings) == 0 || v.Findings[0].Title != info.Finding {
		t.Errorf("verdict %+v, %v; info has %q", v, err, info.Finding)
	}
	if !bytes.Contains(files[VerdictFile], []byte(v.Head())) {
		t.Errorf("the Markdown is not of this verdict:\n%s", files[VerdictFile])
	}
	if p, err := contention.ReadJSON(bytes.NewReader(files[LocksFile])); err != nil || p.Source != contention.FromWrappers {
		t.Errorf("the profile of locks: %v", err)
	}
	if len(files[ProfileFile]) == 0 {
		t.Error("there is no CPU profile")
	}
	if s := c.Stats(); s.Captured != 1 || s.Suppressed != 2 || s.Failed != 0 || s.Bytes != info.Bytes || s.Last.Name != info.Name || s.Work <= 0 {
		t.Errorf("stats are %+v", s)
	}
}

// Ten thousand triggers at once take one capture, and the next one counts them.
func TestStormTakesOneCapture(t *testing.T) {
	sink := &memorySink{}
	c := New(Options{Recorder: recording(t), Sink: sink, NoVerdict: true, Every: time.Hour})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 1000 {
				c.Trigger("storm")
			}
		})
	}
	wg.Wait()
	c.Stop()
	if s := c.Stats(); s.Captured != 1 || s.Suppressed != 9999 || len(sink.list()) != 1 {
		t.Errorf("stats are %+v", s)
	}
	first := c.Stats().Last
	c.next.Store(0) // an hour later
	c.Trigger("next")
	c.Stop()
	if last := c.Stats().Last; first.Suppressed+last.Suppressed != 9999 {
		t.Errorf("the captures say that %d and %d were suppressed before them", first.Suppressed, last.Suppressed)
	}
}

// Suppressed triggers take no lock, allocate nothing, and are counted.
func TestSuppressedTriggersTakeNoLockAndAllocateNothing(t *testing.T) {
	c := New(Options{Recorder: recording(t), Sink: &memorySink{}, NoVerdict: true})
	c.Trigger("first")
	c.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taking.Lock()
	defer c.taking.Unlock()
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		for begin := time.Now(); time.Since(begin) < time.Microsecond; {
		}
	})
	requests, w, r := c.SlowRequests(slow, time.Nanosecond), httptest.NewRecorder(), httptest.NewRequest("GET", "/checkout", nil)
	for what, trigger := range map[string]func(){
		"Trigger":      func() { c.Trigger("again") },
		"Slow":         func() { defer c.Slow("again", time.Nanosecond)(); slow(nil, nil) },
		"SlowRequests": func() { requests.ServeHTTP(w, r) },
	} {
		before := c.ignored.Load()
		if n := testing.AllocsPerRun(1000, trigger); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
		if n := c.ignored.Load() - before; n != 1001 {
			t.Errorf("%s: %d of 1001 are counted", what, n)
		}
	}
}

func TestFailuresAreCountedAndNotFatal(t *testing.T) {
	full := errors.New("no space left on device")
	sink := &memorySink{err: full}
	c := New(Options{Recorder: recording(t), Sink: sink, NoVerdict: true})
	c.Trigger("full disk")
	c.Stop()
	if s := c.Stats(); s.Failed != 1 || s.Captured != 0 || !errors.Is(s.LastError, full) {
		t.Errorf("a full disk: %+v", s)
	}
	if next := time.Duration(c.next.Load()); next > 2*time.Minute {
		t.Errorf("after a failure the next capture may be taken after %v, of 10 minutes", next)
	}
	var stopped bottle.Recorder
	c = New(Options{Recorder: &stopped, Sink: sink})
	c.Trigger("no recorder")
	c.Stop()
	if s := c.Stats(); s.Failed != 1 || !errors.Is(s.LastError, bottle.ErrRecorderStopped) {
		t.Errorf("a stopped recorder: %+v", s)
	}
	c = New(Options{Recorder: recording2(t), Sink: panicking{}, NoVerdict: true})
	c.Trigger("panic")
	c.Stop()
	if s := c.Stats(); s.Failed != 1 || s.LastError == nil {
		t.Errorf("a sink that panics: %+v", s)
	}
	c = New(Options{Recorder: recording2(t), Sink: exiting{}, NoVerdict: true})
	c.Trigger("exit")
	c.Stop()
	if s := c.Stats(); s.Failed != 1 || s.LastError == nil {
		t.Errorf("a sink that ends its goroutine: %+v", s)
	}
}

// recording2 returns a recorder beside another one.
func recording2(t *testing.T) *bottle.Recorder {
	return &bottle.Recorder{Source: someTrace{t}}
}

type someTrace struct{ t *testing.T }

func (s someTrace) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte("no trace at all"))
	return int64(n), err
}

type panicking struct{}

func (panicking) Store(context.Context, string, []File) error { panic("sink") }

type exiting struct{}

func (exiting) Store(context.Context, string, []File) error { runtime.Goexit(); return nil }

type panickingLocks struct{}

func (panickingLocks) Snapshot() *contention.Profile       { panic("locks") }
func (panickingLocks) Last(time.Duration) *bottleneck.Live { panic("continuous") }

// A panic of what the user provides costs only what depended on it: the conditions after it are
// looked at, and the capture lacks a file. The log has it once.
func TestPanicsOfTheUsersCodeAreContained(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	sink := &memorySink{}
	c := New(Options{Recorder: recording2(t), Sink: sink, NoVerdict: true, Locks: panickingLocks{}, Continuous: panickingLocks{},
		Lost: 0.5, Wait: time.Second, Runnable: 10, For: time.Second})
	w := newWatcher(c)
	w.ready = func() uint64 { return 11 }
	if r := w.reason(time.Unix(0, 0)); r != "" {
		t.Errorf("reason %q", r)
	}
	if s := c.Stats(); s.Failed != 2 || s.LastError == nil || s.LastError.Error() != "capture: panic of Options.Locks: locks" {
		t.Errorf("after two panics: %+v", s)
	}
	if r := w.reason(time.Unix(1, 0)); !strings.HasPrefix(r, "11 goroutines") {
		t.Errorf("reason %q", r)
	}
	w.opt.Lost = 0
	w.opt.Runnable = 0
	w.reason(time.Unix(2, 0))
	w.reason(time.Unix(3, 0))
	if got := logged.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "panic of Options.Continuous: continuous") || !strings.Contains(got, "panic of Options.Locks: locks") {
		t.Errorf("the log has\n%s", got)
	}
	c.Trigger("all the same")
	c.Stop()
	if s := c.Stats(); s.Captured != 1 || s.Failed != 4 || len(s.Last.Problems) != 1 || !strings.Contains(s.Last.Problems[0], "no locks.json: capture: panic of locks.json: locks") {
		t.Errorf("stats are %+v", s)
	}
	if len(sink.list()) != 1 || len(sink.list()[0][TraceFile]) == 0 {
		t.Error("the trace was not stored")
	}
}

// A Sink that never returns neither holds up Stop nor leads to more recordings in memory.
func TestSinkThatNeverReturns(t *testing.T) {
	defer func(a, b time.Duration) { lastChance, abandon = a, b }(lastChance, abandon)
	lastChance, abandon = time.Millisecond, time.Millisecond
	sink := &memorySink{block: make(chan struct{})}
	c := New(Options{Recorder: recording2(t), Sink: sink, NoVerdict: true, Every: time.Nanosecond})
	c.Trigger("first")
	c.Stop()
	if s := c.Stats(); s.Failed != 1 || !strings.Contains(s.LastError.Error(), "does not return") {
		t.Errorf("stats are %+v", s)
	}
	c.next.Store(0)
	c.Trigger("second")
	c.Stop()
	if s := c.Stats(); s.Failed != 2 || !strings.Contains(s.LastError.Error(), "has not returned") || s.Captured != 0 {
		t.Errorf("stats are %+v", s)
	}
	close(sink.block)
	wait(t, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return !c.storing })
	c.next.Store(0)
	c.Trigger("third")
	c.Stop()
	if s := c.Stats(); s.Captured != 1 {
		t.Errorf("after the Sink has returned: %+v", s)
	}
	done := make(chan bool)
	go func() { // a panic waits no longer
		defer close(done)
		defer func() { recover() }()
		defer c.Panic()
		c.next.Store(0)
		sink.block = make(chan struct{})
		panic("lost")
	}()
	<-done
	close(sink.block)
	if s := c.Stats(); s.Failed != 3 {
		t.Errorf("after a panic: %+v", s)
	}
}

// unread is a Sink that does not read the files: what a Sink does has no rests.
type unread struct{}

func (unread) Store(context.Context, string, []File) error { return nil }

// A recording larger than MaxMemory is not copied; the copy of any other rests as the analysis does.
func TestCopyOfTheRecordingIsBounded(t *testing.T) {
	large := source(func(w io.Writer) (n int64, err error) {
		for k := 0; err == nil && n < 64<<20; n += int64(k) {
			k, err = w.Write(make([]byte, 64<<10))
		}
		return n, err
	})
	rec := &bottle.Recorder{Source: large}
	sink := &memorySink{}
	c := New(Options{Recorder: rec, Sink: sink, NoVerdict: true, MaxMemory: 1 << 20})
	c.Trigger("large")
	c.Stop()
	if s := c.Stats(); s.Failed != 1 || !strings.Contains(s.LastError.Error(), "larger than Options.MaxMemory, 1048576 bytes") {
		t.Errorf("stats are %+v", s)
	}
	c = New(Options{Recorder: rec, Sink: unread{}, NoVerdict: true, MaxMemory: 128 << 20})
	begin := time.Now()
	c.Trigger("not too large")
	wait(t, func() bool { return c.Stats().Captured == 1 }) // Stop would hurry it
	if s, all := c.Stats(), time.Since(begin); s.Captured != 1 || s.Work > all/2 {
		t.Errorf("%v of work in %v: %+v", s.Work, all, s)
	}
}

// The analysis rests, too.
func TestAnalysisTakesATenthOfAProcessor(t *testing.T) {
	packed, err := os.ReadFile("../testdata/real/pgzip.trace.zst")
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	trace, err := z.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec := &bottle.Recorder{Source: source(func(w io.Writer) (int64, error) {
		n, err := w.Write(trace)
		return int64(n), err
	})}
	c := New(Options{Recorder: rec, Sink: &memorySink{}})
	begin := time.Now()
	c.Trigger("analyzed")
	wait(t, func() bool { return c.Stats().Captured == 1 }) // Stop would hurry it
	if s, all := c.Stats(), time.Since(begin); s.Last.Finding == "" || s.Work > all/2 {
		t.Errorf("%v of work in %v: %+v", s.Work, all, s)
	}
}

type source func(w io.Writer) (int64, error)

func (s source) WriteTo(w io.Writer) (int64, error) { return s(w) }

// A trace that cannot be analyzed is stored all the same.
func TestBrokenTraceIsStoredWithoutVerdict(t *testing.T) {
	sink := &memorySink{}
	c := New(Options{Recorder: recording2(t), Sink: sink})
	c.Trigger("broken")
	c.Stop()
	s := c.Stats()
	if s.Captured != 1 || len(s.Last.Problems) != 1 || len(s.Last.Files) != 1 || s.Last.Files[0] != TraceFile {
		t.Errorf("stats are %+v", s)
	}
}

// A slow sink delays no caller of Trigger.
func TestSlowSinkSuppressesFurtherCaptures(t *testing.T) {
	sink := &memorySink{block: make(chan struct{})}
	c := New(Options{Recorder: recording(t), Sink: sink, NoVerdict: true, Every: time.Nanosecond})
	if !c.Trigger("first") || c.Trigger("while it is stored") {
		t.Error("a capture was taken while another one was being stored")
	}
	close(sink.block)
	c.Stop()
	if !c.Trigger("later") {
		t.Error("no capture after the first one was stored")
	}
	c.Stop()
}

func TestSlowOperationsAreCapturedWhileTheyRun(t *testing.T) {
	sink := &memorySink{}
	c := New(Options{Recorder: recording(t), Sink: sink, NoVerdict: true})
	for range 100 {
		c.Slow("quick", time.Hour)()
	}
	done := c.Slow("slow", time.Millisecond)
	wait(t, func() bool { return len(sink.list()) == 1 })
	done()
	if last := c.Stats(); last.Captured != 1 {
		wait(t, func() bool { return c.Stats().Captured == 1 })
	}
	if got := c.Stats().Last.Reason; got != "slow runs for more than 1ms" {
		t.Errorf("reason %q", got)
	}

	c = New(Options{Recorder: c.opt.Recorder, Sink: sink, NoVerdict: true})
	h := c.SlowRequests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wait(t, func() bool { return c.Stats().Captured == 1 })
	}), time.Millisecond)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/checkout?card=4111", nil))
	if got := c.Stats().Last.Reason; got != "GET /checkout runs for more than 1ms" {
		t.Errorf("reason %q", got)
	}
}

// While it is too early for a capture, slow operations are counted, and start no goroutine.
func TestSlowOperationsAreCountedWhileItIsTooEarly(t *testing.T) {
	sink := &memorySink{block: make(chan struct{})}
	c := New(Options{Recorder: recording2(t), Sink: sink, NoVerdict: true, Every: time.Hour})
	c.Slow("first", time.Millisecond)
	wait(t, func() bool { return c.next.Load() == math.MaxInt64 && sink.calls.Load() == 1 })
	storm := func() {
		before, goroutines := c.Stats().Suppressed, runtime.NumGoroutine()
		for range 1000 {
			done := c.Slow("another", time.Nanosecond)
			for begin := time.Now(); time.Since(begin) < time.Microsecond; {
			}
			done()
		}
		c.Slow("quick", time.Minute)()
		if got := c.Stats().Suppressed - before; got != 1000 || runtime.NumGoroutine() > goroutines {
			t.Errorf("%d of 1000 were counted; %d goroutines, then %d", got, goroutines, runtime.NumGoroutine())
		}
	}
	storm() // while the first is stored
	close(sink.block)
	c.Stop()
	storm()
	if s := c.Stats(); s.Captured != 1 || s.Failed != 0 {
		t.Errorf("stats are %+v", s)
	}
	c.admitAt(time.Since(c.born) + 10*time.Millisecond) // an hour later, but for a moment
	c.Slow("late", 20*time.Millisecond)
	wait(t, func() bool { return c.Stats().Captured == 2 })
	if got := c.Stats().Last.Reason; got != "late runs for more than 20ms" {
		t.Errorf("reason %q", got)
	}
}

func wait(t *testing.T, until func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !until(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing happened in 20 s")
		}
	}
}

func TestPanicIsCapturedAndGoesOn(t *testing.T) {
	sink := &memorySink{}
	c := New(Options{Recorder: recording(t), Sink: sink})
	func() {
		defer func() {
			if v := recover(); v != "lost" {
				t.Errorf("recovered %v", v)
			}
		}()
		defer c.Panic()
		panic("lost")
	}()
	func() {
		defer c.Panic()
	}()
	if s := c.Stats(); s.Captured != 1 || s.Last.Reason != "panic: lost" {
		t.Errorf("stats are %+v", s)
	}
	func() {
		defer func() { recover() }()
		defer c.Panic()
		panic(http.ErrAbortHandler)
	}()
	if s := c.Stats(); s.Captured+s.Suppressed != 1 {
		t.Errorf("http.ErrAbortHandler is no reason: %+v", s)
	}
}

func TestConditions(t *testing.T) {
	var locks contention.Collector
	if err := locks.Start(contention.Options{Exact: true}); err != nil {
		t.Fatal(err)
	}
	defer locks.Stop()
	c := New(Options{Recorder: recording(t), Sink: &memorySink{}, Locks: &locks, Wait: 30 * time.Millisecond})
	w := newWatcher(c)
	if r := w.reason(time.Now()); r != "" {
		t.Errorf("nothing waits: %q", r)
	}
	mu := contention.NewMutex("cache")
	mu.Lock()
	var waiter sync.WaitGroup
	waited := false
	waiter.Go(func() { mu.Lock(); waited = true; mu.Unlock() })
	wait(t, func() bool { return strings.HasPrefix(w.reason(time.Now()), "a goroutine has waited ") })
	mu.Unlock()
	waiter.Wait()
	if !waited {
		t.Error("the goroutine did not get the lock")
	}
	if r := w.reason(time.Now()); !strings.HasPrefix(r, "a goroutine waited ") || !strings.Contains(r, "cache") {
		t.Errorf("after the wait: %q", r)
	}
	if r := w.reason(time.Now()); r != "" {
		t.Errorf("nothing new: %q", r)
	}

	c.opt.Runnable, c.opt.Wait = 1<<30, 0
	if r := w.reason(time.Now()); r != "" {
		t.Errorf("unexpected reason: %q", r)
	}
}

// Each look notes the processors and the throttling in the recording.
func TestLooksNoteTheThrottling(t *testing.T) {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip(err) // the tests themselves are traced
	}
	w := newWatcher(New(Options{Recorder: recording(t), Sink: &memorySink{}}))
	w.reason(time.Now())
	w.reason(time.Now())
	trace.Stop()
	notes := &noteReader{}
	if _, err := timeline.Read(t.Context(), &buf, timeline.Options{}, notes); err != nil || notes.n < 2 {
		t.Errorf("%d notes, %v", notes.n, err)
	}
}

type noteReader struct {
	timeline.Base
	n int
}

func (r *noteReader) Log(l *timeline.Log) {
	if _, ok := host.ReadNote(l.Category, l.Message); ok {
		r.n++
	}
}

// More goroutines than the limit must be ready in each look for the whole time.
func TestReadyGoroutinesForLong(t *testing.T) {
	c := New(Options{Recorder: recording(t), Sink: &memorySink{}, Runnable: 10, For: 3 * time.Second})
	w := newWatcher(c)
	for i, look := range []struct {
		ready uint64
		want  bool
	}{{11, false}, {11, false}, {10, false}, {11, false}, {12, false}, {13, false}, {14, true}, {15, true}, {0, false}} {
		w.ready = func() uint64 { return look.ready }
		if r := w.reason(time.Unix(int64(i), 0)); (r != "") != look.want {
			t.Errorf("look %d, %d ready: %q", i, look.ready, r)
		}
	}
}

type fakeContinuous struct{ live *bottleneck.Live }

func (f fakeContinuous) Last(time.Duration) *bottleneck.Live { return f.live }

func TestLostCapacity(t *testing.T) {
	now := time.Unix(100, 0)
	// One box of 2 s on 2 processors, which ran alone, and 2 s without any: of the capacity of 8 s,
	// a quarter is lost while it ran, and three quarters in all.
	g := &bottle.Graph{Wall: 4 * time.Second, Idle: 2 * time.Second, Procs: 2, Capacity: 8 * time.Second, IdleLost: 4 * time.Second,
		Boxes: []bottle.Box{{Group: "main.main", Goroutines: 1, Share: 2 * time.Second, Running: 2 * time.Second, Lost: 2 * time.Second}}}
	const lost, neck = "75% of the capacity lost in 4 s", "25% of the capacity lost while something ran, in 4 s"
	for _, c := range []struct {
		when         Options
		from, to     int64
		want         string
		withoutGraph bool
	}{
		{Options{Lost: 0.7}, 96, 100, lost, false},
		{Options{Lost: 0.8}, 96, 100, "", false},
		{Options{Neck: 0.2}, 96, 100, neck, false},
		{Options{Neck: 0.3}, 96, 100, "", false},
		{Options{Neck: 0.3, Lost: 0.7}, 96, 100, lost, false},
		{Options{Lost: 0.7}, 99, 100, "", false}, // too short to say
		{Options{Lost: 0.7}, 56, 60, "", false},  // long ago
		{Options{Lost: 0.7}, 96, 100, "", true},
	} {
		live := &bottleneck.Live{From: time.Unix(c.from, 0), To: time.Unix(c.to, 0)}
		if !c.withoutGraph {
			live.Bottle = g
		}
		c.when.Recorder, c.when.Sink, c.when.Continuous = recording2(t), &memorySink{}, fakeContinuous{live}
		w := newWatcher(New(c.when))
		if r := w.reason(now); r != c.want {
			t.Errorf("%+v: %q", c, r)
		}
	}
}

// Triggers, Start and Stop may come from any goroutine at any time.
func TestStopAmongTriggers(t *testing.T) {
	c := New(Options{Recorder: recording2(t), Sink: &memorySink{}, NoVerdict: true, Every: time.Nanosecond})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				c.Trigger("storm")
				c.Start()
				c.Stop()
			}
		})
	}
	wg.Wait()
	c.Stop()
	if s := c.Stats(); s.Captured+s.Suppressed != 800 || s.Failed != 0 {
		t.Errorf("stats are %+v", s)
	}
}

// What is watched takes captures: a condition, each second, and a signal.
func TestWhatIsWatchedTakesCaptures(t *testing.T) {
	defer func(d time.Duration) { look = d }(look)
	look = time.Millisecond
	now := time.Now()
	lost := &bottle.Graph{Wall: time.Second, Capacity: 4 * time.Second, IdleLost: 4 * time.Second, Idle: time.Second}
	c := New(Options{Recorder: recording2(t), Sink: &memorySink{}, NoVerdict: true, Lost: 0.5, For: time.Second, Signals: []os.Signal{syscall.SIGHUP},
		Continuous: fakeContinuous{&bottleneck.Live{Report: bottleneck.Report{Bottle: lost}, From: now.Add(-time.Second), To: now}}})
	c.Start()
	wait(t, func() bool { return c.Stats().Captured == 1 })
	if got := c.Stats().Last.Reason; got != "100% of the capacity lost in 1 s" {
		t.Errorf("reason %q", got)
	}
	c.Stop()
	look = time.Hour
	c.next.Store(0)
	c.Start()
	defer c.Stop()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Skip(err) // there are no signals
	}
	wait(t, func() bool { return c.Stats().Captured == 2 })
	if got := c.Stats().Last.Reason; got != "signal hangup" {
		t.Errorf("reason %q", got)
	}
}

func TestWatchingStartsAndStops(t *testing.T) {
	c := New(Options{Recorder: recording(t), Sink: &memorySink{}, Runnable: 1 << 30})
	c.Stop()
	for range 3 {
		c.Start()
		c.Start()
		c.Stop()
		c.Stop()
	}
	if !c.Trigger("after Stop") {
		t.Error("triggers need no Start")
	}
	c.Stop()
}

// A capture appears as a whole or never; the oldest give way.
func TestDirKeepsTheLatestWithinItsBounds(t *testing.T) {
	dir := &Dir{Path: filepath.Join(t.TempDir(), "a", "b"), Keep: 3}
	if list, err := dir.List(); err != nil || len(list) != 0 {
		t.Errorf("a directory that does not exist has %v, %v", list, err)
	}
	store := func(i int, size int) error {
		info := Info{Name: name(&Info{Time: time.Unix(int64(i), 0), Reason: "test"}), Time: time.Unix(int64(i), 0), Bytes: int64(size)}
		data, _ := json.Marshal(info)
		return dir.Store(t.Context(), info.Name, []File{
			{Name: TraceFile, Size: int64(size), Data: strings.NewReader(strings.Repeat("x", size))},
			{Name: InfoFile, Size: int64(len(data)), Data: bytes.NewReader(data)}})
	}
	for i := range 5 {
		if err := store(i, 1000); err != nil {
			t.Fatal(err)
		}
	}
	list, err := dir.List()
	if err != nil || len(list) != 3 || !list[0].Time.Equal(time.Unix(4, 0)) || !list[2].Time.Equal(time.Unix(2, 0)) {
		t.Fatalf("of five captures, these are left: %v, %v", list, err)
	}
	dir.MaxBytes = 2000
	if err := store(5, 1500); err != nil {
		t.Fatal(err)
	}
	if list, _ := dir.List(); len(list) != 1 || !list[0].Time.Equal(time.Unix(5, 0)) {
		t.Errorf("2,000 bytes hold %v", list)
	}
	if err := store(6, 3000); err == nil {
		t.Error("a capture larger than the directory was stored")
	}
	f, err := dir.Open(list[0].Name + "/" + TraceFile)
	if err == nil {
		f.Close()
		t.Error("a file of a capture that was removed can be opened")
	}
	for _, name := range []string{"../" + InfoFile, "x", ".partial-1/" + InfoFile, "", "a/../b"} {
		if _, err := dir.Open(name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Open(%q): %v", name, err)
		}
	}
}

func TestDirIsLeftCleanAfterErrors(t *testing.T) {
	dir := &Dir{Path: t.TempDir()}
	err := dir.Store(t.Context(), "x", []File{{Name: TraceFile, Size: 1, Data: failing{}}})
	if !errors.Is(err, errFailing) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := dir.Store(ctx, "x", []File{{Name: TraceFile, Data: failing{}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if entries, _ := os.ReadDir(dir.Path); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if os.Getuid() > 0 { // root may write everywhere, and -1 is Windows
		if err := os.Chmod(dir.Path, 0o500); err != nil {
			t.Fatal(err)
		}
		if err := dir.Store(t.Context(), "x", nil); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a read-only directory: %v", err)
		}
	}
}

// On a full disk nothing is left of the capture, and the disk has room for the next one. On a
// read-only disk, storing fails.
func TestDirOnAFullDisk(t *testing.T) {
	path := t.TempDir()
	if runtime.GOOS != "linux" || exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "none", path).Run() != nil {
		t.Skip("needs the right to mount a file system")
	}
	defer exec.Command("umount", path).Run()
	large := source(func(w io.Writer) (int64, error) { return io.Copy(w, io.LimitReader(zeros{}, 4<<20)) })
	dir := &Dir{Path: filepath.Join(path, "captures")}
	for size, rec := range map[string]source{"4 MB": large, "1 kB": func(w io.Writer) (int64, error) { return io.CopyN(w, zeros{}, 1000) }} {
		c := New(Options{Recorder: &bottle.Recorder{Source: rec}, Sink: dir, NoVerdict: true})
		c.Trigger(size)
		c.Stop()
		if s := c.Stats(); (s.Captured == 1) != (size == "1 kB") || s.Captured == 0 && !errors.Is(s.LastError, syscall.ENOSPC) {
			t.Errorf("%s: %+v", size, s)
		}
	}
	if list, err := dir.List(); err != nil || len(list) != 1 {
		t.Errorf("%d captures, %v", len(list), err)
	}
	if entries, _ := os.ReadDir(dir.Path); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := exec.Command("mount", "-o", "remount,ro", path).Run(); err != nil {
		t.Fatal(err)
	}
	c := New(Options{Recorder: recording2(t), Sink: dir, NoVerdict: true})
	c.Trigger("read-only")
	c.Stop()
	if s := c.Stats(); s.Failed != 1 || !errors.Is(s.LastError, syscall.EROFS) {
		t.Errorf("read-only: %+v", s)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Create writes InfoFile last, and ends a context before it closes what was not written.
func TestCreate(t *testing.T) {
	var log []string
	create := Create(func(ctx context.Context, name string) (io.WriteCloser, error) {
		if name == "x/refused" {
			return nil, fs.ErrPermission
		}
		return &created{ctx, name, &log}, nil
	})
	for file, want := range map[string]error{"fails": errFailing, "refused": fs.ErrPermission} {
		if err := create.Store(t.Context(), "x", []File{{Name: file, Data: failing{}}, {Name: InfoFile, Data: strings.NewReader("{}")}}); !errors.Is(err, want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := create.Store(t.Context(), "x", []File{{Name: "good", Data: strings.NewReader("abc")}, {Name: InfoFile, Data: strings.NewReader("{}")}}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := create.Store(ctx, "x", []File{{Name: "late", Data: strings.NewReader("abc")}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got, want := strings.Join(log, ", "), "x/fails: canceled, x/good: 3, x/good: stored, x/capture.json: 2, x/capture.json: stored, x/late: 3, x/late: canceled"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

type created struct {
	ctx  context.Context
	name string
	log  *[]string
}

func (c *created) Write(p []byte) (int, error) {
	*c.log = append(*c.log, fmt.Sprintf("%s: %d", c.name, len(p)))
	return len(p), nil
}

func (c *created) Close() error {
	end := "stored"
	if c.ctx.Err() != nil {
		end = "canceled"
	}
	*c.log = append(*c.log, c.name+": "+end)
	return nil
}

var errFailing = errors.New("failing")

type failing struct{}

func (failing) WriteTo(w io.Writer) (int64, error) { return 0, errFailing }

// A process that is killed while it stores captures leaves no half one in the list.
func TestKilledProcessLeavesNoHalfCapture(t *testing.T) {
	if dir := os.Getenv("CAPTURE_TEST_DIR"); dir != "" {
		d := &Dir{Path: dir, Keep: 1 << 20}
		for i := 0; ; i++ {
			info := Info{Name: name(&Info{Time: time.Unix(int64(i), 0), PID: os.Getpid()}), Bytes: 1 << 20}
			data, _ := json.Marshal(info)
			d.Store(context.Background(), info.Name, []File{
				{Name: TraceFile, Size: 1 << 20, Data: bytes.NewReader(make([]byte, 1<<20))},
				{Name: InfoFile, Size: int64(len(data)), Data: bytes.NewReader(data)}})
		}
	}
	dir := &Dir{Path: t.TempDir()}
	for range 3 {
		before, _ := dir.List()
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcessLeavesNoHalfCapture$")
		cmd.Env = append(os.Environ(), "CAPTURE_TEST_DIR="+dir.Path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait(t, func() bool { list, _ := dir.List(); return len(list) > len(before) })
		time.Sleep(time.Duration(time.Now().UnixNano()%5) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		list, err := dir.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range list {
			if s, err := os.Stat(filepath.Join(dir.Path, info.Name, TraceFile)); err != nil || s.Size() != 1<<20 {
				t.Errorf("%s is listed with half of its trace", info.Name)
			}
		}
	}
	// The rest is removed after some hours.
	half := filepath.Join(dir.Path, partial+"1")
	os.Mkdir(half, 0o700)
	os.Chtimes(half, time.Now(), time.Now().Add(-3*time.Hour))
	if err := dir.Store(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a half capture is left after 3 hours: %v", err)
	}
}

func TestPages(t *testing.T) {
	dir := &Dir{Path: t.TempDir()}
	c := New(Options{Recorder: recording(t), Sink: dir, Every: time.Hour, Labels: map[string]string{"region": "<eu>"}})
	ask := func(method, target, accept string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, "/captures"+target, nil)
		r.Header.Set("Accept", accept)
		c.ServeHTTP(w, r)
		return w
	}
	if w := ask("GET", "", "*/*"); w.Code != 200 || !strings.HasPrefix(w.Body.String(), "Since the start: 0 captures stored, 0 triggers suppressed (at most one in 1h0m0s), 0 failed\n") {
		t.Errorf("empty: %d %s", w.Code, w.Body)
	}
	if w := ask("POST", "?reason=%3Cb%3Etry", ""); w.Code != http.StatusAccepted {
		t.Errorf("POST: %d %s", w.Code, w.Body)
	}
	c.Stop()
	if w := ask("POST", "", ""); w.Code != http.StatusTooManyRequests {
		t.Errorf("second POST: %d %s", w.Code, w.Body)
	}
	var list []Info
	w := ask("GET", "?format=json", "")
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list) != 1 || list[0].Reason != "<b>try" {
		t.Fatalf("JSON: %v %s", err, w.Body)
	}
	page := ask("GET", "", "text/html").Body.String()
	if strings.Contains(page, "<b>try") || !strings.Contains(page, "&lt;b&gt;try") || !strings.Contains(page, TraceFile) {
		t.Errorf("page:\n%s", page)
	}
	one := ask("GET", "?capture="+list[0].Name, "text/html")
	for _, want := range []string{"&lt;b&gt;try", "region: &lt;eu&gt;", "0 suppressed triggers before it", html.EscapeString(list[0].Finding), "<pre>**", "&amp;file=" + TraceFile} {
		if got := one.Body.String(); one.Code != 200 || !strings.Contains(got, want) {
			t.Errorf("the page of a capture has no %q: %d\n%s", want, one.Code, got)
		}
	}
	for _, f := range append(list[0].Files, InfoFile) {
		if w := ask("GET", "?capture="+list[0].Name+"&file="+f, ""); w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s: %d", f, w.Code)
		}
	}
	for _, q := range []string{"?capture=x&file=y", "?capture=..&file=passwd", "?capture=x", "?capture=..", "?capture=" + list[0].Name + "&file=../x"} {
		if w := ask("GET", q, ""); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", q, w.Code, w.Body)
		}
	}
	if w := ask("DELETE", "", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", w.Code)
	}
	r := httptest.NewRequest("POST", "/captures", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w = httptest.NewRecorder()
	if c.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("POST from another site: %d", w.Code)
	}
}

// A trigger that is suppressed, and an operation that is watched, when a capture is possible, and
// when it is too early.
func BenchmarkTrigger(b *testing.B) {
	c := New(Options{Recorder: &bottle.Recorder{}, Sink: &memorySink{}})
	request := httptest.NewRequest("GET", "/checkout", nil)
	for _, d := range []time.Duration{time.Hour, time.Nanosecond} {
		name := map[bool]string{true: "early"}[d < time.Hour]
		requests := c.SlowRequests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), d)
		for what, f := range map[string]func(){
			"Trigger":      func() { c.Trigger("suppressed") },
			"Slow":         func() { defer c.Slow("operation", d)() },
			"SlowRequests": func() { requests.ServeHTTP(nil, request) },
		} {
			c.next.Store(0)
			if d < time.Hour || what == "Trigger" {
				c.next.Store(1 << 62)
			}
			b.Run(what+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
	}
}
