package format

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/internal/symbol"
)

// Func shortens the full name of a Go function to the form used in source code: the last element of
// the package path and the rest.
//
//	github.com/klauspost/pgzip.(*Writer).compressBlock → pgzip.(*Writer).compressBlock
//	example.com/queue/v2.Run[...].func1                → queue.Run[...].func1
//	gopkg.in/yaml.v3.Unmarshal                         → yaml.v3.Unmarshal
//
// A string that does not look like a function of a package is returned unchanged. Do not pass
// user-chosen names (regions, tasks) to Func, because it would also shorten a URL path. The result
// may be ambiguous: see [Funcs].
func Func(name string) string { return shorten(name, 1) }

// maxPath bounds the elements of a package path that Funcs tries to keep.
const maxPath = 8

// Funcs shortens names like [Func] but keeps them distinct: names that would become equal keep as
// many elements of their package paths as necessary.
func Funcs(names []string) []string {
	short := make([]string, len(names))
	keep := make([]int, len(names)) // path elements
	for i := range keep {
		keep[i] = 1
	}
	for range maxPath {
		owner := map[string]string{} // short name → the full name that has it
		clash := map[string]bool{}
		for i, name := range names {
			short[i] = shorten(name, keep[i])
			if other, ok := owner[short[i]]; ok && other != name {
				clash[short[i]] = true
			}
			owner[short[i]] = name
		}
		if len(clash) == 0 {
			return short
		}
		for i := range names {
			if clash[short[i]] {
				keep[i]++
			}
		}
	}
	// Real paths are shorter, but a dropped version element can hide the difference.
	return names
}

// shorten keeps the last keep elements of the package path.
func shorten(name string, keep int) string {
	end := strings.IndexAny(name, " [")
	if end < 0 {
		end = len(name)
	}
	slash := strings.LastIndexByte(name[:end], '/')
	if slash < 0 || strings.IndexByte(name[slash:end], '.') < 0 || name[0] == '/' {
		return name
	}
	path, rest := name[:slash], name[slash+1:]
	dot := strings.IndexByte(rest, '.')
	if symbol.IsVersion(rest[:dot]) && path != "" {
		// The package of example.com/queue/v2 is called queue.
		i := strings.LastIndexByte(path, '/')
		rest, path = path[i+1:]+rest[dot:], path[:max(i, 0)]
	}
	for ; keep > 1 && path != ""; keep-- {
		i := strings.LastIndexByte(path, '/')
		rest, path = path[i+1:]+"/"+rest, path[:max(i, 0)]
	}
	return rest
}

// Clean makes text from a trace safe to show on one line of a terminal or a picture. White space
// becomes a space. Control characters, invalid UTF-8 and characters that reorder or hide text
// (bidirectional controls, zero-width characters) become U+FFFD.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

// CleanTo is [Clean] for at most n characters: it replaces the middle of a longer text by an ellipsis.
func CleanTo(s string, n int) string {
	s = Clean(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n/2]) + "…" + string(r[len(r)-n/2+1:])
}

// isPlain reports whether s is printable ASCII, as nearly every name is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
