package picture

import (
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// What all pictures have: a heading above, and notes at the foot.

const (
	titleSize    = 19.0
	subtitleSize = 14.0
	margin       = 20.0
	maxNotes     = 6
)

// heading draws a title and what it is about below, and returns where they end.
func heading(title string, below []string, x, width float64) (out []shape, bottom float64) {
	y := margin + 16
	out = append(out, text{x: x, y: y, s: shorten(title, titleSize, true, width-x-margin), size: titleSize, bold: true, fill: themed(ink)})
	y += 2
	for _, s := range below {
		for _, line := range wrap(strings.TrimSpace(s), subtitleSize, width-x-margin, 4) {
			y += 21
			out = append(out, text{x: x, y: y, s: line, size: subtitleSize, fill: themed(muted)})
		}
	}
	return out, y + 6
}

// footnotes draws what limits the trust in the picture, and returns where they end.
func footnotes(list []string, x, y, width float64) (out []shape, bottom float64) {
	for _, n := range list {
		y += 4
		for _, line := range wrap(n, noteSize, width-x-margin, 4) {
			y += noteLine
			out = append(out, text{x: x, y: y, s: line, size: noteSize, fill: themed(muted)})
		}
	}
	return out, y
}

// warningNotes are notes of warnings, of the first if there are many.
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
