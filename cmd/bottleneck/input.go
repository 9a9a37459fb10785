package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// input is where a trace comes from: a file, a URL or standard input.
type input struct {
	label string // what errors and pictures call it
	meter meter
	// decoded is told how many bytes of how many the pass has done; nil where open counts them
	// itself.
	decoded func(done, size int64)
	open    func(ctx context.Context, cancel context.CancelCauseFunc) (io.ReadCloser, error)
	// answered, if not nil, gets the headers of a server's answer.
	answered func(http.Header)
	// progress says in a few words how far reading has come, given the time since it began.
	progress func(time.Duration) string
}

// readInput opens an input and reads it, with progress on a terminal. Read is told the first bytes
// of what it reads. What it returns may be there even if there is an error: it is then what could
// be read.
func readInput[P any](ctx context.Context, std stdio, in *input, read func(ctx context.Context, r io.Reader, head []byte) (P, error)) (P, error) {
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	progress := startProgress(std.err, in.progress)
	defer progress.stop()
	r, err := in.open(reading, cancel)
	if err != nil {
		var none P
		return none, err
	}
	defer r.Close()
	from, head := unpackJSON(peek(r))
	if holdsJSON(head) {
		from = savedInput(ctx, from)
	}
	p, err := read(reading, from, head)
	if err != nil && reading.Err() != nil && ctx.Err() == nil {
		err = context.Cause(reading) // a silent server, say, of which the reader knows nothing
	}
	return p, err
}

// headLength is enough to tell what an input is.
const headLength = 512

// peek returns the first bytes of what is read, and a reader of all of it: a file itself, which can
// be read with random access.
func peek(r io.Reader) (all io.Reader, head []byte) {
	f, ok := r.(*os.File)
	if ok {
		at, err := f.Seek(0, io.SeekCurrent)
		ok = err == nil && at == 0
	}
	buf := bufio.NewReaderSize(r, 1<<16)
	head, _ = buf.Peek(headLength) // who reads on meets the error, too
	if ok {
		if _, err := f.Seek(0, io.SeekStart); err == nil {
			return f, head
		}
	}
	return buf, head
}

// holdsJSON looks whether what begins so is JSON.
func holdsJSON(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{"))
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// findInput tells what the argument means; it reads nothing yet.
func findInput(std stdio, arg string) (*input, error) {
	switch {
	case arg == "-":
		return stdinInput(std.in), nil
	case arg == "":
		if f, ok := std.in.(*os.File); std.in == nil || ok && !feeds(f) {
			return nil, usagef("no trace: name a FILE or a URL, or feed one into standard input")
		}
		return stdinInput(std.in), nil
	case isURL(arg):
		u, err := url.Parse(arg)
		if err != nil || u.Host == "" {
			return nil, usagef("%q is not a URL", arg)
		}
		return urlInput(u), nil
	}
	return fileInput(arg), nil
}

// feeds reports whether standard input may hold a trace: it is neither a terminal nor
// the null device, which daemons and cron give to their children.
func feeds(f *os.File) bool {
	if term.IsTerminal(int(f.Fd())) {
		return false
	}
	st, err := f.Stat()
	if err != nil {
		return false // closed
	}
	if st.Mode()&os.ModeNamedPipe != 0 {
		return true // Windows takes a pipe and the null device for the same file
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(st, null)
}

func fileInput(name string) *input {
	in := &input{label: name}
	in.decoded = in.meter.decoded
	in.open = func(ctx context.Context, _ context.CancelCauseFunc) (io.ReadCloser, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, fileError(name, err)
		}
		st, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, fileError(name, err)
		}
		if st.IsDir() {
			f.Close()
			return nil, errDirectory(name)
		}
		if st.Mode().IsRegular() {
			return f, nil
		}
		return &interruptible{ctx: ctx, r: f, close: f.Close}, nil
	}
	in.progress = func(time.Duration) string { return "reading " + name + in.meter.String() }
	return in
}

func stdinInput(r io.Reader) *input {
	in := &input{label: "standard input"}
	in.decoded = in.meter.decoded
	in.open = func(ctx context.Context, _ context.CancelCauseFunc) (io.ReadCloser, error) {
		if f, ok := r.(*os.File); ok {
			if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
				return f, nil
			}
		}
		return &interruptible{ctx: ctx, r: r, close: func() error { return nil }}, nil
	}
	in.progress = func(time.Duration) string { return "reading standard input" + in.meter.String() }
	return in
}

func errDirectory(name string) error {
	return fmt.Errorf("%s: it is a directory, not a trace", name)
}

// fileError says in one line what is wrong with a file: its name comes first, the system call not
// at all.
func fileError(name string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// interruptible makes reads of a pipe or a terminal end when the context does. A read
// that is already under way cannot be taken back: it goes on alone, into a buffer of its own.
type interruptible struct {
	ctx     context.Context
	r       io.Reader
	close   func() error
	buf     []byte // of the reading goroutine, while there is one
	rest    []byte // read but not yet delivered
	results chan readResult
}

type readResult struct {
	n   int
	err error
}

func (i *interruptible) Read(p []byte) (int, error) {
	if len(i.rest) > 0 {
		n := copy(p, i.rest)
		i.rest = i.rest[n:]
		return n, nil
	}
	if i.results == nil {
		i.results = make(chan readResult, 1)
		i.buf = make([]byte, 1<<16)
	}
	go func() {
		n, err := i.r.Read(i.buf)
		i.results <- readResult{n, err}
	}()
	select {
	case res := <-i.results:
		n := copy(p, i.buf[:res.n])
		i.rest = i.buf[n:res.n]
		if len(i.rest) > 0 {
			return n, nil // a final error comes again with the next read
		}
		return n, res.err
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	}
}

func (i *interruptible) Close() error { return i.close() }

// meter counts the bytes that are done, for the progress.
type meter struct{ done, size atomic.Int64 }

func (m *meter) decoded(done, size int64) {
	m.done.Store(done)
	m.size.Store(size)
}

// String is empty, or begins with a colon.
func (m *meter) String() string {
	done, size := m.done.Load(), m.size.Load()
	switch {
	case done == 0:
		return ""
	case size > 0:
		return fmt.Sprintf(": %d%% of %s", min(100, 100*done/size), bytesOf(size))
	}
	return ": " + bytesOf(done)
}

// bytesOf writes a number of bytes in its natural unit.
func bytesOf(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0f kB", float64(n)/1e3)
}
