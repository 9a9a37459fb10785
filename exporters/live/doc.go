// Package live shows over HTTP what limits a running service. It serves bottle graphs, contention,
// tasks, speedup stacks, execution traces, wall-clock profiles and metrics of the last seconds to
// browsers, curl, go tool pprof, Prometheus and profile databases.
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"github.com/bottleneck-go/bottleneck"
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/live"
//	)
//
//	func main() {
//		var rec bottle.Recorder // keeps the last seconds of the execution trace
//		if err := rec.Start(); err != nil {
//			log.Print(err)
//		}
//		defer rec.Stop()
//		c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{}) // analyzes all the time, for metrics and quick answers
//		if err := c.Start(); err != nil {
//			log.Print(err)
//		}
//		defer c.Stop()
//		log.Print(live.ListenAndServe(context.Background(), "localhost:6060", live.Options{Recorder: &rec, Continuous: c}))
//	}
//
// Either of the two is enough; a request that needs the other gets an error. Importing the package
// registers and starts nothing.
//
// # Paths
//
//	(index)     explains itself, and shows what is recorded, what was dropped, and at which cost
//	graph       the bottle graph        svg, png, text, json, pprof (group=function, start, creator, goroutine, region, task, kind, /regexp/)
//	contention  who waited for whom     svg, png, text, json, pprof (view=owner, waiter, joined)
//	tasks       granularity of tasks    svg, png, text, json, pprof
//	speedup     an estimate of why N workers are not N times faster: an upper bound    svg, png, text, json
//	wall        where goroutines are, running or not, with their boxes as the label "group"  pprof, text
//	trace       the raw execution trace
//	metrics     counters, in Prometheus' text format or, if the client asks for it, in OpenMetrics with exemplars
//
// # Asking
//
// seconds=N is the length of the period that the answer covers, 5 by default. The graph,
// contention, speedup, trace and (without Options.Tasks) tasks cover the last N seconds and are
// returned at once, because users ask after something has happened. They come from the windows of
// the Continuous while it is enabled: bursts of tracing about a second apart, from which the rest
// is estimated. Otherwise they come from a snapshot of the Recorder. If the known period is shorter
// than N or ended long ago, the graph has a warning. The wall-clock profile, and a profile of
// Options.Tasks, cover the next N seconds.
//
// group= selects which goroutines share a box of the graph. A Continuous has a single grouping, set
// in its options. Other groupings need a snapshot, and therefore a Recorder, at its cost.
//
// format= selects the format; png needs Options.PNG. Without it, the Accept header decides: a
// browser gets a picture, curl gets text, and clients that send no such header, such as go tool
// pprof and the scrapers of Pyroscope and Parca, get a profile. debug=1 means text and cannot be
// combined with seconds=.
//
//	curl 'http://localhost:6060/graph?seconds=2'
//	go tool pprof -top 'http://localhost:6060/contention?seconds=2'
//
// Errors are plain text with the header X-Go-Pprof, so that go tool pprof shows them: 400 for an
// invalid query, 401 and 403 for refused requests, 404, 405, 406, 501 for what is not set in
// Options, and 503 with Retry-After. The reasons for 503 are: another collection of the same kind
// is in progress, a recorder is stopped or busy, a Continuous has no data yet, or reading a trace
// takes longer than half of the time that it covers (at least 10 s).
//
// A collection ends when its client disconnects or when the server's BaseContext ends. End the
// BaseContext on SIGTERM, so that [http.Server.Shutdown] does not wait for a wall-clock profile,
// which may take up to five minutes. If the server has a WriteTimeout, the handler extends its
// deadline during a collection and while writing an answer ([http.ResponseController]). If a
// wrapper of the ResponseWriter prevents that, wall fails before it starts.
//
// # Access control
//
// A handler that is mounted beside others cannot identify its clients: behind a proxy, all requests
// seem to come from this machine, and many proxies add no header. It therefore refuses all requests
// (403) until one of these is set:
//
//   - Options.Token or TokenFile, or BOTTLENECK_TOKEN or BOTTLENECK_TOKEN_FILE in the environment:
//     requests carry the token as "Authorization: Bearer TOKEN" or, for browsers and go tool pprof,
//     as the parameter token=TOKEN (401 otherwise). Tokens are compared in constant time.
//   - Options.Authorize, which alone decides, or Options.AllowRemote, which admits every request.
//
// [ListenAndServe] needs none of them: it serves the pages on its own loopback address or Unix
// socket. It answers only requests for localhost or a loopback address, because another site could
// point its own name there, and refuses requests from a proxy or from a page of another site.
//
// No answer reveals the command line, the environment, or a path of the machine: source files are
// named by package, "example.com/shop/cart.go", as with go build -trimpath (Options.FilePaths). The
// raw trace is the exception: it contains the runtime's data, with file names from the machine that
// built the program, and the texts of the program's own logs, tasks and regions (Options.NoTrace).
//
// # Metrics
//
//	rate(bottleneck_running_seconds_total[1m]) / rate(bottleneck_share_seconds_total[1m])
//
// is the parallelism of each group, the width of its box. Package exporters/prometheus, a separate
// module, describes all metrics and collects the same ones for the Prometheus client library;
// exporters/otel does so for OpenTelemetry. The folder docs/fleet has a dashboard and
// configurations.
//
// Options.LeanMetrics limits the output to 60 series per instance, for fleets of thousands. Answers
// are compressed for clients that accept gzip. In OpenMetrics, exemplars name the lock, waiter and
// owner with the largest part of a contention counter, and the place with the largest part of a
// group's blocked time.
//
// # Cost
//
// Recording and analysis cost what packages bottle and bottleneck state; a mounted handler costs
// nothing. Answers of a Continuous take 0.05 ms (JSON, metrics) to 0.4 ms (profiles) plus the time
// to sum up its windows; the index takes 0.2 ms. Answers of a Recorder take the time to read the
// snapshot and run all analyses on it, 0.5 to 2 µs per event with a PNG or SVG: 0.1 s for 234,000
// events of a busy HTTP server on two idle cores, 0.5 s on two cores overbooked ten times
// (BenchmarkAnswer). The wall-clock profile takes up to 99 samples of all goroutines per second,
// and fewer with more goroutines, to limit their cost to 1 % of one processor: a sample costs about
// 1 µs per goroutine.
//
// # Memory
//
// A snapshot is in memory once while it is sent or analyzed, and only one analysis runs at a time.
// With a Recorder of 32 MB, the default, full of channel operations, a snapshot had 39 MB. At the
// peak, sending it took 40 MB, a graph, contention or tasks 160 MB, and the speedup 205 MB, with
// the default GOGC, when half of the heap is garbage. Options.MaxMemory limits live memory: an
// analysis that would need more, or a request while slow clients hold that much, gets 503 with
// Retry-After. A client has 30 s for an answer, plus a second for each 256 kB. TestMemory measures
// all of it under a GOMEMLIMIT.
//
// # Weight
//
// In a service that has net/http, net/http/pprof and encoding/json, the analyses of a Continuous
// take 3.1 MB, and the pages 2.1 MB more; without debugging information (-ldflags="-s -w") 2.2 and
// 1.5 MB. PNG adds 1.0 MB. Readers of files, older traces and compressed traces, and the task
// recorder, are linked only if the program uses them. TestWeight measures the sizes.
package live
