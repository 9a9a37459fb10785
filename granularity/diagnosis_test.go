package granularity

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// empty0 is the cost of an empty task in the tests.
const empty0 = 200 * time.Nanosecond

// run describes a run of one class of tasks.
type run struct {
	procs       int
	tasks       int
	each        time.Duration // execution time of a task
	uneven      bool          // the first task takes ten times as long
	blocked     time.Duration // additional blocked time of a task
	utilization float64       // of the machine, per sample; negative means not sampled
	besides     time.Duration // additional usage of the process per task
	unmeasured  uint64
	accuracy    string
	noHz        bool
}

func (r run) profile() *Profile {
	const hz = 2e9
	p := &Profile{Source: "test", Accuracy: "thread-time", Hz: hz, Procs: r.procs, Start: 0, Wall: time.Second, Overhead: empty0, OverheadOrigin: "an empty task"}
	if r.accuracy != "" {
		p.Accuracy = r.accuracy
	}
	if r.noHz {
		p.Hz = 0
	}
	c := Class{Name: "work", Tasks: uint64(r.tasks), Unmeasured: r.unmeasured, ActiveShare: 1}
	var executed time.Duration
	for i := range r.tasks {
		d := r.each
		if r.uneven && i == 0 {
			d *= 10
		}
		executed += d
		c.Cycles.Add(uint64(d.Seconds() * hz))
		c.WallNS.Add(uint64(d + r.blocked))
		c.BlockedNS.Add(uint64(r.blocked))
	}
	c.Sites = []Site{{Pool: "p", Created: []Frame{{"main.feed", "/src/main.go", 42}}, Submitted: []Frame{{"main.send", "/src/main.go", 7}}, Tasks: uint64(r.tasks)}}
	for i := range 10 {
		c.Series = append(c.Series, Bin{At: int64(i+1) * 1e8, Active: 1})
		if r.utilization >= 0 {
			p.Samples = append(p.Samples, Sample{At: int64(i+1) * 1e8, Wall: SampleEvery, Utilization: r.utilization, Voluntary: 300, Involuntary: 7})
		}
	}
	if r.utilization >= 0 {
		p.Run = Sample{Wall: time.Second, CPU: executed + r.besides*time.Duration(r.tasks), Utilization: r.utilization}
	}
	p.Classes = []Class{c}
	return p
}

func TestDiagnosis(t *testing.T) {
	const empty = empty0
	big := 1000 * empty // long compared with any overhead
	for _, test := range []struct {
		name string
		run  run
		want string
		text string // in reasons or advice
	}{
		{"570 tiny tasks", run{procs: 2, tasks: 570, each: empty, utilization: 1}, Fine, "merge ~95 tasks into one"},
		{"100,000 empty tasks", run{procs: 4, tasks: 100000, utilization: 1}, Fine, "100,000 tasks on 4 processors"},
		{"tiny but few more than the processors need", run{procs: 16, tasks: 200, each: empty, utilization: 1}, OK, ""},
		{"tiny against their measured overhead", run{procs: 2, tasks: 10000, each: 50 * empty, besides: 10 * empty, utilization: 1}, Unknown, "cannot tell whether they are too small: the process used 2µs a task besides its tasks"},
		{"the same without that overhead", run{procs: 2, tasks: 10000, each: 50 * empty, utilization: 1}, OK, ""},
		{"a program that does mostly other things", run{procs: 2, tasks: 1000, each: 1000 * empty, besides: time.Second, utilization: 1}, OK, ""},
		{"two uneven tasks on two processors", run{procs: 2, tasks: 2, each: big, uneven: true, utilization: 0.6}, Coarse, "split into at least 16 tasks"},
		{"as many as processors, which are busy", run{procs: 8, tasks: 8, each: big, utilization: 0.95}, OK, "used to 95 %"},
		{"one processor cannot idle for lack of tasks", run{procs: 1, tasks: 1, each: big, utilization: 0.5}, OK, ""},
		{"few but blocked", run{procs: 4, tasks: 8, each: big, blocked: 9 * big, utilization: 0.1}, Blocked, "blocked for at least 90 % of their time"},
		{"few, large, and the machine is unknown", run{procs: 4, tasks: 4, each: big, utilization: -1}, Unknown, "Recorder.Start"},
		{"few, but perhaps blocked", run{procs: 4, tasks: 4, each: big, utilization: 0.3, accuracy: "upper-bound"}, Unknown, "may have been blocked"},
		{"too many not measured", run{procs: 4, tasks: 80, each: big, utilization: 1, unmeasured: 20}, Unknown, "80 of 100 executions"},
		{"nothing", run{procs: 4, utilization: 1}, Unknown, "no execution has ended"},
		{"none measured", run{procs: 4, utilization: 1, unmeasured: 3}, Unknown, "0 of 3 executions"},
		{"few empty tasks", run{procs: 4, tasks: 5, utilization: 1}, OK, "is 100 % of its cost"},
		{"few and large, and a clock that is too coarse", run{procs: 4, tasks: 1, each: big}, Unknown, "is not known"},
		{"a sensible number", run{procs: 2, tasks: 64, each: big, utilization: 0.9}, OK, "64 tasks on 2 processors"},
		{"cycles of unknown length", run{procs: 2, tasks: 2, each: big, utilization: 0.5, noHz: true}, Coarse, "split"},
		{"few tasks too small to split that far", run{procs: 2, tasks: 2, each: 101 * empty, utilization: 0.5}, OK, ""},
	} {
		p := test.run.profile()
		if test.name == "cycles of unknown length" {
			p.Hz = 0
		}
		p.Diagnose()
		c := &p.Classes[0]
		text := strings.Join(append(append([]string{}, c.Reasons...), c.Advice...), "; ")
		if c.Diagnosis != test.want || !strings.Contains(text, test.text) {
			t.Errorf("%s: %s, because %q; want %s and %q", test.name, c.Diagnosis, text, test.want, test.text)
		}
		if len(c.Reasons) == 0 {
			t.Errorf("%s: no reasons", test.name)
		}
		if (c.Merge >= 2) != (c.Diagnosis == Fine) || (c.Split > c.Tasks) != (c.Diagnosis == Coarse) {
			t.Errorf("%s: %s, but merge %d, split %d", test.name, c.Diagnosis, c.Merge, c.Split)
		}
		if advised := c.Diagnosis == Fine || c.Diagnosis == Coarse; advised != strings.Contains(text, "created at main.feed (main.go:42), submitted at main.send (main.go:7)") {
			t.Errorf("%s: %s, but the lines to change are (not) named: %q", test.name, c.Diagnosis, text)
		}
		again := fmt.Sprint(c.Reasons, c.Advice)
		if p.Diagnose(); fmt.Sprint(c.Reasons, c.Advice) != again {
			t.Errorf("%s: a second diagnosis differs", test.name)
		}
	}
}

// Tasks that block keep workers busy, so more workers may help, but not if the workers wait for tasks.
func TestMoreWorkersForTasksThatBlock(t *testing.T) {
	for active, want := range map[float64]bool{0.5: true, 1: false} { // 2 tasks at a time, or 1
		p := run{procs: 2, tasks: 200, each: 500 * time.Microsecond, blocked: 4500 * time.Microsecond, utilization: 0.05}.profile()
		c := &p.Classes[0]
		c.Workers, c.ActiveShare = 2, active
		p.Diagnose()
		if advice := strings.Join(c.Advice, "\n"); c.Diagnosis != Blocked || strings.Contains(advice, "more workers than the 2") != want {
			t.Errorf("active for %g of the time: %s, %q", active, c.Diagnosis, advice)
		}
	}
}

// The text about one task uses the singular.
func TestOneTask(t *testing.T) {
	big := 1000 * empty0
	aggregated := &Profile{Procs: 2, Hz: 1e9, Classes: []Class{{Name: "inner", Aggregated: 1}}}
	aggregated.Diagnose()
	p := &Profile{Source: SourceTrace, Classes: []Class{{Unmeasured: 1}}}
	text := append(p.traceWarnings(), aggregated.Classes[0].Reasons...)
	for _, r := range []run{
		{procs: 4, tasks: 1, each: big, utilization: 0.9},
		{procs: 4, tasks: 1, each: big, blocked: 9 * big, utilization: 0.1},
		{procs: 4, tasks: 1, each: big, utilization: 0.1},
		{procs: 4, tasks: 1, each: big, utilization: -1},
		{procs: 4, tasks: 1, each: big, utilization: 0.1, accuracy: "upper-bound"},
		{procs: 4, utilization: 1, unmeasured: 1},
	} {
		p := r.profile()
		p.Diagnose()
		text = append(append(text, p.Classes[0].Reasons...), p.Classes[0].Advice...)
	}
	for _, s := range text {
		if strings.HasPrefix(s, "split into") {
			continue // these are plural then
		}
		for _, many := range []string{" they ", "they were", " them ", " their ", " each", " 1 tasks", " 1 executions", "of 1 tasks"} {
			if strings.Contains(" "+s, many) {
				t.Errorf("%q: %s", s, many)
			}
		}
	}
}

// A trace does not show the cost of an empty task, and it may be read on another machine.
func TestOverheadOfTracesIsTypicalNotMeasured(t *testing.T) {
	p := run{procs: 2, tasks: 1000, each: time.Microsecond, besides: time.Hour, utilization: 1}.profile()
	p.Source, p.Overhead, p.OverheadOrigin = SourceTrace, 0, ""
	p.Diagnose()
	if p.Overhead != 300*time.Nanosecond || p.OverheadOrigin != "measured with empty goroutines on a quiet machine, not in this program" || p.Classes[0].Diagnosis != Fine {
		t.Errorf("%v, %s; %s", p.Overhead, p.OverheadOrigin, p.Classes[0].Diagnosis)
	}
}

// verdictOn diagnoses the profile of one class, and returns the texts.
func verdictOn(p *Profile) (string, string) {
	p.Diagnose()
	c := &p.Classes[0]
	return c.Diagnosis, strings.Join(append(append([]string{}, c.Reasons...), c.Advice...), "; ")
}

// service is the pool of examples/service: its tasks execute for 230 µs and wait for a lock for 81
// ms, while the goroutines of an HTTP server and its clients use processors and switch.
func serviceRun() *Profile {
	p := run{procs: 2, tasks: 583, each: 230 * time.Microsecond, blocked: 81 * time.Millisecond, besides: 700 * time.Microsecond, utilization: 0.07}.profile()
	p.Wall, p.Run.Wall, p.Run.Voluntary = 4*time.Second, 4*time.Second, 19_000
	p.Run.Ready, p.Run.Delayed = 150*time.Millisecond, 50*time.Millisecond
	return p
}

func TestBlockedTasksAreNotFine(t *testing.T) {
	for name, change := range map[string]func(*Profile){
		"the service":                   func(*Profile) {},
		"with an overhead as of before": func(p *Profile) { p.Overhead = 89 * time.Microsecond },
		"with an unknown overhead":      func(p *Profile) { p.Overhead, p.OverheadOrigin = 0, "not known" },
		"merged with itself":            func(p *Profile) { *p = *Merge(p, p) },
	} {
		p := serviceRun()
		change(p)
		d, text := verdictOn(p)
		if d != Blocked || p.Classes[0].Merge != 0 || strings.Contains(text, "merge") || !strings.Contains(text, "they were blocked for at least 99 % of their time") ||
			!strings.Contains(text, "find what they wait for: bottleneck contention") || strings.Contains(text, "other programs") {
			t.Errorf("%s: %s, because %q", name, d, text)
		}
	}
	p := serviceRun()
	p.Run.Delayed = 0
	if d, text := verdictOn(p); d != Blocked || !strings.Contains(text, "or waited while other programs had the processors, which this system does not show") {
		t.Errorf("where the system does not show waits for processors: %s, because %q", d, text)
	}
}

func TestFineAndBlockedIsBlocked(t *testing.T) {
	p := run{procs: 2, tasks: 5000, each: 300, blocked: 400 * time.Microsecond, utilization: 0.1}.profile()
	if d, text := verdictOn(p); d != Blocked || !strings.Contains(text, "they are small as well: the overhead of a task, 200ns (an empty task), is 40 % of its cost; judge the size again") {
		t.Errorf("%s, because %q", d, text)
	}
	p = run{procs: 2, tasks: 5000, each: 300, blocked: 200, utilization: 0.9}.profile()
	if d, text := verdictOn(p); d != Fine {
		t.Errorf("tasks that are off the processor for 40 %% of half a microsecond: %s, because %q", d, text)
	}
}

// Goroutines outside of tasks and their switches make no class fine and hide no fine class.
func TestSwitchesOutsideOfTasksAreNotOverhead(t *testing.T) {
	for _, switches := range []uint64{0, 500, 5_000, 500_000} {
		for _, besides := range []time.Duration{0, 10 * time.Microsecond, 10 * time.Millisecond} {
			for each, want := range map[time.Duration][]string{
				500 * time.Nanosecond:  {Fine},
				20 * time.Microsecond:  {OK, Unknown},
				500 * time.Microsecond: {OK},
			} {
				p := run{procs: 2, tasks: 5000, each: each, besides: besides, utilization: 0.9}.profile()
				p.Run.Voluntary = switches
				if d, text := verdictOn(p); !slices.Contains(want, d) || p.Overhead != empty0 || d == Unknown && (!strings.Contains(text, "it may be other work") || besides == 0) {
					t.Errorf("tasks of %v, %v besides, %d switches: %s, because %q; want %s", each, besides, switches, d, text, want)
				}
			}
		}
	}
	few := run{procs: 2, tasks: 5000, each: 20 * time.Microsecond, besides: 10 * time.Millisecond, utilization: 0.9}.profile()
	few.Run.Voluntary = 5
	if d, text := verdictOn(few); d != OK {
		t.Errorf("a program whose threads never sleep: %s, because %q", d, text)
	}
}

// Tasks that wait for a processor are not blocked.
func TestReadyIsNotBlocked(t *testing.T) {
	many := run{procs: 2, tasks: 64, each: 10 * time.Millisecond, blocked: 90 * time.Millisecond, utilization: 1}
	p := many.profile()
	p.Run.Ready, p.Run.Delayed = 5*time.Second, time.Second
	if d, text := verdictOn(p); d != OK || !strings.Contains(text, "off the processor for 90 % of their time: blocked, or waiting for a processor") {
		t.Errorf("64 tasks on two busy processors: %s, because %q", d, text)
	}
	many.utilization = 0.6
	p = many.profile()
	p.Run.Ready, p.Run.Delayed = 5*time.Second, 1500*time.Millisecond // threads wait for each other as well
	if d, text := verdictOn(p); d != OK || !strings.Contains(text, "used to 100 % of the 60 % of their time that other threads left") {
		t.Errorf("64 tasks while other programs have the processors: %s, because %q", d, text)
	}
	many.utilization = 0.2
	p = many.profile()
	p.Run.Ready, p.Run.Delayed = 3*time.Second, time.Second
	if d, text := verdictOn(p); d != Unknown || !strings.Contains(text, "cannot tell whether they were blocked") {
		t.Errorf("64 tasks while other programs have the processors: %s, because %q", d, text)
	}
	p.Source = SourceTrace
	c := &p.Classes[0]
	for ready, want := range map[uint64]string{10e6: Blocked, 60e6: OK} {
		c.ReadyNS = Histogram{}
		c.ReadyNS.AddN(ready, c.Tasks)
		if d, text := verdictOn(p); d != want {
			t.Errorf("tasks that were ready for %d of 90 ms: %s, because %q; want %s", ready, d, text, want)
		}
	}
}

// Few large tasks are not too large if processors idle while they wait for each other.
func TestFewTasksThatWaitAreNotCoarse(t *testing.T) {
	for blocked, want := range map[time.Duration]string{400 * time.Millisecond: Unknown, 100 * time.Millisecond: Coarse} {
		p := run{procs: 2, tasks: 2, each: 600 * time.Millisecond, blocked: blocked, utilization: 0.6}.profile()
		p.Run.Ready = 500 * time.Millisecond // until their processors woke up
		d, text := verdictOn(p)
		if d != want || strings.Contains(text, "blocked for at least 800ms in all, which no other size of task shortens") != (want == Unknown) {
			t.Errorf("two tasks that wait for %v each: %s, because %q; want %s", blocked, d, text, want)
		}
	}
}

// A class is not blocked because other programs preempt a few of its tasks for long.
func TestFewLongPreemptionsAreNotBlocking(t *testing.T) {
	p := run{procs: 2, tasks: 100_000, each: 40, utilization: 0.9}.profile()
	c := &p.Classes[0]
	c.WallNS.AddN(4e6, 50) // 50 tasks wait for 4 ms
	c.BlockedNS.AddN(4e6, 50)
	for _, delayed := range []time.Duration{0, 300 * time.Millisecond} {
		p.Run.Delayed = delayed
		if d, text := verdictOn(p); d != Fine {
			t.Errorf("%v delayed: %s, because %q", delayed, d, text)
		}
	}
	// In a trace, a few tasks wait for the collector, for longer than all others take.
	p = run{procs: 2, tasks: 100_000, each: 700, utilization: 0.9}.profile()
	p.Source, c = SourceTrace, &p.Classes[0]
	c.WallNS.AddN(4e6, 50)
	c.BlockedNS.AddN(4e6, 50)
	c.ReadyNS.AddN(0, c.BlockedNS.Count())
	if d, text := verdictOn(p); d != Fine || !strings.Contains(text, "merge ~") {
		t.Errorf("waits for the collector: %s, because %q", d, text)
	}
}

func TestAdviceForOneProcessor(t *testing.T) {
	p := run{procs: 1, tasks: 4, each: 200 * time.Millisecond, blocked: 600 * time.Millisecond, utilization: 1}.profile()
	p.Classes[0].Workers = 4
	p.Run.Ready = 3 * time.Second
	if d, text := verdictOn(p); d != TooManyWorkers || !strings.Contains(text, "use 1 worker, one for each processor") {
		t.Errorf("%s, because %q", d, text)
	}
}

// If the cost of an empty task is unknown, tasks that may be small are not judged.
func TestUnknownOverheadIsStated(t *testing.T) {
	for each, want := range map[time.Duration]string{time.Microsecond: Unknown, 100 * time.Microsecond: Unknown, 2 * time.Millisecond: OK} {
		p := run{procs: 2, tasks: 1000, each: each, utilization: 1}.profile()
		p.Overhead, p.OverheadOrigin = 0, "not known, because the process was busy when the recorder was made"
		if d, text := verdictOn(p); d != want || !strings.Contains(text, "the overhead of a task is not known, because the process was busy") {
			t.Errorf("tasks of %v: %s, because %q; want %s", each, d, text, want)
		}
	}
}

// An empty task is measured only while nothing else runs.
func TestEmptyTaskIsMeasuredInAQuietProcess(t *testing.T) {
	looks := 0
	every := func(n int) func() bool { return func() bool { looks++; return looks%n == 0 } }
	if cost := emptyTaskCost(func() bool { return true }); cost <= 0 || cost > noOverhead {
		t.Errorf("in quiet, an empty task costs %v", cost)
	}
	if cost := emptyTaskCost(every(2)); cost != 0 {
		t.Errorf("%v, though each round was disturbed", cost)
	}
	if cost := emptyTaskCost(func() bool { return false }); cost != 0 {
		t.Errorf("%v, though it was never quiet", cost)
	}
	stop := make(chan bool)
	var spinning sync.WaitGroup
	for range runtime.GOMAXPROCS(0) + 1 {
		spinning.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	is := quiet()
	for range 3 {
		if is() {
			t.Error("a process with busy goroutines is quiet")
			break
		}
	}
	if cost := new(emptyTask).known(); cost != 0 {
		t.Errorf("a profile in a busy process measures %v", cost)
	}
	close(stop)
	spinning.Wait()
}

// The time for which goroutines were ready and threads waited is known for a run, on Linux only.
func TestWaitsForProcessorsAreMeasured(t *testing.T) {
	before := processWaits()
	after := before
	for try := 0; try < 50 && after.ready == before.ready; try++ { // the runtime measures one wait in eight
		var spinning sync.WaitGroup
		for range 8 * runtime.GOMAXPROCS(0) {
			spinning.Go(func() { busy(5 * time.Millisecond) })
		}
		spinning.Wait()
		after = processWaits()
	}
	if after.ready <= before.ready || after.delayed < before.delayed {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// The tasks of a line are those of all call chains that end there.
func TestLinesAreSummed(t *testing.T) {
	p := run{procs: 2, tasks: 9000, utilization: 1}.profile()
	leaf := Frame{"main.submit", "/src/main.go", 5}
	p.Classes[0].Sites = nil
	for i, tasks := range []uint64{5000, 2000, 1000} {
		p.Classes[0].Sites = append(p.Classes[0].Sites, Site{Created: []Frame{leaf, {"main.main", "/src/main.go", 10 + i}}, Tasks: tasks})
	}
	p.Classes[0].Sites = append(p.Classes[0].Sites, Site{Created: []Frame{{"main.other", "/src/main.go", 50}}, Tasks: 1000})
	p.Diagnose()
	text := strings.Join(p.Classes[0].Advice, "; ")
	if !strings.Contains(text, "8000 of 9000 are created at main.submit (main.go:5)") || !strings.Contains(text, "1000 of 9000 are created at main.other") {
		t.Errorf("%q", text)
	}
}

// Tasks that are counted as part of others have no size of their own to judge.
func TestAggregatedTasksAreNotJudged(t *testing.T) {
	p := &Profile{Procs: 2, Hz: 1e9, Classes: []Class{{Name: "inner", Aggregated: 50}}}
	p.Diagnose()
	if c := &p.Classes[0]; c.Diagnosis != Unknown || len(c.Reasons) != 1 || !strings.Contains(c.Reasons[0], "all of 50 executions") {
		t.Errorf("%s: %q", c.Diagnosis, c.Reasons)
	}
}

// A file may contain any length.
func TestDurationsAreBounded(t *testing.T) {
	for ns, want := range map[float64]string{0: "0s", 1234: "1.23µs", 999_900: "1ms", 8e18: "128", math.Inf(1): "128"} { // 146 years at most
		if got := duration(ns); got != want && (ns < 1e18 || got[:3] != want) {
			t.Errorf("%g ns are %s; want %s", ns, got, want)
		}
	}
}

// The first bin begins with the run, however long the second one is.
func TestFirstBin(t *testing.T) {
	const start = 500
	c := Class{Series: []Bin{{At: start + 2000, Active: 1}, {At: start + 2100, Active: 1}}}
	if got := c.activeTime(start, start, start+2100); got != 2100 {
		t.Errorf("active for %g of 2100", got)
	}
}

func TestUtilizationWhileActive(t *testing.T) {
	p := run{procs: 4, tasks: 4, each: time.Millisecond, utilization: 0.2}.profile()
	c := &p.Classes[0]
	for i := range 10 { // active in the first half only, when the processors were busy
		if i < 5 {
			p.Samples[i].Utilization = 0.9
		} else {
			c.Series[i].Active = 0
		}
	}
	p.Samples[2].Utilization, p.Samples[2].Excluded = 0, true // a collector's pause
	if u := p.during(c); u < 0.89 || u > 0.91 {
		t.Errorf("used to %g; want 0.9", u)
	}
	half := *p
	half.Classes = slices.Clone(p.Classes)
	half.Classes[0].ActiveShare = 0.5
	half.DropSeries()
	for name, sum := range map[string]*Profile{"without series": &half, "joined": Join(&half, &half), "merged": Merge(&half, p)} {
		if u := sum.during(&sum.Classes[0]); u < 0.89 || u > 0.91 {
			t.Errorf("%s: used to %g; want 0.9", name, u)
		}
	}
	p.Samples = nil
	if u := p.during(c); u < 0.19 || u > 0.21 {
		t.Errorf("without samples %g; want the run's 0.2", u)
	}
	c.ActiveShare = 0.1
	if u := p.during(c); u == u {
		t.Errorf("without samples, and seldom active: %g; want unknown", u)
	}
}

// The keys of the JSON are an interface. This is the list of them.
func TestJSON(t *testing.T) {
	p := run{procs: 2, tasks: 1000, utilization: 1}.profile()
	p.Diagnose()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	keys := func(v any) (names []string) {
		for k := range v.(map[string]any) {
			names = append(names, k)
		}
		return names
	}
	same := func(what string, got []string, want ...string) {
		t.Helper()
		set := map[string]bool{}
		for _, k := range got {
			set[k] = true
		}
		wanted := map[string]bool{}
		for _, k := range want {
			wanted[k] = true
		}
		if !reflect.DeepEqual(set, wanted) {
			t.Errorf("%s has the keys %q; want %q", what, got, want)
		}
	}
	same("the profile", keys(got), "source", "accuracy", "hz", "warnings", "classes",
		"start_ns", "run_ns", "gomaxprocs", "overhead_ns", "overhead_origin", "run", "samples", "gc_pauses", "utilization")
	c := got["classes"].([]any)[0].(map[string]any)
	same("a class", keys(c), "class", "tasks", "cycles", "wall_ns", "blocked_ns", "diagnosis", "reasons", "created_at", "submitted_at",
		"advice", "merge", "unmeasured", "nested", "aggregated", "active_share", "series", "sites")
	for _, h := range []string{"cycles", "wall_ns", "blocked_ns"} {
		same(h, keys(c[h]), "p1", "p25", "p50", "p75", "p99", "mean", "sum", "buckets")
	}
	if got["source"] != "test" || c["class"] != "work" || c["tasks"] != 1000. || c["diagnosis"] != "fine" {
		t.Errorf("wrong values: %s", text)
	}
	if want := []any{"main.feed (main.go:42)"}; !reflect.DeepEqual(c["created_at"], want) {
		t.Errorf("created_at is %v; want %v", c["created_at"], want)
	}
	// Lists are never null; unmeasured values always are.
	empty, err := json.Marshal(&Profile{})
	if err != nil || strings.Contains(strings.Replace(string(empty), `"hz":null`, "", 1), "null") {
		t.Errorf("an empty profile: %s, %v; want lists, not null", empty, err)
	}
	bare, err := json.Marshal(&Profile{Hz: 2e9, Classes: []Class{{Name: "x"}}})
	if err != nil || strings.Count(string(bare), "null") != 3*7 || !strings.Contains(string(bare), `"cycles":{"p1":null,`) || !strings.Contains(string(bare), `"diagnosis":"unknown"`) {
		t.Errorf("a class without anything: %s, %v", bare, err)
	}
}

// Other programs that use the processors leave them less time to idle. A diagnosis that depends on
// how much they would have idled is not made.
func TestOtherProgramsHideIdleTime(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name string
		program
		want string
	}{
		{"three on two processors", program{2, 2, repeat(3, func(int) time.Duration { return 10 * ms })}, Coarse},
		{"a large one among many", program{2, 2, append(repeat(1000, func(int) time.Duration { return 20 * time.Microsecond }), 20*ms)}, Straggler},
		{"three workers", program{4, 3, repeat(300, func(int) time.Duration { return ms })}, TooFewWorkers},
		{"a sensible size", program{2, 2, repeat(100, func(int) time.Duration { return ms })}, OK},
	} {
		for hidden, want := range map[float64]string{0: tt.want, 0.05: tt.want, 1: Unknown} { // part of the idle time in which others ran
			p := tt.profile()
			c := &p.Classes[0]
			others := hidden * (float64(p.Wall)*float64(tt.procs) - float64(p.Run.CPU))
			p.Run.Delayed = time.Duration(others)
			c.BlockedNS = Histogram{}
			c.BlockedNS.Add(uint64(others))
			c.BlockedNS.AddN(0, c.Tasks-1)
			if tt.want == OK {
				want = OK
			}
			if p.Diagnose(); c.Diagnosis != want || want == Unknown && !strings.Contains(strings.Join(c.Reasons, "; "), "cannot tell whether processors idled") {
				t.Errorf("%s, others ran in %.0f %% of the idle time: %s, want %s: %q", tt.name, 100*hidden, c.Diagnosis, want, c.Reasons)
			}
		}
	}
}

// One of several workers that did all of the work is named, although the others waited for longer
// than it worked.
func TestOneWorkerDidAllOfTheWork(t *testing.T) {
	for _, workers := range []int{2, 3, 8} {
		for _, idle := range []time.Duration{0, 3 * time.Microsecond} {
			p := &Profile{Source: SourceTrace, Accuracy: "upper-bound", Of: OfGoroutines, Wall: 100 * time.Millisecond, Procs: workers,
				Run: Sample{Wall: 100 * time.Millisecond, CPU: 96 * time.Millisecond, Utilization: 0.96 / float64(workers)}}
			c := Class{Name: "worker", Tasks: uint64(workers), ActiveShare: 1}
			for i := range workers {
				ran := idle
				if i == 0 {
					ran = 95 * time.Millisecond
				}
				c.RunningNS.Add(uint64(ran))
				c.WallNS.Add(1e8)
				c.BlockedNS.Add(1e8 - uint64(ran))
				c.ReadyNS.Add(0)
			}
			p.Classes = []Class{c}
			d, text := verdictOn(p)
			if want := fmt.Sprintf("the largest of %d tasks executes 95ms", workers); d != Straggler || !strings.Contains(text, want) {
				t.Errorf("%d workers: %s, because %q; want straggler, %q", workers, d, text, want)
			}
		}
	}
}

// A pool whose workers mostly have no task is not ok without a word.
func TestWorkersWithoutTasks(t *testing.T) {
	for _, test := range []struct {
		utilization float64
		each        time.Duration
		want        string
	}{
		{0.55, 900 * time.Microsecond, "of its 2 workers, 0.9 had one of them on average while any had: more have to be submitted at a time, or faster"},
		{0.95, 1200 * time.Microsecond, "of its 2 workers, 1.2 had one of them on average while any had: other goroutines of the process used processors"},
		{0.95, 1900 * time.Microsecond, ""},
	} {
		p := run{procs: 2, tasks: 1000, each: test.each, utilization: test.utilization}.profile()
		p.Classes[0].Workers = 2
		d, text := verdictOn(p)
		if test.utilization == 0.55 { // another class has the other worker
			p.Classes = append(p.Classes, Class{Name: "other", Tasks: 1, Workers: 2})
			if _, text := verdictOn(p); !strings.Contains(text, "0.9 had one of them on average while any had: the others had other tasks, or none") {
				t.Errorf("beside another class: %q", text)
			}
		}
		if d != OK || !strings.Contains(text, test.want) || test.want == "" && strings.Contains(text, "had one of them") {
			t.Errorf("tasks of %v: %s, because %q; want %q", test.each, d, text, test.want)
		}
	}
}

// A trace shows how long goroutines waited for a processor, and how many were under way.
func TestReasonsOfATrace(t *testing.T) {
	for _, test := range []struct {
		tasks      int
		ran, ready time.Duration
		used       float64
		want       string
	}{
		{1000, 1800 * time.Microsecond, 500 * time.Millisecond, 0.95, "they were off the processor for 100 % of their time: 98 % waiting for a processor, and the rest blocked"},
		{1000, 900 * time.Microsecond, 100 * time.Microsecond, 0.6, "they were off the processor for 10 % of their time: 10 % waiting for a processor, and the rest blocked"},
		{1000, 1800 * time.Microsecond, 0, 0.95, "the processors were used to 95 % while they were under way"},
		{100, 9 * time.Millisecond, 0, 0.6, "on average 0.9 under way at a time, while any was"},
	} {
		p := &Profile{Source: SourceTrace, Accuracy: "upper-bound", Of: OfGoroutines, Wall: time.Second, Procs: 2,
			Run: Sample{Wall: time.Second, CPU: time.Duration(2e9 * test.used), Utilization: test.used}}
		c := Class{Name: "task", Tasks: uint64(test.tasks), ActiveShare: 1}
		for range test.tasks {
			c.RunningNS.Add(uint64(test.ran))
			c.ReadyNS.Add(uint64(test.ready))
			c.BlockedNS.Add(uint64(test.ready + test.ready/50))
			c.WallNS.Add(uint64(test.ran + test.ready + test.ready/50))
		}
		p.Classes = []Class{c}
		if d, text := verdictOn(p); d != OK || !strings.Contains(text, test.want) {
			t.Errorf("%s, because %q; want %q", d, text, test.want)
		}
	}
}

// A task that is blocked for the whole run keeps a worker from others.
func TestOneTaskIsBlocked(t *testing.T) {
	p := run{procs: 2, tasks: 1000, each: 900 * time.Microsecond, utilization: 0.5}.profile()
	c := &p.Classes[0]
	c.Workers, c.Tasks = 2, 1001
	c.Cycles.Add(1000)
	c.WallNS.Add(1e9)
	c.BlockedNS.Add(1e9 - 500)
	if d, text := verdictOn(p); d != OK || !strings.Contains(text, "one of them was off the processor for 1s, and its worker had no other in that time") {
		t.Errorf("%s, because %q", d, text)
	}
}

// What the process uses besides its tasks may be their overhead as far as waiting for a queue
// costs that much, even if no thread sleeps.
func TestContendedQueue(t *testing.T) {
	for besides, want := range map[time.Duration]string{100 * time.Nanosecond: OK, 600 * time.Nanosecond: Unknown, 2 * time.Microsecond: Unknown, 3 * time.Microsecond: OK} {
		p := run{procs: 2, tasks: 100_000, each: 5 * time.Microsecond, besides: besides, utilization: 1}.profile()
		p.Run.Voluntary = 500
		if d, text := verdictOn(p); d != want || d == Unknown && !(strings.Contains(text, "it may be other work") && strings.Contains(text, "tasks -sweep")) {
			t.Errorf("%v besides: %s, because %q; want %s", besides, d, text, want)
		}
	}
}
