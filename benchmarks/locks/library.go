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
	bench                 string // which of its benchmarks; all of them use locks
	// repeat is how often each benchmark is run in a round, of which the median counts, and
	// more how many times as many rounds there are. Single runs that are short are best
	// repeated; those of lru are bound by memory, whose speed depends on where a process
	// happens to have it, so that only more processes tell more.
	repeat, more int
}

var libraries = []library{
	{"lru", "github.com/hashicorp/golang-lru/v2", "v2.0.7", ".", "lru", "LRU_(Rand|Freq)|2Q_(Rand|Freq)", 1, 3},
	{"go-cache", "github.com/patrickmn/go-cache", "v2.1.0+incompatible", ".", "cache", "Cache(Get|Set|GetConcurrent)NotExpiring$", 11, 1},
}

// download returns the folder in the module cache in which the library is.
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
		return "", fmt.Errorf("%s is not in the module cache, and not to be had from the module proxy; is there a network? %s", l.module, m.Error)
	}
	if err != nil || m.Dir == "" {
		return "", fmt.Errorf("go mod download %s@%s: %w", l.module, l.version, err)
	}
	return m.Dir, nil
}

// layouts is how many programs are made of the locks of package sync and of ours, of the former
// twice. They have their functions in different orders, as a loop may be some percent faster at one
// place than at another, for no merit of its own.
const layouts = 4

// build makes the library's test programs from the folder from, in layouts first and up; with
// wrapped, from a copy in which the locks are replaced. It returns the programs and how many were.
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

// copyTree copies a folder of the module cache, which is read-only, so that the copy is not.
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

// Where two logical processors share a core, as those of many virtual machines do, a program of one
// goroutine is 1.6 times as fast while the other one is idle, and whether it is changes with every
// background task, within milliseconds. That has nothing to do with locks but is most of the
// difference between two runs. So while libraries run, a program of the lowest priority keeps busy
// what would be idle.

// occupy starts that program, where there is the command nice; elsewhere it does nothing.
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
	alive, err := cmd.StdinPipe() // ends when this program does, however it does
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
