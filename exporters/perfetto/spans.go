package perfetto

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/timeline"
)

func itoa(v int64) string { return strconv.FormatInt(v, 10) }

// stack is a track with nested open slices.
type stack struct {
	track uint64
	open  []string
	until timeline.Time // time of the last event
}

func (s *stack) begin(w *writer, t timeline.Time, category, name string, notes ...note) {
	s.open = append(s.open, name)
	s.until = t
	w.slice(typeSliceBegin, t, s.track, category, name, notes...)
}

// end ends the innermost open slice with the name, and the slices inside it. If the trace does not
// contain the beginning of the slice, it began at start, unless the track has later events.
func (s *stack) end(w *writer, start, t timeline.Time, category, name string) {
	at := len(s.open) - 1
	for at >= 0 && s.open[at] != name {
		at--
	}
	if at < 0 {
		if len(s.open) == 0 && start > 0 && start >= s.until {
			w.slice(typeSliceBegin, start, s.track, category, name)
			w.end(t, s.track)
			s.until = t
		}
		return
	}
	for range s.open[at:] {
		w.end(t, s.track)
	}
	s.open, s.until = s.open[:at], t
}

func (s *stack) closeAll(w *writer, t timeline.Time) {
	for range s.open {
		w.end(t, s.track)
	}
	s.open, s.until = nil, t
}

// maxSpans bounds the number of tracks of ranges of the whole program, and of metrics.
const maxSpans = 64

// span returns the track of a range of the whole program, or nil if there are too many.
func (o *observer) span(name string) *stack {
	s := o.spans[name]
	if s == nil && len(o.spans) < maxSpans {
		s = &stack{track: o.w.track(o.program, name, 0)}
		o.spans[name] = s
	}
	return s
}

// innerOf returns the track of a goroutine's regions.
func (o *observer) innerOf(l *lane) *stack {
	if l.inner.track == 0 {
		l.inner.track = o.w.track(l.track, "regions of G"+itoa(l.id), 0)
	}
	return &l.inner
}

func (o *observer) Range(r *timeline.Span) {
	o.at(r.Time)
	name := clean(r.Name)
	var s *stack
	switch {
	case strings.HasPrefix(name, "stop-the-world"):
		// A range of the goroutine that stops the world, but it affects all.
		s = o.span("stop-the-world")
	case !r.OfG && r.Proc < 0:
		s = o.span("GC")
	case !r.OfG:
		p := o.processor(r.Proc)
		if p.inner.track == 0 {
			p.inner.track = o.w.track(p.track, "ranges of P"+itoa(int64(r.Proc)), 0)
		}
		s = &p.inner
	default:
		if l := o.lane(r.G); l != nil {
			s = o.innerOf(l)
		}
	}
	switch {
	case s == nil:
	case r.Begin:
		s.begin(o.w, r.Time, "runtime", name)
	default:
		s.end(o.w, r.Start, r.Time, "runtime", name)
	}
}

func (o *observer) Region(r *timeline.Span) {
	o.at(r.Time)
	l := o.lane(r.G)
	if l == nil {
		return
	}
	name := clean(r.Name)
	switch s := o.innerOf(l); {
	case !r.Begin:
		s.end(o.w, r.Start, r.Time, "region", name)
	case r.Task != "":
		s.begin(o.w, r.Time, "region", name, text("task", clean(r.Task)))
	default:
		s.begin(o.w, r.Time, "region", name)
	}
}

// taskLanes holds the tracks of user tasks. Tasks overlap, so each open task has its own track.
type taskLanes struct {
	parent uint64
	tracks []uint64
	free   []int          // lanes without a task
	open   map[uint64]int // lanes, by task
}

// maxTasks bounds the number of tasks that are shown at the same time.
const maxTasks = 1000

func (o *observer) Task(t *timeline.Span) {
	o.at(t.Time)
	k := &o.tasks
	if !t.Begin {
		if lane, ok := k.open[t.TaskID]; ok {
			o.w.end(t.Time, k.tracks[lane])
			delete(k.open, t.TaskID)
			k.free = append(k.free, lane)
		}
		return
	}
	if _, ok := k.open[t.TaskID]; ok || len(k.open) >= maxTasks {
		return
	}
	if k.parent == 0 {
		k.parent = o.w.track(o.program, "tasks", 0)
	}
	lane := len(k.tracks)
	if n := len(k.free); n > 0 {
		lane = slices.Min(k.free)
		k.free = slices.DeleteFunc(k.free, func(l int) bool { return l == lane })
	} else {
		k.tracks = append(k.tracks, o.w.track(k.parent, "tasks "+strconv.Itoa(lane+1), 0))
	}
	k.open[t.TaskID] = lane
	o.w.slice(typeSliceBegin, t.Time, k.tracks[lane], "task", clean(t.Name), number("id", int64(t.TaskID)), number("parent", int64(t.ParentID)))
}

// Log implements [timeline.Observer]. It shows messages of runtime/trace.Log, and markers.
func (o *observer) Log(l *timeline.Log) {
	o.at(l.Time)
	track := o.program
	if lane := o.lane(l.G); lane != nil {
		track = lane.track
	}
	message := cmp.Or(clean(l.Message), clean(l.Category))
	o.w.slice(typeInstant, l.Time, track, "log", message, text("category", clean(l.Category)))
}

// gauge is the track of a count, written at most once per instant, and only when it has changed.
type gauge struct {
	track   uint64
	value   int64
	changed bool
}

func (g *gauge) add(by int64) {
	g.value += by
	g.changed = true
}

func (g *gauge) flush(w *writer, t timeline.Time) {
	if g.changed {
		g.changed = false
		w.counter(t, g.track, g.value)
	}
}

func (o *observer) Metric(t timeline.Time, name string, value uint64, _ bool) {
	o.at(t)
	name = clean(name)
	track := o.gauges[name]
	if track == 0 {
		if len(o.gauges) >= maxSpans {
			return
		}
		unit := uint64(unitCount)
		if strings.HasSuffix(name, ":bytes") {
			unit = unitBytes
		}
		track = o.w.track(o.program, name, unit)
		o.gauges[name] = track
	}
	o.w.counter(t, track, int64(min(value, math.MaxInt64)))
}

// closeSpans ends the open slices of the program, at the end of the trace or before a gap.
func (o *observer) closeSpans() {
	for _, name := range slices.Sorted(maps.Keys(o.spans)) {
		o.spans[name].closeAll(o.w, o.now)
	}
	for _, id := range slices.Sorted(maps.Keys(o.tasks.open)) {
		lane := o.tasks.open[id]
		o.w.end(o.now, o.tasks.tracks[lane])
		o.tasks.free = append(o.tasks.free, lane)
	}
	clear(o.tasks.open)
	for _, id := range slices.Sorted(maps.Keys(o.procs)) {
		o.procs[id].inner.closeAll(o.w, o.now)
	}
}
