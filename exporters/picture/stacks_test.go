package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/speedup"
)

// aStack makes a stack whose remainder is the rest.
func aStack(n int, s float64, components map[speedup.Component]float64) *speedup.Stack {
	st := &speedup.Stack{N: n, Speedup: s, Remainder: float64(n) - s}
	st.Workers.Selector, st.Workers.Count = "main.work", n
	for c, v := range components {
		st.Components[c] = v
		st.Remainder -= v
	}
	return st
}

// scaling are stacks like those of the paper's figure 3.
func scaling() []*speedup.Stack {
	return []*speedup.Stack{
		aStack(2, 1.8, map[speedup.Component]float64{speedup.SyncMutex: 0.08, speedup.Imbalance: 0.03}),
		aStack(4, 3.4, map[speedup.Component]float64{speedup.SyncMutex: 0.24, speedup.SyncChanReceive: 0.16, speedup.Imbalance: 0.08, speedup.SchedWakeup: 0.01}),
		aStack(8, 5.9, map[speedup.Component]float64{speedup.SyncMutex: 0.82, speedup.SyncChanReceive: 0.57, speedup.Imbalance: 0.31, speedup.GCAssist: 0.26}),
		aStack(16, 9.3, map[speedup.Component]float64{speedup.SyncMutex: 2.6, speedup.SyncChanReceive: 1.8, speedup.Imbalance: 1, speedup.GCAssist: 0.8, speedup.Sequential: 0.2}),
	}
}

func stackSamples() map[string][]*speedup.Stack {
	negative := aStack(4, 3.9, map[speedup.Component]float64{speedup.SyncMutex: 0.5, speedup.Sequential: 0.3, speedup.IONetwork: -0.4})
	negative.Disturbed, negative.Warnings = true, []string{"Disturbed: the operating system let threads that were ready wait for 300 ms in 2 s: other programs used the processors, so this is not a result."}
	estimate := aStack(2, 1.22, map[speedup.Component]float64{speedup.SyncMutex: 0.72, speedup.SchedWakeup: 0.06})
	estimate.Estimate, estimate.Remainder = true, 0
	all := &speedup.Stack{N: len(speedup.Delimiters()) + 3, Speedup: 3}
	for _, c := range speedup.Delimiters() {
		all.Components[c] = 1
	}
	many := make([]*speedup.Stack, 30)
	for i := range many {
		many[i] = aStack(i+1, float64(i+1)*0.7, map[speedup.Component]float64{speedup.Imbalance: float64(i) * 0.2})
	}
	return map[string][]*speedup.Stack{
		"scaling": scaling(), "sixty-four": slices.Repeat(scaling(), maxStacks/4), "six": append(scaling(), scaling()[:2]...), "negative": {negative}, "estimate": {estimate}, "one": {aStack(1, 1, nil)}, "all": {all}, "many": many, "empty": {{}},
	}
}

// TestStackLook writes the samples to the directory PICTURES for visual inspection.
func TestStackLook(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	for name, stacks := range stackSamples() {
		for ext, form := range map[string]func(io.Writer, []*speedup.Stack, Options) error{".svg": StacksSVG, ".png": StacksPNG} {
			f, err := os.Create(filepath.Join(dir, "stack-"+name+ext))
			if err != nil {
				t.Fatal(err)
			}
			if err := form(f, stacks, Options{Subtitle: "go test -bench Sort"}); err != nil {
				t.Error(err)
			}
			f.Close()
		}
	}
}

// The heights of the bars equal their numbers: the positive parts sum to N plus the parts below
// zero.
func TestStackHeights(t *testing.T) {
	for name, stacks := range stackSamples() {
		m := newStackModel(stacks, Options{})
		p := &stackPlot{w: 400, h: 1000}
		shapes := m.chart(p)
		unit := p.h / (p.up + p.down)
		i := 0
		walk(shapes, func(s shape) {
			g, ok := s.(*group)
			if !ok || len(g.shapes) == 0 {
				return
			}
			if _, bar := g.shapes[len(g.shapes)-1].(lines); !bar {
				return // a part of a bar
			}
			up, down := 0.0, 0.0
			walk(g.shapes, func(s shape) {
				if r, ok := s.(rect); ok {
					if r.y+r.h <= p.py(0)+1e-9 {
						up += r.h
					} else {
						down += r.h
					}
				}
			})
			if d := (up-down)/unit - float64(stacks[i].N); d > 1e-9 || d < -1e-9 {
				t.Errorf("%s: bar %d is %v high, want %d", name, i, (up-down)/unit, stacks[i].N)
			}
			if (down > 0) != (name == "negative" && i == 0) {
				t.Errorf("%s: bar %d hangs down by %v", name, i, down/unit)
			}
			i++
		})
		if name != "negative" && name != "estimate" && i != len(stacks) && name != "empty" && name != "one" {
			t.Errorf("%s: %d bars of %d", name, i, len(stacks))
		}
	}
}

// Everything is inside the picture, and no texts overlap.
func TestStackStaysInsideThePicture(t *testing.T) {
	for name, stacks := range stackSamples() {
		s, err := DrawStacks(stacks, Options{Title: strings.Repeat("a long title ", 30)})
		if err != nil {
			t.Fatal(err)
		}
		checkTexts(t, name, s)
		walk(s.shapes, func(sh shape) {
			if r, ok := sh.(rect); ok && (r.x < 0 || r.y < 0 || r.x+r.w > s.width+1 || r.y+r.h > s.height) {
				t.Errorf("%s: %+v leaves the picture of %v × %v", name, r, s.width, s.height)
			}
		})
	}
}

func TestStackForms(t *testing.T) {
	for name, stacks := range stackSamples() {
		var svg, img bytes.Buffer
		if err := StacksSVG(&svg, stacks, Options{}); err != nil {
			t.Fatal(err)
		}
		dec := xml.NewDecoder(&svg)
		for {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(name, err)
			}
		}
		if name != "scaling" {
			continue
		}
		if err := StacksPNG(&img, stacks, Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(&img); err != nil {
			t.Error(err)
		}
	}
}

func TestStackErrors(t *testing.T) {
	for what, stacks := range map[string][]*speedup.Stack{"none": nil, "nil": {nil}, "too many": make([]*speedup.Stack, maxStacks+1)} {
		if StacksSVG(io.Discard, stacks, Options{}) == nil || StacksPNG(io.Discard, stacks, Options{}) == nil {
			t.Errorf("%s: no error", what)
		}
	}
	r, w := io.Pipe()
	broken := errors.New("broken")
	r.CloseWithError(broken)
	if err := StacksSVG(w, scaling(), Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestStackSentence(t *testing.T) {
	all := stackSamples()
	for what, want := range map[string]string{
		all["scaling"][3].Sentence():  "9.30 times faster with 16 workers; most is lost to synchronization, 4.40; without it, 12.83 times",
		all["estimate"][0].Sentence(): "at most 1.22 times faster with 2 workers than with one, if one does the same work at the same speed (an estimate from one run); most is lost to mutex, 0.72; without it, at most 1.91 times",
		all["one"][0].Sentence():      "1.00 times faster with 1 worker; nothing is lost",
		aStack(4, 2, nil).Sentence():  "2.00 times faster with 4 workers; most is lost to the remainder, 2.00",
	} {
		if what != want {
			t.Errorf("%q, want %q", what, want)
		}
	}
}
