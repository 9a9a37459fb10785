package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/internal/browser"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// answer asks Go what the page should show.
func answer(t *testing.T, d *Data, q counters.Query) *counters.Answer {
	t.Helper()
	e, err := counters.NewExplorer(d.Counters)
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
func (p *tester) answered(n int) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`document.querySelector("#selected-count")?.innerText == %q && (document.querySelector("#record-rows")?.parentNode.nextSibling.innerText || "").includes(%q)`, format.Count(n), format.Count(n)))
	p.settle()
}

// Conditions and metrics that are typed in select and show what Go's explorer says.
func TestConditions(t *testing.T) {
	d := testData(5, 3000)
	p := openFile(t, d, "", wide)
	p.answered(3000)
	p.must(p.Fill("#condition", "duration > 100us && ended = preempted"))
	a := answer(t, d, counters.Query{Filter: "duration > 100us && ended = preempted"})
	p.answered(a.Count)
	p.shows("#bar", "where", "duration > 100us && ended = preempted")
	p.must(p.Fill("#condition", "first(5, gc)"))
	a = answer(t, d, counters.Query{Filter: "duration > 100us && ended = preempted && first(5, gc)"})
	p.answered(a.Count)
	p.must(p.Fill("#y", "1000 * minor_faults / duration"))
	p.wait(`document.querySelector("#stats-rows").innerText.includes("1000 * minor_faults / duration")`)
	p.click("#clear")
	p.answered(3000)
	a = answer(t, d, counters.Query{Stats: []string{"1000 * minor_faults / duration"}, Correlate: &counters.CorrelateQuery{Metrics: []string{"minor_faults", "1000 * minor_faults / duration"}}})
	p.wait(fmt.Sprintf(`document.querySelector("#counter-figures").innerText.includes("r = %.3f")`, float64(a.Correlation.Pearson[0][1])))
}

// What is wrong is said where it is, and nothing else changes.
func TestSyntaxTrouble(t *testing.T) {
	p := openFile(t, testData(3, 200), "", wide)
	p.must(p.Fill("#condition", "duration >"))
	p.shows("#metric-trouble", "at character 11")
	p.shows("#bar", "everything")
	p.must(p.Fill("#condition", "no_such > 1"))
	p.shows("#metric-trouble", "at character 1", "no counter")
	p.shows("#bar", "everything")
	p.must(p.Fill("#condition", "proc < 4"))
	p.wait(`document.querySelector("#metric-trouble").innerText == ""`)
	p.must(p.Eval(`location.hash = "where=no_such+%3E+1"`, nil)) // as in an address that was written for another recording
	p.wait(`document.querySelector("#metric-trouble").innerText.includes("no counter")`)
	p.click("#bar .chip")
	p.wait(`document.querySelector("#metric-trouble").innerText == ""`)
	p.must(p.Fill("#x", "cycles +"))
	p.wait(`document.querySelector("#x").getAttribute("aria-invalid") == "true"`)
}

// A drag over the chart over time selects it; one over the scatter selects values of both metrics.
func TestDragCharts(t *testing.T) {
	d := testData(5, 2000)
	p := openFile(t, d, "x=minor_faults&y=duration", wide)
	p.answered(2000)
	drag := func(selector string, dx, dy float64) {
		t.Helper()
		at, err := p.Find(selector + " .u-over")
		p.must(err)
		p.must(p.Drag(at, browser.Point{X: at.X + dx, Y: at.Y + dy}))
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
	a := answer(t, d, counters.Query{Filter: fmt.Sprintf("during(%.0fns, %.0fns)", from, to)})
	p.answered(a.Count)
	p.click("#whole-run")
	p.answered(2000)
	drag("#scatter", 120, 60)
	p.shows("#bar", "where", "minor_faults >=", "duration <=")
	where := p.eval(`new URLSearchParams(location.hash.slice(1)).get("where")`)
	a = answer(t, d, counters.Query{Filter: where})
	p.answered(a.Count)
	if a.Count == 0 || a.Count == 2000 {
		t.Errorf("the drag selects %d quanta: %s", a.Count, where)
	}
}

// A click on a point selects its group; one on a lane its goroutine; one on a cell of the correlations takes the pair as x and y.
func TestClickCharts(t *testing.T) {
	p := openFile(t, testData(3, 40), "x=begin&y=duration", wide)
	p.answered(40)
	var at browser.Point
	p.must(p.Eval(`(() => { const o = document.querySelector("#scatter .u-over"); o.scrollIntoView({block: "center"}); const r = o.getBoundingClientRect(); return {X: r.x, Y: r.y} })()`, &at))
	found := false
	for x := 0.02; x < 1 && !found; x += .04 {
		for y := 0.1; y < 1 && !found; y += .15 {
			p.must(p.Move(browser.Point{X: at.X + x*440, Y: at.Y + y*210}))
			if p.eval(`document.querySelector("#scatter .tip").hidden`) == "false" {
				p.shows("#scatter .tip", "goroutine", "duration")
				p.must(p.ClickAt(browser.Point{X: at.X + x*440, Y: at.Y + y*210}))
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
	p.click("#clear")
	p.answered(40)
	p.wait(`document.querySelector("#correlation-rows")`)
	p.click("#correlation-rows tbody tr:nth-child(4) td:nth-child(6) button")
	if x, y := p.eval(`document.querySelector("#x").value`), p.eval(`document.querySelector("#y").value`); x == "begin" || y == "duration" {
		t.Errorf("x and y are still %s and %s", x, y)
	}
}

// Lanes are coloured by a metric, of processors as of goroutines.
func TestLanes(t *testing.T) {
	d := testData(5, 1000)
	p := openFile(t, d, "", wide)
	p.answered(1000)
	if n := p.count("#lanes .lane-names li"); n != 10 {
		t.Errorf("%d goroutines, want 10", n)
	}
	p.must(p.Eval(`(() => { const s = document.querySelector("#choose-lanes"); s.value = "proc"; s.dispatchEvent(new Event("change")) })()`, nil))
	p.wait(`document.querySelectorAll("#lanes .lane-names li").length == 8`)
	p.must(p.Fill("#color", "instructions / cycles"))
	p.wait(`document.querySelector("#lanes .scale")?.innerText.includes("instructions / cycles")`)
	// Something is painted in more than a few colours.
	p.wait(`(() => { const c = document.querySelector("#lanes canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, 100).data, seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i+1] << 8 | d[i+2]); return seen.size > 50 })()`)
	p.click("#lanes .lane-names li:nth-child(3) button")
	p.shows("#bar", "processor", "2")
}

// A lane is labeled as Go labels it: with the group of its goroutine, not with that of its first quantum.
func TestLanesAreNotLabeledByTheirFirstQuantum(t *testing.T) {
	d := testData(5, 200)
	r := d.Counters
	r.Groups = append(r.Groups, counters.Group{Name: "stop-the-world", Kind: timeline.GC})
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

// Two named selections are compared; the metrics that differ most come first, as in Go.
func TestSearchDifferences(t *testing.T) {
	d := testData(5, 2000)
	p := openFile(t, d, "", wide)
	p.must(p.Fill("#condition", "during(0, 200ms)"))
	p.must(p.Fill("#set-name", "cold"))
	p.settle()
	p.click("#clear")
	p.must(p.Fill("#condition", "during(600ms, 750ms)"))
	p.must(p.Fill("#set-name", "before GC"))
	p.settle()
	p.shows("#bar", "cold", "before GC")
	for id, choice := range map[string]string{"set-a": "set:cold", "set-b": "set:before GC"} {
		p.must(p.Eval(fmt.Sprintf(`(() => { const s = document.querySelector("#%s"); s.value = %q; s.dispatchEvent(new Event("change")) })()`, id, choice), nil))
		p.settle()
	}
	p.click("#search")
	a := answer(t, d, counters.Query{Filter: "during(0, 200ms)", Against: "during(600ms, 750ms)", Compare: &counters.CompareQuery{}})
	p.wait(`document.querySelector("#compare-rows")`)
	if got := p.eval(`document.querySelector("#compare-rows tbody th").innerText`); got != a.Comparison.Rows[0].Metric {
		t.Errorf("first is %q, want %q", got, a.Comparison.Rows[0].Metric)
	}
	result := fmt.Sprintf("A: %d quanta, B: %d quanta", a.Count, a.AgainstCount)
	p.shows("#compare-result", result)
	// What is found stays while the page draws anew, and goes with the selections that it is about.
	p.must(p.Eval(`document.querySelector("#compare-rows tbody button").click()`, nil))
	p.settle()
	p.shows("#compare-result", result)
	p.must(p.Eval(`(() => { const s = document.querySelector("#set-b"); s.value = "everything"; s.dispatchEvent(new Event("change")) })()`, nil))
	p.settle()
	p.wait(`document.querySelector("#compare-result").innerText === ""`)
}

// exported clicks a button of the export menu and returns the file as text, or as base64.
func (p *tester) exported(what string, binary bool) string {
	p.t.Helper()
	p.must(p.Eval(`URL.createObjectURL = b => { window.blob = b; return "#" }; window.blob = null; HTMLAnchorElement.prototype.click = () => {}; document.querySelector("#export").open = true`, nil))
	p.click(fmt.Sprintf(`[data-export=%q]`, what))
	p.wait(`window.blob`)
	if binary {
		p.must(p.Eval(`window.blob.arrayBuffer().then(b => { window.bytes = btoa(String.fromCharCode(...new Uint8Array(b))) })`, nil))
	} else {
		p.must(p.Eval(`window.blob.text().then(t => { window.bytes = t })`, nil))
	}
	return p.eval("window.bytes")
}

// What is selected is exported as CSV, JSON and for go tool pprof, with the numbers of the page.
func TestExport(t *testing.T) {
	d := testData(5, 300)
	p := openFile(t, d, "", wide)
	p.answered(300)
	p.must(p.Fill("#condition", "proc = 3"))
	a := answer(t, d, counters.Query{Filter: "proc = 3", Table: &counters.TableQuery{By: "group"}})
	p.answered(a.Count)
	if lines := strings.Count(p.exported("quanta.csv", false), "\n"); lines != a.Count+1 {
		t.Errorf("%d lines of CSV, want %d and a heading", lines, a.Count)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(p.exported("quanta.json", false)), &rows); err != nil || len(rows) != a.Count {
		t.Errorf("%d rows of JSON, want %d: %v", len(rows), a.Count, err)
	}
	prof := p.profile("quanta.pprof")
	if n, time := sums(prof); n != int64(a.Count) || time != int64(a.Duration) {
		t.Errorf("profile of %d quanta in %d ns, want %d in %v", n, time, a.Count, a.Duration)
	}
	waited := int64(0)
	for _, w := range d.Contention.Waits {
		waited += int64(w.Waited)
	}
	if _, delay := sums(p.profile("contention.pprof")); delay != waited {
		t.Errorf("profile of %d ns of delay, want %d", delay, waited)
	}
	if csv := p.exported("graph.csv", false); strings.Count(csv, "\n") != 8 || !strings.Contains(csv, "main.main,application") {
		t.Errorf("graph as CSV:\n%s", csv)
	}
}

func (p *tester) profile(what string) *profile.Profile {
	p.t.Helper()
	prof, err := profile.Parse(strings.NewReader(decode64(p.t, p.exported(what, true))))
	p.must(err)
	p.must(prof.CheckValid())
	return prof
}

func sums(p *profile.Profile) (first, second int64) {
	for _, s := range p.Sample {
		first += s.Value[0]
		second += s.Value[1]
	}
	return first, second
}

// More points than can be drawn singly are shown as density, and the page says so.
func TestDensityIsLabelled(t *testing.T) {
	p := openFile(t, testData(5, 51000), "", wide)
	p.answered(51000)
	p.shows("#counters .lead", "shown as density", "more than 50,000 points")
	p.must(p.Fill("#condition", "proc < 2"))
	p.wait(`!document.querySelector("#counters .lead").innerText.includes("density")`)
}
