package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/picture/png"
	"github.com/bottleneck-go/bottleneck/exporters/text"
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
		err := writeFile(name, func(w io.Writer) error { return write(w, name) })
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
		if err := checkFile(name); err != nil {
			return err
		}
	}
	return nil
}

func checkFile(name string) error {
	if st, err := os.Stat(name); err == nil && !st.IsDir() && !st.Mode().IsRegular() {
		return nil // the reader of a pipe would notice an open
	}
	t, err := createTemp(name)
	if err != nil {
		return err
	}
	t.discard()
	return nil
}

// writeFile writes a file atomically: a concurrent reader sees the old one or the new one, and a
// failure leaves the old one.
func writeFile(name string, write func(io.Writer) error) error {
	t, err := createTemp(name)
	if err != nil {
		return err
	}
	defer t.discard()
	buf := bufio.NewWriterSize(t.file, 1<<16)
	err = write(buf)
	if err == nil {
		err = buf.Flush()
	}
	if err != nil {
		return writeError(name, err)
	}
	return t.commit()
}

// temp is a temporary file that replaces the target.
type temp struct {
	name   string // as given by the user
	target string // final path; "" if written in place
	file   *os.File
}

// createTemp creates a file beside the named one, with the permissions of a new file, or of the old
// one. A device or a pipe cannot be replaced and is opened instead.
func createTemp(name string) (*temp, error) {
	target, perm := name, fs.FileMode(0)
	if real, err := filepath.EvalSymlinks(name); err == nil {
		target = real // replace the file, not the link to it
	}
	if st, err := os.Stat(target); err == nil {
		switch {
		case st.IsDir():
			return nil, fmt.Errorf("writing %s: is a directory", name)
		case !st.Mode().IsRegular():
			f, err := os.OpenFile(target, os.O_WRONLY, 0)
			if err != nil {
				return nil, writeError(name, err)
			}
			return &temp{name: name, file: f}, nil
		}
		perm = st.Mode().Perm()
	}
	dir, base := filepath.Split(target)
	for {
		beside := filepath.Join(dir, fmt.Sprintf(".%.100s.%x.tmp", base, rand.Uint64()))
		f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, writeError(name, err)
		}
		if perm != 0 {
			f.Chmod(perm) // best effort: not all file systems have permissions
		}
		return &temp{name: name, target: target, file: f}, nil
	}
}

// commit renames the file to its target.
func (t *temp) commit() error {
	if err := t.file.Close(); err != nil {
		return writeError(t.name, err)
	}
	if t.target == "" {
		return nil
	}
	if err := os.Rename(t.file.Name(), t.target); err != nil {
		var le *os.LinkError
		if errors.As(err, &le) {
			err = le.Err
		}
		return writeError(t.name, err)
	}
	return nil
}

// discard removes the file unless it was committed.
func (t *temp) discard() {
	t.file.Close()
	if t.target != "" {
		os.Remove(t.file.Name())
	}
}

// writeError replaces the name of the temporary file in an error by the name given by the user.
func writeError(name string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("writing %s: %w", name, err)
}

// destination is where and how a command writes its result: the flags -o, -format, -title and, for
// long results, -top.
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
	d.only = map[string][]string{"title": {"svg", "png"}}
	d.flags.FuncP("output", "o", "write `FILE` in the form of its extension: "+can.endings()+"; may be repeated", d.add)
	d.flags.StringVar(&d.format, "format", "", "write `FORM` to standard output: "+can.String()+"; default text without -o")
	d.flags.SetAnnotation("format", choices, can)
	if can.has("svg") {
		d.flags.StringVar(&d.draw.title, "title", "", "the `TITLE` of pictures")
	}
}

// defineTop adds -top.
func (d *destination) defineTop(counted, usual string) {
	d.counted = counted
	d.flags.IntVar(&d.draw.top, "top", 0, "show `N` "+counted+", or all if 0; default "+usual)
}

// add implements -o.
func (d *destination) add(name string) error {
	if d.can.formOf(name) == "" {
		return errors.New("unknown extension: want a file ending in " + d.can.endings())
	}
	return d.outputs.add(name)
}

// settle rejects invalid flags before anything is read, and sets defaults.
func (d *destination) settle(std stdio) error {
	d.draw.topSet = d.flags.Changed("top")
	if d.draw.top < 0 {
		return usagef("-top %d: want a number of %s, or 0 for all", d.draw.top, d.counted)
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
	return d.effective()
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

// write writes all requested forms: files first, standard output last.
func (d *destination) write(std stdio, write func(w io.Writer, form string, draw drawing) error) error {
	err := d.outputs.write(std, func(w io.Writer, name string) error { return write(w, d.can.formOf(name), d.draw) })
	if d.format == "" {
		return err
	}
	draw := d.draw
	draw.terminal, _ = terminalOf(std.out)
	return errors.Join(err, write(std.out, d.format, draw))
}

// oneInput returns the argument of a command that reads one input, or "" if there is none.
func oneInput(args []string, what string) (string, error) {
	switch len(args) {
	case 0:
		return "", nil
	case 1:
		return args[0], nil
	}
	return "", usagef("more than one %s: %q and %q", what, args[0], args[1])
}

// drawing configures how a result is written, in any form.
type drawing struct {
	title    string
	source   string   // name of the trace
	top      int      // 0 = all
	topSet   bool     // otherwise each form has its own default
	by       []string // columns by which the rows of a ledger are summed; nil means all
	terminal terminal

	// For contention.
	aspects []contention.Aspect
	kinds   []contention.Kind // to which the profile was filtered
	view    contention.View   // "" means the default of the form
	least   time.Duration
	// For tasks.
	creation, submission, strip bool
}

// formsOf holds the forms in which a result can be written, by the names of -format.
type formsOf[T any] map[string]func(w io.Writer, v T, d drawing) error

// drawn adds the picture forms.
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

// fileForms lists all forms with their file name endings, in the order of messages.
var fileForms = []struct{ form, ending string }{
	{"svg", ".svg"}, {"png", ".png"}, {"pprof", ".pb.gz"}, {"json", ".json"}, {"csv", ".csv"}, {"md", ".md"},
	{"html", ".html"}, {"perfetto", ".perfetto-trace"}, {"text", ".txt"}, {"dot", ".dot"}, {"folded", ".folded"},
}

// writings lists the forms in which a command can write its result.
type writings []string

// formsIn returns the forms that at least one of the tables has.
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

// exporterTop returns the number of groups in the convention of exporters: 0 means their default,
// negative means all.
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
