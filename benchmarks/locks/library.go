package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// library is a public module with locks and benchmarks of its own.
type library struct {
	name, module, version string
	folder                string // of the package, within the module
	pkg                   string // the name of the package
	bench                 string // pattern of its benchmarks that use locks
	// repeat is the number of runs of each benchmark in a round, of which the median counts.
	// more is the factor for the number of rounds. Short runs are best repeated. Those of lru
	// are bound by memory, whose speed depends on where a process has it, so only more
	// processes help.
	repeat, more int
}

var libraries = []library{
	{"lru", "github.com/hashicorp/golang-lru/v2", "v2.0.7", ".", "lru", "LRU_(Rand|Freq)|2Q_(Rand|Freq)", 1, 3},
	{"go-cache", "github.com/patrickmn/go-cache", "v2.1.0+incompatible", ".", "cache", "Cache(Get|Set|GetConcurrent)NotExpiring$", 11, 1},
}

// download returns the folder of the library in the module cache.
func (l *library) download(ctx context.Context, scratch string) (string, error) {
	if err := os.WriteFile(filepath.Join(scratch, "go.mod"), []byte("module scratch\n"), 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", l.module+"@"+l.version)
	cmd.Dir = scratch
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	var m struct{ Dir, Error string }
	if json.Unmarshal(out, &m) == nil && m.Error != "" {
		return "", fmt.Errorf("%s is neither in the module cache nor available from the module proxy; check the network: %s", l.module, m.Error)
	}
	if err != nil || m.Dir == "" {
		return "", fmt.Errorf("go mod download %s@%s: %w", l.module, l.version, err)
	}
	return m.Dir, nil
}

// layouts is the number of programs made of the locks of package sync and of ours, of the former
// twice. Their functions are in different orders, because a loop may be some percent faster at one
// place than at another.
const layouts = 4

// build makes the library's test programs from the folder from, in layouts first and up. With
// wrapped, it uses a copy with replaced locks. It returns the programs and the number of replaced
// locks.
func (l *library) build(ctx context.Context, root, from, to string, wrapped bool, first int) (programs []string, replaced int, err error) {
	if err := copyTree(from, to); err != nil {
		return nil, 0, err
	}
	dir := filepath.Join(to, l.folder)
	if _, err := os.Stat(filepath.Join(to, "go.mod")); err != nil {
		if err := os.WriteFile(filepath.Join(to, "go.mod"), []byte("module "+l.module+"\n"), 0o644); err != nil {
			return nil, 0, err
		}
	}
	steps := [][]string{{"go", "mod", "edit", "-go=1.26.0"}}
	if wrapped {
		if replaced, err = replaceLocks(dir); err != nil {
			return nil, 0, err
		}
		start := "package " + l.pkg + "\n\nimport \"" + wrappers + "\"\n\nfunc init() {\n\tif err := contention.Start(contention.Options{}); err != nil {\n\t\tpanic(err)\n\t}\n}\n"
		if err := os.WriteFile(filepath.Join(dir, "collect_test.go"), []byte(start), 0o644); err != nil {
			return nil, 0, err
		}
		module, _, _ := strings.Cut(wrappers, "/contention")
		steps = append(steps, []string{"go", "mod", "edit", "-require=" + module + "@v0.0.0", "-replace=" + module + "@v0.0.0=" + root})
	}
	for i := range layouts {
		programs = append(programs, filepath.Join(to, fmt.Sprintf("bench%d.test", i)))
		steps = append(steps, []string{"go", "test", "-c", "-vet=off", fmt.Sprintf("-ldflags=-randlayout=%d", first+i), "-o", programs[i], "./" + l.folder})
	}
	for _, s := range steps {
		cmd := exec.CommandContext(ctx, s[0], s[1:]...)
		cmd.Dir = to
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, 0, fmt.Errorf("%s: %w\n%s", strings.Join(s, " "), err, bytes.TrimSpace(out))
		}
	}
	return programs, replaced, nil
}

// copyTree copies a folder of the module cache, which is read-only, to a writable one.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
}

// If two logical processors share a core, as in many virtual machines, a program with one goroutine
// is 1.6 times as fast while the other processor is idle. Whether it is idle changes with every
// background task, within milliseconds. That has nothing to do with locks, but causes most of the
// difference between two runs. So while libraries run, a program of the lowest priority keeps idle
// processors busy.

// occupy starts that program if the command nice exists; otherwise it does nothing.
func occupy(ctx context.Context) (end func(), err error) {
	nice, err := exec.LookPath("nice")
	if err != nil {
		return func() {}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, nice, "-n", "19", self, "-spin")
	alive, err := cmd.StdinPipe() // closed when this program ends, however it ends
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		alive.Close()
		cmd.Wait()
	}, nil
}

// keepBusy keeps all processors busy until r ends.
func keepBusy(r io.Reader) {
	runtime.GOMAXPROCS(runtime.NumCPU() + 1)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for x := uint32(1); !stop.Load(); {
				x = compute(x, 1e6)
			}
		})
	}
	io.Copy(io.Discard, r)
	stop.Store(true)
	wg.Wait()
}
