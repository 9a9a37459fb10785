package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// prometheus is a real Prometheus on a port of the loopback interface that scrapes a handler.
type prometheus struct {
	t    *testing.T
	base string
}

// startPrometheus starts a Prometheus that scrapes the metrics below base five times a second, and
// evaluates the rules of docs/fleet.
func startPrometheus(t *testing.T, base string) *prometheus {
	t.Helper()
	path := testenv.Program(t, "prometheus")
	dir := t.TempDir()
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs("../../docs/fleet/bottleneck.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`
global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [%q]
scrape_configs:
  - job_name: bottleneck
    metrics_path: %smetrics
    static_configs: [{targets: [%q]}]
`, rules, at.Path, at.Host)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn", "--enable-feature=exemplar-storage")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("prometheus: %s", log.String())
		}
	})
	p := &prometheus{t, "http://" + address}
	p.until("it is ready", func() bool {
		select {
		case <-ended:
			t.Fatalf("prometheus has ended: %s", log.String())
		default:
		}
		c, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		c.Close()
		return get(t, p.base+"/-/ready").StatusCode == http.StatusOK
	})
	return p
}

// until waits for a condition, for at most a minute and a half.
func (p *prometheus) until(what string, done func() bool) {
	p.t.Helper()
	for end := time.Now().Add(90 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("gave up waiting: %s", what)
		}
	}
}

// sample is a series of an answer with its value.
type sample struct {
	labels map[string]string
	value  float64
}

// query evaluates an expression, now.
func (p *prometheus) query(expr string) (out []sample) {
	p.t.Helper()
	a := get(p.t, p.base+"/api/v1/query?query="+url.QueryEscape(expr))
	var result struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(a.body), &result); err != nil || result.Status != "success" {
		p.t.Fatalf("%s: %s %s %v", expr, result.Status, result.Error, err)
	}
	for _, r := range result.Data.Result {
		v, err := strconv.ParseFloat(r.Value[1].(string), 64)
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, sample{r.Metric, v})
	}
	return out
}

// one evaluates an expression that has one value, or none yet.
func (p *prometheus) one(expr string) (v float64, ok bool) {
	p.t.Helper()
	out := p.query(expr)
	if len(out) > 1 {
		p.t.Fatalf("%s: %d values", expr, len(out))
	}
	if len(out) == 0 || math.IsNaN(out[0].value) {
		return 0, false
	}
	return out[0].value, true
}

// growing is a continuous analysis of a program that never changes: of each second, 0.6 belong to
// main.work at a parallelism of 3, 0.3 to main.main at 1, and 0.1 are idle.
type growing struct{ since time.Time }

func (c *growing) Enabled() bool                       { return true }
func (c *growing) Last(time.Duration) *bottleneck.Live { return c.Read() }
func (c *growing) Read() *bottleneck.Live {
	t := time.Since(c.since).Round(time.Millisecond)
	live := report()
	live.Bottle = &bottle.Graph{Wall: t, Idle: t / 10, Procs: 4, Boxes: []bottle.Box{
		{Group: "main.work", Kind: bottle.Application, Share: 6 * t / 10, Running: 18 * t / 10, Runnable: t / 5, Waiting: map[string]time.Duration{"mutex": t / 2}},
		{Group: "main.main", Kind: bottle.Application, Share: t - t/10 - 6*t/10, Running: t - t/10 - 6*t/10},
	}}
	live.Contention = &contention.Profile{Waits: []contention.Wait{{Kind: contention.MutexKind, Contentions: t.Milliseconds(), Waited: t / 2, Blamed: t / 4, HandOff: t / 8, Unattributed: t / 8}},
		Pairs: []contention.Wait{{Kind: contention.MutexKind, Lock: &contention.Lock{Name: "cache \"a\""}, Waiter: contention.Party{Group: "main.work"}, Owner: contention.Party{Group: "main.main"}, Blamed: t / 4}}}
	live.To = time.Now()
	live.Stream = timeline.StreamStats{Generations: int64(t.Seconds()), CPU: t / 100, Behind: timeline.Drop{Duration: t / 4}}
	return &live
}

// Prometheus evaluates the expressions of the dashboard and the rules of docs/fleet to the numbers
// of the program.
func TestPrometheusRulesAndDashboard(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	tasks := granularity.NewRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for ctx.Err() == nil {
			execute(tasks, "check", func() { busy(20 * time.Microsecond) })
			time.Sleep(10 * time.Millisecond)
		}
	})
	h := newHandler(Options{Tasks: tasks, Version: "v1.2.3"}, nil, &growing{since: time.Now()})
	p := startPrometheus(t, serve(t, h, nil))
	t.Parallel() // it waits for five seconds before its first scrape: other tests run in that time
	p.until("all rules have results", func() bool {
		_, neck := p.one("instance:bottleneck_neck:ratio_rate5m")
		_, dropped := p.one("instance:bottleneck_dropped:ratio_rate5m")
		return neck && dropped
	})
	// In OpenMetrics, which Prometheus prefers, the counters have exemplars, and the version of
	// the program is a label.
	p.until("there are exemplars", func() bool {
		text := get(t, fmt.Sprintf("%s/api/v1/query_exemplars?query=bottleneck_contention_wait_seconds_total&start=%d&end=%d", p.base, time.Now().Unix()-100, time.Now().Unix()+100)).body
		return strings.Contains(text, `"labels":{"lock":"cache \\\"a\\\"","owner":"main.main","waiter":"main.work"}`)
	})
	if v, ok := p.one(`bottleneck_build_info{version="v1.2.3",goversion="` + runtime.Version() + `"}`); !ok || v != 1 {
		t.Errorf("the version: %g, %v", v, ok)
	}
	near := func(expr string, want float64) {
		t.Helper()
		// Milliseconds, at least a second.
		if got, ok := p.one(expr); !ok || math.Abs(got-want) > 0.01 {
			t.Errorf("%s: %g (%v), want %g", expr, got, ok, want)
		}
	}
	near(`group:bottleneck_parallelism:rate5m{group="main.work"}`, 3)
	near(`group:bottleneck_parallelism:rate5m{group="main.main"}`, 1)
	near(`group:bottleneck_share:ratio_rate5m{group="main.work"}`, 0.6)
	near(`instance:bottleneck_neck:ratio_rate5m`, 0.9-2.1/4)
	near(`instance:bottleneck_dropped:ratio_rate5m`, 0.2)

	values := map[string]float64{"Neck neck": 0.9 - 2.1/4, "Mean parallelism parallelism": 2.1, "Mean parallelism GOMAXPROCS": 4, "Not seen dropped": 0.2, "Cost of the analysis processors": 0.01,
		"Share of the time (height of the boxes) [idle]": 0.1}
	for title, expr := range dashboardExpressions(t) {
		expr = strings.NewReplacer("$job", ".*", "$instance", ".*", "$__rate_interval", "5m").Replace(expr)
		out := p.query(expr)
		if len(out) == 0 {
			t.Errorf("%s: nothing by %s", title, expr)
			continue
		}
		// The cost is a rate in real time, which Prometheus extrapolates; others are ratios
		// of rates.
		tolerance := 0.01
		if want, ok := values[title]; ok && math.Abs(out[0].value-want) > tolerance {
			t.Errorf("%s: %g, want %g", title, out[0].value, want)
		}
	}
}

// dashboardExpressions returns the expressions of the dashboard, by panel and legend.
func dashboardExpressions(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/fleet/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			out[p.Title+" "+target.LegendFormat] = target.Expr
		}
	}
	if len(out) < 15 {
		t.Fatalf("%d expressions in the dashboard", len(out))
	}
	return out
}

// A service under load that analyzes itself, scraped by Prometheus: its numbers are those of the
// graph.
//
// When the analysis has stopped, the counters stand still, so both can be read at the same time:
// the quotient of the totals is that of the graph. The quotient of the rates leaves out what the
// counters had when they were scraped first, a part f of the share; since a parallelism is between
// 1 and GOMAXPROCS, it differs by less than f/(1−f) times their difference.
func TestPrometheusAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{Budget: 1})
	base := serve(t, Handler(Options{Continuous: c, AllowRemote: true}), nil)
	p := startPrometheus(t, base)
	t.Parallel() // as above; no other parallel test traces
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() { load(ctx) })
	}
	const group = `{group=~".*TestPrometheusAgrees.func.*"}`
	p.until("some seconds of the load are seen", func() bool {
		// Functions of this test may be groups, too. The value of a group at its first
		// scrape is in no rate.
		v, ok := p.one("max(bottleneck_share_seconds_total" + group + " - min_over_time(bottleneck_share_seconds_total" + group + "[5m]))")
		return ok && v > 2
	})
	cancel()
	wg.Wait()
	c.Stop()

	g := c.Read().Bottle
	var box *bottle.Box
	for i := range g.Boxes {
		if strings.Contains(g.Boxes[i].Group, "TestPrometheusAgrees.func") && g.Boxes[i].Parallelism > 0 && (box == nil || g.Boxes[i].Share > box.Share) {
			box = &g.Boxes[i]
		}
	}
	if box == nil {
		t.Fatalf("no box of the load: %+v", g.Boxes)
	}
	p.until("the last numbers are scraped", func() bool {
		v, ok := p.one("bottleneck_wall_seconds_total")
		return ok && v == g.Wall.Seconds()
	})
	exact := fmt.Sprintf(`{group=%q,kind="application"}`, box.Group)
	if total, ok := p.one("bottleneck_running_seconds_total" + exact + " / bottleneck_share_seconds_total" + exact); !ok || math.Abs(total-box.Parallelism) > 1e-6 {
		t.Errorf("the totals have a parallelism of %g, the graph %g", total, box.Parallelism)
	}
	first, seen := p.one("min_over_time(bottleneck_share_seconds_total" + exact + "[5m])")
	if !seen {
		t.Errorf("no share of %s", box.Group)
	}
	rates, ok := p.one("rate(bottleneck_running_seconds_total" + exact + "[5m]) / rate(bottleneck_share_seconds_total" + exact + "[5m])")
	f := first / box.Share.Seconds()
	tolerance := f/(1-f)*float64(runtime.GOMAXPROCS(0)-1) + 1e-6
	if !ok || math.Abs(rates-box.Parallelism) > tolerance {
		t.Errorf("the rates have a parallelism of %g (%v), the graph %g ± %g", rates, ok, box.Parallelism, tolerance)
	}
	if box.Parallelism < 1-1e-9 || box.Parallelism > float64(runtime.GOMAXPROCS(0))+1e-9 {
		t.Errorf("a parallelism of %g on %d processors", box.Parallelism, runtime.GOMAXPROCS(0))
	}
	sum, _ := p.one("sum(bottleneck_share_seconds_total) + sum(bottleneck_idle_seconds_total)")
	if math.Abs(sum-g.Wall.Seconds()) > 1e-3 {
		t.Errorf("shares and idle time sum to %g, the wall time is %g", sum, g.Wall.Seconds())
	}
	t.Logf("parallelism of %s: graph %.4f, totals the same, rates %.4f; %v seen, %v dropped", box.Group, box.Parallelism, rates, g.Wall, c.Read().Stream.Dropped.Duration)
}

// load computes, and sometimes waits a little for a lock.
func load(ctx context.Context) {
	for ctx.Err() == nil {
		busy(2 * time.Millisecond)
		loadLock.Lock()
		busy(100 * time.Microsecond)
		loadLock.Unlock()
		// A goroutine that never stops has no name in a trace that is younger than it. If
		// one sleeps for long on a busy machine, the speed-up stack reports that it cannot
		// estimate.
		runtime.Gosched()
	}
}

var loadLock sync.Mutex
