//go:build unix

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The terminal goes away while a service is recorded: what had come is kept, and no temporary file
// is left.
func TestRecordKeepsWhatCameBeforeHangup(t *testing.T) {
	if url := os.Getenv("BOTTLENECK_TEST_RECORD"); url != "" {
		os.Args = []string{"bottleneck", "record", "-o", os.Getenv("BOTTLENECK_TEST_OUTPUT"), url}
		main()
	}
	data := read(t, mutexTrace)
	half := data[:len(data)*3/4]
	handled := make(chan os.Signal, 1) // a child of a process that ignores hangups, as under nohup, would ignore them, too
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
	if got, err := os.ReadFile(name); err == nil && len(got) > len(half) { // the signal may come before the first byte
		t.Errorf("%d bytes of %d", len(got), len(half))
	}
}
