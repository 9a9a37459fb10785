package main

import (
	"errors"
	"io"

	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// stackForms are the forms of speedup stacks, by the names that graphs have for theirs.
var stackForms = map[string]func(w io.Writer, stacks []*speedup.Stack, d drawing) error{
	"text": func(w io.Writer, s []*speedup.Stack, d drawing) error {
		return text.WriteStacks(w, s, d.terminal.textOptions())
	},
	"json": func(w io.Writer, s []*speedup.Stack, _ drawing) error { return speedup.WriteJSON(w, s...) },
	"csv":  func(w io.Writer, s []*speedup.Stack, _ drawing) error { return text.StacksCSV(w, s) },
	"svg": func(w io.Writer, s []*speedup.Stack, d drawing) error {
		return picture.StacksSVG(w, s, d.picture())
	},
	"png": func(w io.Writer, s []*speedup.Stack, d drawing) error {
		return picture.StacksPNG(w, s, d.picture())
	},
}

// stackOutput says where stacks go.
type stackOutput struct {
	draw    drawing
	outputs outputs
	format  string
}

// check rejects what cannot be written before anything is read.
func (o *stackOutput) check(std stdio) error {
	if o.format == "" && len(o.outputs) == 0 {
		o.format = "text"
	}
	for _, name := range o.outputs {
		if stackForms[formOf(name)] == nil {
			return usagef("-o %s: want a file ending in .svg, .png, .json, .csv or .txt", name)
		}
	}
	if o.format != "" && stackForms[o.format] == nil {
		return usagef("unknown form %q: want text, json, csv, svg or png", o.format)
	}
	if o.format == "png" {
		if _, terminal := terminalOf(std.out); terminal {
			return usagef("-format png is not for terminals: write it with -o FILE.png, or into a pipe")
		}
	}
	return o.outputs.check()
}

// write writes the stacks in all the forms that were asked for.
func (o *stackOutput) write(std stdio, stacks []*speedup.Stack) error {
	var errs []error
	for _, name := range o.outputs {
		form := stackForms[formOf(name)]
		errs = append(errs, writeFile(name, func(w io.Writer) error { return form(w, stacks, o.draw) }))
	}
	if o.format != "" {
		d := o.draw
		d.terminal, _ = terminalOf(std.out)
		errs = append(errs, stackForms[o.format](std.out, stacks, d))
	}
	return errors.Join(errs...)
}
