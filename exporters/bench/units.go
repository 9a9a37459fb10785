package bench

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// units tells benchstat which direction is good (golang.org/x/perf/benchfmt, "Unit metadata").
var units = []struct{ unit, better string }{
	{"parallelism", "higher"},
	{"neck-%", "lower"},
	{"blocked-ns/op", "lower"},
	{"contentions/op", "lower"},
	{"fine-tasks-%", "lower"},
	{"coarse-tasks-%", "lower"},
}

// printUnits writes the unit lines, once. testing runs every benchmark once before it prints the
// benchmark's name, so at the first Start of a process the output is at the beginning of a line.
var printUnits = sync.OnceFunc(func() { writeUnits(os.Stdout) })

func writeUnits(w io.Writer) {
	for _, u := range units {
		fmt.Fprintf(w, "Unit %s better=%s\n", u.unit, u.better)
	}
}
