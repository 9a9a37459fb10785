package prometheus

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/exporters/internal/series"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// Options configures a [Collector]. The zero value is ready to use.
type Options struct {
	// Tasks is a recorder whose tasks are exported as a histogram for each class.
	Tasks *granularity.Recorder
	// MaxGroups is the maximum number of groups of goroutines, and of classes of tasks, with their
	// own metrics; the rest is summed up. 0 means 50.
	MaxGroups int
	// Lean limits metrics to 60 series, which docs/metrics.md lists; MaxGroups is ignored.
	Lean bool
	// Version is the label version of bottleneck_build_info; "" means the version of the program's
	// module.
	Version string
}

// Collector is a [prometheus.Collector]. It is safe for concurrent use. Each Collector has its own
// counters, so register only one.
type Collector struct {
	reader *series.Reader
	descs  map[string]*prometheus.Desc // by name
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector of the results of c. It neither starts nor stops c, which may be
// nil if there are only tasks to collect.
func NewCollector(c *bottleneck.Continuous, opt Options) *Collector {
	var source series.Source
	if c != nil {
		source = c
	}
	return newCollector(source, opt)
}

func newCollector(source series.Source, opt Options) *Collector {
	var tasks series.Tasker
	if opt.Tasks != nil {
		tasks = opt.Tasks
	}
	c := &Collector{reader: series.NewReader(source, tasks, series.Options{MaxGroups: opt.MaxGroups, Lean: opt.Lean, Version: opt.Version}), descs: map[string]*prometheus.Desc{}}
	for _, f := range c.reader.Families() {
		c.descs[f.Name] = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
	}
	return c
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
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
