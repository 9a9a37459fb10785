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
// # Metrics
//
//	bottleneck_share_seconds_total{group,kind}           the group's share of the time: the height of its box
//	bottleneck_running_seconds_total{group,kind}         for how long its goroutines ran, summed: the area
//	bottleneck_runnable_seconds_total{group,kind}        … were ready, but had no processor
//	bottleneck_c_seconds_total{group,kind}               … were in C code: part of running while a processor was free for it
//	bottleneck_blocked_seconds_total{group,kind,reason}  … were blocked
//	bottleneck_idle_seconds_total                        the time in which nothing ran
//	bottleneck_wall_seconds_total                        the time of the analysis, by estimate: all shares and the idle time
//	bottleneck_seen_seconds_total, bottleneck_bursts_total  how much of it was seen, in how many bursts of tracing
//	bottleneck_contentions_total{kind}                   how often goroutines waited for each other
//	bottleneck_contention_wait_seconds_total{kind,part}  how long: blamed on an owner, hand-off, or unattributed
//	bottleneck_contention_ready_seconds_total{kind}      how long they were ready after that, until they had a processor
//	bottleneck_task_cycles{class}                        a histogram of what tasks execute, of a recorder of tasks
//	bottleneck_stream_…                                  what the analysis has read, cost and dropped
//	bottleneck_recording, bottleneck_gomaxprocs          gauges
//	bottleneck_panics_total                              of observers and groupings
//	bottleneck_build_info{version,revision,goversion,…}  1: which version of the program runs
//
// A group's parallelism, the width of its box, is
//
//	rate(bottleneck_running_seconds_total[1m]) / rate(bottleneck_share_seconds_total[1m])
//
// All counters only grow, even if the analysis is stopped and started again. At most
// Options.MaxGroups groups, the largest ones when there was room, have their own counters; the rest
// is in "(others)". So the number of series is bounded, and the sums are correct.
//
// With promhttp.HandlerOpts.EnableOpenMetrics, exemplars name the lock, waiter and owner with the
// largest part of a contention counter, and the place with the largest part of a group's blocked
// time.
//
// To compare versions of a program, join the build information:
//
//	sum by (group, version) (rate(bottleneck_share_seconds_total[5m]) * on (instance) group_left (version) bottleneck_build_info)
//
// # Lean metrics
//
// For fleets of thousands, Options.Lean limits the output to 60 series per instance: shares and
// running times of up to 8 groups, the largest ones when there was room, and "(others)"; contention
// of 4 kinds, likewise; the wall and idle time; tasks as one class without buckets; the build; and
// series that show whether these numbers can be trusted: whether the analysis is running, how much
// it has traced, its cost, and what it dropped. The sums remain correct.
//
// # Cost
//
// A scrape costs as much as Continuous.Read plus about 0.5 ms for 50 groups (BenchmarkCollect).
// Package bottleneck states the cost of the analysis.
package prometheus
