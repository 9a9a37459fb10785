package query

import (
	"math/rand/v2"
	"time"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// made is a recording of n quanta with all special cases for filters: unknown values, threads and
// functions, several groups and kinds, collections, markers, quanta without duration, quanta that
// begin at the same time. The same seed makes the same recording.
func made(seed uint64, n int) *quanta.Recording {
	r := rand.New(rand.NewPCG(seed, 7))
	rec := &quanta.Recording{
		Name: "made", GoVersion: "go1.26", Procs: 3,
		Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Groups: []quanta.Group{
			{Name: "main.main", Kind: timeline.Application}, {Name: "main.worker", Kind: timeline.Application}, {Name: "<script>alert(1)</script>", Kind: timeline.Application},
			{Name: "GC workers", Kind: timeline.GC}, {Name: "runtime.forcegchelper", Kind: timeline.Runtime},
		},
		Funcs: []string{"", "main.work", "main.(*T).walk[...]", "runtime.gcBgMarkWorker", "=1+1"},
		Counters: []quanta.Counter{
			{Name: "cycles", Source: "made", Accuracy: quanta.Interpolated},
			{Name: "instructions", Source: "made", Accuracy: quanta.Interpolated},
			{Name: "minor-faults", Source: "made", Accuracy: quanta.Exact},
			{Name: "task-clock", Unit: "ns", Source: "made", Accuracy: quanta.Interpolated},
			{Name: "heap", Unit: "bytes", Level: true, Source: "made", Accuracy: quanta.Observed},
			{Name: "msr/tsc", Source: "made", Accuracy: quanta.Interpolated},
		},
		Warnings: []string{"made up"},
	}
	groupOf := func(g int64) int32 { return int32(g % int64(len(rec.Groups))) }
	now, heap := int64(0), int64(4<<20)
	for row := range n {
		if r.IntN(8) > 0 {
			now += r.Int64N(50_000)
		}
		g := 1 + r.Int64N(12)
		duration := r.Int64N(200_000)
		if r.IntN(20) == 0 {
			duration = 0
		}
		rec.Begin, rec.Duration = append(rec.Begin, now), append(rec.Duration, duration)
		rec.Goroutine, rec.Group = append(rec.Goroutine, g), append(rec.Group, groupOf(g))
		rec.Thread, rec.Proc = append(rec.Thread, 1000+r.Int64N(4)), append(rec.Proc, int32(r.IntN(3)))
		if r.IntN(10) == 0 {
			rec.Thread[row], rec.Proc[row] = -1, -1
		}
		ending := quanta.Ending(r.IntN(7))
		wait := timeline.WaitNone
		if ending == quanta.Blocked {
			wait = []timeline.Wait{timeline.WaitMutex, timeline.WaitChanReceive, timeline.WaitSleep}[r.IntN(3)]
		}
		rec.Ending, rec.Wait = append(rec.Ending, ending), append(rec.Wait, wait)
		rec.Func = append(rec.Func, int32(r.IntN(len(rec.Funcs))))
		cycles := duration*2 + r.Int64N(1000)
		heap += r.Int64N(100_000)
		values := []int64{cycles, cycles * (50 + r.Int64N(100)) / 100, r.Int64N(4), duration * 9 / 10, heap, cycles + 7}
		for i := range values {
			if i > 0 && r.IntN(12) == 0 {
				values[i] = quanta.Unknown
			}
			c := &rec.Counters[i]
			c.Values = append(c.Values, values[i])
			if !c.Level && values[i] != quanta.Unknown {
				c.Total += values[i]
			}
		}
	}
	for i := range rec.Counters {
		if c := &rec.Counters[i]; !c.Level {
			c.Remainder = 100
			c.Total += 100
		}
	}
	rec.Wall = time.Duration(now + 300_000)
	for i := range 4 { // spans begin and end exactly when quanta begin
		if n == 0 {
			break
		}
		begin, end := rec.Begin[n*(1+2*i)/9], rec.Begin[n*(1+2*i)/9+n/20]
		rec.Spans = append(rec.Spans,
			quanta.Span{Name: "stop-the-world (GC sweep termination)", Begin: begin - 2000, End: begin},
			quanta.Span{Name: gcSpan, Begin: begin, End: end},
			quanta.Span{Name: "within", Begin: begin, End: rec.Begin[n-1]}, quanta.Span{Name: "within", Begin: begin + 1, End: begin + 2})
	}
	texts := []string{"start", "end", "start", "start", "end", "lonely", "start"}
	for i, text := range texts {
		rec.Markers = append(rec.Markers, quanta.Marker{Time: now * int64(i+1) / 9, Goroutine: 1 + int64(i%3), Text: text})
	}
	return rec
}

// large is a quickly made recording of n quanta for benchmarks.
func large(n, goroutines int) *quanta.Recording {
	rec := &quanta.Recording{Name: "large", Procs: 8, Funcs: []string{"", "main.work", "main.rest"}}
	for i := range 40 {
		rec.Groups = append(rec.Groups, quanta.Group{Name: "main.worker" + string(rune('a'+i%26)), Kind: timeline.Application})
	}
	columns := make([][]int64, 4)
	r := rand.New(rand.NewPCG(1, 2))
	for row := range n {
		g := 1 + r.Int64N(int64(goroutines))
		v := r.Uint64()
		duration := int64(v>>20&0xfffff) + 100
		rec.Goroutine, rec.Group = append(rec.Goroutine, g), append(rec.Group, int32(g%40))
		rec.Thread, rec.Proc = append(rec.Thread, int64(v&15)), append(rec.Proc, int32(v>>4&7))
		rec.Begin, rec.Duration = append(rec.Begin, int64(row)*5000), append(rec.Duration, duration)
		rec.Ending, rec.Wait = append(rec.Ending, quanta.Ending(v>>8%7)), append(rec.Wait, timeline.WaitNone)
		rec.Func = append(rec.Func, int32(v>>12%3))
		columns[0] = append(columns[0], duration*3)
		columns[1] = append(columns[1], duration*int64(1+v>>16&3))
		columns[2] = append(columns[2], int64(v&3))
		columns[3] = append(columns[3], int64(v>>30))
		if v&31 == 0 {
			columns[3][row] = quanta.Unknown
		}
	}
	for i, name := range []string{"cycles", "instructions", "minor-faults", "heap"} {
		rec.Counters = append(rec.Counters, quanta.Counter{Name: name, Values: columns[i]})
	}
	for i := range int64(100) {
		begin := int64(n) * 50 * i
		rec.Spans = append(rec.Spans, quanta.Span{Name: gcSpan, Begin: begin, End: begin + 10_000})
	}
	rec.Wall = time.Duration(int64(n)*5000 + 1<<21)
	return rec
}
