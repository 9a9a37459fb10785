package chart

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// The parts of each stack sum to its speed-up, components and remainder; what has a part of its own
// is large enough in one of the stacks.
func TestPartsSum(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var stacks []*speedup.Stack
		var want []float64
		for n := range 1 + rnd.IntN(3) {
			s := &speedup.Stack{N: n + 2, Speedup: rnd.Float64(), Remainder: rnd.Float64() - .5}
			sum := s.Speedup + s.Remainder
			for _, c := range speedup.Delimiters() {
				if rnd.IntN(3) == 0 {
					s.Components[c] = math.Pow(10, -4*rnd.Float64()) * float64(1-2*rnd.IntN(2))
					sum += s.Components[c]
				}
			}
			stacks, want = append(stacks, s), append(want, sum)
		}
		const least = 0.01
		for _, p := range Parts(stacks, least) {
			large := p.Speedup || p.Remainder || p.Small
			for i, v := range p.Values {
				want[i] -= v
				large = large || math.Abs(v) > least*float64(stacks[i].N)
			}
			if !large && p.Name != p.Component.Words() { // a single small one takes no more room
				t.Errorf("%+v", p)
			}
			if without := p.Without(stacks[0]); p.Small && without != 0 {
				t.Errorf("%s: %v without it", p.Name, without)
			}
		}
		for i, rest := range want {
			if math.Abs(rest) > 1e-9 {
				t.Errorf("the parts of stack %d miss %v", i, rest)
			}
		}
	}
}

func TestNiceStep(t *testing.T) {
	for least, want := range map[float64]float64{0: 1, -3: 1, 0.1: 0.1, 0.11: 0.2, 0.21: 0.5, 0.6: 1, 1: 1, 2.0001: 5, 6: 10, 1234: 2000} {
		if got := NiceStep(least); math.Abs(got-want) > 1e-12*want {
			t.Errorf("NiceStep(%v) = %v, want %v", least, got, want)
		}
	}
}

// In a graph by region, the names of regions are kept, and those of other groups are functions.
func TestNamesByRegion(t *testing.T) {
	g := &bottle.Graph{GroupBy: "region", Boxes: []bottle.Box{{Group: "a.com/b/c.D"}, {Group: "a.com/b/background.run", Kind: bottle.Tracer}}}
	if got := Names(g, []string{"a.com/b/background.run", "a.com/b/c.D"}); got[0] != "background.run" || got[1] != "a.com/b/c.D" {
		t.Errorf("%q", got)
	}
}
