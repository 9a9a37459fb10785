// Package live shows over HTTP what limits a running service: bottle graphs, contention, tasks,
// speedup stacks, execution traces, wall-clock profiles and metrics of the last seconds, for a
// browser, curl, go tool pprof, Prometheus and databases of profiles.
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
// Either of the two is enough; an answer that needs the other is an error. Importing the package
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
// seconds=N is how much time the answer is about, 5 by default. The graph, contention,
// speedup, trace and (without Options.Tasks) tasks show the last N seconds, and answer at once:
// the reason for asking has just been. They take them from the windows of the Continuous while it
// is enabled, which are bursts of tracing about a second apart from which the rest is estimated,
// else from a snapshot of the Recorder. Where less is known than was asked for, or what is known
// ends long ago, the graph's warnings say so. The wall-clock profile, and a profile of
// Options.Tasks, are of the N seconds to come.
//
// group= chooses which goroutines share a box of the graph. A Continuous has one grouping, that of
// its options; for others a snapshot is taken, so there must be a Recorder, which costs what it
// says.
//
// format= chooses the form; png only with Options.PNG. Without it the Accept header does: a browser
// gets a picture, curl gets text, and who sends no such header, as go tool pprof, Pyroscope's and
// Parca's scrapers do, gets a profile. debug=1 means text, and does not go together with seconds=.
//
//	curl 'http://localhost:6060/graph?seconds=2'
//	go tool pprof -top 'http://localhost:6060/contention?seconds=2'
//
// Errors are plain text with the header X-Go-Pprof, so that go tool pprof shows them: 400 what is
// wrong with the query, 401 and 403 why there is no answer, 404, 405, 406, 501 what is not set in
// Options, and 503 with Retry-After: one collection of a kind goes on at a time, a recorder may be
// stopped or busy, a Continuous may have seen nothing yet, and a trace may take longer to read than
// half of the time that it is about (10 s at least).
//
// A collection ends when its client goes away, or when the server's BaseContext ends: one that ends
// with SIGTERM makes sure that [http.Server.Shutdown] does not wait for a wall-clock profile, which
// may take up to five minutes. Where the server has a WriteTimeout, its deadline is moved while a
// collection goes on and an answer is written ([http.ResponseController]); where something around
// the ResponseWriter prevents that, wall fails before it begins.
//
// # Who is answered
//
// A handler that is mounted beside others cannot tell who asks: a proxy before the service makes
// all requests look as if they came from this machine, and many proxies add no header. So it
// refuses all requests (403) until one of these is set:
//
//   - Options.Token or TokenFile, or BOTTLENECK_TOKEN or BOTTLENECK_TOKEN_FILE in the environment:
//     requests carry the token as "Authorization: Bearer TOKEN" or, for browsers and go tool pprof,
//     as the parameter token=TOKEN (401 otherwise). Tokens are compared in constant time.
//   - Options.Authorize, which decides alone, or Options.AllowRemote, which admits every request.
//
// [ListenAndServe] needs none of them: it serves the pages on a loopback address, or a Unix socket,
// that nothing else shares. It answers requests for localhost or a loopback address only (a page
// elsewhere could have its own name lead there), and none that a proxy or a page of another site
// has made.
//
// No answer shows the command line, the environment, or a path of the machine: names of source
// files are by package, "example.com/shop/cart.go", as go build -trimpath would have named them
// (Options.FilePaths). The raw trace is the exception: it holds what the runtime wrote, with the
// names of files as the machine that built the program had them, and the texts of the program's own
// logs, tasks and regions (Options.NoTrace).
//
// # Metrics
//
//	rate(bottleneck_running_seconds_total[1m]) / rate(bottleneck_share_seconds_total[1m])
//
// is the parallelism of each group, the width of its box; package exporters/prometheus, in a module
// of its own, describes all metrics and collects the same for Prometheus' client library,
// exporters/otel for OpenTelemetry. The folder docs/fleet has a dashboard and configurations.
//
// Options.LeanMetrics keeps to 60 series an instance, for fleets of thousands. Answers are packed
// for clients that take gzip. In OpenMetrics, exemplars name the lock, waiter and owner that most
// of a counter of contention is due to, and the place of most of a group's blocked time.
//
// # Cost
//
// Recording and analyzing cost what packages bottle and bottleneck say; a mounted handler costs
// nothing. Answers of a Continuous take 0.05 ms (JSON, metrics) to 0.4 ms (profiles) besides adding
// up its windows, the index 0.2 ms. Those of a Recorder take reading the snapshot and running all
// analyses on it, with a PNG or SVG 0.5 to 2 µs an event: 0.1 s for 234,000 events of a busy HTTP
// server on two idle cores, 0.5 s on two that were ten times overbooked (BenchmarkAnswer). The
// wall-clock profile takes up to 99 samples a second of all goroutines, and fewer the more there
// are, so that they cost 1 % of one processor: a sample costs about 1 µs a goroutine.
//
// # Memory
//
// A snapshot is in memory once, while it is sent or analyzed, and analyses take turns. With a
// Recorder of 32 MB, the default, that was full of channel operations, a snapshot had 39 MB; at the
// peak, sending it took 40 MB, a graph, contention or tasks 160 MB, and the speedup 205 MB: with
// the default GOGC, as the peak holds as much garbage as data. What lives has a limit,
// Options.MaxMemory: an analysis that would need more, or a request while slow clients hold that
// much, gets 503 with Retry-After. A client has 30 s for an answer, and a second more for each 256
// kB. TestMemory measures all of it, below a GOMEMLIMIT.
//
// # Weight
//
// In a service that has net/http, net/http/pprof and encoding/json, the analyses of a Continuous
// take 3.1 MB, and the pages 2.1 MB more; without debugging information (-ldflags="-s -w") 2.2 and
// 1.5 MB. PNG adds 1.0 MB. Readers of files, older traces and packed ones, and the recorder of
// tasks are linked only if the program uses them. TestWeight measures it.
package live
