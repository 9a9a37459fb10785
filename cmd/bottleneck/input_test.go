package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// temporary returns the name of a new file.
func temporary(t *testing.T, name string, content []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// pipe feeds content into a real pipe, as a shell does.
func pipe(t *testing.T, content []byte) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		w.Write(content)
		w.Close()
	}()
	t.Cleanup(func() { r.Close() })
	return r
}

// Every way in gives the same graph.
func TestInputs(t *testing.T) {
	raw := read(t, mutexTrace)
	want := bottleneck("graph", "-format", "json", mutexTrace)
	want.want(t, exitOK, `"group": "main.main"`, "")
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(mutexTrace)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		name  string
		stdin io.Reader
		arg   []string
	}{
		{"gzip", nil, []string{temporary(t, "x.gz", packed(t, raw))}},
		{"zstd", nil, []string{temporary(t, "x.zst", z.EncodeAll(raw, nil))}},
		{"stdin", bytes.NewReader(raw), []string{"-"}},
		{"stdin without argument", bytes.NewReader(raw), nil},
		{"stream", io.MultiReader(bytes.NewReader(raw)), []string{"-"}},
		{"pipe", pipe(t, raw), []string{"-"}},
		{"pipe without argument", pipe(t, raw), nil},
		{"redirected file", file, nil},
		{"packed pipe", pipe(t, packed(t, raw)), nil},
	} {
		r := commandWith(tt.stdin, append([]string{"graph", "-format", "json"}, tt.arg...)...)
		if r != want {
			t.Errorf("%s: status %d, stderr %q, output\n%s\nwant\n%s", tt.name, r.status, r.err, r.out, want.out)
		}
	}
}

func TestInputErrors(t *testing.T) {
	dir := t.TempDir()
	raw := read(t, mutexTrace)
	future := append([]byte("go 1.99 trace\x00\x00\x00"), raw[16:]...)
	for _, tt := range []struct {
		name string
		want string
	}{
		{filepath.Join(dir, "missing"), "missing: no such file"},
		{dir, "it is a directory"},
		{temporary(t, "empty", nil), "empty: it is empty"},
		{temporary(t, "text", []byte("hello\nworld and more")), `not a Go execution trace: it begins with "hello`},
		{temporary(t, "page.html", []byte("<!DOCTYPE html><p>")), "it is an HTML or XML page"},
		{temporary(t, "future", future), "a trace of Go 1.99"},
		{temporary(t, "header", raw[:16]), "no events"},
		{temporary(t, "half-header", raw[:9]), "in its header"},
		{temporary(t, "x.gz", packed(t, raw)[:9]), "unpack"},
		{temporary(t, "evil\x1b[31m", nil), "it is empty"},
	} {
		r := bottleneck("graph", tt.name)
		r.want(t, exitFailure, "", tt.want)
		if strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "\x1b") {
			t.Errorf("stderr %q, want one line", r.err)
		}
		if base := filepath.Base(tt.name); !strings.Contains(base, "\x1b") && !strings.Contains(r.err, base) {
			t.Errorf("stderr %q does not name the file", r.err)
		}
	}
}

// A standard input that cannot hold a trace is no reason to wait for one.
func TestNoInput(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	commandWith(null, "graph").want(t, exitUsage, "", "no trace: name a FILE")
	commandWith(null, "graph", "-").want(t, exitFailure, "", "standard input: it is empty")
}

// What was read of a trace that is cut off is shown, with a warning; the error comes besides.
func TestCutOff(t *testing.T) {
	raw := read(t, phasesTrace)
	name := temporary(t, "cut.trace", raw[:len(raw)*3/4])
	for _, tt := range []struct {
		format string
		want   string
	}{
		{"text", "Warning: "},
		{"json", `"warnings": [`},
		{"csv", "main."},
	} {
		r := bottleneck("graph", "-format", tt.format, name)
		r.want(t, exitFailure, tt.want, "cut.trace: offset ")
		if strings.Count(r.err, "\n") != 1 {
			t.Errorf("stderr has more than one line:\n%s", r.err)
		}
	}
	// A condition that holds has its own line.
	r := bottleneck("graph", "-o", filepath.Join(t.TempDir(), "x.svg"), "-fail", "wall>0s", name)
	r.want(t, exitFailure, "", "failed, as -fail says: wall>0s (it is ")
	if strings.Count(r.err, "\n") != 2 {
		t.Errorf("stderr:\n%s\nwant two lines", r.err)
	}
}

// No cut of a trace makes the command crash, hang, or print more than one line of error.
func TestCutAnywhere(t *testing.T) {
	raw := read(t, phasesTrace)
	for n := 0; n < len(raw); n += 1 + len(raw)/97 {
		r := commandWith(bytes.NewReader(raw[:n]), "graph", "-")
		if r.status != exitFailure && r.status != exitOK || strings.Count(r.err, "\n") > 1 {
			t.Errorf("cut at %d: status %d, stderr\n%s", n, r.status, r.err)
		}
		if r.status == exitFailure && r.err == "" || r.status == exitOK && r.err != "" {
			t.Errorf("cut at %d: status %d, stderr %q", n, r.status, r.err)
		}
	}
}

// An interrupt ends the command although nobody writes to its standard input.
func TestInterrupt(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	var out, errs bytes.Buffer
	status := run(ctx, []string{"graph", "-"}, r, &out, &errs)
	result{status, out.String(), errs.String()}.want(t, exitFailure, "", "bottleneck: interrupted\n")
}

// The wrapper of pipes loses nothing, whatever the sizes of reads and writes.
func TestInterruptible(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	r := &interruptible{ctx: context.Background(), r: pipe(t, want)}
	var got []byte
	for size := 1; ; size = size*7%200_003 + 1 {
		p := make([]byte, size)
		n, err := r.Read(p)
		got = append(got, p[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes arrived of %d, or they differ", len(got), len(want))
	}
}
