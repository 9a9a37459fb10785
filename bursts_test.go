package bottleneck

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// generations cuts a trace of Go 1.26 into generations that are traces themselves.
func generations(data []byte) (out [][]byte) {
	const header, endOfGeneration = 16, 52
	for from, at := header, header; at < len(data); {
		if data[at] == endOfGeneration {
			at++
			out = append(out, append(bytes.Clone(data[:header]), data[from:at]...))
			from = at
			continue
		}
		if at++; data[at-1] != 1 { // an experimental batch
			at++
		}
		var size uint64
		for range 4 {
			var n int
			size, n = binary.Uvarint(data[at:])
			at += n
		}
		at += int(size)
	}
	return out
}

// TestBurstsSum: all sums hold for real traces from which only bursts are shown.
func TestBurstsSum(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*go1.26*.trace")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := newAnalyses(&Options{Want: WantBottle | WantContention | WantTasks})
		var clock wallClock
		s := timeline.NewStream(timeline.StreamOptions{Budget: -1, MaxPending: 1 << 40, Show: 30 * time.Millisecond}, append([]timeline.Observer{&clock, &a.bursts}, a.observers()...)...)
		var all sum
		for i, g := range generations(data) {
			s.Write(g)
			s.EndTrace(func(traced *timeline.StreamStats) {
				w := a.window(burst{30 * time.Millisecond, 8}, traced, &clock, 256)
				if w == nil {
					t.Errorf("%s: nothing of generation %d", file, i+1)
					return
				}
				if d := traced.End - traced.Start; w.graph.Wall != 8*time.Duration(d) && w.sample.cut == 0 || d > timeline.Time(30*time.Millisecond) {
					t.Errorf("%s: generation %d shows %v, for %v", file, i+1, time.Duration(d), w.graph.Wall)
				}
				all.add(w, 256)
				for _, x := range []*window{w, all.read(256)} {
					total := x.graph.Idle
					for i := range x.graph.Boxes {
						total += x.graph.Boxes[i].Share
					}
					if total != x.graph.Wall || x.waits.Duration != x.graph.Wall || x.tasks.Wall != x.graph.Wall {
						t.Errorf("%s: %v in boxes, contention in %v, tasks in %v of %v", file, total, x.waits.Duration, x.tasks.Wall, x.graph.Wall)
					}
					if l := x.ledger; l == nil || l.CheckValid() != nil || l.Wall != x.graph.Wall || l.Capacity != x.graph.Capacity {
						t.Errorf("%s: the ledger of %v, %v of capacity, is of %v and %v: %v", file, x.graph.Wall, x.graph.Capacity, l.Wall, l.Capacity, l.CheckValid())
					}
					for i := range x.waits.Waits {
						if r := &x.waits.Waits[i]; r.Waited != r.Blamed+r.HandOff+r.Unattributed {
							t.Errorf("%s: %+v", file, r)
						}
					}
				}
			})
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
