// Package otel exports the metrics of a continuous analysis to OpenTelemetry.
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"go.opentelemetry.io/otel/sdk/metric"
//
//		"github.com/bottleneck-go/bottleneck"
//		bottleotel "github.com/bottleneck-go/bottleneck/exporters/otel"
//	)
//
//	func main() {
//		provider := metric.NewMeterProvider() // with the reader and exporter of your choice
//		defer provider.Shutdown(context.Background())
//		c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
//		if err := c.Start(); err != nil {
//			log.Fatal(err)
//		}
//		defer c.Stop()
//		_, err := bottleotel.Register(provider.Meter("bottleneck"), c, bottleotel.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		// … the service …
//	}
//
// This package is a separate module, so that only its users depend on OpenTelemetry.
//
// The metrics are observable counters and gauges, read when the reader of the provider collects;
// docs/metrics.md describes them. An exporter for Prometheus maps most of them to the names of
// package exporters/live, such as bottleneck_share_seconds_total.
//
// A collection costs as much as Continuous.Read plus about 0.5 ms for 50 groups (BenchmarkCollect).
package otel

import (
	"context"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/exporters/internal/series"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// Options configures [Register]. The zero value is ready to use.
type Options struct {
	// Tasks is a recorder whose tasks are counted by class.
	Tasks *granularity.Recorder
	// Lean limits metrics to 60 series, which docs/metrics.md lists.
	Lean bool
	// Version is the attribute version of bottleneck.build; "" means the version of the program's
	// module.
	Version string
}

// Register creates the metrics for the results of c. The meter observes them until Unregister is
// called on the returned registration. Register neither starts nor stops c, which may be nil if
// there are only tasks to observe. The error is the meter's. Call Register once per meter:
// OpenTelemetry adds up what two registrations observe, which would double all counters.
func Register(meter metric.Meter, c *bottleneck.Continuous, opt Options) (metric.Registration, error) {
	return register(meter, c, opt)
}

func register(meter metric.Meter, source series.Source, opt Options) (metric.Registration, error) {
	o := &observer{reader: series.NewReader(source, opt.Tasks, series.Options{Lean: opt.Lean, Version: opt.Version}), instruments: map[string]metric.Float64Observable{}}
	var all []metric.Observable
	for _, f := range o.reader.Families() {
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

// observer reports the counters of the reader, with one instrument per family.
type observer struct {
	reader      *series.Reader
	instruments map[string]metric.Float64Observable // by name
}

// instrument makes the instruments of a family. OpenTelemetry has no observable histograms, so a
// histogram becomes two counters: the number of values and their sum.
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
		if err := counter(f.Counted, "{value}", "The number of values. "+f.Help); err != nil {
			return nil, err
		}
	}
	err := counter(f.OTel, f.Unit, f.Help)
	return all, err
}

// observe is the callback of the meter.
func (o *observer) observe(_ context.Context, to metric.Observer) error {
	for _, f := range o.reader.Read() {
		for i := range f.Points {
			p := &f.Points[i]
			attributes := make([]attribute.KeyValue, len(p.Values))
			for k, v := range p.Values {
				attributes[k] = attribute.String(f.Labels[k], v)
			}
			with := metric.WithAttributeSet(attribute.NewSet(attributes...))
			to.ObserveFloat64(o.instruments[f.OTel], p.Value, with)
			switch {
			case f.Type != series.Histogram:
			case len(f.Labels) > 0:
				to.ObserveFloat64(o.instruments[f.Counted], float64(p.Count), with)
			default: // each bucket without those below it, so that they sum to the number
				below := uint64(0)
				for k, n := range append(p.Buckets, p.Count) {
					bound := "+Inf"
					if k < len(f.Bounds) {
						bound = strconv.FormatFloat(f.Bounds[k], 'g', -1, 64)
					}
					to.ObserveFloat64(o.instruments[f.Counted], float64(n-below), metric.WithAttributes(attribute.String("le", bound)))
					below = n
				}
			}
		}
	}
	return nil
}
