package timeline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// FirstVersion and LastVersion bound the versions of the trace format that can
// be read, as the minor versions of Go that introduced them.
const (
	FirstVersion = 11
	LastVersion  = 26
)

// firstGenerational is the version since which traces consist of generations.
const firstGenerational = 22

// errEmpty is what an empty input gets.
var errEmpty = errors.New("it is empty; a trace is complete only after trace.Stop, or for -trace after the program ended")

// parseHeader returns the minor version of Go of a trace from its first bytes.
// What is not a trace gets an error that says what it looks like instead.
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
	rest := b[len(prefix):headerSize]
	i := 0
	for i < len(rest) && '0' <= rest[i] && rest[i] <= '9' {
		version = version*10 + int(rest[i]-'0')
		i++
	}
	if i == 0 || i > 6 || string(bytes.TrimRight(rest[i:], "\x00")) != " trace" {
		return 0, fmt.Errorf("not a Go execution trace: %s", looksLike(b))
	}
	switch {
	case version > LastVersion:
		return version, fmt.Errorf("a trace of Go 1.%d, but this version reads traces of Go 1.%d to 1.%d: update bottleneck", version, FirstVersion, LastVersion)
	case version < FirstVersion:
		return version, fmt.Errorf("a trace of Go 1.%d, but only traces of Go 1.%d to 1.%d can be read: record it again with a newer Go", version, FirstVersion, LastVersion)
	}
	return version, nil
}

// looksLike describes foreign input in a few words.
func looksLike(b []byte) string {
	text := strings.ToLower(strings.TrimSpace(string(b)))
	switch {
	case strings.HasPrefix(text, "<!doctype"), strings.HasPrefix(text, "<html"), strings.HasPrefix(text, "<head"), strings.HasPrefix(text, "<?xml"):
		return "it is an HTML or XML page"
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return "it looks like JSON"
	case bytes.HasPrefix(b, []byte("\x7fELF")):
		return "it is a program"
	case bytes.HasPrefix(b, []byte("PK\x03\x04")):
		return "it is a zip archive: unpack it first"
	case bytes.HasPrefix(b, []byte("BZh")), bytes.HasPrefix(b, []byte("\xfd7zXZ")):
		return "it is compressed in a form that cannot be read here: unpack it first"
	case isProfile(b):
		return "it is a profile for go tool pprof; ask net/http/pprof for /debug/pprof/trace?seconds=5, and exporters/live for format=json or a trace"
	}
	if len(b) > 16 {
		b = b[:16]
	}
	return fmt.Sprintf("it begins with %q", b)
}

// isProfile tells a profile for pprof, a message of profile.proto: after numbers, if any, comes a
// type of values, which is a message of two numbers. No text begins like that. 16 bytes are enough
// for those that the runtime writes.
func isProfile(b []byte) bool {
	number := func(b []byte) []byte {
		_, n := binary.Uvarint(b)
		return b[max(0, n):]
	}
	for len(b) > 1 {
		field := b[0]
		b = b[1:]
		switch field {
		case 7 << 3, 8 << 3, 9 << 3, 10 << 3, 12 << 3, 14 << 3: // from drop_frames to default_sample_type
			b = number(b)
		case 1<<3 | 2, 11<<3 | 2: // sample_type, period_type
			size := int(b[0])
			if b = b[1:]; len(b) < size || size < 4 || b[0] != 1<<3 {
				return false
			}
			unit := number(b[1:size])
			return len(unit) > 1 && unit[0] == 2<<3 && len(number(unit[1:])) == 0
		default:
			return false
		}
	}
	return false
}
