package bottle

import (
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// In an offered graph, the goroutines that share a nanosecond may be more than the clock has units
// for. The shares still sum to the wall time.
func TestMoreGoroutinesThanTheClockHasFractions(t *testing.T) {
	const n = 140_000
	for _, boxes := range testenv.Some([]int{2, 1}) {
		d := drive(Options{Offered: true, Window: 3}, 0)
		for i := range n {
			d.appear(app(int64(i), "main."+string(rune('a'+i%boxes))), timeline.Runnable, timeline.WaitOther)
		}
		graph := d.at(31).end()
		for _, g := range append(graph.Windows, graph) {
			sum := g.Idle
			for i := range g.Boxes {
				sum += g.Boxes[i].Share
				if g.Boxes[i].Share < 0 {
					t.Errorf("%d boxes, from %d: a share of %d ns", boxes, g.Start, g.Boxes[i].Share)
				}
			}
			if sum != g.Wall {
				t.Errorf("%d boxes, from %d: shares sum to %d of %d ns", boxes, g.Start, sum, g.Wall)
			}
		}
		if err := identity(d.o); err != nil {
			t.Error(err)
		}
	}
}
