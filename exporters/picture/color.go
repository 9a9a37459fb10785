package picture

import (
	"image/color"
	"math"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// hex returns the color 0xRRGGBB.
func hex(v uint32) color.RGBA {
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

// The themes. Both have their own background, because the one of an embedding page is unknown.
var (
	lightTheme = map[role]color.RGBA{
		paper: hex(0xffffff), ink: hex(0x1b1f27), muted: hex(0x545d6a), grid: hex(0xe3e7ea), axis: hex(0x4b5360), limit: hex(0x9aa4b1), shade: hex(0xfdf0e7),
	}
	darkTheme = map[role]color.RGBA{
		paper: hex(0x0d1117), ink: hex(0xe6edf3), muted: hex(0x9aa4af), grid: hex(0x252c36), axis: hex(0x8b949e), limit: hex(0x6a7480), shade: hex(0x2a1f18),
	}
)

// The colors of boxes are those of Okabe and Ito, which are distinguishable with any kind of color
// vision, then lighter and darker ones of the same hues. Warm colors are reserved for the neck, so
// that it catches the eye before the names are read.
var (
	coolColors = []color.RGBA{
		hex(0x0072b2), hex(0x56b4e9), hex(0x009e73), hex(0x8cd17d),
		hex(0x2f5597), hex(0x9fd8f4), hex(0x00695c), hex(0xbfe3b4),
		hex(0x3f8fc4), hex(0x5fc8a8), hex(0x7a8fd6), hex(0xb3c7ee),
	}
	warmColors = []color.RGBA{
		hex(0xd55e00), hex(0xe69f00), hex(0xf0e442), hex(0xa84a00),
		hex(0xf7c46c), hex(0xf08c5a), hex(0xc9b400), hex(0xe8b98a),
		hex(0x8a5a00), hex(0xf2b8a0), hex(0xb8860b), hex(0xe8d27a),
	}
	gcColors      = []color.RGBA{hex(0xcc79a7), hex(0xe6b4d0), hex(0xa85a8a), hex(0xd99fc4), hex(0x8a4a78)}
	runtimeColors = []color.RGBA{hex(0x8c96a3), hex(0x6a7480), hex(0xadb6c0)}
	tracerColors  = []color.RGBA{hex(0xc3c9d0), hex(0xd8dde2)}
	othersColor   = hex(0xa9b8bf)
)

// kindHatch is the slope of the hatch lines of each kind of box, 0 for none. Hatches distinguish
// the kinds without color.
var kindHatch = map[timeline.Kind]int{bottle.GC: 1, bottle.Runtime: -1, bottle.Tracer: -1}

// kindNames lists the kinds as named in the legend, in its order.
var kindNames = []struct {
	kind timeline.Kind
	name string
}{
	{bottle.GC, "garbage collector"},
	{bottle.Runtime, "Go runtime"},
	{bottle.Tracer, "tracer, bottleneck itself"},
}

func palette() *chart.Palette[color.RGBA] {
	return &chart.Palette[color.RGBA]{Cool: coolColors, Warm: warmColors, GC: gcColors, Runtime: runtimeColors, Tracer: tracerColors}
}

// labelColor returns the color of text on a box: black or white, whichever contrasts more with both
// the fill and the hatch.
func labelColor(fill, hatch color.RGBA) color.RGBA {
	white, black := hex(0xffffff), hex(0x10141a)
	worst := func(c color.RGBA) float64 { return min(contrast(c, fill), contrast(c, hatch)) }
	if worst(white) >= worst(black) {
		return white
	}
	return black
}

// hatchColor returns the color of the lines on a hatched box.
func hatchColor(fill color.RGBA) color.RGBA {
	white, black := hex(0xffffff), hex(0)
	switch {
	case contrast(fill, white) > 4.5: // keep a white label readable
		return mix(fill, black, 0.22)
	case luminance(fill) > 0.45: // white would be invisible
		return mix(fill, black, 0.13)
	}
	return mix(fill, white, 0.24)
}

func mix(a, b color.RGBA, t float64) color.RGBA {
	f := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + t*(float64(y)-float64(x)))) }
	return color.RGBA{R: f(a.R, b.R), G: f(a.G, b.G), B: f(a.B, b.B), A: 0xff}
}

// contrast returns the contrast ratio of two colors according to the Web Content Accessibility
// Guidelines, from 1 to 21. Text should have at least 4.5.
func contrast(a, b color.RGBA) float64 {
	x, y := luminance(a)+0.05, luminance(b)+0.05
	return max(x, y) / min(x, y)
}

// luminance returns the relative luminance of a color in sRGB, from 0 to 1.
func luminance(c color.RGBA) float64 {
	f := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*f(c.R) + 0.7152*f(c.G) + 0.0722*f(c.B)
}
