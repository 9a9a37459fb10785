package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/require"
	"golang.org/x/sys/unix"
)

// openTerminal returns a pseudo terminal of the given width and a function that
// closes it and returns what was written to it.
func openTerminal(t *testing.T, width int) (*os.File, func() string) {
	t.Helper()
	slave, _, output := openKeyboard(t, width)
	return slave, output
}

// openKeyboard also returns the side on which somebody types.
func openKeyboard(t *testing.T, width int) (slave, keyboard *os.File, output func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		require.Missing(t, err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		require.Missing(t, err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		require.Missing(t, err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		require.Missing(t, err)
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

// Colour and width are those of the terminal; NO_COLOR and dumb terminals have no colour.
func TestTerminal(t *testing.T) {
	for _, tt := range []struct {
		name   string
		env    map[string]string
		colour bool
		ascii  bool
	}{
		{"plain", nil, true, false},
		{"NO_COLOR", map[string]string{"NO_COLOR": "1"}, false, false},
		{"dumb", map[string]string{"TERM": "dumb"}, false, false},
		{"Latin-1", map[string]string{"LC_ALL": "de_DE.ISO-8859-1"}, true, true},
		{"UTF-8", map[string]string{"LC_ALL": "C.UTF-8"}, true, false},
		{"C", map[string]string{"LC_ALL": "C"}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range map[string]string{"TERM": "xterm", "NO_COLOR": "", "LC_ALL": "C.UTF-8"} {
				t.Setenv(name, value)
			}
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			term, output := openTerminal(t, 64)
			status := run(context.Background(), []string{"graph", mutexTrace}, nil, term, io.Discard)
			out := output()
			if status != exitOK {
				t.Errorf("status %d", status)
			}
			if colour := strings.Contains(out, "\x1b["); colour != tt.colour {
				t.Errorf("colour: %v, want %v", colour, tt.colour)
			}
			if ascii := !strings.Contains(out, "█"); ascii != tt.ascii {
				t.Errorf("ASCII: %v, want %v", ascii, tt.ascii)
			}
			for line := range strings.Lines(out) {
				if n := columns(line); n > 64 {
					t.Errorf("a line of %d columns: %q", n, line)
				}
			}
		})
	}
}

// columns counts what a line of ours takes on the terminal.
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

// Pixels on a terminal are of no use to anybody.
func TestBinaryOnTerminal(t *testing.T) {
	for _, form := range []string{"png", "pprof"} {
		term, output := openTerminal(t, 80)
		var errs bytes.Buffer
		status := run(context.Background(), []string{"graph", "-format", form, mutexTrace}, nil, term, &errs)
		if out := output(); status != exitUsage || out != "" || !strings.Contains(errs.String(), "not for terminals") {
			t.Errorf("-format %s: status %d, stdout %q, stderr %q", form, status, out, errs.String())
		}
	}
}

// A terminal is not a trace, so it is not waited for.
func TestTerminalAsInput(t *testing.T) {
	term, output := openTerminal(t, 80)
	commandWith(term, "graph").want(t, exitUsage, "", "no trace: name a FILE")
	output()
}

// Who waits is told for what, on the terminal only, and not a word of it is left in the end.
func TestProgress(t *testing.T) {
	trace := read(t, mutexTrace)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(3 * progressDelay)
		w.Write(trace)
	}))
	defer s.Close()
	t.Setenv("TERM", "xterm")
	term, output := openTerminal(t, 120)
	var out bytes.Buffer
	status := run(context.Background(), []string{"graph", s.URL + "/debug/pprof/trace?seconds=5"}, nil, &out, term)
	shown := output()
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

// What is done at once needs no progress.
func TestNoProgress(t *testing.T) {
	term, output := openTerminal(t, 80)
	p := startProgress(term, func(time.Duration) string { return "working" })
	p.stop()
	p.stop()
	if shown := output(); shown != "" {
		t.Errorf("the terminal got %q", shown)
	}
}
