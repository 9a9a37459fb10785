package report

import (
	"math/bits"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// Window is a part of a page for an interval of the recording.
type Window[Part any] struct {
	From, To time.Duration // since the beginning of the recording
	Part     Part
}

// edgesForm holds the start and end times of windows, in order.
type edgesForm struct {
	From []int64 `json:"from"`
	To   []int64 `json:"to"`
}

func edgesOf[Part any](windows []Window[Part]) (f edgesForm) {
	for _, w := range windows {
		f.From = append(f.From, int64(w.From))
		f.To = append(f.To, int64(w.To))
	}
	return f
}

// contentionWindows holds the rows of all windows; they refer to the tables of the whole profile.
type contentionWindows struct {
	edgesForm
	// Rows of waits and pairs also have the number of their window.
	Waits columns `json:"waits"`
	Pairs columns `json:"pairs"`
	Roots columns `json:"roots"`
}

func newContentionWindows(t *contentionTables, windows []Window[*contention.Profile]) *contentionWindows {
	f := &contentionWindows{edgesForm: edgesOf(windows), Waits: columns{}, Pairs: columns{}, Roots: columns{}}
	for i, w := range windows {
		if w.Part == nil {
			continue
		}
		t.rows(w.Part, f.Waits, f.Pairs, f.Roots)
		for _, c := range []columns{f.Waits, f.Pairs} {
			for c.rows("window") < c.rows("kind") {
				c.add("window", i)
			}
		}
	}
	return f
}

// taskWindow holds the tasks of a class that ended in a window. The histogram of granularity is a
// list of pairs: the smallest value of a bucket, and its count.
type taskWindow struct {
	Window  int       `json:"w"`
	Tasks   uint64    `json:"tasks"`
	Wall    float64   `json:"wall"`
	Blocked float64   `json:"blocked"`
	Min     uint64    `json:"min"`
	Max     uint64    `json:"max"`
	Sum     float64   `json:"sum"`
	Buckets []float64 `json:"buckets"`
}

// addTaskWindows adds to each class its tasks that ended in each window.
func (f *tasksForm) addTaskWindows(windows []Window[*granularity.Profile]) {
	if len(windows) == 0 {
		return
	}
	edges := edgesOf(windows)
	f.Windows = &edges
	classes := map[string]*classForm{}
	for i := range f.Classes {
		classes[f.Classes[i].Name] = &f.Classes[i]
	}
	for i, w := range windows {
		if w.Part == nil {
			continue
		}
		for j := range w.Part.Classes {
			c := &w.Part.Classes[j]
			if to := classes[c.Name]; to != nil && c.Tasks > 0 {
				to.Windows = append(to.Windows, newTaskWindow(i, c, w.Part.Granularity(c)))
			}
		}
	}
}

func newTaskWindow(i int, c *granularity.Class, h *granularity.Histogram) taskWindow {
	f := taskWindow{Window: i, Tasks: c.Tasks, Wall: c.WallNS.Sum(), Blocked: c.BlockedNS.Sum(), Min: h.Min(), Max: h.Max(), Sum: h.Sum()}
	for value, count := range h.Buckets() {
		f.Buckets = append(f.Buckets, float64(bucketLow(value)), float64(count))
	}
	return f
}

// bucketLow returns the smallest value in the histogram bucket of v.
func bucketLow(v uint64) uint64 {
	shift := max(0, bits.Len64(v)-7)
	return v >> shift << shift
}

// stackWindow is a stack of a window.
type stackWindow struct {
	From       int64             `json:"from"`
	To         int64             `json:"to"`
	Speedup    float64           `json:"speedup"`
	Remainder  float64           `json:"remainder"`
	Components map[int32]float64 `json:"components"` // keyed by index in the page's list
}

// newStackWindows returns the stacks of windows. The page computes a stack of several windows from
// them, because all parts are parts of the time.
func newStackWindows(s *speedup.Stack) []stackWindow {
	out := []stackWindow{}
	if s.Multi == nil {
		return out
	}
	for i, w := range s.Windows() {
		a := s.Multi.Windows[i]
		f := stackWindow{From: int64(a.Start), To: int64(a.Start + a.Wall), Speedup: finite(w.Speedup), Remainder: finite(w.Remainder), Components: map[int32]float64{}}
		for j, c := range speedup.Delimiters() {
			if v := finite(w.Components[c]); v != 0 {
				f.Components[int32(j)] = v
			}
		}
		out = append(out, f)
	}
	return out
}
