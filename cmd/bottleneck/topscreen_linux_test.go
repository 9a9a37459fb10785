package main

import (
	"context"
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
)

// termios is how a terminal is set.
func termios(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

// However top ends, the terminal is as it was before: by a key, and by a signal.
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
		term, keyboard, output := openKeyboard(t, 90)
		before := termios(t, term)
		ctx, cancel := context.WithCancel(t.Context())
		status := make(chan int, 1)
		go func() { status <- run(ctx, []string{"top", "-interval", "100ms", s.URL}, term, term, io.Discard) }()
		for range 3 { // the probe, and two frames
			<-graphs
		}
		if raw := termios(t, term); raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
			t.Errorf("%s: the terminal echoes what is typed", how)
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
			t.Errorf("%s: who reads the keys goes on", how)
		}
		if after := termios(t, term); after != before {
			t.Errorf("%s: the terminal is set to %+v, it was %+v", how, after, before)
		}
		out := output()
		const enter, leave = "\x1b[?1049h", "\x1b[?1049l" // the alternate screen, which leaves the other as it was
		if strings.Count(out, enter) != 1 || strings.Count(out, leave) != 1 || strings.Index(out, leave) < strings.LastIndex(out, "main.main") {
			t.Errorf("%s: the terminal got %q", how, out)
		}
		if !strings.Contains(out, "main.main") || !strings.Contains(out, "\x1b[1m") {
			t.Errorf("%s: the terminal got %q", how, out)
		}
	}
}
