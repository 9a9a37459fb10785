package otel

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type source struct{ live bottleneck.Live }

func (s *source) Enabled() bool          { return true }
func (s *source) Read() *bottleneck.Live { live := s.live; return &live }

func made() *source {
	s := &source{}
	s.live.Bottle = &bottle.Graph{Wall: 9 * time.Second, Idle: time.Second, Throttles: 7, Throttled: 3 * time.Second, Procs: 2, Boxes: []bottle.Box{
		{Group: "main.work", Kind: bottle.Application, Share: 5 * time.Second, Running: 8 * time.Second, Waiting: map[string]time.Duration{"mutex": 2 * time.Second}},
		{Group: "runtime.gcBgMarkWorker", Kind: bottle.GC, Share: 3 * time.Second, Running: 3 * time.Second},
	}}
	s.live.Bottle.Latency = bottle.Latency{Count: 3, Total: 2 * time.Millisecond, Max: time.Millisecond, Cut: 4, Buckets: make([]int64, 150)}
	s.live.Bottle.Latency.Buckets[0], s.live.Bottle.Latency.Buckets[149] = 2, 1
	s.live.Contention = &contention.Profile{Waits: []contention.Wait{{Kind: contention.MutexKind, Contentions: 3, Waited: time.Second, Blamed: time.Second}}}
	return s
}

// collect returns all numbers by name and attributes.
func collect(t testing.TB, reader metric.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			var points []metricdata.DataPoint[float64]
			switch d := m.Data.(type) {
			case metricdata.Sum[float64]:
				if !d.IsMonotonic || d.Temporality != metricdata.CumulativeTemporality {
					t.Errorf("%s is no counter", m.Name)
				}
				points = d.DataPoints
			case metricdata.Gauge[float64]:
				points = d.DataPoints
			default:
				t.Errorf("%s is a %T", m.Name, d)
			}
			if m.Unit == "" || m.Description == "" {
				t.Errorf("%s: unit %q, description %q", m.Name, m.Unit, m.Description)
			}
			for _, p := range points {
				out[m.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Value
			}
		}
	}
	return out
}

// OpenTelemetry accepts all metrics, they equal the numbers of the analysis, and they end with
// Unregister.
func TestRegister(t *testing.T) {
	tasks := granularity.NewRecorder()
	for range 7 {
		granularity.Do(granularity.WithRecorder(t.Context(), tasks), "check", func(context.Context) error { return nil })
	}
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(context.Background())
	src := made()
	r, err := register(provider.Meter("bottleneck"), src, Options{Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	got := collect(t, reader)
	for name, want := range map[string]float64{
		"bottleneck.recording ":                                            1,
		"bottleneck.gomaxprocs ":                                           2,
		"bottleneck.wall ":                                                 9,
		"bottleneck.idle ":                                                 1,
		"bottleneck.throttled.periods ":                                    7,
		"bottleneck.throttled.time ":                                       3,
		"bottleneck.share group=main.work,kind=application":                5,
		"bottleneck.running group=main.work,kind=application":              8,
		"bottleneck.share group=runtime.gcBgMarkWorker,kind=gc":            3,
		"bottleneck.blocked group=main.work,kind=application,reason=mutex": 2,
		"bottleneck.contentions kind=mutex":                                3,
		"bottleneck.contention.wait kind=mutex,part=blamed":                1,
		"bottleneck.stream.dropped.generations reason=behind":              0,
		"bottleneck.scheduling.latency ":                                   0.002,
		"bottleneck.scheduling.latency.cut ":                               4,
		"bottleneck.scheduling.latencies le=1.024e-06":                     2,
		"bottleneck.scheduling.latencies le=4.096e-06":                     0,
		"bottleneck.scheduling.latencies le=+Inf":                          1,
		"bottleneck.tasks class=check":                                     7,
		"bottleneck.task.cycles class=check":                               tasks.Profile().Classes[0].Cycles.Sum(),
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %g (%v), want %g", name, v, ok, want)
		}
	}
	if v := got["bottleneck.goroutines state=running"]; v < 1 {
		t.Errorf("%g goroutines run", v)
	}
	src.live.Bottle.Boxes[0].Share += time.Second
	if v := collect(t, reader)["bottleneck.share group=main.work,kind=application"]; v != 6 {
		t.Errorf("a second later: %g", v)
	}
	if err := r.Unregister(); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, reader); len(got) != 0 {
		t.Errorf("unregistered: %v", got)
	}
}

// The real types register with a running analysis, with a stopped one, and without one.
func TestRegisterReal(t *testing.T) {
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(context.Background())
	for _, c := range []*bottleneck.Continuous{nil, bottleneck.NewContinuous(bottleneck.ContinuousOptions{})} {
		r, err := Register(provider.Meter("bottleneck"), c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := collect(t, reader)
		if v, ok := got["bottleneck.recording "]; ok != (c != nil) || v != 0 {
			t.Errorf("recording: %g, %v", v, ok)
		}
		if err := r.Unregister(); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkCollect(b *testing.B) {
	src := made()
	g := src.live.Bottle
	for i := range 48 {
		box := g.Boxes[0]
		box.Group = fmt.Sprint("main.f", i)
		g.Boxes = append(g.Boxes, box)
	}
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(context.Background())
	if _, err := register(provider.Meter("bottleneck"), src, Options{}); err != nil {
		b.Fatal(err)
	}
	var all metricdata.ResourceMetrics
	for b.Loop() {
		if err := reader.Collect(context.Background(), &all); err != nil {
			b.Fatal(err)
		}
	}
}
