package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// memoryHelp is what the help of each command that reads traces says of the limit.
const memoryHelp = `
Memory:

    -memory SIZE     stop with an error before the command takes more memory than that, such
                     as 2GB, 512MB or 1GiB; by default half of the memory of the machine, or
                     of the cgroup
`

// takeMemory takes -memory out of the arguments of a command; the limit is 0 if it is not among
// them.
func takeMemory(args []string) (limit int64, rest []string, err error) {
	last := args[len(args):]
	if i := slices.Index(args, "--"); i >= 0 {
		args, last = args[:i], args[i:]
	}
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(args[i], "=")
		if name != "-memory" && name != "--memory" {
			rest = append(rest, args[i])
			continue
		}
		if !inline {
			if i++; i == len(args) {
				return 0, nil, usagef("flag needs an argument: -memory")
			}
			value = args[i]
		}
		if limit, err = memory.Parse(value); err != nil {
			return 0, nil, usagef("-memory: %v", err)
		}
		if limit < memory.Least {
			return 0, nil, usagef("-memory %s: want at least %s", value, memory.Text(memory.Least))
		}
	}
	return limit, append(rest, last...), nil
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
