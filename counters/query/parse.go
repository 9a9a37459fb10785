package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// This file parses the language of filters and metrics by recursive descent. The package comment
// describes its meaning.
//
//	filter  = and { "||" and } .
//	and     = not { "&&" not } .
//	not     = "!" not | test .
//	test    = sum [ relation sum | "in" numbers ] | field relation value | field "in" "(" value { "," value } ")"
//	        | "(" filter ")" | "all" | "none" | "first(…)" | "last(…)" | "during(…)" | "between(…)" | "known(…)" .
//	sum     = product { ( "+" | "-" ) product } .
//	product = unary { ( "*" | "/" ) unary } .
//	unary   = "-" unary | number | name | string | "min(…)" | "max(…)" | "abs(…)" | "change(…)" | "(" sum ")" .
//
// A "(" may open a filter or a metric: both are parsed as a filter, and the result is checked
// afterwards.

// gcSpan is the span that "gc" stands for in a filter: the phase between the two pauses of a
// collection.
const gcSpan = "GC concurrent mark phase"

// parse parses a whole text.
func parse(text string, rule func(*lexer) *node) (n *node, err error) {
	switch {
	case len(text) > maxText:
		return nil, &SyntaxError{Input: text[:0], Message: "the text is longer than 16384 bytes"}
	case !utf8.ValidString(text):
		return nil, &SyntaxError{Message: "the text is not valid UTF-8"}
	}
	defer recovered(&err)
	l := &lexer{text: text}
	n = rule(l)
	if l.space(); l.at < len(text) {
		l.fail("unexpected " + l.next())
	}
	return n, nil
}

// recovered turns the panic of a parser or resolver into an error. It is deferred.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case *SyntaxError:
		*err = r
	default:
		panic(r)
	}
}

// nested counts the nesting depth while rule runs.
func (l *lexer) nested(rule func() *node) *node {
	if l.depth++; l.depth > maxNesting {
		l.fail("nested more than 64 deep")
	}
	n := rule()
	l.depth--
	return n
}

// operation returns a node, and counts it.
func (l *lexer) operation(op nodeOp, pos int, kids ...*node) *node {
	if l.operators++; l.operators > maxOperators {
		l.failAt(pos, "more than 500 operations", "")
	}
	return &node{op: op, pos: pos, kids: kids}
}

func (l *lexer) wantSet(n *node) *node {
	if !n.isSet() {
		l.failAt(n.pos, "this is a number, not a filter: compare it with something", "")
	}
	return n
}

func (l *lexer) wantNumber(n *node) *node {
	if n.isSet() {
		l.failAt(n.pos, "this is a filter, not a number", "")
	}
	return n
}

func (l *lexer) filter() *node { return l.wantSet(l.or()) }
func (l *lexer) metric() *node { return l.wantNumber(l.or()) }

func (l *lexer) or() *node      { return l.binary(l.and, l.wantSet, opOr) }
func (l *lexer) and() *node     { return l.binary(l.not, l.wantSet, opAnd) }
func (l *lexer) sum() *node     { return l.binary(l.product, l.wantNumber, opAdd, opSub) }
func (l *lexer) product() *node { return l.binary(l.unary, l.wantNumber, opMul, opDiv) }

// binary parses operations of one precedence between operands of one sort.
func (l *lexer) binary(operand func() *node, want func(*node) *node, ops ...nodeOp) *node {
	n := operand()
	for {
		pos := l.pos()
		i := slices.IndexFunc(ops, func(op nodeOp) bool { return l.take(strings.TrimSpace(infix[op])) })
		if i < 0 {
			return n
		}
		n = l.operation(ops[i], pos, want(n), want(operand()))
	}
}

func (l *lexer) not() *node {
	pos := l.pos()
	if !l.take("!") {
		return l.test()
	}
	return l.operation(opNot, pos, l.wantSet(l.nested(l.not)))
}

// relations lists relations, longer ones before their prefixes.
var relations = []string{"==", "=~", "=", "!=", "!~", "<=", "<", ">=", ">"}

func (l *lexer) relation() string {
	for _, r := range relations {
		if l.take(r) {
			if r == "==" {
				return "="
			}
			return r
		}
	}
	return ""
}

func (l *lexer) test() *node {
	pos := l.pos()
	if field := l.peekName(); isField(field) {
		l.name()
		return l.textTest(field, pos)
	}
	n := l.sum()
	if n.isSet() {
		return n
	}
	at := l.pos()
	switch r := l.relation(); {
	case r == "=~" || r == "!~":
		l.failAt(at, "a regular expression needs text on its left: group, kind, func, caller, ended or wait", "")
	case r != "":
		c := l.operation(opCompare, pos, n, l.wantNumber(l.sum()))
		c.word = r
		return c
	case l.peekName() == "in":
		l.name()
		in := l.operation(opIn, pos, n)
		in.list = l.intervals()
		return in
	}
	return n
}

// textTest parses the test after the name of a field.
func (l *lexer) textTest(field string, pos int) *node {
	if l.peekName() == "in" {
		l.name()
		n := l.operation(opTextIn, pos)
		n.field = field
		l.must("(")
		for more := true; more; more = l.take(",") {
			n.texts = append(n.texts, l.value(field, ""))
		}
		l.must(")")
		return n
	}
	at := l.pos()
	n := l.operation(opText, pos)
	n.field, n.word = field, l.relation()
	switch n.word {
	case "=", "!=", "=~", "!~":
	default:
		l.failAt(at, field+" is text: test it with =, !=, =~, !~ or in", "")
	}
	n.texts = []string{l.value(field, n.word)}
	return n
}

// value parses and checks the text with which a field is compared.
func (l *lexer) value(field, relation string) string {
	pos := l.pos()
	text, ok := l.quoted()
	if !ok {
		text = l.bareWord()
		if text == "" {
			l.failAt(pos, "expected a string or a word, not "+l.next(), "")
		}
	}
	if relation == "=~" || relation == "!~" {
		if _, err := compileRegexp(text); err != nil {
			l.failAt(pos, err.Error(), "")
		}
		return text
	}
	if values := fieldValues(field); values != nil && !slices.Contains(values, text) {
		l.failAt(pos, field+" is never "+quote(text), spelling.Nearest(text, values))
	}
	return text
}

// intervals parses one or more numbers or ranges of them.
func (l *lexer) intervals() []interval {
	if !l.take("(") {
		return []interval{l.interval()}
	}
	list := []interval{l.interval()}
	for l.take(",") {
		list = append(list, l.interval())
	}
	l.must(")")
	return list
}

func (l *lexer) interval() interval {
	low := l.signed()
	if !l.take("..") {
		return interval{low, low}
	}
	return interval{low, l.signed()}
}

// signed parses a number with or without a minus.
func (l *lexer) signed() *node {
	pos := l.pos()
	minus := l.take("-")
	n := l.number()
	switch {
	case n == nil:
		l.fail("expected a number, not " + l.next())
	case minus:
		return &node{op: opNeg, pos: pos, kids: []*node{n}}
	}
	return n
}

func (l *lexer) unary() *node {
	pos := l.pos()
	if l.take("-") {
		return l.operation(opNeg, pos, l.wantNumber(l.nested(l.unary)))
	}
	if l.take("(") {
		n := l.nested(l.or)
		l.must(")")
		return n
	}
	if n := l.number(); n != nil {
		return n
	}
	if name, ok := l.quoted(); ok {
		return &node{op: opQuoted, pos: pos, word: name}
	}
	name := l.name()
	switch {
	case name == "":
		l.failAt(pos, "expected a name, a number or a test, not "+l.next(), "")
	case isField(name):
		l.failAt(pos, name+" is text, not a number", "")
	case name == "all":
		return &node{op: opAll, pos: pos}
	case name == "none":
		return &node{op: opNone, pos: pos}
	case name == "in":
		l.failAt(pos, `expected a number before "in"`, "")
	}
	if op, ok := callOf(name); ok {
		return l.call(op, pos)
	}
	return &node{op: opName, pos: pos, word: name}
}

var fields = []string{"group", "kind", "func", "caller", "ended", "wait"}

func isField(name string) bool { return slices.Contains(fields, name) }

var (
	waitValues  = names(timeline.Waits())
	endingNames = names(quanta.Endings())
	kindValues  = names([]timeline.Kind{timeline.Application, timeline.GC, timeline.Runtime, timeline.Tracer})
)

func names[T interface{ String() string }](values []T) (out []string) {
	for _, v := range values {
		out = append(out, v.String())
	}
	return out
}

// fieldValues returns the values of a field with a fixed set of values; nil for others.
func fieldValues(field string) []string {
	return map[string][]string{"kind": kindValues, "ended": endingNames, "wait": waitValues}[field]
}

func callOf(name string) (nodeOp, bool) {
	for op, n := range callNames {
		if n == name {
			return op, true
		}
	}
	return 0, false
}

// call parses the arguments of a function.
func (l *lexer) call(op nodeOp, pos int) *node {
	n := l.operation(op, pos)
	l.must("(")
	switch op {
	case opFirst, opLast:
		l.ranked(n)
	case opDuring:
		if n.span = l.maybeSpan(); n.span == "" {
			n.kids = append(n.kids, l.argument())
			l.must(",")
			n.kids = append(n.kids, l.argument())
			for _, kid := range n.kids {
				l.wantConstant(kid)
			}
		}
	case opBetween:
		l.between(n)
	case opKnown:
		if field := l.peekName(); isField(field) {
			n.field = l.name()
		} else {
			n.kids = append(n.kids, l.argument())
		}
	default:
		n.kids = append(n.kids, l.argument())
		for (op == opMin || op == opMax) && l.take(",") {
			n.kids = append(n.kids, l.argument())
		}
	}
	l.must(")")
	return n
}

func (l *lexer) argument() *node { return l.wantNumber(l.nested(l.or)) }

// ranked parses "20, gc, goroutine".
func (l *lexer) ranked(n *node) {
	pos := l.pos()
	num := l.number()
	if num == nil || num.word != "" || num.num != float64(int32(num.num)) || num.num < 1 {
		l.failAt(pos, "expected a whole number of quanta from 1 to 2147483647", "")
	}
	n.count = int(num.num)
	l.must(",")
	if n.span = l.maybeSpan(); n.span == "" {
		l.fail("expected gc or the name of a span as a string, not " + l.next())
	}
	if l.take(",") {
		n.each = l.eachOf([]string{"goroutine", "group", "proc", "thread"})
	}
}

// between parses the texts of two markers.
func (l *lexer) between(n *node) {
	for i := range 2 {
		if i > 0 {
			l.must(",")
		}
		text, ok := l.quoted()
		if !ok {
			l.fail("expected the text of a marker as a string, not " + l.next())
		}
		n.texts = append(n.texts, text)
	}
	if l.take(",") {
		n.each = l.eachOf([]string{"goroutine"})
	}
}

func (l *lexer) eachOf(allowed []string) string {
	pos := l.pos()
	name := l.name()
	if !slices.Contains(allowed, name) {
		l.failAt(pos, "expected "+allowed[0]+" here", spelling.Nearest(name, allowed))
	}
	return name
}

// maybeSpan parses the name of a span, if one is next: gc, or a string followed only by "," or ")".
func (l *lexer) maybeSpan() string {
	at := l.pos()
	if l.peekName() == "gc" {
		l.name()
		return gcSpan
	}
	if name, ok := l.quoted(); ok {
		if name == "" {
			l.failAt(at, "a span has a name", "")
		}
		return name
	}
	return ""
}

// wantConstant fails at the first name in an expression that must not depend on the quantum.
func (l *lexer) wantConstant(n *node) {
	if n.op == opName || n.op == opQuoted || n.op == opChange {
		l.failAt(n.pos, "expected a time that does not depend on the quantum, such as 2ms", "")
	}
	for _, kid := range n.kids {
		l.wantConstant(kid)
	}
}

// The limits of an expression. Input from a page is untrusted until it has been parsed.
const (
	maxText      = 16 << 10 // bytes
	maxNesting   = 64
	maxOperators = 500
)

// SyntaxError is an error in an expression, with its position. It also reports valid expressions
// with names that a recording does not have.
type SyntaxError struct {
	Input   string
	Pos     int // in code points (Unicode characters), from 0
	Message string
	Near    string // suggested name, or ""
}

// Error returns the error with its position, counted from 1, and a suggestion.
func (e *SyntaxError) Error() string {
	s := "at character " + strconv.Itoa(e.Pos+1) + ": " + e.Message
	if e.Near != "" {
		s += "; did you mean " + e.Near + "?"
	}
	return s
}

// lexer reads an expression. The parser requests the kind of token it expects, because a "-" is
// part of a word in some places and an operator in others.
type lexer struct {
	text      string
	at        int // in bytes
	depth     int
	operators int
}

// failAt fails at a byte of the text, with a suggestion if near is not "".
func (l *lexer) failAt(at int, message, near string) {
	panic(syntaxError(l.text, at, message, near))
}

func syntaxError(text string, at int, message, near string) *SyntaxError {
	return &SyntaxError{Input: text, Pos: utf8.RuneCountInString(text[:at]), Message: message, Near: near}
}

func (l *lexer) fail(message string) { l.failAt(l.pos(), message, "") }

// pos returns the position of the next token.
func (l *lexer) pos() int {
	l.space()
	return l.at
}

func (l *lexer) space() {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
}

// take consumes a symbol of the language if it is next.
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

// next returns the next token, for messages.
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

// peekName returns the name that is next, or "".
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

// bareWord parses a value that needs no quotes, such as chan-receive.
func (l *lexer) bareWord() string {
	l.space()
	if l.at == len(l.text) || !isLetter(l.text[l.at]) {
		return ""
	}
	from := l.at
	l.at = l.wordEnd(isWordByte)
	return l.text[from:l.at]
}

// quoted parses a JSON string, if one is next.
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

// suffixes are the units that a number may have.
var suffixes = map[string]struct {
	scale float64
	unit  unit
}{
	"ns": {1, nanoseconds}, "us": {1e3, nanoseconds}, "ms": {1e6, nanoseconds}, "s": {1e9, nanoseconds},
	"B": {1, inBytes}, "kB": {1e3, inBytes}, "MB": {1e6, inBytes}, "GB": {1e9, inBytes},
	"KiB": {1 << 10, inBytes}, "MiB": {1 << 20, inBytes}, "GiB": {1 << 30, inBytes},
}

var numeral = regexp.MustCompile(`^\d+(\.\d+)?([eE][-+]?\d+)?`)

// number parses a number with its suffix, if one is next.
func (l *lexer) number() *node {
	n := &node{op: opNumber, pos: l.pos()}
	text := numeral.FindString(l.text[l.at:])
	if text == "" {
		return nil
	}
	l.at += len(text)
	var err error
	if n.plain, err = strconv.ParseFloat(text, 64); err != nil {
		l.failAt(n.pos, "the number is too large", "")
	}
	scale := 1.0
	switch rest := l.text[l.at:]; {
	case strings.HasPrefix(rest, "µs"), strings.HasPrefix(rest, "μs"):
		// The micro sign and the Greek letter.
		n.word, scale = "us", 1e3
		l.at += len("µs")
	case rest != "" && isLetter(rest[0]):
		at := l.at
		n.word = l.name()
		suffix, ok := suffixes[n.word]
		if !ok {
			l.failAt(at, "unknown unit "+quote(n.word)+" of a number: there are ns, us, ms, s, B, kB, MB, GB, KiB, MiB, GiB", "")
		}
		scale = suffix.scale
	}
	if n.num = n.plain * scale; math.IsInf(n.num, 0) {
		l.failAt(n.pos, "the number is too large", "")
	}
	return n
}

const maxRegexp = 1000

// compileRegexp compiles a regular expression of package regexp.
func compileRegexp(text string) (*regexp.Regexp, error) {
	if len(text) > maxRegexp {
		return nil, errors.New("the regular expression is longer than 1000 bytes")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}
