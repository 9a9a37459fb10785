package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/ledger"
)

// savedLedger returns a file with the ledger of lockTrace.
func savedLedger(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "ledger.json")
	bottleneck("ledger", "-o", name, lockTrace).want(t, exitOK, "", "")
	return name
}

// The saved ledger is that of the trace: it reads as the same ledger, in all forms.
func TestLedgerRoundTrip(t *testing.T) {
	saved := savedLedger(t)
	for _, args := range [][]string{{}, {"-format", "json"}} {
		of := func(file string) string {
			r := bottleneck(append([]string{"ledger", file}, args...)...)
			if r.status != exitOK || r.err != "" {
				t.Errorf("%v: exit status %d: %s", args, r.status, r.err)
			}
			return r.out
		}
		if a, b := of(lockTrace), of(saved); a != b {
			t.Errorf("%v: of the trace\n%s\nof what was saved\n%s", args, a, b)
		}
	}
	bottleneck("graph", saved).want(t, exitUsage, "", `ledger.json is a ledger: "bottleneck ledger" reads it`)
	bottleneck("ledger", "-from", "1s", saved).want(t, exitUsage, "", "-from, -to and -generations are for traces")
}

// The times of the CSV sum to GOMAXPROCS × time, whichever rows are added up, and lost is what did not run.
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
		const capacity = 404630912 // 2 × 202.315456 ms, as graph says
		if time != capacity || len(args) == 0 && lost != capacity-ran {
			t.Errorf("%v: times sum to %d, lost is %d, and %d ran", args, time, lost, ran)
		}
	}
}

func TestLedgerFail(t *testing.T) {
	saved := savedLedger(t)
	for _, tt := range []struct {
		condition string
		status    int
		err       string
	}{
		{"lost>30%", exitFailure, "-fail: lost>30%: got 36.51%"},
		{"lost>37%", exitOK, ""},
		{"lost>100ms", exitFailure, "-fail: lost>100ms: got 147.7"},
		{"lost(mutex)>10%", exitFailure, "got 31.90%"},
		{"lost(wake-up)>40%", exitOK, ""},
		{"time(main.worker)>=90%", exitFailure, "got 95."},
		{"lost(code)>0s", exitOK, ""},
		{"lost(nothing)>0%", exitOK, ""},
		{"count(gc-stop)<53, queue>1h", exitFailure, "-fail: count(gc-stop)<53: got 52.00"},
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
			out = "What 202 ms × 2 processors went to"
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
		{[]string{"-by", "time"}, "rows cannot be told apart by time: it is a number"},
		{[]string{"-top", "-1"}, "-top -1: want a number of rows, or 0 for all"},
		{[]string{"-top", "3", "-format", "json"}, "-top is for text or csv or html, and none is written"},
		{[]string{"-from", "2s", "-to", "1s"}, "-to 1s is not after -from 2s"},
		{[]string{"-format", "svg"}, `unknown form "svg": want text, json, csv or html`},
		{[]string{"-o", "x.svg"}, "want a file ending in .json, .csv, .html or .txt"},
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

// Without -from and -to, and with them, the parts of a ledger are those of package ledger.
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
