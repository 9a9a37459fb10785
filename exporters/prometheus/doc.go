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
