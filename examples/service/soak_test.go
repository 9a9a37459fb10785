package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aclements/go-moremath/stats"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/internal/trend"
)

var soakTime = flag.Duration("soak", 2*time.Second, "how long TestSoak runs")

// TestSoak runs the service under load with everything on: the Recorder, the Continuous, a scraper
// of metrics, "bottleneck top", and clients that request all debug pages at random and sometimes
// disconnect early: a page every two seconds, for half an hour, costs more than any person who
// watches a service. Up to thirty times in between, the Recorder is alone for a while, so that
// latencies and processor time of both can be compared although the machine may change. It prints
// memory, processor time and goroutines, and fails if memory grows, the analysis exceeds its
// budget, an answer is wrong, or a goroutine is left at the end.
//
//	go test ./examples/service -run Soak -soak 30m -timeout 0 -v
//	go test -race ./examples/service -run Soak -soak 5m -v
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	top := filepath.Join(t.TempDir(), "bottleneck.exe")
	if text, err := exec.Command(testenv.Program(t, "go"), "build", "-ldflags=-s -w", "-o", top, "../../cmd/bottleneck").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	before := runtime.NumGoroutine()
	k := newSoak(t)
	s, l := k.s, k.load
	ctx, cancel := context.WithCancel(t.Context())
	loaded := l.start(ctx)
	var frames tail
	parts := min(30, max(1, *soakTime/(30*time.Second)))
	for i := range parts {
		end := k.everything(t, top, &frames, i == 0)
		k.during(&k.busy, func() { k.watch(t, *soakTime/parts, i == 0) })
		end()
		k.during(&k.alone, func() { time.Sleep(*soakTime / parts / 6) })
	}
	cancel()
	if err := loaded(); err != nil {
		t.Error(err)
	}
	k.client.CloseIdleConnections()
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	k.verdict(t)
	ratios := make([]float64, parts)
	for i := range ratios {
		ratios[i] = math.Log(k.busy.p99[i] / k.alone.p99[i])
	}
	mean, low, high := stats.MeanCI(ratios, 0.95)
	t.Logf("p99 is %.3f of that with the Recorder alone (95 %%: %.3f to %.3f, of %d pairs); the median of those is %.3g ms", math.Exp(mean), math.Exp(low), math.Exp(high), parts, 1e3*stats.Sample{Xs: k.alone.p99}.Quantile(0.5))
	if *soakTime > 10*time.Second && !bytes.Contains(frames.b, []byte(" service.(*service).item ")) {
		t.Errorf("top shows no group of the service:\n%s", frames.b)
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
	t.Logf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// newSoak starts the service.
func newSoak(t *testing.T) *soak {
	s, err := start("127.0.0.1:0", "127.0.0.1:0", repairs{}, true)
	if err != nil {
		t.Skip(err) // the test itself is traced
	}
	l, err := newLoad(s.url, 8)
	if err != nil {
		t.Fatal(err)
	}
	k := &soak{s: s, load: l, answers: map[string]int{}, every: max(*soakTime/60, 100*time.Millisecond), client: &http.Client{Transport: &http.Transport{}}}
	l.took = k.answered
	return k
}

// everything starts what the service has besides its Recorder and its load: the Continuous, which
// runs already at first, and all clients of the debug pages. The returned function ends them.
func (k *soak) everything(t *testing.T, top string, frames io.Writer, first bool) (end func()) {
	if err := k.s.continuous.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for i := range 3 {
		others.Go(func() {
			if first && i == 0 { // so that each is requested, however short the time is
				for _, page := range pages {
					k.ask(ctx, page, "", http.Header{})
					for _, form := range forms {
						k.ask(ctx, page, "seconds=0.1&format="+form, http.Header{})
					}
				}
			}
			k.visit(ctx)
		})
	}
	others.Go(func() { k.scrape(ctx) })
	watch := exec.CommandContext(ctx, top, "top", k.s.debug)
	watch.Stdout, watch.Stderr = frames, frames
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		cancel()
		watch.Wait() // it was killed
		others.Wait()
		k.s.continuous.Stop()
		live := k.s.continuous.Read()
		k.analyzed += live.Stream.CPU
		k.elapsed += live.Stream.Elapsed
		if live.Panics > 0 || live.Stream.Err != nil {
			t.Errorf("%d panics, %v", live.Panics, live.Stream.Err)
		}
		t.Logf("%d windows, %.1f %% of the time seen, %d bursts cut, %d missed, %d lost; %d generations dropped", live.Windows, 100*live.Coverage,
			live.CutBursts, live.MissedBursts, live.LostBursts, live.Stream.Dropped.Generations)
	}
}

// phase is what was measured while everything was on, or the Recorder alone.
type phase struct {
	p99          []float64 // of each part, in seconds
	cpu, elapsed float64   // of the process and its load, in seconds; the runtime updates it at collections of garbage
	requests     int
}

// during runs f as a part of the phase.
func (k *soak) during(p *phase, f func()) {
	runtime.GC()
	cpu, begin := cpuSeconds(), time.Now()
	k.mu.Lock()
	k.begin, k.took = begin, k.took[:0]
	k.mu.Unlock()
	f()
	runtime.GC()
	p.cpu += cpuSeconds() - cpu
	p.elapsed += time.Since(begin).Seconds()
	k.mu.Lock()
	defer k.mu.Unlock()
	slices.Sort(k.took)
	at := math.NaN()
	if n := len(k.took); n > 0 {
		at = k.took[n*99/100].Seconds()
	}
	p.p99 = append(p.p99, at)
	p.requests += len(k.took)
}

// machine returns the part of the machine that was used.
func (p *phase) machine() float64 { return p.cpu / p.elapsed / float64(runtime.GOMAXPROCS(0)) }

// answered records the duration of a request that began in the current part.
func (k *soak) answered(begin time.Time) {
	took := time.Since(begin)
	k.mu.Lock()
	defer k.mu.Unlock()
	if begin.After(k.begin) {
		k.took = append(k.took, took)
		k.latest.Add(uint64(took))
	}
}

// tail keeps the end of its input.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 10_000
	t.b = append(t.b, p...)
	t.b = append(t.b[:0], t.b[max(0, len(t.b)-most):]...)
	return len(p), nil
}

// soak is a service under observation.
type soak struct {
	s           *service
	load        *load
	client      *http.Client
	heaps       []uint64
	fromOS      []uint64
	every       time.Duration
	busy, alone phase
	// analyzed is the processor time of the continuous analysis in the parts that ended, elapsed
	// their time.
	analyzed, elapsed time.Duration

	mu     sync.Mutex // guards what follows
	latest granularity.Histogram
	begin  time.Time       // of the current part
	took   []time.Duration // of its requests
	// answers counts the answers by page and status.
	answers map[string]int
	wrong   []string
	left    atomic.Int64 // requests that the client aborted
}

// watch measures for a while.
func (k *soak) watch(t *testing.T, length time.Duration, heading bool) {
	begin, last, busy := time.Now(), k.load.count(), cpuSeconds()
	if heading {
		t.Logf("%8s %10s %10s %11s %10s %9s %10s %9s", "after", "live heap", "from OS", "goroutines", "requests/s", "p99", "CPU", "analysis")
	}
	line := func() {
		now, cpu := k.load.count(), cpuSeconds()
		k.mu.Lock()
		p99 := time.Duration(k.latest.Quantile(0.99))
		k.latest = granularity.Histogram{}
		k.mu.Unlock()
		heap, fromOS := memory()
		k.heaps, k.fromOS = append(k.heaps, heap), append(k.fromOS, fromOS)
		machine := now.at.Sub(last.at).Seconds() * float64(runtime.GOMAXPROCS(0))
		t.Logf("%8v %7.1f MB %7.1f MB %11d %10.0f %9v %8.1f %% %7.2f %%", now.at.Sub(begin).Round(time.Second/10), float64(heap)/1e6, float64(fromOS)/1e6, runtime.NumGoroutine(),
			now.rate(last), p99.Round(10*time.Microsecond), 100*(cpu-busy)/machine, 100*k.analysis())
		last, busy = now, cpu
	}
	for at := k.every; at <= length; at += k.every {
		time.Sleep(time.Until(begin.Add(at)))
		line()
	}
}

// memory returns the live heap and the memory from the system, including pages in progress, which
// vary.
func memory() (heap, fromOS uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.Sys - m.HeapReleased
}

// analysis returns the part of the machine that the continuous analysis has used, by its own
// account.
func (k *soak) analysis() float64 {
	cpu, elapsed := k.analyzed, k.elapsed
	if k.s.continuous.Enabled() {
		st := k.s.continuous.Read().Stream
		cpu, elapsed = cpu+st.CPU, elapsed+st.Elapsed
	}
	return float64(cpu) / float64(max(1, elapsed)) / float64(runtime.GOMAXPROCS(0))
}

// cpuSeconds returns the processor time of the process as of the last garbage collection, when the
// runtime updates it.
func cpuSeconds() float64 {
	samples := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(samples)
	return samples[0].Value.Float64() - samples[1].Value.Float64()
}

// verdict fails the test if something was wrong.
func (k *soak) verdict(t *testing.T) {
	for name, v := range map[string][]uint64{"live heap": k.heaps, "from OS": k.fromOS} {
		switch d := trend.Of(v, k.every); {
		case *soakTime < time.Minute: // windows and caches are still filling
			t.Logf("%s: %s", name, d)
		case d.Flat():
			t.Logf("%s: flat: %s", name, d)
		default:
			t.Errorf("%s: NOT FLAT: %s", name, d)
		}
	}
	if part := k.analysis(); part > 0.02*1.05 && *soakTime > 30*time.Second {
		t.Errorf("the analysis took %.2f %% of the machine, its budget is 2 %%", 100*part)
	}
	t.Logf("process and load took %.2f %% of the machine, %.2f %% with the Recorder alone; the analysis took %.2f %% by its own account", 100*k.busy.machine(), 100*k.alone.machine(), 100*k.analysis())
	t.Logf("%d requests with everything on, %d with the Recorder alone; %d pages were given up by the client", k.busy.requests, k.alone.requests, k.left.Load())
	for _, page := range slices.Sorted(maps.Keys(k.answers)) {
		t.Logf("%6d × %s", k.answers[page], page)
	}
	for _, page := range pages {
		answered := k.answers[page+": 200"] > 0 || page == "speedup" && k.answers[page+": 503"] > 0 // of a request loop there may be no estimate
		if *soakTime > time.Minute && !answered {
			t.Errorf("/%s has never answered", page)
		}
	}
	for _, w := range k.wrong {
		t.Error(w)
	}
}

// pages are those below the mount point; "" is the index.
var pages = []string{"", "graph", "contention", "tasks", "speedup", "trace", "metrics", "wall"}

// forms are the forms of all pages, one that the service does not have, and an invalid one.
var forms = []string{"svg", "text", "json", "pprof", "trace", "png", "none"}

// visit requests random pages.
func (k *soak) visit(ctx context.Context) {
	for ctx.Err() == nil {
		sleep(ctx, rand.N(min(12*time.Second, *soakTime/20)))
		k.ask(ctx, pages[rand.IntN(len(pages))], randomQuery(), nil)
	}
}

// randomQuery makes parameters. Some combinations are invalid, and some parameters are unknown to
// some pages.
func randomQuery() string {
	q := url.Values{}
	one := func(name string, values ...string) {
		if rand.IntN(3) == 0 {
			q.Set(name, values[rand.IntN(len(values))])
		}
	}
	one("seconds", "0.001", "0.1", "0.5", "1", "5", "-1", "x", "1e99")
	one("format", forms...)
	if rand.IntN(4) == 0 {
		one("debug", "0", "1", "2", "x")
		one("group", "start", "creator", "goroutine", "region", "/serv(ice)?/", "/(/")
		one("view", "owner", "waiter", "joined")
		one("nothing", "1")
	}
	return q.Encode()
}

// scrape requests metrics as Prometheus does, but more often.
func (k *soak) scrape(ctx context.Context) {
	for ctx.Err() == nil {
		k.ask(ctx, "metrics", "", http.Header{"Accept": {"application/openmetrics-text,text/plain;q=0.5"}, "Accept-Encoding": {"gzip"}})
		sleep(ctx, min(5*time.Second, *soakTime/10))
	}
}

// ask requests a page and records the answer. Some clients disconnect early.
func (k *soak) ask(ctx context.Context, page, query string, header http.Header) {
	hasty := header == nil && rand.IntN(10) == 0
	if hasty {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rand.N(30*time.Millisecond))
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.s.debug+page+"?"+query, nil)
	if err != nil {
		k.note(page, 0, err)
		return
	}
	maps.Copy(req.Header, header)
	resp, err := k.client.Do(req)
	if err == nil {
		defer resp.Body.Close()
		if _, err = io.Copy(io.Discard, resp.Body); err == nil {
			k.note(page, resp.StatusCode, nil)
			return
		}
	}
	if ctx.Err() != nil {
		k.left.Add(1)
		return
	}
	k.note(page, 0, fmt.Errorf("/%s?%s: %w", page, query, err))
}

// note counts an answer. A page may be busy, missing, or refuse a query; an error of the server is
// wrong.
func (k *soak) note(page string, status int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch status {
	case http.StatusOK, http.StatusBadRequest, http.StatusNotImplemented, http.StatusServiceUnavailable:
		k.answers[fmt.Sprintf("%s: %d", page, status)]++
		return
	}
	if len(k.wrong) < 20 {
		k.wrong = append(k.wrong, fmt.Sprintf("%s: status %d, %v", page, status, errors.Join(err)))
	}
}

// sleep sleeps, until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
