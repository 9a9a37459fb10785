// Bottleneck shows which goroutines limit the scaling of a Go program. It reads execution traces,
// prints what limits the program, draws bottle graphs and speedup stacks, and shows contention and
// the sizes of tasks.
//
// Usage:
//
//	bottleneck [flags of verdict] FILE | URL | -
//	bottleneck COMMAND [flags] [arguments]
//
// "bottleneck help" lists the commands: verdict, graph, ledger, explain, demo, contention, tasks,
// speedup, scale, run, instrument, diff, counters, report, top, record, merge, completion and man.
// "bottleneck help COMMAND" describes a command and its flags.
//
// The exit status is 0 for success, 1 for a failure (a trace that cannot be read to its end, a file
// that cannot be written, a condition of -fail that holds), 2 for wrong usage, and 3 if conditions
// of -fail could not be checked because the machine was disturbed.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/instrument"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/process"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/internal/usage"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	// exitUnmeasurable: conditions of -fail were not checked, because the machine was disturbed.
	exitUnmeasurable = 3
)

// stdio holds the streams of a command: os.Stdin and so on, or those of a test.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	dash     int // number of arguments before "--"; −1 without it
}

// app is one run of the command, with the flags that many subcommands share.
type app struct {
	stdio
	credentials input.Credentials
	memory      int64 // limit in bytes; 0 means the default
	unwritten   error // error of writing the help
}

// root returns the command with all its subcommands.
func (a *app) root() *cobra.Command {
	cobra.EnableCommandSorting = false // subcommands are in the order of their use
	root := &cobra.Command{Use: "bottleneck", Short: "show which goroutines limit the scaling of a Go program", Long: overview, Example: overviewExamples,
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true, DisableAutoGenTag: true, Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return unknownCommand(a.root(), args[0]) }}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetHelpFunc(a.describe)
	root.SetFlagErrorFunc(flags.Error)
	root.AddCommand(a.verdict(), a.graph(), a.ledger(), a.explain(), a.demo(), a.contention(), a.tasks(), a.critical(), a.speedup(), a.scale(), a.run(), a.instrument(),
		a.diff(), a.counters(), a.report(), a.top(), a.record(), a.merge(), a.version(), a.man(root))
	root.InitDefaultCompletionCmd()
	root.SetHelpCommand(a.help(root))
	root.InitDefaultHelpCmd()
	completion := subcommand(root, "completion")
	completion.Use = "completion bash | zsh | fish | powershell"
	completion.Short = "print a completion script for bash, zsh, fish or PowerShell"
	completion.Long = "Completion prints a script that completes commands, flags and their values in a\nshell. \"bottleneck completion bash -h\" describes how to load it."
	completion.Example = "  source <(bottleneck completion bash)"
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("want bash, zsh, fish or powershell, not %q", args[0])
		}
		return c.Help()
	}
	for _, shell := range completion.Commands() {
		shell.Args = noArgs
	}
	root.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault // a file alone means its verdict
	}
	return root
}

// noArgs rejects arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}

// action runs a subcommand with its arguments, after its flags have been parsed.
type action func(ctx context.Context, std stdio, args []string) error

// command returns a subcommand.
func (a *app) command(use, short, long string, do action) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, err := a.credentials.Of(c.Context())
			if err != nil {
				return err
			}
			if c.Flags().Lookup("memory") != nil {
				limit := memory.Limit(ctx, a.memory)
				guard(limit)
				ctx = memory.WithLimit(ctx, limit)
			}
			std := a.stdio
			std.dash = c.ArgsLenAtDash()
			return do(ctx, std, args)
		}}
}

// usagef returns an error in the arguments: exit status 2.
func usagef(format string, args ...any) error { return flags.Errorf(format, args...) }

// run runs the whole command, without the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdio: stdio{in: stdin, out: stdout, err: stderr}}
	root := a.root()
	if len(args) == 0 {
		root.SetOut(stderr)
		a.describe(root, nil)
		return exitUsage
	}
	switch args[0] {
	case "-h", "-help", "--help":
		args = append([]string{"help"}, args[1:]...)
	case "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	c := subcommand(root, args[0])
	if verdict := subcommand(root, "verdict"); c == nil && (isInput(args[0]) || flags.Of(verdict, args[0]) != nil) {
		c, args = verdict, append([]string{"verdict"}, args...)
	}
	switch completion := args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd; {
	case completion:
		flags.Complete(root)
		if c := subcommand(root, args[min(1, len(args)-1)]); c != nil && len(args) > 2 {
			last := len(args) - 1 // the word to complete
			args = slices.Concat(args[:2], flags.DoubleDashes(c, args[2:last]), args[last:])
		}
	case c == nil:
		return a.status(ctx, root, unknownCommand(root, args[0]))
	default:
		args = append([]string{args[0]}, flags.DoubleDashes(c, args[1:])...)
	}
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	return a.status(ctx, c, errors.Join(err, a.unwritten))
}

// subcommand returns the subcommand with a name, or nil.
func subcommand(root *cobra.Command, name string) *cobra.Command {
	if i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
		return root.Commands()[i]
	}
	return nil
}

// isInput reports whether the first argument is the input of a verdict rather than a command. A
// word with a dot or a slash is a file name, even if the file does not exist.
func isInput(word string) bool {
	if word == "-" || input.IsURL(word) || !strings.HasPrefix(word, "-") && strings.ContainsAny(word, `./\`) {
		return true
	}
	_, err := os.Stat(word)
	return err == nil
}

// status reports an error, one line each, and returns the exit status.
func (a *app) status(ctx context.Context, c *cobra.Command, err error) int {
	var usage *flags.Misuse
	var program *process.Error
	for c.HasParent() && c.Parent().HasParent() {
		c = c.Parent() // the shells of completion
	}
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &program):
		for _, e := range input.Flatten(err) {
			if e != error(program) {
				fmt.Fprintf(a.err, "bottleneck: %s: %s\n", c.Name(), oneLine(e.Error()))
			}
		}
		return program.Status
	case errors.As(err, &usage) && (!c.HasParent() || c.Name() == "help"):
		fmt.Fprintf(a.err, "bottleneck: %s\n", oneLine(usage.Error()))
		return exitUsage
	case errors.As(err, &usage):
		fmt.Fprintf(a.err, "bottleneck: %s: %s (see \"bottleneck help %s\")\n", c.Name(), oneLine(usage.Error()), c.Name())
		return exitUsage
	case errors.Is(err, syscall.EPIPE):
		return exitFailure // the reader of the output, such as head, has closed it
	case ctx.Err() != nil:
		fmt.Fprintln(a.err, "bottleneck: interrupted")
		return exitFailure
	}
	exit := exitUnmeasurable
	for _, e := range input.Flatten(err) {
		fmt.Fprintf(a.err, "bottleneck: %s: %s\n", c.Name(), oneLine(e.Error()))
		if disturbed := (*condition.Unmeasurable)(nil); !errors.As(e, &disturbed) {
			exit = exitFailure
		}
	}
	return exit
}

// unknownCommand returns the error for a command that does not exist, with a suggestion.
func unknownCommand(root *cobra.Command, word string) error {
	msg := fmt.Sprintf("unknown command %q", format.Clean(word))
	if strings.HasPrefix(word, "-") {
		return usagef(`unknown flag %s: flags of a command follow it, as in "bottleneck graph -h"`, format.Clean(word))
	}
	if input.Address.MatchString(word) {
		return usagef("%s; a URL begins with http://", msg)
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if near := spelling.Nearest(word, names); near != "" {
		return usagef("%s; did you mean %q?", msg, near)
	}
	return usagef(`%s; "bottleneck help" lists the commands`, msg)
}

// oneLine keeps a message on its line and harmless for the terminal.
func oneLine(s string) string { return format.Clean(s) }

const overview = `Bottleneck shows which goroutines limit the scaling of a Go program.

"bottleneck FILE" reads an execution trace and prints what limits the program,
where in its code, and what to do. "bottleneck graph" draws a bottle graph, with
a box for each group of goroutines. The height of a box is the group's share of
the time, its width the mean number of goroutines that ran during that time. A
tall and narrow box is the neck: look there first.

A trace may be packed with gzip or zstd, or in an archive of "record -counters".
Of a broken trace, all up to the damage is read. A command also reads what it
has saved as JSON. "-", or no argument in a pipe, is standard input.`

const overviewExamples = `  bottleneck demo
      See a neck in two seconds, without a trace of your own.
  go test -bench Sort -trace trace.out && bottleneck graph trace.out
      Draw the graph of a benchmark in the terminal.
  bottleneck graph -o graph.svg \
          'http://localhost:6060/debug/pprof/trace?seconds=5'
      Draw five seconds of a service that has net/http/pprof mounted.
  bottleneck top http://localhost:6060/debug/bottleneck/
      Show what limits a running service, every second.

"bottleneck help COMMAND" describes a command. Flags take one dash or two.

The exit status is 0 for success, 1 for a failure, such as a broken trace or a
condition of -fail that holds, 2 for wrong usage, and 3 if conditions could not
be checked because the machine was disturbed. That of run, record and instrument
is the status of the program if it is not 0.`

// describe writes the help of a command.
func (a *app) describe(c *cobra.Command, _ []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n\n", strings.TrimSpace(c.Long))
	if !c.HasParent() {
		b.WriteString("  bottleneck [flags of verdict] FILE | URL | -\n")
		fmt.Fprintf(&b, "  bottleneck COMMAND [flags] [arguments]\n\nCommands:\n\n")
		for _, sub := range c.Commands() {
			fmt.Fprintf(&b, "  %-10s  %s\n", sub.Name(), sub.Short)
		}
	} else {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
		if flags := c.LocalFlags().FlagUsagesWrapped(output.HelpWidth); flags != "" {
			fmt.Fprintf(&b, "\nFlags:\n\n%s", flags)
		}
	}
	if c.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n\n%s\n", c.Example)
	}
	_, a.unwritten = io.WriteString(c.OutOrStdout(), b.String())
}

func (a *app) help(root *cobra.Command) *cobra.Command {
	return a.command("help [COMMAND]", "describe a command", "Help describes a command, or lists all of them.", func(_ context.Context, _ stdio, args []string) error {
		c := root
		switch {
		case len(args) > 1:
			return usagef("more than one command: %s", strings.Join(args, " "))
		case len(args) == 1:
			if c = subcommand(root, args[0]); c == nil {
				return unknownCommand(root, args[0])
			}
		}
		c.InitDefaultHelpFlag()
		return c.Help()
	})
}

func (a *app) man(root *cobra.Command) *cobra.Command {
	return a.command("man DIR", "write a manual page for each command", "Man writes manual pages for man(1) to a directory: bottleneck.1,\nbottleneck-graph.1 and so on.", func(_ context.Context, _ stdio, args []string) error {
		if len(args) != 1 {
			return usagef("want DIR, the directory of the pages")
		}
		if err := os.MkdirAll(args[0], 0o777); err != nil {
			return atomicfile.Error(args[0], err)
		}
		for _, c := range root.Commands() {
			// Markdown preserves these lines.
			c.Long = strings.ReplaceAll(c.Long, "\n  ", "\n      ")
			c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "<", `\<`) })
		}
		return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "bottleneck", Manual: "bottleneck"}, args[0])
	})
}

func (a *app) version() *cobra.Command {
	c := a.command("version", "print the version", "Version prints the version of the command and of the traces that it reads.", func(_ context.Context, std stdio, args []string) error {
		info, _ := debug.ReadBuildInfo()
		_, err := fmt.Fprintf(std.out, "bottleneck %s\nreads execution traces of Go 1.%d to 1.%d, and of Go 1.27, which writes the format of Go 1.26\n",
			version(info), timeline.FirstVersion, timeline.LastVersion)
		return err
	})
	c.Args = noArgs
	return c
}

func version(info *debug.BuildInfo) string {
	v := "(version not known)"
	if info != nil { // the go command puts the commit into the version
		v = cmp.Or(strings.Trim(info.Main.Version, "()"), "devel")
	}
	return fmt.Sprintf("%s (%s, %s/%s)", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// patience is how long an interrupted command may take to clean up.
const patience = time.Second

func main() {
	usage.Wrapped()
	instrument.Wrapped()
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() {
		stop() // a second interrupt ends the process at once
		for time.Sleep(patience); process.Busy.Load(); {
			time.Sleep(patience) // a recorded program decides itself when it ends
		}
		os.Stderr.WriteString("bottleneck: interrupted\n")
		os.Exit(exitFailure) // something hangs that no context can interrupt
	})
	guard = guardProcess
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
