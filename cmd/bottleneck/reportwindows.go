package main

import (
	"cmp"
	"fmt"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/report"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/granularity/tracetasks"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// What a page knows by time: besides the bottle graph, which has windows of its own, contention,
// tasks and the speed-up are recorded for each window of the slider, so that a selection of time
// filters them, too.

// contentionWindows are the profiles of the windows of contention.
func contentionWindows(r *bn.Report) (out []report.Window[*contention.Profile]) {
	at := time.Duration(0)
	for _, p := range r.ContentionWindows {
		length := min(r.ContentionWindow, max(0, r.Contention.Duration-at))
		out = append(out, report.Window[*contention.Profile]{From: at, To: at + cmp.Or(length, p.Duration), Part: p})
		at += r.ContentionWindow
	}
	return out
}

// taskWindows cuts a profile of tasks at the edges of windows.
type taskWindows struct {
	*tracetasks.Observer
	width       timeline.Time
	begin, next timeline.Time
	ended       bool
	list        []report.Window[*granularity.Profile]
	classes     int // of all
}

// The memory of a window's classes is some 20 kB each. Where there would be more, two windows
// become one.
const (
	maxTaskWindows = 2048
	maxTaskClasses = 4096
)

func newTaskWindows(width time.Duration) *taskWindows {
	return &taskWindows{Observer: tracetasks.NewObserver(tracetasks.Options{}), width: timeline.Time(max(1, width))}
}

// Begin implements [timeline.Observer], as do the methods below: what they are shown belongs to a
// window.
func (w *taskWindows) Begin(b *timeline.Begin) {
	w.begin, w.next = b.Time, b.Time+w.width
	w.Observer.Begin(b)
}

func (w *taskWindows) Transition(t *timeline.Transition) {
	w.until(t.End)
	w.Observer.Transition(t)
}
func (w *taskWindows) Region(e *timeline.RegionEvent) { w.until(e.Time); w.Observer.Region(e) }
func (w *taskWindows) Task(e *timeline.Task)          { w.until(e.Time); w.Observer.Task(e) }

func (w *taskWindows) End(e *timeline.End) {
	w.until(e.Time)
	w.Observer.End(e)
	if from := w.next - w.width; !w.ended && e.Time > from {
		w.ended = true
		w.cut(from, e.Time)
	}
}

// until ends the windows that end before t.
func (w *taskWindows) until(t timeline.Time) {
	for t >= w.next && !w.ended {
		w.cut(w.next-w.width, w.next)
		w.next += w.width
	}
}

func (w *taskWindows) cut(from, to timeline.Time) {
	p := w.Cut(to)
	w.classes += len(p.Classes)
	w.list = append(w.list, report.Window[*granularity.Profile]{From: time.Duration(from - w.begin), To: time.Duration(to - w.begin), Part: p})
	for len(w.list) > 1 && (len(w.list) >= maxTaskWindows || w.classes > maxTaskClasses) {
		if len(w.list)%2 != 0 {
			return // with the next one there will be pairs
		}
		w.double()
	}
}

// double makes one window of each two.
func (w *taskWindows) double() {
	w.classes = 0
	half := w.list[:0]
	for i := 0; i < len(w.list); i += 2 {
		a, b := w.list[i], w.list[i+1]
		a.To, a.Part = b.To, granularity.Merge(a.Part, b.Part)
		w.classes += len(a.Part.Classes)
		half = append(half, a)
	}
	w.list = half
	w.width *= 2
}

// narrowWindows takes the windows of contention and tasks that -from and -to ask for, widened to
// their edges, and says so.
func (r *reportReading) narrowWindows() {
	f, d := r.flags, r.data
	if f.from == 0 && f.to == 0 {
		return
	}
	edges := func(from, to time.Duration, what string) {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s: those from %v to %v, the windows that the time asked for touches.", what, from, to))
	}
	if some := touched(d.ContentionWindows, f.from, f.to); len(some) > 0 {
		d.ContentionWindows, d.Contention = some, contention.Merge(partsOf(some)...)
		edges(some[0].From, some[len(some)-1].To, "Waits")
	}
	if some := touched(d.TaskWindows, f.from, f.to); len(some) > 0 && d.Tasks != nil {
		d.TaskWindows, d.Tasks = some, granularity.Merge(partsOf(some)...)
		edges(some[0].From, some[len(some)-1].To, "Tasks")
	}
}

// touched are the windows that a stretch of time touches; to 0 is the end.
func touched[Part any](windows []report.Window[Part], from, to time.Duration) (out []report.Window[Part]) {
	for _, w := range windows {
		if w.To > from && (to == 0 || w.From < to) {
			out = append(out, w)
		}
	}
	return out
}

func partsOf[Part any](windows []report.Window[Part]) (out []Part) {
	for _, w := range windows {
		out = append(out, w.Part)
	}
	return out
}
