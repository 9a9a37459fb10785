package contention_test

import (
	"fmt"
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
	// size returns the size of a program that prints with fmt under a lock.
	size := func(imports, lock, start string) int64 {
		name := filepath.Join(t.TempDir(), "program")
		source := fmt.Sprintf(`package main

import (
	"fmt"
	"sync"
	"time"
	%s
)

var mu %s

func main() {
	%s
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			mu.Lock()
			fmt.Printf("%%s worker %%d\n", time.Now().Format(time.TimeOnly), i)
			mu.Unlock()
		})
	}
	wg.Wait()
}
`, imports, lock, start)
		if err := os.WriteFile(name+".go", []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(goTool, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", name, name+".go")
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
	plain := size("", "sync.Mutex", "")
	wrapped := size(`"github.com/bottleneck-go/bottleneck/contention"`, "contention.Mutex", "contention.Start(contention.Options{})")
	if wrapped-plain > limit {
		t.Errorf("recording adds %d bytes to a program of %d, want %d at most", wrapped-plain, plain, limit)
	} else {
		t.Logf("recording adds %d bytes to a program of %d", wrapped-plain, plain)
	}
}
