package query

import (
	"strconv"
	"strings"
)

// An expression of the language is a tree of nodes. Filters denote sets of quanta, metrics denote
// numbers.

type nodeOp uint8

const (
	opOr nodeOp = iota
	opAnd
	opNot
	opCompare // word is the relation
	opIn      // list
	opText    // field, word is the relation, text
	opTextIn  // field, texts
	opAll
	opNone
	opFirst // count, span, each
	opLast
	opDuring // span, or two kids
	opBetween
	opKnown // a kid, or a field
	opAdd
	opSub
	opMul
	opDiv
	opNeg
	opMin
	opMax
	opAbs
	opChange
	opNumber
	opName   // word
	opQuoted // word: the counter of exactly this name
)

// node is an operation with its operands. Its op determines which fields are used.
type node struct {
	op    nodeOp
	pos   int // in bytes
	word  string
	kids  []*node
	num   float64 // including the suffix
	plain float64 // as written, before the suffix
	count int
	list  []interval
	texts []string
	field string
	span  string
	each  string
}

// interval is an item of a list of numbers, with inclusive ends. A single number is both ends.
type interval struct{ low, high *node }

// isSet reports whether the node is a filter rather than a metric.
func (n *node) isSet() bool { return n.op < opAdd }

// binding returns the precedence of an operation; higher binds tighter.
func (n *node) binding() int {
	switch n.op {
	case opOr:
		return 1
	case opAnd:
		return 2
	case opNot:
		return 3
	case opCompare, opIn, opText, opTextIn:
		return 4
	case opAdd, opSub:
		return 5
	case opMul, opDiv:
		return 6
	case opNeg:
		return 7
	}
	return 8
}

var infix = map[nodeOp]string{opOr: " || ", opAnd: " && ", opAdd: " + ", opSub: " - ", opMul: " * ", opDiv: " / "}

var callNames = map[nodeOp]string{
	opFirst: "first", opLast: "last", opDuring: "during", opBetween: "between", opKnown: "known",
	opMin: "min", opMax: "max", opAbs: "abs", opChange: "change",
}

// String returns the canonical form, which parses to the same tree.
func (n *node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	switch n.op {
	case opOr, opAnd, opAdd, opSub, opMul, opDiv:
		n.kids[0].writeWithin(b, n.binding())
		b.WriteString(infix[n.op])
		n.kids[1].writeWithin(b, n.binding()+1)
	case opNot:
		b.WriteByte('!')
		n.kids[0].writeWithin(b, 8)
	case opNeg:
		b.WriteByte('-')
		n.kids[0].writeWithin(b, n.binding())
	case opCompare:
		n.kids[0].write(b)
		b.WriteString(" " + n.word + " ")
		n.kids[1].write(b)
	case opIn, opText, opTextIn:
		n.writeTest(b)
	case opAll:
		b.WriteString("all")
	case opNone:
		b.WriteString("none")
	case opNumber:
		b.WriteString(formatNumber(n.plain) + n.word)
	case opName:
		b.WriteString(n.word)
	case opQuoted:
		b.WriteString(quote(n.word))
	default:
		n.writeCall(b)
	}
}

// writeWithin writes the node, in parentheses if it binds less tightly than binding.
func (n *node) writeWithin(b *strings.Builder, binding int) {
	if n.binding() >= binding {
		n.write(b)
		return
	}
	b.WriteByte('(')
	n.write(b)
	b.WriteByte(')')
}

func (n *node) writeTest(b *strings.Builder) {
	switch n.op {
	case opText:
		b.WriteString(n.field + " " + n.word + " " + n.value(n.texts[0]))
	case opTextIn:
		b.WriteString(n.field + " in (")
		for i, text := range n.texts {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(n.value(text))
		}
		b.WriteByte(')')
	default:
		n.kids[0].write(b)
		b.WriteString(" in (")
		for i, item := range n.list {
			if i > 0 {
				b.WriteString(", ")
			}
			item.low.write(b)
			if item.high != item.low {
				b.WriteString("..")
				item.high.write(b)
			}
		}
		b.WriteByte(')')
	}
}

// value formats the value of a field: as a bare word if the field has a fixed set of values.
func (n *node) value(text string) string {
	if fieldValues(n.field) != nil && n.word != "=~" && n.word != "!~" {
		return text
	}
	return quote(text)
}

func (n *node) writeCall(b *strings.Builder) {
	b.WriteString(callNames[n.op] + "(")
	var args []string
	switch n.op {
	case opFirst, opLast:
		args = append(args, strconv.Itoa(n.count))
	case opBetween:
		args = append(args, quote(n.texts[0]), quote(n.texts[1]))
	}
	switch {
	case n.span == gcSpan:
		args = append(args, "gc")
	case n.op == opFirst || n.op == opLast || n.op == opDuring && len(n.kids) == 0:
		args = append(args, quote(n.span))
	}
	if n.each != "" {
		args = append(args, n.each)
	}
	if n.field != "" {
		args = append(args, n.field)
	}
	for _, kid := range n.kids {
		args = append(args, kid.String())
	}
	b.WriteString(strings.Join(args, ", ") + ")")
}

// formatNumber formats a number of 0 or more as JSON and JavaScript do.
func formatNumber(v float64) string {
	if v != 0 && (v < 1e-6 || v >= 1e21) {
		s := strconv.FormatFloat(v, 'e', -1, 64)
		return strings.Replace(s, "e-0", "e-", 1)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// quote returns a JSON string with minimal escaping.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			b.WriteString(`\u00`)
			b.WriteByte("0123456789abcdef"[r>>4])
			b.WriteByte("0123456789abcdef"[r&15])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
