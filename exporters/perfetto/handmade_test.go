package perfetto_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Cases that a recorded trace does not easily show, by hand.
func TestHandMade(t *testing.T) {
	var buf bytes.Buffer
	w := perfetto.NewWriter(&buf, "")
	o := w.Observer()
	hostile := "a\x00\xff\u202e<script>" + strings.Repeat("x", 1000)
	at := func(g *timeline.Goroutine, start, end timeline.Time, from, to timeline.State, more ...func(*timeline.Transition)) {
		tr := &timeline.Transition{G: g, State: from, Start: start, End: end, Thread: -1, Proc: -1, To: to}
		for _, f := range more {
			f(tr)
		}
		o.Transition(tr)
	}
	a, b := &timeline.Goroutine{ID: 1, Index: 0, Func: "main.main"}, &timeline.Goroutine{ID: 1 << 40, Index: 1}
	o.Begin(1000, 26)
	at(a, 1000, 1000, timeline.Unknown, timeline.Running)
	at(b, 1000, 1000, timeline.Unknown, timeline.Waiting)
	o.Metric(1010, "/memory/classes/heap/objects:bytes", 1<<63, false)
	o.Region(&timeline.Span{Time: 1100, G: a, Begin: true, Name: hostile, Task: "t"})
	o.Task(&timeline.Span{Time: 1100, G: a, TaskID: 5, Name: hostile, Begin: true})
	o.Task(&timeline.Span{Time: 1110, G: a, TaskID: 6, Name: "second", Begin: true})
	o.Range(&timeline.Span{Time: 1120, Name: "stop-the-world (x)", Begin: true, OfG: true, G: a, Proc: -1})
	o.Range(&timeline.Span{Time: 1130, Name: "stop-the-world (x)", Start: 1120, OfG: true, G: a, Proc: -1})
	// It began before.
	o.Range(&timeline.Span{Time: 1140, Name: "GC concurrent mark phase", Start: 1005, Proc: -1})
	o.Range(&timeline.Span{Time: 1150, Name: "GC incremental sweep", Begin: true, Proc: 3})
	o.Log(&timeline.Log{Time: 1160, G: a, Category: "c", Message: hostile})
	o.Log(&timeline.Log{Time: 1160, Category: "only"})
	b.Func = "main.late" // its name becomes known while it waits
	o.Named(b, 1200)
	o.Task(&timeline.Span{Time: 1300, G: a, TaskID: 6})
	// The place of the second.
	o.Task(&timeline.Span{Time: 1310, G: a, TaskID: 7, Name: "third", Begin: true})
	c := &timeline.Goroutine{ID: 3, Index: 2}
	at(c, 1320, 1320, timeline.Unknown, timeline.Waiting)
	c.Func = "main.later"
	o.Named(c, 1330)
	at(c, 1320, 1340, timeline.Waiting, timeline.NotExist)
	at(b, 1000, 1400, timeline.Waiting, timeline.Runnable, func(tr *timeline.Transition) { tr.Waker = a })
	o.Region(&timeline.Span{Time: 1500, G: a, Name: "never begun"})
	at(a, 1000, 1500, timeline.Running, timeline.NotExist, func(tr *timeline.Transition) { tr.Proc, tr.Thread = 3, 77 })
	at(b, 1400, 1600, timeline.Runnable, timeline.Unknown)
	o.End(1600)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := decode(t, buf.Bytes())
	got := map[string][2]uint64{}
	for _, s := range d.slices(t) {
		tr := d.tracks[s.track]
		name := s.name
		if len(name) > 20 && strings.HasPrefix(name, "a") {
			name = s.category
		}
		got[tr.thread+tr.name+": "+name] = [2]uint64{s.start, s.end}
	}
	for name, want := range map[string][2]uint64{
		"G1 main.main: running":                   {1000, 1500},
		"regions of G1: region":                   {1100, 1500},
		"tasks 1: task":                           {1100, 1600},
		"tasks 2: third":                          {1310, 1600},
		"tasks 2: second":                         {1110, 1300},
		"G3 (unnamed): blocked: none":             {1320, 1330},
		"G3 main.later: blocked: none":            {1330, 1340},
		"stop-the-world: stop-the-world (x)":      {1120, 1130},
		"GC: GC concurrent mark phase":            {1005, 1140},
		"ranges of P3: GC incremental sweep":      {1150, 1600},
		"G1099511627776 (unnamed): blocked: none": {1000, 1200},
		"G1099511627776 main.late: blocked: none": {1200, 1400},
		"G1099511627776 main.late: runnable":      {1400, 1600},
		"P3: main.main":                           {1000, 1500},
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("and %v", got)
	}
	checkFlows(t, d)
	logs := 0
	for _, e := range d.events {
		if e.category == "log" && e.kind == 3 {
			logs++
		}
	}
	if logs != 2 {
		t.Errorf("%d logs", logs)
	}
}

// Everything that is open when a gap begins ends there, and its tracks are free afterwards.
func TestGap(t *testing.T) {
	var buf bytes.Buffer
	w := perfetto.NewWriter(&buf, "")
	o := w.Observer()
	o.Begin(1000, 26)
	for _, at := range []timeline.Time{1000, 3000} { // with a gap between
		g := &timeline.Goroutine{ID: 1, Func: "main.main"}
		life := timeline.Transition{G: g, State: timeline.Running, Start: at, End: at + 500, Thread: -1, Proc: -1}
		o.Transition(&timeline.Transition{G: g, Start: at, End: at, Thread: -1, Proc: -1, To: timeline.Running})
		o.Task(&timeline.Span{Time: at + 100, G: g, TaskID: uint64(at), Name: "job", Begin: true})
		o.Range(&timeline.Span{Time: at + 200, Name: "GC concurrent mark phase", Begin: true, Proc: -1})
		o.Range(&timeline.Span{Time: at + 300, Name: "GC incremental sweep", Begin: true, Proc: 3})
		life.To = timeline.Unknown
		o.Transition(&life)
		if at == 1000 {
			o.Gap(1500, 3000)
		}
	}
	o.End(3500)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := decode(t, buf.Bytes())
	got := map[string][]uint64{}
	for _, s := range d.slices(t) {
		tr := d.tracks[s.track]
		got[tr.thread+tr.name] = append(got[tr.thread+tr.name], s.start, s.end)
	}
	for name, want := range map[string][]uint64{
		"G1 main.main": {1000, 1500, 3000, 3500},
		"tasks 1":      {1100, 1500, 3100, 3500},
		"GC":           {1200, 1500, 3200, 3500},
		"ranges of P3": {1300, 1500, 3300, 3500},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("and %v", got)
	}
}

// A region that is cut because its goroutine moves to a track of its group is not shown again as a
// whole. An unknown thread has no number.
func TestNamedWithinRegion(t *testing.T) {
	var buf bytes.Buffer
	w := perfetto.NewWriter(&buf, "")
	o := w.Observer()
	o.Begin(1000, 26)
	g := &timeline.Goroutine{ID: 1}
	o.Transition(&timeline.Transition{G: g, Start: 1000, End: 1000, Thread: -1, Proc: -1, To: timeline.Running})
	o.Region(&timeline.Span{Time: 1100, G: g, Begin: true, Name: "cut", Start: 1100})
	g.Func = "main.late"
	o.Named(g, 1200)
	o.Region(&timeline.Span{Time: 1250, G: g, Name: "cut", Start: 1100})
	o.Region(&timeline.Span{Time: 1300, G: g, Begin: true, Name: "next", Start: 1300})
	o.Region(&timeline.Span{Time: 1400, G: g, Name: "next", Start: 1300})
	o.Transition(&timeline.Transition{G: g, State: timeline.Running, Start: 1000, End: 1600, Thread: -1, Proc: 3, To: timeline.NotExist})
	o.End(1600)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string][]uint64{}
	for _, s := range decode(t, buf.Bytes()).slices(t) {
		got[s.name] = append(got[s.name], s.start, s.end)
		if thread, ok := s.notes["thread"]; ok {
			t.Errorf("%s is on thread %s", s.name, thread)
		}
	}
	if want := []uint64{1100, 1200}; !slices.Equal(got["cut"], want) {
		t.Errorf("the region is shown %v, want %v", got["cut"], want)
	}
	if want := []uint64{1300, 1400}; !slices.Equal(got["next"], want) {
		t.Errorf("the one after it is shown %v, want %v", got["next"], want)
	}
}

// If there are many goroutines, they share tracks, one at a time.
func TestSharedTracks(t *testing.T) {
	var buf bytes.Buffer
	w := perfetto.NewWriter(&buf, "")
	w.SetMax(1, 1000)
	o := w.Observer()
	o.Begin(10, 0)
	for i := range 50 {
		g := &timeline.Goroutine{ID: int64(i + 1), Index: i % 3, Func: "main.f"}
		start := timeline.Time(10 + i*10)
		birth := timeline.Transition{G: g, State: timeline.NotExist, Start: start, End: start, Thread: -1, Proc: -1}
		life := timeline.Transition{G: g, State: timeline.Running, Start: start, End: start + 5, Thread: -1, Proc: -1}
		birth.To = timeline.Running
		o.Transition(&birth)
		life.To = timeline.NotExist
		o.Transition(&life)
	}
	o.End(1000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := decode(t, buf.Bytes())
	threads := 0
	for _, tr := range d.tracks {
		if tr.thread != "" {
			threads++
		}
	}
	if s := d.slices(t); threads != 2 || len(s) != 50 || s[49].notes["goroutine"] != "50" {
		t.Errorf("%d goroutines on %d tracks", len(s), threads)
	}
}

// The tables of names are bounded.
func TestManyNames(t *testing.T) {
	w := perfetto.NewWriter(io.Discard, "")
	o := w.Observer()
	o.Begin(1, 0)
	for i := range 200_000 {
		o.Log(&timeline.Log{Time: timeline.Time(i), Message: strings.Repeat("n", 1+i%200) + time.Duration(i).String()})
	}
	n := testing.AllocsPerRun(1, func() {
		for i := range 1000 {
			o.Log(&timeline.Log{Time: 200_000, Message: "new " + time.Duration(i).String()})
		}
	})
	if n > 20_000 {
		t.Errorf("%v allocations for 1000 events", n)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
