package timeline_test

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// waits sums the waiting times of goroutines by reason and function.
type waits struct {
	timeline.Base // ignores all other events
	sum           map[place]timeline.Time
}

type place struct {
	wait timeline.Wait
	in   string
}

func (w *waits) Transition(t *timeline.Transition) {
	if t.State != timeline.Waiting || t.G.Kind != timeline.Application || t.Stack == nil || len(t.Stack.Frames) < 2 {
		return
	}
	caller := t.Stack.Frames[1] // of Lock, of Wait
	w.sum[place{t.Wait, caller.Func}] += t.End - t.Start
}

func Example() {
	w := &waits{sum: map[place]timeline.Time{}}
	info, err := timeline.ReadFile(context.Background(), "../testdata/real/stdlog-file.trace.zst", timeline.Options{}, w)
	if err != nil {
		log.Fatal(err) // the position of the error, and what is missing
	}
	fmt.Printf("%s, %v, %d goroutines\n", info.GoVersion(), info.Duration().Round(time.Millisecond), info.Goroutines)
	places := make([]place, 0, len(w.sum))
	for p := range w.sum {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(w.sum[b], w.sum[a]) })
	for _, p := range places[:3] {
		fmt.Printf("%v waiting for a %s in %s\n", time.Duration(w.sum[p]).Round(time.Millisecond), p.wait, p.in)
	}
	// Output:
	// go1.26, 202ms, 27 goroutines
	// 2.57s waiting for a mutex in log.(*Logger).output
	// 202ms waiting for a waitgroup in main.main.func1
	// 4ms waiting for a once in sync.(*Once).doSlow
}
