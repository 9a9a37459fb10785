package bottle

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// With From and To, only the generations in between are decoded. The graph is the same to the
// nanosecond, and so are the boxes of goroutines whose names appear in these generations.
func TestFromToSkipsGenerations(t *testing.T) {
	for _, name := range []string{"small/compute-go1.22.12.trace", "small/compute-go1.26.8.trace", "small/phases-go1.26.8.trace", "real/pgzip.trace.zst", "real/gocompile-c2.trace.zst"} {
		data, err := os.ReadFile("../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := timeline.Read(t.Context(), bytes.NewReader(data), timeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if info.Generations < 2 {
			t.Fatalf("%s has one generation", name)
		}
		wall := info.Duration()
		for _, bounds := range [][2]time.Duration{{0, wall / 10}, {wall * 9 / 10, 0}, {wall / 3, wall * 2 / 3}, {wall / 2, wall/2 + time.Millisecond}, {wall - time.Millisecond, wall + time.Hour}} {
			for _, group := range []Grouping{{}, ByStart, ByCreator, ByGoroutine}[:4/min(race.Slowdown, 4)] {
				opt := Options{From: bounds[0], To: bounds[1], Group: group, Window: wall / 7}
				o := NewObserver(opt)
				if _, err := timeline.Read(t.Context(), bytes.NewReader(data), timeline.Options{}, o); err != nil {
					t.Fatal(err)
				}
				want := o.Graph()
				got, err := ReadTrace(context.Background(), bytes.NewReader(data), opt)
				if err != nil {
					t.Fatal(err)
				}
				sum := func(g *Graph) (all [7]time.Duration) {
					for i := range g.Boxes {
						b := &g.Boxes[i]
						all[0] += b.Share
						all[1] += b.Running
						all[2] += b.Runnable
						all[3] += b.Lost
						for _, d := range b.Waiting {
							all[4] += d
						}
					}
					return all
				}
				if got.Start != want.Start || got.Wall != want.Wall || got.Idle != want.Idle || got.Procs != want.Procs || got.Capacity != want.Capacity ||
					len(got.Windows) != len(want.Windows) || sum(got) != sum(want) {
					t.Errorf("%s %v by %v: start %v, wall %v, idle %v, %d processors, capacity %v, %d windows, sums %v; want %v, %v, %v, %d, %v, %d, %v", name, bounds, group,
						got.Start, got.Wall, got.Idle, got.Procs, got.Capacity, len(got.Windows), sum(got),
						want.Start, want.Wall, want.Idle, want.Procs, want.Capacity, len(want.Windows), sum(want))
				}
				skipped := false
				for _, w := range got.Warnings {
					skipped = skipped || strings.Contains(w, "not decoded: goroutines that began there are named by their start")
				}
				late := bounds[0] > wall*8/10
				if group.String() == ByCreator.String() {
					late = false
					if skipped {
						t.Errorf("%s %v by creator: %q", name, bounds, got.Warnings)
					}
				}
				if late && !skipped && strings.HasPrefix(name, "small/") {
					t.Errorf("%s %v by %v: nothing was skipped", name, bounds, group)
				}
				for i := range want.Boxes {
					a := &want.Boxes[i]
					same := func(b Box) bool { return b.Group == a.Group && b.Kind == a.Kind && b.Share == a.Share }
					if a.Share > 0 && !slices.ContainsFunc(got.Boxes, same) {
						t.Errorf("%s %v by %v: there is no box %s (%s) with a share of %v", name, bounds, group, a.Group, a.Kind, a.Share)
					}
				}
			}
		}
	}
}
