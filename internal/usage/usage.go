// Package usage counts what a command uses, for speedup.Usage: the processor time, page faults and
// context switches of its process and of the descendants that it waited for (getrusage; on Windows
// only times); and where perf_event_open counts them, instructions, cycles, cache misses and
// migrations of all of its descendants. A count that the system does not have is missing.
package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// Run is what a run of a command used.
type Run struct {
	Counts map[string]float64 `json:"counts"`
	// Missing is the reason why there are no hardware counts, or "".
	Missing string `json:"missing,omitempty"`
}

// meter counts what one command uses.
type meter struct {
	cmd    *exec.Cmd
	events []*perfevent.Event
	run    Run
}

// Start starts the command. The returned function waits for its end and returns what it used, even if
// it failed. The errors are those of [exec.Cmd.Start] and [exec.Cmd.Wait].
func Start(cmd *exec.Cmd) (wait func() (Run, error), err error) {
	m := &meter{cmd: cmd, run: Run{Counts: map[string]float64{}}}
	// Events are inherited from the thread that starts the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, name := range []string{"cycles", "instructions", "cache-misses", "migrations"} {
		spec, err := perfevent.Named(name)
		if err == nil {
			var e *perfevent.Event
			if e, err = perfevent.OpenChildren(spec); err == nil {
				m.events = append(m.events, e)
			}
		}
		if err != nil && m.run.Missing == "" && spec.Hardware() {
			m.run.Missing = perfevent.Reason(spec, err)
		}
	}
	if err := cmd.Start(); err != nil {
		m.readEvents()
		return nil, err
	}
	return m.wait, nil
}

func (m *meter) wait() (Run, error) {
	err := m.cmd.Wait()
	m.readEvents()
	if state := m.cmd.ProcessState; state != nil {
		addTimes(m.run.Counts, state.UserTime(), state.SystemTime())
		addRusage(m.run.Counts, state)
	}
	return m.run, err
}

// readEvents reads and closes the events.
func (m *meter) readEvents() {
	for _, e := range m.events {
		count, err := e.Read()
		e.Close()
		if err != nil {
			continue
		}
		spec := e.Spec()
		if name, v, known := countOf(spec, count); known {
			m.run.Counts[name] = v
		} else if spec.Hardware() && m.run.Missing == "" {
			m.run.Missing = "the machine accepts the counters, but they do not count"
		}
	}
	m.events = nil
}

// countOf returns a count and its name. Events that shared a counter with others are extrapolated.
// Events that do not count stay at zero: hardware events in some virtual machines, and migrations
// if the kernel must not be counted.
func countOf(spec perfevent.Spec, count perfevent.Count) (name string, v float64, known bool) {
	if name = spec.Name; spec.ExcludeKernel {
		name += ":u"
	}
	if count.Running == 0 || spec.Hardware() && count.Value == 0 || !spec.Hardware() && spec.ExcludeKernel {
		return name, 0, false
	}
	return name, float64(count.Value) * float64(count.Enabled) / float64(count.Running), true
}

// leastSplit is the processor time from which its parts in user mode and in the kernel are known.
// The kernel counts them by timer ticks, 100 to 1,000 a second.
const leastSplit = time.Second

func addTimes(c map[string]float64, user, system time.Duration) {
	c["processor-time"] = float64(user + system)
	if user+system >= leastSplit {
		c["user-time"], c["system-time"] = float64(user), float64(system)
	}
}

// word is the first argument of a process that runs a command for [Exec].
const word = "count-usage-of"

// Exec returns the value of go test's flag -exec with which only the test binary counts, not the
// compiler: it runs this executable, whose main must call [Wrapped] first. [ReadFile] reads the
// result from file.
func Exec(file string) (string, error) {
	self, err := os.Executable()
	return fmt.Sprintf(`"%s" %s "%s"`, self, word, file), err // not %q: the go command knows no escapes
}

// Wrapped returns at once, unless [Exec] caused this process: then it runs the command in the
// arguments, and exits.
func Wrapped() {
	if len(os.Args) < 4 || os.Args[1] != word {
		return
	}
	status, err := wrapped(os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[3], err)
	}
	os.Exit(status)
}

func wrapped(file string, command []string) (status int, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	wait, err := Start(cmd)
	if err != nil {
		return 1, err
	}
	background.Go(func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	})
	run, err := wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		status, err = exit.ExitCode(), nil // the command has printed why
	} else if err != nil {
		status = 1
	}
	b, wrong := json.Marshal(run)
	if wrong == nil {
		wrong = os.WriteFile(file, b, 0o666)
	}
	if status == 0 && wrong != nil {
		status = 1
	}
	return status, errors.Join(err, wrong)
}

// ReadFile reads what [Exec] wrote.
func ReadFile(file string) (run Run, err error) {
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &run)
	}
	if err != nil {
		return run, fmt.Errorf("usage: reading counts: %w", err)
	}
	return run, nil
}
