package timeline

import (
	"bytes"
	"errors"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// unlimited is a stream that drops nothing.
var unlimited = StreamOptions{Budget: -1, MaxPending: 1 << 40}

// feed writes data to the stream in pieces and closes it. next returns the length of the next
// piece.
func feed(t testing.TB, s *Stream, data []byte, next func() int) error {
	t.Helper()
	for len(data) > 0 {
		n := min(next(), len(data))
		piece := bytes.Clone(data[:n])
		if k, err := s.Write(piece); k != n || err != nil {
			t.Fatalf("Write of %d bytes: %d, %v", n, k, err)
		}
		clear(piece) // the stream must have copied it
		data = data[n:]
	}
	return s.Close()
}

func pieces(n int) func() int { return func() int { return n } }

// TestStreamSame: the observers of a stream see the same as those of a pass over the whole trace,
// in whatever pieces it arrives.
func TestStreamSame(t *testing.T) {
	for _, c := range corpus(t) {
		if len(c.data) > 900_000 || race.Enabled && len(c.data) > 100_000 {
			continue
		}
		want := &transcript{}
		info := mustRead(t, c.data, Options{}, want)
		rng := rand.New(rand.NewPCG(1, uint64(len(c.data))))
		ways := map[string]func() int{"any pieces": func() int { return 1 + rng.IntN(1<<rng.IntN(18)) }}
		if len(c.data) <= 200_000 { // large ones are cut in the same way
			ways["whole"], ways["bytes"], ways["odd pieces"] = pieces(len(c.data)), pieces(1), pieces(1021)
		}
		for how, next := range ways {
			got := &transcript{}
			s := NewStream(unlimited, got)
			if err := feed(t, s, c.data, next); err != nil {
				t.Errorf("%s in %s: %v", c.name, how, err)
			}
			got.sameAs(t, c.name+" in "+how, want)
			st := s.Stats()
			if st.Generations != int64(info.Generations) || st.Events != info.Events || st.Bytes != int64(len(c.data)-headerSize) || st.Dropped != (Drop{}) || st.Pending != 0 || st.PendingBytes != 0 {
				t.Errorf("%s in %s: %+v of %d generations, %d events", c.name, how, st, info.Generations, info.Events)
			}
			if s.pending != 0 {
				t.Errorf("%s in %s: %d bytes still counted as pending", c.name, how, s.pending)
			}
		}
	}
}

// onProc is an observer that sums how long each goroutine was on a processor, outside of the gaps.
type onProc struct {
	checker
	out   []gap // these times do not count
	gaps  []gap // that were shown
	on    map[int64]Time
	names map[int64]string
}

// gap is a time without data.
type gap struct{ from, to Time }

func newOnProc(out []gap) *onProc {
	return &onProc{checker: *newChecker(), out: out, on: map[int64]Time{}, names: map[int64]string{}}
}

func (o *onProc) Transition(t *Transition) {
	o.checker.Transition(t)
	if t.G.Func != "" && t.State.Alive() {
		o.names[t.G.ID] = t.G.Func
	}
	if !t.State.OnProc() {
		return
	}
	d := t.End - t.Start
	for _, g := range o.out {
		d -= max(0, min(t.End, g.to)-max(t.Start, g.from))
	}
	o.on[t.G.ID] += d
}

func (o *onProc) Gap(from, to Time) {
	o.checker.Gap(from, to)
	o.gaps = append(o.gaps, gap{from, to})
}

// TestStreamGaps: with generations left out, goroutines run exactly as long as in the same time of
// the whole trace, and the calls keep their guarantees.
func TestStreamGaps(t *testing.T) {
	tried := 0
	for _, c := range corpus(t) {
		n := len(generations(t, c.data))
		if n < 3 || len(c.data) > 8<<20 || race.Enabled && len(c.data) > 1<<20 {
			continue
		}
		for _, refuse := range []func(k uint64) bool{
			func(k uint64) bool { return k%2 == 0 },
			func(k uint64) bool { return k%3 != 0 },
			func(k uint64) bool { return k < 3 },
			func(k uint64) bool { return k > uint64(n)-2 },
		} {
			got := newOnProc(nil)
			s := NewStream(unlimited, got)
			first, k := uint64(0), 0
			s.refuse = func(number uint64) bool {
				if first == 0 {
					first = number - 1
				}
				k++
				return refuse(number - first)
			}
			if err := feed(t, s, c.data, pieces(4096)); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			st := s.Stats()
			if st.Generations+st.Dropped.Generations != int64(n) || st.Behind.Generations != st.Dropped.Generations {
				t.Errorf("%s: %d read and %d dropped of %d", c.name, st.Generations, st.Dropped.Generations, n)
			}
			if st.Generations == 0 {
				continue
			}
			got.verify(t, &s.replay.info)
			for i, g := range got.gaps {
				if i > 0 && g.from < got.gaps[i-1].to {
					t.Errorf("%s: gap %+v after %+v", c.name, g, got.gaps[i-1])
				}
			}
			if len(got.gaps) > int(st.Dropped.Generations) {
				t.Errorf("%s: %d gaps, %d generations dropped", c.name, len(got.gaps), st.Dropped.Generations)
			}
			out := append([]gap{{-1 << 62, s.replay.info.Start}, {s.replay.info.End, 1 << 62}}, got.gaps...)
			whole := newOnProc(out)
			mustRead(t, c.data, Options{}, whole)
			for id, d := range whole.on {
				if got.on[id] != d {
					t.Errorf("%s: goroutine %d (%s) was on a processor for %d ns, %d by the whole trace", c.name, id, whole.names[id], got.on[id], d)
				}
			}
			tried++
		}
	}
	if tried < 8 {
		t.Errorf("only %d trials", tried)
	}
}

// TestStreamGapNames: a goroutine that was named before a gap has its name and its creator after
// it.
func TestStreamGapNames(t *testing.T) {
	w := newWire(26)
	g := w.generation(1, 1000)
	g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1100, wGoCreate, 7, stk("main.worker"), stk("main.spawn", "main.main")).ev(1200, wHeapAlloc, 1)
	w.generation(2, 2000).thread(1).runs(2001, 0, 1).ev(2010, wHeapAlloc, 1).ev(2200, wHeapAlloc, 1)
	g = w.generation(3, 3000)
	g.thread(1).runs(3001, 0, 1).ev(3010, wHeapAlloc, 1).ev(3100, wGoStatus, 7, noM, sRunnable).ev(3200, wHeapAlloc, 1)
	seen := &namesSeen{}
	check := newChecker()
	s := NewStream(unlimited, seen, check)
	s.refuse = func(n uint64) bool { return n == 2 }
	if err := feed(t, s, w.bytes(), pieces(7)); err != nil {
		t.Fatal(err)
	}
	check.verify(t, &s.replay.info)
	if want := "main.worker by main.spawn; gap 1200-3010; main.worker by main.spawn; "; seen.text != want {
		t.Errorf("seen:\n%q, want\n%q", seen.text, want)
	}
	if n := s.replay.info.Goroutines; n != 2 {
		t.Errorf("%d goroutines, want 2", n)
	}
}

type namesSeen struct {
	Base
	text string
}

func (n *namesSeen) Transition(t *Transition) {
	if t.G.ID == 7 && !t.State.Alive() {
		n.text += t.G.Name() + " by " + leafOf(t.G.Creator().Stack).Func + "; "
	}
}

func (n *namesSeen) Gap(from, to Time) {
	n.text += "gap " + strings.Join([]string{itoa(from), itoa(to)}, "-") + "; "
}

func itoa(t Time) string { return strconv.FormatInt(int64(t), 10) }

// TestStreamDropsBeyondMaxPending: data that does not fit into MaxPending is dropped as a whole,
// and counted.
func TestStreamDropsBeyondMaxPending(t *testing.T) {
	data := smallTrace(t, "phases-go1.26.8.trace")
	n := int64(len(generations(t, data)))
	opt := unlimited
	opt.MaxPending = 6_000
	slow := make(chan struct{})
	check := newChecker()
	s := NewStream(opt, waitsFor{of: slow}, check)
	time.AfterFunc(10*time.Millisecond, func() { close(slow) })
	if err := feed(t, s, data, pieces(512)); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if st.Generations+st.Dropped.Generations != n || st.Bytes+st.Dropped.Bytes != int64(len(data)-headerSize) || st.Behind != st.Dropped || st.Behind.Generations == 0 {
		t.Errorf("of %d generations, %d bytes: %+v", n, len(data)-headerSize, st)
	}
	if s.pending != 0 {
		t.Errorf("%d bytes still counted as pending", s.pending)
	}
	if s.replay != nil {
		check.verify(t, &s.replay.info)
	}
}

// waitsFor is an observer that waits at the beginning of the trace.
type waitsFor struct {
	Base
	of chan struct{}
}

func (w waitsFor) Begin(Time, int) { <-w.of }

// TestStreamManyGaps: adjacent dropped generations are one gap. System calls from before a gap are
// over after it.
func TestStreamManyGaps(t *testing.T) {
	w := newWire(26)
	for n := uint64(1); n <= 7; n++ {
		base := 1000 * n
		th := w.generation(n, base).thread(1)
		if n%3 == 2 { // a system call that continues at the end of the generation
			th.runs(base+1, 0, 1).ev(base+10, wHeapAlloc, 1).ev(base+100, wSyscallBegin, 1, stk("syscall.read"))
		} else { // another goroutine has the P
			th.runs(base+1, 0, 100+n).ev(base+10, wHeapAlloc, 1).ev(base+200, wSyscallBegin, 1, stk("syscall.write")).ev(base+210, wSyscallEnd).ev(base+220, wHeapAlloc, 1)
		}
	}
	got := newOnProc(nil)
	s := NewStream(unlimited, got)
	s.refuse = func(n uint64) bool { return n != 2 && n != 5 && n != 7 }
	if err := feed(t, s, w.bytes(), pieces(50)); err != nil {
		t.Fatal(err)
	}
	got.verify(t, &s.replay.info)
	if want := []gap{{2100, 5010}, {5100, 7010}}; !slices.Equal(got.gaps, want) {
		t.Errorf("gaps %+v, want %+v", got.gaps, want)
	}
	if len(s.replay.procs) > 0 && s.replay.procs[0] != nil && s.replay.gs.at(s.replay.procs[0].ID) != s.replay.procs[0] {
		t.Error("a goroutine from before the gap holds a P")
	}
}

// TestStreamTraces: for consecutive traces, the observers see the same as for each by itself, up
// to the time to be shown, with gaps between them.
func TestStreamTraces(t *testing.T) {
	const show = 1500
	var data [][]byte
	for n := uint64(1); n <= 3; n++ {
		w, base := newWire(26), 10_000*n
		for k := range n { // 1 to 3 generations
			at := base + 1000*k
			g := w.generation(5*n+k, at)
			th := g.thread(1).runs(at+1, 0, 1).ev(at+10, wHeapAlloc, 1)
			if k == 0 {
				th.ev(at+100, wGoCreate, 7*n, stk("main.worker"), stk("main.spawn", "main.main"))
			}
			th.ev(at+800, wHeapAlloc, 1)
			g.thread(noM).ev(at+900, wGoStatusStack, 9, noM, sWaiting, stk("runtime.chanrecv1", "main.idle"))
		}
		data = append(data, w.bytes())
	}
	opt := unlimited
	opt.Show = show
	got := newOnProc(nil)
	asleep := &waitOf9{}
	s := NewStream(opt, got, asleep)
	var ends []StreamStats
	for _, d := range data {
		s.Write(d)
		s.EndTrace(func(e *StreamStats) { ends = append(ends, *e) })
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got.verify(t, &s.replay.info)
	if want := []gap{{10_800, 20_010}, {21_510, 30_010}}; !slices.Equal(got.gaps, want) {
		t.Errorf("gaps %+v, want %+v", got.gaps, want)
	}
	want := []StreamStats{{Start: 10_010, End: 10_800, Generations: 1}, {Start: 20_010, End: 21_510, Generations: 2}, {Start: 30_010, End: 31_510, Generations: 2}}
	for i := range ends {
		e := &ends[i]
		if e.Bytes != int64(len(data[i])-headerSize) || e.CPU <= 0 || e.Events == 0 {
			t.Errorf("trace %d: %+v", i+1, e)
		}
		e.Bytes, e.CPU, e.Events = 0, 0, 0
	}
	if !slices.Equal(ends, want) {
		t.Errorf("traces %+v, want %+v", ends, want)
	}
	// Its status is among the last events, which are not shown for the later two.
	if asleep.time != 790+1500+1500 {
		t.Errorf("a goroutine that waited all the time did so for %d ns", asleep.time)
	}
	if st := s.Stats(); st.Generations != 6 || st.Dropped != (Drop{}) || st.Pending != 0 || s.pending != 0 {
		t.Errorf("%+v", st)
	}
}

// waitOf9 sums how long goroutine 9 waited.
type waitOf9 struct {
	Base
	time Time
}

func (s *waitOf9) Transition(t *Transition) {
	if t.G.ID == 9 && t.State == Waiting {
		s.time += t.End - t.Start
	}
}

// TestStreamCut: a trace that is cut off in the middle does not affect the next one.
func TestStreamCut(t *testing.T) {
	data := smallTrace(t, "mutex-go1.26.8.trace")
	whole := NewStream(unlimited)
	if err := feed(t, whole, data, pieces(1000)); err != nil {
		t.Fatal(err)
	}
	n := whole.Stats().Generations
	for _, end := range []int{0, 3, headerSize, headerSize + 5, headerSize + 2000, len(data) - 1} {
		s := NewStream(unlimited)
		var ends []StreamStats
		s.Write(data[:end])
		s.EndTrace(func(e *StreamStats) { ends = append(ends, *e) })
		s.Write(data)
		s.EndTrace(func(e *StreamStats) { ends = append(ends, *e) })
		if err := s.Close(); (err == nil) != (end == 0 || end == headerSize) {
			t.Errorf("cut at %d: %v", end, err)
		}
		if st := s.Stats(); st.Generations < n || len(ends) != 2 || ends[1].Generations != n || ends[1].Dropped.Generations != 0 || s.pending != 0 {
			t.Errorf("cut at %d: %+v, %+v of %d generations", end, st, ends, n)
		}
		s.EndTrace(nil) // after Close
	}
}

// TestStreamBudget: with almost no budget everything waits until Close reads it.
func TestStreamBudget(t *testing.T) {
	data := smallTrace(t, "phases-go1.26.8.trace")
	s := NewStream(StreamOptions{Budget: 1e-9, MaxPending: 1 << 40})
	s.Write(data[:len(data)/2])
	if st := s.Stats(); st.Generations > 1 { // the first slice
		t.Errorf("read with almost no budget: %+v", st)
	}
	if err := feed(t, s, data[len(data)/2:], pieces(512)); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Generations != int64(len(generations(t, data))) || st.Dropped != (Drop{}) {
		t.Errorf("%+v", st)
	}
}

// TestStreamKeepsItsBudget: if decoding, replay or an observer is expensive, the used time stays
// below the budget, except for a slice and the longest step, at each checked moment.
func TestStreamKeepsItsBudget(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the clock of a thread is not known here")
	}
	w := newWire(26)
	th := w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1)
	for i := range uint64(2000) {
		th.ev(1100+2*i, wGoStop, "runtime.Gosched", stk("main.main")).ev(1101+2*i, wGoStart, 1, 1+i)
	}
	data := w.bytes()
	const share, step = 0.2, 20 * time.Microsecond
	rate := share * float64(runtime.GOMAXPROCS(0))
	for name, observer := range map[string]Observer{ // the longest step is one of 64 events
		"decoding":  Base{},
		"observers": &burner{each: step},
	} {
		var s *Stream
		var worst time.Duration // beyond the budget
		began := time.Now()
		look := func() {
			cpu := s.Stats().CPU
			worst = max(worst, cpu-time.Duration(rate*float64(time.Since(began))))
		}
		s = NewStream(StreamOptions{Budget: share, MaxPending: 1 << 40}, observer)
		s.Write(data)
		for deadline := time.Now().Add(time.Minute); s.Stats().Pending > 0; time.Sleep(time.Millisecond) {
			if look(); time.Now().After(deadline) {
				t.Fatalf("%s: %+v", name, s.Stats())
			}
		}
		look()
		if worst > slice+5*time.Millisecond {
			t.Errorf("%s: %v beyond the budget of %v a second: %+v", name, worst, time.Duration(rate*float64(time.Second)), s.Stats())
		}
		s.Close()
	}
}

// burner is an expensive observer.
type burner struct {
	Base
	each time.Duration
}

func (b *burner) Transition(*Transition) { burn(b.each) }

// burn uses processor time.
func burn(d time.Duration) {
	for c := startCPUClock(); c.spent() < d; {
	}
}

func TestBudget(t *testing.T) {
	procs := time.Duration(runtime.GOMAXPROCS(0))
	now := time.Now()
	b := budget{share: 0.1, at: now}
	want := func(what string, rest time.Duration) {
		t.Helper()
		if got := b.rest(now); got < rest-time.Microsecond || got > rest+time.Microsecond {
			t.Errorf("%s: rest of %v, want %v", what, got, rest)
		}
	}
	want("at the beginning", slice*10/procs)
	now = now.Add(slice * 10 / procs)
	want("after that", 0)
	now = now.Add(time.Hour)
	b.spend(now, slice)
	want("nothing is saved but a slice", slice*10/procs)
	b.spend(now, 10*time.Millisecond)
	want("in debt", (slice+10*time.Millisecond)*10/procs)
	b.share = 0.05
	want("with half of the budget", (slice+10*time.Millisecond)*20/procs)
	b.spend(now, time.Minute)
	want("in deep debt", longestRest)
	b.share = -1
	want("without a limit", 0)
}

// TestCollector: the estimated share of the collector's work is that of the memory, and reading
// takes about as much memory as assumed.
func TestCollector(t *testing.T) {
	allocated := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	runtime.GC()
	all := collectorCost(1 << 60)
	if all <= 0 || collectorCost(0) != 0 {
		t.Errorf("all of the collector's work: %v, nothing of it: %v", all, collectorCost(0))
	}
	if half := collectorCost(int64(allocated() / allocatedPerByte / 2)); half < all*45/100 || half > all*55/100 {
		t.Errorf("half of the memory is charged %v of %v", half, all)
	}
	for _, recorded := range corpus(t) {
		if !recorded.real {
			continue
		}
		before := allocated()
		if err := feed(t, NewStream(unlimited), recorded.data, pieces(1<<16)); err != nil {
			t.Fatal(err)
		}
		per := float64(allocated()-before) / float64(len(recorded.data))
		if per < 1 || per > 2*allocatedPerByte { // observers take some, too
			t.Errorf("%s: %.1f bytes are allocated for each of the trace; the budget reckons with %d", recorded.name, per, allocatedPerByte)
		}
	}
}

// TestStreamBroken: foreign, old and cut streams give an error that says so. Everything is
// counted, and nothing panics.
func TestStreamBroken(t *testing.T) {
	data := smallTrace(t, "mutex-go1.26.8.trace")
	bad := bytes.Clone(data)
	bad[headerSize] = 77
	content := bytes.Clone(data)
	for i := headerSize + 3000; i < headerSize+3400; i++ {
		content[i] ^= 0x55
	}
	for _, c := range []struct {
		what, want string
		data       []byte
	}{
		{"a page", "HTML", []byte("<!DOCTYPE html><html></html>")},
		{"a piece of a header", "header", []byte("go 1.26 tr")},
		{"an old trace", "generations", []byte("go 1.21 trace\x00\x00\x00abcdef")},
		{"a future trace", "update", []byte("go 1.99 trace\x00\x00\x00abcdef")},
		{"a wrong byte", "not the beginning of a batch", bad},
		{"a cut in a batch", "cut off", data[:len(data)-300]},
		{"a cut before the end of a generation", "cut off", data[:len(data)-1]},
		{"a damaged batch", "generation", content},
	} {
		check := newChecker()
		check.strict = false
		s := NewStream(unlimited, check)
		err := feed(t, s, c.data, pieces(100))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400 {
			t.Errorf("%s: error %v, want one about %q", c.what, err, c.want)
		}
		st := s.Stats()
		if st.Err != err || s.Close() != err {
			t.Errorf("%s: Stats has %v, a second Close returns %v", c.what, st.Err, s.Close())
		}
		if got := st.Bytes + st.Dropped.Bytes; got != int64(max(0, len(c.data)-headerSize)) {
			t.Errorf("%s: %d of %d bytes after the header counted: %+v", c.what, got, len(c.data)-headerSize, st)
		}
		if _, err := s.Write([]byte{1}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: Write after Close: %v", c.what, err)
		}
		if s.replay != nil && s.replay.begun {
			check.verify(t, &s.replay.info)
		}
	}
	if err := NewStream(StreamOptions{}).Close(); err != nil {
		t.Errorf("a stream that nothing was written to: %v", err)
	}
}

// panics is an observer that panics at its nth transition.
type panics struct {
	Base
	n int
}

func (p *panics) Transition(*Transition) {
	if p.n--; p.n == 0 {
		panic("observer's own fault")
	}
	if p.n < 0 {
		panic("called again")
	}
}

// TestStreamPanic: an observer that panics ends the stream with an error. The program continues.
func TestStreamPanic(t *testing.T) {
	data := smallTrace(t, "phases-go1.26.8.trace")
	n := int64(len(generations(t, data)))
	for _, at := range []int{1, 100, 300} {
		s := NewStream(unlimited, &panics{n: at})
		err := feed(t, s, data, pieces(4096))
		if err == nil || !strings.Contains(err.Error(), "observer's own fault") {
			t.Errorf("at %d: %v", at, err)
		}
		if st := s.Stats(); st.Generations+st.Dropped.Generations != n || st.Broken.Generations == 0 || st.Pending != 0 || s.pending != 0 {
			t.Errorf("at %d: %+v of %d generations", at, st, n)
		}
	}
	s := NewStream(unlimited)
	s.Write(data)
	s.EndTrace(func(*StreamStats) { panic("in EndTrace") })
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "in EndTrace") {
		t.Error(err)
	}
	if st := s.Stats(); st.Generations+st.Dropped.Generations != n {
		t.Errorf("%+v of %d generations", st, n)
	}
}

// TestStreamLive: a stream reads the trace of its own program, and counts every generation.
func TestStreamLive(t *testing.T) {
	check := newChecker()
	check.strict = false
	tee := &generationCounter{}
	opt := unlimited
	s := NewStream(opt, check)
	if err := trace.Start(both{s, tee}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		wg.Go(func() {
			for range 200 {
				mu.Lock()
				ballast(4)
				mu.Unlock()
				time.Sleep(10 * time.Microsecond)
			}
		})
	}
	wg.Wait()
	trace.Stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if st.Generations+st.Dropped.Generations != int64(tee.generations) || st.Generations == 0 {
		t.Errorf("%d read, %d dropped of %d", st.Generations, st.Dropped.Generations, tee.generations)
	}
	if st.Bytes != tee.bytes-headerSize {
		t.Errorf("%d bytes of %d", st.Bytes, tee.bytes)
	}
	check.verify(t, &s.replay.info)
	if st.CPU <= 0 || st.Elapsed <= 0 {
		t.Errorf("%+v", st)
	}
	time.Sleep(time.Millisecond)
	if again := s.Stats(); again != st {
		t.Errorf("%+v after Close, later %+v", st, again)
	}
}

type both struct {
	s *Stream
	g *generationCounter
}

func (b both) Write(p []byte) (int, error) {
	b.g.Write(p)
	return b.s.Write(p)
}

// generationCounter counts the marks at the end of generations, which runtime/trace writes
// separately.
type generationCounter struct {
	generations int
	bytes       int64
}

func (g *generationCounter) Write(p []byte) (int, error) {
	g.bytes += int64(len(p))
	if len(p) == 1 && p[0] == evEndOfGeneration {
		g.generations++
	}
	return len(p), nil
}

// FuzzStream: any input in any pieces is counted and keeps the guarantees, and shows the same as a
// pass up to where it breaks.
func FuzzStream(f *testing.F) {
	testenv.BriefFuzzing(f)
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if compression(data) != "" {
			return
		}
		rng := rand.New(rand.NewPCG(uint64(len(data)), 3))
		check := newChecker()
		check.strict = false
		s := NewStream(unlimited, check)
		err := feed(t, s, data, func() int { return 1 + rng.IntN(300) })
		st := s.Stats()
		if s.replay != nil {
			check.verify(t, &s.replay.info)
		}
		if st.Pending != 0 || st.PendingBytes != 0 || s.pending != 0 {
			t.Errorf("pending after Close: %+v, %d", st, s.pending)
		}
		if st.Bytes+st.Dropped.Bytes != int64(max(0, len(data)-headerSize)) {
			t.Errorf("%+v of %d bytes; %v", st, len(data), err)
		}
	})
}
