package usage

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// variable makes this test's binary the command that is counted: it works, prints what it has used
// by its own account, and exits with status 3.
const variable = "BOTTLENECK_USAGE_TEST"

func TestMain(m *testing.M) {
	Wrapped()
	if os.Getenv(variable) != "" {
		arena := make([]byte, 32<<20)
		for i := 0; i < len(arena); i += os.Getpagesize() {
			arena[i] = 1
		}
		x := 1
		for range 20_000_000 {
			x = x*3 + 1
		}
		runtime.KeepAlive(arena)
		b, err := json.Marshal(own())
		if err != nil {
			panic(err)
		}
		fmt.Println(string(b), x == 0)
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// check compares a run with what the program printed of itself just before its end.
func check(t *testing.T, run Run, output string) {
	t.Helper()
	self := map[string]float64{}
	text, _, _ := strings.Cut(output, " ")
	if err := json.Unmarshal([]byte(text), &self); err != nil {
		t.Fatalf("%q: %v", output, err)
	}
	for name, v := range self {
		if got := run.Counts[name]; got < v || got > 1.5*v+50e6 && strings.HasSuffix(name, "time") || got > v+500 && !strings.HasSuffix(name, "time") {
			t.Errorf("%s: %v, and %v by the program itself", name, got, v)
		}
	}
	c := run.Counts
	if c["processor-time"] <= 0 {
		t.Errorf("processor time %v", c["processor-time"])
	}
	_, all := c["instructions"]
	_, user := c["instructions:u"]
	if counted := all || user; counted == (run.Missing != "") {
		t.Errorf("%v without a reason, or a reason %q with counts", c, run.Missing)
	}
}

// The parts of the processor time of a short run are unknown.
func TestPartsOfTheProcessorTime(t *testing.T) {
	long, short := map[string]float64{}, map[string]float64{}
	addTimes(long, 700*time.Millisecond, 300*time.Millisecond)
	addTimes(short, 700*time.Millisecond, 299*time.Millisecond)
	if !maps.Equal(long, map[string]float64{"processor-time": 1e9, "user-time": 7e8, "system-time": 3e8}) || !maps.Equal(short, map[string]float64{"processor-time": 999e6}) {
		t.Errorf("%v, %v", long, short)
	}
}

func TestCounts(t *testing.T) {
	t.Setenv(variable, "1")
	var out strings.Builder
	cmd := exec.Command(os.Args[0])
	cmd.Stdout = &out
	wait, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	run, err := wait()
	if cmd.ProcessState.ExitCode() != 3 || err == nil {
		t.Errorf("%v, want exit status 3", err)
	}
	check(t, run, out.String())
	if _, err := Start(exec.Command(filepath.Join(t.TempDir(), "nothing"))); err == nil {
		t.Error("a program that does not exist was started")
	}
}

// TestExec: the prefix that go test gets runs a program, counts it alone, and exits like it.
func TestExec(t *testing.T) {
	t.Setenv(variable, "1")
	file := filepath.Join(t.TempDir(), "it's counted.json")
	prefix, err := Exec(file)
	if err != nil {
		t.Fatal(err)
	}
	self, rest, _ := strings.Cut(prefix, " "+word+" ")
	if rest != `"`+file+`"` || !filepath.IsAbs(strings.Trim(self, `"`)) {
		t.Errorf("prefix %q", prefix)
	}
	cmd := exec.Command(os.Args[0], word, file, os.Args[0])
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%v, want exit status 3", err)
	}
	run, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	check(t, run, string(out))
	if _, err := ReadFile(file + "x"); err == nil {
		t.Error("no file, no error")
	}
	if out, err := exec.Command(os.Args[0], word, file, "/nowhere/program").CombinedOutput(); err == nil || !strings.Contains(string(out), "/nowhere/program") {
		t.Errorf("%s, %v", out, err)
	}
}

// TestCountOf: what an event counts, by how the kernel granted it.
func TestCountOf(t *testing.T) {
	event := func(name string, user bool) perfevent.Spec {
		spec, err := perfevent.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		spec.ExcludeKernel = user
		return spec
	}
	for _, c := range []struct {
		spec  perfevent.Spec
		count perfevent.Count
		name  string
		value float64
	}{
		{event("cycles", false), perfevent.Count{Value: 7, Enabled: 10, Running: 10}, "cycles", 7},
		{event("cycles", true), perfevent.Count{Value: 7, Enabled: 10, Running: 10}, "cycles:u", 7},
		{event("instructions", false), perfevent.Count{Value: 7, Enabled: 10, Running: 5}, "instructions", 14}, // shared
		{event("cycles", false), perfevent.Count{Value: 0, Enabled: 10, Running: 10}, "", 0},                   // does not count
		{event("cycles", false), perfevent.Count{}, "", 0},                                                     // never ran
		{event("migrations", false), perfevent.Count{Value: 0, Enabled: 10, Running: 10}, "migrations", 0},
		{event("migrations", true), perfevent.Count{Value: 0, Enabled: 10, Running: 10}, "", 0}, // only the kernel migrates
	} {
		name, v, known := countOf(c.spec, c.count)
		if known != (c.name != "") || known && (name != c.name || v != c.value) {
			t.Errorf("%v, %+v: %s is %v, %v", c.spec, c.count, name, v, known)
		}
	}
}
