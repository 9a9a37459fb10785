package tracewaits

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/waitlog"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestWindows: with windows of 100 µs, each part of a wait belongs to its window, and the wait
// counts in the window in which it ends.
func TestWindows(t *testing.T) {
	s := newScript(t, Options{Goroutines: true, Window: 100 * time.Microsecond})
	s.play(short.Replace(queueOfThree + `
		450 6 blocks sleep in time.Sleep < main.z
		650 0 wakes 6
		655 6 runs
		700 ends`))
	s.o.Profile()
	var got strings.Builder
	for i, p := range s.o.Windows() {
		checkRows(t, p)
		fmt.Fprintf(&got, "%d: %d\n%s", i, us(p.Duration), profileText(p))
	}
	want := lines(`
		|0: 100
		|1: 100
		|mutex #1 g2 main.f:10: 0 waited 100 = blamed 100 + hand-off 0 + unattributed 0; ready 0
		|  g1 main.hold:3: 100 of 1
		|mutex #1 g3 main.f:10: 0 waited 90 = blamed 90 + hand-off 0 + unattributed 0; ready 0
		|  g1 main.hold:3: 90 of 1
		|mutex #1 g4 main.f:10: 0 waited 80 = blamed 80 + hand-off 0 + unattributed 0; ready 0
		|  g1 main.hold:3: 80 of 1
		|2: 100
		|mutex #1 g3 main.f:10: 0 waited 100 = blamed 95 + hand-off 0 + unattributed 5; ready 0
		|  g2 main.f:12: 95 of 1
		|mutex #1 g4 main.f:10: 0 waited 100 = blamed 95 + hand-off 0 + unattributed 5; ready 0
		|  g2 main.f:12: 95 of 1
		|mutex #1 g2 main.f:10: 1 waited 0 = blamed 0 + hand-off 0 + unattributed 0; ready 5
		|3: 100
		|mutex #1 g4 main.f:10: 0 waited 100 = blamed 90 + hand-off 0 + unattributed 10; ready 0
		|  g3 main.f:12: 90 of 1
		|mutex #1 g3 main.f:10: 1 waited 0 = blamed 0 + hand-off 0 + unattributed 0; ready 10
		|4: 100
		|sleep #1 [timer] g6 time.Sleep: 0 waited 50 = blamed 0 + hand-off 0 + unattributed 50; ready 0
		|mutex #2 g4 main.f:10: 1 waited 0 = blamed 0 + hand-off 0 + unattributed 0; ready 5
		|5: 100
		|sleep #1 [timer] g6 time.Sleep: 0 waited 100 = blamed 0 + hand-off 0 + unattributed 100; ready 0
		|6: 100
		|sleep #1 [timer] g6 time.Sleep: 1 waited 50 = blamed 0 + hand-off 0 + unattributed 50; ready 5
		|`)
	if got.String() != want {
		t.Errorf("windows:\n%s\nwant:\n%s", got.String(), want)
	}
}

// windowClock sums independently how long goroutines waited in each window, for waits whose end is
// in the trace.
type windowClock struct {
	timeline.Base
	width   timeline.Time
	begin   timeline.Time
	open    map[*timeline.Goroutine][]stretch
	windows []time.Duration
}

func (c *windowClock) Begin(t timeline.Time, _ int) {
	c.begin, c.open = t, map[*timeline.Goroutine][]stretch{}
}

func (c *windowClock) Transition(t *timeline.Transition) {
	switch {
	case t.State == timeline.Waiting && t.G.Kind == timeline.Application && t.To.Alive():
		c.open[t.G] = append(c.open[t.G], stretch{t.Start, t.End})
	case t.State == timeline.Runnable && len(c.open[t.G]) > 0:
		c.open[t.G] = append(c.open[t.G], stretch{t.Start, t.End})
	}
	if t.To == timeline.Runnable && t.State == timeline.Waiting || len(c.open[t.G]) == 0 {
		return
	}
	if t.To.Alive() {
		for _, sp := range c.open[t.G] {
			for at := sp.start; at < sp.end; {
				i := int((at - c.begin) / c.width)
				end := min(sp.end, c.begin+timeline.Time(i+1)*c.width)
				for len(c.windows) <= i {
					c.windows = append(c.windows, 0)
				}
				c.windows[i] += time.Duration(end - at)
				at = end
			}
		}
	}
	delete(c.open, t.G)
}

// TestWindowsSum: windows of any length sum to the whole, row by row. The waiting time in each
// equals an independent count.
func TestWindowsSum(t *testing.T) {
	compared := 0
	for name, data := range smallTraces(t) {
		for _, width := range []time.Duration{137 * time.Microsecond, 10 * time.Millisecond, 400 * time.Millisecond, time.Hour} {
			for _, goroutines := range []bool{false, true} {
				o := NewObserver(Options{Window: width, Goroutines: goroutines})
				plain := NewObserver(Options{Goroutines: goroutines})
				clock := &windowClock{width: timeline.Time(width)}
				if _, err := timeline.Read(context.Background(), bytes.NewReader(data), timeline.Options{}, o, plain, clock); err != nil {
					continue // cut off
				}
				compared++
				whole, windows := o.Profile(), o.Windows()
				if a, b := profileText(whole), profileText(plain.Profile()); a != b {
					t.Errorf("%s, every %v: windows change the profile:\n%s\n%s", name, width, a, b)
				}
				sameSums(t, fmt.Sprintf("%s, every %v", name, width), whole, contention.Merge(windows...))
				if len(windows) == 0 {
					continue
				}
				doubled := int((windows[0].Duration + width - 1) / width) // longer if there would be too many
				if width == time.Hour {
					doubled = 1
				}
				for i, p := range windows {
					checkRows(t, p)
					var got, want time.Duration
					for j := range p.Waits {
						got += p.Waits[j].Waited + p.Waits[j].Ready
					}
					for j := i * doubled; j < min(len(clock.windows), (i+1)*doubled); j++ {
						want += clock.windows[j]
					}
					if got != want {
						t.Errorf("%s, every %v: %v waited in window %d, in the trace %v", name, width, got, i, want)
					}
				}
			}
		}
	}
	if compared < 8*fewTraces {
		t.Errorf("only %d readings were compared", compared)
	}
}

// sameSums compares two profiles, without roots and activities.
func sameSums(t *testing.T, name string, a, b *contention.Profile) {
	t.Helper()
	x, y := rowTexts(a), rowTexts(b)
	if a.Dropped.Pairs > 0 { // combined rows differ
		x, y = totalTexts(a), totalTexts(b)
	}
	if !slices.Equal(x, y) {
		for i := range max(len(x), len(y)) {
			if i >= len(x) || i >= len(y) || x[i] != y[i] {
				t.Errorf("%s: %d rows, the windows have %d; row %d is\n%s\nin the windows\n%s", name, len(x), len(y), i, x[min(i, len(x)-1):min(i+1, len(x))], y[min(i, len(y)):min(i+1, len(y))])
				return
			}
		}
	}
	if a.Duration != b.Duration || a.InFlight != b.InFlight || a.Dropped != b.Dropped || !a.Start.Equal(b.Start) {
		t.Errorf("%s: %v, %d in flight, %+v, from %v; the windows have %v, %d, %+v, %v", name, a.Duration, a.InFlight, a.Dropped, a.Start, b.Duration, b.InFlight, b.Dropped, b.Start)
	}
}

// rowTexts formats all rows and locks.
func rowTexts(p *contention.Profile) (out []string) {
	stack := func(s *contention.Stack) string {
		if s == nil {
			return "?"
		}
		return fmt.Sprint(s.Frames, s.Truncated)
	}
	who := func(w contention.Party) string { return fmt.Sprint(w.Goroutine, w.Group, stack(w.Stack)) }
	for i := range p.Waits {
		w := &p.Waits[i]
		out = append(out, fmt.Sprint("wait ", w.Kind, w.Lock.ID, w.Flags, who(w.Waiter), ": ", w.Contentions, w.Observed, w.Parks, w.Waited, w.Blamed, w.HandOff, w.Unattributed, w.Ready, w.ReadyIdle, w.Longest))
	}
	for i := range p.Pairs {
		q := &p.Pairs[i]
		var roots time.Duration
		for _, r := range q.RootOwners() {
			roots += r.Blamed
		}
		out = append(out, fmt.Sprint("pair ", q.Kind, q.Lock.ID, q.Flags, who(q.Waiter), who(q.Owner), ": ", q.Contentions, q.Blamed, q.Longest, q.Blamed, roots))
	}
	for _, l := range p.Locks {
		out = append(out, fmt.Sprint("lock ", l.ID, l.Name, l.Class, ": ", l.Waiters, l.Longest, l.Contended))
	}
	slices.Sort(out)
	return out
}

// totalTexts formats the sums of all rows.
func totalTexts(p *contention.Profile) []string {
	var counts [3]int64
	var times [6]time.Duration
	var longest, blamed time.Duration
	for _, w := range p.Waits {
		for i, n := range []int64{w.Contentions, w.Observed, w.Parks} {
			counts[i] += n
		}
		for i, d := range []time.Duration{w.Waited, w.Blamed, w.HandOff, w.Unattributed, w.Ready, w.ReadyIdle} {
			times[i] += d
		}
		longest = max(longest, w.Longest)
	}
	for _, q := range p.Pairs {
		blamed += q.Blamed
	}
	return []string{fmt.Sprint(counts, times, longest, blamed)}
}

// checkWindows replays a script with windows, which must not change anything and must sum to the
// whole.
func checkWindows(t *testing.T, opt Options, text string, whole *contention.Profile) {
	t.Helper()
	for _, opt.Window = range []time.Duration{37 * time.Microsecond, 250 * time.Microsecond} {
		s := newScript(t, opt)
		s.play(text)
		if again := s.o.Profile(); profileText(again) != profileText(whole) {
			t.Errorf("with windows:\n%s\nwithout:\n%s", profileText(again), profileText(whole))
		}
		sameSums(t, fmt.Sprint("every ", opt.Window), whole, contention.Merge(s.o.Windows()...))
	}
}

// TestWindowsOfManyOwners: if each of many waits is behind many owners, the windows have the same
// rows as if the waits were divided among the owners one by one, and take a number of steps
// proportional to n log n.
func TestWindowsOfManyOwners(t *testing.T) {
	defer func(n int) { wideSum = n }(wideSum)
	texts := func(o *Observer) (out []string) {
		for i, p := range o.Windows() {
			checkRows(t, p)
			for _, row := range rowTexts(p) {
				out = append(out, fmt.Sprint(i, " ", row))
			}
			for _, q := range p.Pairs {
				out = append(out, fmt.Sprint(i, " ", party(q.Owner), q.Running, q.Runnable, q.Blocked))
			}
		}
		slices.Sort(out)
		return out
	}
	for _, tt := range []struct {
		n, chains int
		window    time.Duration
	}{{60, 60, 130 * time.Microsecond}, {150, 7, 300 * time.Microsecond}, {150, 150, 2 * time.Millisecond}, {700, 700, 20 * time.Millisecond}}[:4/min(race.Slowdown, 2)] {
		opt := Options{Window: tt.window}
		noSums = true
		o, _ := convoy(t, tt.n, tt.chains, opt)
		want := texts(o)
		noSums = false
		for _, wideSum = range []int{0, 16} {
			o, p := convoy(t, tt.n, tt.chains, opt)
			got := texts(o)
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Fatalf("%+v, sums of more than %d owners apart: row %d of %d and %d\n%s\none by one\n%s", tt, wideSum, i, len(got), len(want), strings.Join(got[min(i, len(got)):min(i+2, len(got))], "\n"), strings.Join(want[min(i, len(want)):min(i+2, len(want))], "\n"))
				}
			}
			sameSums(t, fmt.Sprintf("%+v", tt), p, contention.Merge(o.Windows()...))
		}
	}
	wideSum = 16
	const n = 3000
	o, p := convoy(t, n, n, Options{Window: 20 * time.Millisecond})
	if work := steps(o); work > 20*n*bits.Len(n) {
		t.Errorf("%d steps for %d waits", work, n)
	}
	spans := 0
	for _, w := range o.Windows() {
		spans += len(w.Pairs)
	}
	if spans < n || p.Dropped.Pairs != 0 {
		t.Errorf("%d pairs in the windows, %d dropped", spans, p.Dropped.Pairs)
	}
	sameSums(t, "many", p, contention.Merge(o.Windows()...))
}

// TestWindowsAreBounded: if there are too many windows, they become longer, and no time is lost.
func TestWindowsAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "%d 2 blocks mutex in L:f%d:10\n%d 1 wakes 2 in U:hold:3\n%d 2 runs\n", 100*i+10, i%7, 100*i+60, 100*i+70)
	}
	fmt.Fprintf(&text, "%d ends\n", 300_000)
	s := newScript(t, Options{Window: 10 * time.Microsecond})
	s.play(short.Replace(text.String()))
	whole, windows := s.o.Profile(), s.o.Windows()
	if len(windows) > maxTraceWindows || len(windows) < maxTraceWindows/2 || windows[0].Duration != 160*time.Microsecond {
		t.Errorf("%d windows of %v", len(windows), windows[0].Duration)
	}
	sameSums(t, "bounded", whole, contention.Merge(windows...))

	w := newTraceWindows(0, Options{Window: time.Microsecond}, maxWindowCells)
	g, lock := &timeline.Goroutine{ID: 1}, &tracedLock{}
	for i := range 3 * maxWindowCells / 2 { // another call chain each time
		site := &callSite{stack: &contention.Stack{}, id: i}
		wait := waiting{site: site, lock: lock, wake: timeline.Time(i + 1), waited: 1, lockWaiting: &noLockWaiting}
		w.spend(&wait, handOffSpan, timeline.Time(i), timeline.Time(i+1), 1)
		w.book(g, &wait, &traceRow{})
		if w.count(); w.cells > maxWindowCells+10 {
			t.Fatalf("%d cells", w.cells)
		}
	}
}

// A message of a wrapped lock can contain times outside the trace.
func TestWindowsTakeAnyTime(t *testing.T) {
	w := newTraceWindows(1000, Options{Window: time.Microsecond}, maxWindowCells)
	for _, sp := range []struct{ from, to, ns timeline.Time }{{-1 << 62, -1 << 61, 5}, {1 << 61, 1 << 62, 1 << 60}, {5000, 5000, 7}, {900, 1100, 100}} {
		wait := waiting{lockWaiting: &noLockWaiting}
		from, to := w.clip(sp.from, sp.to, 9000)
		w.spend(&wait, handOffSpan, from, to, sp.ns)
		wait.site, wait.lock = &callSite{}, &tracedLock{}
		w.book(&timeline.Goroutine{}, &wait, &traceRow{})
	}
	var sum int64
	for _, win := range w.list {
		for _, row := range win.rows.rows {
			sum += int64(row.HandOff)
		}
	}
	if want := int64(5 + 1<<60 + 7 + 100); sum != want || len(w.list) != 8 {
		t.Errorf("%d in %d windows, want %d in 8", sum, len(w.list), want)
	}
}

// TestWindowsSeparateLocksOfTheSameCode: locks of the same code that messages distinguish stay
// separate, and what was inferred about them is dropped.
func TestWindowsSeparateLocksOfTheSameCode(t *testing.T) {
	message := func(lock uint64, start int64) string {
		w := waitlog.Wait{Lock: lock, Waiters: 1, Goroutine: 2, Start: uint64(start)*1000 + 1e9, Waited: 210_000, HandOff: 210_000, Class: "main.T"}
		return sent(start+220) + w.Messages()[0]
	}
	p := play(t, Options{}, strings.NewReplacer("L:", wLock, "U:", wUnlock).Replace(`
		100 2 blocks mutex in L:f:10
		300 1 wakes 2 in U:h:12
		310 2 runs
		320 2 logs `+message(5, 100)+`
		1100 2 blocks mutex in L:f:10
		1300 1 wakes 2 in U:h:12
		1310 2 runs
		1320 2 logs `+message(6, 1100)+`
		1400 2 blocks mutex in L:f:10
		1410 1 wakes 2 in U:h:12
		1411 2 runs
		1600 ends`))
	rows := p.LockTable()
	if len(rows) != 3 || rows[2].Waited != 10*time.Microsecond || rows[2].Lock.Contended != 10*time.Microsecond {
		t.Errorf("%+v: a wait without a message is the only time in which its lock was held", rows[len(rows)-1].Lock)
	}
}
