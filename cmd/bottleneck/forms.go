package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/picture/png"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// drawing says how a graph is drawn, in any form.
type drawing struct {
	title    string
	source   string   // the name of the trace
	top      int      // 0 = all
	topSet   bool     // else every form has its own
	by       []string // columns that tell the rows of a ledger apart; nil: all
	terminal terminal
}

// form writes a graph.
type form func(w io.Writer, g *bottle.Graph, d drawing) error

// forms are what -format and the ends of -o's names choose from.
var forms = map[string]form{
	"text": writeText,
	"json": func(w io.Writer, g *bottle.Graph, d drawing) error { return bottle.WriteJSON(w, d.fold(g)) },
	"csv":  func(w io.Writer, g *bottle.Graph, d drawing) error { return text.TableCSV(w, d.fold(g).Table()) },
	"md":   func(w io.Writer, g *bottle.Graph, d drawing) error { return markdown.Write(w, d.fold(g).Groups()) },
	"svg":  func(w io.Writer, g *bottle.Graph, d drawing) error { return picture.SVG(w, g, d.picture()) },
	"png":  func(w io.Writer, g *bottle.Graph, d drawing) error { return pixels(w)(picture.Draw(g, d.picture())) },
	"pprof": func(w io.Writer, g *bottle.Graph, d drawing) error {
		return pprof.Write(w, d.fold(g), pprof.Options{File: d.source})
	},
}

const (
	formNames    = "text, json, csv, md, svg, png or pprof"
	usualEndings = ".svg, .png, .pb.gz, .json, .csv, .md or .txt"
)

var graphWritings = formsIn(forms, formNames, usualEndings)

// extensions are the ends of file names, with the form that they stand for.
var extensions = map[string]string{
	".svg":   "svg",
	".png":   "png",
	".pb.gz": "pprof",
	".json":  "json",
	".csv":   "csv",
	".html":  "html",
	".md":    "md",
	".txt":   "text",
}

// formOf returns the form of a file by its name, or "".
func formOf(name string) string {
	for ext, form := range extensions {
		if strings.HasSuffix(strings.ToLower(name), ext) {
			return form
		}
	}
	return ""
}

func extensionOf(form string) string {
	for _, ext := range slices.Sorted(maps.Keys(extensions)) {
		if extensions[ext] == form {
			return ext
		}
	}
	return ""
}

// fold keeps the largest groups, for the forms that do not do it themselves.
func (d drawing) fold(g *bottle.Graph) *bottle.Graph { return g.Top(d.top) }

// exporterTop is the number of groups as exporters want it: 0 is theirs to choose, negative is all.
func (d drawing) exporterTop() int {
	if d.topSet && d.top == 0 {
		return -1
	}
	return d.top
}

func (d drawing) picture() picture.Options {
	return picture.Options{Title: d.title, Subtitle: d.source, Top: d.exporterTop()}
}

// pixels writes a drawing as PNG.
func pixels(w io.Writer) func(*picture.Drawing, error) error {
	return func(d *picture.Drawing, err error) error {
		if err != nil {
			return err
		}
		return png.Write(w, d)
	}
}

func writeText(w io.Writer, g *bottle.Graph, d drawing) error {
	opt := d.terminal.textOptions()
	opt.Top = d.exporterTop()
	return text.Write(w, g, opt)
}
