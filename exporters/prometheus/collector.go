// Package prometheus collects the metrics of a continuous analysis for programs that already use
// the Prometheus client library.
//
//	package main
//
//	import (
//		"log"
//		"net/http"
//
//		"github.com/prometheus/client_golang/prometheus"
//		"github.com/prometheus/client_golang/prometheus/promhttp"
//
//		"github.com/bottleneck-go/bottleneck"
//		bottleprom "github.com/bottleneck-go/bottleneck/exporters/prometheus"
//	)
//
//	func main() {
//		c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
//		if err := c.Start(); err != nil {
//			log.Fatal(err)
//		}
//		defer c.Stop()
//		prometheus.MustRegister(bottleprom.NewCollector(c, bottleprom.Options{}))
//		http.Handle("/metrics", promhttp.Handler())
//		log.Print(http.ListenAndServe("localhost:6060", nil))
//	}
//
// Other programs need neither the library nor this package: package exporters/live serves the same
// metrics under the same names. This package is a separate module, so that only its users depend on
// the library.
//
// docs/metrics.md describes the metrics. With promhttp.HandlerOpts.EnableOpenMetrics, exemplars name
// the lock, waiter and owner with the largest part of a contention counter.
//
// A scrape costs as much as Continuous.Read plus about 0.5 ms for 50 groups (BenchmarkCollect).
package prometheus

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/exporters/internal/series"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// Options configures [NewCollector]. The zero value is ready to use.
type Options struct {
	// Tasks is a recorder whose tasks are exported as a histogram for each class.
	Tasks *granularity.Recorder
	// Lean limits metrics to 60 series, which docs/metrics.md lists.
	Lean bool
	// Version is the label version of bottleneck_build_info; "" means the version of the program's
	// module.
	Version string
}

type collector struct {
	reader *series.Reader
	descs  map[string]*prometheus.Desc // by name
}

// NewCollector returns a collector of the results of c. It neither starts nor stops c, which may be
// nil if there are only tasks to collect. Each collector has its own counters, so register only one.
func NewCollector(c *bottleneck.Continuous, opt Options) prometheus.Collector {
	return newCollector(c, opt)
}

func newCollector(source series.Source, opt Options) prometheus.Collector {
	c := &collector{reader: series.NewReader(source, opt.Tasks, series.Options{Lean: opt.Lean, Version: opt.Version}), descs: map[string]*prometheus.Desc{}}
	for _, f := range c.reader.Families() {
		c.descs[f.Name] = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
	}
	return c
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, f := range c.reader.Read() {
		desc := c.descs[f.Name]
		for i := range f.Points {
			ch <- metric(desc, &f, &f.Points[i])
		}
	}
}

// metric turns a point into a metric. If the library refuses it, the metric reports the error.
func metric(desc *prometheus.Desc, f *series.Family, p *series.Point) prometheus.Metric {
	var m prometheus.Metric
	var err error
	switch f.Type {
	case series.Histogram:
		buckets := make(map[float64]uint64, len(p.Buckets))
		for i, n := range p.Buckets {
			buckets[f.Bounds[i]] = n
		}
		m, err = prometheus.NewConstHistogram(desc, p.Count, p.Value, buckets, p.Values...)
	case series.Gauge:
		m, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, p.Value, p.Values...)
	default:
		m, err = prometheus.NewConstMetric(desc, prometheus.CounterValue, p.Value, p.Values...)
	}
	if e := p.Exemplar; e != nil && err == nil {
		labels := prometheus.Labels{}
		for _, l := range e.Labels {
			labels[l.Name] = l.Value
		}
		m, err = prometheus.NewMetricWithExemplars(m, prometheus.Exemplar{Value: e.Value, Labels: labels, Timestamp: e.Time})
	}
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}
