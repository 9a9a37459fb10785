package picture

import (
	"image/color"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func TestContrast(t *testing.T) {
	if got := contrast(hex(0), hex(0xffffff)); got < 20.99 || got > 21.01 {
		t.Errorf("contrast of black and white is %v, want 21", got)
	}
	for name, theme := range map[string]map[role]color.RGBA{"light": lightTheme, "dark": darkTheme} {
		for _, r := range []role{ink, muted} {
			if c := contrast(theme[r], theme[paper]); c < 4.5 {
				t.Errorf("%s: contrast of role %d is %.2f, want 4.5", name, r, c)
			}
		}
		for _, r := range roles {
			if _, ok := theme[r]; !ok {
				t.Errorf("%s has no color for role %d", name, r)
			}
		}
	}
}

func TestEveryColorStandsOut(t *testing.T) {
	check := func(list []color.RGBA, kind timeline.Kind) {
		for i, c := range list {
			h := c
			if kindHatch[kind] != 0 {
				h = hatchColor(c)
			}
			l := labelColor(c, h)
			if got := min(contrast(l, c), contrast(l, h)); got < 4.5 {
				t.Errorf("%s color %d (%v): contrast of its label is %.2f, want 4.5", kind, i, c, got)
			}
			if h != c && contrast(h, c) < 1.15 {
				t.Errorf("%s color %d: the hatch cannot be seen", kind, i)
			}
			for _, theme := range []map[role]color.RGBA{lightTheme, darkTheme} {
				if got := contrast(c, theme[paper]); got < 1.25 {
					t.Errorf("%s color %d (%v): contrast with the paper is %.2f", kind, i, c, got)
				}
			}
			for j, other := range list[:i] {
				if other == c {
					t.Errorf("%s colors %d and %d are the same", kind, i, j)
				}
			}
		}
	}
	check(append(append([]color.RGBA{othersColor}, coolColors...), warmColors...), bottle.Application)
	check(gcColors, bottle.GC)
	check(runtimeColors, bottle.Runtime)
	check(tracerColors, bottle.Tracer)
}

// TestLabelsOnBoxesHaveContrast checks the colors of a picture, not only those of the palettes.
func TestLabelsOnBoxesHaveContrast(t *testing.T) {
	for name, g := range samples() {
		labels := 0
		walk(mustLayout(t, g, Options{}).shapes, func(s shape) {
			gr, ok := s.(*group)
			if !ok {
				return
			}
			var box rect
			for _, s := range gr.shapes {
				switch s := s.(type) {
				case rect:
					box = s
				case text:
					if s.fill.role != fixed {
						continue
					}
					labels++
					if c := contrast(s.fill.rgb, box.fill.rgb); c < 4.5 {
						t.Errorf("%s: contrast of %q is %.2f", name, s.s, c)
					}
					x0, y0, x1, y1 := s.bounds()
					if x0 < box.x || x1 > box.x+box.w || y0 < box.y-1 || y1 > box.y+box.h+1 {
						t.Errorf("%s: %q sticks out of its box", name, s.s)
					}
				}
			}
		})
		if labels == 0 && name != "empty" && name != "idle" && name != "nothing" {
			t.Errorf("%s: no box has a label", name)
		}
	}
}

func TestNeckIsWarmAndBold(t *testing.T) {
	m := mustModel(t, lusearch(), Options{Top: 15})
	for _, e := range m.entries {
		if want := e.box.Parallelism < 2; e.neck != want {
			t.Errorf("%s: neck is %v", e.label, e.neck)
		}
		if e.label == "main" && e.fill != warmColors[0] {
			t.Errorf("main is not in the strongest warm color")
		}
	}
	for _, x := range texts(mustLayout(t, lusearch(), Options{})) {
		switch x.s {
		case "main", "GC init", "GC (stop the world)":
			if !x.bold {
				t.Errorf("%s is not bold", x.s)
			}
		case "Query0", "Query3":
			if x.bold {
				t.Errorf("%s is bold", x.s)
			}
		}
	}
}
