package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/instrument"
)

func (a *app) run() *cobra.Command {
	f := &runFlags{verdict: verdictFlags{}}
	var c *cobra.Command
	c = a.command("run [flags] -- go run | test [arguments] | PROGRAM [arguments]", "record a program or its tests, and print what limits it", `
Run records a program from before main to its end, keeps the recording, and
prints the verdict on it: what limits the program, where, and what to do.

After -- there is one of

  go run PACKAGE [arguments]
  go test [flags] PACKAGE
            the program or the tests are built by "bottleneck instrument", with
            no change in their source
  PROGRAM [arguments]
            a program that "bottleneck instrument -- go build" has built

The recording is an execution trace for all other commands. If several processes
record, such as the tests of several packages, all recordings are kept, and the
verdict is on the longest. The exit status is that of the program if it is not
0.`, func(ctx context.Context, std stdio, args []string) error {
		return f.run(ctx, std, args, c.ArgsLenAtDash())
	})
	f.verdict.define(c, verdictForms, &verdictMeasures)
	c.Flags().StringVar(&f.dir, "dir", ".", "keep the recordings in `DIR`")
	c.Example = `  bottleneck run -- go run ./cmd/server
  bottleneck run -dir /tmp -- go test -run=TestLoad ./store
  bottleneck run -fail 'lost(lock)>10%' -- go test -bench=. ./store`
	a.limited(c)
	return c
}

// runFlags holds the flags of run.
type runFlags struct {
	verdict verdictFlags
	dir     string
}

func (f *runFlags) run(ctx context.Context, std stdio, args []string, dash int) error {
	if err := onlyCommand(args, dash); err != nil {
		return err
	}
	if st, err := os.Stat(f.dir); err != nil || !st.IsDir() {
		return usagef("-dir %s: it is no directory", f.dir)
	}
	if err := checkProgram(args[0]); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bottleneck-run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	env := []string{instrument.Variable + "=" + dir}
	std.err = shared(std.err)
	var ran error
	if instrument.IsGo(args[0]) {
		ran = runGo(ctx, std, args, env)
	} else {
		ran = runCommand(std, exec.Command(args[0], args[1:]...), env)
	}
	var failed *programError
	if ran != nil && !errors.As(ran, &failed) {
		return ran
	}
	longest, err := f.keep(std, dir)
	if longest == "" {
		if err == nil && failed == nil {
			err = errors.New("no process recorded anything")
		}
		return errors.Join(ran, err)
	}
	fmt.Fprintln(std.out)
	return errors.Join(err, f.verdict.run(context.WithoutCancel(ctx), std, []string{longest}), ran)
}

// checkProgram returns an error if a program is known not to record itself.
func checkProgram(name string) error {
	if instrument.IsGo(name) {
		return nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return notRun(name, err)
	}
	if program, err := os.ReadFile(path); err == nil && !bytes.Contains(program, []byte(instrument.Variable)) {
		return fmt.Errorf(`%s does not record itself: build it with "bottleneck instrument -- go build"; of a service that has mounted net/http/pprof as it is, "bottleneck http://localhost:6060/debug/pprof/trace?seconds=5" prints the verdict`, name)
	}
	return nil
}

// keep moves the recordings out of dir, and returns the name of the longest, "" if there is none.
func (f *runFlags) keep(std stdio, dir string) (longest string, err error) {
	found, err := os.ReadDir(dir)
	var most int64
	for _, e := range found {
		name := filepath.Join(f.dir, e.Name())
		if !strings.HasSuffix(name, ".trace") {
			continue
		}
		if err := copyFile(name, filepath.Join(dir, e.Name())); err != nil {
			return longest, err
		}
		st, err := os.Stat(name)
		if err != nil {
			return longest, err
		}
		if st.Size() > most {
			longest, most = name, st.Size()
		}
		fmt.Fprintf(std.err, "bottleneck: recorded %s, %s\n", oneLine(name), bytesOf(st.Size()))
	}
	return longest, err
}
