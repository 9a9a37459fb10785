package browsertest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/query"
	"github.com/bottleneck-go/bottleneck/internal/report"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// answer returns the answer that the page should show, computed by Go.
func answer(t *testing.T, d *report.Data, q query.Query) *query.Answer {
	t.Helper()
	e, err := query.NewExplorer(d.Counters)
	if err != nil {
		t.Fatal(err)
	}
	a, err := e.Answer(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// answered waits until the tables show n quanta.
func (p *page) answered(n int) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`document.querySelector("#selected-count")?.innerText == %q && (document.querySelector("#record-rows")?.parentNode.nextSibling.innerText || "").includes(%q)`, format.Count(n), format.Count(n)))
	p.settle()
}

// Typed conditions and metrics select and show the same as Go's explorer.
func TestConditions(t *testing.T) {
	d := testData(5, 3000)
	p := openServed(t, d, "", wide)
	p.answered(3000)
	p.must(p.Fill("#condition", "duration > 100us && ended = preempted"))
	a := answer(t, d, query.Query{Filter: "duration > 100us && ended = preempted"})
	p.answered(a.Count)
	p.shows("#bar", "where", "duration > 100us && ended = preempted")
	p.must(p.Fill("#condition", "first(5, gc)"))
	a = answer(t, d, query.Query{Filter: "duration > 100us && ended = preempted && first(5, gc)"})
	p.answered(a.Count)
	p.must(p.Fill("#y", "1000 * minor_faults / duration"))
	p.wait(`document.querySelector("#stats-rows").innerText.includes("1000 * minor_faults / duration")`)
	p.click("#clear")
	p.answered(3000)
}

// A saved page states that it has no conditions, also if its address contains one.
func TestNoConditionsInAFile(t *testing.T) {
	p := openFile(t, testData(3, 200), "", wide)
	p.answered(200)
	p.shows("#counters .about", "need the served page")
	if n := p.count("#condition"); n > 0 {
		t.Error("there is a field for conditions")
	}
	p.must(p.Eval(`location.hash = "where=proc+%3C+4"`, nil))
	p.wait(`document.querySelector("#metric-trouble").innerText.includes("need the served page")`)
	p.click("#bar .chip")
	p.wait(`document.querySelector("#metric-trouble").innerText == ""`)
	p.must(p.Eval(`location.hash = "y=1000+*+duration"`, nil))
	p.wait(`document.querySelector("#metric-trouble").innerText.includes("need the served page")`)
}

// A selection in a saved page shows the same numbers as in a served one, where Go computes them.
func TestPickedAsServed(t *testing.T) {
	d := testData(5, 3000)
	d.Counters.Proc[7], d.Counters.Thread[7] = -1, -1
	address := serve(t, d).URL
	for _, fragment := range []string{
		"", "group=main.main", "goroutine=2&goroutine=5&table=goroutine", "proc=3&proc=0&lanes=proc", "ended=preempted&ended=exited&table=ended", "time=300000000-900000000&table=func",
		"thread=1001&table=thread&lanes=thread", "group=main.main&ended=blocked&time=0-2000000000&table=kind&lanes=group", "x=gap&y=minor_faults+%2F+duration&table=wait&color=minor_faults",
		"x=end&y=thread&table=proc&color=instructions+%2F+cycles", "goroutine=99999",
	} {
		file, served := openFile(t, d, fragment, wide), openURL(t, address+"#"+fragment, wide)
		for _, p := range []*page{file, served} {
			p.wait(`document.documentElement.dataset.answered`)
		}
		for _, part := range []string{"#counter-figures", "#counters .lead", "#stats-rows", "#sums-rows", "#record-rows", "#lanes", "#bar .chips"} {
			text := fmt.Sprintf(`(document.querySelector(%q) || {innerText: ""}).innerText`, part)
			if got, want := file.eval("%s", text), served.eval("%s", text); got != want {
				t.Errorf("%s: %s of the file shows\n%s\nthat of the server\n%s", fragment, part, got, want)
			}
		}
		for _, chart := range []string{"#overtime canvas", "#scatter canvas", "#lanes canvas"} {
			text := fmt.Sprintf(`document.querySelector(%q).getAttribute("aria-label")`, chart)
			if got, want := file.eval("%s", text), served.eval("%s", text); got != want {
				t.Errorf("%s: %s of the file is %q, that of the server %q", fragment, chart, got, want)
			}
		}
	}
}

// The served page selects by clicks and by conditions.
func TestServedPage(t *testing.T) {
	d := testData(5, 3000)
	p := openURL(t, serve(t, d).URL, window{Width: 1280, Height: 900})
	p.answered(3000)
	p.click(`svg.bottle g[aria-label^="main.main:"]`)
	p.must(p.Fill("#condition", "duration > 50us"))
	a := answer(t, d, query.Query{Filter: `group = "main.main" && duration > 50us`, Stats: []string{"minor_faults"}})
	p.answered(a.Count)
	p.must(p.Fill("#y", "no_such"))
	p.wait(`document.querySelector("#metric-trouble").innerText.includes("no counter")`)
	p.wait(`document.querySelector("#y").getAttribute("aria-invalid") == "true"`)
}

// An error is shown at its position, and nothing else changes.
func TestSyntaxTrouble(t *testing.T) {
	p := openServed(t, testData(3, 200), "", wide)
	p.must(p.Fill("#condition", "duration >"))
	p.wait(`document.querySelector("#metric-trouble").innerText.includes("at character 11")`)
	p.shows("#bar", "everything")
	p.must(p.Fill("#condition", "no_such > 1"))
	p.wait(`document.querySelector("#metric-trouble").innerText.includes("no counter")`)
	p.shows("#metric-trouble", "at character 1")
	p.shows("#bar", "everything")
	p.must(p.Fill("#condition", "proc < 4"))
	p.wait(`document.querySelector("#metric-trouble").innerText == ""`)
	p.must(p.Eval(`location.hash = "where=no_such+%3E+1"`, nil)) // as in an address for another recording
	p.wait(`document.querySelector("#metric-trouble").innerText.includes("no counter")`)
	p.click("#bar .chip")
	p.wait(`document.querySelector("#metric-trouble").innerText == ""`)
	p.must(p.Fill("#x", "cycles +"))
	p.wait(`document.querySelector("#x").getAttribute("aria-invalid") == "true"`)
}

// A drag over the chart over time selects time. A drag over the scatter plot selects values of
// both metrics.
func TestDragCharts(t *testing.T) {
	d := testData(5, 2000)
	p := openServed(t, d, "x=minor_faults&y=duration", wide)
	p.answered(2000)
	drag := func(selector string, dx, dy float64) {
		t.Helper()
		at, err := p.Find(selector + " .u-over")
		p.must(err)
		p.must(p.Drag(at, point{X: at.X + dx, Y: at.Y + dy}))
		p.settle()
	}
	drag("#overtime", 80, 0)
	p.shows("#bar", "time")
	var from, to float64
	if _, err := fmt.Sscanf(p.eval(`new URLSearchParams(location.hash.slice(1)).get("time")`), "%g-%g", &from, &to); err != nil {
		t.Fatal(err)
	}
	if mid := 3280e6 / 2; math.Abs(from-mid) > 100e6 || to < from+150e6 || to > from+1000e6 {
		t.Errorf("selected %v to %v", from, to)
	}
	a := answer(t, d, query.Query{Filter: fmt.Sprintf("during(%.0fns, %.0fns)", from, to)})
	p.answered(a.Count)
	p.click("#whole-run")
	p.answered(2000)
	drag("#scatter", 120, 60)
	p.shows("#bar", "where", "minor_faults >=", "duration <=")
	where := p.eval(`new URLSearchParams(location.hash.slice(1)).get("where")`)
	a = answer(t, d, query.Query{Filter: where})
	p.answered(a.Count)
	if a.Count == 0 || a.Count == 2000 {
		t.Errorf("the drag selects %d quanta: %s", a.Count, where)
	}
}

// A click on a point selects its group, and a click on a lane its goroutine.
func TestClickCharts(t *testing.T) {
	p := openFile(t, testData(3, 40), "x=begin&y=duration", wide)
	p.answered(40)
	var at point
	p.must(p.Eval(`(() => { const o = document.querySelector("#scatter .u-over"); o.scrollIntoView({block: "center"}); const r = o.getBoundingClientRect(); return {X: r.x, Y: r.y} })()`, &at))
	found := false
	for x := 0.02; x < 1 && !found; x += .04 {
		for y := 0.1; y < 1 && !found; y += .15 {
			p.must(p.Move(point{X: at.X + x*440, Y: at.Y + y*210}))
			if p.eval(`document.querySelector("#scatter .tip").hidden`) == "false" {
				p.shows("#scatter .tip", "goroutine", "duration")
				p.must(p.Drag(point{X: at.X + x*440, Y: at.Y + y*210}, point{X: at.X + x*440, Y: at.Y + y*210}))
				found = true
			}
		}
	}
	if !found {
		t.Fatal("no point was found under the mouse")
	}
	p.settle()
	p.shows("#bar", "group")
	p.click("#clear")
	p.answered(40)
	p.click("#lanes .lane-names button")
	p.shows("#bar", "goroutine")
}

// Lanes of processors and goroutines are colored by a metric.
func TestLanes(t *testing.T) {
	d := testData(5, 1000)
	p := openFile(t, d, "", wide)
	p.answered(1000)
	if n := p.count("#lanes .lane-names li"); n != 10 {
		t.Errorf("%d goroutines, want 10", n)
	}
	p.choose("#choose-lanes", "proc")
	p.wait(`document.querySelectorAll("#lanes .lane-names li").length == 8`)
	p.choose("#color", "instructions / cycles")
	p.wait(`document.querySelector("#lanes .scale")?.innerText.includes("instructions / cycles")`)
	// The painted area has more than a few colors.
	p.wait(`(() => { const c = document.querySelector("#lanes canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, 100).data, seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i+1] << 8 | d[i+2]); return seen.size > 50 })()`)
	p.click("#lanes .lane-names li:nth-child(3) button")
	p.shows("#bar", "processor", "2")
}

// Each wide quantum of a lane ends with a glyph of how it ended, in a saved and in a served page.
func TestLanesHaveGlyphsOfEndings(t *testing.T) {
	d := testData(3, 3)
	r := d.Counters
	for row, ending := range []quanta.Ending{quanta.Preempted, quanta.Exited, quanta.Blocked} {
		r.Goroutine[row], r.Ending[row], r.Begin[row], r.Duration[row] = 1, ending, int64(row)*1e9, 5e8
	}
	saved, served := openFile(t, d, "", wide), openServed(t, d, "", wide)
	for name, p := range map[string]*page{"saved": saved, "served": served} {
		p.answered(3)
		if got := p.eval(`[...document.querySelectorAll("#lanes .glyph")].map(e => e.innerText.trim()).join()`); got != "preempted,blocked" {
			t.Errorf("%s: the legend is %q", name, got)
		}
		// The color before the end of each quantum is that of the glyph, except where it exited.
		const at = `(() => { const c = document.querySelector("#lanes canvas"), k = c.width / 3280, y = c.height / c.clientHeight * 8, row = c.getContext("2d").getImageData(0, y, c.width, 1).data;
			return [500, 1500, 2500].map(ms => { const i = 4 * (Math.round(ms * k) - 4); return row.slice(i, i + 3).join(" ") == "27 31 39" }).join() })()`
		if got := p.eval(at); got != "true,false,true" {
			t.Errorf("%s: glyphs at the ends: %s, want true,false,true", name, got)
		}
	}
}

// A lane has the label that Go gives it: the group of its goroutine, not that of its first
// quantum.
func TestLanesAreLabeledByGoroutine(t *testing.T) {
	d := testData(5, 200)
	r := d.Counters
	r.Groups = append(r.Groups, quanta.Group{Name: "stop-the-world", Kind: timeline.GC})
	seen := map[int64]bool{}
	for row, g := range r.Goroutine {
		if !seen[g] {
			seen[g] = true
			r.Group[row] = int32(len(r.Groups) - 1)
			r.Duration[row] *= 100
		}
	}
	p := openFile(t, d, "", wide)
	p.answered(200)
	if s := p.text("#lanes .lane-names"); strings.Contains(s, "stop-the-world") || strings.Count(s, "\n") < 8 {
		t.Errorf("the lanes are %q", s)
	}
}

// Points too many to be drawn singly are shown as density, and the page says so.
func TestDensityIsLabeled(t *testing.T) {
	p := openFile(t, testData(5, 51000), "", wide)
	p.answered(51000)
	p.shows("#counters .lead", "shown as density", "more than 50,000 points")
	p.must(p.Eval(`location.hash = "proc=0&proc=1"`, nil))
	p.wait(`!document.querySelector("#counters .lead").innerText.includes("density")`)
}
