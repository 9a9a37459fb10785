package ab

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/capture"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// A storm of triggers
//
// A bottle.Recorder, the clients, and 10,000 slow requests a second run all the time. All that
// changes, every 25 ms, is whether a capture.Capturer watches the slow requests. In a round, they are
// watched in four of eight slices, which are in one of two orders at random, so that neither slow
// changes of the machine nor periodic work favors a side.
//
// The p99 depends on few moments, so its ratio is known to some 10 % after a minute. Therefore each
// request is watched 20 times. Delays grow at least in proportion to the load, so that watching a
// request once has at most a twentieth of the effect. The Capturer takes one capture, before the
// rounds. What that costs in ten minutes is computed from the slices during it and the unwatched
// ones.

const (
	stormRate  = 10_000 // slow requests a second
	stormSlice = 25 * time.Millisecond
	stormGap   = 5 * time.Millisecond // between slices, for requests of the last one
	stormTimes = 20                   // how many times each request is watched
	every      = 10 * time.Minute     // the time between captures by default
)

// orders has the two orders of a round; 1 is a slice in which requests are watched.
var orders = [2][8]int32{{0, 1, 1, 0, 1, 0, 0, 1}, {1, 0, 0, 1, 0, 1, 1, 0}}

// part is what the clients did in some time.
type part struct {
	took  time.Duration
	ops   int64
	lasts granularity.Histogram // ns
}

func (p *part) add(o *part) {
	p.took += o.took
	p.ops += o.ops
	p.lasts.Merge(&o.lasts)
}

func (p *part) throughput() float64 { return float64(p.ops) / p.took.Seconds() }
func (p *part) p99() float64        { return p.lasts.Quantile(0.99) / 1e6 }

// stormed is the result of a storm.
type stormed struct {
	rounds    [][2]part // unwatched, and watched
	capturing []part    // watched
}

// Storm measures what watching a storm of slow requests costs the clients of a workload: the latency
// at a third of the load, after a capture, for two thirds of the given time, and then the throughput
// under full load.
func Storm(w io.Writer, work Workload, length time.Duration, heap int) error {
	r, err := start(work, heap)
	if err != nil {
		return err
	}
	defer r.end()
	dir, err := os.MkdirTemp("", "captures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		return err
	}
	defer rec.Stop()
	c := capture.New(capture.Options{Recorder: &rec, Sink: &capture.Dir{Path: dir}, Every: every})
	var watched atomic.Int32
	var requests sync.WaitGroup
	requests.Go(func() { slowRequests(c, &watched) })
	defer requests.Wait()
	defer watched.Store(-1)
	for _, half := range []struct {
		what   string
		rate   float64
		length time.Duration
		value  func(*part) float64
	}{{"p99 at a third of the load, in ms", r.third, length * 2 / 3, (*part).p99}, {"throughput under full load, in op/s", 0, length / 3, (*part).throughput}} {
		r.rate.Store(math.Float64bits(half.rate))
		time.Sleep(time.Second)
		s := r.storm(c, &watched, half.length)
		stats := c.Stats()
		if err := cmp.Or(r.failed(), stats.LastError); err != nil {
			return err
		}
		s.write(w, half.what, half.value)
		fmt.Fprintf(w, "  so far %d capture of %v of work, %d triggers suppressed\n", stats.Captured, stats.Work.Round(time.Millisecond), stats.Suppressed)
	}
	return nil
}

// storm runs rounds for a time, after a capture if there was none.
func (r *runner) storm(c *capture.Capturer, watched *atomic.Int32, length time.Duration) (s stormed) {
	slice := func(watch int32) part {
		watched.Store(watch)
		time.Sleep(stormGap)
		r.latencies()
		n, at := r.count.Load(), time.Now()
		time.Sleep(stormSlice)
		return part{time.Since(at), r.count.Load() - n, *r.latencies()}
	}
	for c.Stats().Captured == 0 && c.Stats().Failed == 0 {
		s.capturing = append(s.capturing, slice(1))
	}
	for begin := time.Now(); time.Since(begin) < length; {
		var round [2]part
		for _, side := range orders[rand.IntN(2)] {
			p := slice(side)
			round[side].add(&p)
		}
		s.rounds = append(s.rounds, round)
	}
	return s
}

// slowRequests makes the slow requests, each of a millisecond, which are watched while watched is 1,
// until it is negative.
func slowRequests(c *capture.Capturer, watched *atomic.Int32) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for begin, made := time.Now(), 0; watched.Load() >= 0; {
		n := int(time.Since(begin).Seconds()*stormRate) - made // a busy machine misses ticks
		made += n
		overlapping(c, max(0, n*stormTimes*int(watched.Load())), func() { <-tick.C })
	}
}

// overlapping watches n requests at the same time, which end after wait.
func overlapping(c *capture.Capturer, n int, wait func()) {
	if n == 0 {
		wait()
		return
	}
	defer c.Slow("request", time.Nanosecond)()
	overlapping(c, n-1, wait)
}

// write writes a value of the clients, and its ratios to that beside unwatched requests.
func (s *stormed) write(w io.Writer, what string, value func(*part) float64) {
	var took, during time.Duration
	for i := range s.rounds {
		took += s.rounds[i][0].took
	}
	for i := range s.capturing {
		during += s.capturing[i].took
	}
	fmt.Fprintf(w, "%s: %d rounds of %v, a capture of %v\n", what, len(s.rounds), 8*stormSlice, during.Round(time.Second))
	for i, other := range []struct {
		name  string
		times [3]int // how often the unwatched and watched slices, and those of the capture, count
	}{
		{fmt.Sprintf("watched %d times", stormTimes), [3]int{0, 1, 0}},
		{"during the capture", [3]int{0, 0, 1}},
		{fmt.Sprintf("a capture in %v", every), [3]int{int(math.Round(float64(every-during) / float64(took))), 0, 1}},
	} {
		if i > 0 && len(s.capturing) == 0 {
			break
		}
		pool := func(draw func(i, n int) int) (a, b float64) {
			var sides [3]part
			for i := range s.rounds {
				round := &s.rounds[draw(i, len(s.rounds))]
				sides[0].add(&round[0])
				sides[1].add(&round[1])
			}
			for i := range s.capturing {
				sides[2].add(&s.capturing[draw(i, len(s.capturing))])
			}
			var all part
			for i, times := range other.times {
				for range times {
					all.add(&sides[i])
				}
			}
			return value(&sides[0]), value(&all)
		}
		ratios := make([]float64, 1000)
		for i := range ratios { // the bootstrap
			a, b := pool(func(_, n int) int { return rand.IntN(n) })
			ratios[i] = b / a
		}
		slices.Sort(ratios)
		if a, b := pool(func(i, _ int) int { return i }); b > 0 {
			fmt.Fprintf(w, "  %-20s  %.5g, unwatched %.5g, ratio %.4f (95 %%: %.4f to %.4f)\n", other.name, b, a, b/a, ratios[25], ratios[974])
		}
	}
}
