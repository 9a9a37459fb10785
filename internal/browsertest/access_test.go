package browsertest

import (
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/query"
)

func groupQuery(name string) query.Query {
	return query.Query{Filter: "group = \"" + name + "\""}
}

// unnamed lists accessibility errors: controls without a name, pictures and tables without a label,
// duplicate ids, invisible focus.
const unnamed = `(() => {
	const out = [], text = e => (e.getAttribute("aria-label") || e.textContent || e.title || "").trim();
	for (const e of document.querySelectorAll("button,a,summary")) if (!text(e)) out.push("no name: " + e.outerHTML.slice(0, 120));
	for (const e of document.querySelectorAll("input,select")) if (!e.getAttribute("aria-label") && !(e.labels && e.labels.length && text(e.labels[0]))) out.push("no label: " + e.outerHTML.slice(0, 120));
	for (const e of document.querySelectorAll("[role=img],[role=listbox],[role=tree],[role=region],[role=group]")) if (!e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby")) out.push("no label: " + e.outerHTML.slice(0, 120));
	for (const e of document.querySelectorAll("table")) if (!e.caption || !e.querySelector("th[scope]")) out.push("table without caption or headings: " + e.id);
	for (const e of document.querySelectorAll("[aria-labelledby],[aria-describedby]")) for (const id of ((e.getAttribute("aria-labelledby") || "") + " " + (e.getAttribute("aria-describedby") || "")).trim().split(" ")) if (!document.getElementById(id)) out.push("refers to nothing: " + id);
	const seen = new Set();
	for (const e of document.querySelectorAll("[id]")) { if (seen.has(e.id)) out.push("twice: #" + e.id); seen.add(e.id); }
	for (const e of document.querySelectorAll("[role=tree],[role=listbox]")) if (e.querySelectorAll("[tabindex='0']").length !== 1) out.push("not one way in: " + e.outerHTML.slice(0, 80));
	return out.slice(0, 8).join("\n");
})()`

// Every control has a name, and the keyboard reaches all of them in the order of the page.
func TestAccessible(t *testing.T) {
	p := openFile(t, testData(5, 300), "group=main.main", wide)
	p.answered(answer(t, testData(5, 300), groupQuery("main.main")).Count)
	p.must(p.Eval(`document.querySelectorAll("details").forEach(e => { e.open = true })`, nil))
	if s := p.eval(unnamed); s != "" {
		t.Error(s)
	}
	p = openFile(t, testData(5, 300), "group=main.main", wide)
	var order []string
	before := -1.0
	for range 120 {
		p.must(p.Key("Tab"))
		var at struct {
			Section string
			Top     float64
			Shown   bool
		}
		p.must(p.Eval(`(() => { const e = document.activeElement, r = e.getBoundingClientRect(); return {Section: e.closest("section,#bar,#top,a.skip")?.id || e.className, Top: r.top + scrollY, Shown: r.width > 0 && r.height > 0} })()`, &at))
		if !at.Shown {
			t.Fatalf("the focus is on something without a size, after %v", order)
		}
		if n := len(order); n == 0 || order[n-1] != at.Section {
			order = append(order, at.Section)
			if n > 2 && at.Section != "" && at.Top+5 < before {
				t.Errorf("the focus jumps back to %q", at.Section)
			}
			before = at.Top
		}
	}
	if got := strings.Join(order, " "); !strings.HasPrefix(got, "skip top bar bottle contention") {
		t.Errorf("the focus goes through %s", got)
	}
}

// The skip link leads past the heading.
func TestSkipLink(t *testing.T) {
	p := openFile(t, testData(3, 20), "", wide)
	p.must(p.Eval(`document.activeElement.blur(); window.getSelection().collapse(document.body, 0)`, nil))
	p.key("Tab", "Enter")
	if got := p.eval(`document.activeElement.id`); got != "main" {
		t.Errorf("the focus is on %q", got)
	}
	p.shows("#bottle-lead", "3.28 s in all")
}
