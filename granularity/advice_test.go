package granularity

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// The advice is applied in a simulated machine, and the result is compared with the best of all
// sizes and numbers of workers. The machine is independent of the rules: it hands tasks to workers
// in order, each with an overhead.

// program is a set of tasks and their execution.
type program struct {
	procs, workers int
	tasks          []time.Duration
}

// disturbed returns a profile of the same run while other programs made it take load times as long,
// and a thread that executes no tasks waited as well.
func (p *Profile) disturbed(load float64) *Profile {
	out, c := *p, p.Classes[0]
	longer := func(d time.Duration) time.Duration { return time.Duration(load * float64(d)) }
	out.Wall, out.Run.Wall, out.Run.Utilization = longer(p.Wall), longer(p.Wall), p.Run.Utilization/load
	out.Run.Delayed = time.Duration((load-1)*float64(p.Run.CPU)) + out.Wall
	c.WallNS, c.BlockedNS = Histogram{}, Histogram{}
	for wall, count := range p.Classes[0].WallNS.Buckets() {
		c.WallNS.AddN(uint64(load*float64(wall)), count)
		c.BlockedNS.AddN(uint64((load-1)*float64(wall)), count)
	}
	out.Classes = []Class{c}
	out.Diagnose()
	return &out
}

// run returns the time of the program and what a recorder would see of it.
func (p program) run() (took time.Duration, busy time.Duration) {
	lanes := make(lanes, min(p.procs, p.workers)) // more workers than processors alternate
	for _, d := range p.tasks {
		lanes[0] += d + empty0
		busy += d + empty0
		heap.Fix(&lanes, 0)
	}
	return slices.Max(lanes), busy
}

type lanes []time.Duration

func (l lanes) Len() int           { return len(l) }
func (l lanes) Less(i, j int) bool { return l[i] < l[j] }
func (l lanes) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *lanes) Push(any)          {}
func (l *lanes) Pop() any          { return nil }

// profile returns the diagnosed profile of a run.
func (p program) profile() *Profile {
	const hz = 2e9
	took, busy := p.run()
	used := float64(busy) / float64(took) / float64(p.procs)
	out := &Profile{Source: "test", Accuracy: "thread-time", Hz: hz, Procs: p.procs, Wall: took, Overhead: empty0, OverheadOrigin: "an empty task"}
	out.Run = Sample{Wall: took, CPU: busy, Utilization: used}
	c := Class{Name: "work", Tasks: uint64(len(p.tasks)), ActiveShare: 1, Workers: p.workers}
	turns := max(1, float64(p.workers)/float64(p.procs)) // a task waits for a processor while others run
	for _, d := range p.tasks {
		c.Cycles.Add(uint64(d.Seconds() * hz))
		c.WallNS.Add(uint64(float64(d) * turns))
		c.BlockedNS.Add(uint64(float64(d) * (turns - 1)))
		out.Run.Ready += time.Duration(float64(d) * (turns - 1))
	}
	out.Classes = []Class{c}
	out.Diagnose()
	return out
}

// dealt returns the program with n tasks in one, which are from different places, the largest first.
func (p program) dealt(n int) program {
	out := program{procs: p.procs, workers: p.workers, tasks: make([]time.Duration, (len(p.tasks)+n-1)/n)}
	for i, d := range p.tasks {
		out.tasks[i%len(out.tasks)] += d
	}
	slices.SortFunc(out.tasks, func(a, b time.Duration) int { return int(b - a) })
	return out
}

// merged returns the program with n tasks in one.
func (p program) merged(n int) program {
	out := program{procs: p.procs, workers: p.workers}
	for i := 0; i < len(p.tasks); i += n {
		var sum time.Duration
		for _, d := range p.tasks[i:min(i+n, len(p.tasks))] {
			sum += d
		}
		out.tasks = append(out.tasks, sum)
	}
	return out
}

// split returns the program with tasks of at most the given size, the largest first.
func (p program) split(most time.Duration) program {
	out := program{procs: p.procs, workers: p.workers}
	for _, d := range p.tasks {
		n := max(1, time.Duration(math.Ceil(float64(d)/float64(most))))
		for range n {
			out.tasks = append(out.tasks, d/n)
		}
	}
	slices.SortFunc(out.tasks, func(a, b time.Duration) int { return int(b - a) })
	return out
}

func (p program) total() (sum time.Duration) {
	for _, d := range p.tasks {
		sum += d
	}
	return sum
}

// best returns the minimum time of all sizes, by trying them.
func (p program) best() time.Duration {
	best, _ := p.run()
	total, largest := p.total(), slices.Max(p.tasks)
	for _, workers := range slices.Compact([]int{p.workers, p.procs}) {
		q := p
		q.workers = workers
		for n := 1; n <= len(p.tasks); n += 1 + n/4 {
			took, _ := q.merged(n).run()
			best = min(best, took)
		}
		for pieces := 1; pieces <= 1000; pieces += 1 + pieces/4 {
			if most := total / time.Duration(pieces); pieces == 1 || most < largest { // otherwise the same as one piece
				took, _ := q.split(most).run()
				best = min(best, took)
			}
		}
	}
	return best
}

// after returns the program after following the advice on the class of its tasks.
func (p program) after(c *Class) program {
	advice := strings.Join(c.Advice, "\n")
	if strings.Contains(advice, "workers, one for each processor") {
		p.workers = p.procs
	}
	switch c.Diagnosis {
	case Fine:
		if strings.Contains(advice, "from different places") {
			return p.dealt(int(c.Merge))
		}
		return p.merged(int(c.Merge))
	case Coarse:
		return p.split(p.total() / time.Duration(c.Split))
	case Straggler:
		return p.split(slices.Max(p.tasks) / time.Duration(c.Split))
	case TooFewWorkers:
		if c.Split > 0 {
			return p.split(p.total() / time.Duration(c.Split))
		}
	case TooManyWorkers:
		p.workers = p.procs
	}
	return p
}

// repeat returns n tasks.
func repeat(n int, each func(i int) time.Duration) (tasks []time.Duration) {
	for i := range n {
		tasks = append(tasks, each(i))
	}
	return tasks
}

// quicksort returns the tasks of sorting n numbers: one for each part, with a time proportional to
// its length.
func quicksort(n, cutoff int, rng *rand.Rand) []time.Duration {
	if n <= cutoff {
		return nil
	}
	left := rng.IntN(n)
	tasks := []time.Duration{time.Duration(n) * 2}
	return append(append(tasks, quicksort(left, cutoff, rng)...), quicksort(n-1-left, cutoff, rng)...)
}

func TestAdviceIsNearTheOptimum(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	rng := rand.New(rand.NewPCG(1, 2))
	equal := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	for _, tt := range []struct {
		name string
		p    program
		want string
	}{
		{"570 tiny tasks", program{2, 2, repeat(570, equal(281))}, Fine},
		{"100,000 nearly empty ones", program{4, 4, repeat(100_000, equal(20))}, Fine},
		{"quicksort with cut-off 1", program{2, 2, quicksort(100_000, 1, rng)}, Fine},
		{"tiles of 1×1", program{2, 2, repeat(40_000, func(int) time.Duration { return 100 + time.Duration(rng.IntN(100)) })}, Fine},
		{"tiny ones of very different sizes", program{4, 4, repeat(50_000, func(int) time.Duration { return time.Duration(math.Exp(rng.Float64() * 9)) })}, Fine},
		{"every hundredth is large", program{2, 2, repeat(20_000, func(i int) time.Duration { return time.Duration(50 + 20_000*(1-min(1, i%100))) })}, Fine},
		{"1 × 50 ms and 19 × 1 ms", program{2, 2, append(repeat(19, equal(ms)), 50*ms)}, Straggler},
		{"a large one among many", program{8, 8, append(repeat(1000, equal(20*us)), 30*ms)}, Straggler},
		{"a large one that comes last", program{2, 2, append(repeat(1000, equal(20*us)), 20*ms)}, Straggler},
		{"two uneven ones", program{2, 2, []time.Duration{90 * ms, 10 * ms}}, Coarse},
		{"nine on eight processors", program{8, 8, repeat(9, equal(10*ms))}, Coarse},
		{"one worker", program{4, 1, repeat(500, equal(ms))}, TooFewWorkers},
		{"a few large ones of one worker", program{2, 1, repeat(6, equal(20*ms))}, TooFewWorkers},
		{"three workers on eight processors", program{8, 3, repeat(500, equal(ms))}, TooFewWorkers},
		{"64 workers on four processors", program{4, 64, repeat(1000, equal(20*ms))}, TooManyWorkers},
		{"64 workers whose tasks are too short to be preempted: they wait", program{4, 64, repeat(1000, equal(ms))}, OK},
		{"many workers and tiny tasks", program{2, 2, repeat(10_000, equal(500))}, Fine},
		{"a sensible size", program{4, 4, repeat(400, equal(100*us))}, OK},
		{"a sensible size, uneven", program{4, 4, repeat(4000, func(int) time.Duration { return time.Duration(rng.IntN(int(100 * us))) })}, OK},
	} {
		best := tt.p.best()
		before, _ := tt.p.run()
		c := &tt.p.profile().Classes[0]
		took, _ := tt.p.after(c).run()
		if c.Diagnosis != tt.want {
			t.Errorf("%s: %s, want %s: %q", tt.name, c.Diagnosis, tt.want, c.Reasons)
		}
		if c := tt.p.profile().disturbed(1.9).Classes[0]; c.Diagnosis != tt.want && tt.p.workers <= tt.p.procs {
			t.Errorf("%s, while other programs run: %s, want %s: %q", tt.name, c.Diagnosis, tt.want, c.Reasons)
		}
		if float64(took) > 1.15*float64(best) {
			t.Errorf("%s: as advised it takes %v, after %v; the best of all is %v: %q", tt.name, took, before, best, c.Advice)
		}
		t.Logf("%s: %s: %v before, %v as advised, %v at best", tt.name, c.Diagnosis, before, took, best)
	}
}

// More shapes of work: sizes that depend on their place, so that neighbors are alike and merged tasks
// as uneven as single ones. Whatever the diagnosis, the advice is near the optimum.
func TestAdviceOnUnevenWork(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	rng := rand.New(rand.NewPCG(3, 4))
	for name, tasks := range map[string][]time.Duration{
		"mandelbrot by pixel": repeat(60*40, func(i int) time.Duration { return time.Duration(3 * mandelbrot(i, 60, 40)) }),
		"mandelbrot by line": repeat(80, func(i int) (d time.Duration) {
			for x := range 120 {
				d += time.Duration(3 * mandelbrot(120*i+x, 120, 80))
			}
			return d
		}),
		"collatz":                     repeat(4000, func(i int) time.Duration { return time.Duration(2 * collatz(i+1)) }),
		"a triangle of tiny ones":     repeat(4000, func(i int) time.Duration { return time.Duration(i / 8) }),
		"a triangle of large ones":    repeat(100, func(i int) time.Duration { return time.Duration(i) * 100 * us }),
		"shrinking":                   repeat(100, func(i int) time.Duration { return time.Duration(100-i) * 100 * us }),
		"half of the work in one run": repeat(4000, func(i int) time.Duration { return 100 + 10*us*time.Duration(1-min(1, i/40)) }),
		"at the end half of the work": repeat(4000, func(i int) time.Duration { return 100 + 10*us*time.Duration(max(0, i-3959)/max(1, i-3959)) }),
		"a long tail":                 repeat(4000, func(int) time.Duration { return time.Duration(min(1e6, 100*math.Pow(rng.Float64(), -0.8))) }),
		"halves":                      repeat(18, func(i int) time.Duration { return 64 * ms >> i }),
		"a hundred tiny ones":         repeat(100, func(int) time.Duration { return 150 }),
		"small at the limit":          repeat(2000, func(int) time.Duration { return 4 * us }),
		"three":                       repeat(3, func(int) time.Duration { return 5 * ms }),
		"seventeen":                   repeat(17, func(int) time.Duration { return 3 * ms }),
	} {
		for _, procs := range []int{1, 2, 8} {
			for _, workers := range slices.Compact([]int{1, procs, 4 * procs}) {
				p := program{procs, workers, tasks}
				before, _ := p.run()
				c := &p.profile().Classes[0]
				took, _ := p.after(c).run()
				if c.Diagnosis == Unknown || c.Tasks < manyPerProc*uint64(procs) && p.total() < 20*us {
					continue // no advice, or too little work
				}
				if best := p.best(); float64(took) > 1.15*float64(best) {
					t.Errorf("%s on %d processors with %d workers: %s: %v before, %v as advised, %v at best: %q, %q", name, procs, workers, c.Diagnosis, before, took, best, c.Reasons, c.Advice)
				}
			}
		}
	}
}

// mandelbrot returns the steps for a pixel of a picture of the Mandelbrot set.
func mandelbrot(i, width, height int) (n int) {
	c := complex(3*float64(i%width)/float64(width)-2, 2*float64(i/width)/float64(height)-1)
	for z := c; n < 300 && real(z)*real(z)+imag(z)*imag(z) < 4; n++ {
		z = z*z + c
	}
	return n
}

// collatz returns the steps from n to 1.
func collatz(n int) (steps int) {
	for ; n > 1; steps++ {
		if n%2 == 1 {
			n = 3*n + 1
		} else {
			n /= 2
		}
	}
	return steps
}

// A large task that is preempted is known only by its duration. It executed for all of it if the
// process used that much besides the other tasks.
func TestPreemptedStraggler(t *testing.T) {
	const ms = time.Millisecond
	for besides, want := range map[time.Duration]string{49 * ms: Straggler, 2 * ms: OK} { // blocked
		prof := program{2, 2, repeat(19, func(int) time.Duration { return ms })}.profile()
		c := &prof.Classes[0]
		c.Unmeasured, c.Longest = 1, 50*ms
		prof.Wall += 50 * ms
		prof.Run.Wall, prof.Run.CPU = prof.Wall, 19*ms+besides
		prof.Run.Utilization = float64(prof.Run.CPU) / float64(prof.Wall) / 2
		if prof.Diagnose(); c.Diagnosis != want {
			t.Errorf("%v besides: %s, want %s: %q", besides, c.Diagnosis, want, c.Reasons)
		}
		if want == Straggler { // or it waited while other programs had the processors
			prof.Run.Delayed = 50 * ms
			if prof.Diagnose(); c.Diagnosis != Unknown || !strings.Contains(c.Reasons[0], "the longest of 20 tasks took 50ms, but cannot tell") {
				t.Errorf("beside other programs: %s: %q", c.Diagnosis, c.Reasons)
			}
			prof.Run.Delayed = 0
		}
		// Where a small one was a sample of those that were preempted, it counts as small.
		c.Tasks, c.Estimated, c.Unmeasured = 20, 1, 0
		c.Cycles.AddN(c.Cycles.Max(), 1)
		c.WallNS.AddN(uint64(50*ms), 1)
		c.BlockedNS.AddN(uint64(49*ms), 1)
		prof.Run.CPU += ms
		if prof.Diagnose(); c.Diagnosis != want {
			t.Errorf("%v besides, estimated: %s, want %s: %q", besides, c.Diagnosis, want, c.Reasons)
		}
	}
}

// A class has the number of its workers, from a pool or from a group with a limit.
func TestWorkersOfAClass(t *testing.T) {
	rec := NewRecorder()
	for _, workers := range []int{3, 5, 2} {
		p := &Pool{Name: "of five", Workers: workers, Recorder: rec}
		p.Submit(func() {})
		p.Close()
	}
	limited := &Group{Name: "of two", Recorder: rec}
	limited.SetLimit(2)
	limited.Go(func() error { return nil })
	limited.Wait()
	later := &Group{Name: "of seven", Recorder: rec}
	later.Go(func() error { return nil })
	later.Wait()
	later.SetLimit(7) // some have executed without one
	later.Go(func() error { return nil })
	later.Wait()
	free := &Group{Name: "without limit", Recorder: rec}
	free.Go(func() error { return nil })
	free.Wait()
	got := map[string]int{}
	for _, c := range rec.Profile().Classes {
		got[c.Sites[0].Pool] = c.Workers
	}
	for pool, want := range map[string]int{"of five": 5, "of two": 2, "without limit": 0} {
		if got[pool] != want {
			t.Errorf("%s: %d workers; want %d", pool, got[pool], want)
		}
	}
}
