package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/timeline"
)

func (a *app) version() *cobra.Command {
	return a.command("version", "print the version", "Version prints the version of the command and which traces it can read.", printVersion)
}

func printVersion(_ context.Context, std stdio, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	info, _ := debug.ReadBuildInfo()
	_, err := fmt.Fprintf(std.out, "bottleneck %s\nreads execution traces of Go 1.%d to 1.%d, and of Go 1.27, which writes the format of Go 1.26\n",
		version(info), timeline.FirstVersion, timeline.LastVersion)
	return err
}

// version describes a build: the module's version, or the commit it was built from.
func version(info *debug.BuildInfo) string {
	platform := fmt.Sprintf("(%s, %s/%s)", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if info == nil {
		return "(version not known) " + platform
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v := info.Main.Version
	commit := settings["vcs.revision"]
	if commit = commit[:min(12, len(commit))]; v == "" || v == "(devel)" {
		v = "devel"
		if commit != "" {
			v += " " + commit
		}
	} else if commit != "" && !strings.Contains(v, commit) {
		v += " " + commit
	}
	if settings["vcs.modified"] == "true" && !strings.Contains(v, "dirty") {
		v += " with changes"
	}
	return v + " " + platform
}
