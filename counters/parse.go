package counters

import (
	"slices"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The language of filters and metrics, by recursive descent. See the package comment for what it
// means.
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
// A "(" may open a filter or a metric: both are parsed as a filter, and what came of it is checked
// after.

// gcSpan is what "gc" stands for in a filter: the phase between the two pauses of a collection.
const gcSpan = "GC concurrent mark phase"

// parse parses a whole text.
func parse(text string, rule func(*lexer) *node) (n *node, err error) {
	switch {
	case len(text) > maxText:
		return nil, &SyntaxError{Input: text[:0], Message: "the text is longer than 16384 bytes"}
	case !utf8.ValidString(text):
		return nil, &SyntaxError{Message: "the text is not valid UTF-8"}
	}
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(stop)
			if !ok {
				panic(r)
			}
			n, err = nil, failed.err
		}
	}()
	l := &lexer{text: text}
	n = rule(l)
	if l.space(); l.at < len(text) {
		l.fail("unexpected " + l.next())
	}
	return n, nil
}

// nested counts the nesting while rule runs.
func (l *lexer) nested(rule func() *node) *node {
	if l.depth++; l.depth > maxNesting {
		l.fail("nested more than 64 deep")
	}
	n := rule()
	l.depth--
	return n
}

// operation makes a node, and counts it.
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

func (l *lexer) or() *node {
	n := l.and()
	for {
		pos := l.pos()
		if !l.take("||") {
			return n
		}
		n = l.operation(opOr, pos, l.wantSet(n), l.wantSet(l.and()))
	}
}

func (l *lexer) and() *node {
	n := l.not()
	for {
		pos := l.pos()
		if !l.take("&&") {
			return n
		}
		n = l.operation(opAnd, pos, l.wantSet(n), l.wantSet(l.not()))
	}
}

func (l *lexer) not() *node {
	pos := l.pos()
	if !l.take("!") {
		return l.test()
	}
	return l.operation(opNot, pos, l.wantSet(l.nested(l.not)))
}

// relations with the longer of two that begin alike first.
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
		l.failAt(at, "a regular expression needs text on its left: group, kind, func, ended or wait", "")
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

// textTest parses what follows the name of a field.
func (l *lexer) textTest(field string, pos int) *node {
	if l.peekName() == "in" {
		l.name()
		n := l.operation(opTextIn, pos)
		n.field = field
		l.must("(")
		n.texts = append(n.texts, l.value(field, ""))
		for l.take(",") {
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

// value parses the text that a field is tested for, and checks it.
func (l *lexer) value(field, relation string) string {
	l.item()
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

// item counts the items of lists.
func (l *lexer) item() {
	if l.items++; l.items > maxItems {
		l.fail("more than 4000 values")
	}
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
	l.item()
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

func (l *lexer) sum() *node {
	n := l.product()
	for {
		pos := l.pos()
		op := opAdd
		if !l.take("+") {
			if op = opSub; !l.take("-") {
				return n
			}
		}
		n = l.operation(op, pos, l.wantNumber(n), l.wantNumber(l.product()))
	}
}

func (l *lexer) product() *node {
	n := l.unary()
	for {
		pos := l.pos()
		op := opMul
		if !l.take("*") {
			if op = opDiv; !l.take("/") {
				return n
			}
		}
		n = l.operation(op, pos, l.wantNumber(n), l.wantNumber(l.unary()))
	}
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

var fields = []string{"group", "kind", "func", "ended", "wait"}

func isField(name string) bool { return slices.Contains(fields, name) }

var (
	waitValues = names(timeline.Waits())
	kindValues = names([]timeline.Kind{timeline.Application, timeline.GC, timeline.Runtime, timeline.Tracer})
)

func names[T interface{ String() string }](values []T) (out []string) {
	for _, v := range values {
		out = append(out, v.String())
	}
	return out
}

// fieldValues are the values of a field that has few; nil of others.
func fieldValues(field string) []string {
	switch field {
	case "kind":
		return kindValues
	case "ended":
		return endingNames[:]
	case "wait":
		return waitValues
	}
	return nil
}
