package query

import (
	"encoding/json"
	"fmt"
	"io"
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

// This file parses the language of filters and metrics by precedence climbing. CheckFilter
// describes its meaning.
//
//	expression = operand { operator operand } | field relation value
//	           | field "in" "(" value { "," value } ")"
//	           | expression "in" ( range | "(" range { "," range } ")" ) | "!" expression .
//	operand    = "-" operand | "(" expression ")" | number | name | string | "all" | "none"
//	           | function "(" … ")" .
//
// A filter is an expression that denotes a set of quanta, a metric one that denotes a number. A "("
// may open either: the operators check their operands.

// node is an operation of an expression, or a leaf. Filters denote sets of quanta, metrics numbers.
type node struct {
	op    string // an operator, a function, or one of the constants below
	pos   int    // in bytes
	kids  []*node
	text  string  // of a leaf: the name, the text, or the unit of a number
	value float64 // of a number, including the unit
}

const (
	opNot    = "!"
	opIn     = "in" // a number or field, then numbers and ranges, or texts
	opRange  = ".."
	opNeg    = "negative"
	opNumber = "number"
	opName   = "name"
	opString = "string" // a text, or the counter of exactly this name
	opField  = "field"
	opWord   = "word" // a text that needs no quotes
)

// bindings are the precedences of operators; higher ones bind tighter.
var bindings = map[string]int{
	"||": 1, "&&": 2, opNot: bindNot, "=": bindTest, "!=": bindTest, "<": bindTest, "<=": bindTest, ">": bindTest, ">=": bindTest, "=~": bindTest, "!~": bindTest, opIn: bindTest,
	"+": bindSum, "-": bindSum, "*": 6, "/": 6, opNeg: bindNeg,
}

const bindNot, bindTest, bindSum, bindNeg = 3, 4, 5, 7

// operators lists the infix operators, longer ones before their prefixes.
var operators = []string{"||", "&&", "==", "=~", "=", "!=", "!~", "<=", "<", ">=", ">", "+", "-", "*", "/"}

var (
	setFunctions    = []string{"first", "last", "during", "between", "known"}
	numberFunctions = []string{"min", "max", "abs", "change"}
)

// isSet reports whether the node is a filter rather than a metric.
func (n *node) isSet() bool {
	b := bindings[n.op]
	return b > 0 && b <= bindTest || n.op == "all" || n.op == "none" || slices.Contains(setFunctions, n.op)
}

// quote returns a JSON string.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // cannot fail
	return strings.TrimSpace(b.String())
}

// gcSpan is the span that "gc" stands for in a filter: the phase between the two pauses of a
// collection.
const gcSpan = "GC concurrent mark phase"

// maxText bounds an expression, in bytes, and so its depth and operations. Input from a page is
// untrusted until it has been parsed.
const maxText = 16 << 10

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

// syntaxError returns an error at a byte of a text, with a suggestion if near is not "".
func syntaxError(text string, at int, message, near string) *Error {
	if near != "" {
		message += "; did you mean " + near + "?"
	}
	return &Error{Input: text, Pos: utf8.RuneCountInString(text[:at]), Message: message}
}

// parse parses a whole text.
func parse(text string, rule func(*lexer) *node) (n *node, err error) {
	switch {
	case len(text) > maxText:
		return nil, &Error{Input: text[:0], Message: "the text is longer than 16384 bytes"}
	case !utf8.ValidString(text):
		return nil, &Error{Message: "the text is not valid UTF-8"}
	}
	defer recovered(&err)
	l := &lexer{text: text}
	n = rule(l)
	if l.pos() < len(text) {
		l.fail("unexpected " + l.next())
	}
	return n, nil
}

// recovered turns the panic of a parser or evaluator into an error. It is deferred.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}

// lexer reads an expression. The parser requests the kind of token it expects, because a "-" is
// part of a word in some places and an operator in others.
type lexer struct {
	text string
	at   int // in bytes
}

func (l *lexer) filter() *node { return l.wantSet(l.expression(1)) }
func (l *lexer) metric() *node { return l.wantNumber(l.expression(1)) }

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

func operation(op string, pos int, kids ...*node) *node { return &node{op: op, pos: pos, kids: kids} }

// expression parses operands and the operators between them that bind at least as tightly as least.
func (l *lexer) expression(least int) (n *node) {
	start := l.pos()
	switch {
	case least <= bindNot && l.take(opNot):
		n = operation(opNot, start, l.wantSet(l.expression(bindNot)))
	case least <= bindTest && isField(l.peekName()):
		n = l.textTest()
	default:
		n = l.operand()
	}
	for {
		at := l.pos()
		op, binding := l.operator(least, n)
		switch {
		case op == "":
			return n
		case op == opIn:
			n = operation(opIn, start, append([]*node{n}, l.ranges()...)...)
		case op == "=~" || op == "!~":
			l.failAt(at, "a regular expression needs text on its left: group, kind, func, caller, ended or wait", "")
		case binding == bindTest:
			n = operation(op, start, n, l.wantNumber(l.expression(bindSum)))
		case binding < bindTest:
			n = operation(op, at, l.wantSet(n), l.wantSet(l.expression(binding+1)))
		default:
			n = operation(op, at, l.wantNumber(n), l.wantNumber(l.expression(binding+1)))
		}
	}
}

// operator consumes the next operator if it may follow n and binds at least as tightly as least.
func (l *lexer) operator(least int, n *node) (op string, binding int) {
	before, test := l.at, least <= bindTest && !n.isSet()
	if test && l.peekName() == opIn {
		return l.name(), bindTest
	}
	for _, op := range operators {
		if !l.take(op) {
			continue
		}
		if op == "==" {
			op = "="
		}
		if b := bindings[op]; b >= least && (b != bindTest || test) {
			return op, b
		}
		break
	}
	l.at = before
	return "", 0
}

// textTest parses the test of a field.
func (l *lexer) textTest() *node {
	pos := l.pos()
	field := &node{op: opField, pos: pos, text: l.name()}
	if l.peekName() == opIn {
		l.name()
		n := operation(opIn, pos, field)
		l.must("(")
		for more := true; more; more = l.take(",") {
			n.kids = append(n.kids, l.value(field.text, false))
		}
		l.must(")")
		return n
	}
	at := l.pos()
	relation, _ := l.operator(bindTest, field)
	if !slices.Contains([]string{"=", "!=", "=~", "!~"}, relation) {
		l.failAt(at, field.text+" is text: test it with =, !=, =~, !~ or in", "")
	}
	return operation(relation, pos, field, l.value(field.text, relation[1:] == "~"))
}

// value parses and checks the text with which a field is compared.
func (l *lexer) value(field string, pattern bool) *node {
	pos := l.pos()
	n := l.quoted()
	if n == nil {
		n = &node{op: opString, pos: pos, text: l.word(isWordByte)}
		l.at += len(n.text)
		if n.text == "" {
			l.failAt(pos, "expected a string or a word, not "+l.next(), "")
		}
	}
	values := fieldValues[field]
	switch {
	case pattern:
		if _, err := regexp.Compile(n.text); err != nil {
			l.failAt(pos, "regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "")
		}
	case values == nil:
	case slices.Contains(values, n.text):
		n.op = opWord
	default:
		l.failAt(pos, field+" is never "+quote(n.text), spelling.Nearest(n.text, values))
	}
	return n
}

// ranges parses one or more numbers or ranges of them.
func (l *lexer) ranges() (list []*node) {
	if !l.take("(") {
		return []*node{l.rangeOf()}
	}
	for more := true; more; more = l.take(",") {
		list = append(list, l.rangeOf())
	}
	l.must(")")
	return list
}

func (l *lexer) rangeOf() *node {
	pos := l.pos()
	low := l.signed()
	if !l.take(opRange) {
		return low
	}
	return &node{op: opRange, pos: pos, kids: []*node{low, l.signed()}}
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

func (l *lexer) operand() *node {
	pos := l.pos()
	if l.take("-") {
		return operation(opNeg, pos, l.wantNumber(l.expression(bindNeg)))
	}
	if l.take("(") {
		n := l.expression(1)
		l.must(")")
		return n
	}
	if n := l.number(); n != nil {
		return n
	}
	if n := l.quoted(); n != nil {
		return n
	}
	name := l.name()
	switch {
	case name == "":
		l.failAt(pos, "expected a name, a number or a test, not "+l.next(), "")
	case isField(name):
		l.failAt(pos, name+" is text, not a number", "")
	case name == opIn:
		l.failAt(pos, `expected a number before "in"`, "")
	case name == "all" || name == "none":
		return &node{op: name, pos: pos}
	case slices.Contains(setFunctions, name) || slices.Contains(numberFunctions, name):
		return l.call(operation(name, pos))
	}
	return &node{op: opName, pos: pos, text: name}
}

// call parses the arguments of a function.
func (l *lexer) call(n *node) *node {
	add := func(kid *node) { n.kids = append(n.kids, kid) }
	l.must("(")
	switch n.op {
	case "first", "last":
		pos := l.pos()
		count := l.number()
		if count == nil || count.text != "" || count.value != float64(int32(count.value)) || count.value < 1 {
			l.failAt(pos, "expected a whole number of quanta from 1 to 2147483647", "")
		}
		add(count)
		l.must(",")
		span := l.span()
		if span == nil {
			l.fail("expected gc or the name of a span as a string, not " + l.next())
		}
		add(span)
		l.each(n, "goroutine", "group", "proc", "thread")
	case "during":
		if span := l.span(); span != nil {
			add(span)
			break
		}
		add(l.argument())
		l.must(",")
		add(l.argument())
		for _, kid := range n.kids {
			l.wantConstant(kid)
		}
	case "between":
		for i := range 2 {
			if i > 0 {
				l.must(",")
			}
			text := l.quoted()
			if text == nil {
				l.fail("expected the text of a marker as a string, not " + l.next())
			}
			add(text)
		}
		l.each(n, "goroutine")
	case "known":
		if pos := l.pos(); isField(l.peekName()) {
			add(&node{op: opField, pos: pos, text: l.name()})
			break
		}
		fallthrough
	default:
		add(l.argument())
		for (n.op == "min" || n.op == "max") && l.take(",") {
			add(l.argument())
		}
	}
	l.must(")")
	return n
}

func (l *lexer) argument() *node { return l.wantNumber(l.expression(1)) }

// each parses an optional last argument, one of the allowed words.
func (l *lexer) each(n *node, allowed ...string) {
	if !l.take(",") {
		return
	}
	word := &node{op: opWord, pos: l.pos(), text: l.name()}
	if !slices.Contains(allowed, word.text) {
		l.failAt(word.pos, "expected "+allowed[0]+" here", spelling.Nearest(word.text, allowed))
	}
	n.kids = append(n.kids, word)
}

// span parses the name of a span, if one is next: gc or a string.
func (l *lexer) span() *node {
	pos := l.pos()
	if l.peekName() == "gc" {
		return &node{op: opWord, pos: pos, text: l.name()}
	}
	n := l.quoted()
	switch {
	case n == nil:
	case n.text == "":
		l.failAt(pos, "a span has a name", "")
	case n.text == gcSpan:
		return &node{op: opWord, pos: pos, text: "gc"}
	}
	return n
}

// wantConstant fails at the first name in an expression that must not depend on the quantum.
func (l *lexer) wantConstant(n *node) {
	if n.op == opName || n.op == opString || n.op == "change" {
		l.failAt(n.pos, "expected a time that does not depend on the quantum, such as 2ms", "")
	}
	for _, kid := range n.kids {
		l.wantConstant(kid)
	}
}

func isField(name string) bool {
	return slices.Contains([]string{"group", "kind", "func", "caller", "ended", "wait"}, name)
}

// fieldValues are the values of the fields with a fixed set of them.
var fieldValues = map[string][]string{
	"kind":  names([]timeline.Kind{timeline.Application, timeline.GC, timeline.Runtime, timeline.Tracer}),
	"ended": names(quanta.Endings()), "wait": names(timeline.Waits()),
}

func names[T fmt.Stringer](values []T) (out []string) {
	for _, v := range values {
		out = append(out, v.String())
	}
	return out
}

func (l *lexer) failAt(at int, message, near string) {
	panic(syntaxError(l.text, at, message, near))
}

func (l *lexer) fail(message string) { l.failAt(l.pos(), message, "") }

// pos returns the position of the next token.
func (l *lexer) pos() int {
	l.at = len(l.text) - len(strings.TrimLeft(l.text[l.at:], " \t\r\n"))
	return l.at
}

// take consumes a symbol of the language if it is next.
func (l *lexer) take(sign string) bool {
	if !strings.HasPrefix(l.text[l.pos():], sign) {
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

// quoted parses a JSON string, if one is next.
func (l *lexer) quoted() *node {
	n := &node{op: opString, pos: l.pos()}
	rest := l.text[l.at:]
	if !strings.HasPrefix(rest, `"`) {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(rest))
	switch err := d.Decode(&n.text); {
	case err == io.ErrUnexpectedEOF:
		l.fail("the string is not closed")
	case err != nil:
		l.fail(`not a string as in JSON: only \" \\ \/ \b \f \n \r \t \u1234 are escapes`)
	}
	l.at += int(d.InputOffset())
	return n
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
	n.value, _ = strconv.ParseFloat(text, 64) // infinite if it is too large
	scale := 1.0
	switch rest := l.text[l.at:]; {
	case strings.HasPrefix(rest, "µs"), strings.HasPrefix(rest, "μs"): // the micro sign and the Greek letter
		n.text, scale = "us", 1e3
		l.at += len("µs")
	case rest != "" && isLetter(rune(rest[0])):
		at := l.at
		n.text = l.name()
		suffix, ok := suffixes[n.text]
		if !ok {
			l.failAt(at, "unknown unit "+quote(n.text)+" of a number: want ns, us, ms, s, B, kB, MB, GB, KiB, MiB or GiB", "")
		}
		scale = suffix.scale
	}
	if n.value *= scale; math.IsInf(n.value, 0) {
		l.failAt(n.pos, "the number is too large", "")
	}
	return n
}
