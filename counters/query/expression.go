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

func (i interval) String() string {
	if i.high == i.low {
		return i.low.String()
	}
	return i.low.String() + ".." + i.high.String()
}

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
	switch n.op {
	case opOr, opAnd, opAdd, opSub, opMul, opDiv:
		return n.kids[0].within(n.binding()) + infix[n.op] + n.kids[1].within(n.binding()+1)
	case opNot:
		return "!" + n.kids[0].within(8)
	case opNeg:
		return "-" + n.kids[0].within(n.binding())
	case opCompare:
		return n.kids[0].String() + " " + n.word + " " + n.kids[1].String()
	case opIn:
		return n.kids[0].String() + " in (" + joined(n.list, interval.String) + ")"
	case opText:
		return n.field + " " + n.word + " " + n.value(n.texts[0])
	case opTextIn:
		return n.field + " in (" + joined(n.texts, n.value) + ")"
	case opAll:
		return "all"
	case opNone:
		return "none"
	case opNumber:
		return formatNumber(n.plain) + n.word
	case opName:
		return n.word
	case opQuoted:
		return quote(n.word)
	}
	return callNames[n.op] + "(" + strings.Join(n.arguments(), ", ") + ")"
}

func joined[T any](list []T, text func(T) string) string {
	var out []string
	for _, v := range list {
		out = append(out, text(v))
	}
	return strings.Join(out, ", ")
}

// within returns the node, in parentheses if it binds less tightly than binding.
func (n *node) within(binding int) string {
	if n.binding() >= binding {
		return n.String()
	}
	return "(" + n.String() + ")"
}

// value formats the value of a field: as a bare word if the field has a fixed set of values.
func (n *node) value(text string) string {
	if fieldValues(n.field) != nil && n.word != "=~" && n.word != "!~" {
		return text
	}
	return quote(text)
}

// arguments returns those of a call.
func (n *node) arguments() (args []string) {
	switch n.op {
	case opFirst, opLast:
		args = append(args, strconv.Itoa(n.count))
	case opBetween:
		args = append(args, quote(n.texts[0]), quote(n.texts[1]))
	}
	if n.span == gcSpan {
		args = append(args, "gc")
	} else if n.span != "" {
		args = append(args, quote(n.span))
	}
	for _, word := range []string{n.each, n.field} {
		if word != "" {
			args = append(args, word)
		}
	}
	for _, kid := range n.kids {
		args = append(args, kid.String())
	}
	return args
}

// formatNumber formats a number of 0 or more as JSON and JavaScript do.
func formatNumber(v float64) string { return string(Value(v).append(nil)) }

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
