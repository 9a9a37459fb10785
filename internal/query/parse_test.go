package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// canonicalMetrics are valid and invalid metrics for the round trip.
var canonicalMetrics = []string{
	"instructions/cycles", "1000*minor_faults/duration", "(a+b)*c", "a+b*c", "a-(b-c)", "a-b-c", "a/(b/c)", "a/b/c", "a*(b*c)", "-(a+b)", "-a+b", "--a", "-(-a)", "-a*b", "-(a*b)", "a- -b",
	"((a))", "min(a,b+1, c)", "max(a)", "abs(-a)", "change(change(a))", `"msr/tsc" / 2`, `"with \"quotes\" and \\"`, `"\u0041\n"`, "1.50", "1e3", "1E+3", "1e-7", "123456789012345678901234567890", "0.1us", "5µs", "5ms*2", "3KiB", "1e21ns",
	"a in b", "a b", "1 2", "a+", "(a", "a)", "min()", "min(a,)", "abs(a,b)", "all", "a > b", "group", "", "5x", "1..2", "1e", "change", "first(1,gc)", "\"a", "5 ms",
}

func canonicalFilters() (out []string) {
	for _, c := range filterCases {
		out = append(out, c.filter)
	}
	return append(out,
		"  all  ", "a=b", "a==b", "a<b&&c>d||e!=f", "(a<b||c<d)&&e<f", "a<b&&(c<d&&e<f)", "!a<b", "!(a<b)", "!all", "!!(a<b)", "((a<b))", "(a+b)*2<(c)", "a in 5", "a in (5,-3..-1, 1us..2us)",
		"group=worker", "group=a-b/c.d", `group="a b"`, "ended=\"blocked\"", "ended in (blocked,yielded)", "wait=~chan", "func!~\"^x$\"", "first(20,gc)", `first(20,"GC concurrent mark phase",goroutine)`, `last(1,"x")`,
		"during(gc)", `during("x")`, "during(1ms,2ms)", "during(-1+2*3, 5)", `between("a","b")`, `between("a","b",goroutine)`, "known(a+b)", "known(func)", "known((a))", `group =~ "(?i)a|b[^c-e]{2,3}\\."`, `group =~ "[\\]\\-a]"`,
		"duration>100us", `group = "<script>alert(1)</script>"`, "ended=prempted", "first(20)", "known()", "between(a,b)", `group =~ "[[:alpha:]]"`, `group =~ "[]a]"`, `group =~ "a**"`, `group =~ "x{1001}"`, `group =~ "]"`, `group =~ "}"`,
		`group =~ "\\b\\d\\w\\s"`, `group =~ "[\\b]"`, `group =~ "\\/"`, `group =~ "\\x41"`, `group =~ "(?:a)(?=b)"`, `group =~ "a(?i)b"`, "a &&", "|| a", "a<b<c", "(", ")", "!", "in", "a in", "a in ()", "group in ()", "group in (a,)", "group", "a", "5", "é<1", "a<é",
	)
}

// The canonical form of a tree parses to the same tree.
func TestCanonical(t *testing.T) {
	for _, text := range canonicalFilters() {
		roundTrip(t, text, parseFilter)
	}
	for _, text := range canonicalMetrics {
		roundTrip(t, text, parseMetric)
	}
	for _, c := range [][2]string{
		{"a<b&&c>d||e!=f", "a < b && c > d || e != f"}, {"(a<b||c<d)&&e<f", "(a < b || c < d) && e < f"}, {"!a<b", "!(a < b)"}, {"", "all"},
		{"(a+b)*2<(c)", "(a + b) * 2 < c"}, {"a in (5,-3..-1,1us..2us)", "a in (5, -3..-1, 1us..2us)"}, {"group=a-b/c.d", `group = "a-b/c.d"`},
		{`first(20,"GC concurrent mark phase",goroutine)`, "first(20, gc, goroutine)"}, {"ended==\"blocked\"", "ended = blocked"},
		{"wait=~chan", `wait =~ "chan"`}, {`group="\u0041\n\"\\é"`, `group = "A\n\"\\é"`},
	} {
		f, err := parseFilter(c[0])
		if err != nil || f.String() != c[1] {
			t.Errorf("%s: %v, %v; want %s", c[0], f, err, c[1])
		}
	}
	for _, c := range [][2]string{
		{"a-(b-c)", "a - (b - c)"}, {"a-b-c", "a - b - c"}, {"-(a*b)", "-(a * b)"}, {"-a*b", "-a * b"}, {"1.50", "1.5"}, {"5µs", "5us"}, {"1e3", "1000"}, {"1e-7", "1e-7"},
		{"123456789012345678901234567890", "1.2345678901234568e+29"}, {"a/b/c", "a / b / c"}, {"a/(b/c)", "a / (b / c)"},
	} {
		m, err := parseMetric(c[0])
		if err != nil || m.String() != c[1] {
			t.Errorf("%s: %v, %v; want %s", c[0], m, err, c[1])
		}
	}
}

// parseMetric parses the text of a metric.
func parseMetric(text string) (*node, error) { return parse(text, (*lexer).metric) }

func roundTrip[T fmt.Stringer](t *testing.T, text string, parse func(string) (T, error)) {
	parsed, err := parse(text)
	if err != nil {
		checkSyntaxError(t, text, err)
		return
	}
	canonical := parsed.String()
	again, err := parse(canonical)
	if err != nil {
		if len(canonical) <= maxText { // it may be longer
			t.Errorf("%q became %q: %v", text, canonical, err)
		}
		return
	}
	if again.String() != canonical {
		t.Errorf("%q became %q, and that %q", text, canonical, again)
	}
}

// checkSyntaxError checks that the error is one of the language, and that its position is in the
// text.
func checkSyntaxError(t *testing.T, text string, err error) {
	var syntax *Error
	if !errors.As(err, &syntax) {
		t.Errorf("%q: not an Error: %v", text, err)
		return
	}
	if n := len([]rune(text)); syntax.Pos < 0 || syntax.Pos > n {
		t.Errorf("%q: position %d of %d", text, syntax.Pos, n)
	}
}

func FuzzFilter(f *testing.F) {
	testenv.BriefFuzzing(f)
	for _, text := range canonicalFilters() {
		f.Add(text)
	}
	e := explorer(f, made(5, 130))
	f.Fuzz(func(t *testing.T, text string) {
		roundTrip(t, text, parseFilter)
		root, err := parseFilter(text)
		if err != nil {
			return
		}
		canonical := root.String()
		set, err := e.Select(t.Context(), text)
		if err != nil {
			checkSyntaxError(t, text, err)
			return
		}
		if CheckFilter(canonical) != nil {
			return // longer than the input
		}
		if other, err := e.Select(t.Context(), canonical); err != nil || !slices.Equal(other, set) {
			t.Errorf("%q and %q are different sets: %v", text, canonical, err)
		}
	})
}

func FuzzMetric(f *testing.F) {
	testenv.BriefFuzzing(f)
	for _, text := range canonicalMetrics {
		f.Add(text)
	}
	e := explorer(f, made(5, 130))
	f.Fuzz(func(t *testing.T, text string) {
		roundTrip(t, text, parseMetric)
		m, err := parseMetric(text)
		if err != nil {
			return
		}
		canonical := m.String()
		values, err := e.Values(t.Context(), canonical, chosen(t, e, "all"))
		if err != nil {
			checkSyntaxError(t, canonical, err)
			return
		}
		for _, v := range values {
			if v-v != 0 && v == v {
				t.Fatalf("%q is %v", text, v)
			}
		}
	})
}

// Every filter of the comment of CheckFilter means something for a recording that has what it names.
func TestFiltersOfTheComment(t *testing.T) {
	doc, err := os.ReadFile("filter.go")
	if err != nil {
		t.Fatal(err)
	}
	rec := made(1, 300)
	rec.Spans = append(rec.Spans, quanta.Span{Name: "stop-the-world (GC mark termination)", Begin: 5, End: 6})
	e := explorer(t, rec)
	_, block, _ := strings.Cut(string(doc), "compatible with every unit.\n//\n")
	block, _, _ = strings.Cut(block, "//\n// are filters")
	n := 0
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "//"))
		for filter := range strings.SplitSeq(line, "   ") {
			if filter = strings.TrimSpace(filter); filter != "" && filter != "all, none" {
				n++
				chosen(t, e, filter)
			}
		}
	}
	if n != 17 {
		t.Errorf("%d filters found", n)
	}
}

// String returns the canonical form, which parses to the same tree.
func (n *node) String() string {
	switch n.op {
	case "all", "none":
		return n.op
	case opName, opField, opWord:
		return n.text
	case opString:
		return quote(n.text)
	case opNumber:
		if n.text == "" {
			return formatNumber(n.value)
		}
		return formatNumber(n.value/suffixes[n.text].scale) + n.text
	case opRange:
		return n.kids[0].String() + ".." + n.kids[1].String()
	case opNot:
		return "!" + n.kids[0].within(bindNeg+1)
	case opNeg:
		return "-" + n.kids[0].within(bindNeg)
	case opIn:
		return n.kids[0].String() + " in (" + joined(n.kids[1:]) + ")"
	}
	if b := bindings[n.op]; b > 0 {
		return n.kids[0].within(b) + " " + n.op + " " + n.kids[1].within(b+1)
	}
	return n.op + "(" + joined(n.kids) + ")"
}

func joined(nodes []*node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.String())
	}
	return strings.Join(out, ", ")
}

// within returns the node, in parentheses if it binds less tightly than binding.
func (n *node) within(binding int) string {
	if b := bindings[n.op]; b > 0 && b < binding {
		return "(" + n.String() + ")"
	}
	return n.String()
}

// formatNumber formats a number of 0 or more as JSON and JavaScript do.
func formatNumber(v float64) string {
	text, _ := json.Marshal(Value(v)) // cannot fail
	return string(text)
}
