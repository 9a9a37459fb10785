package browsertest

import (
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

var wide = window{Width: 1280, Height: 900}

// A click on a box selects its group everywhere: as a chip, in the table, behind the graph, in
// contention and counters, and in the address. A click on the chip clears the selection.
func TestClickBox(t *testing.T) {
	p := openFile(t, testData(5, 500), "", wide)
	if n := p.count("svg.bottle g[role=option]"); n != 7 {
		t.Errorf("%d boxes, want 7", n)
	}
	p.shows("#bottle-lead", "3.28 s in all", "24% of the capacity lost")
	before := p.text("#contention-lead")
	p.click(`svg.bottle g[aria-label^="index.(*Reader).query0:"]`)
	p.shows("#bar", "group", "index.(*Reader).query0")
	p.shows("#behind", "behind", "index.(*Reader).query0", "3 goroutines", "running", "blocked: mutex")
	if p.text("#contention-lead") == before {
		t.Error("the selection of a group does not filter contention")
	}
	p.wait(`document.querySelector("#selected-count").innerText != "500"`)
	if got := p.eval(`document.querySelectorAll("#bottle-rows tr.on").length`); got != "1" {
		t.Errorf("%s rows of the table are selected", got)
	}
	if hash := p.eval("decodeURIComponent(location.hash)"); !strings.Contains(hash, "group=example.com/search/index.(*Reader).query0") {
		t.Errorf("the address has %q", hash)
	}
	p.click("#bar .chip")
	p.shows("#bar", "everything")
	if p.text("#contention-lead") != before {
		t.Error("contention stays filtered")
	}
	p.wait(`document.querySelector("#selected-count").innerText == "500"`)
}

// A group leads to its goroutines: a click on one of them filters the quanta further.
func TestGoroutineBehindBox(t *testing.T) {
	p := openFile(t, testData(5, 500), "", wide)
	p.click(`svg.bottle g[aria-label^="main.main:"]`)
	p.wait(`document.querySelector("#selected-count").innerText != "500"`)
	group := p.eval(`+document.querySelector("#selected-count").innerText`)
	p.click("#goroutine-rows tbody tr:nth-child(2)")
	p.shows("#bar", "goroutine", "group")
	p.wait(`+document.querySelector("#selected-count").innerText < ` + group)
	p.wait(`[...document.querySelectorAll("#record-rows tbody tr")].every(r => r.cells[1].innerText == "2")`)
}

// The slider is stepped by keyboard. Graph, table and quanta follow.
func TestWindows(t *testing.T) {
	p := openFile(t, testData(5, 500), "", wide)
	p.must(p.Eval(`document.querySelector("#window").focus()`, nil))
	p.key("ArrowRight")
	p.shows("#window-text", "window 1 of 10", "0 s – 328 ms")
	p.shows("#bottle-lead", "328 ms in all")
	p.key("ArrowRight", "ArrowRight")
	p.shows("#window-text", "window 3 of 10", "656 ms – 984 ms")
	p.shows("#bar", "time")
	p.wait(`+document.querySelector("#selected-count").innerText < 60`)
	p.key("End")
	p.shows("#window-text", "window 10 of 10")
	p.click("#whole")
	p.shows("#window-text", "the whole recording")
}

// Boxes are reached and selected by keyboard, and announced.
func TestBoxesByKeyboard(t *testing.T) {
	p := openFile(t, testData(5, 100), "", wide)
	p.must(p.Eval(`document.querySelector("svg.bottle [tabindex='0']").focus()`, nil))
	p.key("ArrowDown", "ArrowDown", " ")
	p.shows("#bar", "main.main")
	p.wait(`document.querySelector("#live").textContent.includes("main.main")`)
	if got := p.eval(`document.activeElement.getAttribute("aria-label")`); !strings.HasPrefix(got, "main.main:") {
		t.Errorf("the focus is lost to %q", got)
	}
	p.key("ArrowDown", "Shift+ ")
	if got := p.eval(`document.querySelectorAll("#bar .chip bdi").length`); got != "2" {
		t.Errorf("%s chips after shift and space on another box, want 2", got)
	}
}

// The address contains the state: a page opened with it shows the same.
func TestAddress(t *testing.T) {
	p := openFile(t, testData(5, 500), "group=main.main&time=656000000-984000000&window=2&by=lock,owner-func&without=sync-mutex&y=cycles", wide)
	p.shows("#bar", "main.main", "656 ms – 984 ms")
	p.shows("#window-text", "window 3 of 10")
	if got := p.order(); got != "lock,owner-func" {
		t.Errorf("the tree is by %q", got)
	}
	p.shows("#what-if", "3.12")
	if y := p.eval(`document.querySelector("#y").value`); y != "cycles" {
		t.Errorf("y is %q", y)
	}
	p.click("#clear")
	p.shows("#bar", "everything")
}

// The page begins with the verdict of the graph, in the same words, also with hostile names.
// Without a verdict it has no such section.
func TestVerdictIsAtTheTop(t *testing.T) {
	d := testData(5, 500)
	if p := openFile(t, d, "", wide); p.count("#verdict") != 0 {
		t.Error("there is a verdict on a graph that has none")
	}
	d.Bottle.Verdict = &verdict.Verdict{
		Wall: 3280 * ms, Procs: 4, Capacity: 13120 * ms,
		Parts: []verdict.Part{{Name: "your code", Time: 9840 * ms, Share: .75}, {Name: "idle", Time: 3280 * ms, Share: .25}},
		Findings: []verdict.Finding{
			{Title: "The lock <b>main.cache</b> kept 20% of the capacity idle.", Where: []timeline.Place{{Func: "main.(*cache).Get", File: "/src/cache.go", Line: 7}}, Advice: "Hold it for less time.", Gain: 1.25},
			{Title: "The collector took 5%.", Basis: "cannot tell"},
		},
	}
	p := openFile(t, d, "", wide)
	p.shows("#verdict", "3.28 s × 4 processors", "your code 75%", "idle 25%", "The lock <b>main.cache</b> kept 20% of the capacity idle.", "main.(*cache).Get cache.go:7",
		"Hold it for less time.", "Gain: at best 1.25 times as fast.", "The collector took 5%.", "Gain: cannot tell.")
	if first := p.count("#main > #verdict:first-of-type"); first != 1 {
		t.Errorf("the verdict is not the first of the sections")
	}
	if n := p.count("#verdict svg.capacity rect"); n != 2 {
		t.Errorf("the bar has %d parts", n)
	}
}
