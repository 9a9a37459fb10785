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

// ReadJSON reads what [WriteJSON] wrote: one object, or one for each window.
// From windows it also adds up the graph of the whole, whose Windows they become;
// a box of the whole then has as many goroutines as in its fullest window,
// for nothing tells which goroutines lived on from one window into the next.
//
// What it accepts keeps the promises of [Graph]: no time is negative, and
// shares and idle time sum to the wall time. The error for anything else says
// which object and box breaks which promise. Fields it does not know are ignored.
func ReadJSON(r io.Reader) (*Graph, error) {
	dec := json.NewDecoder(r)
	var graphs []*Graph
	for {
		var form graphJSON
		at := dec.InputOffset()
		err := dec.Decode(&form)
		if err == io.EOF {
			break
		}
		g := new(Graph)
		if err == nil {
			err = g.setForm(&form)
		}
		if err != nil {
			return nil, fmt.Errorf("bottle: reading JSON: object %d, from byte %d: %w", len(graphs)+1, at, format.ExplainJSON(err, "wall_ns, idle_ns and boxes"))
		}
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

// UnmarshalJSON replaces the graph by the one in a JSON object such as
// MarshalJSON writes, without windows. It accepts what [ReadJSON] accepts.
func (g *Graph) UnmarshalJSON(data []byte) error {
	if string(bytes.TrimSpace(data)) == "null" {
		return nil // the convention of encoding/json
	}
	var form graphJSON
	err := json.Unmarshal(data, &form)
	if err == nil {
		err = g.setForm(&form)
	}
	if err != nil {
		return fmt.Errorf("bottle: reading JSON: %w", format.ExplainJSON(err, "wall_ns, idle_ns and boxes"))
	}
	return nil
}

// maxGoroutines bounds the number of goroutines of a box, so that sums over boxes do not overflow.
const maxGoroutines = max(1<<30, math.MaxInt>>13)

// setForm checks the form and makes it the graph's contents; g is unchanged after an error.
func (g *Graph) setForm(form *graphJSON) error {
	switch {
	case form.Wall == nil || form.Idle == nil || form.Boxes == nil:
		return errors.New("this is no bottle graph: wall_ns, idle_ns or boxes is missing")
	case *form.Wall < 0:
		return fmt.Errorf("wall_ns is negative: %d", *form.Wall)
	case *form.Idle < 0:
		return fmt.Errorf("idle_ns is negative: %d", *form.Idle)
	case form.Instances < 0 || form.Instances > 1<<30:
		return fmt.Errorf("instances is out of range: %d", form.Instances)
	case form.Procs < 0:
		return fmt.Errorf("gomaxprocs is negative: %d", form.Procs)
	case !(form.CPUs >= 0) || form.CPUs > math.MaxInt32:
		return fmt.Errorf("cpus is out of range: %v", form.CPUs)
	case form.Start < 0 || form.Start > math.MaxInt64-*form.Wall:
		return fmt.Errorf("start_ns is out of range: %d", form.Start)
	}
	if err := form.Verdict.CheckValid(); err != nil {
		return err
	}
	boxes := make([]Box, len(form.Boxes))
	sum, spent := *form.Idle, int64(0)
	for i := range form.Boxes {
		var err error
		if boxes[i], err = form.Boxes[i].box(&spent); err != nil {
			return fmt.Errorf("box %d (%q): %w", i+1, form.Boxes[i].Group, err)
		}
		if sum > *form.Wall-int64(boxes[i].Share) {
			return fmt.Errorf("the shares do not sum: with box %d (%q) they and idle_ns exceed wall_ns (%d)", i+1, boxes[i].Group, *form.Wall)
		}
		sum += int64(boxes[i].Share)
	}
	if sum != *form.Wall {
		return fmt.Errorf("the shares do not sum: they and idle_ns make %d, but wall_ns is %d", sum, *form.Wall)
	}
	var capacity, idleLost time.Duration
	if form.Capacity != nil {
		var err error
		if capacity, idleLost, err = form.lost(boxes); err != nil {
			return err
		}
	}
	order.Stable(boxes, func(a, b Box) int { return cmp.Compare(b.Parallelism, a.Parallelism) })
	*g = Graph{
		Start:     time.Duration(form.Start),
		Wall:      time.Duration(*form.Wall),
		Idle:      time.Duration(*form.Idle),
		Capacity:  capacity,
		IdleLost:  idleLost,
		Procs:     form.Procs,
		CPUs:      form.CPUs,
		GoVersion: form.GoVersion,
		Offered:   form.Offered,
		GroupBy:   form.GroupBy,
		Instances: several(form.Instances),
		Boxes:     boxes,
		Warnings:  form.Warnings,
		Verdict:   form.Verdict,
	}
	if form.Capacity == nil { // an older file
		g.SetProcs(form.Procs)
	}
	return nil
}

// lost returns capacity and idle capacity, and gives the boxes what they lost.
func (form *graphJSON) lost(boxes []Box) (capacity, idle time.Duration, err error) {
	switch c := *form.Capacity; {
	case c < 0:
		return 0, 0, fmt.Errorf("capacity_ns is negative: %d", c)
	case form.IdleLost == nil:
		return 0, 0, errors.New("idle_lost_ns is missing")
	case *form.IdleLost < 0 || *form.IdleLost > c:
		return 0, 0, fmt.Errorf("idle_lost_ns is out of range: %d", *form.IdleLost)
	}
	left := *form.Capacity - *form.IdleLost
	for i := range boxes {
		b := &boxes[i]
		lost := form.Boxes[i].Lost
		switch {
		case lost == nil:
			return 0, 0, fmt.Errorf("box %d (%q): lost_ns is missing", i+1, b.Group)
		case *lost < -int64(b.Running) || *lost > math.MaxInt64-int64(b.Running):
			return 0, 0, fmt.Errorf("box %d (%q): lost_ns is out of range: %d", i+1, b.Group, *lost)
		}
		b.Lost = time.Duration(*lost)
		if *form.Capacity == 0 {
			if *lost != 0 {
				return 0, 0, fmt.Errorf("box %d (%q): lost_ns is %d, but capacity_ns is 0", i+1, b.Group, *lost)
			}
			continue
		}
		room := *lost + int64(b.Running)
		if left < math.MinInt64+room {
			return 0, 0, fmt.Errorf("box %d (%q): lost_ns is out of range: %d", i+1, b.Group, *lost)
		}
		left -= room
	}
	if left != 0 && *form.Capacity != 0 {
		return 0, 0, fmt.Errorf("the lost capacity does not sum: capacity_ns is %d, which is %d more than running, lost and idle make", *form.Capacity, left)
	}
	return time.Duration(*form.Capacity), time.Duration(*form.IdleLost), nil
}

// box checks the form of a box and turns it into one. It adds the box's times
// to *spent, which must not overflow: sums over boxes are taken everywhere.
func (form *boxJSON) box(spent *int64) (Box, error) {
	switch {
	case form.Share == nil:
		return Box{}, errors.New("share_ns is missing")
	case form.Running == nil:
		return Box{}, errors.New("running_ns is missing")
	case form.Parallelism == nil:
		return Box{}, errors.New("parallelism is missing")
	case *form.Parallelism < 0:
		return Box{}, fmt.Errorf("parallelism is negative: %v", *form.Parallelism)
	case form.SelfParallelism != nil && *form.SelfParallelism < 0:
		return Box{}, fmt.Errorf("self_parallelism is negative: %v", *form.SelfParallelism)
	case form.Goroutines < 0 || form.Goroutines > maxGoroutines:
		return Box{}, fmt.Errorf("goroutines is out of range: %d", form.Goroutines)
	case !slices.Contains([]Kind{Application, GC, Runtime, Tracer}, form.Kind):
		return Box{}, fmt.Errorf("kind is %q, not application, gc, runtime or tracer", form.Kind)
	case *form.Share < 0:
		return Box{}, fmt.Errorf("share_ns is negative: %d", *form.Share)
	case form.ShareError < 0:
		return Box{}, fmt.Errorf("share_error_ns is negative: %d", form.ShareError)
	}
	for _, t := range []struct {
		field string
		ns    int64
	}{{"running_ns", *form.Running}, {"runnable_ns", form.Runnable}} {
		if err := spend(spent, t.field, t.ns); err != nil {
			return Box{}, err
		}
	}
	b := Box{
		Group:           form.Group,
		Kind:            form.Kind,
		Goroutines:      form.Goroutines,
		Share:           time.Duration(*form.Share),
		ShareError:      time.Duration(form.ShareError),
		Running:         time.Duration(*form.Running),
		Parallelism:     *form.Parallelism,
		SelfParallelism: math.NaN(),
		Runnable:        time.Duration(form.Runnable),
		Waiting:         make(map[string]time.Duration, len(form.Waiting)),
	}
	b.addStarts(form.Starts)
	if form.SelfParallelism != nil {
		b.SelfParallelism = *form.SelfParallelism
	}
	for _, reason := range slices.Sorted(maps.Keys(form.Waiting)) {
		ns := form.Waiting[reason]
		if err := spend(spent, fmt.Sprintf("waiting_ns %q", reason), ns); err != nil {
			return Box{}, err
		}
		b.Waiting[reason] = time.Duration(ns)
	}
	if form.InC < 0 || form.InC < int64(b.Waiting[InCode]) || form.InC-int64(b.Waiting[InCode]) > int64(b.Running) {
		return Box{}, fmt.Errorf("in_c_ns is out of range: %d", form.InC)
	}
	b.InC = time.Duration(form.InC)
	for _, reason := range slices.Sorted(maps.Keys(form.Sites)) {
		if b.Sites == nil {
			b.Sites = map[string][]Site{}
		}
		left := int64(b.Waiting[reason])
		if reason == InCode {
			left = form.InC
		}
		var sites []Site
		for _, s := range form.Sites[reason] {
			if s.Time < 0 || s.Time > left {
				return Box{}, fmt.Errorf("waiting_sites %q: %d ns, but no more than %d are left", reason, s.Time, left)
			}
			left -= s.Time
			sites = append(sites, Site{s.Func, s.File, s.Line, time.Duration(s.Time)})
		}
		b.Sites[reason] = joinSites(sites, nil)
	}
	return b, nil
}

func spend(spent *int64, field string, ns int64) error {
	if ns < 0 {
		return fmt.Errorf("%s is negative: %d", field, ns)
	}
	if *spent > math.MaxInt64-ns {
		return fmt.Errorf("%s is %d: with it the times of the boxes sum to more than 292 years", field, ns)
	}
	*spent += ns
	return nil
}

// joinWindows adds up the graph of the whole from those of its windows.
func joinWindows(windows []*Graph) (*Graph, error) {
	first := windows[0]
	whole := &Graph{Start: first.Start, GoVersion: first.GoVersion, Offered: first.Offered, GroupBy: first.GroupBy, Windows: windows}
	var spent time.Duration // what the boxes' times sum to
	for i, w := range windows {
		switch {
		case w.Offered != first.Offered:
			return nil, fmt.Errorf("object %d: \"offered\" differs from that of object 1: offered and actual parallelism cannot be added", i+1)
		case w.GroupBy != first.GroupBy:
			return nil, fmt.Errorf("object %d is grouped by %q, object 1 by %q: they are not windows of one graph", i+1, w.GroupBy, first.GroupBy)
		case i > 0 && w.Start < windows[i-1].Start+windows[i-1].Wall:
			return nil, fmt.Errorf("object %d starts at %v, before object %d ends at %v: they are not windows of one graph in order",
				i+1, w.Start, i, windows[i-1].Start+windows[i-1].Wall)
		}
		for j := range w.Boxes {
			b := &w.Boxes[j]
			if spent += b.Running + b.Runnable + b.Blocked(); spent < 0 {
				return nil, fmt.Errorf("object %d: with it the times of the boxes sum to more than 292 years", i+1)
			}
		}
		whole.Wall += w.Wall // at most the end of the last window: no overflow
		whole.Idle += w.Idle
		switch {
		case i == 0:
			whole.Capacity, whole.IdleLost, whole.CPUs = w.Capacity, w.IdleLost, w.CPUs
		case whole.Capacity == 0 && whole.Wall > w.Wall || w.Capacity == 0 && w.Wall > 0 || w.Capacity > math.MaxInt64-whole.Capacity:
			whole.Capacity, whole.IdleLost = 0, 0 // not known of all
		default:
			whole.Capacity += w.Capacity
			whole.IdleLost += w.IdleLost
		}
		if w.CPUs != whole.CPUs {
			whole.CPUs = 0
		}
		whole.Procs = max(whole.Procs, w.Procs)
		for _, warning := range w.Warnings {
			if !slices.Contains(whole.Warnings, warning) {
				whole.Warnings = append(whole.Warnings, warning)
			}
		}
	}
	whole.Boxes = joinBoxes(windows)
	if whole.Capacity == 0 {
		for i := range whole.Boxes {
			whole.Boxes[i].Lost = 0
		}
	}
	return whole, nil
}

// joinBoxes adds up the boxes of the same group and kind.
func joinBoxes(windows []*Graph) []Box {
	type key struct {
		group string
		kind  Kind
	}
	index := make(map[key]int)
	var boxes []Box
	var busy []float64 // ns in which a member of the box ran; NaN where not known
	for _, w := range windows {
		for i := range w.Boxes {
			b := &w.Boxes[i]
			k := key{b.Group, b.Kind}
			at, ok := index[k]
			if !ok {
				at = len(boxes)
				index[k] = at
				boxes = append(boxes, Box{Group: b.Group, Kind: b.Kind, Waiting: map[string]time.Duration{}})
				busy = append(busy, 0)
			}
			sum := &boxes[at]
			sum.Goroutines = max(sum.Goroutines, b.Goroutines)
			sum.addStarts(b.Starts)
			sum.Share += b.Share
			sum.Running += b.Running
			sum.Lost += b.Lost
			sum.Runnable += b.Runnable
			sum.InC += b.InC
			sum.addSites(b)
			for reason, d := range b.Waiting {
				sum.Waiting[reason] += d
			}
			if b.Running > 0 {
				busy[at] += float64(b.Running) / b.SelfParallelism
			}
		}
	}
	for i := range boxes {
		b := &boxes[i]
		b.Parallelism = ratio(b.Running, b.Share)
		switch {
		case b.Running == 0:
			b.SelfParallelism = 0
		case busy[i] > 0 && !math.IsInf(busy[i], 0):
			b.SelfParallelism = float64(b.Running) / busy[i]
		default:
			b.SelfParallelism = math.NaN()
		}
	}
	order.Stable(boxes, compareStack)
	return boxes
}
