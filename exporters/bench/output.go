package bench

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bottleneck-go/bottleneck/internal/atomicfile"
)

// The flags of the test binary.
var (
	bottleOut     = flag.String("bottle.out", "", "write the bottle graph of each benchmark that package bench observes into the `directory`")
	contentionOut = flag.String("contention.out", "", "write the lock contention of each benchmark that package bench observes into the `directory`")
	tasksOut      = flag.String("tasks.out", "", "write the task profile, after each benchmark that package bench observes, into the `directory`")
)

// write writes a file for the benchmark atomically. It logs errors.
func (s *session) write(dir, ext string, content func(io.Writer) error) {
	if dir == "" {
		return
	}
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, fileName(s.b.Name(), s.procs)+ext), content)
	}
	if err != nil {
		s.b.Logf("bench: %v", err)
	}
}

// fileName returns a file name without separators for a benchmark: BenchmarkSort/size=1k on 4
// processors becomes BenchmarkSort-size=1k-4.
func fileName(benchmark string, procs int) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			return '-'
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_=.+,", r), r > 0x7f:
			return r
		}
		return '_'
	}, benchmark)
	return fmt.Sprintf("%s-%d", strings.TrimLeft(safe, "."), procs)
}

// units declares what is better for benchstat (golang.org/x/perf/benchfmt, "Unit metadata").
var units = []struct{ unit, better string }{
	{"parallelism", "higher"},
	{"neck-%", "lower"},
	{"blocked-ns/op", "lower"},
	{"contentions/op", "lower"},
	{"fine-tasks-%", "lower"},
	{"coarse-tasks-%", "lower"},
}

// printUnits writes the unit lines once. At the first Start of a process, package testing has not
// printed the name of a benchmark, so the output is at the beginning of a line.
var printUnits = sync.OnceFunc(func() { writeUnits(os.Stdout) })

func writeUnits(w io.Writer) {
	for _, u := range units {
		fmt.Fprintf(w, "Unit %s better=%s\n", u.unit, u.better)
	}
}
