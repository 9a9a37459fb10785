package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// target is a command that can be run at several widths, each time with a trace.
type target struct {
	command []string
	kind    targetKind
	fixed   string // the flag that fixes a benchmark's work, such as -benchtime=123x
}

type targetKind int

const (
	program    targetKind = iota // {trace} and GOMAXPROCS
	goTest                       // go test
	testBinary                   // -test.trace and -test.cpu
)

// newTarget finds out what a command is. A flag of its own that this command sets is an error.
func newTarget(command []string) (*target, error) {
	t := &target{command: command}
	base := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	switch {
	case base == "go" && len(command) > 1 && command[1] == "test":
		t.kind = goTest
	case strings.HasSuffix(base, ".test"):
		t.kind = testBinary
	case !slices.ContainsFunc(command, func(a string) bool { return strings.Contains(a, "{trace}") }):
		return nil, usagef("%s is neither go test nor a test binary: tell it by an argument with {trace} where to write its execution trace", command[0])
	}
	if t.kind == program {
		return t, nil
	}
	for _, own := range []string{"cpu", "trace", "o"} {
		if t.has(own) {
			instead := ""
			if own == "cpu" {
				instead = ", and say -cpu before --"
			}
			return nil, usagef("the command's -%s is set by \"bottleneck scale\": leave it out%s", own, instead)
		}
	}
	if t.has("count") {
		return nil, usagef("the command has a -count of its own: say it before --, so that every run has its own trace")
	}
	return t, nil
}

// find returns where the command gives a flag of the test, [from, to), and its value; from is −1 if
// it does not.
func (t *target) find(name string) (from, to int, value string) {
	for i, a := range t.command {
		if a == "-args" || a == "--args" {
			break
		}
		got, value, joined := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if i == 0 || !strings.HasPrefix(a, "-") || strings.TrimPrefix(got, "test.") != name {
			continue
		}
		if joined || i+1 == len(t.command) {
			return i, i + 1, value
		}
		return i, i + 2, t.command[i+1]
	}
	return -1, -1, ""
}

// has reports whether the command gives a flag of the test.
func (t *target) has(name string) bool {
	from, _, _ := t.find(name)
	return from >= 0
}

// with puts flags of the test into the command, before others.
func (t *target) with(flags ...string) []string {
	at := 1
	if t.kind == goTest {
		at = 2
	} else {
		for i, f := range flags {
			flags[i] = "-test." + strings.TrimPrefix(f, "-")
		}
	}
	return slices.Concat(t.command[:at], flags, t.command[at:])
}

// args is the command at a width, with a trace.
func (t *target) args(width int, trace, temp string) []string {
	if t.kind == program {
		replace := strings.NewReplacer("{trace}", trace, "{cpu}", strconv.Itoa(width))
		var args []string
		for _, a := range t.command {
			args = append(args, replace.Replace(a))
		}
		return args
	}
	flags := []string{"-cpu=" + strconv.Itoa(width), "-trace=" + trace, "-count=1"}
	if t.fixed != "" {
		flags = append(flags, t.fixed)
	}
	return t.with(t.own(flags, temp)...)
}

// own adds what only go test has: a place for the binary, which it would leave in the working
// directory.
func (t *target) own(flags []string, temp string) []string {
	if t.kind == goTest {
		flags = append(flags, "-o="+filepath.Join(temp, "scaled.test"))
	}
	return flags
}

// resultLine is a benchmark's result: name and number of iterations.
var resultLine = regexp.MustCompile(`(?m)^(Benchmark\S*)\s+(\d+)\s`)

// fixWork finds out how often the loop of a benchmark runs, so that all runs do the same: it is
// otherwise chosen by time, and so different for each width.
func (t *target) fixWork(run func(args []string) (string, error), width int, temp string) error {
	from, to, given := t.find("benchtime")
	if t.kind == program || !t.has("bench") || strings.HasSuffix(given, "x") {
		return nil
	}
	out, err := run(t.with(t.own([]string{"-cpu=" + strconv.Itoa(width), "-count=1"}, temp)...))
	if err != nil {
		return err
	}
	found := resultLine.FindAllStringSubmatch(out, -1)
	switch {
	case len(found) == 0:
		return fmt.Errorf("%s: no benchmark has run%s", strings.Join(t.command, " "), itSays(out))
	case len(found) > 1:
		var names []string
		for _, f := range found {
			names = append(names, f[1])
		}
		return fmt.Errorf("%d benchmarks match (%s): a stack is of one; name it with -bench", len(found), strings.Join(names, ", "))
	}
	t.fixed = "-benchtime=" + found[0][2] + "x"
	if from >= 0 {
		t.command = slices.Delete(slices.Clone(t.command), from, to)
	}
	return nil
}
