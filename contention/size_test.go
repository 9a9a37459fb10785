package contention_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// TestLightWeight: the packages that a program imports to record add little to its size.
func TestLightWeight(t *testing.T) {
	goTool := testenv.Program(t, "go")
	if testing.Short() {
		t.Skip("building takes seconds")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the size is that on linux/amd64")
	}
	size := func(program string) int64 {
		name := filepath.Join(t.TempDir(), program)
		cmd := exec.Command(goTool, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", name, "./testdata/size/"+program)
		cmd.Env = append(os.Environ(), "GOFLAGS=-pgo=off", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		f, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return f.Size()
	}
	limit := int64(250_000) // half code, half tables of the runtime about it
	if !strings.HasPrefix(runtime.Version(), "go1.26") {
		limit = 380_000 // encoding/json, which Profile uses, keeps 100 kB more when it is initialized
	}
	if plain, wrapped := size("plain"), size("wrapped"); wrapped-plain > limit {
		t.Errorf("recording adds %d bytes to a program of %d, want %d at most", wrapped-plain, plain, limit)
	} else {
		t.Logf("recording adds %d bytes to a program of %d", wrapped-plain, plain)
	}
}
