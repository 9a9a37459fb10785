package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// savedLedger returns a file with the ledger of lockTrace.
func savedLedger(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "ledger.json")
	r := lastingly("ledger", "-format", "json", lockTrace)
	if err := os.WriteFile(name, []byte(r.out), 0o600); err != nil || r.status != exitOK {
		t.Fatal(err, r.err)
	}
	return name
}

// The saved ledger equals that of the trace in all forms.
func TestLedgerRoundTrip(t *testing.T) {
	saved := savedLedger(t)
	for _, args := range [][]string{{}, {"-format", "json"}} {
		of := func(file string) string {
			r := lastingly(append(append([]string{"ledger"}, args...), file)...)
			if r.status != exitOK || r.err != "" {
				t.Errorf("%v: exit status %d: %s", args, r.status, r.err)
			}
			return r.out
		}
		if a, b := of(lockTrace), of(saved); a != b {
			t.Errorf("%v: from the trace\n%s\nfrom the saved result\n%s", args, a, b)
		}
	}
	bottleneck("graph", saved).want(t, exitUsage, "", `ledger.json is a ledger: "bottleneck ledger" reads it`)
	bottleneck("ledger", "-from", "1s", saved).want(t, exitUsage, "", "-from is for traces")
}

// The pprof profile sums to the lost capacity, with call chains for a trace and places for a saved
// ledger.
func TestLedgerProfile(t *testing.T) {
	o := ledger.NewObserver(ledger.Options{})
	if _, err := timeline.ReadFile(t.Context(), lockTrace, timeline.Options{}, o); err != nil {
		t.Fatal(err)
	}
	l := o.Ledger()
	var want int64
	for i := range l.Rows {
		if r := &l.Rows[i]; !r.Used() {
			want += int64(r.Time)
		}
	}
	depths := map[string]int{}
	for _, source := range []string{lockTrace, savedLedger(t)} {
		name := filepath.Join(t.TempDir(), "lost.pb.gz")
		bottleneck("ledger", "-o", name, source).want(t, exitOK, "", "")
		p, err := profile.ParseData(mustRead(t, name))
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, s := range p.Sample {
			sum += s.Value[0]
			depths[source] = max(depths[source], len(s.Location))
		}
		if sum != want {
			t.Errorf("%s: the samples sum to %d, want %d", source, sum, want)
		}
	}
	if depths[lockTrace] < 6 {
		t.Errorf("the deepest stack of the trace has %d frames", depths[lockTrace])
	}
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The times of the CSV sum to GOMAXPROCS × time, however the rows are grouped. The lost time is
// the capacity without the running time.
func TestLedgerCSVSumsToCapacity(t *testing.T) {
	saved := savedLedger(t)
	for _, args := range [][]string{{}, {"-by", "category"}, {"-by", "function,wait"}, {"-top", "1"}} {
		r := bottleneck(append([]string{"ledger", "-format", "csv", saved}, args...)...)
		records, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		at := map[string]int{}
		for i, name := range records[0] {
			at[name] = i
		}
		var time, lost, ran int64
		for _, record := range records[1:] {
			number := func(name string) int64 {
				n, err := strconv.ParseInt(record[at[name]], 10, 64)
				if err != nil {
					t.Errorf("%v: %v", args, err)
				}
				return n
			}
			time += number("time")
			lost += number("lost")
			if k, ok := at["category"]; ok {
				switch record[k] {
				case "code", "syscall", "c":
					ran += number("time")
				}
			}
		}
		const capacity = 404630912 // 2 × 202.315456 ms, as in the graph
		if time != capacity || len(args) == 0 && lost != capacity-ran {
			t.Errorf("%v: times sum to %d, lost is %d, and %d ran", args, time, lost, ran)
		}
	}
}

// handMade returns a file with a ledger of round numbers: 100 ms on 2 processors.
func handMade(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "hand.json")
	err := os.WriteFile(name, []byte(`{"wall":100000000,"procs":2,"capacity":200000000,"queue":5000000,"rows":[
		{"category":"code","group":"main.worker","site":{"func":"main.worker","file":"main.go","line":29},"time":100000000,"count":7,"queue":5000000},
		{"category":"wake-up","group":"main.worker","site":{"func":"main.worker","file":"main.go","line":29},"wait":"mutex","time":60000000},
		{"category":"syscall","group":"main.worker","site":{"func":"main.worker","file":"main.go","line":31},"time":20000000},
		{"category":"gc-stop","time":10000000,"count":52},
		{"category":"idle","group":"main.worker","site":{"func":"main.worker","file":"main.go","line":29},"wait":"mutex","waker":"main.worker","time":10000000}]}`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestLedgerFail(t *testing.T) {
	saved := handMade(t)
	for _, tt := range []struct {
		condition string
		status    int
		err       string
	}{
		{"lost>30%", exitFailure, "-fail: lost>30%: got 40.00%"},
		{"lost>40%", exitOK, ""},
		{"lost>=80ms", exitFailure, "-fail: lost>=80ms: got 80ms"},
		{"lost(mutex)>10%", exitFailure, "got 35.00%"},
		{"lost(wake-up)>30%", exitOK, ""},
		{"time(main.worker)>=95%", exitFailure, "got 95.00%"},
		{"lost(code)>0s", exitOK, ""},
		{"lost(main.nothing)>0%", exitFailure, `unknown name "main.nothing"`},
		{"lost(main.nothing?)>0%", exitOK, ""},
		{"count(gc-stop)<53, queue>1h", exitFailure, "-fail: count(gc-stop)<53: got 52.00"},
		{"queue>=5ms", exitFailure, "got 5ms"},
		{"time>=100%", exitFailure, "got 100.00%"},
		{"lost>30", exitUsage, `lost wants a duration such as 1.5s, not "30", or a part such as 10%`},
		{"queue>30%", exitUsage, "queue wants a duration"},
		{"los>30%", exitUsage, "did you mean lost?"},
		{"category>3", exitUsage, "want one of time, count, lost, queue"},
		{"lost()>3%", exitUsage, "want lost(FILTER)"},
		{"lost(idle).x>3%", exitUsage, "want lost(FILTER)"},
		{"los(idle)>3%", exitUsage, "did you mean lost?"},
		{"lost(idle>3%", exitUsage, "never closed"},
	} {
		out := ""
		if tt.status != exitUsage {
			out = "What 100 ms × 2 processors went to"
		}
		bottleneck("ledger", "-fail", tt.condition, saved).want(t, tt.status, out, tt.err)
	}
}

func TestLedgerUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		err  string
	}{
		{[]string{"-by", "place"}, `-by place: unknown name "place": want one of`},
		{[]string{"-by", "functoin"}, "did you mean function?"},
		{[]string{"-by", "time"}, "rows cannot be summed by time"},
		{[]string{"-top", "-1"}, "-top -1: want a number of rows, or 0 for all"},
		{[]string{"-top", "3", "-format", "json"}, "-top is for text, csv, md or html, and none is written"},
		{[]string{"-from", "2s", "-to", "1s"}, "-to 1s is not after -from 2s"},
		{[]string{"-format", "svg"}, `-format svg: want pprof, json, csv, md, html or text`},
		{[]string{"-o", "x.svg"}, "want a file ending in .pb.gz, .json, .csv, .md, .html or .txt"},
		{[]string{"-generations", "3:1"}, "the last is before the first"},
	} {
		bottleneck(append([]string{"ledger", lockTrace}, tt.args...)...).want(t, exitUsage, "", tt.err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	bottleneck("ledger", empty).want(t, exitFailure, "", "empty")
	if err := os.WriteFile(empty, []byte(`{"capacity":4,"rows":[{"category":"code","time":3}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	bottleneck("ledger", empty).want(t, exitFailure, "", "the rows sum to 1 ns less than the capacity, which is 4 ns")
}

// With and without -from and -to, the parts of a ledger equal those of package ledger.
func TestLedgerBounds(t *testing.T) {
	for _, bounds := range [][]string{{"-to", "100ms"}, {"-from", "100ms"}} {
		r := bottleneck(append([]string{"ledger", "-format", "json", lockTrace}, bounds...)...)
		l, err := ledger.ReadJSON(strings.NewReader(r.out))
		if err != nil {
			t.Fatal(err)
		}
		want := 100 * time.Millisecond
		if bounds[0] == "-from" {
			want = 202315456 - want
		}
		if l.Wall != want || l.Capacity != 2*want {
			t.Errorf("%v: wall %v, capacity %v", bounds, l.Wall, l.Capacity)
		}
	}
}

// A diff contains the ledgers of both runs. Its sums are theirs, and its conditions compare them.
func TestLedgerDiff(t *testing.T) {
	saved := handMade(t)
	after := filepath.Join(t.TempDir(), "after.json")
	if err := os.WriteFile(after, []byte(`{"wall":100000000,"procs":2,"capacity":200000000,"rows":[
		{"category":"code","group":"main.worker","site":{"func":"main.worker","line":99},"time":150000000},
		{"category":"idle","wait":"sleep","group":"main.nap","time":50000000}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	r := bottleneck("diff", "-format", "csv", saved, after)
	records, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
	if err != nil || r.status != exitOK {
		t.Fatalf("%v, %s", err, r.err)
	}
	if got, want := strings.Join(records[0], ","), "time_before,time_after,time_change,row,category,wait,function,group"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	var sums [3]int64
	found := map[string]string{}
	for _, record := range records[1:] {
		for k := range sums {
			n, err := strconv.ParseInt(record[k], 10, 64)
			if err != nil {
				t.Error(err)
			}
			sums[k] += n
		}
		found[strings.Join(record[4:], " ")] = strings.Join(record[1:4], " ")
	}
	if sums != [3]int64{200000000, 200000000, 0} {
		t.Errorf("the columns sum to %d", sums)
	}
	for row, want := range map[string]string{
		"code  main.worker main.worker":         "150000000 50000000 ", // in both, though the line differs
		"idle sleep  main.nap":                  "50000000 50000000 added",
		"syscall  main.worker main.worker":      "0 -20000000 gone",
		"idle mutex main.worker main.worker":    "0 -10000000 gone",
		"wake-up mutex main.worker main.worker": "0 -60000000 gone",
		"gc-stop   ":                            "0 -10000000 gone",
	} {
		if found[row] != want {
			t.Errorf("%s: %q, want %q", row, found[row], want)
		}
	}
	bottleneck("diff", saved, after).want(t, exitOK, "What the capacity went to: 100 ms × 2 processors before, 100 ms × 2 processors after", "")
	bottleneck("diff", "-by", "category", saved, after).want(t, exitOK, "10 ms    5%   50 ms   25%  +40 ms        idle", "")
	bottleneck("diff", "-format", "json", "-by", "category", saved, after).want(t, exitOK, `"time_change": 40000000`, "")
	bottleneck("diff", "-format", "html", saved, after).want(t, exitOK, "<td>added</td>", "")
	for condition, status := range map[string]int{
		"lost(idle) >= 5x": exitFailure, "lost(idle) > 5x": exitOK, "lost<1x": exitFailure, "time(mutex)>0s": exitOK,
		"lost>30%": exitOK, "lost>20%": exitFailure, "neck-%>1": exitUsage, "idle>3%": exitUsage,
	} {
		if r := bottleneck("diff", "-fail", condition, saved, after); r.status != status {
			t.Errorf("%s: exit status %d, want %d: %s", condition, r.status, status, r.err)
		}
	}
	bottleneck("diff", "-by", "time", saved, after).want(t, exitUsage, "", "rows cannot be summed by time")
	bottleneck("diff", "-format", "svg", saved, after).want(t, exitUsage, "", "there are no pictures that compare a ledger with another")
	bottleneck("diff", "-kind", "tasks", saved, after).want(t, exitUsage, "", "-kind tasks: "+saved+" is a ledger")
}

// Traces are compared together with their ledgers. Text and JSON contain both, and conditions can
// refer to both.
func TestTracesAreComparedWithTheirLedgers(t *testing.T) {
	for _, tt := range []struct {
		args     []string
		status   int
		out, err string
	}{
		{nil, exitOK, "What the capacity went to: ", ""},
		{[]string{"-fail", "time(code)>0s, wall>0s"}, exitFailure, "What the capacity went to: ", "time(code)>0s: got "},
		{[]string{"-format", "json"}, exitOK, `"capacity": [`, ""},
		{[]string{"-kind", "ledger", "-by", "function"}, exitOK, "function", ""},
	} {
		bottleneck(append([]string{"diff", computeTrace, mutexTrace}, tt.args...)...).want(t, tt.status, tt.out, tt.err)
	}
	if r := bottleneck("diff", "-kind", "graph", computeTrace, mutexTrace); strings.Contains(r.out, "went to") || r.status != exitOK {
		t.Errorf("-kind graph: exit status %d\n%s", r.status, r.out)
	}
	bottleneck("diff", "-format", "csv", computeTrace, mutexTrace).want(t, exitOK, "share_ns_before,share_ns_after,share_ns_change,", "")
	bottleneck("diff", "-format", "md", computeTrace, mutexTrace).want(t, exitOK, "| share before | after | change |", "")
	bottleneck("diff", "-by", "category", computeTrace, mutexTrace).want(t, exitUsage, "", "-by is for ledgers: want -kind ledger")
}

// The sum of ledgers is a ledger whose rows sum to the sum of the capacities.
func TestLedgerMerge(t *testing.T) {
	saved := savedLedger(t)
	again := filepath.Join(t.TempDir(), "again.json")
	b, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(again, b, 0o644); err != nil {
		t.Fatal(err)
	}
	r := bottleneck("merge", "-format", "json", saved, again)
	l, err := ledger.ReadJSON(strings.NewReader(r.out))
	if err != nil {
		t.Fatal(err, r.err)
	}
	if l.Capacity != 2*404630912 || l.Instances != 2 || l.Procs != 2 {
		t.Errorf("capacity %d, %d instances", l.Capacity, l.Instances)
	}
	bottleneck("merge", saved, again).want(t, exitOK, "Merged: 2 instances. Times are sums over them.", "")
	bottleneck("merge", saved, mutexTrace).want(t, exitUsage, "", "they cannot be merged")
	bottleneck("merge", "-o", filepath.Join(t.TempDir(), "x.svg"), saved, again).want(t, exitUsage, "", "a merged ledger cannot be written as svg")
}

// A saved ledger has a verdict with its numbers.
func TestVerdictOnLedger(t *testing.T) {
	saved := handMade(t)
	bottleneck(saved).want(t, exitOK, "kept 35% of the capacity idle", "")
	bottleneck("verdict", "-v", saved).want(t, exitOK, "Behind finding 1:", "")
	bottleneck("verdict", "-fail", "lost(lock)>10%, lost>40%", saved).want(t, exitFailure, "kept 35%", "-fail: lost(lock)>10%: got 35.00%")
	bottleneck("verdict", "-from", "1s", saved).want(t, exitUsage, "", "-from is for traces")
}

// -group names goroutines as the graph does: a region ran for the same time in both.
func TestLedgerGroup(t *testing.T) {
	trace := tracedRegions(t)
	parse := func(out string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(out), into); err != nil {
			t.Fatalf("%v of %s", err, out)
		}
	}
	var l, functions ledger.Ledger
	parse(bottleneck("ledger", "-group", "region", "-format", "json", trace).out, &l)
	parse(bottleneck("ledger", "-format", "json", trace).out, &functions)
	if err := l.CheckValid(); err != nil || l.Capacity != functions.Capacity {
		t.Errorf("%v, capacity %v, want %v", err, l.Capacity, functions.Capacity)
	}
	g := parseGraph(t, bottleneck("graph", "-group", "region", "-format", "json", trace).out)
	want := time.Duration(0)
	for _, b := range g.Boxes {
		if b.Group == "step" {
			want = time.Duration(b.Running)
		}
	}
	got := l.Sum(func(r *ledger.Row) bool { return r.Group == "step" && !r.Empty() })
	if want == 0 || got < want*9/10 || got > want*11/10 {
		t.Errorf("the region ran for %v, in the graph for %v", got, want)
	}
	if functions.Sum(func(r *ledger.Row) bool { return r.Group == "step" }) != 0 {
		t.Error("by function, a group is called as a region")
	}
	saved := filepath.Join(t.TempDir(), "l.json")
	bottleneck("ledger", "-o", saved, trace).want(t, exitOK, "", "")
	bottleneck("ledger", "-group", "region", saved).want(t, exitUsage, "", "-group is for traces")
	bottleneck("ledger", "-group", "nonsense", trace).want(t, exitUsage, "", "unknown grouping")
}
