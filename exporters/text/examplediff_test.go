package text_test

import (
	"os"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/speedup"
)

func ExampleWriteDiff() {
	graph := func(wall, merge time.Duration) *bottle.Graph {
		work := wall - merge
		g := &bottle.Graph{Wall: wall, Procs: 4, GroupBy: "function", Boxes: []bottle.Box{
			{Group: "main.work", Goroutines: 4, Share: work, Running: 4 * work, Parallelism: 4},
			{Group: "main.merge", Goroutines: 1, Share: merge, Running: merge, Parallelism: 1},
		}}
		g.SetProcs(4)
		return g
	}
	before, after := graph(900*time.Millisecond, 300*time.Millisecond), graph(700*time.Millisecond, 100*time.Millisecond)
	text.WriteDiff(os.Stdout, before, after, bottle.Summary(), nil, text.Options{}, bottle.Changes(before, after))
	// Output:
	// before   after  change
	// parallelism       3.00    3.57   1.19x
	// lost capacity    25.0%   10.7%   0.43x
	// lost to groups   25.0%   10.7%   0.43x
	// wall time       900 ms  700 ms   0.78x
	//
	// share before   after   change  lost before   after   change  group       kind
	//       300 ms  100 ms  -200 ms       900 ms  300 ms  -600 ms  main.merge  application
	//       600 ms  600 ms      0 s          0 s     0 s      0 s  main.work   application
	//       900 ms  700 ms  -200 ms       900 ms  300 ms  -600 ms  all
	// No room for: parallelism.
}

func ExampleWriteStacks() {
	s := &speedup.Stack{N: 4, Speedup: 2.5, Remainder: 0.5}
	s.Components[speedup.SyncMutex] = 1
	text.WriteStacks(os.Stdout, []*speedup.Stack{s}, text.Options{Width: 96})
	// Output:
	// 2.50 times faster with 4 workers; most is lost to mutex, 1.00; without it, 3.33 times, or up to
	//   4.00 if the remainder is spinning for it
	//
	// workers        4  without it
	// remainder   0.50              ██████▎
	// mutex       1.00        3.33  ████████████▌
	// speed-up    2.50              ███████████████████████████████▎
}
