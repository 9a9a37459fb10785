package speedup

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/causes"
)

// Two stages of one goroutine each are the workers, and the answer is what a pipeline is bound by:
// the second stage waits for the first.
func TestPipelineGetsAnAnswer(t *testing.T) {
	const run = `m 0 run
		w 0 chan-receive 10 run 14 chan-receive 20 run 24 chan-receive 30 run 34 chan-receive 40 run 44 exit
		end 50`
	by, err := surveyOf(t, run, 2, selector{}).Workers()
	if err != nil {
		t.Fatal(err)
	}
	s := estimated(accountOf(t, run, 2, Options{N: 2, by: by}))
	checkStack(t, s)
	if want := "at most 1.32 times faster with 2 workers than with one"; s.Speedup != 66.0/50 || !strings.HasPrefix(s.Sentence(), want) || !strings.Contains(s.Sentence(), "most is lost to channel receive, 0.56") {
		t.Errorf("%q, want %q, and the waits of the second stage", s.Sentence(), want)
	}
}

// BenchmarkWhatIfOfALock compares the speed-up predicted for a program without its lock with that
// of the program whose lock was removed, and with the speed-up if the remainder and the imbalance came
// from the lock. The fastest of interleaved runs counts.
//
//	go test -run=- -bench=WhatIfOfALock -benchtime=1x ./speedup
func BenchmarkWhatIfOfALock(b *testing.B) {
	const steps, rounds = 200_000_000, 5
	for _, section := range []int{2_000, 20_000, 200_000} {
		b.Run(fmt.Sprint("steps=", section), func(b *testing.B) {
			type result struct {
				trace bytes.Buffer
				wall  time.Duration
			}
			record := func(procs int, locked bool) *result {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				runtime.GC()
				r := new(result)
				if err := trace.Start(&r.trace); err != nil {
					b.Fatal(err)
				}
				from := time.Now()
				var mu sync.Mutex
				var wg sync.WaitGroup
				for range procs {
					wg.Go(func() {
						for range steps / section / procs / 2 {
							if locked {
								mu.Lock()
							}
							causes.Spin(section)
							if locked {
								mu.Unlock()
							}
							causes.Spin(section / 4)
						}
					})
				}
				wg.Wait()
				r.wall = time.Since(from)
				trace.Stop()
				return r
			}
			for b.Loop() {
				var single, with, without []*result
				for range rounds {
					single, with, without = append(single, record(1, true)), append(with, record(2, true)), append(without, record(2, false))
				}
				least := func(rs []*result) *result {
					return slices.MinFunc(rs, func(a, b *result) int { return cmp.Compare(a.wall, b.wall) })
				}
				one := least(single)
				s, err := fromTraces(b.Context(), one.trace.Bytes(), least(with).trace.Bytes(), Options{N: 2})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(s.Speedup, "with-lock")
				b.ReportMetric(s.WhatIf(SyncMutex), "predicted")
				if most, _, ok := s.mostWithoutLock(s.Components[SyncMutex]); ok {
					b.ReportMetric(most, "at-most")
				}
				b.ReportMetric(one.wall.Seconds()/least(without).wall.Seconds(), "true")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
