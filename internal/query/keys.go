package query

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// keys are the values of a property by which quanta are grouped, selected, and drawn as lanes.
type keys struct {
	n       int                    // maximum number of keys
	of      func(row int) int32    // the key of a row, from 0
	unknown int32                  // the key of rows without the property; −1 if there is none
	name    func(key int32) string // of a known key
	ids     []int64                // of goroutines, threads or Ps, by key; else nil
	groups  []int32                // of goroutines, by key; else nil
}

// label returns the name of a key, for people.
func (k *keys) label(key int32) string {
	if key == k.unknown {
		return "(not known)"
	}
	return k.name(key)
}

// number returns the number of a goroutine, a thread or a P; nil if there is none.
func (k *keys) number(key int32) *int64 {
	if k.ids == nil || key == k.unknown {
		return nil
	}
	return &k.ids[key]
}

// where selects the rows with a known key whose name passes. It tests each name once.
func (k *keys) where(pass func(name string) bool) predicate {
	table := make([]bool, k.n)
	for key := range int32(k.n) {
		table[key] = key != k.unknown && pass(k.name(key))
	}
	return func(row int) bool { return table[k.of(row)] }
}

// tally has the number of quanta and their time, by key, and the keys in use, longest time first.
type tally struct {
	quanta []int
	time   []sum
	used   []int32
}

// tally adds up the rows for which part returns a time.
func (k *keys) tally(rows []int, part func(row int) (ns int64, ok bool)) tally {
	t := tally{quanta: make([]int, k.n), time: make([]sum, k.n)}
	for _, row := range rows {
		if ns, ok := part(row); ok {
			key := k.of(row)
			t.quanta[key]++
			t.time[key].add(float64(ns))
		}
	}
	for key, n := range t.quanta {
		if n > 0 {
			t.used = append(t.used, int32(key))
		}
	}
	slices.SortStableFunc(t.used, func(a, b int32) int { return cmp.Compare(t.time[b].total(), t.time[a].total()) })
	return t
}

// by returns the keys of a property; it returns false if there is none of this name.
func (e *Explorer) by(name string) (keys, bool) {
	rec := e.rec
	switch name {
	case "":
		return keys{n: 1, of: func(int) int32 { return 0 }, unknown: -1, name: func(int32) string { return "all" }}, true
	case "group":
		return keys{n: len(rec.Groups), of: func(row int) int32 { return rec.Group[row] }, unknown: -1, name: func(key int32) string { return rec.Groups[key].Name }}, true
	case "kind":
		return keys{n: 256, of: func(row int) int32 { return int32(rec.Groups[rec.Group[row]].Kind) }, unknown: -1, name: func(key int32) string { return timeline.Kind(key).String() }}, true
	case "func", "caller":
		column := rec.Func
		if name == "caller" {
			column = e.callers
		}
		return keys{n: max(len(rec.Funcs), 1), of: func(row int) int32 { return column[row] }, name: func(key int32) string { return rec.Funcs[key] }}, true
	case "ended":
		return keys{n: 256, of: func(row int) int32 { return int32(rec.Ending[row]) }, unknown: -1, name: func(key int32) string { return quanta.Ending(key).String() }}, true
	case "wait":
		return keys{n: 256, of: func(row int) int32 { return int32(rec.Wait[row]) }, unknown: -1, name: func(key int32) string { return timeline.Wait(key).String() }}, true
	case "goroutine":
		e.index()
		k := numbers(e.number, e.ids)
		k.unknown, k.groups = -1, e.groups // a goroutine always has a number
		return k, true
	case "thread":
		return numbers(numbered(rec.Thread, -1)), true
	case "proc":
		return numbers(numbered(rec.Proc, -1)), true
	}
	return keys{}, false
}

// numbers returns the keys of numbered ids, of which −1 is unknown.
func numbers(number []int32, ids []int64) keys {
	return keys{
		n: len(ids), of: func(row int) int32 { return number[row] }, unknown: int32(slices.Index(ids, -1)),
		name: func(key int32) string { return strconv.FormatInt(ids[key], 10) }, ids: ids,
	}
}

// index links the rows of each goroutine, once.
func (e *Explorer) index() {
	e.once.Do(func() {
		e.number, e.ids = numbered(e.rec.Goroutine, quanta.Unknown)
		e.prev = make([]int32, len(e.number))
		last := slices.Repeat([]int32{-1}, len(e.ids))
		for row, number := range e.number {
			e.prev[row], last[number] = last[number], int32(row)
		}
		e.groups = e.mainGroups()
	})
}

// mainGroups returns for each goroutine the group in which it ran longest. Groups of the
// application come before others, such as those of moments in which it assisted the collector or
// stopped the world.
func (e *Explorer) mainGroups() []int32 {
	type pair struct{ goroutine, group int32 }
	rec, ran := e.rec, map[pair]int64{}
	for row, g := range e.number {
		ran[pair{g, rec.Group[row]}] += rec.Duration[row]
	}
	other := func(group int32) int { // 0 for a group of the application
		if rec.Groups[group].Kind == timeline.Application {
			return 0
		}
		return 1
	}
	groups := slices.Repeat([]int32{-1}, len(e.ids))
	for p, d := range ran {
		best := &groups[p.goroutine]
		if *best < 0 || cmp.Or(cmp.Compare(other(p.group), other(*best)), cmp.Compare(ran[pair{p.goroutine, *best}], d), cmp.Compare(p.group, *best)) < 0 {
			*best = p.group
		}
	}
	return groups
}

// numbered numbers ids from 0 in the order of their first rows, and returns the number of each row
// and the id of each number. Ids below least count as least. For ids that are close together, a
// table takes a tenth of the time of a map.
func numbered[T int32 | int64](column []T, least int64) (number []int32, ids []int64) {
	number, ids = make([]int32, len(column)), []int64{}
	if len(column) == 0 {
		return number, ids
	}
	low, high := max(int64(slices.Min(column)), least), max(int64(slices.Max(column)), least)
	var table []int32
	if span := high - low; span >= 0 && span < int64(8*len(column)+1024) {
		table = make([]int32, span+1)
	}
	far := map[int64]int32{}
	for row, v := range column {
		id := max(int64(v), least)
		n := int32(0)
		if table != nil {
			n = table[id-low]
		} else {
			n = far[id]
		}
		if n == 0 {
			ids = append(ids, id)
			if n = int32(len(ids)); table != nil {
				table[id-low] = n
			} else {
				far[id] = n
			}
		}
		number[row] = n - 1
	}
	return number, ids
}
