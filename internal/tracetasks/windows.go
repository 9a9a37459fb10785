package tracetasks

import (
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The classes of a window take about 20 kB each. If there are too many windows or classes, each two
// windows become one.
const (
	maxWindows       = 2048
	maxWindowClasses = 4096
)

// windows holds the profiles of the windows of a pass, which is cut at their edges.
type windows struct {
	width   timeline.Time // 0 without Options.Window
	next    timeline.Time // the end of the current window
	list    []*granularity.Profile
	classes int // in all of them
}

// Windows returns the profiles of the windows that Options.Window requested, in order, and their
// length. It is longer than requested if there would be too many; the last window may be shorter.
func (o *Observer) Windows() (list []*granularity.Profile, length time.Duration) {
	return o.windows.list, time.Duration(o.windows.width)
}

// until ends the windows that end at or before t.
func (o *Observer) until(t timeline.Time) {
	for w := &o.windows; w.width > 0 && t >= w.next; w.next += w.width {
		w.add(o.Cut(w.next))
	}
}

// endWindows ends the last window.
func (o *Observer) endWindows(t timeline.Time) {
	if w := &o.windows; w.width > 0 && t > w.next-w.width {
		w.add(o.Cut(t))
		w.next = math.MaxInt64
	}
}

func (w *windows) add(p *granularity.Profile) {
	w.list, w.classes = append(w.list, p), w.classes+len(p.Classes)
	for len(w.list) > 1 && len(w.list)%2 == 0 && (len(w.list) >= maxWindows || w.classes > maxWindowClasses) {
		w.classes = 0
		half := w.list[:0]
		for i := 0; i < len(w.list); i += 2 {
			p := granularity.Join(w.list[i], w.list[i+1])
			half, w.classes = append(half, p), w.classes+len(p.Classes)
		}
		w.list, w.width = half, 2*w.width
	}
}
