package mutexprofile

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// span is the time in which something has happened.
type span struct{ from, to time.Time }

func during(f func()) span {
	from := time.Now()
	f()
	return span{from, time.Now()}
}

//go:noinline
func last(mu *sync.Mutex) { mu.Unlock() }

// TestLastOfQueue: the runtime charges the wait of a goroutine that waits alone once, but that of the
// last one of a queue twice.
func TestLastOfQueue(t *testing.T) {
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	for waiters, times := range map[int]time.Duration{1: 1, 2: 2} {
		var mu sync.Mutex
		var wg sync.WaitGroup
		got, next := make(chan bool, waiters), make(chan bool, waiters)
		mu.Lock()
		alone := during(func() {
			for range waiters {
				wg.Go(func() {
					mu.Lock()
					got <- true
					<-next
					last(&mu)
				})
			}
			for stacks := make([]byte, 1<<20); bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte(" [sync.Mutex.Lock")) < waiters; {
				time.Sleep(time.Millisecond)
			}
		})
		before, release := charged(t, "mutexprofile.last"), func() { last(&mu) }
		if waiters > 1 {
			alone = during(mu.Unlock)
			<-got
			release = func() { // by the first goroutine, which has the mutex
				next <- true
				<-got
			}
		}
		time.Sleep(20 * time.Millisecond)
		released := during(release)
		close(next)
		wg.Wait()
		least, most := released.from.Sub(alone.to)*times, released.to.Sub(alone.from)*times
		if got := charged(t, "mutexprofile.last") - before; got < least*99/100 || got > most*101/100 {
			t.Errorf("%d waiters: charged with %v, want %d times the wait, %v to %v", waiters, got, times, least, most)
		}
	}
}

// charged returns the time in the mutex profile at releases by a function.
func charged(t *testing.T, function string) (sum time.Duration) {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("mutex").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				if strings.HasSuffix(line.Function.Name, function) {
					sum += time.Duration(s.Value[1])
				}
			}
		}
	}
	return sum
}

// observed returns an observer of one wait for a lock by each of some goroutines, with these parks.
func observed(goroutines []int64, parks ...park) *Observer {
	o := &Observer{}
	for i, g := range goroutines {
		if o.waits[g] == nil {
			o.Log(&timeline.Log{Time: parks[i].start, G: &timeline.Goroutine{ID: g}, Category: "bottleneck.lock", Message: "1 l lock"})
		}
		parks[i].semaphore = "s"
		o.add(g, &parks[i])
	}
	return o
}

// TestFirstOfQueueIsWoken: the charges do not depend on the order in which the trace has goroutines
// that block at almost the same time.
func TestFirstOfQueueIsWoken(t *testing.T) {
	for _, starts := range [][2]timeline.Time{{10, 11}, {11, 10}} {
		o := observed([]int64{1, 2, 3}, park{start: starts[0], end: 50, wakes: "first"}, park{start: starts[1], end: 70, wakes: "second"}, park{start: 12, end: 100, wakes: "third"})
		charged, _ := o.Mutex()
		// 40 and twice the mean of 40 and 38; 20 and the mean of 20 and 0; 30 and, as
		// the last one, 30 again
		if want := map[string]time.Duration{"first": 118, "second": 30, "third": 60}; !maps.Equal(charged.Least, want) || !maps.Equal(charged.Most, want) {
			t.Errorf("blocked at %v: charged %v, want %v", starts, charged, want)
		}
	}
}

// TestWokenInVain: a goroutine that finds the semaphore taken is the last of the queue, from where the
// profile charges the others with the time since it began to wait.
func TestWokenInVain(t *testing.T) {
	o := observed([]int64{1, 2, 3, 1}, park{start: 10, end: 50, waits: "one", wakes: "first"}, park{start: 20, end: 70, waits: "two", wakes: "second"},
		park{start: 30, end: 90, waits: "three", wakes: "third"}, park{start: 55, end: 120, waits: "one", wakes: "fourth"})
	charged, _ := o.Mutex()
	// 40 and twice the mean of 40 and 20; 20 and twice the mean of 20 and 60, as the last
	// one has waited since 10; 20 and the mean of 20 and 0; 30 and, as the last one, 30
	// again
	if want := map[string]time.Duration{"first": 100, "second": 100, "third": 30, "fourth": 60}; !maps.Equal(charged.Least, want) || !maps.Equal(charged.Most, want) {
		t.Errorf("charged %v, want %v", charged, want)
	}
	if want, got := map[string]time.Duration{"one": 110, "two": 50, "three": 60}, o.Block(); !maps.Equal(got.Least, want) || !maps.Equal(got.Most, want) {
		t.Errorf("blocked %v, want %v", got, want)
	}
}

// TestOwnerLeaves: a wait is charged from between its message and its park, until the owner left by
// the clock of the lock. A message that is in the trace late does not change that.
func TestOwnerLeaves(t *testing.T) {
	o := &Observer{}
	releaser, log := &timeline.Goroutine{ID: 9}, func(at timeline.Time, g int64, message string) {
		o.Log(&timeline.Log{Time: at, G: &timeline.Goroutine{ID: g}, Category: "bottleneck.lock", Message: message})
	}
	exit := func(at timeline.Time, sent, left int64) {
		log(at, releaser.ID, fmt.Sprint("1 x ", strconv.FormatInt(sent, 36), " lock 1 ", strconv.FormatInt(sent-left, 36), " 0"))
	}
	exit(5, 1003, 1000) // the other clock is 1000 before that of the trace, and the message 2 late
	exit(7, 1007, 1001)
	log(8, 1, "1 l lock")
	o.add(1, &park{start: 10, end: 50, waker: releaser.ID, semaphore: "s", wakes: "first"})
	exit(95, 1065, 1045) // 30 late
	charged, _ := o.Mutex()
	if least, most := charged.Least["first"], charged.Most["first"]; least != 35 || most != 37 {
		t.Errorf("charged %v to %v, want 35 to 37", least, most)
	}
}

// TestWokenAlone: with no other goroutine in the queue, the trace does not show whether one that is
// woken and blocks again asks anew, or stays in its call. The profile may have either.
func TestWokenAlone(t *testing.T) {
	o := observed([]int64{1, 1}, park{start: 10, end: 50, waits: "one", wakes: "first"}, park{start: 60, end: 100, waits: "one", wakes: "second"})
	block := o.Block()
	charged, _ := o.Mutex()
	for by, want := range map[string]struct{ least, most time.Duration }{"second": {40, 90}, "first": {40, 40}} {
		if charged.Least[by] != want.least || charged.Most[by] != want.most {
			t.Errorf("%s: charged %v to %v, want %v to %v", by, charged.Least[by], charged.Most[by], want.least, want.most)
		}
	}
	if block.Least["one"] != 80 || block.Most["one"] != 90 {
		t.Errorf("blocked for %v to %v, want 80 to 90", block.Least["one"], block.Most["one"])
	}
	for d, want := range map[time.Duration]time.Duration{70: 10, 80: 0, 85: 0, 90: 0, 95: 5} {
		if got := block.Differ("one", d); got != want {
			t.Errorf("%d differs by %d, want %d", d, got, want)
		}
	}
}
