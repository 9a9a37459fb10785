package tracewaits

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	rtrace "runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

const (
	groupWait = "sync.(*WaitGroup).Wait < main.run:20"
	groupDone = "sync.(*WaitGroup).Done < main.work:9"
)

// The rules of waitgroup.go.
func TestTraceWaitGroups(t *testing.T) {
	start := func(ids ...int) (s string) {
		for _, id := range ids {
			s += fmt.Sprintf("10 %d begins 1 in main.run:1%d\n%d %d runs\n", id, id, 11, id)
		}
		return s
	}
	checkRules(t, []traceRule{
		{"each goroutine has the time for which it was the last one out", Options{Goroutines: true}, start(2, 3, 4) + `
			100 1 blocks waitgroup in ` + groupWait + `
			200 3 exits
			300 2 exits
			400 4 wakes 1 in ` + groupDone + `
			400 4 exits
			410 1 runs
			500 ends`, `
			|waitgroup #1 g1 main.run:20: 1 waited 300 = blamed 300 + hand-off 0 + unattributed 0; ready 10
			|  g4 main.work:9: 100 of 1
			|  g2 main.run: 100 of 1
			|  g3 main.run: 100 of 1`},

		{"goroutines of one go statement have one row, with the call chain of Done", Options{}, `
			10 2 begins 1 in main.run:11
			10 3 begins 1 in main.run:11
			10 4 begins 1 in main.other:11
			12 2 runs
			13 3 runs
			14 4 runs
			100 1 blocks waitgroup in ` + groupWait + `
			150 4 exits
			200 3 exits
			400 2 wakes 1 in ` + groupDone + `
			400 2 exits
			400 1 runs
			500 ends`, `
			|waitgroup #1 main.run:20: 1 waited 300 = blamed 300 + hand-off 0 + unattributed 0; ready 0
			|  main.work:9: 300 of 1`},

		// 3 starts at 250, so from 200 on it was 2 that was out.
		{"no goroutine is blamed for the time before its start", Options{Goroutines: true}, start(2, 5) + `
			100 1 blocks waitgroup in ` + groupWait + `
			200 5 exits
			250 3 begins 1 in main.run:13
			250 3 runs
			300 3 exits
			400 2 wakes 1 in ` + groupDone + `
			400 2 exits
			400 1 runs
			500 ends`, `
			|waitgroup #1 g1 main.run:20: 1 waited 300 = blamed 300 + hand-off 0 + unattributed 0; ready 0
			|  g2 main.work:9: 150 of 1
			|  g5 main.run: 100 of 1
			|  g3 main.run: 50 of 1`},

		{"time in which none of the known goroutines existed", Options{Goroutines: true}, `
			100 1 blocks waitgroup in ` + groupWait + `
			120 2 begins 1 in main.run:12
			120 2 runs
			150 2 exits
			180 3 begins 1 in main.run:12
			180 3 runs
			200 3 wakes 1 in ` + groupDone + `
			200 3 exits
			200 1 runs
			500 ends`, `
			|waitgroup #1 g1 main.run:20: 1 waited 100 = blamed 50 + hand-off 0 + unattributed 50; ready 0
			|  g2 main.work:9: 30 of 1
			|  g3 main.work:9: 20 of 1`},

		{"all who wait have the same owners; a worker that goes on after Done is blamed alone", Options{Goroutines: true}, start(2, 3, 4) + `
			100 1 blocks waitgroup in ` + groupWait + `
			150 5 blocks waitgroup in ` + groupWait + `
			200 3 exits
			300 2 wakes 1 in ` + groupDone + `
			300 2 wakes 5 in ` + groupDone + `
			300 1 runs
			300 5 runs
			310 1 blocks waitgroup in ` + groupWait + `
			320 4 exits
			340 2 wakes 1 in ` + groupDone + `
			340 1 runs
			500 ends`, `
			|waitgroup #1 g1 main.run:20: 2 waited 230 = blamed 230 + hand-off 0 + unattributed 0; ready 0
			|  g2 main.work:9: 130 of 2
			|  g3 main.run: 100 of 1
			|waitgroup #1 g5 main.run:20: 1 waited 150 = blamed 150 + hand-off 0 + unattributed 0; ready 0
			|  g2 main.work:9: 100 of 1
			|  g3 main.run: 50 of 1`},

		{"errgroup.Go and WaitGroup.Go are called by the function that starts the goroutines", Options{Goroutines: true}, `
			10 2 begins 1 in sync.(*WaitGroup).Go < main.run:11
			10 3 begins 1 in golang.org/x/sync/errgroup.(*Group).Go:60 < main.run:12
			10 4 begins 1 in main.run:13
			12 2 runs
			13 3 runs
			14 4 runs
			100 1 blocks waitgroup in ` + groupWait + `
			200 3 exits
			300 2 exits
			400 4 wakes 1 in ` + groupDone + `
			400 1 runs
			500 ends`, `
			|waitgroup #1 g1 main.run:20: 1 waited 300 = blamed 300 + hand-off 0 + unattributed 0; ready 0
			|  g4 main.work:9: 100 of 1
			|  g3 golang.org/x/sync/errgroup.(*Group).Go: 100 of 1
			|  g2 sync.(*WaitGroup).Go: 100 of 1`},
	})
}

// TestTraceWaitGroupsRandom compares waits for random goroutines with an answer for each
// microsecond: of those that exist, the one that exits next is to blame.
func TestTraceWaitGroupsRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 18))
		type life struct{ id, born, end int }
		var all []life
		n := 2 + r.IntN(8)
		times := r.Perm(1000)
		for i := range n {
			a, b := times[2*i]+10, times[2*i+1]+10
			all = append(all, life{i + 2, min(a, b), max(a, b)})
		}
		slices.SortFunc(all, func(a, b life) int { return a.end - b.end })
		from := times[2*n] + 10
		last := all[n-1]
		if from >= last.end {
			continue
		}
		type event struct {
			at   int
			text string
		}
		events := []event{{from, "1 blocks waitgroup in " + groupWait}, {2000, "ends"}}
		for _, l := range all {
			events = append(events, event{l.born, fmt.Sprintf("%d begins 1 in main.run:%d", l.id, l.id)}, event{l.born, fmt.Sprintf("%d runs", l.id)})
			if l != last {
				events = append(events, event{l.end, fmt.Sprintf("%d exits", l.id)})
			}
		}
		events = append(events, event{last.end, fmt.Sprintf("%d wakes 1 in %s", last.id, groupDone)}, event{last.end, "1 runs"})
		slices.SortStableFunc(events, func(a, b event) int { return a.at - b.at })
		var b strings.Builder
		for _, e := range events {
			fmt.Fprintln(&b, e.at, e.text)
		}
		want := map[uint64]time.Duration{}
		for at := from; at < last.end; at++ {
			id := 0
			for _, l := range slices.Backward(all) {
				if l.born <= at && at < l.end {
					id = l.id
				}
			}
			want[uint64(id)] += time.Microsecond
		}
		p := play(t, Options{Goroutines: true}, b.String())
		got := map[uint64]time.Duration{}
		for _, q := range p.Pairs {
			got[q.Owner.Goroutine] += q.Blamed
			if did := q.Running; q.Blamed != did {
				t.Errorf("seed %d: %d ran for %v of %v", seed, q.Owner.Goroutine, did, q.Blamed)
			}
		}
		if u := p.Waits[0].Unattributed; u > 0 {
			got[0] = u
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: %v, want %v, of\n%s", seed, got, want, &b)
		}
	}
}

// TestTraceWaitGroupExitsAreBounded: a wait during which very many goroutines exit.
func TestTraceWaitGroupExitsAreBounded(t *testing.T) {
	s := newScript(t, Options{})
	s.play("10 2 begins 1 in main.run:12\n11 2 runs\n20 1 blocks waitgroup in " + groupWait)
	const n = 2 * maxExits
	where := s.stack("main.run:13")
	for i := range n {
		id, at := int64(10+i), timeline.Time(1000*(100+i))
		s.begin(at, id)
		s.gs[id].By = &timeline.Creator{ID: int64(i/100 + 3), Stack: where}
		s.to(at, id, timeline.Running, timeline.WaitNone, nil)
		s.to(at+1, id, timeline.NotExist, timeline.WaitNone, nil)
		delete(s.gs, id)
		delete(s.now, id)
		if k := s.o.exits.kept; k > maxExits {
			t.Fatalf("%d exits are kept", k)
		}
	}
	if len(s.o.exits.of) > maxExits/100+2 {
		t.Errorf("%d calls are kept", len(s.o.exits.of))
	}
	s.play(fmt.Sprintf("%d 2 wakes 1 in %s\n%[1]d 1 runs\n%[3]d ends", n+200, groupDone, n+300))
	if p := s.o.Profile(); p.Waits[0].Blamed != (n+180)*time.Microsecond {
		t.Errorf("blamed %v", p.Waits[0].Blamed)
	}
	if len(s.o.exits.of) != 0 {
		t.Error("exits are kept although no goroutine waits")
	}
}

// TestTraceWaitGroupOfAProgram: goroutines of three go statements, each of which sleeps when the
// one before is done.
func TestTraceWaitGroupOfAProgram(t *testing.T) {
	const nap = 20 * time.Millisecond
	var buf bytes.Buffer
	if err := rtrace.Start(&buf); err != nil {
		t.Skip(err) // the tests themselves are traced
	}
	var wg sync.WaitGroup
	first, second := make(chan bool), make(chan bool)
	wg.Add(2)
	go func() {
		defer wg.Done()
		defer close(first)
		time.Sleep(nap)
	}()
	go func() {
		defer wg.Done()
		defer close(second)
		<-first
		time.Sleep(nap)
	}()
	wg.Go(func() {
		<-second
		time.Sleep(nap)
	})
	wg.Wait()
	rtrace.Stop()
	p, err := readTrace(&buf, Options{Goroutines: true})
	if err != nil {
		t.Fatal(err)
	}
	p = p.Filter([]string{contention.WaitGroupKind}, nil, 0)
	checkConservation(t, p)
	if len(p.Waits) != 1 || len(p.Pairs) != 3 || p.Waits[0].Unattributed != 0 {
		t.Fatalf("\n%s", profileText(p))
	}
	for _, q := range p.Pairs {
		if q.Blamed < nap/2 || q.Blocked[contention.SleepKind] < nap/2 || !strings.Contains(q.Owner.Group, "TestTraceWaitGroupOfAProgram.func") {
			t.Errorf("%s is blamed for %v: %+v", q.Owner.Group, q.Blamed, q)
		}
	}
}
