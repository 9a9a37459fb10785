package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// library is a public module with locks and benchmarks of its own in its root.
type library struct {
	name, module, version string
	pkg                   string // the name of the package
	bench                 string // pattern of its benchmarks that use locks
}

// libraries returns the libraries. Each benchmark does its work n times in a run.
func libraries(n int) (all []subject) {
	for _, l := range []library{
		{"lru", "github.com/hashicorp/golang-lru/v2", "v2.0.7", "lru", "LRU_(Rand|Freq)|2Q_(Rand|Freq)"},
		{"go-cache", "github.com/patrickmn/go-cache", "v2.1.0+incompatible", "cache", "Cache(Get|Set|GetConcurrent)NotExpiring$"},
	} {
		all = append(all, subject{l.name, func(ctx context.Context, scratch string) (func(context.Context, int) (float64, error), func(), error) {
			from, err := l.download(ctx, scratch)
			if err != nil {
				return nil, nil, err
			}
			var programs [variants]string
			for v := range programs {
				if programs[v], err = l.build(ctx, from, filepath.Join(scratch, fmt.Sprint(l.name, v)), v == wrapped); err != nil {
					return nil, nil, err
				}
			}
			return func(ctx context.Context, v int) (float64, error) { return run(ctx, programs[v], l.bench, n) }, func() {}, nil
		}})
	}
	return all
}

// download returns the folder of the library in the module cache.
func (l *library) download(ctx context.Context, scratch string) (string, error) {
	if err := os.WriteFile(filepath.Join(scratch, "go.mod"), []byte("module scratch\n"), 0o644); err != nil {
		return "", err
	}
	out, err := goCommand(ctx, scratch, "mod", "download", "-json", l.module+"@"+l.version)
	var m struct{ Dir, Error string }
	if json.Unmarshal(out, &m) == nil && m.Error != "" {
		return "", fmt.Errorf("%s is neither in the module cache nor available from the module proxy; check the network: %s", l.module, m.Error)
	}
	return m.Dir, err
}

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

const (
	module   = "github.com/bottleneck-go/bottleneck"
	wrappers = module + "/contention"
)

// build makes the library's test program from a copy of the folder from, with other locks if wrap
// is set.
func (l *library) build(ctx context.Context, from, dir string, wrap bool) (string, error) {
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return "", err
	}
	steps := [][]string{{"mod", "edit", "-go=1.26.0"}}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		steps = append([][]string{{"mod", "init", l.module}}, steps...)
	}
	if wrap {
		root, err := goCommand(ctx, ".", "list", "-m", "-f", "{{.Dir}}")
		if err != nil {
			return "", fmt.Errorf("run this from within the module, as the locks come from there: %w", err)
		}
		if err := replaceLocks(dir); err != nil {
			return "", err
		}
		start := "package " + l.pkg + "\n\nimport \"" + wrappers + "\"\n\nfunc init() {\n\tif err := contention.Start(contention.Options{}); err != nil {\n\t\tpanic(err)\n\t}\n}\n"
		if err := os.WriteFile(filepath.Join(dir, "collect_test.go"), []byte(start), 0o644); err != nil {
			return "", err
		}
		steps = append(steps, []string{"mod", "edit", "-require=" + module + "@v0.0.0", "-replace=" + module + "@v0.0.0=" + string(bytes.TrimSpace(root))})
	}
	for _, args := range append(steps, []string{"test", "-c", "-vet=off", "-o", "bench.test", "."}) {
		if _, err := goCommand(ctx, dir, args...); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "bench.test"), nil
}

var (
	locks   = regexp.MustCompile(`\bsync\.(RW)?Mutex\b`)
	clauses = regexp.MustCompile(`(?m)^package \w+$`)
)

// replaceLocks replaces sync.Mutex and sync.RWMutex by the wrappers in the Go files of a folder,
// except tests.
func replaceLocks(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	replaced := 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.go") || !locks.Match(src) {
			continue
		}
		replaced++
		src = locks.ReplaceAll(src, []byte("contention.${1}Mutex"))
		src = clauses.ReplaceAll(src, []byte("$0\n\nimport \""+wrappers+"\""))
		if err := os.WriteFile(name, append(src, "\nvar _ sync.Locker\n"...), 0o644); err != nil {
			return err
		}
	}
	if replaced == 0 {
		return fmt.Errorf("there is no lock of package sync in %s", dir)
	}
	return nil
}

// run runs the benchmarks of a test program n iterations each, and returns the geometric mean of
// their operations per second.
func run(ctx context.Context, program, bench string, n int) (float64, error) {
	cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench="+bench, fmt.Sprintf("-test.benchtime=%dx", n))
	cmd.Dir = filepath.Dir(program)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", program, err)
	}
	speed := geometricMean(string(out))
	if math.IsNaN(speed) {
		return 0, fmt.Errorf("%s has no benchmark that matches %q", program, bench)
	}
	return speed, nil
}

// geometricMean returns the mean of the operations per second in the lines that begin with
// Benchmark, or NaN if there are none.
func geometricMean(out string) float64 {
	sum, n := 0.0, 0.0
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) >= 4 && strings.HasPrefix(f[0], "Benchmark") && f[3] == "ns/op" {
			if ns, err := strconv.ParseFloat(f[2], 64); err == nil && ns > 0 {
				sum, n = sum+math.Log(1e9/ns), n+1
			}
		}
	}
	return math.Exp(sum / n)
}
