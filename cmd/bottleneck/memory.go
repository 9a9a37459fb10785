package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// limited adds the flag of a command that reads traces or saved results.
func (a *app) limited(c *cobra.Command) {
	c.Flags().Func("memory", "stop with an error before more than `SIZE`, such as 2GB or 512MB, is taken; half of the machine's or the cgroup's memory if not given", func(s string) (err error) {
		if a.memory, err = memory.Parse(s); err == nil && a.memory < memory.Least {
			err = fmt.Errorf("want at least %s", memory.Text(memory.Least))
		}
		return err
	})
}

// savedInput reads a saved result, which takes some eight times its bytes in memory, up to the
// limit.
func savedInput(ctx context.Context, r io.Reader) io.Reader {
	limit := memory.Limit(ctx, 0)
	return &savedReader{r: r, left: limit / 8, err: fmt.Errorf("%w: it is longer than %s, and the limit is %s; raise it with -memory",
		memory.ErrLimit, memory.Text(limit/8), memory.Text(limit))}
}

type savedReader struct {
	r    io.Reader
	left int64
	err  error
}

func (s *savedReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return 0, s.err
	}
	return n, err
}

// guard is called with the limit of a command; main sets it. Tests share a process, which has no
// limit.
var guard = func(limit int64) {}

// guardProcess ends the process before it takes more memory than the limit. Passes over traces
// watch it themselves and say what was read; this is for all else: saved results, and what is made
// of a trace after it was read.
func guardProcess(limit int64) {
	debug.SetMemoryLimit(limit / 10 * 9)
	go func() {
		for ; ; time.Sleep(10 * time.Millisecond) {
			if memory.Resident() < limit/100*95 {
				continue
			}
			debug.FreeOSMemory()
			if memory.Resident() >= limit/100*92 {
				fmt.Fprintf(os.Stderr, "bottleneck: memory limit %s exceeded; raise it with -memory\n", memory.Text(limit))
				os.Exit(exitFailure)
			}
		}
	}()
}
