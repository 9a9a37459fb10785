package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/exporters/markdown"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/picture/png"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// outputs holds the files of -o.
type outputs []string

// add implements -o.
func (o *outputs) add(name string) error {
	same := func(other string) bool { return filepath.Clean(other) == filepath.Clean(name) }
	switch {
	case name == "":
		return errors.New("want a name")
	case slices.ContainsFunc(*o, same):
		return errors.New("given twice")
	}
	*o = append(*o, name)
	return nil
}

// write writes the files, and reports them on a terminal.
func (o outputs) write(std stdio, write func(w io.Writer, name string) error) error {
	var errs []error
	for _, name := range o {
		err := atomicfile.Write(name, func(w io.Writer) error { return write(w, name) })
		if _, terminal := terminalOf(std.err); terminal && err == nil {
			fmt.Fprintf(std.err, "Wrote %s.\n", oneLine(name))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// check checks whether the files can be written, before a long trace is read.
func (o outputs) check() error {
	for _, name := range o {
		if err := atomicfile.Check(name); err != nil {
			return err
		}
	}
	return nil
}

// destination is where and how a command writes its result: -o, -format, -title and -top.
type destination struct {
	draw    drawing
	outputs outputs
	format  string
	can     writings
	flags   *pflag.FlagSet
	counted string              // the unit of -top
	only    map[string][]string // flags that affect only some forms, with these forms
}

// define adds the flags, without -top.
func (d *destination) define(c *cobra.Command, can writings) {
	d.can, d.flags = can, c.Flags()
	d.only = map[string][]string{"title": {"svg", "png", "html"}}
	d.flags.FuncP("output", "o", "write `FILE` in the form of its extension: "+can.endings()+"; may be repeated", d.add)
	d.flags.StringVar(&d.format, "format", "", "write `FORM` to standard output: "+can.String()+"; default text without -o")
	d.flags.SetAnnotation("format", flags.Choices, can)
	if can.has("svg") {
		d.flags.StringVar(&d.draw.title, "title", "", "the `TITLE` of pictures")
	}
}

// defineTop adds -top.
func (d *destination) defineTop(counted, usual string) {
	d.counted = counted
	d.flags.IntVar(&d.draw.Top, "top", 0, "show `N` "+counted+", or all if 0; default "+usual)
}

// add implements -o.
func (d *destination) add(name string) error {
	if d.can.formOf(name) == "" {
		return errors.New("unknown extension: want a file ending in " + d.can.endings())
	}
	return d.outputs.add(name)
}

// settle rejects invalid flags and files before anything is read, and sets defaults.
func (d *destination) settle(std stdio) error {
	switch top := &d.draw.Top; {
	case *top < 0:
		return usagef("-top %d: want a number of %s, or 0 for all", *top, d.counted)
	case *top == 0 && d.flags.Changed("top"):
		*top = -1
	}
	if d.format == "" && len(d.outputs) == 0 {
		d.format = "text"
	}
	if d.format != "" && !d.can.has(d.format) {
		return usagef("-format %s: want %s", d.format, d.can)
	}
	if d.format == "png" || d.format == "pprof" {
		if _, terminal := terminalOf(std.out); terminal {
			return usagef("-format %s is not for terminals: write it with -o FILE%s, or into a pipe", d.format, extensionOf(d.format))
		}
	}
	if err := d.effective(); err != nil {
		return err
	}
	return d.outputs.check() // before anything is read
}

// effective rejects flags that would have no effect on the requested forms.
func (d *destination) effective() (err error) {
	asked := d.asked()
	d.flags.Visit(func(f *pflag.Flag) {
		forms := d.only[f.Name]
		in := func(form string) bool { return slices.Contains(forms, form) }
		if err == nil && forms != nil && !slices.ContainsFunc(asked, in) {
			err = usagef("-%s is for %s, and none is written: add -o FILE%s, or leave it out", f.Name, either(forms), extensionOf(forms[0]))
		}
	})
	return err
}

// supports rejects requested forms that are not among those of a result.
func (d *destination) supports(forms formsOf, of string) error {
	for _, form := range d.asked() {
		if forms[form] == nil {
			return usagef("%s cannot be written as %s: want %s", of, form, formsIn(forms))
		}
	}
	return nil
}

// asked returns all requested forms.
func (d *destination) asked() (forms []string) {
	for _, name := range d.outputs {
		forms = append(forms, d.can.formOf(name))
	}
	if d.format != "" {
		forms = append(forms, d.format)
	}
	return forms
}

// write writes a result in all requested forms: files first, standard output last.
func (d *destination) write(std stdio, v any, forms formsOf) error {
	write := func(w io.Writer, form string, draw drawing) error { return forms[form](w, v, draw) }
	err := d.outputs.write(std, func(w io.Writer, name string) error { return write(w, d.can.formOf(name), d.draw) })
	if d.format == "" {
		return err
	}
	draw, on := d.draw, textOn(std.out)
	draw.Width, draw.Color = on.Width, on.Color
	return errors.Join(err, write(std.out, d.format, draw))
}

// drawing configures how a result is written, in any form.
type drawing struct {
	// Options has the size of the terminal, -top (0 is the default of a form, −1 all) and -by: the
	// columns by which the rows of a ledger are summed, nil means all, or the aspects of contention.
	text.Options
	title  string
	source string // name of the trace
	view   string // of contention; "" means the default of the form
	strip  bool   // for tasks
}

func (d drawing) picture() picture.Options {
	return picture.Options{Title: d.title, Subtitle: d.source, Top: d.Top, Min: d.Min}
}

// formsOf holds the forms in which a result can be written, by the names of -format.
type formsOf map[string]func(w io.Writer, v any, d drawing) error

// writers are forms of results of one type.
type writers[T any] map[string]func(w io.Writer, v T, d drawing) error

// formVia returns the form of a result for which write writes what of makes of it, such as its table.
func formVia[T, P any](of func(v T, d drawing) (P, error), write func(io.Writer, P) error) func(io.Writer, T, drawing) error {
	return func(w io.Writer, v T, d drawing) error {
		p, err := of(v, d)
		if err != nil {
			return err
		}
		return write(w, p)
	}
}

// pprofForm returns the form for pprof of a result. part, if not nil, returns what -top or -min keep.
func pprofForm[T any](of func(T, pprof.Options) (*profile.Profile, error), part func(drawing, T) T) func(io.Writer, T, drawing) error {
	return formVia(func(v T, d drawing) (*profile.Profile, error) {
		if part != nil {
			v = part(d, v)
		}
		return of(v, pprof.Options{View: d.view, File: d.source})
	}, func(w io.Writer, p *profile.Profile) error {
		if err := p.Write(w); err != nil {
			return fmt.Errorf("pprof: writing the profile: %w", err)
		}
		return nil
	})
}

// tableJSON writes the rows of a table on one line.
func tableJSON(w io.Writer, t *result.Table) error { return json.NewEncoder(w).Encode(t) }

// forms returns the forms that follow from the table of a result and, unless it is nil, from its
// picture. more adds or replaces some. A result without a table has only these.
func forms[T any](table func(v T, d drawing) (*result.Table, error), draw func(v T, d drawing) (*picture.Drawing, error), more writers[T]) formsOf {
	all := writers[T]{}
	if table != nil {
		for name, write := range map[string]func(io.Writer, *result.Table) error{"csv": text.TableCSV, "md": markdown.Write, "html": report.WriteTable, "json": tableJSON} {
			all[name] = formVia(table, write)
		}
	}
	if draw != nil {
		svg := formVia(draw, func(w io.Writer, p *picture.Drawing) error { return p.SVG(w) })
		all["svg"], all["png"] = svg, formVia(draw, func(w io.Writer, p *picture.Drawing) error { return writePNG(w, p) })
		all["html"] = func(w io.Writer, v T, d drawing) error {
			var b strings.Builder
			if err := svg(&b, v, d); err != nil {
				return err
			}
			return formVia(table, func(w io.Writer, t *result.Table) error { return report.WritePicture(w, t, b.String()) })(w, v, d)
		}
	}
	maps.Copy(all, more)
	out := formsOf{}
	for name, write := range all {
		out[name] = func(w io.Writer, v any, d drawing) error { return write(w, v.(T), d) }
	}
	return out
}

// fileForms lists all forms with their file name endings, in the order of messages.
var fileForms = []struct{ form, ending string }{
	{"svg", ".svg"}, {"png", ".png"}, {"pprof", ".pb.gz"}, {"json", ".json"}, {"csv", ".csv"}, {"md", ".md"},
	{"html", ".html"}, {"perfetto", ".perfetto-trace"}, {"text", ".txt"}, {"folded", ".folded"},
}

// writings lists the forms in which a command can write its result.
type writings []string

// formsIn returns the forms that at least one of the tables has.
func formsIn(tables ...formsOf) (w writings) {
	for _, f := range fileForms {
		if slices.ContainsFunc(tables, func(forms formsOf) bool { return forms[f.form] != nil }) {
			w = append(w, f.form)
		}
	}
	return w
}

func (w writings) has(form string) bool { return slices.Contains(w, form) }

// String lists the forms for messages, and endings the file name endings.
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
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// formOf returns the form for a file name, or "".
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

// writeJSON writes an indented object.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(format.EscapeJSON(b.Bytes()))
	return err
}

// writePNG writes pictures as PNG. Tests replace it.
var writePNG = png.Write
