package granularity

import (
	"bytes"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"golang.org/x/sync/errgroup"
)

func TestGroupHasErrgroupsMethods(t *testing.T) {
	ours, theirs := reflect.TypeFor[*Group](), reflect.TypeFor[*errgroup.Group]()
	if ours.NumMethod() != theirs.NumMethod() {
		t.Errorf("%d methods; errgroup.Group has %d", ours.NumMethod(), theirs.NumMethod())
	}
	for i := range theirs.NumMethod() {
		want := theirs.Method(i)
		got, ok := ours.MethodByName(want.Name)
		if !ok || got.Type.NumIn() != want.Type.NumIn() {
			t.Errorf("no method like %s %v", want.Name, want.Type)
			continue
		}
		for k := 1; k < want.Type.NumIn(); k++ {
			if got.Type.In(k) != want.Type.In(k) {
				t.Errorf("%s: parameter %d is %v; want %v", want.Name, k, got.Type.In(k), want.Type.In(k))
			}
		}
		for k := range want.Type.NumOut() {
			if got.Type.Out(k) != want.Type.Out(k) {
				t.Errorf("%s: result %d is %v; want %v", want.Name, k, got.Type.Out(k), want.Type.Out(k))
			}
		}
	}
}

// The tests of errgroup with this package in its place. They are copied from the module cache to a
// temporary module.
func TestErrgroupsOwnTests(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test program")
	}
	dir := moduleDir(t, "golang.org/x/sync")
	sources, err := filepath.Glob(filepath.Join(dir, "errgroup", "*_test.go"))
	if err != nil || len(sources) == 0 {
		testenv.Missing(t, "errgroup's tests are not in the module cache: ", err, " in ", dir)
	}
	temp := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		const theirs, ours = `"golang.org/x/sync/errgroup"`, `errgroup "github.com/bottleneck-go/bottleneck/granularity"`
		if !bytes.Contains(text, []byte(theirs)) {
			t.Skipf("%s does not import %s", source, theirs)
		}
		write(t, filepath.Join(temp, filepath.Base(source)), bytes.ReplaceAll(text, []byte(theirs), []byte(ours)))
	}
	// A module of its own, with the versions of this one.
	mod, err := os.ReadFile(filepath.Join(here, "..", "go.mod"))
	if err != nil {
		t.Skip("not in the source tree:", err)
	}
	mod = bytes.Replace(mod, []byte("module github.com/bottleneck-go/bottleneck\n"),
		[]byte("module errgrouptest\n\nrequire github.com/bottleneck-go/bottleneck v0.0.0\nreplace github.com/bottleneck-go/bottleneck => "+filepath.Dir(here)+"\n"), 1)
	write(t, filepath.Join(temp, "go.mod"), mod)
	sum, err := os.ReadFile(filepath.Join(here, "..", "go.sum"))
	if err != nil {
		t.Skip("not in the source tree:", err)
	}
	write(t, filepath.Join(temp, "go.sum"), sum)

	args := []string{"test", "-mod=mod", "-count=1", "-v"}
	if race.Enabled { // the race detector is on; otherwise the whole standard library would be compiled for it
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = temp
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("go %v: %v\n%s", args, err, out)
	}
	if n := strings.Count(string(out), "--- PASS"); n < 5 {
		t.Errorf("go %v: only %d tests ran:\n%s", args, n, out)
	} else {
		t.Logf("go %v: %d of errgroup's tests passed", args, n)
	}
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// moduleDir finds a module of this program in the module cache.
func moduleDir(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		testenv.Missing(t, "the go command does not find ", path, ": ", err)
	}
	return strings.TrimSpace(string(out))
}
