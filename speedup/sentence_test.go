package speedup_test

import (
	"testing"

	"github.com/bottleneck-go/bottleneck/speedup"
)

func TestSentence(t *testing.T) {
	stack := func(s speedup.Stack) speedup.Stack {
		s.N = 2
		s.Components[speedup.Sequential] = 0.5
		s.Remainder = 2 - s.Speedup - 0.5
		return s
	}
	more := speedup.Stack{N: 2, Speedup: 0.5, Remainder: -0.7} // more than the whole bar: without it, nothing would remain
	more.Components[speedup.SyncMutex] = 2.2
	quarters := speedup.Stack{N: 4, Speedup: 1.5, Remainder: 0.4} // each of them is less than another part
	for _, c := range []speedup.Component{speedup.GCStopTheWorld, speedup.GCAssist, speedup.GCWait, speedup.GCWorkers} {
		quarters.Components[c] = 0.3
	}
	quarters.Components[speedup.Sequential], quarters.Components[speedup.SyncMutex] = 0.5, 0.4
	short := speedup.Stack{N: 2, Speedup: 1.2, Remainder: 0.3} // spinning for the mutex, or not
	short.Components[speedup.SyncMutex], short.Components[speedup.Sequential] = 0.4, 0.1
	shorter := speedup.Stack{N: 2, Speedup: 1, Remainder: 0.6}
	shorter.Components[speedup.SyncRWMutex], shorter.Components[speedup.Sequential] = 0.2, 0.2
	unequal, preferred, unfair := short, short, shorter // the lock prefers one goroutine, or not
	unequal.Remainder, unequal.Components[speedup.Imbalance] = 0.2, 0.1
	preferred.Remainder, preferred.Components[speedup.Imbalance] = 0, 0.3
	unfair.Components[speedup.Sequential], unfair.Components[speedup.Imbalance] = 0, 0.2
	sleeper := speedup.Stack{N: 2, Speedup: 0.95, Remainder: 0.03, Idle: 0.97} // main waits for one that sleeps
	sleeper.Components[speedup.SyncChanReceive], sleeper.Components[speedup.IOSleep] = 0.54, 0.48
	sleepers := speedup.Stack{N: 2, Speedup: 1, Idle: 0.97} // with a lock
	sleepers.Components[speedup.SyncMutex] = 1
	repeated := func(speedups ...float64) speedup.Stack {
		s := stack(speedup.Stack{Speedup: 1.4})
		s.Repeat(speedups)
		return s
	}
	for want, s := range map[string]speedup.Stack{
		"1.20 times faster with 2 workers; most is lost to mutex, 0.40; without it, 1.50 times, or up to 1.85 if the remainder is spinning for it":                                                                                  short,
		"1.00 times faster with 2 workers; most is lost to the remainder, 0.60, which may be spinning for locks; without both, up to 1.67 times":                                                                                    shorter,
		"1.20 times faster with 2 workers; most is lost to mutex, 0.40; without it, 1.50 times, or up to 1.85 if the remainder and the imbalance come from it":                                                                      unequal,
		"1.20 times faster with 2 workers; most is lost to mutex, 0.40; without it, 1.50 times, or up to 1.85 if the imbalance comes from it":                                                                                       preferred,
		"1.00 times faster with 2 workers; most is lost to the remainder, 0.60, which may be spinning for locks; without both and the imbalance, up to 2.00 times":                                                                  unfair,
		"1.40 times faster with 2 workers; most is lost to sequential, 0.50; without it, 1.87 times":                                                                                                                                stack(speedup.Stack{Speedup: 1.4}),
		"0.50 times as fast with 2 workers; most is lost to the remainder, 1.00":                                                                                                                                                    stack(speedup.Stack{Speedup: 0.5}),
		"1.00 times faster with 2 workers; most is lost to the remainder, 0.50":                                                                                                                                                     stack(speedup.Stack{Speedup: 0.999}),
		"at most 1.00 times faster than a single-threaded run that does the same work at the same speed (an estimate from one run); nothing is lost":                                                                                {N: 1, Speedup: 1, Estimate: true},
		"at most 0.90 times as fast with 2 workers than with one, if one does the same work at the same speed (an estimate from one run); most is lost to the remainder, 0.60":                                                      stack(speedup.Stack{Speedup: 0.9, Estimate: true}),
		"disturbed, not a result: 1.40 times faster with 2 workers; most is lost to sequential, 0.50; without it, 1.87 times":                                                                                                       stack(speedup.Stack{Speedup: 1.4, Disturbed: true}),
		"disturbed, not a result: at most 1.40 times faster with 2 workers than with one, if one does the same work at the same speed (an estimate from one run); most is lost to sequential, 0.50; without it, at most 1.87 times": stack(speedup.Stack{Speedup: 1.4, Disturbed: true, Estimate: true}),
		"0.50 times as fast with 2 workers; most is lost to mutex, 2.20":                                                                                                                                                            more,
		"1.50 times faster with 4 workers; most is lost to garbage collection, 1.20; without it, 2.14 times":                                                                                                                        quarters,
		"1.40 times faster with 2 workers (1.30 to 1.50 in 3 pairs of runs); most is lost to sequential, 0.50; without it, 1.87 times":                                                                                              repeated(1.4, 1.5, 1.3),
		"disturbed, not a result: 1.40 times faster with 2 workers (1.39 to 2.17 in 3 pairs of runs); most is lost to sequential, 0.50; without it, 1.87 times":                                                                     repeated(1.4, 2.17, 1.39),
		"0.95 times as fast with 2 workers; nothing ran for 97 % of the run: the program waited for timers, the network, a disk or another process. Shorter waits, or more of them at the same time, help; processors do not":       sleeper,
		"1.00 times faster with 2 workers; most is lost to mutex, 1.00; without it, 2.00 times":                                                                                                                                     sleepers,
		"2.00 times faster with 2 workers; nothing is lost":                                                                                                                                                                         {N: 2, Speedup: 2},
		"1.10 times faster with 1 worker; the single-threaded run took longer than it: it did more work, or did it slower":                                                                                                          {N: 1, Speedup: 1.1, Remainder: -.1},
		"at most 3.04 times faster with 2 workers than with one, if one does the same work at the same speed (an estimate from one run); nothing is lost":                                                                           {N: 2, Speedup: 3.04, Remainder: -1.04, Estimate: true}, // others work, too
		"3.84 times faster with 2 workers; the single-threaded run took longer than all of them together: it did more work, or did it slower":                                                                                       stack(speedup.Stack{Speedup: 3.84}),
	} {
		if got := s.Sentence(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
