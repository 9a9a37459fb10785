package counters

import (
	"strconv"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// keys are what rows can be grouped by.
type keys struct {
	n      int                                // how many there are at most
	of     func(row int) int32                // the key of a row, from 0
	label  func(key int32) string             // what people call it
	number func(key int32) (v int64, is bool) // for what is a number: a goroutine, a thread, a P
	group  func(key int32) int32              // its group, for goroutines; −1 otherwise
}

// by returns the keys of a name, or false.
func (e *Explorer) by(name string) (keys, bool) {
	rec := e.rec
	k := keys{
		number: func(int32) (int64, bool) { return 0, false },
		group:  func(int32) int32 { return -1 },
	}
	switch name {
	case "group":
		k.n, k.of = len(rec.Groups), func(row int) int32 { return rec.Group[row] }
		k.label = func(key int32) string { return rec.Groups[key].Name }
	case "kind":
		k.n, k.of = 256, func(row int) int32 { return int32(rec.Groups[rec.Group[row]].Kind) }
		k.label = func(key int32) string { return timeline.Kind(key).String() }
	case "func":
		k.n, k.of = max(len(rec.Funcs), 1), func(row int) int32 { return rec.Func[row] }
		k.label = func(key int32) string {
			if key == 0 {
				return "(not known)"
			}
			return rec.Funcs[key]
		}
	case "ended":
		k.n, k.of = 256, func(row int) int32 { return int32(rec.Ending[row]) }
		k.label = func(key int32) string { return Ending(key).String() }
	case "wait":
		k.n, k.of = 256, func(row int) int32 { return int32(rec.Wait[row]) }
		k.label = func(key int32) string { return timeline.Wait(key).String() }
	case "goroutine":
		e.byGoroutine(&k)
	case "proc":
		byNumber(&k, rec.Proc, 0)
	case "thread":
		byNumber(&k, rec.Thread, 0)
	default:
		return k, false
	}
	return k, true
}

func (e *Explorer) byGoroutine(k *keys) {
	e.index()
	k.n, k.of = len(e.ids), func(row int) int32 { return e.number[row] }
	k.label = func(key int32) string { return strconv.FormatInt(e.ids[key], 10) }
	k.number = func(key int32) (int64, bool) { return e.ids[key], true }
	k.group = func(key int32) int32 { return e.groups[key] }
}

// mainGroups returns the group of each goroutine: of those in which it ran, the one in which it ran
// for longest. Groups of the application come before others, such as that of the moments in which
// it assisted the collector or stopped the world.
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
	for p, d := range ran {
		best := &groups[p.goroutine]
		if *best < 0 {
			*best = p.group
			continue
		}
		own, bestOwn := rec.Groups[p.group].Kind == timeline.Application, rec.Groups[*best].Kind == timeline.Application
		old := ran[pair{p.goroutine, *best}]
		if own != bestOwn {
			if own {
				*best = p.group
			}
		} else if d > old || d == old && p.group < *best {
			*best = p.group
		}
	}
	return groups
}

// byNumber makes keys of a column of numbers, of which those less than least are not known.
func byNumber[T int32 | int64](k *keys, column []T, least int64) {
	wide := make([]int64, len(column))
	for row, v := range column {
		wide[row] = max(int64(v), least-1)
	}
	number, ids := make([]int32, len(wide)), []int64(nil)
	numbers := numberer(wide)
	for row, v := range wide {
		number[row] = numbers(v)
		if int(number[row]) == len(ids) {
			ids = append(ids, v)
		}
	}
	k.n, k.of = len(ids), func(row int) int32 { return number[row] }
	k.number = func(key int32) (int64, bool) { return ids[key], ids[key] >= least }
	k.label = func(key int32) string {
		if ids[key] < least {
			return "(not known)"
		}
		return strconv.FormatInt(ids[key], 10)
	}
}
