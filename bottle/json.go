package bottle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// The JSON form of a graph: one object, all times in nanoseconds.
//
//	{"wall_ns":…, "idle_ns":…, "capacity_ns":…, "idle_lost_ns":…, "gomaxprocs":…, "cpus":…, "go_version":"go1.26", "start_ns":…,
//	 "offered":true, "group_by":"function", "warnings":[…],
//	 "boxes":[{"group":…, "kind":"application", "starts":["sync.(*WaitGroup).Go.func1"], "goroutines":…, "share_ns":…, "share_error_ns":…, "running_ns":…, "lost_ns":…,
//	           "parallelism":…, "self_parallelism":…, "runnable_ns":…, "waiting_ns":{"mutex":…}, "in_c_ns":…,
//	           "waiting_sites":{"mutex":[{"function":"main.work", "file":…, "line":…, "ns":…}]}}],
//	 "verdict":{…}}
//
// With "instances", times are summed over so many programs.
// Σ share_ns + idle_ns == wall_ns. capacity_ns, idle_lost_ns and lost_ns are ns·processors, the
// integral of GOMAXPROCS over time, and Σ lost_ns + idle_lost_ns == capacity_ns − Σ running_ns;
// capacity_ns is 0 where GOMAXPROCS is not known. Without these fields, as in older files, they
// follow from gomaxprocs. A self-parallelism that is not known is null, "offered" is left out when
// it is false, "instances" when it is one, "cpus" when it is not known, "starts" when they are the
// name of the group, "verdict" when there is none, "in_c_ns" and "share_error_ns" when they are 0
// and "waiting_sites" when there are none, as in windows; nothing else is ever null or left out.
// The pointers tell, when reading, a field that is missing from one that is 0.
type graphJSON struct {
	Wall      *int64    `json:"wall_ns"`
	Idle      *int64    `json:"idle_ns"`
	Capacity  *int64    `json:"capacity_ns"`
	IdleLost  *int64    `json:"idle_lost_ns"`
	Procs     int       `json:"gomaxprocs"`
	CPUs      float64   `json:"cpus,omitempty"`
	GoVersion string    `json:"go_version"`
	Start     int64     `json:"start_ns"`
	Offered   bool      `json:"offered,omitempty"`
	GroupBy   string    `json:"group_by"`
	Instances int       `json:"instances,omitempty"` // only if there are several
	Warnings  []string  `json:"warnings"`
	Boxes     []boxJSON `json:"boxes"`

	Verdict *verdict.Verdict `json:"verdict,omitempty"`
}

type boxJSON struct {
	Group           string           `json:"group"`
	Kind            Kind             `json:"kind"`
	Starts          []string         `json:"starts,omitempty"`
	Goroutines      int              `json:"goroutines"`
	Share           *int64           `json:"share_ns"`
	ShareError      int64            `json:"share_error_ns,omitempty"`
	Running         *int64           `json:"running_ns"`
	Lost            *int64           `json:"lost_ns"`
	Parallelism     *float64         `json:"parallelism"`
	SelfParallelism *float64         `json:"self_parallelism"`
	Runnable        int64            `json:"runnable_ns"`
	Waiting         map[string]int64 `json:"waiting_ns"`
	InC             int64            `json:"in_c_ns,omitempty"`
	// Sites holds at most maxJSONSites places of each reason; the last one may stand for all
	// others.
	Sites map[string][]siteJSON `json:"waiting_sites,omitempty"`
}

type siteJSON struct {
	Func string `json:"function"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Time int64  `json:"ns"`
}

// maxJSONSites is how many places of a reason are written.
const maxJSONSites = 8

// MarshalJSON writes the graph as one JSON object without its windows, which
// are graphs of their own: see [WriteJSON]. A SelfParallelism that is not a
// number becomes null. It fails only where a parallelism is infinite or a
// Parallelism is not a number, which no graph of this package holds.
func (g Graph) MarshalJSON() ([]byte, error) { // not on *Graph, or a Graph by value would marshal in another form
	form, err := g.form()
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // "chan<-" stays readable; an encoder that wants it escaped escapes it again
	if err := enc.Encode(form); err != nil {
		return nil, fmt.Errorf("bottle: writing JSON: %w", err)
	}
	return format.EscapeJSON(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// WriteJSON writes g's JSON object, indented; or, when g has windows, one
// object for each window, one a line and in order, and none for the whole.
// [ReadJSON] reads both. Errors are those of w and of [Graph.MarshalJSON].
func WriteJSON(w io.Writer, g *Graph) error {
	for _, window := range g.Windows {
		line, err := window.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if len(g.Windows) > 0 {
		return nil
	}
	object, err := g.MarshalJSON()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := json.Indent(&buf, object, "", "  "); err != nil {
		return fmt.Errorf("bottle: writing JSON: %w", err)
	}
	buf.WriteByte('\n')
	_, err = w.Write(buf.Bytes())
	return err
}

// form copies a graph into its JSON form.
func (g *Graph) form() (*graphJSON, error) {
	form := &graphJSON{
		Wall:      nanos(g.Wall),
		Idle:      nanos(g.Idle),
		Capacity:  nanos(g.Capacity),
		IdleLost:  nanos(g.IdleLost),
		Procs:     g.Procs,
		CPUs:      g.CPUs,
		GoVersion: g.GoVersion,
		Start:     int64(g.Start),
		Offered:   g.Offered,
		GroupBy:   g.GroupBy,
		Instances: several(g.Instances),
		Warnings:  append([]string{}, g.Warnings...), // [] instead of null
		Boxes:     make([]boxJSON, len(g.Boxes)),
		Verdict:   g.Verdict,
	}
	for i := range g.Boxes {
		b := &g.Boxes[i]
		if math.IsNaN(b.Parallelism) || math.IsInf(b.Parallelism, 0) || math.IsInf(b.SelfParallelism, 0) {
			return nil, fmt.Errorf("bottle: box %q has a parallelism of %v and a self-parallelism of %v, which JSON cannot hold", b.Group, b.Parallelism, b.SelfParallelism)
		}
		form.Boxes[i] = boxJSON{
			Group:       b.Group,
			Kind:        b.Kind,
			Starts:      b.Starts,
			Goroutines:  b.Goroutines,
			Share:       nanos(b.Share),
			ShareError:  int64(b.ShareError),
			Running:     nanos(b.Running),
			Lost:        nanos(b.Lost),
			Parallelism: &b.Parallelism,
			Runnable:    int64(b.Runnable),
			Waiting:     make(map[string]int64, len(b.Waiting)),
			InC:         int64(b.InC),
		}
		if !math.IsNaN(b.SelfParallelism) {
			form.Boxes[i].SelfParallelism = &b.SelfParallelism
		}
		for reason, d := range b.Waiting {
			form.Boxes[i].Waiting[reason] = int64(d)
		}
		for reason, sites := range b.Sites {
			if form.Boxes[i].Sites == nil {
				form.Boxes[i].Sites = map[string][]siteJSON{}
			}
			for _, s := range fewSites(sites, maxJSONSites) {
				form.Boxes[i].Sites[reason] = append(form.Boxes[i].Sites[reason], siteJSON{s.Func, s.File, s.Line, int64(s.Time)})
			}
		}
	}
	return form, nil
}

// several returns n if it is more than one.
func several(n int) int {
	if n > 1 {
		return n
	}
	return 0
}

func nanos(d time.Duration) *int64 { return (*int64)(&d) }
