package browsertest

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/report"
)

// BenchmarkWrite measures a page of 20,000 quanta with all sections.
func BenchmarkWrite(b *testing.B) {
	d := testData(20, 20000)
	var buf bytes.Buffer
	for b.Loop() {
		buf.Reset()
		if err := report.Write(&buf, d); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(buf.Len()), "B/page")
}

// BenchmarkServer measures the answers for a page of two million quanta, each with a new filter.
func BenchmarkServer(b *testing.B) {
	h, err := report.NewHandler(&report.Data{Counters: testRecording(searchNames(20), 2_000_000)}, "")
	if err != nil {
		b.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	for _, c := range []struct{ name, path, body string }{
		{"lanes", "query", `{"filter":"duration > %dns","lanes":{"by":"goroutine","width":1000,"limit":40}}`},
		{"density", "query", `{"filter":"duration > %dns","density":{"x":"minor_faults","y":"instructions / cycles","width":250,"height":110}}`},
		{"points", "points", `{"filter":"duration > 155us + %dns","x":"minor_faults","y":"instructions / cycles","most":500000}`},
		{"tables", "query", `{"filter":"duration > %dns","stats":["duration","cycles","minor_faults"],"table":{"by":"group","metrics":["cycles"]},"rows":{"metrics":["cycles"],"limit":25}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n++
				resp, err := http.Post(s.URL+"/api/"+c.path, "application/json", strings.NewReader(fmt.Sprintf(c.body, 40_000+n)))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
					b.Fatal(resp.Status, err)
				}
				resp.Body.Close()
			}
		})
	}
}

// BenchmarkServedPage measures in the browser, with two million quanta, the time from a new filter
// to the new charts, and that of redrawing them.
func BenchmarkServedPage(b *testing.B) {
	if testing.Short() {
		b.Skip("takes half a minute")
	}
	h, err := report.NewHandler(&report.Data{Title: "two million", Counters: testRecording(searchNames(20), 2_000_000)}, "")
	if err != nil {
		b.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	p := open(b, s.URL, window{Width: 1600, Height: 1000})
	if err := p.Wait(`document.documentElement.dataset.answered`); err != nil {
		b.Fatal(err)
	}
	filter, redraw := math.Inf(1), math.Inf(1)
	n := 0
	for b.Loop() {
		n++
		var ms [2]float64
		// From the change of the address, as by a typed condition, until the count in the
		// heading of the charts has changed. A redraw for another color scheme or width is
		// like a resize.
		err := p.Eval(fmt.Sprintf(`new Promise(done => {
			const at = document.querySelector("#counter-figures"), before = at.textContent, begin = performance.now();
			const seen = new MutationObserver(() => {
				const b = document.querySelector("#selected-count");
				if (!b || before.startsWith(b.textContent)) return;
				seen.disconnect();
				requestAnimationFrame(() => {
					const answered = performance.now() - begin;
					done([answered, Number(document.documentElement.dataset.drawn || 0)]);
				});
			});
			seen.observe(at, {childList: true, subtree: true, characterData: true});
			location.hash = "where=duration+%%3E+%dns";
		})`, 20_000+137*n), &ms)
		if err != nil {
			b.Fatal(err)
		}
		filter, redraw = min(filter, ms[0]), min(redraw, ms[1]) // a busy machine disturbs some
		time.Sleep(1500 * time.Millisecond)                     // the tables of the last filter
	}
	b.ReportMetric(filter, "filter-ms")
	b.ReportMetric(redraw, "redraw-ms")
	for _, e := range p.Errors() {
		b.Error(e)
	}
}
