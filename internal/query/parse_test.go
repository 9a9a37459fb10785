package query

import (
	"errors"
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

// The canonical form of a text, without what is redundant in it, means the same.
func TestCanonical(t *testing.T) {
	e := explorer(t, lettered())
	for _, c := range [][2]string{
		{"a<b&&c>d||e!=f", "a < b && c > d || e != f"}, {"a<b&&c>d||e!=f", "(a < b && c > d) || e != f"}, {"a<b||c>d&&e!=f", "a < b || (c > d && e != f)"}, {"(a<b||c<d)&&e<f", "(a < b || c < d) && e < f"},
		{"!a<b", "!(a < b)"}, {"!a<b&&c<d", "(!(a < b)) && c < d"}, {"", "all"},
		{"(a+b)*2<(c)", "(a + b) * 2 < c"}, {"a+b*2<c", "(a + (b * 2)) < c"}, {"a in (5,-3..-1,1us..2us)", "a in (5, -3..-1, 1us..2us)"}, {"group=a-b/c.d", `group = "a-b/c.d"`},
		{`first(20,"GC concurrent mark phase",goroutine)`, "first(20, gc, goroutine)"}, {"ended==\"blocked\"", "ended = blocked"},
		{"wait=~chan", `wait =~ "chan"`}, {`group="\u0041\n\"\\é"`, `group = "A\n\"\\é"`},
	} {
		sameFilter(t, e, c[0], c[1])
	}
	for _, c := range [][2]string{
		{"a-(b-c)", "a - b + c"}, {"a-b-c", "(a - b) - c"}, {"-(a*b)", "-a * b"}, {"-a+b", "b - a"}, {"1.50", "1.5"}, {"5µs", "5us"}, {"1e3", "1000"}, {"1e-7", "0.0000001"},
		{"123456789012345678901234567890", "1.2345678901234568e+29"}, {"a/b/c", "(a / b) / c"}, {"a/(b/c)", "a / (b / c)"}, {"a+b*c", "a + (b * c)"},
	} {
		sameMetric(t, e, c[0], c[1])
	}
	if slices.Equal(valuesOf(t, e, "a-(b-c)"), valuesOf(t, e, "a-b-c")) || slices.Equal(valuesOf(t, e, "a+b*c"), valuesOf(t, e, "(a+b)*c")) ||
		slices.Equal(chosen(t, e, "a<b||c>d&&e!=f"), chosen(t, e, "(a<b||c>d)&&e!=f")) {
		t.Error("the recording does not tell expressions apart")
	}
}

// lettered returns a recording with all the names of the canonical texts.
func lettered() *quanta.Recording {
	rec := made(5, 130)
	for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
		c := quanta.Counter{Name: name}
		for row := range rec.Len() {
			c.Values = append(c.Values, int64((row*(2*i+3)+row/(i+1))%5))
		}
		rec.Counters = append(rec.Counters, c)
		rec.Markers = append(rec.Markers, quanta.Marker{Time: int64(i+1) * 10_000, Goroutine: int64(i), Text: name})
	}
	rec.Spans = append(rec.Spans, quanta.Span{Name: "x", Begin: 1000, End: 50_000})
	return rec
}

func sameFilter(t *testing.T, e *Explorer, text, canonical string) {
	t.Helper()
	a, err := e.Select(t.Context(), text)
	b, err2 := e.Select(t.Context(), canonical)
	if (err == nil) != (err2 == nil) || !slices.Equal(a, b) {
		t.Errorf("%q and %q differ: %d rows, %v; %d rows, %v", text, canonical, len(a), err, len(b), err2)
	}
}

func sameMetric(t *testing.T, e *Explorer, text, canonical string) {
	t.Helper()
	rows := chosen(t, e, "all")
	a, err := e.Values(t.Context(), text, rows)
	b, err2 := e.Values(t.Context(), canonical, rows)
	if (err == nil) != (err2 == nil) || !slices.EqualFunc(a, b, func(v, w float64) bool { return v == w || v != v && w != w }) {
		t.Errorf("%q and %q differ: %v, %v; %v, %v", text, canonical, a, err, b, err2)
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
	e := explorer(f, lettered())
	f.Fuzz(func(t *testing.T, text string) {
		if err := CheckFilter(text); err != nil {
			checkSyntaxError(t, text, err)
			return
		}
		set, err := e.Select(t.Context(), text)
		if err != nil {
			checkSyntaxError(t, text, err)
			return
		}
		if text = strings.TrimSpace(text); text == "" || len(text) > maxText-3 {
			return
		}
		sameFilter(t, e, text, "("+text+")")
		if others := chosen(t, e, "!("+text+")"); !slices.Equal(others, e.complement(set)) {
			t.Errorf("%q: %d of %d rows, and %d not", text, len(set), e.rec.Len(), len(others))
		}
	})
}

func FuzzMetric(f *testing.F) {
	testenv.BriefFuzzing(f)
	for _, text := range canonicalMetrics {
		f.Add(text)
	}
	e := explorer(f, lettered())
	f.Fuzz(func(t *testing.T, text string) {
		values, err := e.Values(t.Context(), text, chosen(t, e, "all"))
		if err != nil {
			checkSyntaxError(t, text, err)
			return
		}
		for _, v := range values {
			if v-v != 0 && v == v {
				t.Fatalf("%q is %v", text, v)
			}
		}
		if len(text) <= maxText-5 {
			sameMetric(t, e, text, "-(-("+text+"))")
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
