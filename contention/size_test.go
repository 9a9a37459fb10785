package contention_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLightWeight: what a program imports to record adds little to it, and reads no traces.
func TestLightWeight(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil || testing.Short() {
		t.Skip("needs the go command and some seconds:", err)
	}
	gotool := func(args ...string) string {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "GOFLAGS=-pgo=off", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	const module = "github.com/bottleneck-go/bottleneck/"
	for _, dep := range strings.Fields(gotool("list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")) {
		own, _ := strings.CutPrefix(dep, module)
		if own != "contention" && own != "result" && !strings.HasPrefix(own, "contention/internal/") && !strings.HasPrefix(own, "internal/") {
			t.Errorf("contention imports %s", dep)
		}
		if own == "internal/wireformat" || own == "internal/memory" {
			t.Errorf("contention imports %s, which is for reading traces", dep)
		}
	}

	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the size is that on linux/amd64")
	}
	size := func(program string) int64 {
		name := filepath.Join(t.TempDir(), program)
		gotool("build", "-ldflags=-s -w", "-o", name, "./testdata/size/"+program)
		f, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return f.Size()
	}
	// 270 kB with Go 1.26: a third is code, a third tells the runtime about it (.gopclntab).
	const limit = 300_000
	if plain, wrapped := size("plain"), size("wrapped"); wrapped-plain > limit {
		t.Errorf("recording adds %d bytes to a program of %d, want %d at most", wrapped-plain, plain, limit)
	} else {
		t.Logf("recording adds %d bytes to a program of %d", wrapped-plain, plain)
	}
}
