// Package counters records the activity of a Go program's goroutines in each scheduling quantum: an
// execution trace, and the counters of the kernel and the runtime. Package counters/quanta joins
// the two into a table, and the command's page answers queries about it.
//
// The result is the hardware performance monitor trace of P. Sweeney, M. Hauswirth and others
// ("Using Hardware Performance Monitors to Understand the Behavior of Java Applications", VM 2004),
// with goroutines instead of Java threads.
//
//	package main
//
//	import (
//		"errors"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/counters"
//	)
//
//	func main() {
//		stop, err := counters.Start(counters.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		f, err := os.Create("work.zip") // for: bottleneck counters work.zip
//		if err := errors.Join(err, stop(f), f.Close()); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// [Run], or "bottleneck record -counters", records another program from its first instruction on.
// [Mark] names points in time. An archive lists the events that the machine refused, with the
// reason. On systems other than Linux, only the trace and runtime/metrics are recorded.
//
// During a recording, each switch of a thread costs 1.8 µs (BenchmarkSwitch in internal/perfevent),
// and a page fault a record of six bytes, in addition to the cost of the trace. The command
// benchmarks/live -ways nothing,counters prints the ratio for a service.
//
// The package reads no traces and no archives; it depends only on the standard library and x/sys.
package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/trace"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/internal/host"
)

// ErrNoTrace is the error of a run whose program took no execution trace.
var ErrNoTrace = errors.New(`counters: the program wrote no execution trace: build it with "bottleneck instrument -- go build", call counters.FromEnvironment at the beginning of its main, or give the URL of its trace`)

// Run starts a command, counts the events of its threads from its first instruction on, and writes
// the counts and the program's execution trace as an archive, which package counters/quanta reads.
// It returns when the command has ended.
//
// The error is, or contains, an *exec.ExitError if the command failed. The archive is written
// nevertheless, and is complete unless the error contains another error. If ctx is done, the
// command is killed, and the archive contains what it wrote until then. Events that the machine
// refuses are warnings in the archive, as for [Start]. On systems other than Linux, only the trace
// is recorded.
func Run(ctx context.Context, cmd *exec.Cmd, w io.Writer, opt Options) error {
	p, warnings, err := newPlan(opt.Counters)
	if err != nil {
		return err
	}
	p.metrics = nil // they cannot be read from outside
	dir, err := os.MkdirTemp(opt.Dir, "counters-*")
	if err != nil {
		return fmt.Errorf("counters: a directory for the trace: %w", err)
	}
	defer os.RemoveAll(dir)
	r := &outside{opt: opt, cmd: cmd, trace: filepath.Join(dir, "trace"), samples: filepath.Join(dir, "samples")}
	r.c = newCollector(p, warnings, cmp.Or(max(opt.MaxBytes, 0), 16<<30))
	r.c.meta.Command = cmd.Args
	runErr, err := r.run(ctx)
	if err != nil {
		return errors.Join(runErr, err)
	}
	return errors.Join(runErr, r.pack(w))
}

// outside is a recording of another program in progress.
type outside struct {
	opt            Options
	cmd            *exec.Cmd
	c              *collector
	trace, samples string // file names
	file           *os.File
	passed         int // number of warnings passed on
}

// run runs the command. The first error is the command's own.
func (r *outside) run(ctx context.Context) (runErr, err error) {
	if r.file, err = os.Create(r.samples); err != nil {
		return nil, err
	}
	r.c.write = func(b []byte) error { _, err := r.file.Write(b); return err }
	if r.opt.TraceURL == "" {
		if r.cmd.Env == nil {
			r.cmd.Env = os.Environ()
		}
		r.cmd.Env = append(r.cmd.Env, TraceVariable+"="+r.trace)
	}
	if err := startStopped(r.cmd, func(pid int) { r.c.open(pid, r.opt.Period); r.warn() }); err != nil {
		return nil, errors.Join(fmt.Errorf("counters: start %s: %w", r.cmd.Path, err), r.file.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- r.cmd.Wait() }()
	defer r.forward()()
	fetching, cancel := context.WithCancel(ctx)
	defer cancel()
	var fetched chan error
	if r.opt.TraceURL != "" {
		fetched = make(chan error, 1)
		go func() { fetched <- fetchTrace(fetching, r.opt.TraceURL, r.trace) }()
	}
	counting := true
	stopCounting := func() {
		if counting {
			counting = false
			err = errors.Join(err, r.c.close())
			r.c.flush()
			r.warn()
			err = errors.Join(err, r.file.Close())
		}
	}
	for {
		select {
		case runErr = <-ended:
			stopCounting()
			cancel()
			if fetched != nil {
				err = errors.Join(err, <-fetched)
			}
			return runErr, err
		case fetchErr := <-fetched:
			fetched = nil
			stopCounting()
			err = errors.Join(err, fetchErr)
		case <-ctx.Done():
			r.cmd.Process.Kill()
			ctx = context.WithoutCancel(ctx)
		default:
			if counting {
				r.c.step()
			} else {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
}

// warn passes on the new warnings.
func (r *outside) warn() {
	for ; r.passed < len(r.c.meta.Warnings); r.passed++ {
		if r.opt.Warning != nil {
			r.opt.Warning(r.c.meta.Warnings[r.passed])
		}
	}
}

// forward forwards signals to the program until the returned function is called.
func (r *outside) forward() (stop func()) {
	if len(r.opt.Forward) == 0 {
		return func() {}
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, r.opt.Forward...)
	go func() {
		for s := range signals {
			r.cmd.Process.Signal(s)
		}
	}()
	return func() { signal.Stop(signals); close(signals) }
}

// fetchTrace requests a trace until it gets an answer, and writes it to a file. If ctx ends, the
// file contains the data received until then.
func fetchTrace(ctx context.Context, url, name string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	var res *http.Response
	for {
		res, err = http.DefaultClient.Do(req)
		if err == nil || ctx.Err() != nil {
			break
		}
		select { // the program does not listen yet
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if err != nil {
		return fmt.Errorf("counters: the program ended before it answered: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("counters: %s answers %s", url, res.Status)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, res.Body)
	if ctx.Err() != nil || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the program ended; the reader of the trace will report that it is truncated
	}
	return errors.Join(err, f.Close())
}

// pack writes the archive.
func (r *outside) pack(w io.Writer) error {
	t, err := os.Open(r.trace)
	if err != nil {
		return ErrNoTrace
	}
	defer t.Close()
	if st, err := t.Stat(); err != nil || st.Size() == 0 {
		return ErrNoTrace
	}
	if r.c.meta.Begin == 0 {
		return archive.Write(w, &r.c.meta, nil, t)
	}
	s, err := os.Open(r.samples)
	if err != nil {
		return err
	}
	defer s.Close()
	return archive.Write(w, &r.c.meta, s, t)
}

// TraceVariable is the environment variable with which "bottleneck record -counters" passes the
// name of the trace file to a program.
const TraceVariable = "BOTTLENECK_TRACE"

// FromEnvironment takes an execution trace if the environment requests one, so that "bottleneck
// record -counters" can record the program from outside. Call it at the beginning of main:
//
//	func main() {
//		defer counters.FromEnvironment()()
//
// In a program built with "bottleneck instrument", which needs no such call, it does nothing.
// The returned function ends the trace. Without the variable, FromEnvironment does nothing. A program
// that ends by os.Exit or a signal leaves a truncated trace, which may lack the last second.
func FromEnvironment() (stop func()) {
	name := os.Getenv(TraceVariable)
	if name == "" {
		return func() {}
	}
	os.Unsetenv(TraceVariable) // programs started by this one must not write to the same file
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		if err = trace.Start(f); err != nil {
			f.Close()
		}
	}
	if err != nil {
		// The command that set the variable waits for the trace. The program itself continues.
		fmt.Fprintf(os.Stderr, "counters: %s asks for a trace: %v\n", TraceVariable, err)
		return func() {}
	}
	host.Note()
	return func() {
		host.Note()
		trace.Stop()
		f.Close()
	}
}
