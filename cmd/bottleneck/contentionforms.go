package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// contentionDrawing says how a contention profile is written, in any form.
type contentionDrawing struct {
	drawing
	by    []contention.Aspect
	kinds []contention.Kind // that the profile is cut down to
	view  contention.View   // empty: each form has its own
	least time.Duration
}

// goroutines tells that goroutines have to be told apart.
func (d contentionDrawing) goroutines() bool {
	return slices.ContainsFunc(d.by, func(a contention.Aspect) bool {
		return a == contention.ByOwnerGoroutine || a == contention.ByWaiterGoroutine || a == contention.ByRootGoroutine
	})
}

// contentionForms are what -format and the ends of -o's names choose from.
var contentionForms = map[string]func(w io.Writer, p *contention.Profile, d contentionDrawing) error{
	"text": func(w io.Writer, p *contention.Profile, d contentionDrawing) error {
		opt := text.ContentionOptions{Options: d.terminal.textOptions(), By: d.by, Min: d.least, Kinds: d.kinds}
		opt.Top = d.exporterTop()
		return text.WriteContention(w, p, opt)
	},
	"json": func(w io.Writer, p *contention.Profile, d contentionDrawing) error {
		return contention.WriteJSON(w, d.rows(p))
	},
	"csv": func(w io.Writer, p *contention.Profile, d contentionDrawing) error {
		return text.TableCSV(w, d.rows(p).Table())
	},
	"md": func(w io.Writer, p *contention.Profile, d contentionDrawing) error {
		return markdown.Write(w, d.rows(p).Table())
	},
	"dot": func(w io.Writer, p *contention.Profile, d contentionDrawing) error { return text.DOT(w, p, d.least) },
	"folded": func(w io.Writer, p *contention.Profile, d contentionDrawing) error {
		if d.view == "" {
			d.view = contention.JoinedView
		}
		return text.FoldedStacks(w, d.rows(p), d.view)
	},
	"pprof": func(w io.Writer, p *contention.Profile, d contentionDrawing) error {
		return pprof.WriteContention(w, d.rows(p), pprof.ContentionOptions{View: d.view, File: d.source})
	},
	"svg": func(w io.Writer, p *contention.Profile, d contentionDrawing) error {
		return picture.ContentionSVG(w, p, d.flows())
	},
	"png": func(w io.Writer, p *contention.Profile, d contentionDrawing) error {
		return pixels(w)(picture.DrawContention(p, d.flows()))
	},
}

func (d contentionDrawing) flows() picture.ContentionOptions {
	return picture.ContentionOptions{Options: d.picture(), Min: d.least}
}

var contentionWritings = func() *writings {
	w := formsIn(contentionForms, "text, svg, png, pprof, json, csv, md, dot or folded", ".svg, .png, .pb.gz, .json, .csv, .md, .txt, .dot or .folded")
	w.formOf = contentionFormOf
	return w
}()

// rows leaves out short rows, for the forms that have no shorter way to say that there are some.
func (d contentionDrawing) rows(p *contention.Profile) *contention.Profile {
	if d.least == 0 {
		return p
	}
	out := p.Filter(contention.Filter{Min: d.least})
	whole, left := sumContention(p).waited, sumContention(out).waited
	if whole > left {
		out.Warnings = append(slices.Clip(out.Warnings), fmt.Sprintf(
			"What is shorter than %v is left out, as -min says: %v of the %v that were waited. The totals are those of what is left.",
			d.least, whole-left, whole))
	}
	return out
}

// contentionFormOf returns the form of a file by its name, or "".
func contentionFormOf(name string) string {
	lower := strings.ToLower(name)
	switch {
	case strings.HasSuffix(lower, ".dot"):
		return "dot"
	case strings.HasSuffix(lower, ".folded"):
		return "folded"
	}
	if form := formOf(name); contentionForms[form] != nil {
		return form
	}
	return ""
}
