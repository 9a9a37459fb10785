package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

// The exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// command is a subcommand. Each has a file of its own, whose init registers it.
type command struct {
	name    string
	rank    int    // where it stands in the overview
	args    string // what follows the name in the usage line
	summary string // a line for the overview
	help    string // what "help name" prints below the usage line
	urls    bool   // it reads URLs, with the flags of credentialsHelp
	reads   bool   // it reads traces or saved results, with the flag of memoryHelp
	run     func(ctx context.Context, std stdio, args []string) error
}

var commands []*command

func register(c *command) {
	commands = append(commands, c)
	slices.SortFunc(commands, func(a, b *command) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.name, b.name))
	})
}

func lookup(name string) *command {
	for _, c := range commands {
		if c.name == name {
			return c
		}
	}
	return nil
}

// stdio is what a command reads from and writes to: os.Stdin and so on, or a
// test's own.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is a mistake in the arguments: exit status 2.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// run is the whole command, without the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	std := stdio{in: stdin, out: stdout, err: stderr}
	if len(args) == 0 {
		io.WriteString(stderr, overview())
		return exitUsage
	}
	name, rest := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	c := lookup(name)
	if c == nil && (isInput(name) || isVerdictFlag(name)) {
		c, rest = lookup("verdict"), args
	}
	if c == nil {
		fmt.Fprintf(stderr, "bottleneck: %s\n", unknownCommand(args))
		return exitUsage
	}
	if c.urls {
		given, others, err := takeCredentials(rest)
		if err != nil {
			return status(ctx, std, c, err)
		}
		ctx, rest = withCredentials(ctx, given), others
	}
	if c.reads {
		limit, others, err := takeMemory(rest)
		if err != nil {
			return status(ctx, std, c, err)
		}
		limit = memory.Limit(ctx, limit)
		guard(limit)
		ctx, rest = memory.WithLimit(ctx, limit), others
	}
	return status(ctx, std, c, c.run(ctx, std, rest))
}

// status reports an error, one line each, and returns the exit status.
func status(ctx context.Context, std stdio, c *command, err error) int {
	var usage *usageError
	var program *programError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &program):
		return program.status
	case errors.Is(err, flag.ErrHelp):
		if _, err := io.WriteString(std.out, c.text()); err != nil {
			return exitFailure
		}
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(std.err, "bottleneck: %s: %s (see \"bottleneck help %s\")\n", c.name, oneLine(usage.msg), c.name)
		return exitUsage
	case errors.Is(err, syscall.EPIPE):
		return exitFailure // whoever read our output has seen enough of it, as head does
	case ctx.Err() != nil:
		fmt.Fprintln(std.err, "bottleneck: interrupted")
		return exitFailure
	}
	for _, e := range flatten(err) {
		fmt.Fprintf(std.err, "bottleneck: %s\n", oneLine(e.Error()))
	}
	return exitFailure
}

// flatten returns the parts of joined errors.
func flatten(err error) (parts []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		parts = append(parts, flatten(e)...)
	}
	return parts
}

// parseFlags parses flags before, between and after the other arguments, which it returns.
func parseFlags(fs *flag.FlagSet, args []string) ([]string, error) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	var others, last []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, last = args[:i], args[i+1:]
	}
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, flagError(fs, err)
		}
		if args = fs.Args(); len(args) > 0 {
			others, args = append(others, args[0]), args[1:]
		}
	}
	return append(others, last...), nil
}

// flagError adds to an error of package flag what may have been meant.
func flagError(fs *flag.FlagSet, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return usagef("%s", wrongValue(fs, err.Error()))
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if near := spelling.Nearest(strings.TrimLeft(name, "-"), names); near != "" && len(name) > 1 {
		return usagef("unknown flag -%s; did you mean -%s?", name, near)
	}
	return usagef("unknown flag -%s", name)
}

// wrongValueOf is what package flag says of a value that its flag refuses.
var wrongValueOf = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([a-z-]+): (.*)$`)

// wrongValue says it in fewer words, and what is wanted instead.
func wrongValue(fs *flag.FlagSet, msg string) string {
	m := wrongValueOf.FindStringSubmatch(msg)
	if m == nil {
		return msg
	}
	value, name, why := m[1], m[2], m[3]
	if plain, err := strconv.Unquote(value); err == nil && plain != "" && !strings.ContainsAny(plain, " \t\"") {
		value = plain
	}
	if why == "parse error" {
		why = "want a value of another kind"
		if g, ok := fs.Lookup(name).Value.(flag.Getter); ok {
			switch g.Get().(type) {
			case bool:
				why = "want true or false, or nothing"
			case int:
				why = "want a whole number"
			case float64:
				why = "want a number"
			case time.Duration:
				why = "want a duration, such as 500ms"
			}
		}
	}
	return fmt.Sprintf("-%s %s: %s", name, value, why)
}
