package counters

import (
	"slices"

	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

func callOf(name string) (nodeOp, bool) {
	for op, n := range callNames {
		if n == name {
			return op, true
		}
	}
	return 0, false
}

// call parses the arguments of what is called like a function.
func (l *lexer) call(op nodeOp, pos int) *node {
	n := l.operation(op, pos)
	l.must("(")
	switch op {
	case opFirst, opLast:
		l.ranked(n)
	case opDuring:
		if n.span = l.maybeSpan(); n.span == "" {
			n.kids = append(n.kids, l.wantNumber(l.nested(l.sum)))
			l.must(",")
			n.kids = append(n.kids, l.wantNumber(l.nested(l.sum)))
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
			n.kids = append(n.kids, l.wantNumber(l.nested(l.or)))
		}
	case opMin, opMax:
		n.kids = append(n.kids, l.wantNumber(l.nested(l.or)))
		for l.take(",") {
			l.item()
			n.kids = append(n.kids, l.wantNumber(l.nested(l.or)))
		}
	default:
		n.kids = append(n.kids, l.wantNumber(l.nested(l.or)))
	}
	l.must(")")
	return n
}

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

// between parses two texts of markers.
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

// maybeSpan parses the name of a span, if one comes next: gc, or a string that nothing but "," or
// ")" follows.
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

// wantConstant fails at the first name in a number that must not depend on the quantum.
func (l *lexer) wantConstant(n *node) {
	if n.op == opName || n.op == opQuoted || n.op == opChange {
		l.failAt(n.pos, "expected a time that does not depend on the quantum, such as 2ms", "")
	}
	for _, kid := range n.kids {
		l.wantConstant(kid)
	}
}
