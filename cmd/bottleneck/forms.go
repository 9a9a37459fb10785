package main

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/picture/png"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// drawing says how a result is written, in any form.
type drawing struct {
	title    string
	source   string   // the name of the trace
	top      int      // 0 = all
	topSet   bool     // else every form has its own
	by       []string // columns that tell the rows of a ledger apart; nil: all
	terminal terminal

	// Of contention.
	aspects []contention.Aspect
	kinds   []contention.Kind // that the profile is cut down to
	view    contention.View   // empty: each form has its own
	least   time.Duration
	// Of tasks.
	creation, submission, strip bool
}

// formsOf are the forms in which a result can be written, by the names of -format.
type formsOf[T any] map[string]func(w io.Writer, v T, d drawing) error

// drawn adds the forms of pictures.
func drawn[T any](forms formsOf[T], draw func(v T, d drawing) (*picture.Drawing, error)) formsOf[T] {
	in := func(write func(*picture.Drawing, io.Writer) error) func(io.Writer, T, drawing) error {
		return func(w io.Writer, v T, d drawing) error {
			p, err := draw(v, d)
			if err != nil {
				return err
			}
			return write(p, w)
		}
	}
	forms["svg"] = in((*picture.Drawing).SVG)
	forms["png"] = in(func(p *picture.Drawing, w io.Writer) error { return png.Write(w, p) })
	return forms
}

// fileForms are all forms with the ends of the names of their files, in the order of messages.
var fileForms = []struct{ form, ending string }{
	{"svg", ".svg"}, {"png", ".png"}, {"pprof", ".pb.gz"}, {"json", ".json"}, {"csv", ".csv"}, {"md", ".md"},
	{"html", ".html"}, {"text", ".txt"}, {"dot", ".dot"}, {"folded", ".folded"},
}

// writings are the forms in which a command can write what it found.
type writings []string

// formsIn are the forms that one of some tables has.
func formsIn(has ...func(form string) bool) (w writings) {
	for _, f := range fileForms {
		if slices.ContainsFunc(has, func(has func(string) bool) bool { return has(f.form) }) {
			w = append(w, f.form)
		}
	}
	return w
}

// has reports whether there is a form.
func (forms formsOf[T]) has(form string) bool { return forms[form] != nil }

func (w writings) has(form string) bool { return slices.Contains(w, form) }

// String lists the forms for messages, and endings the ends of names.
func (w writings) String() string { return either(w) }

func (w writings) endings() string {
	var list []string
	for _, form := range w {
		list = append(list, extensionOf(form))
	}
	return either(list)
}

// either joins words.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// formOf returns the form of a file by its name, or "".
func (w writings) formOf(name string) string {
	for _, f := range fileForms {
		if strings.HasSuffix(strings.ToLower(name), f.ending) && w.has(f.form) {
			return f.form
		}
	}
	return ""
}

func extensionOf(form string) string {
	for _, f := range fileForms {
		if f.form == form {
			return f.ending
		}
	}
	return ""
}

// exporterTop is the number of groups as exporters want it: 0 is theirs to choose, negative is all.
func (d drawing) exporterTop() int {
	if d.topSet && d.top == 0 {
		return -1
	}
	return d.top
}

// text returns the options of text.
func (d drawing) text() text.Options {
	opt := d.terminal.textOptions()
	opt.Top = d.exporterTop()
	return opt
}

func (d drawing) picture() picture.Options {
	return picture.Options{Title: d.title, Subtitle: d.source, Top: d.exporterTop()}
}
