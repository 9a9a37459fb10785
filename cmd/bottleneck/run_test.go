package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// The traces of the tests.
var (
	computeTrace = small("compute-go1.26.8.trace")
	mutexTrace   = small("mutex-go1.26.8.trace")
	phasesTrace  = small("phases-go1.26.8.trace")
)

func small(name string) string { return filepath.Join("..", "..", "testdata", "small", name) }

// outcome is what came of a command.
type outcome struct {
	status   int
	out, err string
}

// commandWith runs the command with a standard input.
func commandWith(stdin io.Reader, args ...string) outcome {
	var out, err bytes.Buffer
	status := run(context.Background(), args, stdin, &out, &err)
	return outcome{status, out.String(), err.String()}
}

func bottleneck(args ...string) outcome { return commandWith(nil, args...) }

// want checks the status and that the outputs contain the given parts. Every
// line of an error has to begin with the name of the command.
func (r outcome) want(t *testing.T, status int, out, err string) {
	t.Helper()
	if r.status != status {
		t.Errorf("exit status %d, want %d; stderr:\n%s", r.status, status, r.err)
	}
	if !strings.Contains(r.out, out) || out == "" && r.out != "" {
		t.Errorf("stdout:\n%s\nwant %q in it", r.out, out)
	}
	if !strings.Contains(r.err, err) || err == "" && r.err != "" {
		t.Errorf("stderr:\n%s\nwant %q in it", r.err, err)
	}
	for line := range strings.Lines(r.err) {
		if status == exitFailure && !strings.HasPrefix(line, "bottleneck: ") {
			t.Errorf("stderr has the line %q", line)
		}
	}
	if strings.Contains(r.out+r.err, "goroutine 1 [") || strings.Contains(r.out+r.err, "panic") {
		t.Error("a stack trace")
	}
}

func TestHelp(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"help", "bottleneck demo\n        See a neck"},
		{"-h", "bottleneck demo\n        See a neck"},
		{"--help", "bottleneck demo\n        See a neck"},
		{"help graph", "    bottleneck graph [flags] [FILE | URL | -]\n"},
		{"graph -h", "    bottleneck graph [flags] [FILE | URL | -]\n"},
		{"graph --help", "    bottleneck graph [flags] [FILE | URL | -]\n"},
		{"graph trace.out -h", "    bottleneck graph [flags] [FILE | URL | -]\n"},
		{"help demo", "    bottleneck demo [flags]\n"},
		{"demo -h", "    bottleneck demo [flags]\n"},
		{"help help", "    bottleneck help [COMMAND]\n"},
		{"help -h", "    bottleneck help [COMMAND]\n"},
		{"version -h", "    bottleneck version\n"},
		{"version", "reads execution traces of Go 1.11 to 1."},
	} {
		r := bottleneck(strings.Fields(tt.args)...)
		r.want(t, exitOK, tt.want, "")
		for line := range strings.Lines(r.out) {
			if n := len([]rune(line)); n > 101 {
				t.Errorf("%s: a line of %d columns: %s", tt.args, n, line)
			}
		}
	}
	// As go does it: no arguments are a mistake that the overview helps with.
	bottleneck().want(t, exitUsage, "", "bottleneck demo\n        See a neck")
}

// Every command is in the overview, and every flag in the help of its command, and no other.
func TestHelpIsComplete(t *testing.T) {
	overview := bottleneck("help").out
	for _, c := range commands {
		if !strings.Contains(overview, "    "+c.name) || !strings.Contains(overview, c.summary) {
			t.Errorf("the overview misses %s", c.name)
		}
	}
	for _, tt := range []struct {
		set  *flag.FlagSet
		help string
	}{
		{(&graphFlags{}).set(), graphHelp},
		{(&demo{}).set(), demoHelp},
		{(&speedupFlags{}).set(), speedupHelp},
		{(&scaleFlags{}).set(), scaleHelp},
		{(&contentionFlags{}).set(), contentionHelp},
		{(&tasksFlags{}).set(), tasksHelp},
		{(&diffFlags{}).set(), diffHelp},
		{(&topFlags{}).set(), topHelp},
		{(&recordFlags{}).set(), recordHelp},
		{(&programFlags{}).set(), recordProgramHelp + "    -o \n    -force \n"}, // described before
		{(&mergeFlags{}).set(), mergeHelp},
		{(&reportFlags{}).set(), reportHelp},
	} {
		described := map[string]bool{}
		for line := range strings.Lines(tt.help) {
			if !strings.HasPrefix(line, "    -") { // such as "    -n N, -unit TYPE   what they do"
				continue
			}
			flags, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
			for one := range strings.SplitSeq(flags, ", ") {
				if name, is := strings.CutPrefix(one, "-"); is {
					name, _, _ = strings.Cut(name, " ")
					described[name] = true
				}
			}
		}
		tt.set.VisitAll(func(f *flag.Flag) {
			if !described[f.Name] {
				t.Errorf("%s: -%s is not described", tt.set.Name(), f.Name)
			}
			delete(described, f.Name)
		})
		for name := range described {
			t.Errorf("%s: -%s is described but does not exist", tt.set.Name(), name)
		}
	}
}

// Wrong usage is found before anything is read: the traces of these do not exist.
func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"grpah"}, `unknown command "grpah"; did you mean "graph"?`},
		{[]string{"dem"}, `did you mean "demo"?`},
		{[]string{"zzzzzz"}, `"bottleneck help" lists the commands`},
		{[]string{"-window", "1s"}, `flags follow the command`},
		{[]string{"help", "grahp"}, `did you mean "graph"?`},
		{[]string{"help", "graph", "demo"}, `more than one command`},
		{[]string{"version", "1"}, `unexpected argument "1"`},
		{[]string{"graph"}, "no trace: name a FILE or a URL"},
		{[]string{"graph", "-grop", "task", "x"}, "unknown flag -grop; did you mean -group?"},
		{[]string{"graph", "-quux", "x"}, "unknown flag -quux (see"},
		{[]string{"graph", "x", "y"}, `more than one trace: "x" and "y"`},
		{[]string{"graph", "-group", "thread", "x"}, `unknown grouping "thread"`},
		{[]string{"graph", "-group", "/(/", "x"}, `missing closing )`},
		{[]string{"graph", "-window", "0", "x"}, "want a positive duration"},
		{[]string{"graph", "-window", "-1s", "x"}, "want a positive duration"},
		{[]string{"graph", "-window", "often", "x"}, `-window often: want a duration, such as 500ms`},
		{[]string{"graph", "-top", "a few", "x"}, `-top "a few": want a whole number`},
		{[]string{"graph", "-offered=7", "x"}, `-offered 7: want true or false, or nothing`},
		{[]string{"graph", "-o", "x.doc", "x"}, `-o x.doc: its form follows from its name: want a file ending in .svg`},
		{[]string{"tasks", "-hz", "", "x"}, `-hz "": want a number`},
		{[]string{"speedup", "-estimate", "http://localhost/trace"}, `traces are read twice, so they have to be files`},
		{[]string{"graph", "-top", "-1", "x"}, "-top -1"},
		{[]string{"graph", "-from", "-1s", "x"}, "from the beginning"},
		{[]string{"graph", "-from", "2s", "-to", "1s", "x"}, "-to 1s is not after -from 2s"},
		{[]string{"graph", "-to", "0s", "x"}, "-to 0s is not after"},
		{[]string{"graph", "-format", "gif", "x"}, `unknown form "gif"`},
		{[]string{"graph", "-o", "x.gif", "x"}, "want a file ending in .svg"},
		{[]string{"graph", "-o", "x.svg", "-o", "./x.svg", "x"}, "given twice"},
		{[]string{"graph", "-fail", "paralelism<4", "x"}, "did you mean parallelism?"},
		{[]string{"graph", "http://"}, "is not a URL"},
		{[]string{"graph", "evil\x1b[2J\nname", "y"}, "more than one trace"},
		{[]string{"demo", "x"}, "brings its own program"},
		{[]string{"demo", "-workers", "1"}, "-workers 1"},
		{[]string{"demo", "-files", "1"}, "-files 1"},
		{[]string{"demo", "-factor", "1"}, "-factor 1"},
		{[]string{"demo", "-time", "0"}, "-time 0s"},
		{[]string{"demo", "-o", "demo"}, "want a file ending in"},
		{[]string{"graph", "-title", "mine", "x"}, "-title is for svg or png, and none is written: add -o FILE.svg, or leave it out"},
		{[]string{"scale", "-title", "mine", "-o", "x.csv", "--", "go", "test"}, "-title is for svg or png, and none is written"},
		{[]string{"contention", "-pprof", "joined", "-o", "x.svg", "x"}, "-pprof is for pprof or folded, and none is written: add -o FILE.pb.gz"},
		{[]string{"contention", "-top", "3", "-format", "csv", "x"}, "-top is for text or svg"},
		{[]string{"contention", "-by", "lock", "-format", "svg", "x"}, "-by is for text"},
		{[]string{"contention", "-by", "lock", "-format", "json", "x"}, "-by is for text"},
		{[]string{"contention", "-by", "owner-goroutine", "-o", "x.svg", "x"}, "-by is for text, and for single goroutines in JSON"},
		{[]string{"tasks", "-strip", "-format", "json", "x"}, "-strip is for svg or png or text"},
		{[]string{"tasks", "-site", "creation", "-o", "x.svg", "x"}, "-site is for pprof or text"},
		{[]string{"report", "-window", "1s", "-o", "x.perfetto-trace", "x"}, "-window is for the page, and none is written: add -o FILE.html"},
	} {
		r := bottleneck(tt.args...)
		r.want(t, exitUsage, "", tt.want)
		if strings.ContainsAny(r.err, "\x1b") || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%q: stderr %q", tt.args, r.err)
		}
	}
}

// Flags may stand before and behind the trace; what follows -- is no flag.
func TestFlagOrder(t *testing.T) {
	for _, args := range [][]string{
		{"graph", "-format", "csv", "-top", "1", mutexTrace},
		{"graph", mutexTrace, "-format", "csv", "-top", "1"},
		{"graph", "-format", "csv", mutexTrace, "-top=1"},
		{"graph", "-format", "csv", "-top", "1", "--", mutexTrace},
	} {
		r := bottleneck(args...)
		r.want(t, exitOK, "main", "")
	}
	bottleneck("graph", "--", "-o").want(t, exitFailure, "", "-o: no such file")
}

func TestVersion(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for _, tt := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "(version not known) ("},
		{&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3 (go"},
		{&debug.BuildInfo{}, "devel (go"},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			setting("vcs.revision", "0123456789abcdef"), setting("vcs.modified", "true"),
		}}, "devel 0123456789ab with changes (go"},
		{&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260908200009-0123456789ab+dirty"}, Settings: []debug.BuildSetting{
			setting("vcs.revision", "0123456789abcdef"), setting("vcs.modified", "true"),
		}}, "v0.0.0-20260908200009-0123456789ab+dirty (go"},
	} {
		if got := version(tt.info); !strings.HasPrefix(got, tt.want) {
			t.Errorf("version %q, want %q", got, tt.want)
		}
	}
}

// A letter is like any other: nothing is suggested.
func TestNothingIsSuggestedForALetter(t *testing.T) {
	r := bottleneck("graph", "-x", mutexTrace)
	r.want(t, exitUsage, "", "bottleneck: graph: unknown flag -x (see")
}
