package timeline

import (
	"bytes"
	"strings"
	"testing"
)

// coroutineEnds is a trace in which a coroutine runs over the end of a generation, and ends in the
// next one, which does not have its status. If full, the thread's batch has the maximum length.
func coroutineEnds(version int, full bool) *wire {
	w := newWire(version)
	g := w.generation(1, 1000)
	g.thread(1).runs(1001, 0, 1).ev(1010, wGoCreateBlocked, 7, stk("runtime.corostart"), stk("iter.Pull")).ev(1020, wGoSwitch, 7, 1)
	g = w.generation(2, 2000)
	a := g.thread(1).ev(2001, wProcStatus, 0, pRunning)
	for id := uint64(1000); full && len(a.data) < maxBatchSize-37; id++ { // 15 bytes each, and 22 for the rest
		a.ev(2002, wGoStatus, id, noM, sRunnable)
	}
	a.ev(2003, wGoStatus, 1, noM, sWaiting).ev(9090, wGoSwitchDestroy, 1, 1).ev(9100, wHeapAlloc, 1)
	g.thread(2).ev(2004, wProcStatus, 1, pRunning).ev(2005, wGoStatus, 9, 2, sRunning).ev(2050, wGoBlock, "select", stk("main.other"))
	return w
}

// The trace has only the end of a coroutine: it has run until then.
func TestCoroutineEnds(t *testing.T) {
	for _, version := range []int{23, 25, 26} {
		for _, full := range []bool{false, true} {
			w := coroutineEnds(version, full)
			fs := w.replay(t)
			for id, want := range map[int64]string{
				1: "running 1010-1021 P0; waiting 1021-9090 coroutine woken by 7; runnable 9090-9092 coroutine; running 9092-9100 P0",
				7: "waiting 1010-1020 coroutine woken by 1; runnable 1020-1022 coroutine; running 1022-9091 P0",
			} {
				if got := fs.life(id); got != want {
					t.Errorf("Go 1.%d, full %v: goroutine %d:\n got  %s\n want %s", version, full, id, got, want)
				}
			}
			if n := len(w.gens[1].threads[0].data); full && (n > maxBatchSize || n < maxBatchSize-20) {
				t.Errorf("a batch of %d bytes does not test much", n)
			}
		}
	}
}

// In the first generation, and after a gap, it is unknown which goroutine ended, so it gets an ID
// of its own.
func TestCoroutineEndsFirst(t *testing.T) {
	w := coroutineEnds(26, false)
	lives := map[int64]string{
		lostG(1): "running 2050-9091 P0",
		1:        "waiting 2050-9090 other woken by 4503599627370497; runnable 9090-9092 other; running 9092-9100 P0",
	}
	w.gens = w.gens[1:]
	fs := w.replay(t)
	w = coroutineEnds(26, false)
	w.gens[1].number = 3
	w.gens = append(w.gens, w.gens[1])
	w.gens[1] = newWire(26).generation(2, 1500)
	w.gens[1].thread(1).runs(1501, 0, 1).ev(1600, wHeapAlloc, 1)
	gap, check := &facts{}, newChecker()
	s := NewStream(unlimited, check, gap)
	s.refuse = func(number uint64) bool { return number == 2 }
	if err := feed(t, s, w.bytes(), pieces(10)); err != nil {
		t.Error(err)
	}
	for _, f := range check.failures {
		t.Error(f)
	}
	for id, want := range lives {
		if got := fs.life(id); got != want {
			t.Errorf("first: goroutine %d:\n got  %s\n want %s", id, got, want)
		}
		if got := gap.life(id); !strings.HasSuffix(got, want) {
			t.Errorf("after a gap: goroutine %d:\n got  %s\n want …%s", id, got, want)
		}
	}
}

// Other errors remain errors, and nothing is added to complete traces.
func TestNoCoroutineEnds(t *testing.T) {
	for i, part := range generations(t, handMade(26)) {
		if _, got := bothDecode(t, part); len(got.lost) != 0 {
			t.Errorf("generation %d: %v", i+1, got.lost)
		}
	}
	w := newWire(26)
	w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wGoBlock, "select", stk("main.f")).ev(1020, wGoDestroy)
	info, err := Read(t.Context(), bytes.NewReader(w.bytes()), Options{}, newChecker())
	if err == nil || info.Events == 0 {
		t.Errorf("%+v, %v", info, err)
	}
}
