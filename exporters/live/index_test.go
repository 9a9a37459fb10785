package live

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// The index page shows the current state, and all its links work.
func TestIndex(t *testing.T) {
	t.Parallel()
	live := report()
	live.Throttled = .15
	h := newHandler(Options{Title: "shop", Tasks: granularity.NewRecorder()}, readTape(t, smallTrace), &made{live: live})
	base := serve(t, h, nil)
	a := get(t, base)
	for _, want := range []string{
		"<h1>shop</h1>", "keeps the last 5 s", "for 10 s, since 2026-03-04", "90%", "9 s in 9 bursts at random times; the rest is estimated", "of 10: 0 over memory, 1 too large, 0 broken",
		"15%", "of the periods of the control group: its quota of processor time was used up", "0.9%", "0 classes", "go tool pprof -top &#39;" + base + "contention?seconds=2&#39;", "Source files are named by package",
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("want %q", want)
		}
	}
	links := regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(a.body, -1)
	if len(links) < 20 {
		t.Errorf("%d links", len(links))
	}
	for _, l := range links {
		if strings.Contains(l[1], "png") || strings.HasPrefix(l[1], "data:") {
			continue // drawing takes long with the race detector; the icon is in the page
		}
		url := base + strings.ReplaceAll(l[1], "&amp;", "&")
		if a := get(t, url); a.StatusCode != http.StatusOK && !strings.Contains(url, "speedup") {
			t.Errorf("%s: %s %s", url, a.Status, a.body)
		}
	}
	if strings.Contains(a.body, "<script") || strings.Contains(a.body, "style=") {
		t.Error("the page has scripts or styles that its policy forbids")
	}
}

// The index shows the verdict of the latest analyzed snapshot, which equals that of the answer. It
// takes no snapshot itself.
func TestIndexShowsTheLatestVerdict(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), nil)
	base := serve(t, h, nil)
	if a := get(t, base); strings.Contains(a.body, `id="verdict"`) {
		t.Error("there is a verdict before there was a snapshot")
	}
	g, err := bottle.ReadJSON(strings.NewReader(get(t, base+"graph?format=json&seconds=5").body))
	if err != nil || g.Verdict == nil || len(g.Verdict.Findings) == 0 {
		t.Fatalf("%v: %+v", err, g)
	}
	page := get(t, base).body
	for _, f := range g.Verdict.Findings {
		if !strings.Contains(page, "<b>"+html.EscapeString(f.Title)+"</b>") {
			t.Errorf("the index does not show %q", f.Title)
		}
		for _, p := range f.Where {
			if strings.HasPrefix(p.File, "/") {
				t.Errorf("%s: the JSON has paths of the build machine", p.File)
			}
		}
	}
	text := strings.Join(strings.Fields(get(t, base+"graph?format=text&seconds=5").body), " ")
	if !strings.Contains(text, g.Verdict.Findings[0].Title) {
		t.Errorf("the text does not show %q", g.Verdict.Findings[0].Title)
	}
}

// During a continuous analysis the index shows its verdict with its uncertainty.
func TestIndexShowsTheContinuousVerdict(t *testing.T) {
	t.Parallel()
	live := report()
	live.Verdict = &verdict.Verdict{Wall: 9 * time.Second, Procs: 2, Findings: []verdict.Finding{{Kind: "lock", Title: "The lock a<b kept it waiting."}}, Warnings: []string{"Estimated from 9 bursts."}}
	live.Bottle.Verdict = live.Verdict
	c := &made{live: live}
	h := newHandler(Options{}, readTape(t, smallTrace), c)
	base := serve(t, h, nil)
	for _, want := range []string{"<b>The lock a&lt;b kept it waiting.</b>", "Estimated from 9 bursts."} {
		if page := get(t, base).body; !strings.Contains(page, want) {
			t.Errorf("the index does not show %q", want)
		}
	}
	text := strings.Join(strings.Fields(get(t, base+"graph?format=text").body), " ")
	if !strings.Contains(text, "1. The lock a<b kept it waiting.") {
		t.Errorf("the text does not show it: %s", text)
	}
	c.off = true // then the latest snapshot counts, and there is none
	if page := get(t, base).body; strings.Contains(page, "kept it waiting") {
		t.Error("the index has the verdict of an analysis that does not go on")
	}
}

// A link may lead to any path below the mount point. The commands on the page pass it as one shell
// argument.
func TestIndexCommands(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), &made{live: report()})
	r := httptest.NewRequest(http.MethodGet, "http://localhost/debug/bottleneck/';reboot;$(reboot)/", nil)
	commands := h.commands(r)
	if len(commands) < 5 {
		t.Errorf("%q", commands)
	}
	for _, c := range commands {
		part := strings.Split(c, "'")
		if len(part) != 3 || strings.Contains(part[0]+part[2], "reboot") || !strings.HasPrefix(part[1], "http://localhost/debug/bottleneck/%27;reboot;$(reboot)/") {
			t.Errorf("%s", c)
		}
	}
}
