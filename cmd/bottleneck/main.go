// Bottleneck shows which goroutines limit the scaling of a Go program. It reads execution traces,
// prints what limits the program, draws bottle graphs and speedup stacks, and shows contention and
// the sizes of tasks.
//
// Usage:
//
//	bottleneck [flags of verdict] FILE | URL | -
//	bottleneck verdict [flags] [FILE | URL | -]
//	bottleneck explain [flags] FINDING [FILE | URL | -]
//	bottleneck graph [flags] [FILE | URL | -]...
//	bottleneck ledger [flags] [FILE | URL | -]
//	bottleneck contention [flags] [FILE | URL | -]
//	bottleneck tasks [flags] [FILE | URL | -]
//	bottleneck demo [flags]
//	bottleneck speedup [flags] SINGLE MULTI...
//	bottleneck scale [flags] -- COMMAND [arguments]
//	bottleneck run [flags] -- go run | go test | PROGRAM [arguments]
//	bottleneck instrument -- go build | install | run | test [arguments]
//	bottleneck diff [flags] OLD NEW | OLD... -- NEW...
//	bottleneck report [flags] FILE...
//	bottleneck top [flags] URL | FILE.json
//	bottleneck record [flags] URL
//	bottleneck record -counters LIST -o FILE -- COMMAND [arguments]
//	bottleneck counters [flags] [FILE | URL | -]
//	bottleneck merge [flags] FILE | URL...
//	bottleneck completion bash | zsh | fish | powershell
//	bottleneck man DIR
//	bottleneck help [command]
//	bottleneck version
//
// These commands look at a known neck without a trace, trace a running service that has
// net/http/pprof mounted, check a trace in continuous integration, and run a benchmark on one and
// on two processors:
//
//	bottleneck demo
//	bottleneck graph 'http://localhost:6060/debug/pprof/trace?seconds=5'
//	bottleneck verdict -fail 'lost(lock)>10%' trace.out
//	bottleneck scale -cpu 1,2 -- go test -run='^$' -bench=Sort ./pkg
//
// The exit status is 0 for success, 1 for a failure (a trace that cannot be read to its end, a file
// that cannot be written, a condition of -fail that holds), 2 for wrong usage, and 3 if conditions
// of -fail could not be checked because the machine was disturbed. "bottleneck help COMMAND"
// describes the flags of a command.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// patience is how long an interrupted command may take to clean up.
const patience = time.Second

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() {
		stop() // a second interrupt ends the process at once
		for time.Sleep(patience); ourWait.Load(); {
			time.Sleep(patience) // a recorded program decides itself when it ends
		}
		os.Stderr.WriteString("bottleneck: interrupted\n")
		os.Exit(exitFailure) // something hangs that no context can interrupt
	})
	guard = guardProcess
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
