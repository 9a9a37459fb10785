package bottle

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The paper's equations, taken literally: time is cut into intervals at every start and stop of a
// goroutine. In an interval of length t with r running goroutines, m of them in a box, the box gets
// a share of m·t/r (eq. 1) and a running time of m·t (eq. 2). Rational arithmetic rounds nothing.
// Every interval looks at every segment.
//
// The clock of the package counts in units of 2^-16 ns and carries the remainder c < r of each
// division into the next one. In an interval it advances by (t·2^16 + c₀ − c₁)/r units, where eq. 1
// gives t·2^16/r. So the share of a box is off by m·(c₀ − c₁)/r, at most m/r·(max(r₀, r) − 1)
// units, with r₀ the r of the previous interval. The sum over the intervals in which the box ran
// bounds its error: 0 while one goroutine runs alone, otherwise less than r units for each change
// of r. The errors of all boxes together are the carry.

// segment is an interval that a goroutine spent in one state and box.
type segment struct {
	g          int64
	key        boxKey
	state      timeline.State
	wait       timeline.Wait
	start, end timeline.Time
	// entered is the number of the call chain with which the state began, and ended that of the
	// event at the end, 0 if it has none. left means that the state ended then.
	entered, ended int
	left           bool
}

func (s *segment) runs(offered bool) bool {
	switch s.state {
	case timeline.Running, timeline.Syscall, timeline.InC, timeline.InCDetached:
		return true
	case timeline.Runnable, timeline.InCUncounted:
		return offered
	}
	return false
}

// truth has the results of the equations for one box in one window.
type truth struct {
	share, bound *big.Rat // in ns; in 2^-16 ns
	room         *big.Rat // ∫ GOMAXPROCS/r, in ns
	running, any timeline.Time
	runnable     timeline.Time
	inC          timeline.Time
	waiting      map[string]time.Duration
	goroutines   map[int64]bool
}

type truths struct {
	start, end timeline.Time
	idle       timeline.Time
	capacity   time.Duration // ∫ GOMAXPROCS, in total and while idle
	idleLost   time.Duration
	boxes      map[boxKey]*truth
}

func (ts *truths) box(k boxKey) *truth {
	b := ts.boxes[k]
	if b == nil {
		b = &truth{share: new(big.Rat), room: new(big.Rat), bound: new(big.Rat), waiting: map[string]time.Duration{}, goroutines: map[int64]bool{}}
		ts.boxes[k] = b
	}
	return b
}

// bruteForce evaluates the equations for the windows between the cuts. A goroutine
// belongs to a box in a window if it was in the box at an instant of the window, whose
// end does not count unless the trace itself ends inside of the window.
func bruteForce(segs []segment, procs []procsFrom, cuts []timeline.Time, endsInside, offered bool) []*truths {
	edges := slices.Clone(cuts)
	for _, p := range procs {
		if cuts[0] < p.from && p.from < cuts[len(cuts)-1] {
			edges = append(edges, p.from)
		}
	}
	first, last := cuts[0], cuts[len(cuts)-1]
	for i := range segs {
		for _, t := range []timeline.Time{segs[i].start, segs[i].end} {
			if first < t && t < last {
				edges = append(edges, t)
			}
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)

	var out []*truths
	for i := range cuts[1:] {
		w := &truths{start: cuts[i], end: cuts[i+1], boxes: map[boxKey]*truth{}}
		inclusive := endsInside && i == len(cuts)-2
		for k := range segs {
			s := &segs[k]
			if s.end >= w.start && (s.start < w.end || inclusive && s.start == w.end) {
				w.box(s.key).goroutines[s.g] = true
			}
		}
		out = append(out, w)
	}

	w, before := 0, int64(0)
	for i := range edges[1:] {
		from, to := edges[i], edges[i+1]
		for from >= out[w].end {
			w++
		}
		dt := to - from
		p := int64(0)
		for _, c := range procs {
			if c.from <= from {
				p = c.n
			}
		}
		out[w].capacity += time.Duration(p * int64(dt))
		running := map[boxKey]int64{}
		var r int64
		for k := range segs {
			s := &segs[k]
			if s.start > from || s.end < to {
				continue
			}
			b := out[w].box(s.key)
			if s.runs(offered) {
				running[s.key]++
				r++
			}
			switch s.state {
			case timeline.Runnable:
				b.runnable += dt
			case timeline.Waiting, timeline.SyscallBlocked:
				b.waiting[s.wait.String()] += time.Duration(dt)
			case timeline.InC, timeline.InCDetached, timeline.InCUncounted:
				b.inC += dt
				if !s.runs(offered) {
					b.waiting["in-c"] += time.Duration(dt)
				}
			}
		}
		if r == 0 {
			out[w].idle += dt
			out[w].idleLost += time.Duration(p * int64(dt))
			continue
		}
		for key, m := range running {
			b := out[w].box(key)
			b.share.Add(b.share, big.NewRat(m*int64(dt), r))
			b.room.Add(b.room, big.NewRat(m*int64(dt)*p, r))
			b.bound.Add(b.bound, big.NewRat(m*(max(before, r)-1), r))
			b.running += timeline.Time(m) * dt
			b.any += dt
		}
		before = r
	}
	return out
}

// sum adds windows. Self-parallelism and counts of goroutines are combined as sets.
func sum(ws []*truths) *truths {
	all := &truths{start: ws[0].start, end: ws[len(ws)-1].end, boxes: map[boxKey]*truth{}}
	for _, w := range ws {
		all.idle += w.idle
		all.capacity += w.capacity
		all.idleLost += w.idleLost
		for k, b := range w.boxes {
			a := all.box(k)
			a.share.Add(a.share, b.share)
			a.room.Add(a.room, b.room)
			a.bound.Add(a.bound, b.bound)
			a.running += b.running
			a.any += b.any
			a.runnable += b.runnable
			a.inC += b.inC
			for reason, d := range b.waiting {
				a.waiting[reason] += d
			}
			maps.Copy(a.goroutines, b.goroutines)
		}
	}
	return all
}

// differs describes how a graph differs from the truth; "" if it does not.
func differs(g *Graph, want *truths) string {
	if g.Wall != time.Duration(want.end-want.start) || g.Idle != time.Duration(want.idle) {
		return fmt.Sprintf("wall %d, idle %d; want %d, %d", g.Wall, g.Idle, want.end-want.start, want.idle)
	}
	if len(g.Boxes) != len(want.boxes) {
		return fmt.Sprintf("boxes %v; want %v", names(g), slices.Collect(maps.Keys(want.boxes)))
	}
	if g.Capacity != want.capacity || g.IdleLost != want.idleLost {
		return fmt.Sprintf("capacity %d, %d of it idle; want %d, %d", g.Capacity, g.IdleLost, want.capacity, want.idleLost)
	}
	sum, lost := g.Idle, g.IdleLost
	for i := range g.Boxes {
		b := &g.Boxes[i]
		w := want.boxes[boxKey{b.Group, b.Kind}]
		if w == nil {
			return fmt.Sprintf("box %s (%s) should not be there", b.Group, b.Kind)
		}
		sum += b.Share
		exact := new(big.Rat).SetFrac64(int64(b.exact), 1)
		scaled := new(big.Rat).Mul(w.share, big.NewRat(1<<fracBits, 1))
		off := new(big.Rat).Sub(exact, scaled)
		if off.Abs(off).Cmp(w.bound) > 0 {
			return fmt.Sprintf("%s: share is %s·2^-16 ns off; at most %s is proven", b.Group, off.FloatString(3), w.bound.FloatString(3))
		}
		if d := b.Share - time.Duration(b.exact>>fracBits); d < 0 || d > 1 {
			return fmt.Sprintf("%s: share %d ns is not %d·2^-16 ns, rounded", b.Group, b.Share, b.exact)
		}
		// The error of the capacity is GOMAXPROCS times that of the share. Rounding adds 1
		// ns, and the box that gets the remainder has at most 1 ns·processor more for each
		// box.
		lost += b.Lost
		off.Sub(new(big.Rat).SetFrac64(int64(b.Lost+b.Running), 1), w.room)
		most := new(big.Rat).Add(big.NewRat(int64(g.Procs)+int64(len(g.Boxes)), 1), new(big.Rat).Mul(w.bound, big.NewRat(int64(g.Procs), 1<<fracBits)))
		if off.Abs(off).Cmp(most) > 0 {
			return fmt.Sprintf("%s: lost %d ns·processors are %s off; at most %s is proven", b.Group, b.Lost, off.FloatString(3), most.FloatString(3))
		}
		self := 0.0
		if w.any > 0 {
			self = float64(w.running) / float64(w.any)
		}
		got := []any{b.Running, b.SelfParallelism, b.Runnable, b.Waiting, b.InC, b.Goroutines}
		wanted := []any{time.Duration(w.running), self, time.Duration(w.runnable), w.waiting, time.Duration(w.inC), len(w.goroutines)}
		if fmt.Sprint(got) != fmt.Sprint(wanted) {
			return fmt.Sprintf("%s: running, self-parallelism, runnable, waiting, in C, goroutines are\n\t%v; want\n\t%v", b.Group, got, wanted)
		}
	}
	if sum != g.Wall {
		return fmt.Sprintf("shares and idle time sum to %d of %d ns", sum, g.Wall)
	}
	if lost != g.Lost() {
		return fmt.Sprintf("lost capacity sums to %d of %d ns·processors", lost, g.Lost())
	}
	return ""
}

// identity checks Σ shares + carry == (wall − idle)·2^16 of an observer that has ended.
func identity(o *Observer) error {
	var sum share
	for _, b := range o.boxes {
		sum += b.sum.share
	}
	if got, want := sum+o.clock.carry, share(o.to-o.from-o.whole.idle)<<fracBits; got != want {
		return fmt.Errorf("shares %d + carry %d = %d; wall − idle = %d (in 2^-16 ns)", sum, o.clock.carry, got, want)
	}
	return nil
}

func TestEquationsByBruteForce(t *testing.T) {
	runs := uint64(250)
	if testing.Short() {
		runs = 60
	}
	for seed := range runs {
		rng := rand.New(rand.NewPCG(seed, 0xb0771e))
		var opt Options
		how := slices.Sorted(maps.Keys(wantGroups))[seed%uint64(len(wantGroups))]
		opt.Group = groupingNamed(t, how)
		opt.Offered = rng.IntN(3) == 0
		s := randomSchedule(rng, how)
		begin, end := s.begin, s.end
		length := int64(end - begin)
		if rng.IntN(2) == 0 {
			opt.From = time.Duration(rng.Int64N(length))
		}
		if rng.IntN(2) == 0 {
			opt.To = opt.From + 1 + time.Duration(rng.Int64N(length))
		}
		if rng.IntN(2) == 0 {
			opt.Window = time.Duration(1 + rng.Int64N(1+length/int64(1+rng.IntN(20))))
		}
		g, o := s.play(opt)

		cuts := []timeline.Time{begin + timeline.Time(opt.From)}
		to := end
		if opt.To > 0 {
			to = min(end, begin+timeline.Time(opt.To))
		}
		if opt.Window > 0 {
			for c := cuts[0] + timeline.Time(opt.Window); c < to; c += timeline.Time(opt.Window) {
				cuts = append(cuts, c)
			}
		}
		cuts = append(cuts, to)
		endsInside := opt.To == 0 || begin+timeline.Time(opt.To) > end
		want := bruteForce(s.segments, s.procs, cuts, endsInside, opt.Offered)

		describe := fmt.Sprintf("seed %d, by %s, offered %v, from %d to %d of %d ns, windows of %d ns", seed, how, opt.Offered, opt.From, opt.To, length, opt.Window)
		if err := identity(o); err != nil {
			t.Errorf("%s: %v", describe, err)
		}
		if d := differs(g, sum(want)); d != "" {
			t.Errorf("%s: %s", describe, d)
		}
		if opt.Window > 0 && len(g.Windows) != len(want) {
			t.Errorf("%s: %d windows, want %d", describe, len(g.Windows), len(want))
			continue
		}
		for i, w := range g.Windows {
			if d := differs(w, want[i]); d != "" {
				t.Errorf("%s: window %d: %s", describe, i, d)
			}
		}
	}
}
