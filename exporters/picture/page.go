package picture

import (
	"cmp"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The parts of all pictures: a heading at the top, and notes at the bottom.

const (
	titleSize    = 19.0
	subtitleSize = 14.0
	margin       = 20.0
	maxNotes     = 6
)

// newPage begins a picture with a title, the usual one unless the options have another, a sentence,
// and the subtitle. It returns the y coordinate where they end.
func newPage(opt Options, usual, sentence, desc string, x, width float64) (d *Drawing, bottom float64) {
	title := cmp.Or(strings.TrimSpace(format.Clean(opt.Title)), usual)
	d = &Drawing{width: width, title: title, desc: desc}
	y := margin + 16
	d.add(text{x: x, y: y, s: shorten(title, titleSize, true, width-x-margin), size: titleSize, bold: true, fill: themed(ink)})
	y += 2
	for _, below := range []string{sentence, format.Clean(opt.Subtitle)} {
		for _, line := range wrap(strings.TrimSpace(below), subtitleSize, width-x-margin, 4) {
			y += 21
			d.add(text{x: x, y: y, s: line, size: subtitleSize, fill: themed(muted)})
		}
	}
	return d, y + 6
}

// finish ends a picture with notes on its reliability.
func (d *Drawing) finish(notes []string, x, y float64) *Drawing {
	for _, n := range notes {
		y += 4
		for _, line := range wrap(n, noteSize, d.width-x-margin, 4) {
			y += noteLine
			d.add(text{x: x, y: y, s: line, size: noteSize, fill: themed(muted)})
		}
	}
	d.height = y + margin
	return d
}

// warningNotes returns notes for the warnings, or for the first ones if there are many.
func warningNotes(warnings []string) (out []string) {
	for i, w := range warnings {
		if i == maxNotes && len(warnings) > maxNotes+1 {
			return append(out, format.Plural(len(warnings)-i, "more warning", "more warnings")+" not shown.")
		}
		if w = strings.TrimSpace(format.Clean(w)); w != "" {
			out = append(out, "Warning: "+w)
		}
	}
	return out
}
