package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// destination is where goes what a command found, and how it is drawn: the flags
// -o, -format, -title and, where there is much to show, -top.
type destination struct {
	draw    drawing
	outputs outputs
	format  string
	can     writings
	flags   *pflag.FlagSet
	counted string              // what -top counts
	only    map[string][]string // the flags that matter to some forms only, and to which
}

// define adds the flags, without -top.
func (d *destination) define(c *cobra.Command, can writings) {
	d.can, d.flags = can, c.Flags()
	d.only = map[string][]string{"title": {"svg", "png"}}
	d.flags.FuncP("output", "o", "write `FILE`, whose form follows from its name: "+can.endings()+"; may be given several times", d.add)
	d.flags.StringVar(&d.format, "format", "", "what goes to standard output: `FORM` is "+can.String()+"; text if there is neither -format nor -o")
	d.flags.SetAnnotation("format", choices, can)
	if can.has("svg") {
		d.flags.StringVar(&d.draw.title, "title", "", "the `TITLE` of pictures")
	}
}

// defineTop adds -top.
func (d *destination) defineTop(counted, usual string) {
	d.counted = counted
	d.flags.IntVar(&d.draw.top, "top", 0, "show `N` "+counted+" and 0 all; if not given, "+usual)
}

// add is what -o does.
func (d *destination) add(name string) error {
	if d.can.formOf(name) == "" {
		return errors.New("its form follows from its name: want a file ending in " + d.can.endings())
	}
	return d.outputs.add(name)
}

// settle rejects what cannot be right before anything is read, and fills in what was left out.
func (d *destination) settle(std stdio) error {
	d.draw.topSet = d.flags.Changed("top")
	if d.draw.top < 0 {
		return usagef("-top %d: want a number of %s, or 0 for all", d.draw.top, d.counted)
	}
	if d.format == "" && len(d.outputs) == 0 {
		d.format = "text"
	}
	if d.format != "" && !d.can.has(d.format) {
		return usagef("unknown form %q: want %s", d.format, d.can)
	}
	if d.format == "png" || d.format == "pprof" {
		if _, terminal := terminalOf(std.out); terminal {
			return usagef("-format %s is not for terminals: write it with -o FILE%s, or into a pipe", d.format, extensionOf(d.format))
		}
	}
	return d.effective()
}

// effective rejects flags that would do nothing, as nothing is written in the forms that they are
// for.
func (d *destination) effective() (err error) {
	asked := d.asked()
	d.flags.Visit(func(f *pflag.Flag) {
		forms := d.only[f.Name]
		in := func(form string) bool { return slices.Contains(forms, form) }
		if err == nil && forms != nil && !slices.ContainsFunc(asked, in) {
			err = usagef("-%s is for %s, and none is written: add -o FILE%s, or leave it out", f.Name, strings.Join(forms, " or "), extensionOf(forms[0]))
		}
	})
	return err
}

// asked are the forms of all that is to be written.
func (d *destination) asked() (forms []string) {
	for _, name := range d.outputs {
		forms = append(forms, d.can.formOf(name))
	}
	if d.format != "" {
		forms = append(forms, d.format)
	}
	return forms
}

// write writes in all the forms that were asked for: files first, standard output last.
func (d *destination) write(std stdio, write func(w io.Writer, form string, draw drawing) error) error {
	var errs []error
	for _, name := range d.outputs {
		err := writeFile(name, func(w io.Writer) error { return write(w, d.can.formOf(name), d.draw) })
		tellWritten(std, name, err)
		errs = append(errs, err)
	}
	if d.format != "" {
		draw := d.draw
		draw.terminal, _ = terminalOf(std.out)
		errs = append(errs, write(std.out, d.format, draw))
	}
	return errors.Join(errs...)
}

// oneInput is the argument of a command that reads one thing, or "" when there is none.
func oneInput(args []string, what string) (string, error) {
	switch len(args) {
	case 0:
		return "", nil
	case 1:
		return args[0], nil
	}
	return "", usagef("more than one %s: %q and %q", what, args[0], args[1])
}
