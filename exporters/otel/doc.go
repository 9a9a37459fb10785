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
//		if _, err := bottleotel.Register(provider.Meter("bottleneck"), c, bottleotel.Options{}); err != nil {
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
