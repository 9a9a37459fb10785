package browsertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/report"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A made-up recording in which every number follows from a few: four workers that search, a
// goroutine that merges, and the collector.

const ms = time.Millisecond

// searchNames are the groups of the made-up program.
func searchNames(groups int) []string {
	names := []string{"main.main", "example.com/search/index.(*Reader).query0", "example.com/search/index.(*Reader).query1", "example.com/search/index.(*Reader).query2", "example.com/search/index.(*Reader).query3"}
	for i := len(names); i < groups; i++ {
		names = append(names, fmt.Sprintf("example.com/search/part%d.(*Worker).run", i))
	}
	return names[:groups]
}

// graphOf has boxes with shares that sum to the wall time.
func graphOf(names []string, start, wall time.Duration, turn int) *bottle.Graph {
	g := &bottle.Graph{Start: start, Wall: wall, Procs: 4, GoVersion: "go1.26", GroupBy: "function"}
	left := wall - wall/50
	add := func(name string, kind timeline.Kind, share time.Duration, p float64) {
		if share > left {
			share = left
		}
		left -= share
		g.Boxes = append(g.Boxes, bottle.Box{Group: name, Kind: kind, Goroutines: 1 + turn%3, Share: share, Running: time.Duration(float64(share) * p), Parallelism: p, SelfParallelism: 1,
			Runnable: share / 7, Waiting: map[string]time.Duration{"mutex": share / 3, "chan-receive": share / 5}})
	}
	add("stop-the-world (GC mark termination)", bottle.GC, wall*18/100, 1)
	add("GC (dedicated)", bottle.GC, wall/100, 1.05)
	add(names[0], bottle.Application, wall*9/100, 1.46)
	rest := left / time.Duration(max(1, len(names)-1))
	for i, name := range names[1:] {
		wobble := 1 + 0.2*math.Sin(float64(turn+i))
		add(name, bottle.Application, time.Duration(float64(rest)*min(1, wobble)), 3.9-0.03*float64(i%9))
	}
	g.Idle = left + wall/50
	slices.SortStableFunc(g.Boxes, func(a, b bottle.Box) int {
		if a.Parallelism > b.Parallelism {
			return -1
		}
		if a.Parallelism < b.Parallelism {
			return 1
		}
		return 0
	})
	g.SetProcs(4)
	return g
}

// testGraph is the sum of its ten windows.
func testGraph(names []string) *bottle.Graph {
	whole := graphOf(names, 0, 3280*ms, 0)
	for i := range 10 {
		whole.Windows = append(whole.Windows, graphOf(names, time.Duration(i)*328*ms, 328*ms, i))
	}
	return whole
}

func testGoroutines(names []string) *bottle.Graph {
	g := &bottle.Graph{Wall: 3280 * ms, Procs: 8, GroupBy: "goroutine"}
	for i, name := range names {
		for j := range 2 + i%2 {
			g.Boxes = append(g.Boxes, bottle.Box{Group: fmt.Sprintf("%s #%d", name, 10*i+j+1), Kind: bottle.Application, Goroutines: 1, Share: time.Duration(i+j+1) * ms, Running: time.Duration(i+j+1) * 3 * ms, Parallelism: 3,
				Waiting: map[string]time.Duration{"mutex": time.Duration(j+1) * ms}})
		}
	}
	return g
}

// testContention is random, but keeps the guarantees of a profile.
func testContention(names []string, seed uint64) *contention.Profile {
	rnd := rand.New(rand.NewPCG(seed, 1))
	stack := func(n int) *contention.Stack {
		s := &contention.Stack{Truncated: n%4 == 3}
		for i := range 2 + n%4 {
			s.Frames = append(s.Frames, contention.Frame{Func: fmt.Sprintf("example.com/search/cache.(*LRU).step%d", (n+i)%7), File: "/src/cache/lru.go", Line: 10*n + i})
		}
		return s
	}
	var stacks []*contention.Stack
	for i := range 9 {
		stacks = append(stacks, stack(i))
	}
	p := &contention.Profile{Source: contention.FromTrace, Accuracy: contention.Inferred, Duration: 3280 * ms}
	for i := range 5 {
		p.Locks = append(p.Locks, &contention.Lock{ID: uint64(i + 1), Name: []string{"", "cache", "", "log <b>", "queue"}[i], Class: []string{"sync.(*Pool)", "example.com/search/cache.LRU", "", "log.Logger", "main.queue"}[i],
			Waiters: i, Longest: 40 * ms, Contended: 500 * ms})
	}
	party := func() contention.Party {
		who := contention.Party{Group: names[rnd.IntN(len(names))], Stack: stacks[rnd.IntN(len(stacks))]}
		if rnd.IntN(9) == 0 {
			who = contention.Party{}
		}
		return who
	}
	kinds := []string{contention.MutexKind, contention.RWMutexReaderKind, contention.ChanReceiveKind, contention.WaitGroupKind}
	seen := map[string]bool{}
	for range 60 {
		w := contention.Wait{Kind: kinds[rnd.IntN(4)], Lock: p.Locks[rnd.IntN(5)], Waiter: party(), Contentions: int64(1 + rnd.IntN(50)), Parks: int64(60 + rnd.IntN(50)), Ready: time.Duration(2+rnd.IntN(9)) * ms / 2, ReadyIdle: time.Duration(rnd.IntN(2)) * ms / 2, HandOff: time.Duration(rnd.IntN(3)) * ms, Unattributed: time.Duration(rnd.IntN(3)) * ms / 2}
		key := fmt.Sprint(w.Kind, w.Lock.ID, w.Waiter.Group, w.Waiter.Stack)
		if seen[key] {
			continue
		}
		seen[key] = true
		w.Observed = w.Contentions
		for range rnd.IntN(4) {
			q := contention.Wait{Kind: w.Kind, Lock: w.Lock, Waiter: w.Waiter, Owner: party(), Contentions: 1 + rnd.Int64N(w.Contentions), Blamed: time.Duration(1+rnd.IntN(30)) * ms, Flags: uint32(rnd.IntN(2)) * contention.ReadOwner}
			q.Longest = q.Blamed / 2
			q.Running, q.Runnable = q.Blamed/2, q.Blamed/5
			if rnd.IntN(2) == 0 {
				q.Blocked = map[string]time.Duration{contention.NetworkKind: q.Blamed / 10}
			}
			if rnd.IntN(3) == 0 {
				part := q.Blamed / 3
				q.Roots = []contention.Wait{{Owner: q.Owner, Contentions: q.Contentions, Blamed: q.Blamed - part}, {Owner: party(), Kind: contention.MutexKind, Links: 1, Contentions: 1, Blamed: part}}
			}
			w.Blamed += q.Blamed
			p.Pairs = append(p.Pairs, q)
		}
		w.Waited = w.Blamed + w.HandOff + w.Unattributed
		w.Longest = w.Waited / 2
		p.Waits = append(p.Waits, w)
	}
	p.Unfinished = []contention.Wait{
		{Kind: contention.SelectKind, Lock: &contention.Lock{Name: "main.queue#5"}, Waiter: party(), Contentions: 12, Waited: 9000 * ms, Longest: 3000 * ms},
		{Kind: contention.NetworkKind, Lock: &contention.Lock{Name: "[network]"}, Waiter: party(), Contentions: 40, Waited: 8000 * ms, Longest: 200 * ms},
		{Kind: contention.MutexKind, Lock: &contention.Lock{Name: "cache"}, Waiter: contention.Party{Group: names[1], Stack: stacks[1]}, Owner: contention.Party{Group: names[0], Stack: stacks[2]}, Held: 250 * ms, Contentions: 7, Waited: 2100 * ms, Longest: 300 * ms},
		{Kind: contention.RWMutexReaderKind, Lock: &contention.Lock{Name: "example.com/search/cache.LRU#1"}, Waiter: contention.Party{Group: names[0], Stack: stacks[3]}, Contentions: 1, Waited: 150 * ms, Longest: 150 * ms},
	}
	p.InFlight = 60
	return p
}

func testTasks() *granularity.Profile {
	p := &granularity.Profile{Source: "rseq-clock", Accuracy: "thread-time", Hz: 2.3e9, Procs: 8, Wall: 3280 * ms, Start: 1000}
	rnd := rand.New(rand.NewPCG(3, 4))
	for i, name := range []string{"main.checkAll.func1", "index.(*Reader).query0", "main.merge"} {
		c := granularity.Class{Name: name, Diagnosis: []string{granularity.Fine, granularity.OK, granularity.Coarse}[i]}
		for range []int{2000, 300, 8}[i] {
			v := uint64(math.Exp(rnd.NormFloat64()*0.6)*1000) * []uint64{1, 100, 20000}[i]
			c.Cycles.Add(v)
			c.WallNS.Add(v)
			c.BlockedNS.Add(v / 5)
			c.Tasks++
		}
		for b := range 64 {
			c.Series = append(c.Series, granularity.Bin{At: 1000 + int64(b+1)*int64(3280*ms)/64, Ended: uint64(1 + b%5), Busy: time.Duration(1+b%7) * 8 * ms, Active: .5})
		}
		if i != 1 {
			c.Reasons = []string{"three quarters of them execute 469 ns or less: similar and small"}
			c.Advice = []string{"merge ~35 tasks into one"}
		}
		c.Sites = []granularity.Site{{Pool: "checks", Tasks: c.Tasks, Created: []granularity.Frame{{Func: "main.checkAll", File: "check.go", Line: 71}}}}
		p.Classes = append(p.Classes, c)
	}
	for i := range 32 {
		p.Samples = append(p.Samples, granularity.Sample{At: 1000 + int64(i+1)*int64(100*ms), Wall: 100 * ms, CPU: 300 * ms, Voluntary: uint64(100 * (i % 7)), Utilization: .3 + .02*float64(i)})
	}
	p.Pauses = []granularity.GCPause{{At: 1000 + int64(700*ms), Length: 5 * ms}}
	return p
}

func testSpeedup() []*speedup.Stack {
	s := &speedup.Stack{N: 4, Speedup: 2.5}
	s.Workers.Selector, s.Workers.Count = "main.work", 4
	s.Components[speedup.SyncMutex] = .8
	s.Components[speedup.Imbalance] = .4
	s.Components[speedup.GCAssist] = .2
	s.Remainder = .1
	two := &speedup.Stack{N: 2, Speedup: 1.7}
	two.Components[speedup.SyncMutex] = .3
	return []*speedup.Stack{two, s}
}

// testRecording has rows quanta: instructions per cycle fall towards each collection, as misses
// rise.
func testRecording(names []string, rows int) *quanta.Recording {
	rnd := rand.New(rand.NewPCG(5, 6))
	r := &quanta.Recording{Name: "search", GoVersion: "go1.26", Procs: 8, Wall: 3280 * ms, Funcs: []string{"", "runtime.mallocgc", "example.com/search/index.(*Reader).next"}}
	for _, name := range names {
		r.Groups = append(r.Groups, quanta.Group{Name: name, Kind: timeline.Application})
	}
	cycles := quanta.Counter{Name: "cycles", Source: "perf group read", Accuracy: quanta.Interpolated, Values: make([]int64, rows)}
	instr := quanta.Counter{Name: "instructions", Source: "perf group read", Accuracy: quanta.Interpolated, Values: make([]int64, rows)}
	faults := quanta.Counter{Name: "minor-faults", Source: "perf samples", Accuracy: quanta.Exact, Values: make([]int64, rows)}
	heap := quanta.Counter{Name: "heap-objects", Unit: "bytes", Level: true, Source: "execution trace", Accuracy: quanta.Observed, Values: make([]int64, rows)}
	wall := float64(r.Wall)
	for i := range rows {
		t := float64(i) / float64(rows) * wall
		phase := math.Mod(t, wall/4) / (wall / 4)
		g := rnd.IntN(len(names))
		d := int64(20_000 + rnd.IntN(140_000))
		r.Goroutine = append(r.Goroutine, int64(10*g+rnd.IntN(2)+1))
		r.Group = append(r.Group, int32(g))
		r.Thread = append(r.Thread, int64(4000+rnd.IntN(8)))
		r.Proc = append(r.Proc, int32(rnd.IntN(8)))
		r.Begin = append(r.Begin, int64(t))
		r.Duration = append(r.Duration, d)
		r.Ending = append(r.Ending, []quanta.Ending{quanta.Blocked, quanta.Preempted, quanta.Yielded}[rnd.IntN(3)])
		r.Wait = append(r.Wait, timeline.WaitMutex)
		r.Func = append(r.Func, int32(rnd.IntN(3)))
		c := int64(float64(d) * 2.3)
		miss := (8 + 60*phase + 6*rnd.NormFloat64()) * float64(1+g%4) / 2
		ipc := max(.3, 1.9-.02*miss+.12*rnd.NormFloat64())
		cycles.Values[i], instr.Values[i] = c, int64(float64(c)*ipc)
		faults.Values[i] = max(0, int64(miss))
		heap.Values[i] = int64(1e6 + phase*5e6)
		if i%97 == 5 {
			cycles.Values[i], instr.Values[i] = quanta.Unknown, quanta.Unknown
		}
	}
	r.Counters = []quanta.Counter{cycles, instr, faults, heap}
	for i := range 3 {
		at := int64(wall) / 4 * int64(i+1)
		r.Spans = append(r.Spans, quanta.Span{Name: "GC concurrent mark phase", Begin: at - int64(60*ms), End: at})
	}
	r.Markers = []quanta.Marker{{Time: int64(200 * ms), Text: "warm"}, {Time: int64(2800 * ms), Text: "drain"}}
	return r
}

// testData has everything.
func testData(groups, rows int) *report.Data {
	names := searchNames(groups)
	return &report.Data{
		Title: "lusearch, 4 query goroutines", Source: "search.trace", Bottle: testGraph(names), Goroutines: testGoroutines(names), Contention: testContention(names, 1),
		Tasks: testTasks(), Speedup: testSpeedup(), Counters: testRecording(names, rows),
	}
}
