package tracetasks

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/cycles"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestCutsSum: wherever a pass is cut, the tasks of all windows are those of the whole. Their number
// is bounded.
func TestCutsSum(t *testing.T) {
	text := traced(t, regions)
	for _, opt := range []Options{{}, {Tasks: true}, {AggregateNested: true}} {
		whole := readTrace(t, text, opt)
		for _, every := range []time.Duration{time.Microsecond, 300 * time.Microsecond, 7 * time.Millisecond, time.Hour} {
			opt.Window = every
			o := NewObserver(opt)
			if _, err := timeline.Read(context.Background(), bytes.NewReader(text), timeline.Options{}, o); err != nil {
				t.Fatal(err)
			}
			list, length := o.Windows()
			if n := len(list); n > maxWindows || every == time.Microsecond && n < maxWindows/4 || length < every || time.Duration(n)*length < whole.Wall {
				t.Errorf("%+v, every %v: %d windows of %v", opt, every, n, length)
			}
			m := granularity.Join(list...)
			if m.Wall != whole.Wall || m.Instances != 0 || m.Run.CPU != whole.Run.CPU || m.Run.Wall != whole.Run.Wall || m.Run.Voluntary != whole.Run.Voluntary {
				t.Errorf("%+v, every %v: wall %v, run %+v; the whole %v, %+v", opt, every, m.Wall, m.Run, whole.Wall, whole.Run)
			}
			if len(m.Classes) != len(whole.Classes) || len(whole.Classes) == 0 {
				t.Fatalf("%+v, every %v: %d classes, the whole has %d", opt, every, len(m.Classes), len(whole.Classes))
			}
			for i := range whole.Classes {
				w := &whole.Classes[i]
				c := classNamed(t, m, w.Name)
				if c.Tasks != w.Tasks || c.Unmeasured != w.Unmeasured || c.Nested != w.Nested || c.Aggregated != w.Aggregated ||
					c.RunningNS.Sum() != w.RunningNS.Sum() || c.WallNS.Max() != w.WallNS.Max() || c.BlockedNS.Sum() != w.BlockedNS.Sum() || len(c.Sites) != len(w.Sites) {
					t.Errorf("%+v, every %v, %s: %+v, the whole %+v", opt, every, w.Name, c, w)
				}
				if d := c.ActiveShare - w.ActiveShare; d > 0.1 || d < -0.1 {
					t.Errorf("%+v, every %v, %s: active for %.3f of the time, by the whole %.3f", opt, every, w.Name, c.ActiveShare, w.ActiveShare)
				}
			}
			if len(m.Warnings) != len(whole.Warnings) {
				t.Errorf("warnings %q, the whole %q", m.Warnings, whole.Warnings)
			}
		}
	}
}

// TestTraceGap: tasks that a gap cuts are unmeasured, and its time is not in the profile.
func TestTraceGap(t *testing.T) {
	o := NewObserver(Options{})
	o.Begin(100, 0)
	g := &timeline.Goroutine{ID: 1}
	o.Region(&timeline.Span{Time: 200, G: g, Begin: true, Name: "r", Start: 200})
	o.Transition(&timeline.Transition{G: g, End: 300, To: timeline.Unknown})
	o.Gap(300, 1000)
	o.Region(&timeline.Span{Time: 1100, G: g, Begin: true, Name: "r", Start: 1100})
	o.Region(&timeline.Span{Time: 1200, G: g, Name: "r", Start: 1100})
	p := o.Cut(1300)
	c := classNamed(t, p, "r")
	if p.Wall != 500 || c.Tasks != 1 || c.Unmeasured != 1 || c.WallNS.Sum() != 100 || !strings.Contains(strings.Join(p.Warnings, " "), "1 task was not measured: it began") {
		t.Errorf("wall %v, %d tasks, %d unmeasured, %v; %q", p.Wall, c.Tasks, c.Unmeasured, c.WallNS.Sum(), p.Warnings)
	}
}

// leaf returns the name of the innermost call of a chain.
func leaf(chain []granularity.Frame) string {
	if len(chain) == 0 {
		return ""
	}
	return chain[0].String()
}

// classNamed returns the profile's class of the name.
func classNamed(t *testing.T, p *granularity.Profile, name string) *granularity.Class {
	t.Helper()
	for i := range p.Classes {
		if p.Classes[i].Name == name {
			return &p.Classes[i]
		}
	}
	var names []string
	for i := range p.Classes {
		names = append(names, p.Classes[i].Name)
	}
	t.Fatalf("there is no class %q, only %q", name, names)
	return nil
}

// busy computes for about d.
func busy(d time.Duration) {
	for end := cycles.Ticks() + cycles.TimebaseOf().FromNS(int64(d)); cycles.Ticks() < end; {
	}
}

func traceable() { busy(100 * time.Microsecond) }
