package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

func init() {
	register(&command{
		name:    "help",
		rank:    90,
		args:    "[COMMAND]",
		summary: "describe a command",
		help:    "Help describes a command, or gives an overview of all of them.\n",
		run:     runHelp,
	})
}

func runHelp(_ context.Context, std stdio, args []string) error {
	text := overview()
	switch {
	case len(args) > 1:
		return usagef("more than one command: %s", strings.Join(args, " "))
	case len(args) == 1 && args[0] == "-h", len(args) == 1 && args[0] == "--help":
		text = lookup("help").text()
	case len(args) == 1:
		c := lookup(args[0])
		if c == nil {
			return usagef("%s", unknownCommand(args))
		}
		text = c.text()
	}
	_, err := io.WriteString(std.out, text)
	return err
}

// overview is what the command says of itself.
func overview() string {
	var b strings.Builder
	b.WriteString(`Bottleneck shows which goroutines limit the scaling of a Go program.

It reads an execution trace and draws a bottle graph: a box for each group of goroutines,
as tall as the group's share of the time, as wide as the number of goroutines that ran
meanwhile. Tall and narrow is the neck: look there first.

Usage:

    bottleneck FILE | URL | -               what limits the program that wrote a trace
    bottleneck COMMAND [flags] [arguments]

Commands:

`)
	for _, c := range commands {
		fmt.Fprintf(&b, "    %-10s %s\n", c.name, c.summary)
	}
	b.WriteString(`
Examples:

    bottleneck demo
        See a neck within two seconds, without a trace of your own.
    go test -bench Sort -trace trace.out && bottleneck graph trace.out
        The graph of a benchmark, in the terminal.
    bottleneck graph -o graph.svg 'http://localhost:6060/debug/pprof/trace?seconds=5'
        A picture of five seconds of a service that has net/http/pprof mounted.
    bottleneck top http://localhost:6060/debug/bottleneck/
        What limits a running service, every second.

"bottleneck help COMMAND" tells more.
`)
	return b.String()
}

// text is the whole description of a command.
func (c *command) text() string {
	usage := "bottleneck " + c.name
	if c.args != "" {
		usage += " " + c.args
	}
	text := "Usage:\n\n    " + usage + "\n\n" + c.help
	if c.urls {
		text += credentialsHelp
	}
	if c.reads {
		text += memoryHelp
	}
	return text
}

// unknownCommand says what to do instead of what was asked for.
func unknownCommand(args []string) string {
	word := args[0]
	msg := fmt.Sprintf("unknown command %q", format.Clean(word))
	if strings.HasPrefix(word, "-") {
		return msg + `: flags follow the command, as in "bottleneck graph -h"`
	}
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	if near := spelling.Nearest(word, names); near != "" {
		return msg + fmt.Sprintf("; did you mean %q?", near)
	}
	return msg + `; "bottleneck help" lists the commands`
}

// oneLine keeps a message on its line and harmless for the terminal, whatever
// a file's name or a server's answer put into it.
func oneLine(s string) string { return format.Clean(s) }
