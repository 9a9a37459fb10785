package query

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/spelling"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// This file compiles filters and metrics to functions of a row, by precedence climbing. CheckFilter
// describes their meaning.
//
//	expression = operand { operator operand } | field relation value
//	           | field "in" "(" value { "," value } ")"
//	           | expression "in" ( range | "(" range { "," range } ")" ) | "!" expression .
//	operand    = "-" operand | "(" expression ")" | number | name | string | "all" | "none"
//	           | function "(" … ")" .
//
// A "(" may open a filter or a metric: the operators check their operands.

// term is a compiled filter or metric.
type term struct {
	metric
	in     predicate // of a filter, else nil
	pos    int       // in bytes
	varies int       // 1 + the position of the first name, if the metric depends on the quantum
}

// metric is a compiled metric. name is its text.
type metric struct {
	name string
	of   column
	unit unit
	// The sides of a quotient; nil for other metrics.
	over, under column
}

// predicate reports whether a filter selects a row.
type predicate func(row int) bool

// column returns the value of a metric for a row. NaN stands for an unknown value. Other results
// that would be NaN or infinite are unknown, too.
type column func(row int) float64

// parser compiles an expression for a recording.
type parser struct {
	lexer
	e       *Explorer
	err     *Error // the first error of the meaning, such as an unknown name: errors of syntax precede it
	changes int
}

const (
	// maxText bounds an expression, in bytes, and so its depth and operations. Input from a page is
	// untrusted until it has been parsed.
	maxText = 16 << 10
	// maxChanges bounds the changes of a metric: each nested one evaluates its argument twice.
	maxChanges = 8
)

// parse applies a rule of the grammar to a whole text. If e is nil, it finds only errors of syntax.
func parse(e *Explorer, text string, rule func(*parser)) (err error) {
	switch {
	case len(text) > maxText:
		return &Error{Message: "the text is longer than 16384 bytes"}
	case !utf8.ValidString(text):
		return &Error{Message: "the text is not valid UTF-8"}
	}
	defer func() {
		if r := recover(); r != nil {
			syntax, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = syntax
		}
	}()
	p := parser{lexer: lexer{text: text}, e: e}
	if e == nil {
		p.e = &Explorer{rec: &quanta.Recording{}}
	}
	rule(&p)
	if p.pos() < len(text) {
		p.fail("unexpected " + p.next())
	}
	if e != nil && p.err != nil {
		return p.err
	}
	return nil
}

// object notes an error of the meaning.
func (p *parser) object(at int, message, near string) {
	if p.err == nil {
		p.err = p.errorAt(at, message, near)
	}
}

// bindings are the precedences of operators; higher ones bind tighter.
var bindings = map[string]int{
	"||": 1, "&&": 2, "=": bindTest, "==": bindTest, "!=": bindTest, "<": bindTest, "<=": bindTest, ">": bindTest, ">=": bindTest, "=~": bindTest, "!~": bindTest,
	"+": bindSum, "-": bindSum, "*": 6, "/": 6,
}

const bindNot, bindTest, bindSum, bindNeg = 3, 4, 5, 7

// operators lists the infix operators, longer ones before their prefixes.
var operators = []string{"||", "&&", "==", "=~", "=", "!=", "!~", "<=", "<", ">=", ">", "+", "-", "*", "/"}

func (p *parser) filter() term { return p.wantFilter(p.expression(1)) }
func (p *parser) number() term { return p.wantNumber(p.expression(1)) }

func (p *parser) wantFilter(t term) term {
	if t.in == nil {
		p.failAt(t.pos, "this is a number, not a filter: compare it with something", "")
	}
	return t
}

func (p *parser) wantNumber(t term) term {
	if t.in != nil {
		p.failAt(t.pos, "this is a filter, not a number", "")
	}
	return t
}

// expression parses operands and the operators between them that bind at least as tightly as least.
func (p *parser) expression(least int) (t term) {
	start := p.pos()
	switch {
	case least <= bindNot && p.take("!") != "":
		in := p.wantFilter(p.expression(bindNot)).in
		t = term{in: func(row int) bool { return !in(row) }, pos: start}
	case least <= bindTest && isField(p.peekName()):
		t = p.textTest()
	default:
		t = p.operand()
	}
	for {
		at := p.pos()
		op, binding := p.operator(least, t.in == nil)
		switch {
		case op == "":
			return t
		case op == "in":
			t = term{in: where(t.of, p.ranges(t.unit)), pos: start}
		case op == "=~" || op == "!~":
			p.failAt(at, "a regular expression needs text on its left: group, kind, func, caller, ended or wait", "")
		case binding == bindTest:
			u := p.wantNumber(p.expression(bindSum))
			p.same(start, t.unit, u.unit)
			// By IEEE 754, the sign of a difference is that of the comparison: it never underflows
			// to 0, and if it overflows, the infinity has the correct sign.
			difference := combined(t.of, u.of, func(a, b float64) float64 { return a - b })
			t = term{in: where(difference, relations[op]), pos: start}
		case binding < bindTest:
			a, b := p.wantFilter(t).in, p.wantFilter(p.expression(binding+1)).in
			if t = (term{in: func(row int) bool { return a(row) || b(row) }, pos: at}); op == "&&" {
				t.in = func(row int) bool { return a(row) && b(row) }
			}
		default:
			t = p.calculate(op, at, p.wantNumber(t), p.wantNumber(p.expression(binding+1)))
		}
	}
}

// operator consumes the next operator if it may follow a term, which is a number or not, and binds
// at least as tightly as least.
func (p *parser) operator(least int, number bool) (op string, binding int) {
	before, test := p.at, number && least <= bindTest
	if test && p.peekName() == "in" {
		return p.name(), bindTest
	}
	op = p.take(operators...)
	if b := bindings[op]; b >= least && (b != bindTest || test) {
		return op, b
	}
	p.at = before
	return "", 0
}

// relations has the tests of a difference.
var relations = map[string]func(d float64) bool{
	"=":  func(d float64) bool { return d == 0 },
	"==": func(d float64) bool { return d == 0 },
	"!=": func(d float64) bool { return d < 0 || d > 0 },
	"<":  func(d float64) bool { return d < 0 },
	"<=": func(d float64) bool { return d <= 0 },
	">":  func(d float64) bool { return d > 0 },
	">=": func(d float64) bool { return d >= 0 },
}

// arithmetic has the functions of two values. The conversion keeps the compiler from fusing a
// multiplication and an addition, which would round differently on some processors.
var arithmetic = map[string]func(a, b float64) float64{
	"+":   func(a, b float64) float64 { return finite(a + b) },
	"-":   func(a, b float64) float64 { return finite(a - b) },
	"*":   func(a, b float64) float64 { return finite(float64(a * b)) },
	"/":   func(a, b float64) float64 { return finite(a / b) },
	"min": func(a, b float64) float64 { return min(a, b) },
	"max": func(a, b float64) float64 { return max(a, b) },
}

// calculate returns the metric of an arithmetic function of two others.
func (p *parser) calculate(op string, pos int, a, b term) term {
	t := term{metric: metric{of: combined(a.of, b.of, arithmetic[op])}, pos: pos, varies: cmp.Or(a.varies, b.varies)}
	switch op {
	case "*":
		t.unit = a.unit.times(b.unit, 1)
	case "/":
		t.unit, t.over, t.under = a.unit.times(b.unit, -1), a.of, b.of
	default:
		t.unit = p.same(pos, a.unit, b.unit)
	}
	return t
}

// same returns the unit of a sum or comparison. It is an error if the units differ. A free number
// has every unit.
func (p *parser) same(at int, a, b unit) unit {
	switch {
	case a.free:
		return b
	case !b.free && a != b:
		p.object(at, "the units differ: "+unitName(a)+" and "+unitName(b), "")
	}
	return a
}

func (p *parser) operand() term {
	pos := p.pos()
	switch p.take("-", "(") {
	case "-":
		t := p.wantNumber(p.expression(bindNeg))
		of := t.of
		return term{metric: metric{of: func(row int) float64 { return -of(row) }, unit: t.unit}, pos: pos, varies: t.varies}
	case "(":
		t := p.expression(1)
		p.must(")")
		return t
	}
	if v, u, ok := p.numeral(); ok {
		return term{metric: metric{of: func(int) float64 { return v }, unit: u}, pos: pos}
	}
	if text, ok := p.quoted(); ok {
		return p.named(text, true, pos)
	}
	name := p.name()
	switch {
	case name == "":
		p.expected("a name, a number or a test")
	case isField(name):
		p.failAt(pos, name+" is text, not a number", "")
	case name == "in":
		p.failAt(pos, `expected a number before "in"`, "")
	case name == "all" || name == "none":
		return term{in: func(int) bool { return name == "all" }, pos: pos}
	case slices.Contains(functions, name):
		p.must("(")
		t := p.arguments(name, pos)
		p.must(")")
		return t
	}
	return p.named(name, false, pos)
}

// named returns the metric of a name: built in unless it is quoted, or a counter.
func (p *parser) named(name string, quoted bool, pos int) term {
	t := term{metric: metric{of: unknown, unit: free}, pos: pos, varies: 1 + pos}
	if i := slices.IndexFunc(builtins, func(b builtin) bool { return b.name == name }); i >= 0 && !quoted {
		t.of, t.unit = builtins[i].of(p.e), parseUnit(builtins[i].unit)
	} else if i = p.e.counter(name, quoted); i >= 0 {
		c := &p.e.rec.Counters[i]
		t.of, t.unit = integers(c.Values, quanta.Unknown+1), parseUnit(c.Unit)
	} else if p.err == nil {
		var known []string
		for _, name := range p.e.Names() {
			known = append(known, name.Name)
		}
		p.object(pos, "this recording has no counter "+quote(name), spelling.Nearest(name, known))
	}
	return t
}

var functions = []string{"first", "last", "during", "between", "known", "min", "max", "abs", "change"}

// arguments parses the arguments of a function, and returns its result.
func (p *parser) arguments(fn string, pos int) term {
	switch fn {
	case "first", "last":
		at := p.pos()
		count, u, ok := p.numeral()
		if !ok || u != free || count != float64(int32(count)) || count < 1 {
			p.failAt(at, "expected a whole number of quanta from 1 to 2147483647", "")
		}
		p.must(",")
		span := p.span()
		if span == "" {
			p.expected("gc or the name of a span as a string")
		}
		each := p.each("goroutine", "group", "proc", "thread")
		spans := p.spans(pos, span)
		if fn == "first" {
			return term{in: p.e.first(int(count), spans, each), pos: pos}
		}
		return term{in: p.e.last(int(count), spans, each), pos: pos}
	case "during":
		if span := p.span(); span != "" {
			return term{in: p.e.duringSpans(p.spans(pos, span)), pos: pos}
		}
		return term{in: p.e.during(p.times()), pos: pos}
	case "between":
		var texts []string
		for len(texts) < 2 {
			if len(texts) == 1 {
				p.must(",")
			}
			text, ok := p.quoted()
			if !ok {
				p.expected("the text of a marker as a string")
			}
			texts = append(texts, text)
		}
		each := p.each("goroutine") != ""
		return term{in: p.e.between(p.markers(pos, texts), texts[0], texts[1], each), pos: pos}
	case "known":
		if isField(p.peekName()) {
			keys, _ := p.e.by(p.name())
			return term{in: keys.where(func(string) bool { return true }), pos: pos}
		}
		return term{in: where(p.number().of, func(v float64) bool { return v == v }), pos: pos}
	}
	t := p.number()
	of := t.of
	switch t.pos, t.over, t.under = pos, nil, nil; fn {
	case "abs":
		t.of = func(row int) float64 { return math.Abs(of(row)) }
	case "change":
		if p.changes++; p.changes > maxChanges {
			p.object(pos, "more than 8 changes in one metric", "")
		}
		t.of, t.varies = changeOf(p.e, of), 1+pos
	default:
		for p.take(",") != "" {
			t = p.calculate(fn, pos, t, p.number())
		}
	}
	return t
}

// times parses the two ends of an interval.
func (p *parser) times() (ends [2]float64) {
	varies := 0
	for i := range ends {
		if i > 0 {
			p.must(",")
		}
		t := p.number()
		if t.unit != nanoseconds && !t.unit.free {
			p.object(t.pos, "a time is needed, not "+unitName(t.unit), "")
		}
		if varies = cmp.Or(varies, t.varies); t.varies == 0 {
			ends[i] = t.of(0)
		}
	}
	if varies > 0 {
		p.failAt(varies-1, "expected a time that does not depend on the quantum, such as 2ms", "")
	}
	return ends
}

// each parses an optional last argument, one of the allowed words; "" if there is none.
func (p *parser) each(allowed ...string) string {
	if p.take(",") == "" {
		return ""
	}
	at, word := p.pos(), p.name()
	if !slices.Contains(allowed, word) {
		p.failAt(at, "expected "+allowed[0]+" here", spelling.Nearest(word, allowed))
	}
	return word
}

// span parses the name of a span, if one is next: gc or a string; else it returns "".
func (p *parser) span() string {
	pos := p.pos()
	if p.peekName() == "gc" {
		p.name()
		return gcSpan
	}
	name, ok := p.quoted()
	if ok && name == "" {
		p.failAt(pos, "a span has a name", "")
	}
	return name
}

// ranges parses one or more numbers of a unit, or ranges of them, and returns the test whether a
// value is in one.
func (p *parser) ranges(u unit) func(float64) bool {
	var ranges [][2]float64
	single := map[float64]bool{} // so that a thousand goroutines cost as little as one
	item := func() {
		low := p.signed(u)
		if p.take("..") == "" {
			single[low] = true
		} else {
			ranges = append(ranges, [2]float64{low, p.signed(u)})
		}
	}
	if p.take("(") == "" {
		item()
	} else {
		p.list(item)
		p.must(")")
	}
	return func(v float64) bool {
		for _, r := range ranges {
			if v >= r[0] && v <= r[1] {
				return true
			}
		}
		return len(single) > 0 && single[v]
	}
}

// signed parses a number of a unit, with or without a minus.
func (p *parser) signed(u unit) float64 {
	pos, minus := p.pos(), p.take("-") != ""
	v, w, ok := p.numeral()
	if !ok {
		p.expected("a number")
	}
	p.same(pos, u, w)
	if minus {
		return -v
	}
	return v
}

// textTest parses the test of a field, and does it for each of the keys once.
func (p *parser) textTest() term {
	pos, field := p.pos(), p.name()
	keys, _ := p.e.by(field)
	at, texts := p.pos(), map[string]bool{}
	if p.peekName() == "in" {
		p.name()
		p.must("(")
		p.list(func() { texts[p.value(field)] = true })
		p.must(")")
		return term{in: keys.where(func(text string) bool { return texts[text] }), pos: pos}
	}
	match := func(text string) bool { return texts[text] }
	op := p.take("==", "=~", "=", "!=", "!~")
	switch op {
	case "":
		p.failAt(at, field+" is text: test it with =, !=, =~, !~ or in", "")
	case "=~", "!~":
		match = p.pattern()
	default:
		texts[p.value(field)] = true
	}
	return term{in: keys.where(func(text string) bool { return match(text) == (op[0] == '=') }), pos: pos}
}

// literal parses a string, or a text that needs no quotes.
func (p *parser) literal() string {
	text, ok := p.quoted()
	if !ok {
		if text = p.word(isWordByte); text == "" {
			p.expected("a string or a word")
		}
		p.at += len(text)
	}
	return text
}

// pattern parses a regular expression.
func (p *parser) pattern() func(string) bool {
	pos := p.pos()
	re, err := regexp.Compile(p.literal())
	if err != nil {
		p.failAt(pos, "regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "")
	}
	return re.MatchString
}

// value parses the text with which a field is compared.
func (p *parser) value(field string) string {
	pos, text, values := p.pos(), p.literal(), fieldValues[field]
	if values != nil && !slices.Contains(values, text) {
		p.failAt(pos, field+" is never "+quote(text), spelling.Nearest(text, values))
	}
	return text
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
