//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

func init() {
	touchArena = func() {
		page := os.Getpagesize()
		arena, err := unix.Mmap(-1, 0, 1024*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			panic(err)
		}
		if runtime.GOOS == "linux" {
			const noHugePage = 15
			_ = unix.Madvise(arena, noHugePage) // old kernels have none
		}
		for i := 0; i < len(arena); i += page {
			arena[i] = 1
		}
		if err := unix.Munmap(arena); err != nil {
			panic(err)
		}
	}
}

// A broken pipe is not reported. A full disk is.
func TestBrokenOutput(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"graph", mutexTrace}, {"graph", "-format", "json", mutexTrace}} {
		var errs bytes.Buffer
		if status := run(context.Background(), args, nil, failing{&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}}, &errs); status != exitFailure || errs.Len() > 0 {
			t.Errorf("%v: status %d, stderr %q", args, status, errs.String())
		}
		errs.Reset()
		if status := run(context.Background(), args, nil, failing{errors.New("disk full")}, &errs); status != exitFailure || !bytes.Contains(errs.Bytes(), []byte("disk full")) {
			t.Errorf("%v: status %d, stderr %q", args, status, errs.String())
		}
	}
}

// A trace may come from a named pipe, and a graph may be written to one.
func TestNamedPipes(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out.csv")
	for _, name := range []string{in, out} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			testenv.Missing(t, err)
		}
	}
	trace := read(t, mutexTrace)
	go os.WriteFile(in, trace, 0)
	got := make(chan string, 1)
	go func() { b, _ := os.ReadFile(out); got <- string(b) }()
	bottleneck("graph", "-o", out, in).want(t, exitOK, "", "")
	if want := bottleneck("graph", "-format", "csv", mutexTrace).out; <-got != want {
		t.Error("the graph that came out of the pipe differs")
	}
}

// The process ends soon after an interrupt, even where no context can reach it: the other end of
// this pipe is never opened.
func TestInterruptedProcess(t *testing.T) {
	if arg := os.Getenv("BOTTLENECK_TEST_INTERRUPTED"); arg != "" {
		os.Args = []string{"bottleneck", "graph", arg}
		main()
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		testenv.Missing(t, err)
	}
	for _, tt := range []struct {
		name string
		arg  string
	}{{"hanging open", fifo}, {"silent standard input", "-"}} {
		var errs bytes.Buffer
		cmd := exec.Command(os.Args[0], "-test.run=^TestInterruptedProcess$")
		cmd.Env = append(os.Environ(), "BOTTLENECK_TEST_INTERRUPTED="+tt.arg)
		cmd.Stderr = &errs
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(min(race.Slowdown, 4)) * 250 * time.Millisecond) // until it waits
		cmd.Process.Signal(os.Interrupt)
		killed := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		stdin.Close()
		killed.Stop()
		if code := cmd.ProcessState.ExitCode(); code != exitFailure || errs.String() != "bottleneck: interrupted\n" {
			t.Errorf("%s: %v, stderr %q", tt.name, cmd.ProcessState, errs.String())
		}
	}
}

// If the terminal disappears while a service is recorded, the received part is kept and no
// temporary file is left.
func TestRecordKeepsWhatCameBeforeHangup(t *testing.T) {
	if url := os.Getenv("BOTTLENECK_TEST_RECORD"); url != "" {
		os.Args = []string{"bottleneck", "record", "-o", os.Getenv("BOTTLENECK_TEST_OUTPUT"), url}
		main()
	}
	data := read(t, mutexTrace)
	half := data[:len(data)*3/4]
	// A child of a process that ignores hangups, as under nohup, would ignore them, too.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	child := exec.Command(os.Args[0], "-test.run=^TestRecordKeepsWhatCameBeforeHangup$")
	started := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(half)
		w.(http.Flusher).Flush()
		<-started
		child.Process.Signal(syscall.SIGHUP)
		<-r.Context().Done()
	}))
	defer s.Close()
	name := filepath.Join(t.TempDir(), "x.trace")
	child.Env = append(os.Environ(), "BOTTLENECK_TEST_RECORD="+s.URL+"/debug/pprof/", "BOTTLENECK_TEST_OUTPUT="+name)
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	close(started)
	if err := child.Wait(); err == nil || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("%v: %s", err, out.String())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	// The signal may come before the first byte.
	if got, err := os.ReadFile(name); err == nil && len(got) > len(half) {
		t.Errorf("%d bytes of %d", len(got), len(half))
	}
}
