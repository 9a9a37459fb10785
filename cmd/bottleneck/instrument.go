package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/instrument"
)

func (a *app) instrument() *cobra.Command {
	var c *cobra.Command
	c = a.command("instrument -- go build | install | run | test [arguments]", "build a program that records itself, unchanged", `
Instrument runs a command of go so that the program records itself: its
execution trace, and the owners of each sync.Mutex while goroutines wait for it,
in the program, in its dependencies and in the standard library. No source is
changed, and nothing is written beside it.

The program records from before main to its end, if the environment variable
BOTTLENECK_RECORD has the name of a directory. Each process writes a trace
NAME.PID.trace into it, for "bottleneck FILE" and all other commands. Without
the variable it records nothing. "bottleneck run" sets it, and prints the
verdict.

A program that calls trace.Start itself gets an error from it while it is
recorded. A recording misses its last second if the program is killed or ends by
a fatal error that is not a panic, such as a deadlock.`, func(ctx context.Context, std stdio, args []string) error {
		if err := onlyCommand(args, c.ArgsLenAtDash()); err != nil {
			return err
		}
		return runGo(ctx, std, args, nil)
	})
	c.Example = `  bottleneck instrument -- go build -o server ./cmd/server
  mkdir recordings && BOTTLENECK_RECORD=recordings ./server
  bottleneck recordings/server.*.trace`
	return c
}

// onlyCommand checks that there is a command after -- and nothing before.
func onlyCommand(args []string, dash int) error {
	switch {
	case len(args) == 0:
		return usagef("no command: it follows after --, as in -- go test ./pkg")
	case dash != 0:
		return usagef("unexpected argument %q: the command follows after --", args[0])
	}
	return nil
}

// runGo runs a go command so that it builds an instrumented program. See [runCommand].
func runGo(ctx context.Context, std stdio, args, env []string) error {
	cmd, remove, err := instrument.Command(ctx, args...)
	if err != nil {
		return err
	}
	defer remove()
	return runCommand(std, cmd, env)
}

// runCommand runs a command with the standard streams and more environment variables, and passes
// signals on to it. If the command fails, the error is a *programError.
func runCommand(std stdio, cmd *exec.Cmd, env []string) error {
	ourWait.Store(true)
	defer ourWait.Store(false)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	cmd.Env = append(cmd.Environ(), env...)
	if err := cmd.Start(); err != nil {
		return notRun(cmd.Args[0], err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, forwarded(onTerminal(std.in))...)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			cmd.Process.Signal(s) // fails if it has ended
		case err := <-ended:
			signal.Stop(signals)
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return err
			}
			if exit.ExitCode() > 0 {
				return &programError{exit.ExitCode()}
			}
			fmt.Fprintf(std.err, "bottleneck: %s: %v\n", cmd.Args[0], exit)
			return &programError{exitFailure}
		}
	}
}
