package contention

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// The Go distribution's own tests and benchmarks of sync's locks must pass on the wrappers. They
// are copied from GOROOT into a module in a temporary folder, where package "sync" gives our types
// the names of sync's.

const dropinSync = `package sync

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/contention"
)

type (
	Mutex     = contention.Mutex
	RWMutex   = contention.RWMutex
	Cond      = contention.Cond
	Locker    = sync.Locker
	WaitGroup = sync.WaitGroup
	Once      = sync.Once
)

var NewCond = contention.NewCond

// The tests use the semaphore, which is not ours.
func Runtime_Semacquire(s *uint32) {
	for {
		if v := atomic.LoadUint32(s); v > 0 && atomic.CompareAndSwapUint32(s, v, v-1) {
			return
		}
		runtime.Gosched()
	}
}

func Runtime_Semrelease(s *uint32, handoff bool, skip int) { atomic.AddUint32(s, 1) }
`

const dropinTestenv = `package testenv

import (
	"os"
	"testing"
)

func Executable(t *testing.T) string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}
`

// The name makes its init run before that of the misuse tests.
const dropinStart = `package sync_test

import (
	"os"

	"github.com/bottleneck-go/bottleneck/contention"
)

func init() {
	if os.Getenv("DROPIN_COLLECT") != "" {
		if err := contention.Start(contention.Options{Exact: true}); err != nil {
			panic(err)
		}
	}
}
`

// goCommand returns the go command and GOROOT.
func goCommand(t *testing.T) (path, root string) {
	t.Helper()
	path = testenv.Program(t, "go")
	out, err := exec.Command(path, "env", "GOROOT").Output()
	if err != nil {
		testenv.Missing(t, "go env GOROOT: ", err)
	}
	return path, strings.TrimSpace(string(out))
}

func TestGoDistributionsTests(t *testing.T) {
	t.Parallel() // waits for the programs
	goTool, root := goCommand(t)
	src := filepath.Join(root, "src", "sync")
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"mutex_test.go", "rwmutex_test.go", "cond_test.go"} {
		text, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			testenv.Missing(t, "the sources of the Go distribution are not installed: ", err)
		}
		s := strings.Replace(string(text), `. "sync"`, `. "dropin/sync"`, 1)
		write("locks/"+name, strings.Replace(s, `"internal/testenv"`, `"dropin/testenv"`, 1))
	}
	write("locks/aaa_test.go", dropinStart)
	write("sync/sync.go", dropinSync)
	write("testenv/testenv.go", dropinTestenv)

	module, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "github.com/bottleneck-go/bottleneck"
	write("go.mod", strings.Replace(string(mod), "module "+name, "module dropin", 1)+
		"\nrequire "+name+" v0.0.0\nreplace "+name+" => "+module+"\n")
	sum, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", string(sum))

	build := []string{"test", "-c", "-vet=off", "-mod=mod", "-o", "locks.exe", "./locks"}
	if race.Enabled {
		build = slices.Insert(build, 1, "-race")
	}
	run := func(collect, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "DROPIN_COLLECT="+collect, "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		if testing.Verbose() {
			t.Logf("%s %s: %s", name, strings.Join(args, " "), out)
		}
	}
	run("", goTool, build...)
	locks := filepath.Join(dir, "locks.exe")
	if race.Enabled {
		run("1", locks, "-test.short")
		return
	}
	run("", locks, "-test.short", "-test.bench=.", "-test.benchtime=1000x")
	run("1", locks, "-test.short", "-test.bench=.", "-test.benchtime=1000x")
}

// go vet must report copies of all lock types.
func TestVetFlagsCopies(t *testing.T) {
	goTool, _ := goCommand(t)
	// The folder must be inside the module. Names with an underscore are not packages of it.
	dir, err := os.MkdirTemp(".", "_copies")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const source = `package copies

import "github.com/bottleneck-go/bottleneck/contention"

var m contention.Mutex
var rw contention.RWMutex
var c contention.Cond

func copies() {
	a := m
	b := rw
	d := c
	_, _, _ = &a, &b, &d
}
`
	if err := os.WriteFile(filepath.Join(dir, "copies.go"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(goTool, "vet", "./"+dir).CombinedOutput()
	if err == nil {
		t.Error("go vet found nothing")
	}
	for _, want := range []string{"assignment copies lock value to a:", "assignment copies lock value to b:", "assignment copies lock value to d:"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("go vet does not report %q:\n%s", want, out)
		}
	}
}
