package diagnose_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/verdict"
)

var update = flag.Bool("update", false, "write the golden files anew")

// analyzed has the reports of the traces that analyze has read.
var analyzed = map[string]*bottleneck.Report{}

// analyze returns the report on a trace. Tests share it and do not change it.
func analyze(t *testing.T, file string) *bottleneck.Report {
	t.Helper()
	if r := analyzed[file]; r != nil {
		return r
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := bottleneck.Analyze(context.Background(), f, bottleneck.Options{Want: bottleneck.WantVerdict})
	if err != nil {
		t.Fatal(err)
	}
	analyzed[file] = r
	return r
}

func each(t *testing.T, f func(t *testing.T, name string, r *bottleneck.Report)) {
	for _, pattern := range []string{"small/*.trace*", "real/*.trace.zst"} {
		files, err := filepath.Glob(filepath.Join("..", "testdata", pattern))
		if err != nil || len(files) < 6 {
			t.Fatalf("%s: %d traces, %v", pattern, len(files), err)
		}
		for _, file := range files {
			name, _, _ := strings.Cut(filepath.Base(file), ".trace")
			t.Run(name, func(t *testing.T) { f(t, name, analyze(t, file)) })
		}
	}
}

// The first finding on six real programs is what is known about them.
func TestRealProgramsFirstFinding(t *testing.T) {
	want := map[string]struct {
		kind  string
		title string // part of it
		place string // "" if the trace has none outside of the standard library
	}{
		"stdlog-file":       {diagnose.Lock, "log.Logger", "main.worker main.go:29"},
		"otel-old":          {diagnose.Lock, "aggregate.valueMap", "main.consume main.go:34"},
		"gocompile-c2":      {diagnose.Serial, "While main.main ran alone", ""},
		"pgzip":             {diagnose.Saturated, "It uses its processors", "fast_encoder.go"},
		"json-gogc5":        {diagnose.Collector, "The garbage collector took", "json.BenchmarkCodeUnmarshal.func1 bench_test.go:341"},
		"nethttp-parallel4": {diagnose.Syscalls, "http.(*persistConn).writeLoop", ""},
	}
	for name, w := range want {
		if race.Enabled && w.kind != diagnose.Lock {
			continue // the race detector is slow, and one goroutine decides
		}
		t.Run(name, func(t *testing.T) {
			f := analyze(t, filepath.Join("..", "testdata", "real", name+".trace.zst")).Verdict.Findings[0]
			if f.Kind != w.kind || !strings.Contains(f.Title, w.title) {
				t.Errorf("got %s: %s", f.Kind, f.Title)
			}
			if w.place != "" && (len(f.Where) == 0 || !strings.Contains(f.Where[0].String(), w.place)) {
				t.Errorf("got %v, want %s", f.Where, w.place)
			}
		})
	}
}

// The parts sum to the capacity. Findings cost at least 3 %, no row belongs to two of them, and
// their gain follows from the capacity.
func TestVerdictSumsToTheCapacity(t *testing.T) {
	each(t, func(t *testing.T, _ string, r *bottleneck.Report) {
		v := r.Verdict
		var sum time.Duration
		for _, p := range v.Parts {
			sum += p.Time
		}
		if sum != v.Capacity || v.Capacity != r.Ledger.Capacity {
			t.Errorf("the parts sum to %v of %v", sum, v.Capacity)
		}
		if len(v.Findings) == 0 || len(v.Findings) > 5 {
			t.Errorf("%d findings", len(v.Findings))
		}
		seen := map[int]bool{}
		for _, f := range v.Findings {
			var lost time.Duration
			for _, i := range f.Rows {
				if seen[i] {
					t.Errorf("row %d belongs to two findings", i)
				}
				seen[i] = true
				lost += r.Ledger.Rows[i].Time
				if used := r.Ledger.Rows[i].Category == ledger.Code; used != (f.Kind == diagnose.Saturated) {
					t.Errorf("%s: row %+v", f.Title, r.Ledger.Rows[i])
				}
			}
			if f.Kind == diagnose.Saturated {
				lost = 0 // its rows are running time
			}
			if lost != f.Lost {
				t.Errorf("%s: rows of %v, lost %v", f.Title, lost, f.Lost)
			}
			if f.Lost > 0 && f.Share < 0.03 {
				t.Errorf("%s: costs %.3f", f.Title, f.Share)
			}
			if f.Gain != 0 && (f.Gain < 1 || f.Gain > float64(v.Capacity)/float64(v.Capacity-f.Lost-overlap(r.Ledger, &f))+1e-9) {
				t.Errorf("%s: a gain of %v", f.Title, f.Gain)
			}
			if f.Title == "" || !strings.HasSuffix(f.Title, ".") {
				t.Errorf("%q is no sentence", f.Title)
			}
		}
	})
}

// overlap returns the other time that goroutines may use which the finding let run one by one: of idle
// processors, of those that long system calls held, and of those on which the collector worked.
func overlap(l *ledger.Ledger, f *verdict.Finding) (idle time.Duration) {
	for _, row := range l.Rows {
		if row.Category == ledger.GCWorker {
			idle += row.Time
		}
	}
	if !slices.Contains([]string{diagnose.Limit, diagnose.Sleep, diagnose.Timer, diagnose.Network}, f.Kind) {
		return idle
	}
	for i, row := range l.Rows {
		long := row.Category == ledger.Syscall && row.Time > time.Duration(row.Count)*20*time.Microsecond
		if (row.Empty() || long) && !slices.Contains(f.Rows, i) {
			idle += row.Time
		}
	}
	return idle
}

// The text has at most 30 lines of 80 columns and matches the golden files, as does the Markdown.
func TestVerdictText(t *testing.T) {
	each(t, func(t *testing.T, name string, r *bottleneck.Report) {
		var plain, md strings.Builder
		if err := text.Verdict(&plain, r.Verdict, text.Options{Width: 120}); err != nil {
			t.Fatal(err)
		}
		if err := text.VerdictMarkdown(&md, r.Verdict); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(plain.String(), "\n"), "\n")
		if len(lines) > 30 {
			t.Errorf("%d lines:\n%s", len(lines), plain.String())
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
			}
		}
		for ending, got := range map[string]string{".txt": plain.String(), ".md": md.String()} {
			file := filepath.Join("testdata", "golden", name+ending)
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs (go test ./diagnose -update writes it anew):\n%s", file, got)
			}
		}
	})
}

// A trace without time, or in which nothing runs, gets a sentence and no division by zero.
func TestEmptyTraces(t *testing.T) {
	for _, l := range []*ledger.Ledger{{}, {Procs: 2, Wall: time.Second, Capacity: 2 * time.Second,
		Rows: []ledger.Row{{Category: ledger.NoWork, Beside: ledger.None, Time: 2 * time.Second, Count: 1}}}} {
		v := diagnose.New(diagnose.Results{Ledger: l})
		if len(v.Findings) != 1 {
			t.Errorf("got %v", v.Findings)
		}
		if err := text.Verdict(&strings.Builder{}, v, text.Options{}); err != nil {
			t.Error(err)
		}
	}
}
