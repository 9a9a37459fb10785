package main

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/verdict"
)

var lockTrace = filepath.Join("..", "..", "testdata", "real", "stdlog-file.trace.zst")

// A file as the only argument prints its verdict, in all forms.
func TestFileAloneIsTheVerdict(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{lockTrace}, "1. The lock log.Logger cost"},
		{[]string{mutexTrace, "-v"}, "Behind finding 1:"},
		{[]string{"verdict", "-format", "md", mutexTrace}, "1. **"},
	} {
		r := lastingly(tt.args...)
		code, out, errs := r.status, r.out, r.err
		if code != 0 || !strings.Contains(out, tt.want) {
			t.Errorf("%q: exit status %d, %s\n%s", tt.args, code, errs, out)
		}
	}
	// A missing file is not a command.
	bottleneck(filepath.Join(t.TempDir(), "missing")).want(t, exitFailure, "", "missing: no such file")
	bottleneck("missing.trace").want(t, exitFailure, "", "missing.trace: no such file")
	r := lastingly("verdict", "-format", "json", lockTrace)
	code, out, errs := r.status, r.out, r.err
	var v verdict.Verdict
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 {
		t.Fatalf("exit status %d, %v, %s", code, err, errs)
	}
	if len(v.Findings) == 0 || v.Findings[0].Kind != diagnose.Lock || v.Findings[0].Lost == 0 {
		t.Errorf("got %+v", v.Findings)
	}
}

// Conditions compare the lost capacity of the whole, of a kind and of a function.
func TestVerdictFail(t *testing.T) {
	conditions := []struct {
		condition string
		code      int
	}{
		{"lost>30%", 1}, {"lost>99%", 0}, {"lost(lock)>10%", 1}, {"lost(lock)>60%", 0}, {"lost(main.worker)>5%", 1},
		{"lost(collector)>50%", 0}, {"wall<1h", 1}, {"lost(", 2}, {"lost(lock).x>1", 2}, {"found>1", 2},
		{"lost(lokc)>1%", 2}, {"lost(worker)>1%", 2}, {"lost(main.absent?)>1%", 0}, {"lost(no-work)>50%", 0}, {"time(mutx)>1s", 2}, {"time(network)>1h", 0},
	}
	saved := savedLedger(t)
	for i, tt := range conditions {
		input := saved
		if i%8 == 0 {
			input = lockTrace // which takes long
		}
		r := bottleneck("verdict", "-fail", tt.condition, input)
		code, errs := r.status, r.err
		if code != tt.code {
			t.Errorf("%s: exit status %d, want %d: %s", tt.condition, code, tt.code, errs)
		}
		if code == 1 && !strings.Contains(errs, "-fail: "+strings.FieldsFunc(tt.condition, func(r rune) bool { return r == '>' || r == '<' })[0]) {
			t.Errorf("%s: %s", tt.condition, errs)
		}
	}
}

// There is one verdict on a recording: all outputs have the same findings in the same words, also
// for a part of the trace, for other groupings and from a saved graph.
func TestOneVerdictOnARecording(t *testing.T) {
	parse := func(args ...string) (v *verdict.Verdict) {
		t.Helper()
		r := lastingly(args...)
		if r.status != 0 {
			t.Fatalf("%q: %s", args, r.err)
		}
		if err := json.Unmarshal([]byte(r.out), &v); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return v
	}
	for _, part := range [][]string{nil, {"-from", "50ms", "-to", "120ms"}}[:2/min(race.Slowdown, 2)] {
		with := func(args ...string) []string { return append(append(args, part...), lockTrace) }
		want := parse(with("verdict", "-format", "json")...)
		for _, args := range [][]string{{}, {"-offered"}, {"-group", "start"}, {"-group", "goroutine"}}[:4/min(race.Slowdown, 2)] {
			g, err := bottle.ReadJSON(strings.NewReader(lastingly(with(append([]string{"graph", "-format", "json"}, args...)...)...).out))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(g.Verdict, want) {
				t.Errorf("graph %q %q: %+v\nverdict: %+v", args, part, g.Verdict, want)
			}
		}
		saved := filepath.Join(t.TempDir(), "graph.json")
		svg := filepath.Join(t.TempDir(), "graph.svg")
		shown := bottleneck(with("graph", "-o", saved, "-o", svg, "-format", "text")...).out
		words := func(s string) string { // of a text in lines, or of SVG
			return strings.Join(strings.Fields(regexp.MustCompile("<[^>]*>").ReplaceAllString(html.UnescapeString(s), " ")), " ")
		}
		for name, out := range map[string]string{"verdict": lastingly(with("verdict")...).out, "graph": shown, "picture": string(read(t, svg)),
			"saved graph": bottleneck("graph", saved).out, "picture of it": bottleneck("graph", "-format", "svg", saved).out} {
			if out = words(out); !strings.Contains(out, want.Findings[0].Title) {
				t.Errorf("%s does not have %q:\n%s", name, want.Findings[0].Title, out)
			}
		}
	}
}

// Explain shows a finding, by number or kind, with rows that sum to its loss and the call chains
// through them.
func TestExplain(t *testing.T) {
	var v verdict.Verdict
	if err := json.Unmarshal([]byte(lastingly("verdict", "-format", "json", lockTrace).out), &v); err != nil {
		t.Fatal(err)
	}
	for i, f := range v.Findings {
		file := filepath.Join(t.TempDir(), "finding.json")
		text := ""
		for _, word := range []string{strconv.Itoa(i + 1), f.Kind}[:2/min(race.Slowdown, 2)] {
			r := bottleneck("explain", "-o", file, "-format", "text", word, lockTrace)
			if text != "" && r.out != text {
				t.Errorf("%s: other text than by number:\n%s", word, r.out)
			}
			text = r.out
			var e diagnose.Evidence
			if err := json.Unmarshal(read(t, file), &e); err != nil {
				t.Fatalf("%s: %v, %s", word, err, r.err)
			}
			var sum time.Duration
			for _, row := range e.Rows {
				sum += row.Time
			}
			if e.Number != i+1 || !reflect.DeepEqual(e.Finding, f) || sum != f.Lost || e.Capacity != v.Capacity {
				t.Errorf("%s: finding %d, rows of %v: %+v\nwant %d: %+v", word, e.Number, sum, e.Finding, i+1, f)
			}
			for _, c := range append(e.Blocked, e.Ran...) {
				through := func(row ledger.Row) bool {
					return c.Wait == "" && row.Empty() && row.Beside == c.Group || row.Wait == c.Wait && slices.Contains(c.Calls, row.Site)
				}
				if !slices.ContainsFunc(e.Rows, through) {
					t.Errorf("%s: no row is about %+v", word, c)
				}
			}
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		if !strings.Contains(text, "Rows of the ledger\n") || !strings.Contains(text, "main.worker main.go:29\n") {
			t.Errorf("finding %d:\n%s", i+1, text)
		}
	}
	saved := savedLedger(t)
	bottleneck("explain", "9", saved).want(t, exitUsage, "", `there is no finding "9": want 1 (lock), 2 (collector)`)
	bottleneck("explain", "locks", saved).want(t, exitUsage, "", "want 1 (lock)")
	bottleneck("explain", lockTrace).want(t, exitUsage, "", "which finding?")
	bottleneck("explain").want(t, exitUsage, "", "which finding?")
	bottleneck("explain", "-h").want(t, exitOK, "bottleneck explain [flags] FINDING [FILE | URL | -]", "")
}

// The verdict has at most 30 lines of 80 columns. The last line is a command that shows more, and
// it runs.
func TestVerdictNamesTheNextCommand(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	data, err := os.ReadFile(filepath.Join(here, lockTrace))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("t.zst", data, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(bottleneck("t.zst").out, "\n"), "\n")
	next, ok := strings.CutPrefix(lines[len(lines)-1], "More: ")
	if !ok || len(lines) > 30 {
		t.Fatalf("%d lines, the last one %q", len(lines), lines[len(lines)-1])
	}
	ranged := strings.TrimSuffix(bottleneck("verdict", "-from", "50ms", "-to", "120ms", "t.zst").out, "\n")
	if last := ranged[strings.LastIndex(ranged, "\n")+1:]; last != "More: bottleneck explain 1 -from 50ms -to 120ms t.zst" {
		t.Errorf("of a part of the trace: %q", last)
	}
	for command := range strings.SplitSeq(next, ", ") {
		if r := bottleneck(strings.Fields(command)[1:]...); r.status != exitOK {
			t.Errorf("%s: %s", command, r.err)
		}
	}
}

// here is the directory of the package.
var here, _ = os.Getwd()

// A verdict on one group covers the rows that involve it. Its parts still sum to the whole
// capacity.
func TestVerdictOnOneGroup(t *testing.T) {
	compile := filepath.Join("..", "..", "testdata", "real", "gocompile-c2.trace.zst")
	for _, tt := range []struct{ trace, group string }{{lockTrace, "main.worker"}, {compile, "main.main"}, {compile, "gc.compileFunctions.func3.1"}} {
		var l ledger.Ledger
		if err := json.Unmarshal([]byte(lastingly("ledger", "-format", "json", tt.trace).out), &l); err != nil {
			t.Fatal(err)
		}
		r := lastingly("verdict", "-format", "json", "-focus", tt.group, tt.trace)
		var v verdict.Verdict
		if err := json.Unmarshal([]byte(r.out), &v); err != nil {
			t.Fatalf("%s: %v", r.err, err)
		}
		if err := v.CheckValid(); err != nil || v.Capacity != l.Capacity || v.Capacity == 0 {
			t.Errorf("%s: %v, capacity %v, want %v", tt.group, err, v.Capacity, l.Capacity)
		}
		part := func(row *ledger.Row) bool {
			return row.Group == v.Focus || row.Waker == v.Focus || row.Beside == v.Focus
		}
		var ran, without time.Duration
		for i := range l.Rows {
			switch row := &l.Rows[i]; {
			case !row.Empty() && row.Group == v.Focus:
				ran += row.Time
			case row.Empty() && !part(row):
				without += row.Time
			}
		}
		got := map[string]time.Duration{}
		for _, p := range v.Parts {
			got[p.Name] = p.Time
		}
		if got["it ran"] != ran || ran == 0 || got["idle without it"] != without {
			t.Errorf("%s: %v, want %v ran and %v without it", tt.group, got, ran, without)
		}
		for _, f := range v.Findings {
			for _, i := range f.Rows {
				if row := &l.Rows[i]; !part(row) {
					t.Errorf("%s: finding %q is about %s", tt.group, f.Title, row.String())
				}
			}
		}
	}
	bottleneck("verdict", "-focus", "nothing", savedLedger(t)).want(t, exitUsage, "", `-focus: no group of goroutines is called "nothing"; the largest are main.worker`)
}

// The explanation of a finding and the verdict on one group work for saved results, too. Missing
// data is named.
func TestSavedVerdict(t *testing.T) {
	dir := filepath.Dir(savedLedger(t))
	file := func(name string) string { return filepath.Join(dir, name) }
	bottleneck("graph", "-o", file("graph.json"), lockTrace).want(t, exitOK, "", "")
	if err := os.WriteFile(file("verdict.json"), []byte(lastingly("verdict", "-format", "json", lockTrace).out), 0o600); err != nil {
		t.Fatal(err)
	}
	bottleneck("contention", "-o", file("waits.json"), mutexTrace).want(t, exitOK, "", "")
	of := func(args ...string) (v struct {
		Findings []struct {
			Kind, Title string
			Lost        int64
		}
	}) {
		t.Helper()
		r := lastingly(append([]string{"verdict", "-format", "json"}, args...)...)
		if err := json.Unmarshal([]byte(r.out), &v); err != nil || len(v.Findings) == 0 {
			t.Fatalf("%v of %q", err, r.out)
		}
		return v
	}
	trace := of(lockTrace)
	for _, name := range []string{"ledger.json", "graph.json", "verdict.json"} {
		if got := of(file(name)); !slices.Equal(got.Findings, trace.Findings) {
			t.Errorf("%s: %+v, want %+v", name, got, trace)
		}
		if name == "ledger.json" {
			continue
		}
		r := bottleneck("explain", "lock", file(name))
		r.want(t, exitOK, trace.Findings[0].Title[:40], "")
		if !strings.Contains(r.out, "were not saved") || strings.Contains(r.out, "Rows of the ledger") {
			t.Errorf("%s: it explains\n%s", name, r.out)
		}
		bottleneck("verdict", "-focus", "main.worker", file(name)).want(t, exitUsage, "", "-focus: "+file(name)+" has no ledger")
		bottleneck("verdict", "-fail", "lost>1%", file(name)).want(t, exitUsage, "", "has no ledger")
	}
	r := bottleneck("explain", "lock", file("ledger.json"))
	r.want(t, exitOK, "Rows of the ledger", "")
	if !strings.Contains(r.out, "The call chains were not saved") || strings.Contains(r.out, "Waited there") {
		t.Errorf("ledger.json: it explains\n%s", r.out)
	}
	if got, want := of("-focus", "main.worker", file("ledger.json")), of("-focus", "main.worker", lockTrace); got.Findings[0].Kind != want.Findings[0].Kind || got.Findings[0].Lost > want.Findings[0].Lost || got.Findings[0].Lost < want.Findings[0].Lost*9/10 {
		t.Errorf("the verdict on main.worker is %+v, of the trace %+v", got, want)
	}
	bottleneck("verdict", "-from", "1ms", file("graph.json")).want(t, exitUsage, "", "-from is for traces")
	bottleneck("explain", "1", file("waits.json")).want(t, exitUsage, "", `is a contention profile: "bottleneck contention" reads it`)
	bottleneck("graph", file("verdict.json")).want(t, exitUsage, "", `is a verdict: "bottleneck verdict" reads it`)
	bottleneck("diff", file("verdict.json"), file("verdict.json")).want(t, exitUsage, "", `is a verdict: "bottleneck verdict" reads it`)
}

// firstFinding is the first sentence of the verdict on a trace.
func firstFinding(t *testing.T, trace string) string {
	t.Helper()
	var v verdict.Verdict
	if err := json.Unmarshal([]byte(bottleneck("verdict", "-format", "json", trace).out), &v); err != nil || len(v.Findings) == 0 {
		t.Fatal(err)
	}
	return v.Findings[0].Title
}

// oneLineOf joins wrapped lines.
func oneLineOf(s string) string { return strings.Join(strings.Fields(s), " ") }

// A comparison begins with the first sentences of both verdicts, and has both verdicts as fields.
func TestDiffShowsVerdicts(t *testing.T) {
	before, after := firstFinding(t, mutexTrace), firstFinding(t, phasesTrace)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, tt := range []struct {
		name   string
		args   []string
		traces [2]string
	}{
		{"traces", nil, [2]string{mutexTrace, phasesTrace}},
		{"ledgers of traces", []string{"-kind", "ledger"}, [2]string{mutexTrace, phasesTrace}},
		{"saved graphs", nil, [2]string{file("a-graph.json"), file("b-graph.json")}},
		{"saved ledgers", nil, [2]string{file("a-ledger.json"), file("b-ledger.json")}},
	} {
		for i, trace := range []string{mutexTrace, phasesTrace} {
			for _, command := range []string{"graph", "ledger"} {
				bottleneck(command, "-o", file([2]string{"a", "b"}[i]+"-"+command+".json"), trace).want(t, exitOK, "", "")
			}
		}
		out := bottleneck(append(append([]string{"diff"}, tt.args...), tt.traces[:]...)...).out
		if !strings.HasPrefix(oneLineOf(out), oneLineOf("before: "+before+" after: "+after)) {
			t.Errorf("%s: want %q and %q above\n%s", tt.name, before, after, out)
		}
		var got struct {
			Verdicts struct{ Before, After verdict.Verdict }
		}
		out = bottleneck(append(append([]string{"diff", "-format", "json"}, tt.args...), tt.traces[:]...)...).out
		if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Verdicts.Before.Findings) == 0 || got.Verdicts.Before.Findings[0].Title != before || got.Verdicts.After.Findings[0].Title != after {
			t.Errorf("%s: %v, verdicts %+v", tt.name, err, got)
		}
	}
	if out := bottleneck("diff", "-kind", "contention", mutexTrace, phasesTrace).out; strings.HasPrefix(out, "before: ") {
		t.Errorf("there is a verdict on waiting:\n%s", out)
	}
}

// A sum of traces has a verdict on all of them. A sum of saved graphs has none.
func TestMergeHasVerdict(t *testing.T) {
	var merged struct{ Verdict *verdict.Verdict }
	parse := func(args ...string) {
		t.Helper()
		merged.Verdict = nil
		if err := json.Unmarshal([]byte(bottleneck(append([]string{"merge", "-format", "json"}, args...)...).out), &merged); err != nil {
			t.Fatal(err)
		}
	}
	copied := filepath.Join(t.TempDir(), "copy.trace")
	if err := copyFile(copied, mutexTrace); err != nil {
		t.Fatal(err)
	}
	parse(mutexTrace, copied)
	var alone verdict.Verdict
	if err := json.Unmarshal([]byte(bottleneck("verdict", "-format", "json", mutexTrace).out), &alone); err != nil {
		t.Fatal(err)
	}
	v := merged.Verdict
	if v == nil || v.Capacity != 2*alone.Capacity || v.Findings[0].Kind != alone.Findings[0].Kind || v.Findings[0].Lost != 2*alone.Findings[0].Lost {
		t.Fatalf("the verdict on the same twice is %+v, on it once %+v", v, alone)
	}
	bottleneck("merge", mutexTrace, copied).want(t, exitOK, "1. ", "")
	parse("-kind", "graph", mutexTrace, copied)
	if merged.Verdict == nil {
		t.Error("with -kind graph there is no verdict")
	}
	saved := filepath.Join(t.TempDir(), "g.json")
	bottleneck("graph", "-o", saved, mutexTrace).want(t, exitOK, "", "")
	if parse(saved, copied); merged.Verdict != nil {
		t.Errorf("a sum with a saved graph has the verdict %+v", merged.Verdict)
	}
}

// Flags of the verdict may come before the trace. Invalid ones are usage errors.
func TestFlagsBeforeTrace(t *testing.T) {
	want := bottleneck("verdict", "-format", "md", mutexTrace)
	if got := bottleneck("-format", "md", mutexTrace); got != want || got.status != exitOK {
		t.Errorf("%+v, want %+v", got, want)
	}
	dir := t.TempDir()
	bottleneck("-o", filepath.Join(dir, "v.json"), mutexTrace).want(t, exitOK, "", "")
	bottleneck("-fail", "lost>1%", mutexTrace).want(t, exitFailure, "1. ", "-fail: lost>1%: got ")
	bottleneck("-from", "10ms", "-to", "5ms", mutexTrace).want(t, exitUsage, "", "-to 5ms is not after -from 10ms")
	bottleneck(dir).want(t, exitFailure, "", "is a directory")
	bottleneck("-title", "x", mutexTrace).want(t, exitUsage, "", "flags of a command follow it")
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	bottleneck(other).want(t, exitFailure, "", "it is JSON, but not a bottle graph, ledger or verdict that this program saved")
}

// All commands give a window the verdict of its time.
func TestVerdictOnWindows(t *testing.T) {
	file := filepath.Join("..", "..", "testdata", "small", "phases-go1.26.8.trace")
	const width = 20 * time.Millisecond
	read := func(args ...string) (list []verdict.Verdict) {
		r := bottleneck(append(args, "-format", "json", file)...)
		if r.status != 0 {
			t.Fatalf("%q: %s", args, r.err)
		}
		for d := json.NewDecoder(strings.NewReader(r.out)); d.More(); {
			var one struct {
				verdict.Verdict
				OfGraph *verdict.Verdict `json:"verdict"`
			}
			if err := d.Decode(&one); err != nil {
				t.Fatal(err)
			}
			if one.OfGraph != nil {
				one.Verdict = *one.OfGraph
			}
			list = append(list, one.Verdict)
		}
		return list
	}
	windows := read("verdict", "-window", width.String())
	if len(windows) < 3 {
		t.Fatalf("%d windows", len(windows))
	}
	if ofGraph := read("graph", "-window", width.String()); !reflect.DeepEqual(ofGraph, windows) {
		t.Errorf("graph has other verdicts than verdict:\n%+v\n%+v", ofGraph, windows)
	}
	kinds := map[string]bool{}
	for i, got := range windows {
		from := time.Duration(i) * width
		want := read("verdict", "-from", from.String(), "-to", (from + width).String())[0]
		if got.Start != from || !reflect.DeepEqual(got.Parts, want.Parts) || got.Findings[0].Kind != want.Findings[0].Kind || got.Findings[0].Lost != want.Findings[0].Lost {
			t.Errorf("window %d:\n%+v\nwith -from and -to:\n%+v", i, got, want)
		}
		kinds[got.Findings[0].Kind] = true
	}
	if len(kinds) < 2 {
		t.Errorf("all windows have the same kind of finding: %v", kinds)
	}
	for _, tt := range []struct{ command, form, want string }{
		{"verdict", "text", "By time:\n0 s to "}, {"graph", "text", "By time:\n0 s to "}, {"verdict", "md", "| time | what limits it | where |\n|---|---|---|\n| 0 s to "},
	} {
		if r := bottleneck(tt.command, "-window", width.String(), "-format", tt.form, file); r.status != 0 || !strings.Contains(r.out, tt.want) {
			t.Errorf("%s -format %s: %s%s", tt.command, tt.form, r.out, r.err)
		}
	}
	bottleneck("verdict", "-window", "0s", file).want(t, exitUsage, "", "want a positive duration")
	bottleneck("verdict", "-window", "1s", "-focus", "main.main", file).want(t, exitUsage, "", "exclude each other")
}

// A name that is not in the trace is an error unless a question mark follows it: a condition that
// can never hold is worse than none.
func TestFailOnUnknownName(t *testing.T) {
	saved := savedLedger(t)
	for condition, want := range map[string]string{
		"lost(main.wroker)>5%":       `lost(main.wroker)>5%: unknown name "main.wroker"; did you mean "main.worker"? (main.wroker? counts as 0 where it is unknown)`,
		"lost(main.Worker)>5%":       `did you mean "main.worker"?`,
		"lost(main.wroker?)>5%":      "",
		"lost(main.unheardOf)>5%":    `unknown name "main.unheardOf"`,
		"lost(main.unheardOf?)>5%":   "",
		"lost(nobody.has(it))>5%":    `unknown name "nobody.has(it)"`,
		"time(main.workr)>5%":        `did you mean "main.worker"?`,
		"lost(elsewhere.go:108)>5%":  `unknown name "elsewhere.go:108"`,
		"lost(log.(*Logger).out)>1s": `unknown name "log.(*Logger).out"`,
		"lost(main.main)>99%":        "", // the name is known, and the loss is smaller
	} {
		code := exitOK
		if want != "" {
			code = exitFailure
		}
		for _, command := range []string{"ledger", "verdict"} {
			if r := bottleneck(command, "-fail", condition, saved); r.status != code || !strings.Contains(r.err, want) {
				t.Errorf("%s -fail %q: exit status %d, %q", command, condition, r.status, r.err)
			}
		}
	}
}
