package browsertest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/query"
	"github.com/bottleneck-go/bottleneck/internal/report"
)

// TestWarmupReadme follows the README of examples/warmup on the page: the tall box, the sawtooth
// of task_clock, and the statistics of the units before and after a collection. With
// BOTTLENECK_LOOK=FOLDER, pictures of the steps are written there.
func TestWarmupReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	address, metric, e := recordedPage(t)
	p := open(t, address, window{Width: 1280, Height: 900})
	step := 0
	must := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatalf("step %d: %v; errors of the page: %q", step, err, p.Errors())
			}
		}
	}
	look := func() {
		step++
		if folder := os.Getenv("BOTTLENECK_LOOK"); folder != "" {
			time.Sleep(time.Second) // pending answers
			png, err := p.Screenshot(true)
			must(err, os.WriteFile(filepath.Join(folder, fmt.Sprintf("warmup-%d.png", step)), png, 0o644))
		}
	}
	text := func(expression string) (s string) {
		t.Helper()
		must(p.Eval("String("+expression+")", &s))
		return s
	}
	rows := `[...document.querySelectorAll("#stats-rows tbody tr")].map(r => r.innerText.replace(/\s+/g, " ")).join("\n")`
	selected := func(filter string) int {
		t.Helper()
		set, err := e.Select(t.Context(), filter)
		must(err)
		return len(set)
	}
	// of waits until the statistics cover the selected quanta. Some may come before the first value.
	const known = "heap_objects >= 0"
	of := func(filter string) error {
		t.Helper()
		return p.Wait(fmt.Sprintf(`%s.includes(%q)`, rows, fmt.Sprintf("heap_objects %s ", format.Count(selected(filter)))))
	}
	must(p.Wait(`document.documentElement.dataset.ready == "true"`), of(known))
	// 1. One tall box: the worker's is the tallest. A click selects its quanta.
	tallest := `[...document.querySelectorAll("svg.bottle [role=option]")].sort((a, b) => b.querySelector("rect").height.baseVal.value - a.querySelector("rect").height.baseVal.value)[0]`
	if got := text(tallest + `.getAttribute("aria-label")`); !strings.HasPrefix(got, "main.worker: ") {
		t.Errorf("the tallest box is %q", got)
	}
	look()
	must(p.Click(`svg.bottle g[aria-label*=".worker: "]`), of(`group =~ "[.]worker$" && `+known))
	// 2. Over time.
	must(p.Fill("#y", metric), p.Wait(`document.querySelector("#counters .u-over") !== null`))
	look()
	// 3. The differences.
	for _, filter := range []string{`last(20, gc, group) && group =~ "[.]worker$"`, `first(20, gc, group) && group =~ "[.]worker$"`} {
		must(p.Click("#clear"), of(known))
		must(p.Fill("#condition", filter), of(filter+" && "+known))
		t.Log(filter + ":\n" + text(rows))
		if !strings.Contains(text(rows), metric+" ") || selected(filter) == 0 {
			t.Errorf("%s is not among the statistics", metric)
		}
		look()
	}
	for _, e := range p.Errors() {
		t.Errorf("error in the page: %s", e)
	}
}

// recordedPage records the program, and returns the address of the page, the metric of the units on
// this machine, and the explorer of the recording.
func recordedPage(t *testing.T) (address, metric string, e *query.Explorer) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "warmup.zip")
	if out, err := exec.CommandContext(t.Context(), "go", "run", "../../examples/warmup", "-o", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	graph := bottle.NewObserver(bottle.Options{Window: 10 * time.Millisecond})
	r, err := quanta.ReadFile(context.Background(), file, quanta.Options{}, graph)
	if err != nil {
		t.Fatal(err)
	}
	h, err := report.NewHandler(&report.Data{Title: "warmup", Bottle: graph.Graph(), Counters: r}, "")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	if metric = "task_clock"; r.Counter("task-clock") == nil {
		metric = "duration"
	}
	if e, err = query.NewExplorer(r); err != nil {
		t.Fatal(err)
	}
	return s.URL, metric, e
}
