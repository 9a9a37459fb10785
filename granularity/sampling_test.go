package granularity

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// paced returns a recorder whose pool or group samples its tasks.
func paced(t *testing.T) *Recorder {
	t.Helper()
	if clock := cycles.Default(); !cycles.TurnsKnown() || clock.Info().Costs >= cheapReading { // as under the race detector
		t.Skip("all tasks are measured here")
	}
	return NewRecorder()
}

// Frequent tasks are sampled, but each is counted once, whatever submits it: in a pool, in groups
// that follow each other, by several goroutines, with functions and lines that alternate.
func TestSkippedTasksAreCounted(t *testing.T) {
	const each, submitters = 30_000, 3
	tiny, another := func() {}, func() {}
	tinyError := func() error { return nil }
	for name, run := range map[string]func(*Recorder){
		"pool": func(r *Recorder) {
			p := &Pool{Recorder: r}
			defer p.Close()
			parallel(submitters, func() {
				for i := range each {
					switch i % 3 {
					case 0:
						p.Submit(tiny)
					case 1:
						p.Submit(tiny)
					case 2:
						p.Submit(another)
					}
				}
			})
		},
		"groups": func(r *Recorder) {
			for range 30 {
				g := Group{Recorder: r}
				parallel(submitters, func() {
					for range each / 30 {
						g.Go(tinyError)
					}
				})
				g.Wait()
			}
		},
		"with a limit": func(r *Recorder) {
			g := Group{Recorder: r}
			g.SetLimit(2)
			for n := 0; n < submitters*each; {
				if g.TryGo(tinyError) {
					n++
				} else {
					runtime.Gosched()
				}
			}
			g.Wait()
		},
	} {
		r := paced(t)
		run(r)
		p := r.Profile()
		var executions uint64
		for i := range p.Classes {
			c := &p.Classes[i]
			executions += c.Executions()
			if c.Cycles.Count() != c.Tasks || c.WallNS.Count() != c.Tasks {
				t.Errorf("%s: %d cycles and %d times of %d tasks", name, c.Cycles.Count(), c.WallNS.Count(), c.Tasks)
			}
			var ended uint64
			for _, b := range c.Series {
				ended += b.Ended
			}
			if rest := c.Tasks - min(c.Tasks, ended); c.Skipped < c.Tasks/2 || rest > 2*mostSkips {
				t.Errorf("%s: %d skipped, %d are in no bin", name, c.Skipped, rest)
			}
		}
		if executions != submitters*each {
			t.Errorf("%s: %d executions in %d classes, want %d", name, executions, len(p.Classes), submitters*each)
		}
	}
}

// parallel calls f in n goroutines.
func parallel(n int, f func()) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(f)
	}
	wg.Wait()
}

// The number of executions stays exact, and the sum unbiased, whatever the order of the tasks: here
// every tenth of them has ten times the size.
func TestSampleIsUnbiased(t *testing.T) {
	const n, rounds = 50_000, 20
	var mean, square float64
	for range rounds {
		r := paced(t)
		s := r.addSite(siteKey{name: "drawn", pool: r.poolName("")})
		s.pace.every.Store(10)
		var u usualSite
		u.Store(s)
		sum, tasks := 0.0, uint32(0)
		for i := range n {
			size := 1.0
			if i%10 == 0 {
				size = 10
			}
			if j := u.next(r, s.key.pool, 0); !j.skipped {
				sum += size * float64(1+j.others)
				tasks += 1 + j.others
			}
		}
		if rest := s.pace.unrepresented(); int64(tasks)+rest != n {
			t.Errorf("%d and %d tasks, want %d", tasks, rest, n)
		}
		error := sum/(1.9*n) - 1
		mean += error / rounds
		square += error * error / rounds
	}
	// The sum of 5,000 draws has a relative error of 2 to 3 %, and so the mean of 20 less than 1 %.
	if math.Abs(mean) > 0.03 || square > 0.05*0.05 {
		t.Errorf("the sums are %.3f off on average, and %.3f typically", mean, math.Sqrt(square))
	}
}

// Of tasks that mostly block, the time is not read around those that are not drawn, so a long one that
// is drawn represents others: their time is not lost.
func TestTimeOfBlockingTasksIsUnbiased(t *testing.T) {
	const tasks, limit = 100_000, 300
	r := paced(t)
	g := Group{Recorder: r}
	g.SetLimit(limit)
	ask := make(chan int)
	go func() {
		for range ask {
		}
	}()
	defer close(ask)
	var took atomic.Int64
	for i := range tasks {
		g.Go(func() error {
			from := time.Now()
			if i%10 == 0 {
				time.Sleep(2 * time.Millisecond)
			} else {
				ask <- i
			}
			took.Add(int64(time.Since(from)))
			return nil
		})
	}
	g.Wait()
	c := &r.Profile().Classes[0]
	if ratio := float64(c.WallNS.Sum()) / float64(took.Load()); c.Skipped < tasks/2 || ratio < 0.6 || ratio > 1.6 {
		t.Errorf("the time is %.2f of the true one; %d of %d were skipped", ratio, c.Skipped, tasks)
	}
}

// Tasks that use Pause or contain others are all measured: of one that is not drawn, it would not be
// known what the pause was, and the others would not count as nested.
func TestTasksInPartsAreNotSkipped(t *testing.T) {
	const tasks = 10_000
	f := worker(5 * time.Microsecond)
	for name, task := range map[string]func(context.Context) error{
		"pause": func(context.Context) error {
			f()
			resume := Pause()
			time.Sleep(50 * time.Microsecond)
			resume()
			return nil
		},
		"nested": func(ctx context.Context) error {
			f()
			return Do(ctx, "inner", func(context.Context) error { f(); return nil })
		},
	} {
		r := paced(t)
		g, ctx := WithContext(WithRecorder(context.Background(), r))
		g.SetLimit(100)
		for range tasks {
			g.Go(func() error { return task(ctx) })
		}
		g.Wait()
		p := r.Profile()
		for i := range p.Classes {
			c := &p.Classes[i]
			// Some may be preempted while they compute.
			if c.Executions() != tasks || c.Skipped != 0 || c.Estimated+c.Unmeasured > tasks/10 || c.Name == "inner" && c.Nested != tasks {
				t.Errorf("%s: %d executions of %s; %d skipped, %d nested, %d estimated, %d unmeasured", name, c.Executions(), c.Name, c.Skipped, c.Nested, c.Estimated, c.Unmeasured)
			}
		}
	}
}

// Large tasks among many small ones are measured, although few of them are drawn, and count once.
func TestLargeTasksAreNotSkipped(t *testing.T) {
	const tasks, large = 40_000, 20
	r := paced(t)
	p := &Pool{Recorder: r, Workers: 1}
	n, steps := 0, int(float64(time.Millisecond)*perNS())
	f := func() {
		if n++; n > tasks-large {
			compute(steps)
		}
	}
	for range tasks {
		p.Submit(f)
	}
	p.Close()
	prof := r.Profile()
	c, found := &prof.Classes[0], uint64(0)
	for cycles, count := range c.Cycles.Buckets() {
		if d, _ := prof.Duration(float64(cycles)); d > time.Millisecond/2 {
			found += count
		}
	}
	if c.Executions() != tasks || c.Skipped == 0 {
		t.Errorf("%d executions, want %d; %d skipped", c.Executions(), tasks, c.Skipped)
	}
	// Some may be preempted, and so unmeasured, as may small ones.
	if found > large+large/2 || found < large/2 || found+c.Unmeasured+c.Estimated < large {
		t.Errorf("%d large tasks and %d unmeasured, want %d", found, c.Unmeasured, large)
	}
}

// A task that was not drawn, and takes long after the one that represents it was drawn, counts once: by
// itself, also if no other one is drawn.
func TestLargeTaskAfterTheLastDrawnCountsOnce(t *testing.T) {
	r := paced(t)
	s := r.addSite(siteKey{name: "late", pool: r.poolName("")})
	s.pace.every.Store(10)
	var u usualSite
	u.Store(s)
	submitted := uint64(0)
	for represents := uint32(0); represents < 3; {
		j := u.next(r, s.key.pool, 0)
		if submitted++; !j.skipped {
			x := execution{others: j.others}
			x.begin(s, nil)
			x.end()
			represents = j.others
		}
	}
	start := r.clock.Start()
	compute(int(float64(2*time.Millisecond) * perNS()))
	s.tookLong(&start)
	p := r.Profile()
	c := &p.Classes[0]
	if c.Executions() != submitted || c.WallNS.Count() != c.Tasks || c.Cycles.Count() != c.Tasks || c.BlockedNS.Count() > c.Tasks {
		t.Errorf("%d executions of %d; %d cycles, %d times, %d blocked", c.Executions(), submitted, c.Cycles.Count(), c.WallNS.Count(), c.BlockedNS.Count())
	}
	if longest, _ := p.Duration(float64(c.Cycles.Max())); longest < time.Millisecond && c.Unmeasured == 0 {
		t.Errorf("the longest task took %v", longest)
	}
}

// Errors, panics and runtime.Goexit of tasks that are not measured have their usual effects.
func TestSkippedTasksEnd(t *testing.T) {
	r := paced(t)
	failure := errors.New("failure")
	for range 3 {
		g, p := &Group{Recorder: r}, &Pool{Recorder: r}
		for i := range 10_000 {
			f := func() error {
				if i%100 == 50 {
					runtime.Goexit()
				}
				if i > 9_000 {
					return failure
				}
				return nil
			}
			g.Go(f)
			p.Go(f)
		}
		if a, b := g.Wait(), p.Close(); a != failure || b != failure {
			t.Errorf("the errors are %v and %v", a, b)
		}
	}
	var skipped uint64
	for _, c := range r.Profile().Classes {
		skipped += c.Skipped
	}
	if skipped == 0 {
		t.Error("all were measured")
	}
}

// Tasks that come rarely are all measured, and so are those of a recorder with a log.
func TestRareTasksAreNotSkipped(t *testing.T) {
	r := paced(t)
	s := r.addSite(siteKey{name: "rare", pool: r.poolName("")})
	s.pace.every.Store(10)
	now := r.began.tick
	for _, tt := range []struct {
		ran, interval time.Duration // of a task, and between the ends of two
		gone          int           // of 4096
		every         int32
	}{
		{90 * time.Microsecond, 100 * time.Microsecond, 0, 0},
		{90 * time.Microsecond, 4 * time.Microsecond, 0, 50}, // many at a time
		{5 * time.Microsecond, time.Millisecond, 0, 40},      // other programs have the processors
		{5 * time.Microsecond, time.Millisecond, 100, 40},
		{time.Microsecond, time.Millisecond, 4000, 0}, // they block
		{time.Microsecond, 5 * time.Microsecond, 4000, 40},
		{10 * time.Microsecond, 5 * time.Microsecond, 0, 40},
		{time.Millisecond, time.Millisecond, 0, 0},
		{1, 1, 0, mostSkips},
		{1, 1, 4000, mostSkips},
	} {
		for range 2 { // the second time covers only tasks of that pace
			for i := range paceTasks {
				now += r.base.FromNS(int64(tt.interval))
				n := note{site: s, first: now, self: r.base.FromNS(int64(tt.ran))}
				if i < tt.gone {
					n = note{site: s, first: now, kind: noteLeft}
				}
				s.judge([]note{n})
			}
		}
		if n := s.pace.every.Load(); 5*(max(n, tt.every)-min(n, tt.every)) > tt.every {
			t.Errorf("one in %d of those that run for %v and come every %v is measured, want %d", n, tt.ran, tt.interval, tt.every)
		}
	}
	logged := NewRecorder()
	logged.Log = 10
	p := &Pool{Recorder: logged}
	for range 20_000 {
		p.Submit(func() {})
	}
	p.Close()
	if c := logged.Profile().Classes[0]; c.Skipped != 0 || c.Executions() != 20_000 {
		t.Errorf("%d skipped of %d", c.Skipped, c.Executions())
	}
}
