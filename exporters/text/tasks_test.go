package text_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// checks is a program with two classes of tasks on 2 processors at 2 GHz.
func checks() *granularity.Profile {
	p := &granularity.Profile{
		Source: "rseq-clock", Accuracy: "thread-time", Hz: 2e9, Procs: 2, Wall: time.Second,
		Overhead: 300 * time.Nanosecond, OverheadOrigin: "the cost of an empty task",
		Warnings: []string{"2 call chains did not fit into their table."},
	}
	tiny := granularity.Class{
		Name: "example.com/pmd.checkFile", Diagnosis: granularity.Fine,
		Reasons: []string{"570 tasks on 2 processors, three quarters of them execute 1µs or less"},
		Advice:  []string{"merge ~35 tasks into one"},
		Sites: []granularity.Site{
			{Pool: "checks", Tasks: 500, Created: []granularity.Frame{{Func: "example.com/pmd.walk", File: "/src/walk.go", Line: 12}}, Submitted: []granularity.Frame{{Func: "example.com/pmd.queue", File: "/src/queue.go", Line: 7}}},
			{Pool: "checks", Tasks: 70, Created: []granularity.Frame{{Func: "main.main", File: "/src/main.go", Line: 3}}},
		},
	}
	for range 570 {
		tiny.Cycles.Add(2000)
		tiny.WallNS.Add(1000)
		tiny.BlockedNS.Add(0)
	}
	tiny.Tasks = 570
	report := granularity.Class{Name: "report", Tasks: 1, Diagnosis: granularity.OK, Reasons: []string{"1 task"}}
	report.Cycles.Add(200_000_000)
	report.WallNS.Add(400_000_000)
	report.BlockedNS.Add(300_000_000)
	for i := range 10 {
		at := int64(i+1) * 1e8
		tiny.Series = append(tiny.Series, granularity.Bin{At: at, Busy: time.Duration(i) * 1e7})
		report.Series = append(report.Series, granularity.Bin{At: at, Busy: time.Duration(1-i/5) * 1e8})
		p.Samples = append(p.Samples, granularity.Sample{At: at, Wall: 1e8, Voluntary: 30, Utilization: 0.5, CgroupCPU: 6e7, CgroupCapacity: 15e7})
	}
	p.Classes = []granularity.Class{report, tiny}
	return p
}

func ExampleWriteTasks() {
	opt := text.Options{Width: 96}
	if err := text.WriteTasks(os.Stdout, checks(), opt); err != nil {
		panic(err)
	}
	// Output:
	// Task granularity: 571 tasks of 2 classes in 1 s, GOMAXPROCS 2
	// Source: rseq-clock, accuracy: thread-time, 2 GHz; overhead of a task 300 ns: the cost of an
	//   empty task
	// CPU utilization of 2 processors by the process: 50 % ± 0 % (95 % confidence)
	// CPU utilization of 1.5 processors by the control group: 40 % ± 0 % (95 % confidence)
	// CPU utilization by all programs of the machine: not counted
	//
	// class          tasks    p1   p25   p50   p75   p99  mean  blocked  diagnosis
	// report             1  200M  200M  200M  200M  200M  200M    75.0%  ok
	// pmd.checkFile    570    2k    2k    2k    2k    2k    2k     0.0%  fine
	// all              571
	// Granularity in cycles (k, M, G: 10^3, 10^6, 10^9). Blocked: off the processor.
	//
	// report: ok
	//   - 1 task
	//
	// pmd.checkFile: fine
	//   - 570 tasks on 2 processors, three quarters of them execute 1µs or less
	//   → merge ~35 tasks into one
	//   500 tasks created at example.com/pmd.walk (walk.go:12)
	//   70 tasks created at main.main (main.go:3)
	//   500 tasks submitted at example.com/pmd.queue (queue.go:7)
	// Warning: 2 call chains did not fit into their table.
}

// The line of all classes includes those that -top leaves out.
func TestTasksOfManyClasses(t *testing.T) {
	p := checks()
	tiny := p.Classes[1]
	p.Classes = nil
	for i := range 9 {
		tiny.Name = fmt.Sprintf("main.(*Server).handle%d.afterCheckingAllOfIt", i)
		p.Classes = append(p.Classes, tiny)
	}
	var b bytes.Buffer
	if err := text.WriteTasks(&b, p, text.Options{Top: 4, Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n5 others ", " 2,850\n", "\nall ", " 5,130\n"} {
		if table, _, _ := strings.Cut(b.String(), "Granularity in"); !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := text.WriteTasks(&b, p, text.Options{Top: 8}); err != nil || !strings.Contains(b.String(), "\nmain.(*Server).handle8.afterCheckingAllOfIt: fine\n") {
		t.Errorf("the class that takes the line of the others is not described: %v\n%s", err, b.String())
	}
}

// A class whose tasks are created where they are submitted has one line for both.
func TestTasksOfOneSite(t *testing.T) {
	p := checks()
	site := []granularity.Frame{{Func: "main.main", File: "/src/main.go", Line: 3}}
	p.Classes[1].Sites = []granularity.Site{{Tasks: 570, Created: site, Submitted: site}}
	var b bytes.Buffer
	if err := text.WriteTasks(&b, p, text.Options{}); err != nil || strings.Count(b.String(), "main.main (main.go:3)") != 1 || !strings.Contains(b.String(), "\n  570 tasks created and submitted at main.main (main.go:3)\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// At every width, no line is too wide and all names are escaped.
func TestWriteTasksIsHarmless(t *testing.T) {
	wild := checks()
	for i, name := range []string{"a\x1b[31mred", "line\nbreak", strings.Repeat("long", 200), "\xff\xfe", "", "世界世界世界世界"} {
		c := checks().Classes[1]
		c.Name, c.Diagnosis, c.Reasons, c.Advice = name, name, []string{name}, []string{strings.Repeat("word ", 90)}
		c.Sites[0].Created[0].Func, c.Sites[0].Submitted[0].File = name, name
		c.Cycles.Add(math.MaxUint64)
		c.Series = append(c.Series, granularity.Bin{At: math.MinInt64, Busy: math.MaxInt64}, granularity.Bin{At: math.MaxInt64, Busy: -1})
		wild.Classes = append(wild.Classes, c)
		wild.Source, wild.OverheadOrigin = name, name
		wild.Samples = append(wild.Samples, granularity.Sample{At: int64(i), Wall: math.MaxInt64, Utilization: math.NaN()})
	}
	byTime := checks()
	byTime.Source, byTime.Hz = granularity.SourceTrace, 0
	for _, p := range []*granularity.Profile{wild, byTime, checks(), {}, {Wall: math.MaxInt64, Start: math.MaxInt64}} {
		for _, opt := range []text.Options{{Width: 48}, {Width: 80}, {}, {Width: 240, Top: -1}, {Top: 1, Color: true}} {
			var b bytes.Buffer
			if err := text.WriteTasks(&b, p, opt); err != nil {
				t.Fatal(err)
			}
			width := map[int]int{0: 100, 48: 48}[opt.Width]
			for line := range strings.Lines(b.String()) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); width > 0 && !opt.Color && n > width+8 {
					t.Errorf("%d columns of %d: %q", n, width, line)
				}
				for _, r := range line {
					if unicode.IsControl(r) && !(opt.Color && r == 0x1b) {
						t.Fatalf("%q in %q", r, line)
					}
				}
			}
		}
	}
}

func TestTasksCSV(t *testing.T) {
	p := checks()
	p.Classes[1].Sites[0].Pool = "=cmd()"
	p.Classes[1].Sites[0].Cycles.Add(2000)
	var b bytes.Buffer
	if err := text.TableCSV(&b, p.Table()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 4 || len(rows[0]) != 6+4*7 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, tt := range []struct {
		row, column int
		want        string
	}{{0, 6, "cycles_p1"}, {1, 0, "report"}, {1, 8, "200000000"}, {2, 2, "'=cmd()"}, {2, 3, "example.com/pmd.walk (walk.go:12)"}, {2, 4, "example.com/pmd.queue (queue.go:7)"}, {2, 5, "500"}, {2, 6, "2000"}, {3, 6, ""}, {1, 13, ""}} {
		if got := rows[tt.row][tt.column]; got != tt.want {
			t.Errorf("row %d, column %d is %q; want %q", tt.row, tt.column, got, tt.want)
		}
	}
}

// If it is unknown whether tasks were off the processor, the table does not claim that they never
// were.
func TestTasksBlockedUnknown(t *testing.T) {
	p := checks()
	p.Source, p.Accuracy = "wall-tsc", "upper-bound"
	for i := range p.Classes {
		p.Classes[i].BlockedNS = granularity.Histogram{}
	}
	var table, diff strings.Builder
	if err := text.WriteTasks(&table, p, text.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := text.WriteDiff(&diff, p, checks(), granularity.Summary(), nil, text.Options{}, granularity.Changes(p, checks())); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{table.String(), diff.String()} {
		if strings.Contains(s, "  blocked") || strings.Contains(s, "0.0%") {
			t.Errorf("blocked times are not known:\n%s", s)
		}
	}
}

func TestTasksErrors(t *testing.T) {
	if text.WriteTasks(&bytes.Buffer{}, nil, text.Options{}) == nil {
		t.Error("no profile is accepted")
	}
	full := errors.New("disk full")
	if err := text.WriteTasks(failingWriter{full}, checks(), text.Options{}); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := text.TableCSV(failingWriter{full}, checks().Table()); !errors.Is(err, full) {
		t.Error(err)
	}
}

// failingWriter fails with an error.
type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
