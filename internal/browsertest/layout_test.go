package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

// wideThings lists elements that overflow the page, unless they are within an element that scrolls.
const wideThings = `(() => {
	const limit = document.documentElement.clientWidth, out = [];
	if (document.documentElement.scrollWidth > limit) out.push("the page is " + document.documentElement.scrollWidth + " wide");
	for (const e of document.body.querySelectorAll("*")) {
		const r = e.getBoundingClientRect();
		if (!r.width || !r.height || r.right <= limit + 1 && r.left >= -1) continue;
		if (e.closest(".scroll,.unseen,.skip,noscript") || e.closest("svg") && e.tagName != "svg") continue;
		out.push(e.tagName + "#" + e.id + "." + e.className + " to " + Math.round(r.right));
	}
	return out.slice(0, 5).join("; ");
})()`

// smallText lists text that is too small to read, or hidden by its container.
const smallText = `(() => {
	const out = [];
	for (const e of document.querySelectorAll("svg text")) {
		const r = e.getBoundingClientRect(), own = e.ownerSVGElement.getBoundingClientRect();
		if (!e.textContent) continue;
		if (r.height < 9) out.push("only " + r.height + " high: " + e.textContent);
		if (r.left < own.left - 2 || r.right > own.right + 2 || r.top < own.top - 3 || r.bottom > own.bottom + 3) out.push("cut off: " + e.textContent);
	}
	for (const b of document.querySelectorAll("svg.bottle .box")) {
		const t = b.querySelector("text"), r = b.querySelector("rect").getBoundingClientRect();
		if (t && t.getBoundingClientRect().width > r.width + 1) out.push("wider than its box: " + t.textContent);
	}
	return out.slice(0, 5).join("; ");
})()`

// Nothing overflows and all labels are readable, from a telephone to a wall display, with 3 and
// with 300 groups, light and dark, also with a selection.
func TestLayout(t *testing.T) {
	for _, groups := range []int{3, 300} {
		p := openFile(t, testData(groups, 2500), "", window{Width: 1280, Height: 900})
		p.answered(2500)
		for _, w := range []window{{Width: 360, Height: 740}, {Width: 800, Height: 900}, {Width: 1280, Height: 900, Dark: true}, {Width: 3840, Height: 2160}} {
			p.resize(w)
			p.must(p.Wait(`new Promise(f => setTimeout(() => f(true), 200))`)) // charts are redrawn
			p.settle()
			where := fmt.Sprintf("%d groups, %d wide, dark %v", groups, w.Width, w.Dark)
			if p.Wait(wideThings+` === ""`) != nil { // on a busy machine, some are late
				t.Errorf("%s: sticks out: %s", where, p.eval(wideThings))
			}
			if p.Wait(smallText+` === ""`) != nil {
				t.Errorf("%s: %s", where, p.eval(smallText))
			}
			paper := p.eval(`getComputedStyle(document.body).backgroundColor`)
			if dark := paper == "rgb(13, 17, 23)"; dark != w.Dark {
				t.Errorf("%s: the paper is %s", where, paper)
			}
		}
	}
}

// hostile are names that try to be more than text.
var hostile = []string{
	`<script>window.hacked = 1</script>`, `</script><img src=x onerror="window.hacked=1">`, `"><svg onload=window.hacked=1>`, `'; window.hacked = 1; //`, "evil\u202Egnp.exe\u2066x", "a\x00b\x1b[31m", "{{policy}}", "<!--", "]]>", `\u003cscript\u003e`, "=HYPERLINK(\"x\")", strings.Repeat("long.", 2000), "", "\xff\xfe", "한국어.함수", "مرحبا.دالة",
}

// Names remain text everywhere: nothing runs, nothing is reordered, nothing overflows.
func TestHostileNames(t *testing.T) {
	d := testData(5, 400)
	rename := func(i int) string { return hostile[i%len(hostile)] }
	d.Title, d.Source = hostile[1], hostile[0]
	n := 0
	for _, g := range append(d.Bottle.Windows, d.Bottle) {
		for i := range g.Boxes {
			g.Boxes[i].Group = rename(i)
			g.Boxes[i].Waiting = map[string]time.Duration{hostile[i%len(hostile)]: 5 * ms}
		}
	}
	d.Goroutines = nil
	for _, l := range d.Contention.Locks {
		l.Name, l.Class = rename(n), rename(n+1)
		n++
	}
	for i := range d.Contention.Waits {
		if s := d.Contention.Waits[i].Waiter.Stack; s != nil {
			s.Frames[0].Func, s.Frames[0].File = rename(i), rename(i+1)
		}
	}
	for i := range d.Tasks.Classes {
		c := &d.Tasks.Classes[i]
		c.Name, c.Reasons, c.Advice, c.Sites[0].Pool = rename(i), hostile, hostile, rename(i)
	}
	r := d.Counters
	r.Groups = nil
	for i := range hostile {
		r.Groups = append(r.Groups, quanta.Group{Name: rename(i)})
	}
	for i := range r.Group {
		r.Group[i] = int32(i % len(hostile))
	}
	r.Funcs = append([]string{""}, hostile...)
	for i := range r.Func {
		r.Func[i] = int32(1 + i%len(hostile))
	}
	for i := range r.Counters {
		r.Counters[i].Name, r.Counters[i].Source = rename(i), rename(i)
	}
	r.Markers = nil
	for i, name := range hostile {
		r.Markers = append(r.Markers, quanta.Marker{Time: int64(i) * 1e7, Text: name})
	}
	r.Spans[0].Name = hostile[0]
	d.Warnings, r.Warnings, d.Contention.Warnings = hostile, hostile, hostile
	d.Speedup[1].Warnings, d.Speedup[1].Label = hostile, hostile[0]
	for _, width := range []int64{360, 1280} {
		p := openFile(t, d, "", window{Width: width, Height: 900})
		p.answered(400)
		for i := range p.count("svg.bottle [role=option]") {
			p.must(p.Eval(fmt.Sprintf(`document.querySelectorAll("svg.bottle [role=option]")[%d].dispatchEvent(new MouseEvent("click", {bubbles: true}))`, i), nil))
		}
		p.settle()
		p.must(p.Eval(`document.querySelectorAll("details").forEach(e => { e.open = true })`, nil))
		p.settle()
		if got := p.eval(`window.hacked`); got != "undefined" {
			t.Fatal("a name was executed")
		}
		for _, e := range []string{"img", "svg[onload]", "main script", "iframe"} {
			if n := p.count(e); n > 0 {
				t.Errorf("there are %d %s", n, e)
			}
		}
		if got := p.eval(`document.body.innerText.includes("<script>window.hacked = 1</script>")`); got != "true" {
			t.Error("the name is shown changed")
		}
		if got := p.eval(`(document.body.innerText.match(/.{0,40}[\u202a-\u202e\u2066-\u2069\x00\x1b].{0,40}/) || [""])[0]`); got != "" {
			t.Errorf("characters that reorder or control text are shown: %q", got)
		}
		if s := p.eval(wideThings); s != "" {
			t.Errorf("%d wide: sticks out: %s", width, s)
		}
	}
}
