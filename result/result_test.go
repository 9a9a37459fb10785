package result_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/result"
)

// part is a row: an owner and its usage.
type part struct {
	who, what string
	also      []string
	time      time.Duration
	share     float64 // negative means unknown
	calls     int64
}

var columns = []result.Column[part]{
	{Name: "who", Title: "who", Unit: result.Func,
		Value: func(p *part) (result.Value, bool) { return result.Value{Text: p.who, More: p.also}, p.who != "" }},
	{Name: "time", Title: "time", Unit: result.Duration, Part: true,
		Value: func(p *part) (result.Value, bool) { return result.Int(p.time), true }},
	{Name: "what", Title: "what",
		Value: func(p *part) (result.Value, bool) { return result.Str(p.what), p.what != "" }},
	{Name: "share", Title: "share", Unit: result.Ratio,
		Value: func(p *part) (result.Value, bool) { return result.Float(p.share), p.share >= 0 }},
	{Name: "calls", Title: "calls", Unit: result.Count,
		Value: func(p *part) (result.Value, bool) { return result.Int(p.calls), true }},
}

func table(whole time.Duration, parts ...part) *result.Table {
	return result.New(columns, parts, whole)
}

var before = table(100,
	part{"example.com/x/cache.(*LRU).Get", "lock", nil, 60, .5, 3},
	part{"main.main", "code", []string{"main.run"}, 25, .25, 2},
	part{"main.main", "lock", nil, 10, -1, 1},
	part{"", "idle", nil, 5, 1, 0},
)

func rows(t *result.Table) (lines []string) {
	for _, row := range t.Rows {
		line := ""
		for k, c := range row {
			if k > 0 {
				line += "|"
			}
			if c.Known {
				line += t.Columns[k].Unit.Machine(c)
			} else {
				line += "?"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func names(t *result.Table) (names []string) {
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Rows are summed by the remaining texts. Unknown values stay unknown.
func TestBy(t *testing.T) {
	by := func(names ...string) *result.Table {
		out, err := before.By(names...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	equal(t, "by what", rows(by("what")), []string{"70|lock|?|4", "25|code|0.25|2", "5|idle|1|0"})
	equal(t, "columns by what", names(by("what")), []string{"time", "what", "share", "calls"})
	equal(t, "by who", rows(by("who")), []string{"example.com/x/cache.(*LRU).Get|60|0.5|3", "main.main main.run|25|0.25|2", "main.main|10|?|1", "?|5|1|0"})
	equal(t, "by both", rows(by("who", "what")), rows(before))
	equal(t, "by nothing", rows(by()), []string{"100|?|6"})
	for _, name := range []string{"time", "where"} {
		if _, err := before.By(name); err == nil {
			t.Errorf("rows by %s", name)
		}
	}
}

// The first rows and the sum of the others sum to the whole.
func TestTop(t *testing.T) {
	for n, want := range map[int][]string{
		0: rows(before), 3: rows(before), 4: rows(before), 9: rows(before),
		2: {"example.com/x/cache.(*LRU).Get|60|lock|0.5|3", "main.main main.run|25|code|0.25|2", "2 others|15|?|?|1"},
		1: {"example.com/x/cache.(*LRU).Get|60|lock|0.5|3", "3 others|40|?|?|3"},
	} {
		equal(t, fmt.Sprint("top ", n), rows(before.Top(n)), want)
		if total := before.Top(n).Total(); total[1].Int != 100 {
			t.Errorf("top %d sums to %d", n, total[1].Int)
		}
	}
	empty := table(0)
	if total := empty.Total(); !total[1].Known || total[1].Int != 0 || total[3].Known {
		t.Errorf("no rows have a total of %+v", total)
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"who": "example.com/x/cache.(*LRU).Get", "time": 60., "what": "lock", "share": .5, "calls": 3.},
		{"who": []any{"main.main", "main.run"}, "time": 25., "what": "code", "share": .25, "calls": 2.},
		{"who": "main.main", "time": 10., "what": "lock", "share": nil, "calls": 1.},
		{"who": nil, "time": 5., "what": "idle", "share": 1., "calls": 0.},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if b, err := json.Marshal(table(0)); err != nil || string(b) != "[]" {
		t.Errorf("no rows are %s, %v", b, err)
	}
	hostile := table(1, part{who: "a\u202eb\"<", share: math.NaN()})
	if b, err := json.Marshal(hostile); err != nil || !strings.Contains(string(b), `"a\u202eb\"\u003c"`) || strings.Contains(string(b), "NaN") {
		t.Errorf("%s, %v", b, err)
	}
}

// The difference has each sum before and after, and rows that were added or removed. The changes
// sum to that of the sums.
func TestDiff(t *testing.T) {
	after := table(200,
		part{"main.main", "code", []string{"main.run"}, 120, .75, 5},
		part{"main.main", "lock", nil, 11, .5, 9},
		part{"main.new", "code", nil, 64, .1, 2},
		part{"", "idle", nil, 5, 1, 1},
	)
	diff := func(columns ...string) *result.Table {
		d, err := result.Diff(before, after, columns...)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := diff("time", "who", "what")
	equal(t, "columns", names(d), []string{"time_before", "time_after", "time_change", "row", "who", "what"})
	equal(t, "diff", rows(d), []string{
		"25|120|95|?|main.main main.run|code",
		"0|64|64|added|main.new|code",
		"60|0|-60|gone|example.com/x/cache.(*LRU).Get|lock",
		"10|11|1|?|main.main|lock",
		"5|5|0|?|?|idle",
	})
	equal(t, "diff by what", rows(diff("what", "time", "share")), []string{
		"25|184|159|0.25|0.425|0.175|?|code",
		"70|11|-59|?|0.5|?|?|lock",
		"5|5|0|1|1|0|?|idle",
	})
	if sum := d.Total(); sum[0].Int != 100 || sum[1].Int != 200 || sum[2].Int != 100 {
		t.Errorf("the sums are %v", sum)
	}
	if d.Columns[0].Whole != 100 || d.Columns[1].Whole != 200 || d.Columns[2].Whole != 0 {
		t.Errorf("the wholes are %+v", d.Columns)
	}
	equal(t, "folded", rows(d.Top(1)), []string{"25|120|95|?|main.main main.run|code", "75|80|5|?|4 others|?"})
	by, err := d.By("what")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "diff, then by what", rows(by), []string{"25|184|159|?|code", "70|11|-59|?|lock", "5|5|0|?|idle"})
	equal(t, "the same", rows(func() *result.Table { d, _ := result.Diff(before, before, "what", "calls"); return d }()),
		[]string{"2|2|0|?|code", "0|0|0|?|idle", "4|4|0|?|lock"})
	if _, err := result.Diff(before, after, "where"); err == nil {
		t.Error("there is no column where")
	}
	if _, err := result.Diff(before, &result.Table{}, "what"); err == nil {
		t.Error("tables of other columns are compared")
	}
}

func TestBeside(t *testing.T) {
	after := table(200, part{"main.main", "code", nil, 120, .75, 5}, part{"main.new", "code", nil, 64, .1, 2})
	d, err := result.Beside([]string{"one", "two", "three"}, []*result.Table{before, after, before}, "time", "what")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "columns", names(d), []string{"what", "time_1", "time_2", "time_3"})
	equal(t, "rows", rows(d), []string{"code|25|184|25", "lock|70|0|70", "idle|5|0|5"})
	if d.Columns[2].Title != "two" || d.Columns[1].Whole != 100 || d.Columns[2].Whole != 200 {
		t.Errorf("columns %+v", d.Columns)
	}
	if _, err := result.Beside([]string{"one"}, []*result.Table{before}, "where", "what"); err == nil {
		t.Error("there is no column where")
	}
}

func TestUnits(t *testing.T) {
	for _, tt := range []struct {
		unit            result.Unit
		value           result.Value
		people, machine string
	}{
		{result.Duration, result.Int(1500 * time.Microsecond), "1.5 ms", "1500000"},
		{result.Bytes, result.Int(35_200_000), "35.2 MB", "35200000"},
		{result.Count, result.Int(1371), "1,371", "1371"},
		{result.Cycles, result.Int(2110), "2.11k", "2110"},
		{result.Ratio, result.Float(.2719), "27.2%", "0.2719"},
		{result.Number, result.Float(3.0801), "3.08", "3.0801"},
		{result.Number, result.Float(1e-9), "0.00", "1e-09"},
		{result.Number, result.Float(math.Inf(1)), "–", ""},
		{result.Text, result.Str("a/b"), "a/b", "a/b"},
		{result.Func, result.Value{Text: "example.com/a/b.F", More: []string{"c", "d"}}, "b.F +2", "example.com/a/b.F c d"},
	} {
		if people, machine := tt.unit.Format(tt.value), tt.unit.Machine(tt.value); people != tt.people || machine != tt.machine {
			t.Errorf("%v: %q, %q, want %q, %q", tt.value, people, machine, tt.people, tt.machine)
		}
	}
}

// A table without sums has no footer: text alone, or values that several rows do not have together.
func TestTablesWithoutSumsHaveNoFooter(t *testing.T) {
	type run struct{ procs int64 }
	name := result.Column[run]{Name: "name", Title: "name", Value: result.Texts(func(*run) string { return "run" })}
	procs := result.Column[run]{Name: "procs", Title: "processors", Unit: result.Count, Value: result.Ints(func(r *run) int64 { return r.procs })}
	single := procs
	single.Quotient = result.Single
	runs := []run{{1}, {2}}
	for _, tt := range []struct {
		columns []result.Column[run]
		want    int
	}{{[]result.Column[run]{name}, 0}, {[]result.Column[run]{single, name}, 0}, {[]result.Column[run]{procs, name}, 1}} {
		table := result.New(tt.columns, runs, 0)
		if footer := table.Footer(); len(footer) != tt.want {
			t.Errorf("%d columns: %d rows of sums, want %d", len(tt.columns), len(footer), tt.want)
		}
	}
}
