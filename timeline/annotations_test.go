package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRangesOverGenerations: a range over several generations begins once and ends once.
func TestRangesOverGenerations(t *testing.T) {
	w := newWire(26)
	g := w.generation(1, 1000)
	a := g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1)
	a.ev(1100, wSTWBegin, "start trace", stk("main.main")).ev(1110, wSTWEnd)
	a.ev(1200, wGCBegin, 1, stk("main.main")).ev(1300, wGCSweepBegin, stk("main.main")).ev(1400, wAssistBegin, stk("main.main")).ev(1410, wHeapAlloc, 2)
	g = w.generation(2, 2000)
	g.thread(1).runs(2001, 0, 1).ev(2003, wGCActive, 1).ev(2004, wGCSweepActive, 0).ev(2005, wAssistActive, 1).ev(2100, wHeapAlloc, 1)
	g = w.generation(3, 3000)
	g.thread(1).runs(3001, 0, 1).ev(3003, wGCActive, 1).ev(3004, wGCSweepActive, 0).ev(3005, wAssistActive, 1).
		ev(3100, wAssistEnd).ev(3200, wGCSweepEnd, 1, 1).ev(3300, wGCEnd, 2).ev(3400, wHeapAlloc, 1)
	want := []string{
		"1100 stop-the-world (start trace) begins, goroutine 1",
		"1110 stop-the-world (start trace) ends since 1100, goroutine 1",
		"1200 GC concurrent mark phase begins, global",
		"1300 GC incremental sweep begins, P 0",
		"1400 GC mark assist begins, goroutine 1",
		"3100 GC mark assist ends since 1400, goroutine 1",
		"3200 GC incremental sweep ends since 1300, P 0",
		"3300 GC concurrent mark phase ends since 1200, global",
	}
	if got := rangesOf(w.replay(t)); !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestRangesBeforeTheTrace: ranges that are open at the beginning of the trace.
func TestRangesBeforeTheTrace(t *testing.T) {
	w := newWire(26)
	g := w.generation(1, 1000)
	g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1)
	g.thread(2).ev(1503, wProcStatus, 1, pRunning).ev(1504, wGoStatus, 2, 2, sRunning).ev(1505, wGCActive, 3).ev(1506, wGCSweepActive, 1).
		ev(1600, wGCSweepEnd, 1, 1).ev(1700, wGCEnd, 4).ev(1800, wHeapAlloc, 1)
	g.thread(3).ev(1513, wProcStatus, 2, pRunning).ev(1514, wGoStatus, 3, 3, sRunning).ev(1515, wAssistActive, 3).ev(1900, wAssistEnd)
	want := []string{
		"1010 GC mark assist begins, goroutine 3", // from the first event of the goroutine, not from its status
		"1600 GC incremental sweep ends since 1010, P 1",
		"1700 GC concurrent mark phase ends since 1010, global",
		"1900 GC mark assist ends since 1010, goroutine 3",
	}
	var got []string
	for _, r := range rangesOf(w.replay(t)) {
		// The beginnings of open ranges of Ps and of the process are only known as the
		// times of their statuses. Their ends are known.
		if !strings.Contains(r, "sweep begins") && !strings.Contains(r, "phase begins") {
			got = append(got, strings.NewReplacer("since 1506", "since 1010", "since 1505", "since 1010").Replace(r))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func rangesOf(fs *facts) []string {
	var all []string
	for _, r := range fs.ranges {
		s := fmt.Sprintf("%d %s begins", r.Time, r.Name)
		if !r.Begin {
			s = fmt.Sprintf("%d %s ends since %d", r.Time, r.Name, r.Start)
		}
		switch {
		case r.OfG:
			s += fmt.Sprintf(", goroutine %d", r.G.ID)
		case r.Proc >= 0:
			s += fmt.Sprintf(", P %d", r.Proc)
		default:
			s += ", global"
		}
		all = append(all, s)
	}
	return all
}

// noted is an Observer that records regions, tasks and logs in words.
type noted struct {
	Base
	all []string
}

func (n *noted) add(format string, args ...any) { n.all = append(n.all, fmt.Sprintf(format, args...)) }

func (n *noted) Region(r *Span) {
	what := "ends"
	if r.Begin {
		what = "begins"
	}
	n.add("%d region %q of task %d %q %s on %d, since %d, depth %d, in %s", r.Time, r.Name, r.TaskID, r.Task, what, r.G.ID, r.Start, len(r.G.Regions()), frameFunc(leafOf(r.Stack)))
}

func (n *noted) Task(k *Span) {
	what := "ends"
	if k.Begin {
		what = "begins"
	}
	n.add("%d task %d %q of %d %s on %d, since %d, in %s", k.Time, k.TaskID, k.Name, k.ParentID, what, k.G.ID, k.Start, frameFunc(leafOf(k.Stack)))
}

func (n *noted) Log(l *Log) {
	n.add("%d log %s=%s, task %d, on %d, in %s", l.Time, l.Category, l.Message, l.TaskID, l.G.ID, frameFunc(leafOf(l.Stack)))
}

func (n *noted) Transition(tr *Transition) {
	if tr.State == NotExist {
		n.add("%d goroutine %d is born into %q", tr.End, tr.G.ID, tr.G.UserTask())
	}
}

// TestTasksAndRegions: tasks and regions continue over generations, which do not repeat their
// names.
func TestTasksAndRegions(t *testing.T) {
	for _, version := range []int{22, 26} {
		w := newWire(version)
		g := w.generation(1, 1000)
		a := g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1)
		a.ev(1100, wTaskBegin, 7, 0, "request", stk("main.serve")).ev(1110, wTaskBegin, 8, 7, "query", stk("main.query"))
		a.ev(1120, wRegionBegin, 7, "outer", stk("main.serve")).ev(1130, wRegionBegin, 8, "inner", stk("main.query"))
		a.ev(1140, wGoCreate, 2, stk("main.worker"), stk("main.query")).ev(1150, wLog, 8, "rows", "12", stk("main.query")).ev(1160, wHeapAlloc, 1)
		g = w.generation(2, 2000)
		a = g.thread(1).runs(2001, 0, 1).ev(2003, wGoStatus, 2, noM, sRunnable).ev(2010, wHeapAlloc, 1)
		a.ev(2100, wRegionEnd, 8, "inner", stk("main.query")).ev(2110, wTaskEnd, 8, stk("main.query"))
		a.ev(2120, wGoCreate, 3, stk("main.worker"), stk("main.serve")).ev(2130, wLog, 0, "", "hello", stk("main.serve"))
		g = w.generation(3, 3000)
		a = g.thread(1).runs(3001, 0, 1).ev(3003, wGoStatus, 2, noM, sRunnable).ev(3004, wGoStatus, 3, noM, sRunnable).ev(3010, wHeapAlloc, 1)
		a.ev(3100, wRegionEnd, 7, "outer", stk("main.serve")).ev(3110, wTaskEnd, 7, stk("main.serve"))
		a.ev(3120, wRegionEnd, 99, "earlier", stk("main.serve")).ev(3130, wTaskEnd, 98, stk("main.serve")).ev(3140, wGoCreate, 4, stk("main.worker"), stk("main.serve"))
		want := []string{
			`1100 task 7 "request" of 0 begins on 1, since 1100, in main.serve`,
			`1110 task 8 "query" of 7 begins on 1, since 1110, in main.query`,
			`1120 region "outer" of task 7 "request" begins on 1, since 1120, depth 1, in main.serve`,
			`1130 region "inner" of task 8 "query" begins on 1, since 1130, depth 2, in main.query`,
			`1140 goroutine 2 is born into "query"`,
			`1150 log rows=12, task 8, on 1, in main.query`,
			`2100 region "inner" of task 8 "query" ends on 1, since 1130, depth 1, in main.query`,
			`2110 task 8 "query" of 7 ends on 1, since 1110, in main.query`,
			`2120 goroutine 3 is born into "request"`,
			`2130 log =hello, task 0, on 1, in main.serve`,
			`3100 region "outer" of task 7 "request" ends on 1, since 1120, depth 0, in main.serve`,
			`3110 task 7 "request" of 0 ends on 1, since 1100, in main.serve`,
			`3120 region "earlier" of task 99 "" ends on 1, since 0, depth 0, in main.serve`,
			`3130 task 98 "" of 0 ends on 1, since 0, in main.serve`,
			`3140 goroutine 4 is born into ""`,
		}
		got := &noted{}
		check := newChecker()
		check.verify(t, mustRead(t, w.bytes(), Options{}, got, check))
		for i := range max(len(got.all), len(want)) {
			var g, w string
			if i < len(got.all) {
				g = got.all[i]
			}
			if i < len(want) {
				w = want[i]
			}
			if g != w {
				t.Errorf("Go 1.%d:\n got  %s\n want %s", version, g, w)
			}
		}
	}
}

// TestMetricsAndClocks: changes of GOMAXPROCS, the heap, and the clocks of each generation.
func TestMetricsAndClocks(t *testing.T) {
	w := newWire(26)
	for n := range uint64(2) {
		g := w.generation(n+1, 1000*(n+1))
		g.clock = [3]uint64{77 + n, 1_700_000_000, 5 + n}
		m := g.thread(1).runs(1000*(n+1)+1, 0, 1)
		m.ev(1000*(n+1)+10, wProcsChange, 2+6*n, stk("runtime.GOMAXPROCS")).ev(1000*(n+1)+20, wHeapAlloc, 4096)
	}
	fs := w.replay(t)
	want := []metricFact{
		{1010, "/sched/gomaxprocs:threads", 2}, {1020, "/memory/classes/heap/objects:bytes", 4096},
		{2010, "/sched/gomaxprocs:threads", 8}, {2020, "/memory/classes/heap/objects:bytes", 4096},
	}
	if !slices.Equal(fs.metrics, want) {
		t.Errorf("got %v, want %v", fs.metrics, want)
	}
	if len(fs.clocks) != 2 || fs.clocks[0].mono != 77 || fs.clocks[1].mono != 78 || fs.clocks[1].at != 2000 || fs.clocks[1].wall.UnixNano() != 1_700_000_000_000_000_006 {
		t.Errorf("clocks: %+v", fs.clocks)
	}
	w = newWire(23)
	w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1)
	if fs := w.replay(t); len(fs.clocks) != 0 {
		t.Errorf("Go 1.23 has no clocks: %v", fs.clocks)
	}
}

// TestSamples: samples of the CPU profiler are in time order with the other events, and samples
// outside of known intervals change no times.
func TestSamples(t *testing.T) {
	w := newWire(26)
	for n := range uint64(2) {
		g := w.generation(n+1, 1000*(n+1))
		g.thread(1).runs(1000*(n+1)+1, 0, 1).ev(1000*(n+1)+10, wHeapAlloc, 1).ev(1000*(n+1)+500, wHeapAlloc, 2)
		g.sample(1000*(n+1)+100, 1, 0, 1, stk("main.hot", "main.main"))
		g.sample(1000*(n+1)+1300, 1, 0, 1, stk("main.hot", "main.main")) // after the next generation has begun
	}
	fs := w.replay(t)
	if len(fs.samples) != 4 || fs.samples[0] != 1100 {
		t.Errorf("%+v", fs.samples)
	}
	if fs.begin != 1010 || fs.end != 2500 {
		t.Errorf("from %d to %d", fs.begin, fs.end)
	}

	// The last event is that a P stops: the trace ends there, and a sample before it is within
	// the trace.
	w = newWire(26)
	g := w.generation(1, 1000)
	g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1)
	g.thread(2).ev(1003, wProcStatus, 1, pIdle).ev(1100, wProcStart, 1, 1)
	g.sample(1050, 1, 0, 1, stk("main.hot", "main.main"))
	if fs := w.replay(t); len(fs.samples) != 1 || fs.samples[0] != 1050 || fs.end != 1100 {
		t.Errorf("%+v, end %d", fs.samples, fs.end)
	}
}

// TestLabels: the collector's workers have a label until they park. The runtime also gives the
// label to a goroutine of the program that runs on the processor of a stopped worker.
func TestLabels(t *testing.T) {
	w := newWire(26)
	g := w.generation(1, 1000)
	a := g.thread(1).runs(1001, 0, 1).ev(1010, wGoLabel, "GC (dedicated)").ev(1050, wGoCreate, 9, stk("main.worker"), stk("runtime.gcBgMarkWorker"))
	a.ev(1100, wGoBlock, "system goroutine wait", stk("runtime.gcBgMarkWorker")).ev(1110, wGoStart, 9, 1).ev(1120, wGoLabel, "GC (dedicated)").ev(1200, wHeapAlloc, 1)
	want := []string{`1 "GC (dedicated)" at 1010`, `1 "" at 1100`}
	if fs := w.replay(t); !slices.Equal(fs.labels, want) {
		t.Errorf("got %v, want %v", fs.labels, want)
	}
}
