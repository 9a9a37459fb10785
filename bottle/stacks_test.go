package bottle

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// callChains are the call chains of random schedules, by number. 0 means none.
var callChains = []*timeline.Stack{nil, calls("main.read", "main.main"), calls("main.parse", "main.main"), calls("main.main"), calls("os.Write", "main.flush"), calls("main.flush")}

// calls makes a call chain, leaf first.
func calls(functions ...string) *timeline.Stack {
	s := &timeline.Stack{}
	for i, fn := range functions {
		s.Frames = append(s.Frames, &timeline.Frame{PC: uint64(i), Func: fn, File: "main.go", Line: 10 * (i + 1)})
	}
	return s
}

// stacksHold returns an error of the stacks of a graph: they must sum to their boxes.
func stacksHold(g *Graph) string {
	for i := range g.Boxes {
		b := &g.Boxes[i]
		var share_, running time.Duration
		var exact share
		for j := range b.Stacks {
			s := &b.Stacks[j]
			share_ += s.Share
			running += s.Running
			exact += s.exact
			if s.Share < 0 || s.Running < 0 || s.Calls != nil && s.Source == NotSampled {
				return fmt.Sprintf("%s: stack %+v", b.Group, s)
			}
			if j > 0 && b.Stacks[j-1].Share < s.Share {
				return fmt.Sprintf("%s: stack %d is larger than the one before", b.Group, j)
			}
		}
		if share_ != b.Share || running != b.Running || b.exact > 0 && exact != b.exact {
			return fmt.Sprintf("%s: %d stacks sum to share %d (exact %d) and running %d; the box has %d (%d), %d", b.Group, len(b.Stacks), share_, exact, running, b.Share, b.exact, b.Running)
		}
	}
	return ""
}

// chainOf returns the call chain of a segment by the rules: that of its state, or that of the event
// at the end of the state's part. later are the segments of the goroutine from this one on.
func chainOf(later []segment, before timeline.Time) int {
	if later[0].state != timeline.Running {
		return later[0].entered
	}
	for _, s := range later {
		if s.end >= before {
			return 0
		}
		if s.ended != 0 || s.left {
			return s.ended
		}
	}
	return 0
}

// Each nanosecond of a box belongs to the call chain that the rules require, by the paper's
// equations in rational arithmetic.
func TestStacksByBruteForce(t *testing.T) {
	runs := uint64(400)
	if testing.Short() {
		runs = 80
	}
	seen := map[int]int{}
	for seed := range runs {
		rng := rand.New(rand.NewPCG(seed, 0x57ac5))
		how := slices.Sorted(maps.Keys(wantGroups))[seed%uint64(len(wantGroups))]
		opt := Options{Group: groupingNamed(t, how), Stacks: true, Offered: rng.IntN(3) == 0}
		s := randomSchedule(rng, how)
		length := int64(s.end - s.begin)
		if rng.IntN(2) == 0 {
			opt.From = time.Duration(rng.Int64N(length))
		}
		if rng.IntN(2) == 0 {
			opt.To = opt.From + 1 + time.Duration(rng.Int64N(length))
		}
		if rng.IntN(3) == 0 {
			opt.Window = time.Duration(1 + length/int64(1+rng.IntN(20)))
		}
		from, to, before := s.begin+timeline.Time(opt.From), s.end, s.end+1
		if opt.To > 0 {
			to = min(to, s.begin+timeline.Time(opt.To))
			before = s.begin + timeline.Time(opt.To)
		}
		segments := slices.Clone(s.segments)
		for i := range segments {
			own := []segment{segments[i]}
			for _, other := range s.segments[i+1:] {
				if other.g == own[0].g {
					own = append(own, other)
				}
			}
			segments[i].key.name += "|" + strconv.Itoa(chainOf(own, before))
		}
		want := bruteForce(segments, s.procs, []timeline.Time{from, to}, true, opt.Offered)[0].boxes
		g, _ := s.play(opt)
		describe := fmt.Sprintf("seed %d, by %s, offered %v, from %d to %d of %d ns", seed, how, opt.Offered, opt.From, opt.To, length)
		if wrong := stacksHold(g); wrong != "" {
			t.Errorf("%s: %s", describe, wrong)
		}
		for i := range g.Boxes {
			b := &g.Boxes[i]
			for j := range b.Stacks {
				st := &b.Stacks[j]
				number := slices.Index(callChains, st.Calls)
				seen[number]++
				key := boxKey{b.Group + "|" + strconv.Itoa(number), b.Kind}
				w := want[key]
				if w == nil || st.Running != time.Duration(w.running) {
					t.Fatalf("%s: %v: running %v, want %+v", describe, key, st.Running, w)
				}
				off := new(big.Rat).SetFrac64(int64(st.exact), 1<<fracBits)
				off.Sub(off, w.share)
				off.Mul(off, big.NewRat(1<<fracBits, 1))
				if off.Abs(off).Cmp(w.bound) > 0 {
					t.Fatalf("%s: %v: the share is %s·2^-16 ns off; at most %s is proven", describe, key, off.FloatString(3), w.bound.FloatString(3))
				}
				delete(want, key)
			}
		}
		for key, w := range want {
			if w.running != 0 {
				t.Fatalf("%s: %v ran for %d, and has no stack", describe, key, w.running)
			}
		}
	}
	for number := range callChains {
		if seen[number] < 50 {
			t.Errorf("call chain %d was seen %d times: the schedules test too little", number, seen[number])
		}
	}
}

// Graphs of pieces of a pass and scaled, folded or merged graphs keep the sums of the stacks.
func TestStacksKeepTheSums(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 0xadd))
		s := randomSchedule(rng, "function")
		whole, _ := s.play(Options{Stacks: true})
		plain, _ := s.play(Options{})
		d := drive(Options{Stacks: true}, s.begin)
		var pieces []*Graph
		for i, call := range s.calls {
			call(d)
			if i%17 == 16 {
				pieces = append(pieces, d.o.Cut(d.now))
			}
		}
		pieces = append(pieces, d.end())
		merged, err := Merge(pieces...)
		if err != nil {
			t.Fatal(err)
		}
		mixed, err := Merge(whole, plain)
		if err != nil {
			t.Fatal(err)
		}
		for name, g := range map[string]*Graph{"whole": whole, "merged": merged, "mixed": mixed, "scaled": whole.Scale(7), "top": whole.Top(2), "top of merged": merged.Top(1)} {
			if wrong := stacksHold(g); wrong != "" {
				t.Errorf("seed %d: %s: %s", seed, name, wrong)
			}
		}
		for i := range whole.Boxes {
			if a, b := whole.Boxes[i].Stacks, merged.Boxes[i].Stacks; whole.Boxes[i].Share > 0 && (len(a) == 0 || len(b) == 0) {
				t.Errorf("seed %d: %s has no stacks", seed, whole.Boxes[i].Group)
			}
		}
		whole.Boxes = slices.Clone(whole.Boxes)
		for i := range whole.Boxes {
			whole.Boxes[i].Stacks = nil
		}
		if !reflect.DeepEqual(whole.Boxes, plain.Boxes) {
			t.Errorf("seed %d: with stacks, boxes are others than without", seed)
		}
	}
}

// From 20 CPU samples on, samples divide Go code: each counts once for the running time and 1/r
// for the share. System calls need no samples.
func TestStacksBySamples(t *testing.T) {
	for _, n := range []int{19, 20} {
		d := drive(Options{Stacks: true}, 0)
		a := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
		b := d.appear(app(2, "main.g"), timeline.Waiting, timeline.WaitSleep)
		alone, together := calls("main.alone", "main.f"), calls("main.together", "main.f")
		for i := range n { // 3 of 4 while a runs alone, the others while b runs as well
			at := timeline.Time(i * 1000)
			d.at(at)
			if i%4 == 3 {
				d.run(b)
				d.o.Sample(at, a, together)
				d.at(at + 999)
				d.block(b, timeline.WaitSleep)
			} else {
				d.o.Sample(at, a, alone)
			}
		}
		d.at(20_000)
		d.calls = calls("syscall.read", "main.f")
		d.to(a, timeline.Syscall, timeline.WaitSyscall)
		d.o.Sample(20_000, a, calls("syscall.other")) // no Go code
		d.at(20_500)
		g := d.end()
		if wrong := stacksHold(g); wrong != "" {
			t.Error(wrong)
		}
		got := map[string]string{}
		for _, s := range boxNamed(t, g, "main.f").Stacks {
			got[string(s.Source)+": "+s.Calls.String()] = fmt.Sprint(int64(s.Share), " ", int64(s.Running))
		}
		// 20 samples: 15 alone, 5 beside another goroutine. 20,000 ns of Go code are
		// divided 15:5, and its share, 20,000 − 5·999/2, is divided 15:5/2. The box is
		// rounded up.
		want := map[string]string{
			"scheduling events: syscall.read < main.f": "500 500",
			"cpu samples: main.alone < main.f":         "15002 15000",
			"cpu samples: main.together < main.f":      "2501 5000",
		}
		if n == 19 { // 4 beside another goroutine
			want = map[string]string{"scheduling events: syscall.read < main.f": "18502 20500"}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d samples: got %v, want %v", n, got, want)
		}
	}
}

// The stack of interrupted code does not depend on how it was interrupted.
func TestStacksOfInterruptedCode(t *testing.T) {
	d := drive(Options{Stacks: true}, 0)
	g := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	plain := calls("main.work", "main.f")
	interrupted, sampled := &timeline.Stack{}, &timeline.Stack{}
	interrupted.Frames = append(calls("runtime.asyncPreempt2", "runtime.asyncPreempt").Frames, plain.Frames...)
	sampled.Frames = append(slices.Clone(plain.Frames), calls("runtime.goexit").Frames...)
	for i, c := range []*timeline.Stack{plain, interrupted, sampled, calls("runtime.asyncPreempt")} {
		d.at(timeline.Time(1000*i + 500))
		d.calls = c
		d.to(g, timeline.Runnable, timeline.WaitPreempted)
		d.at(timeline.Time(1000*i + 1000))
		d.run(g)
	}
	graph := d.end()
	if wrong := stacksHold(graph); wrong != "" {
		t.Error(wrong)
	}
	got := map[string]time.Duration{}
	for _, s := range boxNamed(t, graph, "main.f").Stacks {
		names := ""
		for _, f := range s.Calls.Code() {
			names += f.Func + " "
		}
		got[names] += s.Running
		if len(boxNamed(t, graph, "main.f").Stacks) != 2 {
			t.Errorf("stack %s of %v", s.Calls, s.Running)
		}
	}
	if want := map[string]time.Duration{"main.work main.f ": 1500, "runtime.asyncPreempt ": 500}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A graph keeps a bounded number of call chains, however many there are.
func TestStacksAreBounded(t *testing.T) {
	d := drive(Options{Stacks: true}, 0)
	g := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
	for i := range 2 * maxStacks {
		d.at(timeline.Time(2*i + 1))
		d.calls = calls("main.f" + strconv.Itoa(i))
		d.block(g, timeline.WaitSleep)
		d.at(timeline.Time(2*i + 2))
		d.run(g)
	}
	graph := d.end()
	b := boxNamed(t, graph, "main.f")
	if wrong := stacksHold(graph); wrong != "" {
		t.Error(wrong)
	}
	if n := len(b.Stacks); n > maxStacks+2 || !b.Stacks[0].Folded() || b.Stacks[0].Running != maxStacks {
		t.Errorf("%d stacks, the largest %+v", n, b.Stacks[0])
	}
	other := calls("main.other")
	graph.Boxes[0].Stacks[1].Calls = other
	merged, err := Merge(graph, graph)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := stacksHold(merged); wrong != "" || len(merged.Boxes[0].Stacks) > maxStacks+2 {
		t.Errorf("merged: %d stacks, %s", len(merged.Boxes[0].Stacks), wrong)
	}
}

// The stacks of recorded traces sum to their boxes, however the graph was computed.
func TestStacksOfTraces(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "testdata", "*", "*.trace*"))
	if len(files) < 12 {
		t.Fatalf("%d traces", len(files))
	}
	for _, file := range testenv.Some(files) {
		name, _, _ := strings.Cut(filepath.Base(file), ".trace")
		t.Run(name, func(t *testing.T) {
			whole, part := NewObserver(Options{Stacks: true, Window: 100 * time.Millisecond}), NewObserver(Options{Stacks: true, From: 20 * time.Millisecond, To: 300 * time.Millisecond})
			offered, single := NewObserver(Options{Stacks: true, Offered: true}), NewObserver(Options{Stacks: true, Group: ByGoroutine, MaxSingle: 7})
			plain := NewObserver(Options{Window: 100 * time.Millisecond})
			if _, err := timeline.ReadFile(context.Background(), file, timeline.Options{}, whole, part, offered, single, plain); err != nil {
				t.Fatal(err)
			}
			for how, o := range map[string]*Observer{"whole": whole, "part": part, "offered": offered, "by goroutine": single} {
				g := o.Graph()
				if wrong := stacksHold(g); wrong != "" {
					t.Errorf("%s: %s", how, wrong)
				}
				sampled := time.Duration(0)
				for i := range g.Boxes {
					for _, s := range g.Boxes[i].Stacks {
						if s.Source != NotSampled {
							sampled += s.Running
						}
					}
				}
				if sampled == 0 && how != "part" {
					t.Errorf("%s: nothing has a call chain", how)
				}
			}
			g := whole.Graph()
			for i := range g.Boxes {
				g.Boxes[i].Stacks = nil
			}
			if want := plain.Graph(); fmt.Sprintf("%+v", g.Boxes) != fmt.Sprintf("%+v", want.Boxes) {
				t.Error("with stacks, boxes are others than without")
			}
		})
	}
}
