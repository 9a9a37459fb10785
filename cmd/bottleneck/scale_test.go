package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// This test's own binary is the scaled command: its benchmarks below run only there.
const scaled = "BOTTLENECK_SCALED"

func BenchmarkScaled(b *testing.B) {
	if os.Getenv(scaled) == "" {
		b.Skip("only for the tests of scale")
	}
	b.RunParallel(func(pb *testing.PB) {
		x := 1
		for pb.Next() {
			for range 20_000 {
				x = x*3 + 1
			}
		}
		fmt.Fprint(io.Discard, x)
	})
}

// together runs work(0) in the foreground and others beside it, as many as GOMAXPROCS in all.
func together(work func(i int)) {
	var wg sync.WaitGroup
	for i := range runtime.GOMAXPROCS(0) - 1 {
		wg.Go(func() { work(i + 1) })
	}
	work(0)
	wg.Wait()
}

func compute(steps int) {
	x := 1
	for range steps {
		x = x*3 + 1
	}
	fmt.Fprint(io.Discard, x)
}

// touchArena uses new memory of 1,024 pages, and gives it back.
var touchArena = func() {}

// Programs with a known reason not to scale: see TestScaleCauses.
func BenchmarkScaledCause(b *testing.B) {
	if os.Getenv(scaled) == "" {
		b.Skip("only for the tests of scale")
	}
	b.Run("spin", func(b *testing.B) { // one works, the others burn their processors until it is done
		var done atomic.Bool
		together(func(i int) {
			if i == 0 {
				compute(200_000 * b.N)
				done.Store(true)
			}
			for !done.Load() {
			}
		})
	})
	b.Run("arena", func(b *testing.B) { // each worker touches memory of its own
		var shared atomic.Int64
		together(func(int) {
			for range b.N {
				touchArena()
			}
			for shared.Add(1) <= int64(b.N) {
				compute(20_000)
			}
		})
	})
	b.Run("lock", func(b *testing.B) { // all of the work is done under one lock
		var mu sync.Mutex
		left := b.N
		together(func(int) {
			for more := true; more; {
				mu.Lock()
				if left--; left < 0 {
					more = false
				} else {
					compute(100_000)
				}
				mu.Unlock()
			}
		})
	})
}

// TestScaleCauses: the counters of the runs show why programs with a known cause do not scale.
func TestScaleCauses(t *testing.T) {
	if testing.Short() {
		t.Skip("runs itself several times")
	}
	if runtime.GOOS == "windows" || runtime.NumCPU() < 2 {
		t.Skip("it takes getrusage and two processors")
	}
	t.Setenv(scaled, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, times, grows, sentence string }{
		{"spin", "200x", "processor-time", "Processor time per operation grows from"},
		{"arena", "40x", "page-faults", "operation"},
		{"lock", "400x", "voluntary-switches", "Context switches per operation grow from"},
	} {
		file := filepath.Join(t.TempDir(), "stack.json")
		r := bottleneck("scale", "-cpu", "1,2", "-count", "1", "-format", "text", "-o", file, "-fail", c.grows+"-growth(2) < 1.3", "--",
			self, "-test.run=^$", "-test.bench=ScaledCause/"+c.name+"$", "-test.benchtime="+c.times)
		disturbed := r.status == exitUnmeasurable // by other programs: what the command prints is not a result
		if r.status != exitOK && !disturbed || !strings.Contains(r.out, "per operation") ||
			!disturbed && !strings.Contains(strings.Join(strings.Fields(r.out), " "), c.sentence) {
			t.Errorf("%s: status %d, %s; %q is not in\n%s", c.name, r.status, r.err, c.sentence, r.out)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stacks, err := speedup.ReadJSON(bytes.NewReader(b))
		if err != nil || stacks[0].Usage == nil || stacks[0].Usage.Per != "operation" {
			t.Fatalf("%s: %v", b, err)
		}
		for _, g := range stacks[0].Growth() {
			if g.Name == c.grows && !disturbed && !(g.Ratio() > 1.3) || g.Name == "page-faults" && c.grows != g.Name && g.Ratio() > 1.5 {
				t.Errorf("%s: %s from %v to %v", c.name, g.Name, g.Single, g.Multi)
			}
		}
	}
}

func BenchmarkScaledPanics(b *testing.B) {
	if os.Getenv(scaled) != "" {
		panic("as it should")
	}
	b.Skip("only for the tests of scale")
}

// TestScaledProgram is a program that writes its own trace to the file named by an argument.
func TestScaledProgram(t *testing.T) {
	if os.Getenv(scaled) == "" {
		t.Skip("only for the tests of scale")
	}
	f, err := os.Create(os.Getenv(scaled))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := trace.Start(f); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			x := 1
			for range 30_000_000 {
				x = x*3 + 1
			}
			fmt.Fprint(io.Discard, x)
		})
	}
	wg.Wait()
	trace.Stop()
}

func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("runs itself several times")
	}
	t.Setenv(scaled, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	r := bottleneck("scale", "-cpu", "2,1", "-count", "3", "-workers", "testing.(*B).RunParallel.func1", "-title", "as it scales", "-dir", dir, "-fail", "speedup(2) < 100", "--", self, "-test.run=^$", "-test.bench=Scaled$", "-test.benchtime=30ms")
	if strings.Contains(strings.Join(strings.Fields(r.out), " "), "Disturbed: ") {
		r.want(t, exitUnmeasurable, " with 2 workers", "not measurable, because the machine was disturbed: speedup(2) < 100: got ")
	} else {
		r.want(t, exitFailure, " with 2 workers", "-fail: speedup(2) < 100: got ")
	}
	for _, part := range []string{"Workers: testing.(*B).RunParallel.func1, ", "GOMAXPROCS 1, ", "GOMAXPROCS 2, ", " in 3 pairs of runs)"} {
		if !strings.Contains(r.out, part) {
			t.Errorf("%q is not in\n%s", part, r.out)
		}
	}
	for _, name := range []string{"stack.svg", "graphs.svg", "trace-1.out", "trace-2.out"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if svg, err := os.ReadFile(filepath.Join(dir, "stack.svg")); err != nil || !strings.Contains(string(svg), ">as it scales<") {
		t.Errorf("the stack has another title: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "stack.json"))
	if err != nil {
		t.Fatal(err)
	}
	stacks, err := speedup.ReadJSON(bytes.NewReader(b))
	if err != nil || len(stacks) != 1 || stacks[0].N != 2 || stacks[0].Estimate || len(stacks[0].Runs) != 3 {
		t.Errorf("%s: %v", b, err)
	}

	// Runs that succeeded before a failure are kept.
	if r := bottleneck("scale", "-cpu", "1", "-dir", dir, "--", self, "-test.run=^$", "-test.bench=ScaledPanics"); r.status != exitFailure || !strings.Contains(r.err, "exit status 2; its output: panic: as it should") {
		t.Errorf("%d, %s", r.status, r.err)
	}
	if _, err := os.Stat(filepath.Join(dir, "trace-2.out")); err != nil {
		t.Error(err)
	}
	bottleneck("scale", "-cpu", "1", "--", self, "-test.run=^$", "-test.bench=Nobody").want(t, exitFailure, "", "no benchmark has run")
	bottleneck("scale", "-cpu", "1", "--", self, "-test.run=^$", "-test.bench=ScaledCause/(spin|lock)", "-test.benchtime=2x").want(t, exitFailure, "", "2 benchmarks match (BenchmarkScaledCause/spin, BenchmarkScaledCause/lock)")
	bottleneck("scale", "-cpu", "1", "--", self, "-test.run=^$", "-test.bench=Scaled$", "-test.benchtime=soon").want(t, exitFailure, "", `its output: invalid value "soon" for flag -test.benchtime: invalid duration`)
}

// A program that is not a test writes its own trace.
func TestScaleProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("runs itself")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/usr/bin/env"); err != nil {
		t.Skip(err)
	}
	// A goroutine that computes without interruption is named after the line that started it,
	// because no event has its function.
	program := []string{"/usr/bin/env", scaled + "={trace}", self, "-test.run=^TestScaledProgram$"}
	r := bottleneck(append([]string{"scale", "-cpu", "2", "-count", "1", "-workers", "/TestScaledProgram/", "--"}, program...)...)
	r.want(t, exitOK, "an estimate from one run", "")
	bottleneck("scale", "-cpu", "1", "-count", "1", "--", "/usr/bin/env", "NO_TRACE={trace}", self, "-test.run=^$").want(t, exitFailure, "", "has written no trace")
}

func TestScaleErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", "no command"},
		{"x.test", `unexpected argument "x.test"`},
		{"-cpu 0 -- x.test", `-cpu 0: "0" is not a number of processors`},
		{"-cpu 1,x -- x.test", `"x" is not a number of processors`},
		{"-cpu 2,2 -- x.test", "2 is given twice"},
		{"-count 0 -- x.test", "-count 0"},
		{"-n -3 -- x.test", "-n -3"},
		{"-workers /(/ -- x.test", "-workers /(/"},
		{"-o x.pb.gz -- x.test", "-o x.pb.gz"},
		{"-- go", "go does not record itself: build it with"},
		{"-- go vet", "go vet runs nothing: want go test or go run"},
		{"-- go test -cpu 4 .", "-cpu is set by"},
		{"-- x.test -test.trace=y", "-trace is set by bottleneck: leave it out (see"},
		{"-- go test -bench . -count=3", "-count of its own"},
		{"-- go test -bench . -json", "-json hides"},
	} {
		bottleneck(append([]string{"scale"}, strings.Fields(tt.args)...)...).want(t, exitUsage, "", tt.want)
	}
	bottleneck("scale", "--", "/nowhere/x.test").want(t, exitFailure, "", "cannot run /nowhere/x.test")
	bottleneck("scale", "--", "/nowhere/program").want(t, exitFailure, "", "cannot run /nowhere/program")
	bottleneck("scale", "--", "go", "run", "./nowhere").want(t, exitFailure, "", "go run ./nowhere with GOMAXPROCS=1: exit status 1")
}

// TestScaleUnmodifiedProgram: go run builds a program that records itself.
func TestScaleUnmodifiedProgram(t *testing.T) {
	if !testenv.All() {
		t.Skip("building the standard library takes long: BOTTLENECK_REQUIRE_ALL=1 does")
	}
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	bottleneck("scale", "-count", "1", "-cpu", "1,2", "-dir", dir, "--", "go", "run", "-C", filepath.Join("..", "..", "internal", "instrument", "testdata", "app"), ".").want(t, exitOK, "\nGOMAXPROCS 2, ", "")
	trace := filepath.Join(dir, "trace-2.out")
	bottleneck(trace).want(t, exitOK, "The lock store.Table.guard.RWMutex (store.go:42) kept", "")
}

// step is a step of a job or of an action, in the syntax of GitHub.
type step struct {
	Name, If, Uses, Run, Shell string
	With, Env                  map[string]string
}

// readYAML reads a file of this action, and fails if it has a key that v lacks.
func readYAML(t *testing.T, v any, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", ".github", "actions", "bottleneck", name))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestAction runs the steps of the GitHub action as GitHub does, with the inputs of the example
// workflow. They install the command and pass its arguments on, add the result to the summary, and
// fail as the command does, except where nothing could be measured.
func TestAction(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no bash")
	}
	var action struct {
		Name, Description string
		Inputs            map[string]struct {
			Description, Default string
			Required             bool
		}
		Runs struct {
			Using string
			Steps []step
		}
	}
	var workflow struct {
		Name, On    string
		Permissions map[string]string
		Jobs        map[string]struct {
			RunsOn string `yaml:"runs-on"`
			Steps  []step
		}
	}
	readYAML(t, &action, "action.yml")
	readYAML(t, &workflow, "example.yml")
	if action.Name == "" || action.Description == "" || action.Runs.Using != "composite" || workflow.On != "pull_request" {
		t.Errorf("%+v\n%+v", action, workflow)
	}
	var example map[string]string
	for _, job := range workflow.Jobs {
		for _, s := range job.Steps {
			if path, ok := strings.CutPrefix(s.Uses, "bottleneck-go/bottleneck/"); ok {
				path, _, _ = strings.Cut(path, "@")
				if _, err := os.Stat(filepath.Join("..", "..", path, "action.yml")); err != nil || job.RunsOn == "" {
					t.Errorf("%s: %v", s.Uses, err)
				}
				example = s.With
			}
		}
	}
	inputs := func(with map[string]string) map[string]string {
		all := map[string]string{}
		for name, in := range action.Inputs {
			value, given := with[name]
			if in.Required && !given || name == "args" || name == "entrypoint" { // these are for containers
				t.Errorf("the input %s is not given, or is reserved", name)
			}
			if all[name] = value; !given {
				all[name] = in.Default
			}
		}
		for name := range with {
			if _, ok := action.Inputs[name]; !ok {
				t.Errorf("there is no input %s", name)
			}
		}
		return all
	}

	dir := t.TempDir()
	program := func(name, script string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!"+bash+"\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program("bottleneck", "printf '<%s>' \"$@\"; echo \"bottleneck: scale: problem\" >&2; exit $STATUS\n")
	program("go", "if [ $1 = install ]; then echo \"$*\" >>\"$INSTALLED\"; else echo /go; fi\n")
	reference := regexp.MustCompile(`\$\{\{ *inputs\.(\w+) *\}\}`)
	condition := regexp.MustCompile(`^inputs\.(\w+) != \'\'$`)
	for _, tt := range []struct {
		status, unmeasurable, version string
		want                          int
	}{{"0", "", "latest", 0}, {"1", "warn", "", 1}, {"2", "", "", 2}, {"3", "", "v9.9.9", 0}, {"3", "warn", "", 0}, {"3", "fail", "", 3}} {
		with := maps.Clone(example)
		with["unmeasurable"], with["version"] = tt.unmeasurable, tt.version
		if tt.unmeasurable == "" {
			delete(with, "unmeasurable")
		}
		in := inputs(with)
		temp := t.TempDir()
		file := func(name string) string { return filepath.Join(temp, name) }
		var out []byte
		exit := 0
		for _, s := range action.Runs.Steps {
			if m := condition.FindStringSubmatch(s.If); m != nil && in[m[1]] == "" || exit != 0 {
				continue
			} else if m == nil && s.If != "" || s.Shell != "bash" || s.Run == "" || s.Uses != "" {
				t.Fatalf("this test does not support the step %+v", s)
			}
			cmd := exec.Command(bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "STATUS="+tt.status, "INSTALLED="+file("installed"),
				"GITHUB_STEP_SUMMARY="+file("summary"), "GITHUB_PATH="+file("path"), "GITHUB_ACTION_PATH="+filepath.Join("..", "..", ".github", "actions", "bottleneck"))
			for name, value := range s.Env {
				cmd.Env = append(cmd.Env, name+"="+reference.ReplaceAllStringFunc(value, func(ref string) string {
					name := reference.FindStringSubmatch(ref)[1]
					if _, ok := in[name]; !ok {
						t.Errorf("%s refers to no input", ref)
					}
					return in[name]
				}))
			}
			out, _ = cmd.Output()
			exit = cmd.ProcessState.ExitCode()
		}
		if exit != tt.want {
			t.Errorf("%+v: exit status %d", tt, exit)
		}
		if warned := strings.Contains(string(out), "::warning title=bottleneck::bottleneck: scale: problem"); warned != (tt.status == "3" && tt.want == 0) {
			t.Errorf("%+v: output %q", tt, out)
		}
		for name, want := range map[string]string{
			"summary":   "<scale><-format><md><-cpu><1,2><-count><5><-fail><speedup(2) < 1.6><--><go><test><-run=^$><-bench=BenchmarkSort><./pkg>\n```\nbottleneck: scale: problem\n```\n",
			"installed": map[bool]string{true: "install github.com/bottleneck-go/bottleneck/cmd/bottleneck@" + tt.version + "\n"}[tt.version != ""],
			"path":      map[bool]string{true: "/go/bin\n"}[tt.version != ""],
		} {
			if written, _ := os.ReadFile(file(name)); string(written) != want {
				t.Errorf("%+v: %s has %q, want %q", tt, name, written, want)
			}
		}
	}
}
