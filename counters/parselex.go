package counters

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of an expression. What a page sends is hostile until it has been parsed.
const (
	maxText      = 16 << 10 // bytes
	maxNesting   = 64
	maxOperators = 500
	maxItems     = 4000 // of a list
)

// SyntaxError says where and why an expression is wrong, also when it is well formed but names
// what a recording does not have.
type SyntaxError struct {
	Input   string
	Pos     int // in code points (Unicode characters), from 0
	Message string
	Near    string // what may have been meant, or ""
}

// Error says where the text is wrong, counted from 1, how, and what may have been meant.
func (e *SyntaxError) Error() string {
	s := "at character " + strconv.Itoa(e.Pos+1) + ": " + e.Message
	if e.Near != "" {
		s += "; did you mean " + e.Near + "?"
	}
	return s
}

// MarshalJSON writes {"error": …, "pos": …}.
func (e *SyntaxError) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Error string `json:"error"`
		Pos   int    `json:"pos"`
	}{e.Error(), e.Pos})
}

// lexer reads an expression. The parser asks it for what it expects, since a "-" belongs to
// a word in some places and is an operator in others.
type lexer struct {
	text      string
	at        int // in bytes
	depth     int
	operators int
	items     int
}

// stop is what the parser panics with; ParseFilter and ParseMetric recover it.
type stop struct{ err *SyntaxError }

// failAt fails at a byte of the text.
func (l *lexer) failAt(at int, message, near string) {
	panic(stop{syntaxError(l.text, at, message, near)})
}

func syntaxError(text string, at int, message, near string) *SyntaxError {
	return &SyntaxError{Input: text, Pos: utf8.RuneCountInString(text[:at]), Message: message, Near: near}
}

func (l *lexer) fail(message string) { l.failAt(l.pos(), message, "") }

// pos is where the next token begins.
func (l *lexer) pos() int {
	l.space()
	return l.at
}

func (l *lexer) space() {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
}

// take consumes a sign of the language if it comes next.
func (l *lexer) take(sign string) bool {
	l.space()
	if !strings.HasPrefix(l.text[l.at:], sign) {
		return false
	}
	l.at += len(sign)
	return true
}

func (l *lexer) must(sign string) {
	if !l.take(sign) {
		l.fail("expected " + sign + ", not " + l.next())
	}
}

// next shows what comes next, for messages.
func (l *lexer) next() string {
	l.space()
	rest := l.text[l.at:]
	if rest == "" {
		return "the end"
	}
	end := l.wordEnd(isNameByte)
	if end == l.at {
		_, size := utf8.DecodeRuneInString(rest)
		end = l.at + size
	}
	return quote(l.text[l.at:min(end, l.at+40)])
}

func isLetter(c byte) bool   { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isNameByte(c byte) bool { return isLetter(c) || isDigit(c) }
func isWordByte(c byte) bool { return isNameByte(c) || c == '.' || c == '/' || c == '-' }

func (l *lexer) wordEnd(ok func(byte) bool) int {
	end := l.at
	for end < len(l.text) && ok(l.text[end]) {
		end++
	}
	return end
}

// peekName returns the name that comes next, or "".
func (l *lexer) peekName() string {
	l.space()
	if l.at == len(l.text) || !isLetter(l.text[l.at]) {
		return ""
	}
	return l.text[l.at:l.wordEnd(isNameByte)]
}

func (l *lexer) name() string {
	name := l.peekName()
	l.at += len(name)
	return name
}

// bareWord reads a value that needs no quotes, such as chan-receive.
func (l *lexer) bareWord() string {
	l.space()
	if l.at == len(l.text) || !isLetter(l.text[l.at]) {
		return ""
	}
	from := l.at
	l.at = l.wordEnd(isWordByte)
	return l.text[from:l.at]
}

// quoted reads a JSON string, if one comes next.
func (l *lexer) quoted() (string, bool) {
	l.space()
	if l.at == len(l.text) || l.text[l.at] != '"' {
		return "", false
	}
	end := l.at + 1
	for end < len(l.text) && l.text[end] != '"' {
		if l.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(l.text) {
		l.fail("the string is not closed")
	}
	var s string
	if json.Unmarshal([]byte(l.text[l.at:end+1]), &s) != nil {
		l.fail(`not a string as in JSON: only \" \\ \/ \b \f \n \r \t \u1234 are escapes`)
	}
	l.at = end + 1
	return s, true
}

// suffixes are the units that a number may carry.
var suffixes = map[string]struct {
	scale float64
	unit  unit
}{
	"ns": {1, nanoseconds}, "us": {1e3, nanoseconds}, "ms": {1e6, nanoseconds}, "s": {1e9, nanoseconds},
	"B": {1, inBytes}, "kB": {1e3, inBytes}, "MB": {1e6, inBytes}, "GB": {1e9, inBytes},
	"KiB": {1 << 10, inBytes}, "MiB": {1 << 20, inBytes}, "GiB": {1 << 30, inBytes},
}

// number reads a number with its suffix, if one comes next.
func (l *lexer) number() *node {
	l.space()
	end := l.wordEnd(isDigit)
	if end == l.at {
		return nil
	}
	n := &node{op: opNumber, pos: l.pos()}
	from := l.at
	l.at = end
	if strings.HasPrefix(l.text[l.at:], ".") && l.at+1 < len(l.text) && isDigit(l.text[l.at+1]) {
		l.at++
		l.at = l.wordEnd(isDigit)
	}
	l.exponent()
	plain, err := strconv.ParseFloat(l.text[from:l.at], 64)
	if err != nil {
		l.failAt(n.pos, "the number is too large", "")
	}
	n.plain, n.num = plain, plain
	switch rest := l.text[l.at:]; {
	case strings.HasPrefix(rest, "µs"), strings.HasPrefix(rest, "μs"): // the micro sign, the Greek letter
		n.word = "us"
		l.at += len("µs")
	case rest != "" && isLetter(rest[0]):
		at := l.at
		n.word = l.name()
		if _, ok := suffixes[n.word]; !ok {
			l.failAt(at, "unknown unit "+quote(n.word)+" of a number: there are ns, us, ms, s, B, kB, MB, GB, KiB, MiB, GiB", "")
		}
	}
	if n.word != "" {
		n.num = plain * suffixes[n.word].scale
	}
	if math.IsInf(n.num, 0) {
		l.failAt(n.pos, "the number is too large", "")
	}
	return n
}

// exponent reads "e-9", but leaves an e that no digit follows.
func (l *lexer) exponent() {
	rest := l.text[l.at:]
	if rest == "" || rest[0]|0x20 != 'e' {
		return
	}
	i := 1
	if i < len(rest) && (rest[i] == '+' || rest[i] == '-') {
		i++
	}
	if i < len(rest) && isDigit(rest[i]) {
		l.at += i
		l.at = l.wordEnd(isDigit)
	}
}
