package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/internal/browser"
)

// TestReadme goes the way of the README on the page: the tall box, the saw of task_clock, and what differs between the units before a
// collection and those after it. With BOTTLENECK_LOOK=FOLDER, pictures of the steps are written there.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	b := browser.Test(t)
	defer b.Close()
	address, metric := recordedPage(t)
	p, err := b.Open(address, browser.Window{Width: 1280, Height: 900})
	if err != nil {
		t.Fatal(err)
	}
	step := 0
	must := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatalf("step %d: %v; the page says %q", step, err, p.Errors())
			}
		}
	}
	look := func() {
		step++
		if folder := os.Getenv("BOTTLENECK_LOOK"); folder != "" {
			time.Sleep(time.Second) // answers that are awaited
			png, err := p.Screenshot(true)
			must(err, os.WriteFile(filepath.Join(folder, fmt.Sprintf("warmup-%d.png", step)), png, 0o644))
		}
	}
	text := func(expression string) (s string) {
		t.Helper()
		must(p.Eval("String("+expression+")", &s))
		return s
	}
	must(p.Wait(`document.documentElement.dataset.ready == "true"`))
	// 1. One tall box: the worker's is the tallest. A click selects its quanta.
	tallest := `[...document.querySelectorAll("svg.bottle [role=option]")].sort((a, b) => b.querySelector("rect").height.baseVal.value - a.querySelector("rect").height.baseVal.value)[0]`
	if got := text(tallest + `.getAttribute("aria-label")`); !strings.Contains(got, ".worker: ") { // main.worker, but for tests
		t.Errorf("the tallest box is %q", got)
	}
	look()
	must(p.Click(`svg.bottle g[aria-label*=".worker: "]`), p.Wait(`document.querySelector("#bar").innerText.includes(".worker")`))
	// 2. Over time.
	must(p.Fill("#y", metric), p.Wait(`document.querySelector("#counters .u-over") !== null`))
	look()
	// 3. What differs.
	must(p.Click("#clear"))
	for _, set := range []struct{ name, filter string }{
		{"before", `last(20, gc, group) && group =~ "[.]worker$"`}, {"after", `first(20, gc, group) && group =~ "[.]worker$"`},
	} {
		must(p.Fill("#condition", set.filter), p.Wait(`document.querySelector("#bar .chip") !== null`), p.Fill("#set-name", set.name),
			p.Wait(`document.querySelector("#bar").innerText.includes("`+set.name+`")`), p.Click("#clear"))
	}
	for id, name := range map[string]string{"set-a": "before", "set-b": "after"} {
		must(p.Eval(`(() => { const s = document.querySelector("#`+id+`"); s.value = "set:`+name+`"; s.dispatchEvent(new Event("change")) })()`, nil))
	}
	must(p.Eval(`document.querySelector("#search").click()`, nil), p.Wait(`document.querySelector("#compare-rows tbody tr") !== null`))
	rows := text(`[...document.querySelectorAll("#compare-rows tbody tr")].map(r => r.innerText.replace(/\s+/g, " ")).join("\n")`)
	look()
	t.Log(rows)
	for _, name := range []string{"duration", "heap_objects"} {
		if !strings.Contains(rows, name) {
			t.Errorf("%s is not among what differs", name)
		}
	}
	for _, e := range p.Errors() {
		t.Errorf("the page says %s", e)
	}
}

// recordedPage records the program, and returns the address of the page, and what the units are measured by on this machine.
func recordedPage(t *testing.T) (address, metric string) {
	t.Helper()
	o := &options{units: 3000, entries: 1 << 17, file: filepath.Join(t.TempDir(), "warmup.zip")}
	if _, err := o.record(); err != nil {
		t.Fatal(err)
	}
	graph := bottle.NewObserver(bottle.Options{Window: 10 * time.Millisecond})
	r, err := counters.ReadArchive(context.Background(), o.file, counters.Options{}, graph)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := report.Write(&page, &report.Data{Title: "warmup", Bottle: graph.Graph(), Counters: r}, report.Options{}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(name, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if metric = "task_clock"; r.Counter("task-clock") == nil {
		metric = "duration"
	}
	return (&url.URL{Scheme: "file", Path: name}).String(), metric
}
