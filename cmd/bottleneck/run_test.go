package main

import (
	"archive/zip"
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/instrument"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/usage"
)

func TestMain(m *testing.M) {
	if race.Enabled { // with which pixels take most of the time
		output.PNG = func(w io.Writer, d *picture.Drawing) error {
			width, _ := d.Size()
			plain := png.Encoder{CompressionLevel: png.NoCompression}
			return plain.Encode(w, image.NewGray(image.Rect(0, 0, int(width), 1)))
		}
	}
	usage.Wrapped()
	instrument.Wrapped() // the go command runs its tools through this executable
	os.Exit(m.Run())
}

// The traces of the tests.
var (
	computeTrace = small("compute-go1.26.8.trace")
	mutexTrace   = small("mutex-go1.26.8.trace")
	phasesTrace  = small("phases-go1.26.8.trace")
)

func small(name string) string { return filepath.Join("..", "..", "testdata", "small", name) }

// outcome is the result of a command.
type outcome struct {
	status   int
	out, err string
}

// lockedBuffer is a buffer with several writers.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer // not embedded: its ReadFrom would not lock
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// commandWith runs the command with a standard input.
func commandWith(stdin io.Reader, args ...string) outcome {
	var out bytes.Buffer
	var err lockedBuffer // for a recorded program, too
	status := run(context.Background(), args, stdin, &out, &err)
	return outcome{status, out.String(), err.buf.String()}
}

func bottleneck(args ...string) outcome { return commandWith(nil, args...) }

// lastingly is bottleneck with arguments that give the same outcome in every test. It runs once.
func lastingly(args ...string) outcome {
	key := strings.Join(args, " ")
	r, known := outcomes[key]
	if !known {
		r = bottleneck(args...)
		outcomes[key] = r
	}
	return r
}

var outcomes = map[string]outcome{}

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
		{"help", "  bottleneck demo\n      See a neck"},
		{"-h", "  bottleneck demo\n      See a neck"},
		{"--help", "  bottleneck demo\n      See a neck"},
		{"help graph", "\nUsage:\n\n  bottleneck graph [flags] [FILE | URL | -]...\n"},
		{"graph -h", "\nUsage:\n\n  bottleneck graph [flags] [FILE | URL | -]...\n"},
		{"graph --help", "\nUsage:\n\n  bottleneck graph [flags] [FILE | URL | -]...\n"},
		{"graph trace.out -h", "\nUsage:\n\n  bottleneck graph [flags] [FILE | URL | -]...\n"},
		{"help demo", "\nUsage:\n\n  bottleneck demo [flags]\n"},
		{"demo -h", "\nUsage:\n\n  bottleneck demo [flags]\n"},
		{"help help", "\nUsage:\n\n  bottleneck help [COMMAND]\n"},
		{"help -h", "\nUsage:\n\n  bottleneck help [COMMAND]\n"},
		{"version -h", "\nUsage:\n\n  bottleneck version\n"},
		{"version", "reads execution traces of Go 1.11 to 1."},
	} {
		bottleneck(strings.Fields(tt.args)...).want(t, exitOK, tt.want, "")
	}
	// As with the go command, no arguments are an error with an overview.
	bottleneck().want(t, exitUsage, "", "  bottleneck demo\n      See a neck")
}

// The help of each command describes all its flags within 80 columns.
func TestHelpIsComplete(t *testing.T) {
	overview := bottleneck("help").out
	root := new(app).root()
	for _, c := range append(root.Commands(), root) {
		help := bottleneck("help", c.Name()).out
		if c == root {
			help = overview
		} else if !strings.Contains(overview, "  "+c.Name()+" ") || !strings.Contains(overview, c.Short) {
			t.Errorf("the overview misses %s", c.Name())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || !strings.Contains(help, "--"+f.Name) {
				t.Errorf("%s: -%s is not described", c.Name(), f.Name)
			}
		})
		for line := range strings.Lines(help) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", c.Name(), n, line)
			}
		}
	}
}

// The completion scripts of all shells that cobra supports, and the completions that they request.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		bottleneck("completion", shell).want(t, exitOK, "bottleneck", "")
	}
	for args, want := range map[string]string{"gra": "graph\t", "graph --gr": "--group\t", "graph --format p": "png\npprof\n", "graph -format p": "png\npprof\n", "graph -top 3 -format p": "png\npprof\n", "tra": ":0\n"} {
		if r := bottleneck(append([]string{"__complete"}, strings.Fields(args)...)...); !strings.Contains(r.out, want) {
			t.Errorf("%q: %s", args, r.out)
		}
	}
}

// Each command has a manual page.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	bottleneck("man", dir).want(t, exitOK, "", "")
	for _, c := range new(app).root().Commands() {
		if c.Name() == "help" {
			continue
		}
		if page, err := os.ReadFile(filepath.Join(dir, "bottleneck-"+c.Name()+".1")); err != nil || !strings.Contains(string(page), ".SH NAME") {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
	if page := string(read(t, filepath.Join(dir, "bottleneck-graph.1"))); !strings.Contains(page, "such as parallelism<4;") {
		t.Error("the example of a condition is not in the page")
	}
	bottleneck("man").want(t, exitUsage, "", "want DIR")
}

// Long flags take one dash or two. The argument after a flag with a value is its value, whatever
// it looks like.
func TestFlagsTakeOneDashOrTwo(t *testing.T) {
	c := subcommand(new(app).root(), "graph")
	for args, want := range map[string]string{
		"-format json --top=3 x":             "--format json --top=3 x",
		"-o -format --o x -offered -o= -top": "-o -format -o x --offered --output= --top",
		"-from -1s -- -to 2s":                "--from -1s -- -to 2s",
		"-ox - -1 --=3 ---top":               "--ox - -1 --=3 ---top",
	} {
		if got := flags.DoubleDashes(c, strings.Fields(args)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

// Usage errors are found before anything is read: the traces named here do not exist.
func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"grpah"}, `unknown command "grpah"; did you mean "graph"?`},
		{[]string{"dem"}, `did you mean "demo"?`},
		{[]string{"zzzzzz"}, `"bottleneck help" lists the commands`},
		{[]string{"zzzzzz", "-format", "json"}, `unknown command "zzzzzz"`},
		{[]string{"completion", "bash", "x"}, `completion: unexpected argument "x"`},
		{[]string{"completion", "tcsh"}, `want bash, zsh, fish or powershell, not "tcsh"`},
		{[]string{"-kind", "locks"}, `flags of a command follow it`},
		{[]string{"help", "grahp"}, `did you mean "graph"?`},
		{[]string{"help", "zzzzzz"}, "bottleneck: unknown command \"zzzzzz\"; \"bottleneck help\" lists the commands\n"},
		{[]string{"help", "graph", "demo"}, `more than one command`},
		{[]string{"version", "1"}, `unexpected argument "1"`},
		{[]string{"graph"}, "no input: want a FILE, a URL"},
		{[]string{"graph", "-grop", "task", "x"}, "unknown flag -grop; did you mean -group?"},
		{[]string{"graph", "-quux", "x"}, "unknown flag -quux (see"},
		{[]string{"ledger", "x", "y"}, `more than one input: "x" and "y"`},
		{[]string{"graph", "-group", "thread", "x"}, `unknown grouping "thread"`},
		{[]string{"graph", "-group", "/(/", "x"}, `missing closing )`},
		{[]string{"graph", "-window", "0", "x"}, "want a positive duration"},
		{[]string{"graph", "-window", "-1s", "x"}, "want a positive duration"},
		{[]string{"graph", "-window", "often", "x"}, `-window often: want a positive duration, such as 500ms`},
		{[]string{"graph", "-top", "a few", "x"}, `-top "a few": want a whole number`},
		{[]string{"graph", "-offered=7", "x"}, `-offered 7: want true or false, or nothing`},
		{[]string{"graph", "-o", "x.doc", "x"}, `-o x.doc: unknown extension: want a file ending in .svg`},
		{[]string{"speedup", "-estimate", "http://localhost/trace"}, `traces are read twice, so they have to be files`},
		{[]string{"graph", "-top", "-1", "x"}, "-top -1"},
		{[]string{"graph", "-from", "-1s", "x"}, "want 0s or more"},
		{[]string{"graph", "-from", "2s", "-to", "1s", "x"}, "-to 1s is not after -from 2s"},
		{[]string{"graph", "-to", "0s", "x"}, "-to 0s is not after"},
		{[]string{"graph", "-format", "gif", "x"}, `-format gif: want`},
		{[]string{"graph", "-o", "x.gif", "x"}, "want a file ending in .svg"},
		{[]string{"graph", "-o", "x.svg", "-o", "./x.svg", "x"}, "given twice"},
		{[]string{"graph", "-fail", "paralelism<4", "x"}, "did you mean parallelism?"},
		{[]string{"graph", "http://"}, "is not a URL"},
		{[]string{"ledger", "evil\x1b[2J\nname", "y"}, "more than one input"},
		{[]string{"demo", "x"}, "brings its own program"},
		{[]string{"demo", "-workers", "1"}, "-workers 1"},
		{[]string{"demo", "-files", "1"}, "-files 1"},
		{[]string{"demo", "-factor", "1"}, "-factor 1"},
		{[]string{"demo", "-time", "0"}, "-time 0s"},
		{[]string{"demo", "-o", "demo"}, "want a file ending in"},
		{[]string{"graph", "-title", "mine", "x"}, "-title is for svg, png or html, and none is written: add -o FILE.svg, or leave it out"},
		{[]string{"scale", "-title", "mine", "-o", "x.csv", "--", "go", "test"}, "-title is for svg, png or html, and none is written"},
		{[]string{"contention", "-pprof", "joined", "-o", "x.svg", "x"}, "-pprof is for pprof or folded, and none is written: add -o FILE.pb.gz"},
		{[]string{"contention", "-top", "3", "-format", "csv", "x"}, "-top is for text, svg, png or html"},
		{[]string{"contention", "-by", "lock", "-format", "svg", "x"}, "-by is for text"},
		{[]string{"contention", "-by", "lock", "-format", "json", "x"}, "-by is for text"},
		{[]string{"contention", "-by", "owner-goroutine", "-o", "x.svg", "x"}, "-by is for text, and for single goroutines in JSON"},
		{[]string{"tasks", "-strip", "-format", "json", "x"}, "-strip is for svg, png or html"},
		{[]string{"report", "-window", "1s", "-o", "x.perfetto-trace", "x"}, "-window is for html, and none is written: add -o FILE.html"},
	} {
		r := bottleneck(tt.args...)
		r.want(t, exitUsage, "", tt.want)
		if strings.ContainsAny(r.err, "\x1b") || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%q: stderr %q", tt.args, r.err)
		}
	}
}

// Flags may come before and after the trace. Arguments after -- are not flags.
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
	for _, tt := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "(version not known) ("},
		{&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3 (go"},
		{&debug.BuildInfo{}, "devel (go"},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel (go"},
		{&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260908200009-0123456789ab+dirty"}}, "v0.0.0-20260908200009-0123456789ab+dirty (go"},
	} {
		if got := version(tt.info); !strings.HasPrefix(got, tt.want) {
			t.Errorf("version %q, want %q", got, tt.want)
		}
	}
}

// A single letter is close to any other, so nothing is suggested.
func TestNoSuggestionForASingleLetter(t *testing.T) {
	r := bottleneck("graph", "-x", mutexTrace)
	r.want(t, exitUsage, "", "bottleneck: graph: unknown flag -x (see")
}

// The output that the documentation shows for a trace in testdata is what the command prints.
func TestDocumentationShowsOutput(t *testing.T) {
	const command = "go run ./cmd/bottleneck contention -by root-func,owner-func -top 4 testdata/"
	top := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(top, "docs", "contention.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(strings.ReplaceAll(string(page), "\r\n", "\n"), command)
	if !found {
		t.Fatalf("docs/contention.md has no command %s…", command)
	}
	trace, rest, _ := strings.Cut(rest, "\n")
	_, rest, _ = strings.Cut(rest, "```\n\n```\n")
	shown, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("docs/contention.md shows no output of it")
	}
	got := bottleneck("contention", "-by", "root-func,owner-func", "-top", "4", filepath.Join(top, "testdata", filepath.FromSlash(trace))).out
	for line := range strings.Lines(shown) {
		if !strings.Contains(got, line) {
			t.Errorf("docs/contention.md shows\n%s\n which is not in\n%s", line, got)
		}
	}
}

// Recordings by this module note the processors of the machine, so a reader elsewhere can report
// that GOMAXPROCS exceeds them. A trace by runtime/trace alone does not have this note.
func TestRecordingsNoteTheProcessorsOfTheirMachine(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests are being traced themselves")
	}
	setProcs(t, 4*runtime.NumCPU())
	const warning = "but the machine or its control group gives the process"
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }

	bottleneck("demo", "-o", at("demo.svg"), "-trace", at("demo.trace"), "-time", "100ms", "-workers", "3", "-files", "9").want(t, exitOK, "Wrote", "")
	bottleneck("graph", at("demo.trace")).want(t, exitOK, warning, "")
	bottleneck("speedup", "-estimate", "-n", "8", at("demo.trace")).want(t, exitOK, warning, "")

	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	defer rec.Stop()
	s := httptest.NewServer(live.Handler(live.Options{Recorder: &rec, AllowRemote: true}))
	defer s.Close()
	bottleneck("record", "-seconds", "0.1", "-o", at("live.trace"), s.URL).want(t, exitOK, "", "")
	bottleneck("graph", at("live.trace")).want(t, exitOK, warning, "")
	rec.Stop()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("BOTTLENECK_TEST_RECORDED", "well")
	bottleneck("record", "-counters", "task-clock", "-o", at("a.zip"), "--", self, "-test.run=^TestRecordedProgram$").want(t, exitOK, "PASS", "")
	z, err := zip.OpenReader(at("a.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if g, err := bottle.ReadTrace(t.Context(), f, bottle.Options{}); err != nil || g.CPUs != host.Processors() {
		t.Errorf("an archive: %v processors, want %v; %v", g.CPUs, host.Processors(), err)
	}

	var plain bytes.Buffer
	if err := trace.Start(&plain); err != nil {
		t.Fatal(err)
	}
	trace.Log(t.Context(), "bottleneck", "1 of 1 processors")
	trace.Stop()
	if g, err := bottle.ReadTrace(t.Context(), &plain, bottle.Options{}); err != nil || g.CPUs != 0 || g.Oversubscribed() != "" {
		t.Errorf("a trace of runtime/trace: %v processors, %q; %v", g.CPUs, g.Oversubscribed(), err)
	}
}

// Measures with the same help share it.
func TestHelpIsNotRepeated(t *testing.T) {
	for _, command := range []string{"scale", "speedup"} {
		if help := bottleneck("help", command).out; strings.Count(help, "with N workers ÷ with one") != 1 || !strings.Contains(help, "\n  user-time-growth,\n") {
			t.Errorf("%s", help)
		}
	}
}
