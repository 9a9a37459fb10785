package bottleneck_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestWrappersReadNoTraces: the packages that a program imports to measure depend only on the
// standard library, x/sync, x/sys and packages of this module that read and write nothing.
func TestWrappersReadNoTraces(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	const module = "github.com/bottleneck-go/bottleneck/"
	light := []string{"contention", "counters", "granularity", "result"}
	readers := []string{"internal/wireformat", "internal/memory"}
	for _, pkg := range []string{"contention", "granularity", "counters"} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module+pkg).Output()
		if err != nil {
			t.Skip("go list:", err)
		}
		deps := strings.Fields(string(out))
		if !slices.Contains(deps, module+pkg) {
			t.Errorf("%s is not in %q", pkg, deps)
		}
		for _, dep := range deps {
			own, ours := strings.CutPrefix(dep, module)
			switch {
			case strings.HasPrefix(dep, "golang.org/x/sys/"), strings.HasPrefix(dep, "golang.org/x/sync/"):
			case ours && slices.Contains(light, own):
			case ours && strings.HasPrefix(own, pkg+"/internal/"):
			case ours && strings.HasPrefix(own, "internal/") && !slices.Contains(readers, own):
			default:
				t.Errorf("%s imports %s", pkg, dep)
			}
		}
	}
}
