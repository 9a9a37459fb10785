package main

import (
	"io"

	"github.com/bottleneck-go/bottleneck/exporters/markdown"
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
	"csv":  func(w io.Writer, s []*speedup.Stack, _ drawing) error { return text.TableCSV(w, speedup.Table(s...)) },
	"md":   func(w io.Writer, s []*speedup.Stack, _ drawing) error { return markdown.Write(w, speedup.Table(s...)) },
	"svg": func(w io.Writer, s []*speedup.Stack, d drawing) error {
		return picture.StacksSVG(w, s, d.picture())
	},
	"png": func(w io.Writer, s []*speedup.Stack, d drawing) error {
		return pixels(w)(picture.DrawStacks(s, d.picture()))
	},
}

var stackWritings = formsIn(stackForms, "text, json, csv, md, svg or png", ".svg, .png, .json, .csv, .md or .txt")

// stackOutput says where stacks go.
type stackOutput struct{ destination }

// check rejects what cannot be written before anything is read.
func (o *stackOutput) check(std stdio) error {
	if err := o.settle(std); err != nil {
		return err
	}
	return o.outputs.check()
}

// write writes the stacks in all the forms that were asked for.
func (o *stackOutput) write(std stdio, stacks []*speedup.Stack) error {
	return o.destination.write(std, func(w io.Writer, form string, d drawing) error { return stackForms[form](w, stacks, d) })
}
