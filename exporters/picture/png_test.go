package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"sync"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// WritePNG is png.Write, which this package cannot import.
var WritePNG func(w io.Writer, d *Drawing) error

// pngForm writes a drawing as package png does.
func pngForm(w io.Writer) func(*Drawing, error) error {
	return func(d *Drawing, err error) error {
		if err != nil {
			return err
		}
		return WritePNG(w, d)
	}
}

func PNG(w io.Writer, g *bottle.Graph, opt Options) error { return pngForm(w)(Draw(g, opt)) }

func RowPNG(w io.Writer, runs []run, opt Options) error { return pngForm(w)(drawRow(runs, opt)) }

func ContentionPNG(w io.Writer, p *contention.Profile, opt Options) error {
	return pngForm(w)(DrawContention(p, opt))
}

// svgForm writes a drawing as SVG.
func svgForm(w io.Writer) func(*Drawing, error) error {
	return func(d *Drawing, err error) error {
		if err != nil {
			return err
		}
		return d.SVG(w)
	}
}

func ContentionSVG(w io.Writer, p *contention.Profile, opt Options) error {
	return svgForm(w)(DrawContention(p, opt))
}

func StacksSVG(w io.Writer, s []*speedup.Stack, opt Options) error {
	return svgForm(w)(DrawStacks(s, opt))
}

func TasksSVG(w io.Writer, p *granularity.Profile, opt Options) error {
	return svgForm(w)(DrawTasks(p, opt))
}

func StripSVG(w io.Writer, p *granularity.Profile, opt Options) error {
	return svgForm(w)(DrawStrip(p, opt))
}

func StacksPNG(w io.Writer, s []*speedup.Stack, opt Options) error {
	return pngForm(w)(DrawStacks(s, opt))
}

func TasksPNG(w io.Writer, p *granularity.Profile, opt Options) error {
	return pngForm(w)(DrawTasks(p, opt))
}

func StripPNG(w io.Writer, p *granularity.Profile, opt Options) error {
	return pngForm(w)(DrawStrip(p, opt))
}

// pngOf returns a picture as decoded from its file.
func pngOf(t testing.TB, g *bottle.Graph, opt Options) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := PNG(&b, g, opt); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func rgba(c color.Color) color.RGBA { return color.RGBAModel.Convert(c).(color.RGBA) }

func TestPNGShowsTheBoxes(t *testing.T) {
	const scale = 2.0
	for i, g := range testenv.Some([]*bottle.Graph{lusearch(), phases(2)}) {
		name := []string{"lusearch", "windows"}[i]
		s := mustLayout(t, g, Options{})
		img := pngOf(t, g, Options{})
		if got, want := img.Bounds().Size(), image.Pt(int(math.Ceil(s.width*scale)), int(math.Ceil(s.height*scale))); got != want {
			t.Errorf("%s: %v pixels, want %v", name, got, want)
		}
		at := func(x, y float64) color.RGBA { return rgba(img.At(int(x*scale), int(y*scale))) }
		boxes, _ := drawn(s.shapes)
		if len(boxes) == 0 {
			t.Fatal("no boxes")
		}
		for _, b := range boxes {
			r := b.rect
			if r.h < 8 {
				continue
			}
			// The left and right end of the box, beside its label.
			fill, other := 0, map[color.RGBA]bool{}
			for _, x := range []float64{r.x + 4, r.x + 6, r.x + 8, r.x + r.w - 5, r.x + r.w - 7} {
				for y := r.y + 3; y < r.y+r.h-3; y++ {
					if c := at(x, y); c == r.fill.rgb {
						fill++
					} else {
						other[c] = true
					}
				}
			}
			hatched := kindHatch[kindOf(g, b.name)] != 0
			if fill == 0 || hatched != (len(other) > 0) {
				t.Errorf("%s at scale %v: %s has %d pixels of its color and %d other colors; hatched %v", name, scale, b.name, fill, len(other), hatched)
			}
			if c := at(r.x-3, r.y+r.h/2); c == r.fill.rgb {
				t.Errorf("%s: %s is wider than its rectangle", name, b.name)
			}
		}
	}
}

func kindOf(g *bottle.Graph, name string) timeline.Kind {
	for i := range g.Boxes {
		if fullName(g.Boxes[i].Group) == name {
			return g.Boxes[i].Kind
		}
	}
	return 0
}

// inkIn counts the pixels of an area that differ from the color of its first one.
func inkIn(img image.Image, x0, y0, x1, y1 float64) (n int) {
	first := img.At(int(x0), int(y0))
	for y := int(y0); y < int(y1); y++ {
		for x := int(x0); x < int(x1); x++ {
			if img.At(x, y) != first {
				n++
			}
		}
	}
	return n
}

func TestPNGDrawsTheTexts(t *testing.T) {
	s := mustLayout(t, pipeline(), Options{})
	img := pngOf(t, pipeline(), Options{})
	for _, x := range texts(s) {
		x0, y0, x1, y1 := x.bounds()
		n := inkIn(img, 2*x0, 2*y0, 2*x1, 2*y1)
		// A letter covers about a tenth of the square of its size.
		if least := int(4 * 0.04 * x.size * advance(x.s, x.size, x.bold)); n < least {
			t.Errorf("%q is %d pixels, want %d", x.s, n, least)
		}
	}
	// The title, in its own colors: the darkest pixels are ink.
	title := texts(s)[0]
	x0, y0, x1, y1 := title.bounds()
	found := false
	for y := int(2 * y0); y < int(2*y1); y++ {
		for x := int(2 * x0); x < int(2*x1); x++ {
			found = found || rgba(img.At(x, y)) == lightTheme[ink]
		}
	}
	if !found {
		t.Error("the title is not in ink")
	}
}

// TestConcurrentPNGs: the same graph always has the same pixels. It is also for the race detector:
// all pictures read the same fonts.
func TestConcurrentPNGs(t *testing.T) {
	g := samples()["one"]
	var pictures [2]image.Image
	var wg sync.WaitGroup
	for i := range pictures {
		wg.Go(func() { pictures[i] = pngOf(t, g, Options{}) })
	}
	wg.Wait()
	if !bytes.Equal(pictures[0].(*image.RGBA).Pix, pictures[1].(*image.RGBA).Pix) {
		t.Error("two pictures of the same graph differ")
	}
}

func TestDashes(t *testing.T) {
	got := dashes(segment{0, 10, 0, 0}, 3)
	want := []segment{{0, 10, 0, 7}, {0, 4, 0, 1}}
	if len(got) != 2 || math.Abs(got[0].y2-want[0].y2) > 1e-9 || math.Abs(got[1].y1-want[1].y1) > 1e-9 || math.Abs(got[1].y2-want[1].y2) > 1e-9 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestHatchStaysInside(t *testing.T) {
	for _, slope := range []int{1, -1} {
		r := rect{x: 101.5, y: 33, w: 57, h: 19}
		l := hatch(r, slope, paint{})
		if len(l.segments) < 8 {
			t.Errorf("%d lines", len(l.segments))
		}
		for _, s := range l.segments {
			for _, p := range [][2]float64{{s.x1, s.y1}, {s.x2, s.y2}} {
				if p[0] < r.x-1e-9 || p[0] > r.x+r.w+1e-9 || p[1] < r.y-1e-9 || p[1] > r.y+r.h+1e-9 {
					t.Errorf("%v is outside", p)
				}
			}
			if got := (s.x2 - s.x1) * (s.y2 - s.y1) * float64(slope); got > 0 {
				t.Errorf("%v has the wrong slope", s)
			}
		}
	}
}
