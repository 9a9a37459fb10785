package picture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/timeline"
)

const ms = time.Millisecond

// box makes a box by its height and width.
func box(group string, kind timeline.Kind, share time.Duration, parallelism float64) bottle.Box {
	return bottle.Box{
		Group: group, Kind: kind, Goroutines: 1, Share: share, Parallelism: parallelism,
		Running:         time.Duration(math.Round(float64(share) * parallelism)),
		SelfParallelism: 1,
	}
}

// graph stacks boxes and sums them up.
func graph(procs int, idle time.Duration, boxes ...bottle.Box) *bottle.Graph {
	g := &bottle.Graph{Procs: procs, Idle: idle, Wall: idle, GroupBy: "function", Boxes: boxes, GoVersion: "go1.26"}
	for _, b := range boxes {
		g.Wall += b.Share
	}
	slices.SortStableFunc(g.Boxes, func(a, b bottle.Box) int {
		switch {
		case a.Parallelism > b.Parallelism:
			return -1
		case a.Parallelism < b.Parallelism:
			return 1
		}
		return 0
	})
	g.SetProcs(procs)
	return g
}

// lusearch is the graph of a search with four query goroutines, whose collector is the neck.
func lusearch() *bottle.Graph {
	return graph(4, 0,
		box("GC (stop the world)", bottle.GC, 640*ms, 1),
		box("GC init", bottle.GC, 30*ms, 1.05),
		box("main", bottle.Application, 310*ms, 1.46),
		box("Query3", bottle.Application, 550*ms, 3.84),
		box("Query2", bottle.Application, 570*ms, 3.88),
		box("Query1", bottle.Application, 580*ms, 3.90),
		box("Query0", bottle.Application, 600*ms, 3.93),
	)
}

// pipeline has long names, all kinds, thin boxes, idle time and groups that never ran.
func pipeline() *bottle.Graph {
	g := graph(8, 120*ms,
		box("github.com/klauspost/pgzip.(*Writer).compressBlock", bottle.Application, 1310*ms, 6.9),
		box("github.com/klauspost/pgzip.(*Reader).doReadAhead.func1", bottle.Application, 410*ms, 3.1),
		box("main.main", bottle.Application, 520*ms, 1.2),
		box("net/http.(*Server).Serve", bottle.Application, 9*ms, 2.2),
		box("net/http.(*conn).serve", bottle.Application, 4*ms, 2.1),
		box("example.com/very/long/path/to/a/package.(*Scheduler[...]).dispatchOneByOne.func2.1", bottle.Application, 14*ms, 2.6),
		box("GC (mark worker)", bottle.GC, 210*ms, 4.2),
		box("GC (stop the world)", bottle.GC, 38*ms, 1),
		box("runtime.bgsweep", bottle.Runtime, 22*ms, 1.4),
		box("runtime/trace.Start.func1", bottle.Tracer, 12*ms, 1.9),
		box("main.idler", bottle.Application, 0, 0),
		box("main.idler2", bottle.Application, 0, 0),
	)
	for i := range g.Boxes {
		b := &g.Boxes[i]
		b.Waiting = map[string]time.Duration{"chan-receive": time.Duration(i+1) * 313 * ms, "mutex": 700 * ms}
		b.Runnable = 17 * ms
		b.Goroutines = 1 + 137*i
	}
	g.Warnings = []string{"The trace ends in the middle of a generation: the last 12 ms are missing.", "2,417 goroutines were running when the trace began; what they did before is not known, so that their shares in the first window are too small by an unknown amount of at most 3 ms."}
	return g
}

// many has n groups whose shares fall quickly.
func many(n int) *bottle.Graph {
	r := rand.New(rand.NewPCG(1, 2))
	var boxes []bottle.Box
	for i := range n {
		kind := bottle.Application
		switch i % 17 {
		case 3:
			kind = bottle.GC
		case 9:
			kind = bottle.Runtime
		}
		share := time.Duration(900 * float64(ms) * math.Pow(0.9, float64(i)) * (0.5 + r.Float64()))
		boxes = append(boxes, box(fmt.Sprintf("example.com/service/handlers.(*Handler%d).Serve", i), kind, share, 1+15*r.Float64()))
	}
	return graph(16, 40*ms, boxes...)
}

// phases has n windows of a program that alternates between a serial and a parallel phase.
func phases(n int) *bottle.Graph {
	const width = 500 * ms
	sums := map[string]*bottle.Box{}
	order := []string{"worker", "reader", "merge", "GC"}
	g := &bottle.Graph{Procs: 4, GroupBy: "function"}
	for i := range n {
		serial := 0.5 + 0.45*math.Sin(float64(i))
		wall := width
		if i == n-1 {
			wall = 320 * ms
		}
		part := func(f float64) time.Duration { return time.Duration(f * float64(wall)) }
		boxes := []bottle.Box{
			box("worker", bottle.Application, part(0.8*(1-serial)), 3.2+0.7*(1-serial)),
			box("reader", bottle.Application, part(0.15*(1-serial)), 2.6),
			box("merge", bottle.Application, part(0.8*serial), 1.1),
		}
		if i%3 == 1 {
			boxes = append(boxes, box("GC", bottle.GC, part(0.05), 1.0))
		}
		idle := wall
		for j := range boxes {
			b := &boxes[j]
			idle -= b.Share
			if sums[b.Group] == nil {
				sums[b.Group] = &bottle.Box{Group: b.Group, Kind: b.Kind, Goroutines: 4, SelfParallelism: math.NaN()}
			}
			sums[b.Group].Share += b.Share
			sums[b.Group].Running += b.Running
		}
		w := graph(4, idle, boxes...)
		w.Start = time.Duration(i) * width
		g.Windows = append(g.Windows, w)
		g.Wall += wall
		g.Idle += idle
	}
	for _, name := range order {
		if b := sums[name]; b != nil {
			b.Parallelism = float64(b.Running) / float64(b.Share)
			g.Boxes = append(g.Boxes, *b)
		}
	}
	g.SetProcs(4)
	return g
}
