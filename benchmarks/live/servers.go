package main

import (
	"embed"
	"encoding/json"
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
	options, err := json.Marshal(opt)
	if err != nil {
		return err
	}
	own := string(root[:len(root)-1])
	for _, args := range [][]string{
		{"mod", "init", "scratch"},
		{"mod", "edit", "-replace", "github.com/bottleneck-go/bottleneck=" + own, "-require", module},
		{"mod", "tidy"},
		{"run", ".", string(options), module},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: go %s: %w", name, args[0], err)
		}
	}
	return nil
}
