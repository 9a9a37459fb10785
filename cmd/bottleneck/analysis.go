package main

import (
	"context"
	"errors"
	"flag"
	"io"
)

// analysis is what graph, contention and tasks have in common: each reads one input, makes a T of
// it, writes that in the forms that were asked for, and checks the conditions of -fail.
type analysis[T any] struct {
	flags *flag.FlagSet // of the whole command, which adds its own
	to    destination
	fail  conditions[*T]
	part  generations
}

// set returns the flags that all of them have.
func (a *analysis[T]) set(name string, can *writings, about measures[*T]) *flag.FlagSet {
	a.flags = flag.NewFlagSet(name, flag.ContinueOnError)
	a.to.define(a.flags, can)
	a.to.defineTop(a.flags)
	a.fail.about = about
	a.flags.Func("fail", "", a.fail.add)
	a.flags.Var(&a.part, "generations", "")
	return a.flags
}

// parse reads all flags and returns the input. What names what is read, counted what -top counts.
func (a *analysis[T]) parse(std stdio, args []string, what, counted string) (source string, err error) {
	rest, err := parseFlags(a.flags, args)
	if err != nil {
		return "", err
	}
	if err := a.to.settle(std, counted); err != nil {
		return "", err
	}
	return oneInput(rest, what)
}

// reader makes something of an input. What it returns may be there even if there is an error: it is
// then what could be read.
type reader[T any] func(ctx context.Context, std stdio, in *input) (*T, error)

// run does what the flags say.
func (a *analysis[T]) run(ctx context.Context, std stdio, source string, read reader[T], write func(w io.Writer, form string, v *T, d drawing) error) error {
	in, err := findInput(std, source)
	if err != nil {
		return err
	}
	if err := a.to.outputs.check(); err != nil { // before anything is read
		return err
	}
	v, err := read(ctx, std, in)
	if v == nil || ctx.Err() != nil { // what was read before an interrupt is a matter of chance
		return err
	}
	a.to.draw.source = shownSource(in.label)
	written := a.to.write(std, func(w io.Writer, form string, d drawing) error { return write(w, form, v, d) })
	return errors.Join(err, written, a.fail.check(v))
}
