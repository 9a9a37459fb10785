package query

import (
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is an error in a [Query] or an expression. It also reports valid expressions with names
// that a recording does not have. In JSON it is {"error":…, "part":…, "pos":…}.
type Error struct {
	Part    string // of the query: filter, against, stats, table, …; "" for a single expression
	Input   string // the expression
	Pos     int    // in its code points (Unicode characters), from 0; −1 if there is none
	Message string
}

// Error returns the error with its position, counted from 1.
func (e *Error) Error() string {
	if e.Part != "" {
		return "query: " + e.Part + ": " + e.text()
	}
	return e.text()
}

func (e *Error) text() string {
	if e.Pos < 0 {
		return e.Message
	}
	return "at character " + strconv.Itoa(e.Pos+1) + ": " + e.Message
}

// MarshalJSON returns the error as JSON.
func (e *Error) MarshalJSON() ([]byte, error) {
	out := map[string]any{"error": e.text(), "part": e.Part}
	if e.Pos >= 0 {
		out["pos"] = e.Pos
	}
	return json.Marshal(out)
}

// quote returns a JSON string.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // cannot fail
	return strings.TrimSpace(b.String())
}

// lexer reads an expression. The parser requests the kind of token it expects, because a "-" is
// part of a word in some places and an operator in others. An error is a panic with an *Error.
type lexer struct {
	text string
	at   int // in bytes
}

// errorAt returns an error at a byte of the text, with a suggestion if near is not "".
func (l *lexer) errorAt(at int, message, near string) *Error {
	if near != "" {
		message += "; did you mean " + near + "?"
	}
	return &Error{Input: l.text, Pos: utf8.RuneCountInString(l.text[:at]), Message: message}
}

func (l *lexer) failAt(at int, message, near string) { panic(l.errorAt(at, message, near)) }

func (l *lexer) fail(message string) { l.failAt(l.pos(), message, "") }

// expected fails because the next token is not what was expected.
func (l *lexer) expected(what string) { l.fail("expected " + what + ", not " + l.next()) }

// pos returns the position of the next token.
func (l *lexer) pos() int {
	l.at = len(l.text) - len(strings.TrimLeft(l.text[l.at:], " \t\r\n"))
	return l.at
}

// take consumes the first of the signs that is next, and returns it; "" if none is.
func (l *lexer) take(signs ...string) string {
	rest := l.text[l.pos():]
	for _, sign := range signs {
		if strings.HasPrefix(rest, sign) {
			l.at += len(sign)
			return sign
		}
	}
	return ""
}

func (l *lexer) must(sign string) {
	if l.take(sign) == "" {
		l.expected(sign)
	}
}

// list calls item for each item of a list with commas.
func (l *lexer) list(item func()) {
	for more := true; more; more = l.take(",") != "" {
		item()
	}
}

// next returns the next token, for messages.
func (l *lexer) next() string {
	rest := l.text[l.pos():]
	if rest == "" {
		return "the end"
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !isNameByte(r) })
	if end < 0 {
		end = len(rest)
	} else if end == 0 {
		_, end = utf8.DecodeRuneInString(rest)
	}
	return quote(rest[:min(end, 40)])
}

func isLetter(r rune) bool   { return r|0x20 >= 'a' && r|0x20 <= 'z' || r == '_' }
func isNameByte(r rune) bool { return isLetter(r) || r >= '0' && r <= '9' }
func isWordByte(r rune) bool { return isNameByte(r) || r == '.' || r == '/' || r == '-' }

// word returns the next word of the given letters, such as chan-receive; "" if there is none.
func (l *lexer) word(letters func(rune) bool) string {
	rest := l.text[l.pos():]
	if rest == "" || !isLetter(rune(rest[0])) {
		return ""
	}
	return rest[:len(rest)-len(strings.TrimLeftFunc(rest, letters))]
}

func (l *lexer) peekName() string { return l.word(isNameByte) }

func (l *lexer) name() string {
	name := l.peekName()
	l.at += len(name)
	return name
}

// quoted consumes a JSON string, if one is next.
func (l *lexer) quoted() (text string, ok bool) {
	rest := l.text[l.pos():]
	if !strings.HasPrefix(rest, `"`) {
		return "", false
	}
	d := json.NewDecoder(strings.NewReader(rest))
	switch err := d.Decode(&text); {
	case err == io.ErrUnexpectedEOF:
		l.fail("the string is not closed")
	case err != nil:
		l.fail(`not a string as in JSON: only \" \\ \/ \b \f \n \r \t \u1234 are escapes`)
	}
	l.at += int(d.InputOffset())
	return text, true
}

// suffixes are the units that a number may have.
var suffixes = map[string]struct {
	scale float64
	unit  unit
}{
	"": {1, free}, "ns": {1, nanoseconds}, "us": {1e3, nanoseconds}, "ms": {1e6, nanoseconds}, "s": {1e9, nanoseconds},
	"B": {1, inBytes}, "kB": {1e3, inBytes}, "MB": {1e6, inBytes}, "GB": {1e9, inBytes},
	"KiB": {1 << 10, inBytes}, "MiB": {1 << 20, inBytes}, "GiB": {1 << 30, inBytes},
}

var digits = regexp.MustCompile(`^\d+(\.\d+)?([eE][-+]?\d+)?`)

// numeral consumes a number with its suffix, if one is next.
func (l *lexer) numeral() (value float64, u unit, ok bool) {
	pos := l.pos()
	text := digits.FindString(l.text[pos:])
	if text == "" {
		return 0, u, false
	}
	l.at += len(text)
	value, _ = strconv.ParseFloat(text, 64) // infinite if it is too large
	at, name := l.at, ""
	switch rest := l.text[at:]; {
	case strings.HasPrefix(rest, "µs"), strings.HasPrefix(rest, "μs"): // the micro sign and the Greek letter
		name = "us"
		l.at += len("µs")
	case rest != "" && isLetter(rune(rest[0])):
		name = l.name()
	}
	suffix, known := suffixes[name]
	if !known {
		l.failAt(at, "unknown unit "+quote(name)+" of a number: want ns, us, ms, s, B, kB, MB, GB, KiB, MiB or GiB", "")
	}
	if value *= suffix.scale; math.IsInf(value, 0) {
		l.failAt(pos, "the number is too large", "")
	}
	return value, suffix.unit, true
}
