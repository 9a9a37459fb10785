package contention_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestLightWeight: what a program imports to record adds little to it.
func TestLightWeight(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil || testing.Short() {
		t.Skip("needs the go command and some seconds:", err)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the size is that on linux/amd64")
	}
	size := func(program string) int64 {
		name := filepath.Join(t.TempDir(), program)
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", name, "./testdata/size/"+program)
		cmd.Env = append(os.Environ(), "GOFLAGS=-pgo=off", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("go build: %v\n%s", err, out)
		}
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
