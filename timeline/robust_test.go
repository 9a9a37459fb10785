package timeline

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bottleneck-go/bottleneck/internal/race"
)

// checkBroken reads possibly damaged input and checks the guarantees for all inputs: no panic,
// balanced calls, a short error of one line that is an *Error.
func checkBroken(t testing.TB, r io.Reader) (*Info, *checker, error) {
	t.Helper()
	check := newChecker()
	check.strict = false
	const name = "some.trace"
	info, err := Read(context.Background(), r, Options{Name: name, Workers: 1}, check)
	if info == nil {
		t.Fatal("no Info")
	}
	check.verify(t, info)
	if err == nil {
		if !check.begun {
			t.Error("no error, but nothing was shown")
		}
		return info, check, nil
	}
	msg := err.Error()
	if strings.ContainsAny(msg, "\n\r") || len(msg) >= 400 {
		t.Errorf("an error of %d bytes: %q", len(msg), msg)
	}
	if !strings.HasPrefix(msg, name+": ") {
		t.Errorf("the error does not name the input: %q", msg)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("not an *Error: %v", err)
		return info, check, err
	}
	if e.Name != name || e.Err == nil || e.Offset < 0 || e.Left < -1 {
		t.Errorf("%+v", e)
	}
	if e.Generation > 0 && !strings.Contains(msg, "offset ") {
		t.Errorf("the error has no position: %q", msg)
	}
	return info, check, err
}

// TestForeign: the error for an input that is not a trace states what it is.
func TestForeign(t *testing.T) {
	tests := []struct{ what, input, want string }{
		{"empty", "", "it is empty"},
		{"text", "hello, world, this is no trace\n", `it begins with "hello, world, th"`},
		{"short text", "hi", `it begins with "hi"`},
		{"one byte of a header", "g", "ends in its header, after 1 of 16"},
		{"half a header", "go 1.22 tr", "ends in its header, after 10 of 16"},
		{"HTML", "<!DOCTYPE html>\n<html><body>404</body></html>", "HTML"},
		{"HTML after spaces", "\n\n  <html>\n", "HTML"},
		{"JSON", `{"error": "not found", "code": 404}`, "JSON"},
		{"a JSON list", `[1, 2, 3, 4, 5, 6, 7, 8]`, "JSON"},
		{"a program", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00", "a program"},
		{"a zip", "PK\x03\x04aaaaaaaaaaaaaaaa", "zip"},
		{"bzip2", "BZh91AY&SYaaaaaaaaaaaa", "compressed"},
		{"a profile of heap", "\x5a\x04\x08\x01\x10\x02\x60\x80\x80\x20\x0a\x04\x08\x03\x10\x04", "a profile for go tool pprof"},
		{"a processor profile", "\x48\x94\x95\xd8\xa1\xa0\xcf\x9e\xf5\x18\x0a\x04\x08\x01\x10\x02\x0a\x04", "a profile for go tool pprof"},
		{"a packed profile", string(packed(t, []byte("\n\x04\x08\x01\x10\x02\n\x04\x08\x03\x10\x02\x12\x02"), "gzip")), "a profile for go tool pprof"},
		{"a profile of many strings", "\n\x06\x08\x81\x01\x10\x82\x01\x12\x02\x0a\x00aaaaa", "a profile for go tool pprof"},
		{"another message", "\n\x04\x08\x01\x12\x02\n\x04\x08\x03\x10\x02", `it begins with "\n\x04\b`},
		{"a message of numbers", "\x48\x94\x95\xd8\xa1\xa0\xcf\x9e\xf5\xf8\xf8\xf8\xf8\xf8\xf8\xf8", `it begins with "H`},
		{"a later version", "go 1.99 trace\x00\x00\x00", "update"},
		{"the next version", "go 1.27 trace\x00\x00\x00", "update"},
		{"a version out of this world", "go 1.999999 trac", "not a Go execution trace"},
		{"an ancient version", "go 1.9 trace\x00\x00\x00\x00", "record it again"},
		{"the last ancient version", "go 1.10 trace\x00\x00\x00", "record it again"},
		{"no version", "go 1. trace\x00\x00\x00\x00\x00", "not a Go execution trace"},
		{"a negative version", "go 1.-22 trace\x00\x00", "not a Go execution trace"},
		{"Go 2", "go 2.22 trace\x00\x00\x00", "not a Go execution trace"},
		{"a header that goes on", "go 1.22 traces\x00\x00", "not a Go execution trace"},
		{"a bare header", "go 1.22 trace\x00\x00\x00", "no events"},
		{"a bare header of 1.26", "go 1.26 trace\x00\x00\x00", "no events"},
		{"a header and text", "go 1.26 trace\x00\x00\x00hello, world", "byte 104"},
		{"a version without a format of its own", "go 1.20 trace\x00\x00\x00aaaaaaa", "1.20"},
		{"an old header and text", "go 1.21 trace\x00\x00\x00hello, world", ""},
		{"a bare old header", "go 1.21 trace\x00\x00\x00", ""},
		{"gzip of nothing", "\x1f\x8b", "unpack"},
		{"broken gzip", "\x1f\x8b\x08\x00garbage garbage garbage", "unpack"},
		{"broken zstd", "\x28\xb5\x2f\xfd garbage garbage garbage", "unpack"},
		{"gzip of text", string(packed(t, []byte("hello, world, this is no trace\n"), "gzip")), "hello"},
		{"zstd of an empty file", string(packed(t, nil, "zstd")), "empty"},
		{"zstd of gzip", string(packed(t, packed(t, []byte("x"), "gzip"), "zstd")), ""},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"in memory":    strings.NewReader(tt.input),
				"a stream":     streamOnly{strings.NewReader(tt.input)},
				"byte by byte": iotest.OneByteReader(strings.NewReader(tt.input)),
			} {
				info, check, err := checkBroken(t, r)
				if err == nil {
					t.Fatalf("%s: no error", how)
				}
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %q does not contain %q", how, err, tt.want)
				}
				if check.calls != 0 || info.Generations != 0 {
					t.Errorf("%s: %d calls", how, check.calls)
				}
			}
		})
	}
}

// truncated returns the traces that are cut at every byte: with and without marks at the ends of
// generations.
func truncated(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"Go 1.22": smallTrace(t, "compute-go1.22.12.trace"),
		"Go 1.26": smallTrace(t, "phases-go1.26.8.trace"),
	}
}

// TestTruncated: a trace that is truncated after any byte shows all its complete generations and
// reports that the rest is missing. The first and the last generation are truncated: what happens in
// a generation does not depend on those before the previous one.
func TestTruncated(t *testing.T) {
	for name, data := range truncated(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := generations(t, data)
			silent := 0
			marked, n := strings.HasSuffix(name, "1.26"), len(parts)
			silent += truncate(t, data[:headerSize], parts[0], 0, marked)
			silent += truncate(t, parts[n-2], parts[n-1], 1, marked)
			t.Logf("%d bytes, %d generations; %d cuts without an error", len(data), len(parts), silent)
			if silent > 20 {
				t.Errorf("%d cuts went without an error", silent)
			}
		})
	}
}

// truncate truncates the last generation of a trace after each byte. It returns the number of traces
// without an error, of which there must be none except complete ones if the ends are marked.
func truncate(t *testing.T, before, last []byte, whole int, marked bool) (silent int) {
	data := slices.Concat(before, last[headerSize:])
	step := 1
	if race.Enabled {
		step = 37
	}
	first := len(before)
	if whole == 0 {
		first = 0 // the header
	}
	for n := first; n < len(data); n += step {
		var r io.Reader = bytes.NewReader(data[:n])
		if n%2 == 1 {
			r = streamOnly{r}
		}
		info, check, err := checkBroken(t, r)
		var e *Error
		switch {
		case t.Failed():
			t.Fatalf("cut after %d bytes: %v", n, err)
		case err == nil:
			// Without marks a cut between two batches is invisible if only strings or
			// events are missing.
			silent++
			if n != len(before) && marked {
				t.Fatalf("cut after %d bytes: no error", n)
			}
		case info.Generations < whole:
			t.Fatalf("cut after %d bytes: %d generations shown, %d are whole: %v", n, info.Generations, whole, err)
		case whole > 0 && !check.begun:
			t.Fatalf("cut after %d bytes: nothing shown", n)
		case errors.As(err, &e) && n > headerSize && e.Offset > int64(n):
			t.Fatalf("cut after %d bytes: an error at %d", n, e.Offset)
		}
	}
	return silent
}

// TestTruncatedCompressed: the same for a compressed trace.
func TestTruncatedCompressed(t *testing.T) {
	data := smallTrace(t, "phases-go1.26.8.trace")
	for _, how := range []string{"gzip", "zstd"} {
		z := packed(t, data, how)
		for n := 0; n < len(z); n += 7 * race.Slowdown {
			_, _, err := checkBroken(t, bytes.NewReader(z[:n]))
			if err == nil {
				t.Errorf("%s cut after %d of %d bytes: no error", how, n, len(z))
			}
		}
	}
}

// TestFlipped: a trace with any bit flipped does no harm.
func TestFlipped(t *testing.T) {
	flips := 400
	if race.Enabled {
		flips = 150
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for name, data := range truncated(t) {
		t.Run(name, func(t *testing.T) {
			good, bad := 0, 0
			for range flips {
				damaged := bytes.Clone(data)
				at, bit := rng.IntN(len(data)), rng.IntN(8)
				damaged[at] ^= 1 << bit
				if rng.IntN(4) == 0 { // or a longer piece of random bytes
					for i := at; i < min(len(damaged), at+rng.IntN(40)); i++ {
						damaged[i] = byte(rng.Uint32())
					}
				}
				if _, _, err := checkBroken(t, bytes.NewReader(damaged)); err == nil {
					good++
				} else {
					bad++
				}
				if t.Failed() {
					t.Fatalf("bit %d of byte %d", bit, at)
				}
			}
			t.Logf("%d with an error, %d without", bad, good)
			if bad < flips/20 || good < flips/20 {
				t.Errorf("%d with an error, %d without: is the input damaged at all?", bad, good)
			}
		})
	}
}

// TestReaderFails: the input itself fails in the middle.
func TestReaderFails(t *testing.T) {
	data := smallTrace(t, "phases-go1.26.8.trace")
	first := len(generations(t, data)[0])
	broken := errors.New("the disk is on fire")
	for _, n := range []int{0, 1, 15, 16, 17, 100, first - 1, first, first + 1, first + 700, len(data) - 1, len(data)} {
		r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken))
		info, _, err := checkBroken(t, r)
		if err == nil {
			t.Errorf("a stream fails after %d bytes: no error", n)
			continue
		}
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "on fire") {
			t.Errorf("a stream fails after %d bytes: the cause is lost: %v", n, err)
		}
		if n >= first && info.Generations < 1 {
			t.Errorf("a stream fails after %d bytes: the first generation is lost", n)
		}
		if _, _, err := checkBroken(t, &failingFile{data, int64(n), broken}); !errors.Is(err, broken) {
			t.Errorf("a file fails after %d bytes: %v", n, err)
		}
	}
	// A pipe that breaks, as the body of an HTTP response does.
	r := io.MultiReader(bytes.NewReader(data[:first+300]), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, _, err := checkBroken(t, r); err == nil {
		t.Error("a pipe that breaks: no error")
	}
}

// failingFile is a file with random access that cannot be read after n bytes.
type failingFile struct {
	data []byte
	n    int64
	err  error
}

func (f *failingFile) Size() int64              { return int64(len(f.data)) }
func (f *failingFile) Read([]byte) (int, error) { return 0, errors.New("read as a stream") }

func (f *failingFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= f.n {
		return 0, f.err
	}
	n := copy(p, f.data[off:f.n])
	if n < len(p) {
		return n, f.err
	}
	return n, nil
}

// canceller is an Observer that cancels the pass at a given call.
type canceller struct {
	*checker
	cancel context.CancelCauseFunc
	after  int
	cause  error
}

func (c *canceller) Transition(tr *Transition) {
	c.checker.Transition(tr)
	if c.after--; c.after == 0 {
		c.cancel(c.cause)
	}
}

// TestCancel: a pass stops when its context is canceled, returns the cause, and closes what it has
// shown.
func TestCancel(t *testing.T) {
	data := smallTrace(t, "sys-go1.26.8.trace.zst")
	cause := errors.New("enough")
	for _, after := range []int{1, 1000, 95000} {
		for _, workers := range []int{1, 4} {
			ctx, cancel := context.WithCancelCause(context.Background())
			c := &canceller{newChecker(), cancel, after, cause}
			info, err := Read(ctx, bytes.NewReader(data), Options{Workers: workers}, c)
			if !errors.Is(err, cause) {
				t.Errorf("cancelled at transition %d: %v", after, err)
			}
			if info.Generations > 3 {
				t.Errorf("cancelled at transition %d: %d generations", after, info.Generations)
			}
			c.verify(t, info)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	for name, data := range map[string][]byte{"new": data, "old": []byte("go 1.21 trace\x00\x00\x00")} {
		check := newChecker()
		info, err := Read(ctx, bytes.NewReader(data), Options{}, check)
		if !errors.Is(err, cause) || check.calls != 0 {
			t.Errorf("%s, cancelled before: %v, %d calls", name, err, check.calls)
		}
		check.verify(t, info)
	}
}

// TestReadFile: errors of the file system.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	check := newChecker()
	info, err := ReadFile(context.Background(), filepath.Join(dir, "none.trace"), Options{}, check)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none.trace") {
		t.Errorf("a missing file: %v", err)
	}
	check.verify(t, info)
	info, err = ReadFile(context.Background(), dir, Options{}, check)
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "directory") || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory: %v", err)
	}
	check.verify(t, info)

	file := filepath.Join(dir, "x.trace")
	data := smallTrace(t, "compute-go1.25.5.trace")
	write(t, file, data)
	info, err = ReadFile(context.Background(), file, Options{}, check)
	if err != nil || info.Size != int64(len(data)) || info.GoVersion() != "go1.25" {
		t.Errorf("%v, %+v", err, info)
	}
	check.verify(t, info)
	write(t, file, data[:len(data)-200])
	if _, err = ReadFile(context.Background(), file, Options{}); err == nil || !strings.HasPrefix(err.Error(), file+": offset ") {
		t.Errorf("a cut file: %v", err)
	}
}

// TestProgress: the callback is called for every generation, up to the end.
func TestProgress(t *testing.T) {
	data := smallTrace(t, "compute-go1.26.8.trace")
	for _, stream := range []bool{false, true} {
		var r io.Reader = bytes.NewReader(data)
		size := int64(len(data))
		if stream {
			r, size = streamOnly{r}, -1
		}
		calls, last := 0, int64(0)
		_, err := Read(context.Background(), r, Options{Progress: func(done, of int64) {
			if calls++; done <= last || of != size {
				t.Errorf("stream %v: %d of %d after %d", stream, done, of, last)
			}
			last = done
		}})
		if err != nil || calls != 5 || last != int64(len(data)) {
			t.Errorf("stream %v: %d calls, up to %d of %d, %v", stream, calls, last, len(data), err)
		}
	}
}
