package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/report"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// Switching off parts of the stack shows the speed-up without them, as Stack.WhatIf computes it.
func TestWhatIf(t *testing.T) {
	d := testData(5, 50)
	p := openFile(t, d, "", wide)
	s := d.Speedup[1]
	p.click(`[data-part="sync-mutex"]`)
	want := s.WhatIf(speedup.SyncMutex)
	p.shows("#what-if", twoDecimals(want))
	p.must(p.Eval(`document.querySelector('[data-part="imbalance"]').focus()`, nil))
	p.key(" ")
	both := s.Speedup * 4 / (4 - s.Components[speedup.SyncMutex] - s.Components[speedup.Imbalance])
	p.shows("#what-if", twoDecimals(both))
	p.key(" ")
	p.shows("#what-if", twoDecimals(want))
}

func twoDecimals(v float64) string { return fmt.Sprintf("%.2f", v) }

// The page labels an estimate as an upper bound.
func TestEstimateIsLabeled(t *testing.T) {
	d := testData(3, 10)
	d.Speedup[1].Estimate = true
	p := openFile(t, d, "", wide)
	p.shows("#speedup .badge", "estimate", "upper bound")
	if got := p.eval(`document.querySelector("#speedup svg").textContent`); !strings.Contains(got, "at most 2.50") {
		t.Errorf("the bar shows %q", got)
	}
	p.click(`[data-part="sync-mutex"]`)
	p.shows("#what-if", "at most")
}

// Tasks: a click on a class selects it and shows its advice. A drag over the strip selects time
// everywhere.
func TestTasks(t *testing.T) {
	p := openFile(t, testData(5, 500), "", wide)
	p.shows("#tasks-lead", "2,308 tasks", "main.checkAll.func1", "fine")
	p.shows("#advice", "merge ~35 tasks into one", "main.checkAll (check.go:71)")
	p.click("#class-rows tbody tr:nth-child(3)")
	p.shows("#bar", "task", "main.merge")
	p.shows("#advice", "main.merge: coarse")
	at, err := p.Find("#tasks .columns > div:nth-child(2) svg")
	p.must(err)
	to := at
	to.X += 120
	p.must(p.Drag(at, to))
	p.settle()
	p.shows("#bar", "time")
	p.wait(`+document.querySelector("#selected-count").innerText < 400`)
}

// Ticks of every axis are at their values: steps are equal, on logarithmic axes, too.
func TestTicksAreEquidistantOnEveryAxis(t *testing.T) {
	d := testData(5, 50)
	d.Tasks.Classes[0].Cycles.Add(940) // no decade begins at the smallest task
	p := openFile(t, d, "", wide)
	var axes [][]float64
	p.must(p.Eval(`[...document.querySelectorAll("g.axes")].flatMap(g => {
		const lines = [...g.querySelectorAll(":scope > line")].map(l => ["x1", "x2", "y1", "y2"].map(k => +l.getAttribute(k)));
		return [lines.filter(l => l[0] === l[1]).map(l => l[0]), lines.filter(l => l[2] === l[3]).map(l => l[2])].filter(v => v.length > 2);
	})`, &axes))
	if len(axes) < 5 {
		t.Fatalf("%d axes with more than two ticks", len(axes))
	}
	for _, ticks := range axes {
		slices.Sort(ticks) // those of the bottle are on both sides of 0
		ticks = slices.Compact(ticks)
		step := (ticks[len(ticks)-1] - ticks[0]) / float64(len(ticks)-1)
		for i, at := range ticks {
			if off := at - ticks[0] - step*float64(i); off < -0.5 || off > 0.5 {
				t.Errorf("ticks are at %v: number %d is %.1f pixels away from its place", ticks, i, off)
				break
			}
		}
	}
	// The first decade of the distributions is at the left edge of the plot.
	if got := p.eval(`document.querySelector("#tasks .columns > div:first-child g.axes line").getAttribute("x1") - [...document.querySelectorAll("#tasks .columns > div:first-child g.axes line")].find(l => l.getAttribute("x1") === l.getAttribute("x2")).getAttribute("x1")`); got != "0" {
		t.Errorf("the first decade is %s pixels away from the left edge", got)
	}
}

// The maximum number of waiters and the hold time are known for some locks only. For the others
// they are not shown as 0.
func TestUnknownValuesOfLocksAreNotZero(t *testing.T) {
	d := testData(3, 10)
	for i, l := range d.Contention.Locks {
		if l.Waiters, l.Contended = 0, 0; i == 0 {
			l.Waiters, l.Contended = 4, d.Contention.Duration/2
		}
	}
	p := openFile(t, d, "", wide)
	known := 0
	for i := range p.count("#locks tbody tr") {
		switch got := p.eval(`[...document.querySelectorAll("#locks tbody tr")[%d].children].slice(-2).map(c => c.innerText).join()`, i); got {
		case "50%,4":
			known++
		case "–,–":
		default:
			t.Errorf("row %d: %s", i, got)
		}
	}
	if known != 1 {
		t.Errorf("%d locks with something known, want 1", known)
	}
}

// A sentence states what a recording does not contain. The rest is shown.
func TestMissingSections(t *testing.T) {
	d := &report.Data{Title: "only a graph", Bottle: testGraph(searchNames(3)), Missing: map[string]string{report.SpeedupSection: "Only one goroutine worked."}}
	d.Bottle.Windows = nil
	p := openFile(t, d, "", wide)
	p.shows("#speedup", "Only one goroutine worked.")
	p.shows("#contention", "There is no contention profile: it comes from")
	p.shows("#tasks", "There are no tasks: they come from")
	p.shows("#counters", "There are no scheduling quanta: they come from")
	if n := p.count("#window"); n != 0 {
		t.Error("a graph without windows has a slider")
	}
	p.click(`svg.bottle g[aria-label^="main.main:"]`)
	p.shows("#bar", "main.main")
	p = openFile(t, &report.Data{Counters: testRecording(searchNames(3), 100)}, "", wide)
	p.answered(100)
	p.shows("#record-rows", "index.(*Reader).next") // names of functions do not come from another section
}
