package bottle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// The JSON form of a graph consists of the exported fields of [Graph] and [Box], named by their
// tags, in one object with all times in nanoseconds. An unknown self-parallelism is null; warnings,
// boxes and waiting_ns are never null.

// maxJSONSites is the number of places written per reason. The last one may stand for all others.
const maxJSONSites = 8

// boxFields has the tags of a box, but no methods.
type boxFields Box

// MarshalJSON writes the graph as one JSON object, without its windows, which are separate graphs;
// see [WriteJSON]. It fails only if a parallelism is infinite or a Parallelism is NaN, which does not
// occur in graphs of this package. It is a method of Graph, not *Graph, so that a Graph value is
// marshaled in the same form.
func (g Graph) MarshalJSON() ([]byte, error) {
	type fields Graph                              // without methods
	g.Warnings = append([]string{}, g.Warnings...) // [] instead of null
	g.Boxes = append([]Box{}, g.Boxes...)
	return marshal(fields(g))
}

// MarshalJSON writes the box as a JSON object, like [Graph.MarshalJSON].
func (b Box) MarshalJSON() ([]byte, error) {
	if math.IsNaN(b.Parallelism) || math.IsInf(b.Parallelism, 0) || math.IsInf(b.SelfParallelism, 0) {
		return nil, fmt.Errorf("bottle: box %q has a parallelism of %v and a self-parallelism of %v, which JSON cannot hold", b.Group, b.Parallelism, b.SelfParallelism)
	}
	out := struct {
		boxFields
		SelfParallelism *float64 `json:"self_parallelism"`
	}{boxFields: boxFields(b)}
	if !math.IsNaN(b.SelfParallelism) {
		out.SelfParallelism = &b.SelfParallelism
	}
	if b.Waiting == nil {
		out.Waiting = map[string]time.Duration{}
	}
	out.Sites = maps.Clone(b.Sites)
	for reason, sites := range b.Sites {
		out.Sites[reason] = fewSites(sites, maxJSONSites)
	}
	return marshal(out)
}

// marshal does not escape characters such as those in "chan<-". An encoder that escapes them
// escapes its result again.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("bottle: writing JSON: %w", err)
	}
	return format.EscapeJSON(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// WriteJSON writes the JSON object of g, indented. If g has windows, it writes one object per
// window instead, one per line and in order, and none for the whole. [ReadJSON] reads both. Errors
// are those of w and of [Graph.MarshalJSON].
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

// ReadJSON reads the output of [WriteJSON]: one object, or one for each window. From windows it
// also computes the graph of the whole, whose Windows they become. A box of the whole then has as
// many goroutines as in the window with the most, because it is unknown which goroutines continued
// from one window to the next.
//
// The graphs that it accepts are valid; see [Graph.CheckValid]. Otherwise the error names the
// invalid object and box. Unknown fields are ignored.
func ReadJSON(r io.Reader) (*Graph, error) {
	dec := json.NewDecoder(r)
	var graphs []*Graph
	for {
		g, at := new(Graph), dec.InputOffset()
		err := dec.Decode(g)
		if err == io.EOF {
			break
		}
		switch {
		case err == nil && g.Boxes == nil:
			err = errors.New("not a bottle graph: wall_ns, idle_ns or boxes is missing")
		case err == nil:
			err = g.CheckValid()
		}
		if err != nil {
			return nil, fmt.Errorf("bottle: reading JSON: object %d, from byte %d: %w", len(graphs)+1, at, format.ExplainJSON(err, "wall_ns, idle_ns and boxes"))
		}
		order.Stable(g.Boxes, func(a, b Box) int { return cmp.Compare(b.Parallelism, a.Parallelism) })
		graphs = append(graphs, g)
	}
	switch len(graphs) {
	case 0:
		return nil, errors.New("bottle: reading JSON: the input is empty")
	case 1:
		return graphs[0], nil
	}
	g, err := joinWindows(graphs)
	if err != nil {
		return nil, fmt.Errorf("bottle: reading JSON: %w", err)
	}
	return g, nil
}

// UnmarshalJSON reads the output of [Box.MarshalJSON].
func (b *Box) UnmarshalJSON(data []byte) error {
	in := boxFields{Parallelism: math.NaN(), SelfParallelism: math.NaN()}
	if err := json.Unmarshal(data, &in); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			wrong.Field = "boxes." + wrong.Field
		}
		return err
	}
	if in.Waiting == nil {
		in.Waiting = map[string]time.Duration{}
	}
	*b = Box(in)
	starts := b.Starts
	b.Starts = nil
	b.addStarts(starts)
	for reason, sites := range b.Sites {
		b.Sites[reason] = joinSites(sites, nil)
	}
	return nil
}

// maxGoroutines bounds the number of goroutines of a box, so that sums over boxes do not overflow.
const maxGoroutines = max(1<<30, math.MaxInt>>13)

// CheckValid returns an error that names the first violated invariant of [Graph]: no time is
// negative, shares and idle time sum to the wall time, the parts of the capacity sum to the
// capacity, and no sum overflows. It does not check windows.
func (g *Graph) CheckValid() error {
	switch {
	case g.Instances < 0 || g.Instances > 1<<30:
		return fmt.Errorf("instances is out of range: %d", g.Instances)
	case g.Procs < 0:
		return fmt.Errorf("gomaxprocs is negative: %d", g.Procs)
	case !(g.CPUs >= 0) || g.CPUs > math.MaxInt32:
		return fmt.Errorf("cpus is out of range: %v", g.CPUs)
	case g.Throttles < 0 || g.Throttles > 1<<30:
		return fmt.Errorf("throttles is out of range: %d", g.Throttles)
	}
	for field, t := range map[string]time.Duration{"wall_ns": g.Wall, "idle_ns": g.Idle, "capacity_ns": g.Capacity, "throttled_ns": g.Throttled} {
		if t < 0 {
			return fmt.Errorf("%s is negative: %d", field, t)
		}
	}
	if g.Start < 0 || g.Start > math.MaxInt64-g.Wall {
		return fmt.Errorf("start_ns is out of range: %d", g.Start)
	}
	if err := g.Verdict.CheckValid(); err != nil {
		return err
	}
	c := &g.Collector
	for _, d := range []time.Duration{c.Work, c.Time, c.Share, c.Assists, c.Paused, time.Duration(c.Cycles), time.Duration(c.Pauses)} {
		if d < 0 || d > math.MaxInt64/2 {
			return fmt.Errorf("collector: a time or number is out of range: %d", d)
		}
	}
	if err := g.Latency.checkValid(); err != nil {
		return err
	}
	sum, spent := g.Idle, time.Duration(0)
	for i := range g.Boxes {
		b := &g.Boxes[i]
		if err := b.checkValid(&spent); err != nil {
			return fmt.Errorf("box %d (%q): %w", i+1, b.Group, err)
		}
		if sum > g.Wall-b.Share {
			return fmt.Errorf("idle_ns and the shares up to box %d (%q) exceed wall_ns, %d", i+1, b.Group, g.Wall)
		}
		sum += b.Share
	}
	if sum != g.Wall {
		return fmt.Errorf("idle_ns and the shares sum to %d, not to wall_ns, %d", sum, g.Wall)
	}
	return g.checkLost()
}

// checkLost checks that the lost capacity sums correctly.
func (g *Graph) checkLost() error {
	if g.IdleLost < 0 || g.IdleLost > g.Capacity {
		return fmt.Errorf("idle_lost_ns is out of range: %d", g.IdleLost)
	}
	left := g.Capacity - g.IdleLost
	for i := range g.Boxes {
		b := &g.Boxes[i]
		room := b.Lost + b.Running
		switch {
		case g.Capacity == 0 && b.Lost != 0:
			return fmt.Errorf("box %d (%q): lost_ns is %d, but capacity_ns is 0", i+1, b.Group, b.Lost)
		case b.Lost < -b.Running || b.Lost > math.MaxInt64-b.Running || g.Capacity > 0 && left < math.MinInt64+room:
			return fmt.Errorf("box %d (%q): lost_ns is out of range: %d", i+1, b.Group, b.Lost)
		case g.Capacity > 0:
			left -= room
		}
	}
	if left != 0 {
		return fmt.Errorf("running, lost and idle capacity sum to %d, not to capacity_ns, %d", g.Capacity-left, g.Capacity)
	}
	return nil
}

// checkValid checks the box and adds its times to *spent, which must not overflow, because other
// code sums over boxes.
func (b *Box) checkValid(spent *time.Duration) error {
	switch {
	case math.IsNaN(b.Parallelism):
		return errors.New("parallelism is missing")
	case b.Parallelism < 0:
		return fmt.Errorf("parallelism is negative: %v", b.Parallelism)
	case b.SelfParallelism < 0:
		return fmt.Errorf("self_parallelism is negative: %v", b.SelfParallelism)
	case b.Goroutines < 0 || b.Goroutines > maxGoroutines:
		return fmt.Errorf("goroutines is out of range: %d", b.Goroutines)
	case b.Kind > Tracer:
		return fmt.Errorf("unknown kind %d", b.Kind)
	case b.Share < 0:
		return fmt.Errorf("share_ns is negative: %d", b.Share)
	case b.ShareError < 0:
		return fmt.Errorf("share_error_ns is negative: %d", b.ShareError)
	case b.Running == 0 && b.Parallelism > 0:
		return fmt.Errorf("running_ns is 0, but parallelism is %v", b.Parallelism)
	}
	times := map[string]time.Duration{"running_ns": b.Running, "runnable_ns": b.Runnable}
	for reason, d := range b.Waiting {
		times[fmt.Sprintf("waiting_ns %q", reason)] = d
	}
	for _, field := range slices.Sorted(maps.Keys(times)) {
		t := times[field]
		if t < 0 {
			return fmt.Errorf("%s is negative: %d", field, t)
		}
		if *spent > math.MaxInt64-t {
			return fmt.Errorf("%s is %d: with it the times of the boxes sum to more than 292 years", field, t)
		}
		*spent += t
	}
	if b.InC < 0 || b.InC < b.Waiting[InCode] || b.InC-b.Waiting[InCode] > b.Running {
		return fmt.Errorf("in_c_ns is out of range: %d", b.InC)
	}
	for _, reason := range slices.Sorted(maps.Keys(b.Sites)) {
		left := b.Waiting[reason]
		if reason == InCode {
			left = b.InC
		}
		for _, s := range b.Sites[reason] {
			if s.Time < 0 || s.Time > left {
				return fmt.Errorf("waiting_sites %q: %d ns exceed the %d ns that remain of waiting_ns", reason, s.Time, left)
			}
			left -= s.Time
		}
	}
	return nil
}

// joinWindows computes the graph of the whole from those of its windows.
func joinWindows(windows []*Graph) (*Graph, error) {
	var spent time.Duration // the sum of the boxes' times
	fullest := map[boxKey]int{}
	for i, w := range windows {
		if i > 0 && w.Start < windows[i-1].Start+windows[i-1].Wall {
			return nil, fmt.Errorf("object %d starts at %v, before object %d ends at %v: they are not windows of one graph in order",
				i+1, w.Start, i, windows[i-1].Start+windows[i-1].Wall)
		}
		for j := range w.Boxes {
			b := &w.Boxes[j]
			if spent += b.Running + b.Runnable + b.Blocked(); spent < 0 {
				return nil, fmt.Errorf("object %d: with it the times of the boxes sum to more than 292 years", i+1)
			}
			k := boxKey{b.Group, b.Kind}
			fullest[k] = max(fullest[k], b.Goroutines)
		}
	}
	whole, err := Merge(windows...)
	if err != nil {
		return nil, err
	}
	whole.Windows, whole.Instances = windows, 0
	for i := range whole.Boxes {
		b := &whole.Boxes[i]
		b.Goroutines = fullest[boxKey{b.Group, b.Kind}]
	}
	return whole, nil
}
