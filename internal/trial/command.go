package trial

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/instrument"
)

// Command is a command that can be run at several widths, each time with a trace.
type Command struct {
	command    []string
	kind       kind
	iterations int    // of a benchmark, or 0
	fixed      string // flag that fixes them, such as -benchtime=123x
}

type kind int

const (
	program    kind = iota // uses {trace} and GOMAXPROCS
	recorder               // records itself, and uses GOMAXPROCS
	goRun                  // go run, of such a program
	goTest                 // go test
	testBinary             // uses -test.trace and -test.cpu
)

// IsTest reports whether the command has the flags of tests.
func (t *Command) IsTest() bool { return t.kind == goTest || t.kind == testBinary }

// New returns a command that can be run. The error is a [*flags.Misuse] if the command cannot be
// traced, or has flags that a [Runner] sets itself.
func New(command []string) (*Command, error) {
	t := &Command{command: command}
	base := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	switch goes := instrument.IsGo(command[0]) && len(command) > 1; {
	case goes && command[1] == "test":
		t.kind = goTest
	case strings.HasSuffix(base, ".test"):
		t.kind = testBinary
	case slices.ContainsFunc(command, func(a string) bool { return strings.Contains(a, "{trace}") }):
	case goes && command[1] == "run":
		t.kind = goRun
	case goes:
		return nil, flags.Errorf("go %s runs nothing: want go test or go run", command[1])
	default:
		t.kind = recorder
		path, err := exec.LookPath(command[0])
		if err != nil {
			return nil, NotRun(command[0], err)
		}
		if code, err := os.ReadFile(path); err != nil || !bytes.Contains(code, []byte(instrument.Variable)) {
			return nil, flags.Errorf("%s does not record itself: build it with \"bottleneck instrument -- go build\", or give it an argument with {trace}, the file for its execution trace", command[0])
		}
	}
	if !t.IsTest() {
		return t, nil
	}
	for _, own := range []string{"cpu", "trace", "o"} {
		if t.has(own) {
			instead := ""
			if own == "cpu" {
				instead = ", and give -cpu before --"
			}
			return nil, flags.Errorf("the command's -%s is set by bottleneck: leave it out%s", own, instead)
		}
	}
	if t.has("json") {
		return nil, flags.Errorf("the command's -json hides the results of benchmarks: leave it out")
	}
	if t.has("count") {
		return nil, flags.Errorf("the command has a -count of its own: give it before --, so that every run has its own trace")
	}
	return t, nil
}

// find returns the range [from, to) of a test flag in the command, or −1, and its value.
func (t *Command) find(name string) (from, to int, value string) {
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

// has reports whether the command contains the test flag.
func (t *Command) has(name string) bool {
	from, _, _ := t.find(name)
	return from >= 0
}

// flagsAt returns where the flags of a go command begin, after -C, which has to be the first one.
func flagsAt(command []string) int {
	switch {
	case len(command) > 3 && command[2] == "-C":
		return 4
	case len(command) > 2 && strings.HasPrefix(command[2], "-C="):
		return 3
	}
	return 2
}

// With inserts test flags into the command, before others. go test would leave the binary in the
// working directory, not in temp.
func (t *Command) With(temp string, flags ...string) []string {
	at := 1
	if t.kind == goTest {
		at = flagsAt(t.command)
		flags = append(flags, "-o="+filepath.Join(temp, "scaled.test"))
	} else {
		for i, f := range flags {
			flags[i] = "-test." + strings.TrimPrefix(f, "-")
		}
	}
	return slices.Concat(t.command[:at], flags, t.command[at:])
}

// args returns the command for a width, with a trace.
func (t *Command) args(width int, trace, temp string) []string {
	if !t.IsTest() {
		replace := strings.NewReplacer("{trace}", trace, "{cpu}", strconv.Itoa(width))
		var args []string
		for _, a := range t.command {
			args = append(args, replace.Replace(a))
		}
		return args
	}
	flags := []string{"-trace=" + trace, "-count=1"}
	if width > 0 {
		flags = slices.Insert(flags, 0, "-cpu="+strconv.Itoa(width))
	}
	if t.fixed != "" {
		flags = append(flags, t.fixed)
	}
	return t.With(temp, flags...)
}

// resultLine is a benchmark's result: its name, the number of iterations and the time of one.
var resultLine = regexp.MustCompile(`(?m)^(Benchmark\S*)\s+(\d+)\s(?:\s*([0-9.]+) ns/op)?`)

// Result returns the number of iterations and the time of one, of the benchmark in an output.
func (t *Command) Result(out string) (iterations int, ns float64, err error) {
	var names []string
	for _, found := range resultLine.FindAllStringSubmatch(out, -1) {
		names = append(names, found[1])
		iterations, _ = strconv.Atoi(found[2])
		ns, _ = strconv.ParseFloat(found[3], 64)
	}
	switch len(names) {
	case 0:
		err = fmt.Errorf("%s: no benchmark has run%s", strings.Join(t.command, " "), outputOf(out))
	case 1:
	default:
		err = fmt.Errorf("%d benchmarks match (%s): want one; name it with -bench", len(names), strings.Join(names, ", "))
	}
	return iterations, ns, err
}

// Timed reports whether a command runs benchmarks for a time, and so more iterations the faster they
// are.
func Timed(command []string) bool {
	t := Command{command: command}
	_, _, given := t.find("benchtime")
	test := strings.HasSuffix(strings.TrimSuffix(command[0], ".exe"), ".test") || instrument.IsGo(command[0]) && len(command) > 1 && command[1] == "test"
	return test && t.has("bench") && !strings.HasSuffix(given, "x")
}

// fixWork determines the number of iterations of a benchmark, so that all runs do the same work.
// Otherwise it would depend on time, and differ between widths.
func (t *Command) fixWork(run func(args []string) (string, error), width int, temp string) error {
	from, to, given := t.find("benchtime")
	number, fixed := strings.CutSuffix(given, "x")
	if !t.IsTest() || !t.has("bench") || fixed {
		if t.IsTest() && t.has("bench") && fixed {
			t.iterations, _ = strconv.Atoi(number)
		}
		return nil
	}
	out, err := run(t.With(temp, "-cpu="+strconv.Itoa(width), "-count=1"))
	if err != nil {
		return err
	}
	if t.iterations, _, err = t.Result(out); err != nil {
		return err
	}
	t.fixed = fmt.Sprintf("-benchtime=%dx", t.iterations)
	if from >= 0 {
		t.command = slices.Delete(slices.Clone(t.command), from, to)
	}
	return nil
}

// NotRun returns the error of a program that could not be started; it returns others unchanged.
func NotRun(name string, err error) error {
	var search *exec.Error
	var start *os.PathError
	switch {
	case errors.As(err, &search):
		return fmt.Errorf("cannot run %s: %w", name, search.Err)
	case errors.As(err, &start) && start.Op == "fork/exec":
		return fmt.Errorf("cannot run %s: %w", name, start.Err)
	}
	return err
}
