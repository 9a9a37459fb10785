// Package bottleneck finds what keeps a Go program from scaling.
//
// Take an execution trace (runtime/trace) of any Go program and look at its
// bottle graph: a box for each group of goroutines, as tall as the group's share of the
// time, as wide as the number of goroutines that ran meanwhile. Tall and narrow is the neck.
//
//	go run github.com/bottleneck-go/bottleneck/cmd/bottleneck@latest demo
//	go test -bench . -trace trace.out && bottleneck graph trace.out
//
// The packages:
//
//   - [github.com/bottleneck-go/bottleneck/bottle]: bottle graphs, from a trace or a pass over one.
//   - [github.com/bottleneck-go/bottleneck/timeline]: the pass itself. It cuts a trace into
//     generations, decodes them side by side, and replays them in order through one
//     state machine to any number of observers, in memory that follows
//     the largest generation, not the length of the trace. Every analysis is such an observer.
//   - [github.com/bottleneck-go/bottleneck/exporters/text], [github.com/bottleneck-go/bottleneck/exporters/picture]
//     and [github.com/bottleneck-go/bottleneck/exporters/pprof]: the same graph in the terminal, as SVG and PNG,
//     and for go tool pprof.
//   - cmd/bottleneck: the command.
//
// A program that draws its own graph:
//
//	var buf bytes.Buffer
//	trace.Start(&buf)
//	work()
//	trace.Stop()
//	g, err := bottle.ReadTrace(ctx, &buf, bottle.Options{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	text.Write(os.Stdout, g, text.Options{})
//
// The ideas come from Du Bois, Sartor, Eyerman and Eeckhout, "Bottle graphs: visualizing
// scalable bottlenecks in multi-threaded applications", OOPSLA 2013.
//
// Importing any of the packages starts nothing and registers nothing.
package bottleneck
