package full

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/exporters/live/internal/page"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Without a recorder, the wall-clock profile is made of samples. A sample of all goroutines stops
// the world twice and takes about a microsecond per goroutine, so the sampling rate follows from the
// cost of earlier samples. Time is divided into intervals, each just long enough to keep the cost of
// its sample at sampleShare of one processor. The sample is taken at a random moment of its interval
// and represents the whole interval. Because the length of an interval depends only on what was
// before it, each instant of the program has the same weight on average, even if the number of
// goroutines changes.

const (
	// sampleShare is the part of one processor that the samples may take.
	sampleShare = 0.01
	// shortestInterval limits programs with few goroutines to 99 samples per second.
	shortestInterval = time.Second / 99
	// firstCost is the assumed cost of a sample per goroutine before the first sample.
	firstCost = 2 * time.Microsecond
)

// sampler samples all goroutines.
type sampler struct {
	// The inputs, replaced by tests.
	goroutines func() int
	records    func([]runtime.StackRecord) (n int, ok bool)
	now        func() time.Time
	sleep      func(context.Context, time.Duration) error

	buf      []runtime.StackRecord
	stacks   map[[deepStack]uintptr]*sampled
	samples  int
	spent    time.Duration // cost of the samples
	covered  time.Duration // the sum of the intervals
	shortest time.Duration // the shortest interval
	longest  time.Duration
	each     time.Duration // cost per goroutine
	most     int           // largest number of goroutines in a sample
}

// sampled is the number of times a stack was seen, and the sum of the intervals of these samples.
type sampled struct {
	count int64
	time  time.Duration
}

func newSampler() *sampler {
	return &sampler{
		goroutines: runtime.NumGoroutine,
		records:    runtime.GoroutineProfile,
		now:        time.Now,
		sleep:      sleep,
		stacks:     map[[deepStack]uintptr]*sampled{}, each: firstCost,
	}
}

// sleep waits for the time d, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// interval returns the length of the interval of the next sample.
func (s *sampler) interval() time.Duration {
	return max(shortestInterval, time.Duration(float64(s.goroutines())*float64(s.each)/sampleShare))
}

// run samples for the time d. It fails if a single sample would cost more than the allowed share of
// d.
func (s *sampler) run(ctx context.Context, d time.Duration) error {
	if need := s.interval(); need > max(d, shortestInterval) {
		return tooMany(s.goroutines(), s.each, d, need)
	}
	for from, end := s.now(), s.now().Add(d); from.Before(end); from = s.now() {
		interval, left := s.interval(), end.Sub(from)
		switch {
		case left < interval && s.samples > 0:
			return nil // too short for another sample
		case left < 2*interval:
			interval = left
		}
		at := from.Add(time.Duration(rand.Float64() * float64(interval)))
		if err := s.sleep(ctx, at.Sub(s.now())); err != nil {
			return err
		}
		s.sample(interval)
		if err := s.sleep(ctx, from.Add(interval).Sub(s.now())); err != nil {
			return err
		}
	}
	return nil
}

// tooMany returns the error for a sample that would cost too much for the time d.
func tooMany(goroutines int, each, d, need time.Duration) error {
	text := fmt.Sprintf("the program has %d goroutines, and a sample of all of them takes about %s, more than 1 %% of %s: ", goroutines, format.Duration(time.Duration(goroutines)*each), format.Duration(d))
	if seconds := int(need.Seconds()) + 1; seconds <= int(page.MaxWall.Seconds()) {
		text += fmt.Sprintf("ask for seconds=%d or more", seconds)
	} else {
		text += "that is too many for a wall-clock profile"
	}
	return page.Invalid(text)
}

// sample takes a sample that represents an interval.
func (s *sampler) sample(interval time.Duration) {
	begin := s.now()
	n, ok := s.records(s.buf)
	for !ok {
		s.buf = make([]runtime.StackRecord, n+n/10+10)
		n, ok = s.records(s.buf)
	}
	for i := range s.buf[:n] {
		at := s.stacks[s.buf[i].Stack0]
		if at == nil {
			at = &sampled{}
			s.stacks[s.buf[i].Stack0] = at
		}
		at.count++
		at.time += interval
	}
	if s.samples == 0 || interval < s.shortest {
		s.shortest = interval
	}
	s.longest = max(s.longest, interval)
	s.most = max(s.most, n)
	s.samples++
	s.covered += interval
	cost := s.now().Sub(begin)
	s.spent += cost
	s.each = (s.each + 3*cost/time.Duration(max(1, n))) / 4
}

// profile returns the samples, taken from start on for d, as a profile.
func (s *sampler) profile(start time.Time, d time.Duration) *profile.Profile {
	mean := s.covered / time.Duration(max(1, s.samples))
	p := newWallProfile(start, d, s.comment(d))
	p.Period = max(1, int64(mean))
	at := newPlaces(p)
	// Late samples leave gaps between the intervals.
	whole := float64(d) / float64(max(1, s.covered))
	for stack, seen := range s.stacks {
		sample := &profile.Sample{Value: []int64{seen.count, int64(float64(seen.time) * whole)}}
		frames := runtime.CallersFrames((&runtime.StackRecord{Stack0: stack}).Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			sample.Location = append(sample.Location, at.location(f.Function, f.File, f.Line))
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// comment returns a sentence on the number of samples and their cost.
func (s *sampler) comment(d time.Duration) string {
	return fmt.Sprintf("%s in %s: %.3g a second, at random times, one in each interval of %s to %s, which are its weights. A sample of up to %s took %s on average, %.2g %% of one processor in all.",
		format.Plural(s.samples, "sample", "samples"), format.Duration(d), float64(s.samples)/d.Seconds(), format.Duration(s.shortest), format.Duration(s.longest),
		format.Plural(s.most, "goroutine", "goroutines"), format.Duration(s.spent/time.Duration(max(1, s.samples))), 100*s.spent.Seconds()/d.Seconds())
}
