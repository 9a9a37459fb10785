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
// # Metrics
//
// All are observable counters, read when the reader of the provider collects:
//
//	bottleneck.share         s             group, kind          the group's share of the time: the height of its box
//	bottleneck.running       s             group, kind          for how long its goroutines ran, summed: the area
//	bottleneck.runnable      s             group, kind          … were ready, but had no processor
//	bottleneck.c             s             group, kind          … were in C code: part of running while a processor was free for it
//	bottleneck.blocked       s             group, kind, reason  … were blocked
//	bottleneck.idle          s                                  the time in which nothing ran
//	bottleneck.wall          s                                  the time of the analysis, by estimate: all shares and the idle time
//	bottleneck.seen          s                                  how much of it was seen
//	bottleneck.bursts        {burst}                            in how many bursts of tracing
//	bottleneck.contentions   {contention}  kind                 how often goroutines waited for each other
//	bottleneck.contention.wait  s          kind, part           how long: blamed on an owner, hand-off, or unattributed
//	bottleneck.contention.ready s          kind                 how long they were ready after that, until they had a processor
//	bottleneck.tasks         {task}        class                how many tasks a recorder of tasks has measured
//	bottleneck.task.cycles   {cycle}       class                what they executed, summed: OpenTelemetry has no observable histograms
//	bottleneck.stream.…                                         what the analysis has read, cost and dropped
//
// and bottleneck.recording and bottleneck.gomaxprocs are observable gauges. A group's parallelism
// is the rate of bottleneck.running divided by that of bottleneck.share. An exporter for Prometheus
// maps most of them to the names of package exporters/live, such as bottleneck_share_seconds_total.
//
// All counters only grow, even if the analysis is stopped and started again. At most
// Options.MaxGroups groups, the largest ones when there was room, have their own counters; the rest
// is in "(others)".
//
// # Cost
//
// A collection costs as much as Continuous.Read plus about 0.5 ms for 50 groups (BenchmarkCollect).
// Package bottleneck states the cost of the analysis.
package otel
