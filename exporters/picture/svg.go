package picture

import (
	"bufio"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// fontStack names fonts that readers have; none is loaded.
const fontStack = `system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Helvetica Neue',Arial,sans-serif`

// roleNames are the class names of the colors of the theme.
var roleNames = map[role]string{paper: "paper", ink: "ink", muted: "muted", grid: "grid", axis: "axis", limit: "limit", shade: "shade"}

// roles lists the roles in a fixed order, for the style sheet.
var roles = []role{paper, ink, muted, grid, axis, limit, shade}

// styleSheet returns the style sheet with the colors of both modes. Every rule is below the root's
// class, so that a page that includes the picture keeps its own style.
var styleSheet = sync.OnceValue(func() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".bottle-graph text{font-family:%s;font-variant-numeric:tabular-nums;white-space:pre}", fontStack)
	b.WriteString(".bottle-graph .b{font-weight:700}.bottle-graph:root{max-width:100%;height:auto}")
	rules := func(theme map[role]color.RGBA) {
		for _, r := range roles {
			fmt.Fprintf(&b, ".bottle-graph .%s{fill:%s}.bottle-graph .%s-line{stroke:%[2]s}", roleNames[r], hexOf(theme[r]), roleNames[r])
		}
		// A browser that shows the picture alone paints the rest of the window, too.
		fmt.Fprintf(&b, ".bottle-graph:root{background:%s}", hexOf(theme[paper]))
	}
	rules(lightTheme)
	b.WriteString("@media (prefers-color-scheme:dark){")
	rules(darkTheme)
	b.WriteString("}")
	return b.String()
})

// SVG writes the drawing as an SVG document. See the function [SVG].
func (d *Drawing) SVG(w io.Writer) error {
	out := &svgWriter{w: bufio.NewWriterSize(w, 16<<10)}
	width, height := num(d.width), num(d.height)
	out.print(`<svg xmlns="http://www.w3.org/2000/svg" class="bottle-graph" role="img" width="`, width, `" height="`, height,
		`" viewBox="0 0 `, width, ` `, height, `">`, "\n")
	out.element("title", d.title)
	out.element("desc", d.desc)
	out.print("<style>", styleSheet(), "</style>\n")
	out.print(`<rect class="paper" width="`, width, `" height="`, height, `"/>`, "\n")
	out.shapes(d.shapes)
	out.print("</svg>\n")
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("picture: writing SVG: %w", err)
	}
	return nil
}

// svgWriter writes elements. Its buffer keeps the first error of the writer for Flush.
type svgWriter struct{ w *bufio.Writer }

func (o *svgWriter) print(parts ...string) {
	for _, p := range parts {
		o.w.WriteString(p)
	}
}

func (o *svgWriter) element(name, content string) {
	o.print("<", name, ">", escape(content), "</", name, ">\n")
}

func (o *svgWriter) shapes(shapes []shape) {
	for _, s := range shapes {
		switch s := s.(type) {
		case *group:
			o.print("<g>")
			if s.title != "" {
				o.element("title", s.title)
			}
			o.shapes(s.shapes)
			o.print("</g>\n")
		case rect:
			o.rect(s)
		case ribbon:
			o.ribbon(s)
		case lines:
			o.lines(s)
		case text:
			o.text(s)
		}
	}
}

func (o *svgWriter) rect(r rect) {
	o.print("<rect", o.paint("fill", "", r.fill, r.border), ` x="`, num(r.x), `" y="`, num(r.y), `" width="`, num(r.w), `" height="`, num(r.h), `"`)
	if r.border {
		o.print(` stroke-width="`, num(borderWidth), `"`)
	}
	o.print("/>\n")
}

func (o *svgWriter) ribbon(r ribbon) {
	m := num(r.bend())
	o.print(`<path fill="`, hexOf(r.fill), `" fill-opacity="`, num(opacity), `" d="M`, num(r.x1), " ", num(r.top1),
		"C", m, " ", num(r.top1), " ", m, " ", num(r.top2), " ", num(r.x2), " ", num(r.top2),
		"V", num(r.top2+r.h),
		"C", m, " ", num(r.top2+r.h), " ", m, " ", num(r.top1+r.h), " ", num(r.x1), " ", num(r.top1+r.h), "Z\"/>\n")
}

func (o *svgWriter) lines(l lines) {
	if len(l.segments) == 0 {
		return
	}
	o.print("<path", o.paint("stroke", "-line", l.stroke, false), ` fill="none" stroke-width="`, num(l.width), `"`)
	if l.dash > 0 {
		o.print(` stroke-dasharray="`, num(l.dash), `"`)
	}
	o.print(` d="`)
	for _, s := range l.segments {
		o.print("M", num(s.x1), " ", num(s.y1), "L", num(s.x2), " ", num(s.y2))
	}
	o.print("\"/>\n")
}

// paint writes the class or attribute of a color, and the class of a border.
func (o *svgWriter) paint(attribute, suffix string, p paint, border bool) string {
	class, fixedColor := "", ""
	if p.role == fixed {
		fixedColor = " " + attribute + `="` + hexOf(p.rgb) + `"`
	} else {
		class = roleNames[p.role] + suffix
	}
	if border {
		class = strings.TrimSpace(class + " paper-line")
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	return class + fixedColor
}

func (o *svgWriter) text(t text) {
	class, attributes := "", ""
	if t.fill.role == fixed {
		attributes = ` fill="` + hexOf(t.fill.rgb) + `"`
	} else {
		class = roleNames[t.fill.role]
	}
	if t.bold {
		class = strings.TrimSpace(class + " b")
	}
	if class != "" {
		attributes += ` class="` + class + `"`
	}
	if t.anchor != start {
		attributes += ` text-anchor="` + [...]string{start: "start", middle: "middle", end: "end"}[t.anchor] + `"`
	}
	if t.upright {
		attributes += ` transform="rotate(-90 ` + num(t.x) + " " + num(t.y) + `)"`
	}
	o.print("<text", attributes, ` x="`, num(t.x), `" y="`, num(t.y), `" font-size="`, num(t.size), `">`, escape(t.s), "</text>\n")
}

// num formats a length with at most two decimals.
func num(v float64) string {
	v = math.Round(v*100) / 100
	if v == 0 {
		return "0" // also for -0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func hexOf(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// escape makes a text safe inside of elements and attributes. Characters that XML does not allow
// (control characters, half of a surrogate pair, broken UTF-8) become U+FFFD.
func escape(s string) string {
	return entities.Replace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff || r >= 0x7f && r <= 0x9f {
			return utf8.RuneError
		}
		return r
	}, s))
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;")
