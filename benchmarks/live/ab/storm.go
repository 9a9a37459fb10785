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
// changes, every quarter of a second, is whether a capture.Capturer watches the slow requests. In a
// round, they are watched in four of eight slices, which are in one of two orders at random, so that
// neither slow changes of the machine nor periodic work, such as that of the garbage collector,
// favors a side. The Capturer takes one capture, before the rounds; the slices during it are
// watched.

const (
	stormRate  = 10_000 // slow requests a second
	stormSlice = 250 * time.Millisecond
)

// orders has the two orders of a round; 1 is a slice in which requests are watched.
var orders = [2][8]int{{0, 1, 1, 0, 1, 0, 0, 1}, {1, 0, 0, 1, 0, 1, 1, 0}}

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
	hurried   bool      // the capture did not rest at its end
	stats     capture.Stats
}

// Storm measures what watching a storm of slow requests costs the clients of a workload: the
// throughput under full load for half of the given time, and the latency at a third of the load for
// the other half.
func Storm(w io.Writer, work Workload, length time.Duration, heap int) error {
	r, err := start(work, heap)
	if err != nil {
		return err
	}
	defer r.end()
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		return err
	}
	defer rec.Stop()
	for _, half := range []struct {
		what  string
		rate  float64
		value func(*part) float64
	}{{"throughput under full load, in op/s", 0, (*part).throughput}, {"p99 at a third of the load, in ms", r.third, (*part).p99}} {
		r.rate.Store(math.Float64bits(half.rate))
		time.Sleep(time.Second)
		s, err := r.storm(&rec, length/2)
		if err = cmp.Or(err, r.failed()); err != nil {
			return err
		}
		s.write(w, half.what, half.value)
	}
	return nil
}

// storm runs a storm for about a time.
func (r *runner) storm(rec *bottle.Recorder, length time.Duration) (s stormed, err error) {
	dir, err := os.MkdirTemp("", "captures")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	c := capture.New(capture.Options{Recorder: rec, Sink: &capture.Dir{Path: dir}})
	var watched atomic.Bool
	var requests sync.WaitGroup
	quit := make(chan struct{})
	requests.Go(func() { slowRequests(c, &watched, quit) })
	slice := func(watch bool) part {
		watched.Store(watch)
		time.Sleep(5 * time.Millisecond) // until the slow requests of the last slice are over
		r.latencies()
		n, at := r.count.Load(), time.Now()
		time.Sleep(stormSlice)
		return part{time.Since(at), r.count.Load() - n, *r.latencies()}
	}
	begin, hurry := time.Now(), (*time.Timer)(nil)
	taken := func() bool { stored, _, failed := c.Counts(); return stored+failed > 0 }
	for !taken() {
		if s.hurried = time.Since(begin) > length/4; s.hurried && hurry == nil {
			hurry = time.AfterFunc(0, c.Stop) // under full load it would rest for minutes
		}
		s.capturing = append(s.capturing, slice(true))
	}
	for time.Since(begin) < length {
		var round [2]part
		for _, side := range orders[rand.IntN(2)] {
			p := slice(side == 1)
			round[side].add(&p)
		}
		s.rounds = append(s.rounds, round)
	}
	close(quit)
	requests.Wait()
	c.Stop()
	s.stats = c.Stats()
	return s, nil
}

// slowRequests makes the slow requests, each of a millisecond, until quit is closed.
func slowRequests(c *capture.Capturer, watched *atomic.Bool, quit chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var ends []func()
	for begin, n := time.Now(), 0; ; {
		for _, end := range ends {
			end()
		}
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		ends = ends[:0]
		for ; n < int(time.Since(begin).Seconds()*stormRate); n++ { // a busy machine misses ticks
			if watched.Load() {
				ends = append(ends, c.Slow("request", time.Nanosecond))
			} else {
				ends = append(ends, func() {})
			}
		}
	}
}

// write writes a value of the clients, and its ratio to that beside unwatched requests.
func (s *stormed) write(w io.Writer, what string, value func(*part) float64) {
	var during part
	for i := range s.capturing {
		during.add(&s.capturing[i])
	}
	in := "in "
	if s.hurried {
		in = "hurried after "
	}
	fmt.Fprintf(w, "%s: %d rounds; %d captures, "+in+"%v; %d triggers suppressed, %d failed\n", what, len(s.rounds), s.stats.Captured, during.took.Round(time.Millisecond), s.stats.Suppressed, s.stats.Failed)
	for _, side := range []struct {
		name      string
		capturing []part
	}{{"without the capture", nil}, {"with the capture", s.capturing}} {
		a, b := s.pool(side.capturing, func(i, n int) int { return i })
		ratios := make([]float64, 1000)
		for i := range ratios { // the bootstrap
			a, b := s.pool(side.capturing, func(_, n int) int { return rand.IntN(n) })
			ratios[i] = value(&b) / value(&a)
		}
		slices.Sort(ratios)
		fmt.Fprintf(w, "  %-19s  unwatched %.5g, watched %.5g, ratio %.3f (95 %%: %.3f to %.3f)\n", side.name, value(&a), value(&b), value(&b)/value(&a), ratios[25], ratios[974])
	}
}

// pool sums up the rounds that draw chooses of n, unwatched and watched, and the slices of a capture.
func (s *stormed) pool(capturing []part, draw func(i, n int) int) (unwatched, watched part) {
	for i := range s.rounds {
		round := &s.rounds[draw(i, len(s.rounds))]
		unwatched.add(&round[0])
		watched.add(&round[1])
	}
	for i := range capturing {
		watched.add(&capturing[draw(i, len(capturing))])
	}
	return unwatched, watched
}
