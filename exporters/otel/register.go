package otel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/exporters/internal/series"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// Options are the choices of [Register]. The zero value is right for most.
type Options struct {
	// Tasks is a recorder whose tasks are counted for each class.
	Tasks *granularity.Recorder
	// MaxGroups is how many groups of goroutines, and classes of tasks, have metrics of their
	// own; others are added up. 0 means 50.
	MaxGroups int
	// Lean keeps to 60 series: shares and running times of up to 8 groups, contention of 4
	// kinds, tasks as one class, and what shows whether these numbers can be trusted. MaxGroups
	// is not used.
	Lean bool
	// Version is the attribute version of bottleneck.build; "" stands for the version of the
	// program's module.
	Version string
}

// Register makes the metrics of what c finds and has the meter observe them, until Unregister is
// called on what it returns. It neither starts nor stops c, which may be nil if there are only
// tasks to observe. The error is the meter's. Call it once for a meter: OpenTelemetry adds up what
// two registrations observe, so that all counters would be doubled.
func Register(meter metric.Meter, c *bottleneck.Continuous, opt Options) (metric.Registration, error) {
	var source series.Source
	if c != nil {
		source = c
	}
	return register(meter, source, opt)
}

func register(meter metric.Meter, source series.Source, opt Options) (metric.Registration, error) {
	var tasks series.Tasker
	if opt.Tasks != nil {
		tasks = opt.Tasks
	}
	o := &observer{reader: series.NewReader(source, tasks, series.Options{MaxGroups: opt.MaxGroups, Lean: opt.Lean, Version: opt.Version}), instruments: map[string]metric.Float64Observable{}}
	empty := series.Snapshot{Live: source != nil, Lean: opt.Lean}
	var all []metric.Observable
	for _, f := range empty.Families() {
		made, err := o.instrument(meter, &f)
		if err != nil {
			return nil, fmt.Errorf("otel: %s: %w", f.OTel, err)
		}
		all = append(all, made...)
	}
	r, err := meter.RegisterCallback(o.observe, all...)
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	return r, nil
}

// observer observes what the reader reads, with one instrument for each family.
type observer struct {
	reader      *series.Reader
	instruments map[string]metric.Float64Observable // by name
}

// taskCount is the name of the number of tasks: OpenTelemetry has no observable histograms, so
// theirs becomes two counters.
const taskCount = "bottleneck.tasks"

func (o *observer) instrument(meter metric.Meter, f *series.Family) ([]metric.Observable, error) {
	var all []metric.Observable
	counter := func(name, unit, help string) error {
		i, err := meter.Float64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(help))
		o.instruments[name] = i
		all = append(all, i)
		return err
	}
	switch f.Type {
	case series.Gauge:
		i, err := meter.Float64ObservableGauge(f.OTel, metric.WithUnit(f.Unit), metric.WithDescription(f.Help))
		o.instruments[f.OTel] = i
		return append(all, i), err
	case series.Histogram:
		if err := counter(taskCount, "{task}", "Tasks that were measured."); err != nil {
			return nil, err
		}
	}
	err := counter(f.OTel, f.Unit, f.Help)
	return all, err
}

// observe is called when the metrics are collected.
func (o *observer) observe(_ context.Context, to metric.Observer) error {
	for _, f := range o.reader.Read().Families() {
		for i := range f.Points {
			p := &f.Points[i]
			attributes := make([]attribute.KeyValue, len(p.Values))
			for k, v := range p.Values {
				attributes[k] = attribute.String(f.Labels[k], v)
			}
			with := metric.WithAttributeSet(attribute.NewSet(attributes...))
			to.ObserveFloat64(o.instruments[f.OTel], p.Value, with)
			if f.Type == series.Histogram {
				to.ObserveFloat64(o.instruments[taskCount], float64(p.Count), with)
			}
		}
	}
	return nil
}
