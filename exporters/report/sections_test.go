package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/speedup"
)

// Switching parts of the stack off shows the speed-up without them, as Stack.WhatIf has it.
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

// An estimate says on the page that it is an upper bound.
func TestEstimateIsLabelled(t *testing.T) {
	d := testData(3, 10)
	d.Speedup[1].Estimate = true
	p := openFile(t, d, "", wide)
	p.shows("#speedup .badge", "estimate", "upper bound")
	if got := p.eval(`document.querySelector("#speedup svg").textContent`); !strings.Contains(got, "at most 2.50") {
		t.Errorf("the bar says %q", got)
	}
	p.click(`[data-part="sync-mutex"]`)
	p.shows("#what-if", "at most")
}

// Tasks: a class that is clicked is selected, its advice shown; a drag over the strip selects time everywhere.
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

// What was most waiters, and for how long a lock was held meanwhile, is known of some locks only. It is no 0 elsewhere.
func TestUnknownOfLocks(t *testing.T) {
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

// What is not in a recording is said in a sentence, and the rest is there.
func TestMissingSections(t *testing.T) {
	d := &Data{Title: "only a graph", Bottle: testGraph(searchNames(3)), Missing: map[Section]string{SpeedupSection: "Only one goroutine worked."}}
	d.Bottle.Windows = nil
	p := openFile(t, d, "", wide)
	p.shows("#speedup", "Only one goroutine worked.")
	for _, s := range []Section{ContentionSection, TasksSection, CountersSection} {
		p.shows("#"+string(s), strings.TrimSuffix(usualReasons[s], ".")[:20])
	}
	if n := p.count("#window"); n != 0 {
		t.Error("a graph without windows has a slider")
	}
	p.click(`svg.bottle g[aria-label^="main.main:"]`)
	p.shows("#bar", "main.main")
	p = openFile(t, &Data{Counters: testRecording(searchNames(3), 100)}, "", wide)
	p.answered(100)
	p.shows("#record-rows", "index.(*Reader).next") // names of functions do not come from another section
}
