package instrument_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/instrument"
	"github.com/bottleneck-go/bottleneck/internal/mutexprofile"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func TestMain(m *testing.M) {
	instrument.Wrapped()
	os.Exit(m.Run())
}

var app = filepath.Join("testdata", "app")

// goCommand runs a changed go command in a directory, and returns its output.
func goCommand(t *testing.T, opt instrument.Options, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the standard library")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	t.Chdir(dir)
	for _, v := range []string{"GOFLAGS=", "GOPROXY=off", "GOWORK=off"} {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	cmd, err := opt.Command(t.Context(), args...)
	if err != nil {
		return "", err
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// buildApp builds the program of testdata and returns its name.
func buildApp(t *testing.T, flags ...string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "app.exe")
	before := listing(t, app)
	if out, err := goCommand(t, instrument.Options{}, app, nil, append([]string{"go", "build", "-o", exe}, flags...)...); err != nil {
		t.Fatal(err, out)
	}
	if after := listing(t, "."); after != before {
		t.Errorf("files before:\n%s\nafter:\n%s", before, after)
	}
	return exe
}

// listing returns the names and sizes of the files below dir.
func listing(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			st, err := d.Info()
			rel, _ := filepath.Rel(dir, name)
			fmt.Fprintln(&b, rel, st.Size(), err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// record runs a program that records itself, and returns its output and the analysis of the trace.
func record(t *testing.T, cmd *exec.Cmd, observers ...timeline.Observer) (stdout, stderr []byte, report *bn.Report, err error) {
	t.Helper()
	dir := t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(cmd.Environ(), instrument.Variable+"="+dir)
	err = cmd.Run()
	return out.Bytes(), errs.Bytes(), analyzed(t, dir, observers...), err
}

// analyzed returns the analysis of the only trace in a directory.
func analyzed(t *testing.T, dir string, observers ...timeline.Observer) *bn.Report {
	t.Helper()
	traces, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	if err != nil || len(traces) != 1 {
		t.Fatal(traces, err)
	}
	return analyze(t, traces[0], observers...)
}

func analyze(t *testing.T, trace string, observers ...timeline.Observer) *bn.Report {
	t.Helper()
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	report, err := bn.Analyze(t.Context(), f, bn.Options{Want: bn.WantVerdict, Observers: observers})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestOwners compares the waits in a recording with what the program and the runtime measured.
// Without time to log owners, the sums at each call site are the same.
func TestOwners(t *testing.T) {
	exe := buildApp(t)
	cpu, profiles := &samples{}, recordedProfiles()
	cmd := exec.Command(exe)
	out, stderr, report, err := record(t, cmd, cpu, profiles)
	if err != nil {
		t.Fatal(err, string(stderr))
	}
	checkOwners(t, out, report.Contention, profiles)
	t.Run("none", func(t *testing.T) {
		t.Setenv(instrument.PercentVariable, "0")
		profiles := recordedProfiles()
		out, stderr, report, err := record(t, exec.Command(exe, "exit"), profiles)
		if fmt.Sprint(err) != "exit status 3" {
			t.Fatal(err, string(stderr))
		}
		if waited, logged := checkSums(t, out, report.Contention, profiles); logged > waited/10 {
			t.Errorf("%v of %v are logged", logged, waited)
		}
	})
	// A sample stands for 10 ms of processor time.
	if took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); took > 100*time.Millisecond && cpu.n == 0 {
		t.Errorf("no CPU samples of %v", took)
	}
}

// TestPinned: a goroutine that must not be preempted unlocks a mutex as usual. It had yielded while
// another one recorded a hold, which is a fatal error.
func TestPinned(t *testing.T) {
	exe := buildApp(t)
	for range testenv.Rounds(4) {
		_, stderr, report, err := record(t, exec.Command(exe, "pinned"))
		if err != nil {
			t.Fatal(err, string(stderr))
		}
		if len(report.Contention.Waits) == 0 {
			t.Error("no goroutine has waited for the mutex")
		}
	}
}

// samples counts CPU samples.
type samples struct {
	timeline.Base
	n int
}

// Sample implements [timeline.Observer].
func (s *samples) Sample(timeline.Time, *timeline.Goroutine, *timeline.Stack) { s.n++ }

// recordedProfiles returns an observer of what the runtime's profiles have for the functions of
// the program.
func recordedProfiles() *mutexprofile.Observer {
	of := func(s *timeline.Stack) string {
		for _, f := range s.Frames {
			if measures(f.Func) {
				return f.Func
			}
		}
		return ""
	}
	return &mutexprofile.Observer{Waits: of, Wakes: of}
}

// truth is the output of the program: what it and the runtime measured.
type truth struct {
	Blamed       map[string]time.Duration
	Block, Mutex struct {
		Parks map[string]int64
		Time  map[string]time.Duration
	}
}

// checkOwners compares the owners of locks and the sums.
func checkOwners(t *testing.T, out []byte, p *contention.Profile, profiles *mutexprofile.Observer) {
	t.Helper()
	if waited, logged := checkSums(t, out, p, profiles); logged < waited*9/10 {
		t.Errorf("%v of %v are logged", logged, waited)
	}
	var truth truth
	if err := json.Unmarshal(out, &truth); err != nil {
		t.Fatal(err)
	}
	blamed := map[string]time.Duration{}
	var all time.Duration
	for i := range p.Pairs {
		pair := &p.Pairs[i]
		waiter, owner := caller(pair.Waiter.Stack), caller(pair.Owner.Stack)
		if waiter != "" && owner != "" {
			blamed[waiter+" for "+owner] += pair.Blamed
			all += pair.Blamed
		}
	}
	for pair, want := range truth.Blamed {
		if got := blamed[pair]; (got - want).Abs() > want/20+all/50 {
			t.Errorf("%s: waited %v, want %v", pair, got, want)
		}
	}
	if t.Failed() {
		t.Log(blamed)
	}
}

// checkSums compares the waits for locks with the runtime's profiles of the same run, and returns how
// long they took, and how much of that is logged.
func checkSums(t *testing.T, out []byte, p *contention.Profile, profiles *mutexprofile.Observer) (waited, logged time.Duration) {
	t.Helper()
	var truth truth
	if err := json.Unmarshal(out, &truth); err != nil {
		t.Fatal(err, string(out))
	}
	parks := map[string]int64{}
	waits := map[string]time.Duration{} // without hand-off
	var handedOff time.Duration
	for i := range p.Waits {
		w := &p.Waits[i]
		switch w.Kind {
		case contention.MutexKind, contention.RWMutexWriterKind, contention.RWMutexReaderKind:
		default:
			continue
		}
		parks[w.Waiter.Stack.Frames[0].Func] += w.Parks
		if waited += w.Waited; w.Flags&contention.Logged != 0 {
			logged += w.Waited
		}
		fn := caller(w.Waiter.Stack)
		kinds := map[string]string{"main.write": contention.RWMutexWriterKind, "main.read": contention.RWMutexReaderKind, "main.scan": contention.RWMutexReaderKind}
		notes := slices.ContainsFunc(w.Waiter.Stack.Frames, func(f contention.Frame) bool { return f.Func == "main.note" })
		if want, rw := kinds[fn]; rw && w.Kind != want && !notes { // it has a mutex
			t.Errorf("%s waited for a %v, want %v", fn, w.Kind, want)
		}
		waits[fn] += w.Waited - w.HandOff
		if fn != "" {
			handedOff += w.HandOff
		}
	}
	for fn, n := range truth.Block.Parks {
		// The runtime counts a goroutine once that is woken, finds the semaphore taken, and parks
		// again, as happens where processors are scarce.
		if got := parks[fn]; got < n || got > n+n/2+10 {
			t.Errorf("%s: parked %d times, the runtime counts %d", fn, got, n)
		}
	}
	// The block profile ends a wait with the wake-up, so it has no hand-off. The mutex profile is
	// no blame, but follows from the same waits by the arithmetic of runtime/sema.go.
	blocked := profiles.Block()
	for fn, want := range truth.Block.Time {
		if got := waits[fn]; blocked.Differ(fn, got) > got*3/100+handedOff || blocked.Differ(fn, want) > want*3/100+100*time.Microsecond {
			t.Errorf("%s: waited %v, blocked for %v to %v, in the block profile %v; %v hand-off", fn, got, blocked.Least[fn], blocked.Most[fn], want, handedOff)
		}
	}
	charged, unknown := profiles.Mutex()
	var total time.Duration
	for _, d := range truth.Mutex.Time {
		total += d
	}
	for fn, want := range truth.Mutex.Time { // goroutines that block at the same time may queue in another order
		if charged.Differ(fn, want) > want*3/100+total/50 {
			t.Errorf("%s: charged with %v to %v, in the mutex profile %v; %d unknown", fn, charged.Least[fn], charged.Most[fn], want, unknown[fn])
		}
	}
	if t.Failed() {
		t.Log(truth, parks, waits, charged, unknown, handedOff)
	}
	return waited, logged
}

// caller returns the function of the program in a call chain that measures its waits.
func caller(s *contention.Stack) string {
	if s != nil {
		for _, f := range s.Frames {
			if measures(f.Func) {
				return f.Func
			}
		}
	}
	return ""
}

// measures reports whether a function of the program measures its waits.
func measures(fn string) bool {
	return slices.Contains([]string{"main.slow", "main.quick", "main.read", "main.scan", "main.write"}, fn)
}

// TestOwnTrace: a program that takes a trace of its own gets that, and the recording misses nothing.
func TestOwnTrace(t *testing.T) {
	exe, own := buildApp(t), filepath.Join(t.TempDir(), "own.trace")
	profiles := recordedProfiles()
	out, stderr, report, err := record(t, exec.Command(exe, "trace", own), profiles)
	if err != nil {
		t.Fatal(err, string(stderr))
	}
	checkOwners(t, out, report.Contention, profiles)
	functions := func(p *contention.Profile) map[string]bool {
		of := map[string]bool{}
		for _, w := range p.Waits {
			fn := caller(w.Waiter.Stack)
			if fn == "" && w.Waiter.Stack != nil && slices.ContainsFunc(w.Waiter.Stack.Frames, func(f contention.Frame) bool { return strings.HasPrefix(f.Func, "main.main.func") }) {
				fn = "after" // its own trace: waits that it does not measure, for the lock of a logger
			}
			of[fn] = true
		}
		delete(of, "")
		return of
	}
	all, some := functions(report.Contention), functions(analyze(t, own).Contention)
	if len(all) != 6 || len(some) != 5 || some["after"] {
		t.Errorf("waits of %v in the recording, of %v in the trace of the program", all, some)
	}
}

// TestEnds: the recording is complete no matter how the program ends.
func TestEnds(t *testing.T) {
	exe := buildApp(t)
	ends := map[string]string{"exit": "exit status 3", "panic": "exit status 2", "fatal": "exit status 1", "unlock": "exit status 2"}
	if runtime.GOOS != "windows" { // which has no signals
		maps.Copy(ends, map[string]string{"exec": "exit status 3", "hang": "signal: terminated", "handle": "exit status 4", "print": "signal: broken pipe"})
	}
	for how, want := range ends {
		t.Run(how, func(t *testing.T) {
			t.Parallel() // most of the time, the program sleeps
			dir := t.TempDir()
			var stderr bytes.Buffer
			cmd := exec.Command(exe, how)
			cmd.Env, cmd.Stderr = append(cmd.Environ(), instrument.Variable+"="+dir), &stderr
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out, err := bufio.NewReader(stdout).ReadBytes('\n') // the truth is all that it writes
			if err != nil {
				t.Error(err)
			}
			switch how {
			case "hang", "handle":
				cmd.Process.Signal(syscall.SIGTERM)
			case "print":
				stdout.Close()
			}
			if err := cmd.Wait(); fmt.Sprint(err) != want {
				t.Errorf("%v, want %s", err, want)
			}
			if how == "panic" && !strings.HasPrefix(stderr.String(), "panic: the end") {
				t.Error(stderr.String())
			}
			traces, err := filepath.Glob(filepath.Join(dir, "app.exe*.trace"))
			if err != nil || len(traces) == 0 || (len(traces) == 2) != (how == "exec") {
				t.Fatalf("recordings %v, %v", traces, err)
			}
			for _, first := range traces[1:] { // that of the program which begins another one
				analyze(t, first)
			}
			profiles := recordedProfiles()
			checkSums(t, out, analyze(t, traces[0], profiles).Contention, profiles)
		})
	}
}

// TestCounted: the same program can be recorded with its counters.
func TestCounted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	err = counters.Run(t.Context(), exec.Command(buildApp(t), "exit"), f, counters.Options{})
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if rec, err := quanta.ReadFile(t.Context(), name, quanta.Options{}); err != nil || rec.Len() == 0 {
		t.Error(rec, err)
	}
}

// TestTests records a test with a TestMain, with the race detector where it exists.
func TestTests(t *testing.T) {
	if !testenv.All() {
		t.Skip("building the standard library once more takes long: BOTTLENECK_REQUIRE_ALL=1 does")
	}
	dir := t.TempDir()
	args := []string{"go", "test"} // never a cached result
	if raceBuilds() {
		args = append(args, "-race")
	}
	out, err := goCommand(t, instrument.Options{}, app, []string{instrument.Variable + "=" + dir}, append(args, ".")...)
	if err != nil {
		t.Fatal(err, out)
	}
	for _, w := range analyzed(t, dir).Contention.Waits {
		if w.Waiter.Stack != nil && strings.HasSuffix(w.Waiter.Stack.Frames[0].Func, ".Do") && w.Kind == contention.MutexKind {
			return
		}
	}
	t.Error("no wait for the lock of the test")
}

// TestPools: each task of a pool is measured where it runs, once, with the place that submitted it,
// and -only and -skip choose by the package that submits or waits. Each request is a task of its
// http.Handler.
func TestPools(t *testing.T) {
	serves := testenv.All() // building net/http takes long
	for name, c := range map[string]struct {
		opt   instrument.Options
		tasks string
		waits map[string]bool // whether those of a function are logged
	}{
		"all": {instrument.Options{}, "main.antsCall main.antsTask main.concResult main.concStreamed main.concTask main.pondErr main.pondGrouped main.pondTask main.tunnyCall other.Submit.func1",
			map[string]bool{"main.main.func1": true, "example.com/pools/other.Contend.func1": true}},
		"some": {instrument.Options{Only: []string{"./..."}, Skip: []string{"example.com/pools"}}, "other.Submit.func1",
			map[string]bool{"main.main.func1": false, "example.com/pools/other.Contend.func1": true}},
		"none": {instrument.Options{What: []string{"go", "errgroup"}}, "", map[string]bool{"main.main.func1": false, "example.com/pools/other.Contend.func1": false}},
	} {
		args, exe := []string{"go", "build"}, filepath.Join(t.TempDir(), "pools.exe")
		if serves && name == "all" {
			args = append(args, "-tags=serve")
		}
		if out, err := goCommand(t, c.opt, filepath.Join("testdata", "pools"), nil, append(args, "-o", exe)...); err != nil {
			t.Fatal(err, out)
		}
		t.Chdir(filepath.Join("..", ".."))
		_, stderr, report, err := record(t, exec.Command(exe))
		if err != nil {
			t.Fatal(err, string(stderr))
		}
		var tasks []string
		requests := uint64(0)
		for i := range report.Tasks.Classes {
			class := &report.Tasks.Classes[i]
			for _, s := range class.Sites {
				if s.Pool == "net/http.(*conn).serve" && class.Name == "main.page" && class.Nested == class.Tasks {
					requests = class.Executions()
				}
				if s.Pool == "" || strings.HasPrefix(s.Pool, "net/http.") {
					continue
				}
				name := strings.TrimPrefix(class.Name, "example.com/pools/")
				if n := len(tasks); n == 0 || tasks[n-1] != name {
					tasks = append(tasks, name)
				}
				want := "main.main"
				if name == "other.Submit.func1" {
					want = "example.com/pools/other.Submit"
				}
				if len(s.Created) == 0 || s.Created[0].Func != want {
					t.Errorf("%s: %s was submitted at %v, want %s", name, class.Name, s.Created, want)
				}
			}
			want := uint64(10)
			if class.Name == "main.pondTask" {
				want *= 2
			}
			if got := class.Tasks + class.Unmeasured; slices.Contains(tasks, strings.TrimPrefix(class.Name, "example.com/pools/")) && got != want {
				t.Errorf("%s: %d tasks of %s, want %d", name, got, class.Name, want)
			}
		}
		if slices.Contains(args, "-tags=serve") && requests != 10 {
			t.Errorf("%s: %d requests are tasks of their handler, want 10", name, requests)
		}
		slices.Sort(tasks)
		if got := strings.Join(tasks, " "); got != c.tasks {
			t.Errorf("%s: tasks %s, want %s", name, got, c.tasks)
		}
		waits := map[string]bool{}
		for i := range report.Contention.Waits {
			w := &report.Contention.Waits[i]
			if w.Kind == contention.MutexKind && w.Waiter.Stack != nil {
				for _, f := range w.Waiter.Stack.Frames {
					if _, known := c.waits[f.Func]; known {
						waits[f.Func] = w.Flags&contention.Logged != 0
					}
				}
			}
		}
		if !maps.Equal(waits, c.waits) {
			t.Errorf("%s: logged waits %v, want %v", name, waits, c.waits)
		}
	}
}

// raceBuilds reports whether a program with the race detector can be built.
func raceBuilds() bool {
	out, err := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
	enabled, cc, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || enabled != "1" || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return false
	}
	_, err = exec.LookPath(cc)
	return err == nil
}

// TestRejected: bad input has its reason, and leaves nothing behind.
func TestRejected(t *testing.T) {
	broken := t.TempDir()
	write(t, broken, map[string]string{
		"go.mod":     "module example.com/broken\n\ngo 1.26\n",
		"main.go":    "package main\n\nimport \"sync\"\n\nvar mu sync.Mutex\n\nfunc main() {\n\tmu.Look()\n}\n",
		"gen/gen.go": "package gen\n\nfunc F() {\n//line gen.y:7\n\tx := 1\n}\n",
		"c/c.go":     "package main\n\nimport \"C\"\n\nfunc main() {}\n",
	})
	t.Setenv("CGO_ENABLED", "0")
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	before := listing(t, broken)
	for want, args := range map[string][]string{
		"./main.go:8:5: mu.Look undefined":                        {"go", "build"},
		"gen.y:7: declared and not used: x":                       {"go", "build", "./gen"},
		"build constraints exclude all Go files":                  {"go", "build", "./c"},
		"no required module provides package example.com/missing": {"go", "build", "example.com/missing"},
		"instrument: go vet builds no program: want go build":     {"go", "vet"},
		"instrument: want go build, install, run or test":         {"./main"},
		"instrument: -overlay=x.json: the go command takes only":  {"go", "test", "-overlay=x.json"},
		"instrument: -cover: the cover tool does not find":        {"go", "build", "-cover"},
		"main.go:8:5: mu.Look undefined":                          {"go", "run", ".", "-overlay=x", "-gcflags=y"}, // for the program
		"the main package example.com/x@latest is in the module":  {"go", "run", "example.com/x@latest"},
		"flag provided but not defined: -nonsense":                {"go", "run", "-nonsense", "."},
		"go1.0.0\": executable file not found":                    {"go1.0.0", "build"},
		"-C flag must be first flag":                              {"go", "build", "-v", "-C", ".", "."},
		"chdir nowhere":                                           {"go", "build", "-C", "nowhere"},
	} {
		out, err := goCommand(t, instrument.Options{}, broken, nil, args...)
		if err == nil || !strings.Contains(out+err.Error(), want) {
			t.Errorf("%q: %v %s, want %s", args, err, out, want)
		}
	}
	for want, opt := range map[string]instrument.Options{
		`unknown part "lock": want one of locks, tasks, errgroup, go, pools`: {What: []string{"locks", "lock"}},
		`"all" is no pattern of import paths`:                                {Only: []string{"all"}},
		`"./missing" is no pattern of import paths`:                          {Skip: []string{"./missing"}},
		`"../..." is no pattern of import paths`:                             {Skip: []string{"../..."}},
	} {
		if _, err := goCommand(t, opt, broken, nil, "go", "build"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", opt, err, want)
		}
	}
	pool := t.TempDir()
	write(t, pool, map[string]string{"go.mod": "module example.com/pool\n\ngo 1.26\n\n// github.com/alitto/pond\n", "main.go": "package main\n\nfunc main() {}\n"})
	if _, err := goCommand(t, instrument.Options{What: []string{"pools"}}, pool, nil, "go", "build", "-gcflags=-l"); err == nil || !strings.Contains(err.Error(), "-gcflags=-l excludes the part pools, which sets that flag") {
		t.Error(err)
	}
	if after := listing(t, broken); after != before {
		t.Errorf("files before:\n%s\nafter:\n%s", before, after)
	}
	if left := listing(t, temp); left != "" {
		t.Errorf("left in %s: %s", temp, left)
	}
	t.Setenv("GOOS", "plan9")
	if _, err := (instrument.Options{}).Command(t.Context(), "go", "build"); err == nil || !strings.Contains(err.Error(), "GOOS=plan9 cannot be recorded") {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (instrument.Options{}).Command(canceled, "go", "build"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSources: main packages of all kinds get the file that records.
func TestSources(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	const main, with = "package main\n\nfunc main() {}\n", "package main\n\nimport _ \"example.com/b\"\n\nfunc main() {}\n"
	module := func(name string) string { return "module example.com/" + name + "\n\ngo 1.26\n" }
	vendored := map[string]string{"go.mod": module("a") + "\nrequire example.com/b v0.0.0\n", "a.go": with, "vendor/example.com/b/b.go": "package b\n",
		"vendor/modules.txt": "# example.com/b v0.0.0\n## explicit; go 1.26\nexample.com/b\n"}
	for name, c := range map[string]struct {
		files map[string]string
		args  string
	}{
		"workspace": {map[string]string{"go.work": "go 1.26\n\nuse ./a\nuse ./b\n", "a/go.mod": module("a"), "a/a.go": with, "b/go.mod": module("b"), "b/b.go": "package b\n"}, "./a"},
		"vendored":  {vendored, "."},
		"mod flag":  {vendored, "-mod=vendor ."},
		"directory": {map[string]string{"x/go.mod": module("a"), "x/a.go": main}, "-C x ."},
		"list":      {map[string]string{"go.mod": module("a"), "a.go": main, "b/b.go": "package b\n", "c/c.go": main}, "-v . ./b ./c"},
		"tags":      {map[string]string{"go.mod": module("a"), "a.go": "//go:build special\n\n" + main}, "-tags special ."},
		"files":     {map[string]string{"go.mod": module("a"), "a.go": main}, "a.go"},
		"generated": {map[string]string{"go.mod": module("a"), "a.go": "// Code generated by hand. DO NOT EDIT.\n\n//line a.y:1\n" + main}, "./..."},
		"cgo":       {map[string]string{"go.mod": module("a"), "a.go": "package main\n\nimport \"C\"\n\nfunc main() {}\n"}, "."},
	} {
		t.Run(name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			write(t, dir, c.files)
			t.Chdir(dir)
			for _, v := range []string{"TMPDIR=" + temp, "GOFLAGS=", "GOWORK=", "GOPROXY=off", "CGO_ENABLED=1"} {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			before := listing(t, ".")
			cmd, err := instrument.Options{}.Command(t.Context(), append([]string{"go", "build"}, strings.Fields(c.args)...)...)
			if err != nil {
				t.Fatal(err)
			}
			at := 2
			if cmd.Args[at] == "-C" {
				at += 2
			}
			cmd.Args[1] = "list" // builds nothing
			cmd.Args = slices.Insert(cmd.Args, at, "-f={{.GoFiles}}{{.CgoFiles}}")
			out, err := cmd.CombinedOutput()
			if want := "zz_bottleneck_record.go]"; err != nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "a.go") {
				t.Errorf("%v, files %s, want a.go and %s", err, out, want)
			}
			if after := listing(t, "."); after != before {
				t.Errorf("files before:\n%s\nafter:\n%s", before, after)
			}
			if left := listing(t, temp); left != "" {
				t.Errorf("left in %s: %s", temp, left)
			}
		})
	}
}

// TestCache: a command leaves files in the cache alone, the same for the same program, and removes
// those that were not used for days.
func TestCache(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the directory of the cache has another variable")
	}
	dir, cache, temp := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, dir, map[string]string{"go.mod": "module example.com/a\n\ngo 1.26\n", "a.go": "package main\n\nfunc main() {}\n", "b/b.go": "package main\n\nfunc main() {}\n"})
	gocache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(gocache)))
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("TMPDIR", temp)
	t.Chdir(dir)
	files := func(of string) []string {
		if _, err := (instrument.Options{}).Command(t.Context(), "go", "build", of); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(cache, "bottleneck", "instrument", "go*", "*.*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	first := files(".")
	hourAgo := time.Now().Add(-time.Hour)
	for _, name := range first {
		if err := os.Chtimes(name, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
	if again := files("."); !slices.Equal(again, first) {
		t.Errorf("files %v, then %v", first, again)
	}
	for _, name := range first { // otherwise the go command parses package runtime again
		if st, err := os.Stat(name); err != nil || st.ModTime().Sub(hourAgo).Abs() > time.Second {
			t.Errorf("%s has another time, %v", name, err)
		}
	}
	for _, name := range first { // another version of this package would change it under a running build
		if text, err := os.ReadFile(name); err != nil || !strings.Contains(name, fmt.Sprintf("_%x.", sha256.Sum256(text))[:8]) {
			t.Errorf("%s has no sum of its text in its name: %v", name, err)
		}
	}
	unused := filepath.Join(filepath.Dir(first[0]), "killed.tmp")
	if err := os.WriteFile(unused, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(first, unused) {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-6*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if second := files("./b"); len(second) != len(first) || slices.Equal(second, first) {
		t.Errorf("files %v of one program, then %v of another", first, second)
	}
	if left := listing(t, temp); left != "" {
		t.Errorf("left in %s: %s", temp, left)
	}
}

// write writes files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Recordings removes the directories of processes that are gone, but none in which something was
// written lately, and none of another sort.
func TestRecordings(t *testing.T) {
	temp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temp)
	}
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * time.Hour)
	made := func(pid any, written time.Time) string {
		dir := filepath.Join(temp, fmt.Sprintf("bottleneck-run-%v-1", pid))
		file := filepath.Join(dir, "a.trace")
		if err := errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(file, nil, 0o666), os.Chtimes(file, written, written), os.Chtimes(dir, long, long)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old, child := gone.Process.Pid, gone.Process.Pid+1<<24
	dirs := []string{made(old, long), made(os.Getpid(), long), made(child, time.Now()), made("x", long)}
	mine, err := instrument.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true, true, true} {
		if _, err := os.Stat(dirs[i]); (err == nil) != want {
			t.Errorf("%s: %v", dirs[i], err)
		}
	}
	if st, err := os.Stat(mine); err != nil || !st.IsDir() {
		t.Errorf("%s: %v", mine, err)
	}
}
