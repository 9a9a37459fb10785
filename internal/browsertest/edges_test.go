package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/query"
	"github.com/bottleneck-go/bottleneck/internal/report"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// steady is a recording of n quanta, one per millisecond, the first after five seconds.
func steady(n int) *quanta.Recording {
	r := &quanta.Recording{Name: "steady", Wall: 7 * time.Second, Funcs: []string{""}, Groups: []quanta.Group{{Name: "main.work", Kind: timeline.Application}}}
	goal := quanta.Counter{Name: "heap-goal", Unit: "bytes", Level: true, Accuracy: quanta.Observed}
	level := quanta.Counter{Name: "heap-objects", Unit: "bytes", Level: true, Accuracy: quanta.Observed}
	for i := range n {
		r.Goroutine, r.Group, r.Thread, r.Proc = append(r.Goroutine, 7), append(r.Group, 0), append(r.Thread, 4000), append(r.Proc, 0)
		r.Begin, r.Duration = append(r.Begin, int64(5*time.Second)+int64(i)*int64(ms)), append(r.Duration, int64(700*time.Microsecond)+int64(37*i))
		r.Ending, r.Wait, r.Func = append(r.Ending, quanta.Blocked), append(r.Wait, timeline.WaitMutex), append(r.Func, 0)
		goal.Values, level.Values = append(goal.Values, 6_000_000_000), append(level.Values, 4_000_000_000+int64(i))
	}
	r.Counters = []quanta.Counter{goal, level}
	return r
}

// A column with a single value may exceed 32 bits: one quantum that begins late, or a large heap
// goal.
func TestConstantColumns(t *testing.T) {
	p := openFile(t, &report.Data{Title: "one", Counters: steady(1)}, "y=heap_goal", wide)
	p.answered(1)
	p.wait(`document.querySelector("#record-rows tbody tr")`)
	p.shows("#record-rows", "5 s", "6 GB")
	p.wait(`document.querySelector("#stats-rows tbody tr")`)
	p.shows("#stats-rows", "6 GB")
}

// The skip link is for the keyboard, and keeps the selection.
func TestSkipLinkKeepsTheSelection(t *testing.T) {
	p := openFile(t, testData(3, 200), "proc=3&set=kept%0Aproc%3D1", wide)
	before := p.text("#bar")
	p.must(p.Eval(`document.querySelector(".skip").focus()`, nil))
	p.key("Enter")
	if after := p.text("#bar"); after != before {
		t.Errorf("the bar shows %q, and after the link %q", before, after)
	}
	if id := p.eval(`document.activeElement.id`); id != "main" {
		t.Errorf("the focus is at %q", id)
	}
}

// Quanta with an unknown function can be selected like others.
func TestUnknownFunctionCanBeSelected(t *testing.T) {
	d := testData(3, 300)
	p := openServed(t, d, "table=func", wide)
	p.wait(`document.querySelector("#sums-rows tbody tr")`)
	rows := strings.Split(p.text("#sums-rows tbody"), "\n")
	i := slices.IndexFunc(rows, func(s string) bool { return strings.HasPrefix(s, "(not known)") })
	if i < 0 {
		t.Fatalf("%q", rows)
	}
	p.click(fmt.Sprintf("#sums-rows tbody tr:nth-child(%d)", 1+strings.Count(strings.Join(rows[:i], "\n"), "\n")+min(i, 1)))
	p.answered(answer(t, d, query.Query{Filter: "!known(func)"}).Count)
}

// Values whose difference is smaller than an axis can be divided into.
func TestNearlyEqualValues(t *testing.T) {
	p := openServed(t, &report.Data{Title: "equal", Counters: steady(300)}, "y=duration+*+0.1+/+duration", wide)
	p.answered(300)
}

// A drag over values that are close together and far from 0 selects those that it covers.
func TestDragFarFromZero(t *testing.T) {
	d := &report.Data{Title: "far", Counters: steady(400)}
	p := openServed(t, d, "x=heap_objects&y=duration", wide)
	p.answered(400)
	at, err := p.Find("#scatter .u-over")
	p.must(err)
	p.must(p.Drag(at, point{X: at.X + 100, Y: at.Y}))
	p.settle()
	where := p.eval(`new URLSearchParams(location.hash.slice(1)).get("where")`)
	n := answer(t, d, query.Query{Filter: where}).Count
	p.answered(n)
	if n < 40 || n > 160 {
		t.Errorf("a quarter of the width selects %d of 400: %s", n, where)
	}
}

// The number of lanes is limited.
func TestMostLanes(t *testing.T) {
	r := steady(1100)
	for i := range r.Goroutine {
		r.Goroutine[i] = int64(i + 1)
	}
	p := openFile(t, &report.Data{Title: "many", Counters: r}, "", wide)
	p.answered(1100)
	for _, n := range []int{120, 360, 1000} {
		p.must(p.Eval(`document.querySelector("#lanes .fields button").click()`, nil))
		p.wait(fmt.Sprintf(`document.querySelectorAll("#lanes .lane-names li").length == %d`, n))
	}
	p.shows("#lanes .fields", "100 lanes more")
	if n := p.count("#lanes .fields button"); n > 0 {
		t.Errorf("%d buttons that could show no more", n)
	}
}

// A node of the tree by roots stays selected when a time range is selected.
func TestRootsInWindows(t *testing.T) {
	d := windowedData(t)
	p := openFile(t, d, "by=root-func", wide)
	p.click("#tree [role=treeitem]")
	p.must(p.Eval(`document.querySelector("#tree [role=treeitem]").dataset.before = "true"`, nil))
	for range 3 {
		p.must(p.Eval(`document.querySelector("#window").focus()`, nil))
		p.key("ArrowRight")
	}
	p.wait(`!document.querySelector("#tree [data-before]")`)
}

// A selected owner does not hide the waiters of a later selection that has no waits for it.
func TestChosenOwnerIsGone(t *testing.T) {
	d := testData(5, 100)
	p := openFile(t, d, "", wide)
	p.click("#chains .chain-list:nth-child(2) button.chain")
	for i := range d.Contention.Locks {
		p.must(p.Eval(fmt.Sprintf(`location.hash = "lock=" + encodeURIComponent(%q)`, d.Contention.Locks[i].String()), nil))
		p.settle()
		var dangling bool
		p.must(p.Eval(`!document.querySelector("#chains .chain-list:nth-child(1) button.chain") && !!document.querySelector("#chains .chain-list:nth-child(2) button.chain")`, &dangling))
		if dangling {
			t.Errorf("%s: owners, but no waiters: %q", d.Contention.Locks[i], p.text("#chains"))
		}
	}
}

// A selection of time before all windows is empty.
func TestTimeWithoutWindows(t *testing.T) {
	d := testData(3, 100)
	d.Bottle.Windows = d.Bottle.Windows[5:]
	p := openFile(t, d, "time=1000-2000", wide)
	p.shows("#bottle-lead", "0 s in all", "nothing recorded")
	if n := p.count("#bottle-chart [role=option]"); n > 0 {
		t.Errorf("%d boxes", n)
	}
}

// A drag that the browser takes over, as for scrolling, selects nothing and ends.
func TestDragIsCanceled(t *testing.T) {
	p := openFile(t, testData(3, 100), "", wide)
	for _, at := range []string{"#tasks .columns > div:nth-child(2) svg.plot", "#lanes canvas"} {
		p.must(p.Eval(fmt.Sprintf(`(() => {
			const e = document.querySelector(%q), r = e.getBoundingClientRect(), send = (type, x) => e.dispatchEvent(new PointerEvent(type, {pointerId: 1, button: 0, clientX: r.x + x, clientY: r.y + 10, bubbles: true}));
			e.setPointerCapture = () => {};
			send("pointerdown", 100);
			send("pointermove", 200);
			send("pointercancel", 200);
			send("pointermove", 300);
			send("pointerup", 300);
		})()`, at), nil))
		p.settle()
		p.shows("#bar", "everything")
	}
}

// A page without groups, as of saved tasks alone, is drawn, too.
func TestWithoutGroups(t *testing.T) {
	for _, d := range []*report.Data{{Title: "tasks", Tasks: testTasks()}, {Title: "stacks", Speedup: testSpeedup()}, {Title: "nothing"}} {
		p := openFile(t, d, "", wide)
		p.shows("#counters", "There are no scheduling quanta")
		if len(d.Speedup) > 0 {
			p.shows("#speedup-lead", "2.50 times faster")
		}
	}
}

// If the blocked share of tasks is unknown, it is not shown as 0.
func TestBlockedNotKnown(t *testing.T) {
	d := &report.Data{Title: "tasks", Tasks: testTasks()}
	for i := range d.Tasks.Classes {
		d.Tasks.Classes[i].WallNS = granularity.Histogram{}
	}
	d.TaskWindows, d.TaskWindow = splitTasks(d.Tasks, 2), 1640*ms
	for _, w := range d.TaskWindows {
		for i := range w.Classes {
			w.Classes[i].WallNS = granularity.Histogram{}
		}
	}
	for _, time := range []string{"", "time=0-1640000000"} {
		p := openFile(t, d, time, wide)
		p.shows("#class-rows", "–")
		if s := p.text("#class-rows"); strings.Contains(s, "%") {
			t.Errorf("%s: %s", time, s)
		}
	}
}
