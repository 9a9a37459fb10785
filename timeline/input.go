// Package timeline reads execution traces (runtime/trace) and shows them to observers as intervals of
// goroutines, ordered by time. All trace analyses of this module are observers.
//
// The files follow the data: input.go opens a trace, generation.go cuts it into generations of
// about a second each, decode.go decodes them concurrently into records (wiredecode.go and
// wireorder.go with our decoder, readerdecode.go with golang.org/x/exp/trace), replay.go replays
// the records through one state machine, observer.go defines what observers see. splitter.go and
// stream.go do the same for the trace of the running program ([Stream]).
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck/timeline"
//	)
//
//	type waits struct {
//		timeline.Base
//		mutex timeline.Time
//	}
//
//	func (w *waits) Transition(t *timeline.Transition) {
//		if t.Wait == timeline.WaitMutex {
//			w.mutex += t.End - t.Start
//		}
//	}
//
//	func main() {
//		var w waits
//		_, err := timeline.ReadFile(context.Background(), "trace.out", timeline.Options{}, &w)
//		if err != nil {
//			log.Print(err) // where the trace is broken, and what is missing
//		}
//		fmt.Println("ns waited for mutexes:", w.mutex)
//	}
//
// Memory grows with the largest generation, the live goroutines and the distinct call chains.
// docs/measurements.md has the times (go run ./benchmarks/pass).
package timeline

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// input is an opened trace: its version is known, and its bytes follow.
type input struct {
	version    int
	header     []byte
	source     source    // of a trace with generations
	whole      io.Reader // of an older trace: the data after the header
	size       int64     // of the whole input, −1 if unknown
	compressed string    // "gzip" or "zstd"; offsets are then those of the uncompressed trace
	close      func()
}

// sized is the interface for random access. *os.File satisfies it for regular files only.
type sized interface {
	io.ReaderAt
	Size() int64
}

// formats holds the functions needed to read a file but not a snapshot of a running program: a
// snapshot is not compressed, and its version is that of the program. A program that reads only its
// own trace does not link the functions in anyFormat.
type formats struct {
	unpack func(r io.Reader, how string) (io.Reader, func(), error)
	other  decodeFunc // decodes data that decoding.decode does not support
}

func anyFormat() formats { return formats{unpack: unpack, other: decodeByReader} }

var errOldSnapshot = errors.New("a snapshot needs a trace of Go 1.22 or later")

// openInput inspects the beginning of r and determines how to read it.
func openInput(r io.Reader, formats formats) (*input, error) {
	in := &input{size: -1, close: func() {}}
	at, size := randomAccess(r)
	buffer := int64(1 << 16)
	if at != nil {
		r, in.size = io.NewSectionReader(at, 0, size), size
		buffer = min(buffer, size)
	}
	br := bufio.NewReaderSize(r, int(buffer))
	head, err := br.Peek(headerSize)
	if err != nil && err != io.EOF {
		return in, inputError(err)
	}
	if in.compressed = compression(head); in.compressed != "" {
		if formats.unpack == nil {
			return in, errors.New("a snapshot is not packed, and this is")
		}
		plain, done, err := formats.unpack(br, in.compressed)
		if err != nil {
			return in, err
		}
		at, in.close, in.size = nil, done, -1
		br = bufio.NewReaderSize(plain, 1<<16)
		if head, err = br.Peek(headerSize); err != nil && err != io.EOF {
			return in, fmt.Errorf("cannot unpack it: %w", err)
		}
	}
	if in.version, err = parseHeader(head); err != nil {
		return in, err
	}
	in.header = bytes.Clone(head)
	br.Discard(headerSize)
	switch {
	case in.version < firstGenerational && formats.other == nil:
		return in, errOldSnapshot
	case in.version < firstGenerational:
		in.whole = br
	case at != nil:
		in.source = &fileSource{r: at, size: size}
	default:
		in.source = &streamSource{r: br}
	}
	return in, nil
}

// randomAccess returns r as a ReaderAt with its size, if r supports that and is at its beginning.
func randomAccess(r io.Reader) (io.ReaderAt, int64) {
	if s, ok := r.(io.Seeker); ok {
		if pos, err := s.Seek(0, io.SeekCurrent); err != nil || pos != 0 {
			return nil, 0
		}
	}
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			return f, st.Size()
		}
		return nil, 0
	}
	if s, ok := r.(sized); ok {
		return s, s.Size()
	}
	return nil, 0
}

func compression(head []byte) string {
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		return "gzip"
	case len(head) >= 4 && string(head[:4]) == "\x28\xb5\x2f\xfd":
		return "zstd"
	}
	return ""
}

// unpackMemory bounds the window of a zstd frame, so that hostile input cannot exhaust memory. It
// is the default window of zstd --long.
const unpackMemory = 128 << 20

func unpack(r io.Reader, how string) (io.Reader, func(), error) {
	if how == "gzip" {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot unpack it: %w", err)
		}
		return z, func() {}, nil
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(unpackMemory), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot unpack it: %w", err)
	}
	return z, z.Close, nil
}

// inputError returns an error stating that the input failed, as opposed to the trace in it. It
// returns nil for nil.
func inputError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the input broke off (%w)", err)
	}
	return fmt.Errorf("cannot read on: %w", err)
}

// FirstVersion and LastVersion bound the supported versions of the trace format, given as the minor
// versions of Go that introduced them.
const (
	FirstVersion = 11
	LastVersion  = 26
)

// firstGenerational is the first version whose traces consist of generations.
const firstGenerational = 22

// errEmpty is the error for empty input.
var errEmpty = errors.New("it is empty; a trace is complete only after trace.Stop, or for -trace after the program ended")

// parseHeader returns the minor version of Go of a trace from its first bytes. For other input, it
// returns an error that describes what the input looks like.
func parseHeader(b []byte) (version int, err error) {
	if len(b) == 0 {
		return 0, errEmpty
	}
	const prefix = "go 1."
	if n := min(len(b), len(prefix)); string(b[:n]) != prefix[:n] {
		return 0, fmt.Errorf("not a Go execution trace: %s", looksLike(b))
	}
	if len(b) < headerSize {
		return 0, fmt.Errorf("the trace ends in its header, after %d of %d bytes", len(b), headerSize)
	}
	number, ok := strings.CutSuffix(string(bytes.TrimRight(b[len(prefix):headerSize], "\x00")), " trace")
	minor, err := strconv.ParseUint(number, 10, 20)
	if !ok || err != nil {
		return 0, fmt.Errorf("not a Go execution trace: %s", looksLike(b))
	}
	switch version = int(minor); {
	case version > LastVersion:
		return version, fmt.Errorf("a trace of Go 1.%d, but this version reads traces of Go 1.%d to 1.%d: update bottleneck", version, FirstVersion, LastVersion)
	case version < FirstVersion:
		return version, fmt.Errorf("a trace of Go 1.%d, but only traces of Go 1.%d to 1.%d can be read: record it again with a newer Go", version, FirstVersion, LastVersion)
	}
	return version, nil
}

// looksLike describes input that is not a trace in a few words.
func looksLike(b []byte) string {
	text := strings.ToLower(strings.TrimSpace(string(b)))
	switch {
	case begins(text, "<!doctype", "<html", "<head", "<?xml"):
		return "it is an HTML or XML page"
	case begins(text, "{", "["):
		return "it looks like JSON"
	case begins(string(b), "\x7fELF"):
		return "it is a program"
	case begins(string(b), "PK\x03\x04"):
		return "it is a zip archive: unpack it first"
	case begins(string(b), "BZh", "\xfd7zXZ"):
		return "it is compressed in a form that cannot be read here: unpack it first"
	case isProfile(b):
		return "it is a profile for go tool pprof; ask net/http/pprof for /debug/pprof/trace?seconds=5, and exporters/live for format=json or a trace"
	}
	if len(b) > 16 {
		b = b[:16]
	}
	return fmt.Sprintf("it begins with %q", b)
}

// isProfile reports whether b begins like a pprof profile that the runtime writes: with a value type,
// a message of two numbers, or with a time before it. No text begins like that.
func isProfile(b []byte) bool {
	if len(b) > 0 && b[0] == 9<<3 { // time_nanos
		_, n := binary.Uvarint(b[1:])
		b = b[1+max(0, n):]
	}
	if len(b) < 5 || b[0] != 1<<3|2 && b[0] != 11<<3|2 || b[2] != 1<<3 { // sample_type, period_type
		return false
	}
	_, n := binary.Uvarint(b[3:])
	return n > 0 && len(b) > 3+n && b[3+n] == 2<<3
}
