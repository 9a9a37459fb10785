package bottleneck_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/tracetasks"
	"github.com/bottleneck-go/bottleneck/internal/tracewaits"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func Example() {
	f, err := os.Open("testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	report, err := bottleneck.Analyze(context.Background(), f, bottleneck.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Verdict.Findings[0].Title)
	fmt.Println("it waits for a", report.Contention.Waits[0].Kind)
	// Output:
	// The lock work.mutexWorker kept 39% of the capacity idle (293 waits, blocked for 2.3 s in all).
	// it waits for a mutex
}

// TestAnalyze compares the report of one pass with each analysis run separately.
func TestAnalyze(t *testing.T) {
	data, err := os.ReadFile("testdata/small/phases-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	report, err := bottleneck.Analyze(ctx, bytes.NewReader(data), bottleneck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := bottle.ReadTrace(ctx, bytes.NewReader(data), bottle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	waits := tracewaits.NewObserver(tracewaits.Options{})
	if _, err := timeline.Read(ctx, bytes.NewReader(data), timeline.Options{}, waits); err != nil {
		t.Fatal(err)
	}
	p := waits.Profile()
	if report.Bottle.Verdict == nil || report.Bottle.Verdict != report.Verdict {
		t.Errorf("the graph's verdict is %p, and that of the report %p", report.Bottle.Verdict, report.Verdict)
	}
	g.Verdict = report.Verdict // it needs more than the graph
	if got, want := asJSON(t, report.Bottle), asJSON(t, g); got != want {
		t.Errorf("graph of the report:\n%s\nby itself:\n%s", got, want)
	}
	o := tracetasks.NewObserver(tracetasks.Options{})
	_, err = timeline.Read(ctx, bytes.NewReader(data), timeline.Options{}, o)
	tasks := o.Profile()
	if err != nil || len(report.Tasks.Classes) != len(tasks.Classes) || report.Tasks.Wall != tasks.Wall {
		t.Errorf("%d classes of tasks in %v, by themselves %d in %v, %v", len(report.Tasks.Classes), report.Tasks.Wall, len(tasks.Classes), tasks.Wall, err)
	}
	e := speedup.NewEstimator(speedup.Options{})
	stack, err := e.Stack(twice(t, e, data))
	if err != nil || report.SpeedupErr != nil || report.Speedup.Speedup != stack.Speedup || report.Speedup.Workers != stack.Workers || len(report.Speedup.Warnings) != len(stack.Warnings) {
		t.Errorf("speedup %+v, %v; by itself %+v, %v", report.Speedup, report.SpeedupErr, stack, err)
	}
	if len(report.Contention.Waits) != len(p.Waits) || len(p.Waits) == 0 {
		t.Errorf("%d rows of waits in the report, %d by themselves", len(report.Contention.Waits), len(p.Waits))
	}
}

// TestReportOfACutTrace: each result of the readable part has the warning.
func TestReportOfACutTrace(t *testing.T) {
	data, err := os.ReadFile("testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	r, err := bottleneck.Analyze(t.Context(), bytes.NewReader(data[:len(data)*3/4]), bottleneck.Options{Name: "cut.trace"})
	if e := (*timeline.Error)(nil); !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "cut.trace: ") || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	for _, warnings := range [][]string{r.Bottle.Warnings, r.Contention.Warnings, r.Tasks.Warnings, r.Ledger.Warnings, r.Paths.Warnings} {
		if w := strings.Join(warnings, " "); !strings.Contains(w, "The trace could not be read to its end: cut.trace: ") {
			t.Errorf("%q", w)
		}
	}
	if p := r.Contention; p.Events == 0 || p.Bytes == 0 || p.Bytes >= int64(len(data)) {
		t.Errorf("%d events in %d of %d bytes", p.Events, p.Bytes, len(data))
	}
}

// twice makes both passes of an estimator over a trace.
func twice(t *testing.T, e *speedup.Estimator, trace []byte) *timeline.Info {
	t.Helper()
	if _, err := timeline.Read(t.Context(), bytes.NewReader(trace), timeline.Options{}, e.First()); err != nil {
		t.Fatal(err)
	}
	second, err := e.Second()
	if err != nil {
		t.Fatal(err)
	}
	info, err := timeline.Read(t.Context(), bytes.NewReader(trace), timeline.Options{}, second)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func asJSON(t *testing.T, g *bottle.Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := bottle.WriteJSON(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestDuringAndOutsideSumToTheWhole: in every result, a part of the time and its complement sum to
// the whole, and each result names its part.
func TestDuringAndOutsideSumToTheWhole(t *testing.T) {
	data, err := os.ReadFile("testdata/small/phases-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	analyze := func(of bottle.Options) *bottleneck.Report {
		r, err := bottleneck.Analyze(t.Context(), bytes.NewReader(data), bottleneck.Options{Bottle: of})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := analyze(bottle.Options{})
	if all.Tasks == nil || len(all.Tasks.Classes) == 0 {
		t.Fatal("no regions to look at")
	}
	region := "region:" + all.Tasks.Classes[0].Name
	within, outside := analyze(bottle.Options{During: region}), analyze(bottle.Options{During: region, Outside: true})
	var rows int64
	for i := range within.Ledger.Rows {
		rows += int64(within.Ledger.Rows[i].Time)
	}
	switch in, out := within, outside; {
	case in.Bottle.Wall <= 0 || out.Bottle.Wall <= 0:
		t.Errorf("%v and %v outside", in.Bottle.Wall, out.Bottle.Wall)
	case in.Bottle.Wall+out.Bottle.Wall != all.Bottle.Wall:
		t.Errorf("graphs of %v and %v outside, of %v", in.Bottle.Wall, out.Bottle.Wall, all.Bottle.Wall)
	case in.Ledger.Capacity+out.Ledger.Capacity != all.Ledger.Capacity:
		t.Errorf("ledgers of %v and %v outside, of %v", in.Ledger.Capacity, out.Ledger.Capacity, all.Ledger.Capacity)
	case rows != int64(in.Ledger.Capacity):
		t.Errorf("the rows sum to %d of %d", rows, in.Ledger.Capacity)
	case in.Contention.Events != 0 || in.Contention.Bytes != 0 || all.Contention.Events == 0 || all.Contention.Bytes == 0:
		t.Errorf("%d events of a part of the time, %d of all", in.Contention.Events, all.Contention.Events)
	}
	waited := func(r *bottleneck.Report) (n int64, sum time.Duration) {
		for i := range r.Contention.Waits {
			n += r.Contention.Waits[i].Contentions
			sum += r.Contention.Waits[i].Waited
		}
		return n, sum
	}
	n, sum := waited(within)
	more, rest := waited(outside)
	if most, whole := waited(all); sum+rest != whole || max(n, more) > most || n+more < most {
		t.Errorf("%d waits of %v, and %d of %v outside, but %d of %v at all", n, sum, more, rest, most, whole)
	}
	for name, warnings := range map[string][]string{
		"graph": within.Bottle.Warnings, "ledger": within.Ledger.Warnings, "verdict": within.Verdict.Warnings,
		"contention": within.Contention.Warnings, "tasks": within.Tasks.Warnings,
	} {
		if !slices.ContainsFunc(warnings, func(s string) bool { return strings.Contains(s, "during region "+all.Tasks.Classes[0].Name) }) {
			t.Errorf("the %s does not name its time %s: %q", name, region, warnings)
		}
	}
}

func TestAnalyzeBroken(t *testing.T) {
	report, err := bottleneck.Analyze(context.Background(), bytes.NewReader(nil), bottleneck.Options{Name: "none"})
	var te *timeline.Error
	if report != nil || !errors.As(err, &te) || te.Name != "none" {
		t.Errorf("nothing to read: report %v, error %v", report, err)
	}
}

// TestWantSelectsResults: a report has the requested results only, and they are equal to those of
// a complete report.
func TestWantSelectsResults(t *testing.T) {
	data, err := os.ReadFile("testdata/small/phases-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	all, err := bottleneck.Analyze(t.Context(), bytes.NewReader(data), bottleneck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want                                               bottleneck.Want
		bottle, contention, tasks, speedup, verdict, paths bool
	}{
		{0, true, true, true, true, true, true},
		{bottleneck.WantInfo, false, false, false, false, false, false},
		{bottleneck.WantBottle, true, false, false, false, false, false},
		{bottleneck.WantContention, false, true, false, false, false, false},
		{bottleneck.WantTasks, false, false, true, false, false, false},
		{bottleneck.WantSpeedup, false, false, false, true, false, false},
		{bottleneck.WantVerdict, true, true, true, false, true, false},
		{bottleneck.WantPaths, false, false, false, false, false, true},
		{bottleneck.WantTasks | bottleneck.WantSpeedup | bottleneck.WantPaths, false, false, true, true, false, true},
	} {
		r, err := bottleneck.Analyze(t.Context(), bytes.NewReader(data), bottleneck.Options{Want: tt.want})
		if err != nil {
			t.Fatal(err)
		}
		got := []bool{r.Bottle != nil, r.Contention != nil, r.Tasks != nil, r.Speedup != nil, r.Verdict != nil, r.Ledger != nil, r.SpeedupErr == nil, r.Paths != nil}
		if want := []bool{tt.bottle, tt.contention, tt.tasks, tt.speedup, tt.verdict, tt.verdict, tt.speedup, tt.paths}; !slices.Equal(got, want) {
			t.Errorf("wanted %b: there are %v, want %v", tt.want, got, want)
		}
		if r.Info.Events != all.Info.Events {
			t.Errorf("wanted %b: %d events, want %d", tt.want, r.Info.Events, all.Info.Events)
		}
		if tt.verdict && !reflect.DeepEqual(r.Verdict, all.Verdict) || tt.speedup && r.Speedup.Speedup != all.Speedup.Speedup || tt.contention && len(r.Contention.Waits) != len(all.Contention.Waits) {
			t.Errorf("wanted %b: the report is another one than that of all", tt.want)
		}
	}
}

// TestVerdictNeedsNoRoots: a verdict alone omits the roots of waits, and nothing else.
func TestVerdictNeedsNoRoots(t *testing.T) {
	for _, name := range []string{"small/mutex-go1.26.8.trace", "real/stdlog-file.trace.zst", "real/pgzip.trace.zst"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		analyze := func(want bottleneck.Want) *bottleneck.Report {
			r, err := bottleneck.Analyze(t.Context(), bytes.NewReader(data), bottleneck.Options{Want: want})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		alone, with := analyze(bottleneck.WantVerdict), analyze(bottleneck.WantVerdict|bottleneck.WantContention)
		if !reflect.DeepEqual(alone.Verdict, with.Verdict) {
			t.Errorf("%s: the verdict differs", name)
		}
		roots := 0
		for i := range with.Contention.Pairs {
			roots += len(with.Contention.Pairs[i].Roots)
			with.Contention.Pairs[i].Roots = nil
		}
		if roots == 0 {
			t.Errorf("%s: no roots", name)
		}
		if !reflect.DeepEqual(alone.Contention, with.Contention) {
			t.Errorf("%s: more than the roots differs", name)
		}
	}
}

// unseekable hides the Seek method of a reader.
type unseekable struct{ io.Reader }

// TestPlanBeforeResults: the plan has the length of the trace before the results are computed. A
// trace that is too large to keep is decoded again if the reader can seek.
func TestPlanBeforeResults(t *testing.T) {
	data, err := os.ReadFile("testdata/small/phases-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := bottleneck.Analyze(t.Context(), bytes.NewReader(data), bottleneck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plans := 0
	opt := bottleneck.Options{Plan: func(opt *bottleneck.Options, info *timeline.Info) {
		plans++
		window := info.Duration() / 4
		opt.Bottle.Window, opt.Contention.Window, opt.Speedup.Window = window, window, window
	}}
	planned := func(r io.Reader) (*bottleneck.Report, error) {
		return bottleneck.Analyze(t.Context(), r, opt)
	}
	check := func(name string, r *bottleneck.Report, err error) {
		t.Helper()
		if err != nil || r.SpeedupErr != nil {
			t.Fatalf("%s: %v, %v", name, err, r.SpeedupErr)
		}
		n := len(r.Bottle.Windows)
		if n < 4 || n > 5 || len(r.ContentionWindows) != n || len(r.Speedup.Multi.Windows) != n || !reflect.DeepEqual(r.Verdict, whole.Verdict) || r.Speedup.Speedup != whole.Speedup.Speedup {
			t.Errorf("%s: %d windows, %d of contention, %d of the speedup, verdict %+v", name, n, len(r.ContentionWindows), len(r.Speedup.Multi.Windows), r.Verdict)
		}
	}
	r, err := planned(unseekable{bytes.NewReader(data)})
	check("kept", r, err)
	defer bottleneck.SetMostKept(1)()
	r, err = planned(bytes.NewReader(data))
	check("decoded again", r, err)
	if plans != 2 {
		t.Errorf("%d plans in two passes", plans)
	}
	if r, err = planned(unseekable{bytes.NewReader(data)}); r != nil || !errors.Is(err, timeline.ErrTooLarge) {
		t.Errorf("too large: %v, %v", r, err)
	}
	// Without a plan everything is computed except the estimate.
	r, err = bottleneck.Analyze(t.Context(), unseekable{bytes.NewReader(data)}, bottleneck.Options{})
	if err != nil || !errors.Is(r.SpeedupErr, timeline.ErrTooLarge) || !reflect.DeepEqual(r.Verdict, whole.Verdict) {
		t.Errorf("no estimate: %v, %v", err, r.SpeedupErr)
	}
}

// TestSingleThreadedBaseline: with the trace of a run with one worker, the stack compares both
// runs.
func TestSingleThreadedBaseline(t *testing.T) {
	open := func(name string) *os.File {
		f, err := os.Open("testdata/small/" + name + "-go1.26.8.trace")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	opt := speedup.Options{SingleName: "one", MultiName: "many"}
	data, err := io.ReadAll(open("mutex"))
	if err != nil {
		t.Fatal(err)
	}
	e := speedup.NewEstimator(opt)
	want, err := e.Compare(t.Context(), open("compute"), twice(t, e, data))
	if err != nil {
		t.Fatal(err)
	}
	r, err := bottleneck.Analyze(t.Context(), open("mutex"), bottleneck.Options{Single: open("compute"), Speedup: opt})
	if err != nil || r.SpeedupErr != nil || r.Speedup.Estimate || !reflect.DeepEqual(r.Speedup, want) {
		t.Errorf("%+v, %v, %v, want %+v", r.Speedup, err, r.SpeedupErr, want)
	}
}

// BenchmarkAnalyze measures a verdict, including reading and all analyses.
func BenchmarkAnalyze(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join("testdata", "real", "*.zst"))
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		packed, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			events := int64(0)
			for b.Loop() {
				report, err := bottleneck.Analyze(b.Context(), bytes.NewReader(packed), bottleneck.Options{Want: bottleneck.WantVerdict})
				if err != nil {
					b.Fatal(err)
				}
				events += report.Info.Events
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
