package text

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/speedup"
)

func diffGraph(wall, work, merge time.Duration, more ...bottle.Box) *bottle.Graph {
	g := &bottle.Graph{Wall: wall * time.Millisecond, Procs: 4, GroupBy: "function", Boxes: append([]bottle.Box{
		{Group: "example.com/x/main.work", Kind: bottle.Application, Share: work * time.Millisecond, Running: 4 * work * time.Millisecond, Parallelism: 4},
		{Group: "main.merge", Kind: bottle.Application, Share: merge * time.Millisecond, Running: merge * time.Millisecond, Parallelism: 1},
	}, more...)}
	g.SetProcs(4)
	return g
}

func graphDiff(w io.Writer, before, after *bottle.Graph, warnings ...string) error {
	return WriteDiff(w, before, after, bottle.Summary(), warnings, Options{}, bottle.Changes(before, after))
}

func TestDiff(t *testing.T) {
	before := diffGraph(1000, 800, 150, bottle.Box{Group: "main.old", Kind: bottle.Application, Share: 50 * time.Millisecond, Parallelism: 1})
	after := diffGraph(1200, 800, 400)
	const want = `                before  after  change
parallelism       3.35   3.00   0.90x
lost capacity    16.2%  25.0%   1.54x
lost to groups   16.2%  25.0%   1.54x
wall time          1 s  1.2 s   1.20x

share before   after   change  lost before  after   change        group       kind
      150 ms  400 ms  +250 ms       450 ms  1.2 s  +750 ms        main.merge  application
       50 ms     0 s   -50 ms       200 ms    0 s  -200 ms  gone  main.old    application
      800 ms  800 ms      0 s          0 s    0 s      0 s        main.work   application
         1 s   1.2 s  +200 ms       650 ms  1.2 s  +550 ms        all
No room for: parallelism.
`
	var b bytes.Buffer
	if err := graphDiff(&b, before, after); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
	b.Reset()
	if err := graphDiff(&b, before, after, "It\nrained."); err != nil || b.String() != want+"Warning: It rained.\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
	if graphDiff(fullDisk{}, before, after) == nil {
		t.Error("no error for a full disk")
	}
}

// The last row is the sum of all rows, also of those that hardly changed.
func TestDiffSumsAllRows(t *testing.T) {
	var same []bottle.Box
	for _, name := range []string{"main.a", "main.b", "main.c"} {
		same = append(same, bottle.Box{Group: name, Kind: bottle.Application, Share: 100 * time.Millisecond, Running: 100 * time.Millisecond, Parallelism: 1})
	}
	before, after := diffGraph(1000, 600, 100, same...), diffGraph(1200, 600, 300, same...)
	for top, others := range map[int]string{0: "4 others", 1: "4 others", -1: "main.c "} {
		var b bytes.Buffer
		if err := WriteDiff(&b, before, after, bottle.Summary(), nil, Options{Top: top}, bottle.Changes(before, after)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), others) || !regexp.MustCompile(`\n +1 s +1\.2 s +\+200 ms .* all\n`).MatchString(b.String()) {
			t.Errorf("-top %d: rows do not sum to the wall time:\n%s", top, b.String())
		}
	}
}

func TestStackDiff(t *testing.T) {
	before := aStack(2, 1.25, map[speedup.Component]float64{speedup.SyncMutex: 0.75})
	after := aStack(2, 1.75, map[speedup.Component]float64{speedup.SyncMutex: 0.125, speedup.Imbalance: 0.125})
	const want = `          before  after  change
speed-up    1.25   1.75   1.40x
workers        2      2       =

part of N before  after  change         component
            0.75   0.12   -0.62         sync-mutex
            1.25   1.75   +0.50         speedup
                   0.12          added  imbalance
            0.00   0.00    0.00         remainder
`
	var b bytes.Buffer
	if err := WriteDiff(&b, before, after, speedup.Summary(), nil, Options{}, speedup.Changes(before, after)); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
}
