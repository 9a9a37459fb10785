package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// openTerminal returns a pseudo terminal of the given width and a function that closes it and
// returns its output.
func openTerminal(t *testing.T, width int) (*os.File, func() string) {
	t.Helper()
	slave, _, output := openKeyboard(t, width)
	return slave, output
}

// openKeyboard also returns the keyboard side.
func openKeyboard(t *testing.T, width int) (slave, keyboard *os.File, output func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		testenv.Missing(t, err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		testenv.Missing(t, err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		testenv.Missing(t, err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		testenv.Missing(t, err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: 50}); err != nil {
		t.Fatal(err)
	}
	done := make(chan string, 1)
	go func() {
		var buf bytes.Buffer
		io.Copy(&buf, master) // ends with an error when the other side is closed
		done <- buf.String()
	}()
	return slave, master, func() string {
		slave.Close()
		out := <-done
		master.Close()
		return out
	}
}

// Color and width are those of the terminal. NO_COLOR and dumb terminals have no color.
func TestTerminal(t *testing.T) {
	for _, tt := range []struct {
		name  string
		env   map[string]string
		color bool
	}{
		{"plain", nil, true},
		{"NO_COLOR", map[string]string{"NO_COLOR": "1"}, false},
		{"dumb", map[string]string{"TERM": "dumb"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range map[string]string{"TERM": "xterm", "NO_COLOR": "", "LC_ALL": "C.UTF-8"} {
				t.Setenv(name, value)
			}
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			term, shownOn := openTerminal(t, 64)
			status := run(context.Background(), []string{"graph", mutexTrace}, nil, term, io.Discard)
			out := shownOn()
			if status != exitOK {
				t.Errorf("status %d", status)
			}
			if color := strings.Contains(out, "\x1b["); color != tt.color {
				t.Errorf("color: %v, want %v", color, tt.color)
			}
			for line := range strings.Lines(out) {
				if n := columns(line); n > 64 {
					t.Errorf("a line of %d columns: %q", n, line)
				}
			}
		})
	}
}

// columns counts the columns of a line on the terminal.
func columns(line string) (n int) {
	escape := false
	for _, r := range strings.TrimRight(line, "\r\n") {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			n++
		}
	}
	return n
}

// Pixels are not written to a terminal.
func TestBinaryOnTerminal(t *testing.T) {
	for _, form := range []string{"png", "pprof"} {
		term, shownOn := openTerminal(t, 80)
		var errs bytes.Buffer
		status := run(context.Background(), []string{"graph", "-format", form, mutexTrace}, nil, term, &errs)
		if out := shownOn(); status != exitUsage || out != "" || !strings.Contains(errs.String(), "not for terminals") {
			t.Errorf("-format %s: status %d, stdout %q, stderr %q", form, status, out, errs.String())
		}
	}
}

// The command does not wait for a trace from a terminal.
func TestTerminalAsInput(t *testing.T) {
	term, shownOn := openTerminal(t, 80)
	commandWith(term, "graph").want(t, exitUsage, "", "no input: want a FILE")
	shownOn()
}

// The progress appears on the terminal only, and is erased at the end.
func TestProgress(t *testing.T) {
	trace := read(t, mutexTrace)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(3 * output.ProgressDelay)
		w.Write(trace)
	}))
	defer s.Close()
	t.Setenv("TERM", "xterm")
	term, shownOn := openTerminal(t, 120)
	var out bytes.Buffer
	status := run(context.Background(), []string{"graph", s.URL + "/debug/pprof/trace?seconds=5"}, nil, &out, term)
	shown := shownOn()
	if status != exitOK || !strings.Contains(out.String(), "Bottle graph") {
		t.Errorf("status %d", status)
	}
	if !strings.Contains(shown, "\r\x1b[Kfetching http://127.0.0.1:") || !strings.Contains(shown, ": tracing, ") || !strings.HasSuffix(shown, "\r\x1b[K") {
		t.Errorf("the terminal got %q", shown)
	}
	if r := bottleneck("graph", s.URL); r.err != "" {
		t.Errorf("stderr, which is no terminal, got %q", r.err)
	}
}

// A short operation shows no progress.
func TestNoProgress(t *testing.T) {
	term, shownOn := openTerminal(t, 80)
	stop := output.Progress(term, func(time.Duration) string { return "working" })
	stop()
	stop()
	if shown := shownOn(); shown != "" {
		t.Errorf("the terminal got %q", shown)
	}
}

// termios returns the settings of a terminal.
func termios(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

// The terminal is restored however top ends, by a key or by a signal.
func TestTopTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	graphs := make(chan struct{}, 99)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/graph") {
			bottle.WriteJSON(w, graphOf(30))
			graphs <- struct{}{}
			return
		}
		http.NotFound(w, r)
	}))
	defer s.Close()
	for _, how := range []string{"key", "signal"} {
		term, keyboard, shownOn := openKeyboard(t, 90)
		before := termios(t, term)
		ctx, cancel := context.WithCancel(t.Context())
		status := make(chan int, 1)
		go func() { status <- run(ctx, []string{"top", "-interval", "100ms", s.URL}, term, term, io.Discard) }()
		for range 3 { // the probe, and two frames
			<-graphs
		}
		if raw := termios(t, term); raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
			t.Errorf("%s: the terminal echoes the input", how)
		}
		if how == "key" {
			keyboard.WriteString("q")
		} else {
			cancel()
		}
		select {
		case got := <-status:
			if got != exitOK {
				t.Errorf("%s: status %d", how, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it does not end", how)
		}
		cancel()
		if stacks := make([]byte, 1<<20); strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "cancelreader") {
			t.Errorf("%s: the key reader is still running", how)
		}
		if after := termios(t, term); after != before {
			t.Errorf("%s: the terminal is set to %+v, it was %+v", how, after, before)
		}
		out := shownOn()
		// The alternate screen, which leaves the main screen unchanged.
		const enter, leave = "\x1b[?1049h", "\x1b[?1049l"
		if strings.Count(out, enter) != 1 || strings.Count(out, leave) != 1 || strings.Index(out, leave) < strings.LastIndex(out, "main.main") {
			t.Errorf("%s: the terminal got %q", how, out)
		}
		if !strings.Contains(out, "main.main") || !strings.Contains(out, "\x1b[1m") {
			t.Errorf("%s: the terminal got %q", how, out)
		}
	}
}
