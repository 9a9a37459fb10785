package live

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// metric finds the value of a metric with its labels as written.
func metric(t *testing.T, text, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (.*)$`).FindStringSubmatch(text)
	if m == nil {
		t.Errorf("no metric %s", name)
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return v
}

// The metrics equal the numbers of the report.
func TestMetrics(t *testing.T) {
	t.Parallel()
	tasks := granularity.NewRecorder()
	for range 10 {
		execute(tasks, "check", func() { busy(100 * time.Microsecond) })
	}
	live := report()
	live.Bottle.Latency = bottle.Latency{Count: 10, Total: 3 * time.Second, Max: 2 * time.Second, Cut: 3, Buckets: make([]int64, 100)}
	live.Bottle.Latency.Buckets[11] = 4 // up to 1 µs
	live.Bottle.Latency.Buckets[12] = 1 // from there on
	live.Bottle.Latency.Buckets[99] = 5
	base := serve(t, newHandler(Options{Tasks: tasks}, nil, &made{live: live}), nil)
	a := get(t, base+"metrics")
	check := &tasks.Profile().Classes[0]
	if check.Executions() != 10 || check.Tasks < 4 { // a busy machine may preempt some
		t.Errorf("%d executions, %d measured", check.Executions(), check.Tasks)
	}
	if a.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Error(a.Header.Get("Content-Type"))
	}
	for name, want := range map[string]float64{
		`bottleneck_recording`:                                                                  1,
		`bottleneck_gomaxprocs`:                                                                 2,
		`bottleneck_wall_seconds_total`:                                                         9,
		`bottleneck_idle_seconds_total`:                                                         1,
		`bottleneck_throttled_periods_total`:                                                    7,
		`bottleneck_throttled_seconds_total`:                                                    3,
		`bottleneck_share_seconds_total{group="main.work",kind="application"}`:                  4,
		`bottleneck_running_seconds_total{group="main.work",kind="application"}`:                8,
		`bottleneck_runnable_seconds_total{group="main.work",kind="application"}`:               1,
		`bottleneck_share_seconds_total{group="runtime.gcBgMarkWorker",kind="gc"}`:              1,
		`bottleneck_blocked_seconds_total{group="main.work",kind="application",reason="mutex"}`: 2,
		`bottleneck_contentions_total{kind="mutex"}`:                                            12,
		`bottleneck_contention_wait_seconds_total{kind="mutex",part="blamed"}`:                  1,
		`bottleneck_contention_wait_seconds_total{kind="mutex",part="hand-off"}`:                0.75,
		`bottleneck_contention_wait_seconds_total{kind="mutex",part="unattributed"}`:            0.25,
		`bottleneck_stream_generations_total`:                                                   9,
		`bottleneck_stream_bytes_total`:                                                         1000,
		`bottleneck_stream_cpu_seconds_total`:                                                   0.09,
		`bottleneck_stream_dropped_generations_total{reason="behind"}`:                          1,
		`bottleneck_stream_dropped_generations_total{reason="broken"}`:                          0,
		`bottleneck_stream_dropped_seconds_total{reason="behind"}`:                              1,
		`bottleneck_scheduling_latency_seconds_bucket{le="1.024e-06"}`:                          4,
		`bottleneck_scheduling_latency_seconds_bucket{le="4.096e-06"}`:                          5,
		`bottleneck_scheduling_latency_seconds_bucket{le="+Inf"}`:                               10,
		`bottleneck_scheduling_latency_seconds_sum`:                                             3,
		`bottleneck_scheduling_latency_seconds_count`:                                           10,
		`bottleneck_scheduling_latency_cut_total`:                                               3,
		`bottleneck_task_cycles_count{class="check"}`:                                           float64(check.Tasks),
		`bottleneck_task_cycles_bucket{class="check",le="+Inf"}`:                                float64(check.Tasks),
		`bottleneck_task_cycles_bucket{class="check",le="256"}`:                                 0,
	} {
		if got := metric(t, a.body, name); got != want {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	// The runtime counts goroutines by state: this one, and those that it has created.
	if running, created := metric(t, a.body, `bottleneck_goroutines{state="running"}`), metric(t, a.body, "bottleneck_goroutines_created_total"); running < 1 || created < 2 {
		t.Errorf("%g goroutines run, and %g were created", running, created)
	}
	for _, state := range []string{"runnable", "waiting", "not-in-go"} {
		metric(t, a.body, `bottleneck_goroutines{state="`+state+`"}`)
	}
	// The buckets of a histogram only rise, and its sum is that of the recorder.
	last := 0.0
	for _, m := range regexp.MustCompile(`task_cycles_bucket{class="check",le="[^"]*"} (\d+)`).FindAllStringSubmatch(a.body, -1) {
		v, _ := strconv.ParseFloat(m[1], 64)
		if v < last {
			t.Errorf("%s after %g", m[0], last)
		}
		last = v
	}
	if got, want := metric(t, a.body, `bottleneck_task_cycles_sum{class="check"}`), tasks.Profile().Classes[0].Cycles.Sum(); got != want {
		t.Errorf("sum %g, want %g", got, want)
	}
}

// Two servers may scrape concurrently, and metrics take no parameters.
func TestMetricsAlways(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, nil, &made{live: report()})
	base := serve(t, h, nil)
	h.busy.Store("metrics", true)
	if a := get(t, base+"metrics"); a.StatusCode != http.StatusOK {
		t.Errorf("%s", a.Status)
	}
	if a := get(t, base+"metrics?seconds=5"); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "there are none") {
		t.Errorf("%s %s", a.Status, a.body)
	}
}

// A client that prefers OpenMetrics gets it, with exemplars. A client that accepts gzip gets gzip.
func TestMetricsNegotiation(t *testing.T) {
	t.Parallel()
	base := serve(t, newHandler(Options{}, nil, &made{live: report()}), nil)
	const prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	// What the runtime counts changes from one request to the next.
	counts := regexp.MustCompile(`(?m)^bottleneck_goroutines.*\n`)
	steady := func(text string) string { return counts.ReplaceAllString(text, "") }
	text := steady(get(t, base+"metrics").body)
	for accept, open := range map[string]bool{
		prometheus: true, openMetrics: true, openMetrics + ", text/plain": true, "text/plain, " + openMetrics + ";q=0.9": false, "*/*": false, "": false,
		openMetrics + ";q=0": false, "text/html,*/*;q=0.8": false,
	} {
		a := get(t, base+"metrics", "Accept", accept)
		if open != (a.Header.Get("Content-Type") == openMetricsType) || a.Header.Get("Vary") != "Accept, Accept-Encoding" {
			if accept != openMetrics+";q=0" || a.StatusCode != http.StatusNotAcceptable {
				t.Errorf("%q: %s %s, vary %s", accept, a.Status, a.Header.Get("Content-Type"), a.Header.Get("Vary"))
			}
			continue
		}
		if !open {
			if strings.Contains(a.body, "# EOF") || strings.Contains(a.body, "} 1 # {") {
				t.Errorf("%q: there is OpenMetrics in the text", accept)
			}
			continue
		}
		for _, want := range []string{
			"# TYPE bottleneck_contention_wait_seconds counter\n",
			`bottleneck_contention_wait_seconds_total{kind="mutex",part="blamed"} 1 # {lock="main.cache",waiter="main.work",owner="main.main"} 1 ` + strconv.FormatInt(start.Unix()+10, 10) + ".000\n",
			"\n# EOF\n",
		} {
			if !strings.Contains(a.body, want) {
				t.Errorf("%q: there is no %q in\n%s", accept, want, a.body)
			}
		}
		// The series are the same.
		series := func(text string) (names []string) {
			for line := range strings.Lines(text) {
				if !strings.HasPrefix(line, "#") {
					line, _, _ = strings.Cut(line, " # ")
					names = append(names, strings.TrimSpace(line))
				}
			}
			return names
		}
		if got, want := series(steady(a.body)), series(text); !slices.Equal(got, want) {
			t.Errorf("the series are\n%s\nwant\n%s", got, want)
		}
	}
	for encoding, packed := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "*": true, "gzip;q=0": false, "identity": false, "deflate": false, "gzip;q=x": false} {
		a := get(t, base+"metrics", "Accept-Encoding", encoding)
		if packed != (a.Header.Get("Content-Encoding") == "gzip") {
			t.Errorf("%q: %s", encoding, a.Header.Get("Content-Encoding"))
		}
		body := a.body
		if packed {
			z, err := gzip.NewReader(strings.NewReader(a.body))
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			body = string(all)
		}
		if body = steady(body); body != text {
			t.Errorf("%q: %d bytes, want %d", encoding, len(body), len(text))
		}
	}
	if a := do(t, http.MethodHead, base+"metrics", "Accept-Encoding", "gzip"); a.Header.Get("Content-Encoding") != "gzip" || a.body != "" {
		t.Errorf("HEAD: %v %q", a.Header, a.body)
	}
}

// execute executes a task.
func execute(r *granularity.Recorder, class string, f func()) {
	granularity.Do(granularity.WithRecorder(context.Background(), r), class, func(context.Context) error { f(); return nil })
}

// Lean metrics have at most 60 lines without comments.
func TestLeanMetrics(t *testing.T) {
	t.Parallel()
	tasks := granularity.NewRecorder()
	live := report()
	for i := range 200 {
		execute(tasks, fmt.Sprint("class", i), func() {})
		live.Bottle.Boxes = append(live.Bottle.Boxes, bottle.Box{Group: fmt.Sprint("main.f", i), Kind: bottle.Application, Share: time.Second, Running: time.Second, Waiting: map[string]time.Duration{"mutex": 1}})
	}
	for _, kind := range contention.Kinds {
		live.Contention.Waits = append(live.Contention.Waits, contention.Wait{Kind: kind, Contentions: 1, Waited: time.Second, Unattributed: time.Second})
	}
	count := func(lean bool) (n int) {
		for line := range strings.Lines(get(t, serve(t, newHandler(Options{Tasks: tasks, LeanMetrics: lean}, nil, &made{live: live}), nil)+"metrics").body) {
			if !strings.HasPrefix(line, "#") {
				n++
			}
		}
		return n
	}
	if lean, whole := count(true), count(false); lean > 60 || lean < 40 || whole < 500 {
		t.Errorf("%d series, lean %d", whole, lean)
	}
}

// promtool of Prometheus accepts ordinary metrics and those with hostile names.
func TestPromtool(t *testing.T) {
	promtool := testenv.Program(t, "promtool")
	tasks := granularity.NewRecorder()
	execute(tasks, hostile[0], func() {})
	for name, c := range map[string]*made{"ordinary": {live: report()}, "hostile": {live: hostileReport()}} {
		text := get(t, serve(t, newHandler(Options{Tasks: tasks}, nil, c), nil)+"metrics").body
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		if err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if n := familiesWithoutHelp(text); n != "" {
			t.Errorf("%s: no HELP and TYPE of %s", name, n)
		}
	}
}

// familiesWithoutHelp returns the name of a metric without a preceding help text.
func familiesWithoutHelp(text string) string {
	family := ""
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if f := strings.Fields(s.Text()); f[0] == "#" {
			family = f[2]
		} else if !strings.HasPrefix(f[0], family) {
			return f[0]
		}
	}
	return ""
}
