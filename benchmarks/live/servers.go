package main

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bottleneck-go/bottleneck/benchmarks/live/ab"
)

// Third-party servers are fetched into a module of their own, in a temporary directory, so that
// this module does not depend on them.

//go:embed servers
var servers embed.FS

// modules are the servers, and the versions of their modules.
var modules = map[string]string{
	"fasthttp": "github.com/valyala/fasthttp@v1.65.0",
	"redcon":   "github.com/tidwall/redcon@v1.6.2",
}

// foreign builds a workload with a third-party server and runs it as a separate process.
func foreign(name string, opt ab.Options) error {
	module := modules[name]
	if module == "" {
		return fmt.Errorf("unknown workload %q", name)
	}
	source, err := servers.ReadFile("servers/" + name + ".txt")
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/bottleneck-go/bottleneck").Output()
	if err != nil {
		return fmt.Errorf("locating this module: %w", err)
	}
	dir, err := os.MkdirTemp("", "bottleneck-live")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), source, 0o600); err != nil {
		return err
	}
	own := string(root[:len(root)-1])
	for _, args := range [][]string{
		{"mod", "init", "scratch"},
		{"mod", "edit", "-replace", "github.com/bottleneck-go/bottleneck=" + own, "-require", module},
		{"mod", "tidy"},
		{"build", "-o", "workload", "."},
	} {
		if err := run(dir, "go", args...); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return run(dir, "./workload", append(opt.Args(), module)...)
}

func run(dir, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout = dir, os.Stdout
	if program != "go" {
		cmd.Stderr = os.Stderr
		return cmd.Run()
	}
	cmd.Stdout = nil
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return nil
}
