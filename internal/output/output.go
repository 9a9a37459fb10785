// Package output writes the results of commands, in the forms that they ask for.
package output

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
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/report"
	"github.com/bottleneck-go/bottleneck/result"
)

// Files holds the files of -o.
type Files []string

// Add implements -o.
func (o *Files) Add(name string) error {
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

// Write writes the files, and reports them on log if that is a terminal.
func (o Files) Write(log io.Writer, write func(w io.Writer, name string) error) error {
	var errs []error
	for _, name := range o {
		err := atomicfile.Write(name, func(w io.Writer) error { return write(w, name) })
		if _, terminal := TerminalOf(log); terminal && err == nil {
			fmt.Fprintf(log, "Wrote %s.\n", format.Clean(name))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Check checks whether the files can be written, before a long trace is read.
func (o Files) Check() error {
	for _, name := range o {
		if err := atomicfile.Check(name); err != nil {
			return err
		}
	}
	return nil
}

// Destination is where and how a command writes its result: -o, -format, -title and -top.
type Destination struct {
	Draw    Drawing
	Files   Files
	Format  string
	Can     Writings
	Flags   *pflag.FlagSet
	counted string              // the unit of -top
	Only    map[string][]string // flags that affect only some forms, with these forms
}

// Define adds the flags, without -top.
func (d *Destination) Define(c *cobra.Command, can Writings) {
	d.Can, d.Flags = can, c.Flags()
	d.Only = map[string][]string{"title": {"svg", "png", "html"}}
	d.Flags.FuncP("output", "o", "write `FILE` in the form of its extension: "+can.Endings()+"; may be repeated", d.Add)
	d.Flags.StringVar(&d.Format, "format", "", "write `FORM` to standard output: "+can.String()+"; default text without -o")
	d.Flags.SetAnnotation("format", flags.Choices, can)
	if can.Has("svg") {
		d.Flags.StringVar(&d.Draw.Title, "title", "", "the `TITLE` of pictures")
	}
}

// DefineTop adds -top.
func (d *Destination) DefineTop(counted, usual string) {
	d.counted = counted
	d.Flags.IntVar(&d.Draw.Top, "top", 0, "show `N` "+counted+", or all if 0; default "+usual)
}

// Add implements -o.
func (d *Destination) Add(name string) error {
	if d.Can.FormOf(name) == "" {
		return errors.New("unknown extension: want a file ending in " + d.Can.Endings())
	}
	return d.Files.Add(name)
}

// Settle rejects invalid flags and files before anything is read, and sets defaults.
func (d *Destination) Settle(stdout io.Writer) error {
	switch top := &d.Draw.Top; {
	case *top < 0:
		return flags.Errorf("-top %d: want a number of %s, or 0 for all", *top, d.counted)
	case *top == 0 && d.Flags.Changed("top"):
		*top = -1
	}
	if d.Format == "" && len(d.Files) == 0 {
		d.Format = "text"
	}
	if d.Format != "" && !d.Can.Has(d.Format) {
		return flags.Errorf("-format %s: want %s", d.Format, d.Can)
	}
	if d.Format == "png" || d.Format == "pprof" {
		if _, terminal := TerminalOf(stdout); terminal {
			return flags.Errorf("-format %s is not for terminals: write it with -o FILE%s, or into a pipe", d.Format, ExtensionOf(d.Format))
		}
	}
	if err := d.Effective(); err != nil {
		return err
	}
	return d.Files.Check() // before anything is read
}

// Effective rejects flags that would have no effect on the requested forms.
func (d *Destination) Effective() (err error) {
	asked := d.Asked()
	d.Flags.Visit(func(f *pflag.Flag) {
		forms := d.Only[f.Name]
		in := func(form string) bool { return slices.Contains(forms, form) }
		if err == nil && forms != nil && !slices.ContainsFunc(asked, in) {
			err = flags.Errorf("-%s is for %s, and none is written: add -o FILE%s, or leave it out", f.Name, Either(forms), ExtensionOf(forms[0]))
		}
	})
	return err
}

// Supports rejects requested forms that are not among those of a result.
func (d *Destination) Supports(forms Forms, of string) error {
	for _, form := range d.Asked() {
		if forms[form] == nil {
			return flags.Errorf("%s cannot be written as %s: want %s", of, form, FormsIn(forms))
		}
	}
	return nil
}

// Asked returns all requested forms.
func (d *Destination) Asked() (forms []string) {
	for _, name := range d.Files {
		forms = append(forms, d.Can.FormOf(name))
	}
	if d.Format != "" {
		forms = append(forms, d.Format)
	}
	return forms
}

// Write writes a result in all requested forms: files first, standard output last.
func (d *Destination) Write(stdout, log io.Writer, v any, forms Forms) error {
	write := func(w io.Writer, form string, draw Drawing) error { return forms[form](w, v, draw) }
	err := d.Files.Write(log, func(w io.Writer, name string) error { return write(w, d.Can.FormOf(name), d.Draw) })
	if d.Format == "" {
		return err
	}
	draw, on := d.Draw, TextOn(stdout)
	draw.Width, draw.Color = on.Width, on.Color
	return errors.Join(err, write(stdout, d.Format, draw))
}

// Drawing configures how a result is written, in any form.
type Drawing struct {
	// Options has the size of the terminal, -top (0 is the default of a form, −1 all) and -by: the
	// columns by which the rows of a ledger are summed, nil means all, or the aspects of contention.
	text.Options
	Title  string
	Source string // name of the trace
	View   string // of contention; "" means the default of the form
	Strip  bool   // for tasks
}

// Picture returns the options of a picture.
func (d Drawing) Picture() picture.Options {
	return picture.Options{Title: d.Title, Subtitle: d.Source, Top: d.Top, Min: d.Min}
}

// Forms holds the forms in which a result can be written, by the names of -format.
type Forms map[string]func(w io.Writer, v any, d Drawing) error

// Writers are forms of results of one type.
type Writers[T any] map[string]func(w io.Writer, v T, d Drawing) error

// Via returns the form of a result for which write writes what of makes of it, such as its table.
func Via[T, P any](of func(v T, d Drawing) (P, error), write func(io.Writer, P) error) func(io.Writer, T, Drawing) error {
	return func(w io.Writer, v T, d Drawing) error {
		p, err := of(v, d)
		if err != nil {
			return err
		}
		return write(w, p)
	}
}

// pprofForm returns the form for pprof of a result. part, if not nil, returns what -top or -min
// keep.
func pprofForm[T any](of func(T, pprof.Options) (*profile.Profile, error), part func(Drawing, T) T) func(io.Writer, T, Drawing) error {
	return Via(func(v T, d Drawing) (*profile.Profile, error) {
		if part != nil {
			v = part(d, v)
		}
		return of(v, pprof.Options{View: d.View, File: d.Source})
	}, func(w io.Writer, p *profile.Profile) error {
		if err := p.Write(w); err != nil {
			return fmt.Errorf("pprof: writing the profile: %w", err)
		}
		return nil
	})
}

// TableJSON writes the rows of a table on one line.
func TableJSON(w io.Writer, t *result.Table) error { return json.NewEncoder(w).Encode(t) }

// FormsOf returns the forms that follow from the table of a result and, unless it is nil, from its
// picture. more adds or replaces some. A result without a table has only these.
func FormsOf[T any](table func(v T, d Drawing) (*result.Table, error), draw func(v T, d Drawing) (*picture.Drawing, error), more Writers[T]) Forms {
	all := Writers[T]{}
	if table != nil {
		for name, write := range map[string]func(io.Writer, *result.Table) error{"csv": text.TableCSV, "md": markdown.Write, "html": report.WriteTable, "json": TableJSON} {
			all[name] = Via(table, write)
		}
	}
	if draw != nil {
		svg := Via(draw, func(w io.Writer, p *picture.Drawing) error { return p.SVG(w) })
		all["svg"], all["png"] = svg, Via(draw, func(w io.Writer, p *picture.Drawing) error { return PNG(w, p) })
		all["html"] = func(w io.Writer, v T, d Drawing) error {
			var b strings.Builder
			if err := svg(&b, v, d); err != nil {
				return err
			}
			return Via(table, func(w io.Writer, t *result.Table) error { return report.WritePicture(w, t, b.String()) })(w, v, d)
		}
	}
	maps.Copy(all, more)
	out := Forms{}
	for name, write := range all {
		out[name] = func(w io.Writer, v any, d Drawing) error { return write(w, v.(T), d) }
	}
	return out
}

// fileForms lists all forms with their file name endings, in the order of messages.
var fileForms = []struct{ form, ending string }{
	{"svg", ".svg"}, {"png", ".png"}, {"pprof", ".pb.gz"}, {"json", ".json"}, {"csv", ".csv"}, {"md", ".md"},
	{"html", ".html"}, {"perfetto", ".perfetto-trace"}, {"text", ".txt"}, {"folded", ".folded"},
}

// Writings lists the forms in which a command can write its result.
type Writings []string

// FormsIn returns the forms that at least one of the tables has.
func FormsIn(tables ...Forms) (w Writings) {
	for _, f := range fileForms {
		if slices.ContainsFunc(tables, func(forms Forms) bool { return forms[f.form] != nil }) {
			w = append(w, f.form)
		}
	}
	return w
}

// Has reports whether a form is among them.
func (w Writings) Has(form string) bool { return slices.Contains(w, form) }

// String lists the forms for messages.
func (w Writings) String() string { return Either(w) }

// Endings lists the file name endings for messages.
func (w Writings) Endings() string {
	var list []string
	for _, form := range w {
		list = append(list, ExtensionOf(form))
	}
	return Either(list)
}

// Either joins words.
func Either(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// FormOf returns the form for a file name, or "".
func (w Writings) FormOf(name string) string {
	for _, f := range fileForms {
		if strings.HasSuffix(strings.ToLower(name), f.ending) && w.Has(f.form) {
			return f.form
		}
	}
	return ""
}

// ExtensionOf returns the file name ending of a form.
func ExtensionOf(form string) string {
	for _, f := range fileForms {
		if f.form == form {
			return f.ending
		}
	}
	return ""
}

// JSON writes an indented object.
func JSON(w io.Writer, v any) error {
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

// PNG writes pictures as PNG. Tests replace it.
var PNG = png.Write

// Conditions is the value of -fail.
type Conditions struct{ condition.List }

// Define adds -fail. more is the end of its help.
func (f *Conditions) Define(c *cobra.Command, more string, about ...*condition.Measures) {
	f.About = about
	c.Flags().Func("fail", "exit with status 1 if `CONDITION` holds, such as "+about[0].Example+more+"; separate several by commas", f.Add)
	if len(about) > 1 {
		return
	}
	var b strings.Builder
	b.WriteString(strings.TrimSpace(c.Long) + "\n\nA CONDITION is NAME, one of < <= > >=, and a value. NAME is\n\n")
	all, width := about[0].All(), 17
	for _, m := range all {
		width = max(width, len(m.Name))
	}
	for i, m := range all {
		if i+1 < len(all) && all[i+1].Help == m.Help {
			fmt.Fprintf(&b, "  %s,\n", m.Name)
			continue
		}
		fmt.Fprintf(&b, "  %-*s %s\n", width, m.Name, Wrapped(width+3, m.Help))
	}
	c.Long = b.String() + "\n" + Wrapped(0, about[0].Parts)
}

// Failed returns a one-line error that lists the conditions that hold. log gets remarks.
func (f *Conditions) Failed(log io.Writer, values condition.Values) error {
	err := f.Check(values, func(s string) { fmt.Fprintf(log, "bottleneck: -fail: %s\n", s) })
	if err != nil {
		err = fmt.Errorf("-fail: %w", err)
	}
	return err
}
