//go:build unix

package counters

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestRunForwardsSignals: the program gets the signal and is killed by it. What it wrote is kept.
func TestRunForwardsSignals(t *testing.T) {
	ours := make(chan os.Signal, 1)
	signal.Notify(ours, syscall.SIGTERM) // so that it does not end this process
	defer signal.Stop(ours)
	name := filepath.Join(t.TempDir(), "run.zip")
	go func() {
		time.Sleep(1500 * time.Millisecond)
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
	err := runTo(t.Context(), t, child(t, "long"), name, Options{Forward: []os.Signal{syscall.SIGTERM}})
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGTERM {
		t.Errorf("the program ended with %v", exit)
	}
	if r := readArchive(t, name); r.Len() == 0 {
		t.Error("nothing is in the archive")
	}
}
