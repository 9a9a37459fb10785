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

// where returns the set of the rows with one of the keys that pass. It tests each key once, rather
// than each of the rows.
func (k *keys) where(rows int, pass func(key int32) bool) *Set {
	table := make([]bool, k.n)
	for key := range table {
		table[key] = pass(int32(key))
	}
	return RowsWhere(rows, func(row int) bool { return table[k.of(row)] })
}

// longest returns the keys with quanta, those that ran longest first.
func (k *keys) longest(counts []int, running func(key int32) float64) (used []int32) {
	for key, n := range counts {
		if n > 0 {
			used = append(used, int32(key))
		}
	}
	slices.SortStableFunc(used, func(a, b int32) int { return cmp.Compare(running(b), running(a)) })
	return used
}

// by returns the keys of a property; it returns false if there is none of this name.
func (e *Explorer) by(name string) (keys, bool) {
	rec := e.rec
	k := keys{unknown: -1}
	switch name {
	case "group":
		k.n, k.of = len(rec.Groups), func(row int) int32 { return rec.Group[row] }
		k.name = func(key int32) string { return rec.Groups[key].Name }
	case "kind":
		k.n, k.of = 256, func(row int) int32 { return int32(rec.Groups[rec.Group[row]].Kind) }
		k.name = func(key int32) string { return timeline.Kind(key).String() }
	case "func", "caller":
		column := rec.Func
		if name == "caller" {
			column = e.callers
		}
		k.n, k.unknown, k.of = max(len(rec.Funcs), 1), 0, func(row int) int32 { return column[row] }
		k.name = func(key int32) string { return rec.Funcs[key] }
	case "ended":
		k.n, k.of = 256, func(row int) int32 { return int32(rec.Ending[row]) }
		k.name = func(key int32) string { return quanta.Ending(key).String() }
	case "wait":
		k.n, k.of = 256, func(row int) int32 { return int32(rec.Wait[row]) }
		k.name = func(key int32) string { return timeline.Wait(key).String() }
	case "goroutine":
		e.index()
		k.n, k.of, k.ids, k.groups = len(e.ids), func(row int) int32 { return e.number[row] }, e.ids, e.groups
	case "proc":
		byNumber(&k, rec.Proc)
	case "thread":
		byNumber(&k, rec.Thread)
	default:
		return k, false
	}
	if k.ids != nil {
		k.name = func(key int32) string { return strconv.FormatInt(k.ids[key], 10) }
	}
	return k, true
}

// byNumber sets the keys to a column of numbers, in which negative values are unknown.
func byNumber[T int32 | int64](k *keys, column []T) {
	wide := make([]int64, len(column))
	for row, v := range column {
		wide[row] = max(int64(v), -1)
	}
	number, numbers := make([]int32, len(wide)), numberer(wide)
	k.ids = []int64{}
	for row, v := range wide {
		number[row] = numbers(v)
		if int(number[row]) == len(k.ids) {
			k.ids = append(k.ids, v)
		}
	}
	k.n, k.of, k.unknown = len(k.ids), func(row int) int32 { return number[row] }, int32(slices.Index(k.ids, -1))
}

// index links the rows of each goroutine, once.
func (e *Explorer) index() {
	e.once.Do(func() {
		n := e.rec.Len()
		e.prev, e.number, e.ids = make([]int32, n), make([]int32, n), []int64{}
		numbers := numberer(e.rec.Goroutine)
		var last []int32
		for row, id := range e.rec.Goroutine {
			number := numbers(id)
			if int(number) == len(e.ids) {
				e.ids = append(e.ids, id)
				last = append(last, -1)
			}
			e.number[row] = number
			e.prev[row] = last[number]
			last[number] = int32(row)
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
	groups := make([]int32, len(e.ids))
	for i := range groups {
		groups[i] = -1
	}
	other := func(group int32) int { // 0 for a group of the application
		if rec.Groups[group].Kind == timeline.Application {
			return 0
		}
		return 1
	}
	for p, d := range ran {
		best := &groups[p.goroutine]
		if *best < 0 || cmp.Or(cmp.Compare(other(p.group), other(*best)), cmp.Compare(ran[pair{p.goroutine, *best}], d), cmp.Compare(p.group, *best)) < 0 {
			*best = p.group
		}
	}
	return groups
}

// numberer returns a function that numbers ids from 0 in the order of its calls. It uses a table if
// the ids are close together, as those of goroutines are, which takes a tenth of the time of a map.
func numberer(ids []int64) func(int64) int32 {
	if len(ids) == 0 {
		return nil
	}
	next := int32(0)
	low, high := slices.Min(ids), slices.Max(ids)
	if span := high - low; span >= 0 && span < int64(8*len(ids)+1024) {
		table := make([]int32, span+1)
		return func(id int64) int32 {
			number := &table[id-low]
			if *number == 0 {
				next++
				*number = next
			}
			return *number - 1
		}
	}
	table := map[int64]int32{}
	return func(id int64) int32 {
		number, ok := table[id]
		if !ok {
			number = next
			table[id] = number
			next++
		}
		return number
	}
}
