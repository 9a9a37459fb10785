package granularity

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/proctime"
	"github.com/bottleneck-go/bottleneck/internal/race"
)

// Programs with known answers. They compute for a known number of steps in a Pool, and the advice
// on the size of their tasks is compared with the best of all sizes and numbers of workers. The
// simulated programs of advice_test.go have the same form.

// answer is a program with its diagnosis on several processors and on one.
type answer struct {
	name string
	program
	want, one string
}

// answers returns programs that are too fine, too coarse or well sized, with the right and the
// wrong number of workers.
func answers() []answer {
	const us, ms = time.Microsecond, time.Millisecond
	procs := runtime.GOMAXPROCS(0)
	rng := rand.New(rand.NewPCG(1, 2))
	equal := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	return []answer{
		{"tiny tasks", program{procs, procs, repeat(20_000, equal(281))}, Fine, Fine},
		{"nearly empty ones", program{procs, procs, repeat(50_000, equal(20))}, Fine, Fine},
		{"quicksort with cut-off 1", program{procs, procs, quicksort(200_000, 1, rng)}, Fine, Fine},
		{"tiles of 1×1", program{procs, procs, repeat(40_000, func(int) time.Duration { return 100 + time.Duration(rng.IntN(100)) })}, Fine, Fine},
		{"tiny ones of very different sizes", program{procs, procs, repeat(20_000, func(int) time.Duration { return time.Duration(math.Exp(rng.Float64() * 9)) })}, Fine, Fine},
		{"every hundredth is large", program{procs, procs, repeat(20_000, func(i int) time.Duration { return time.Duration(50 + 20_000*(1-min(1, i%100))) })}, Fine, Fine},
		{"many workers and tiny tasks", program{procs, 8 * procs, repeat(20_000, equal(500))}, Fine, Fine},
		{"one large and many small", program{procs, procs, append(repeat(19, equal(ms)), 20*ms*time.Duration(procs))}, Straggler, OK},
		{"a large one among very many", program{procs, procs, append(repeat(1000, equal(20*us)), 20*ms)}, Straggler, OK},
		{"two uneven ones", program{procs, procs, []time.Duration{36 * ms, 4 * ms}}, Coarse, OK},
		{"one more than processors", program{procs, procs, repeat(procs+1, equal(10*ms))}, Coarse, OK},
		{"one worker", program{procs, 1, repeat(100, equal(400*us))}, TooFewWorkers, OK},
		{"a few large ones of one worker", program{procs, 1, repeat(3*procs, equal(7*ms))}, TooFewWorkers, OK},
		{"many workers", program{procs, 16 * procs, repeat(200*procs, equal(200*us))}, OK, OK}, // each task ends before the next begins,
		{"a sensible size", program{procs, procs, repeat(400, equal(100*us))}, OK, OK},
		{"a sensible size, uneven", program{procs, procs, repeat(1000, func(int) time.Duration { return time.Duration(rng.IntN(int(100 * us))) })}, OK, OK},
	}
}

// accepts reports whether the diagnosis may be that of a run beside other processes: they can leave
// the processors no time to idle, and take one away in the middle of a task.
func (a *answer) accepts(d string) bool {
	switch want := a.wanted(); want {
	case Coarse, Straggler, TooFewWorkers:
		return d == want || d == Unknown || d == OK
	case OK:
		return d == want || d == Unknown || d == TooManyWorkers && a.workers > a.procs
	default:
		return d == want || d == Unknown
	}
}

// wanted returns the diagnosis on this number of processors.
func (a *answer) wanted() string {
	if a.procs == 1 {
		return a.one
	}
	return a.want
}

// execute executes the program. It returns the processor time that it would take on the processor
// with the most work: which worker takes a task depends on the load, so that part is computed. It
// also returns the profile of the tasks.
func (p program) execute() (time.Duration, *Profile) {
	runtime.GC() // a collection would be a large part of the time
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	from := settledUsage()
	rec := NewRecorder()
	pool := &Pool{Workers: p.workers, Recorder: rec}
	for _, d := range p.tasks {
		steps := int(float64(d) * perNS())
		pool.Submit(func() { compute(steps) })
	}
	pool.Close()
	profile := rec.Profile()
	used := settledUsage() - from
	most, all := p.run()
	return time.Duration(float64(used) * float64(most) / float64(all)), profile
}

// settledUsage returns the processor time of the process when its other threads sleep. The system
// adds that of a running thread up to 4 ms late.
func settledUsage() time.Duration {
	time.Sleep(time.Millisecond)
	return proctime.Self()
}

// diagnosed returns the diagnosis of the quickest of some runs, which was disturbed least.
func (p program) diagnosed(runs int) *Class {
	_, quickest := p.execute()
	for range runs - 1 {
		if _, profile := p.execute(); profile.Run.Wall < quickest.Run.Wall {
			quickest = profile
		}
	}
	return &quickest.Classes[0]
}

// sizes returns the program in all sizes, with its own number of workers and with one per processor.
func (p program) sizes() (out []program) {
	for _, p.workers = range slices.Compact([]int{p.workers, p.procs}) {
		for n := 1; len(p.tasks)/n >= p.procs || n == 1; n *= 2 {
			out = append(out, p.merged(n))
		}
		if slices.Max(p.tasks) > 100*time.Microsecond {
			for pieces := time.Duration(p.procs); pieces <= 256; pieces *= 2 {
				out = append(out, p.split(p.total()/pieces))
			}
		}
	}
	return out
}

// BenchmarkAdvice follows the advice on real programs. "before", "advised" and "best" are the
// minimum times of interleaved rounds; "best" is that of all sizes and numbers of workers.
//
//	GOMAXPROCS=1 go test -run=- -bench=Advice -benchtime=1x ./granularity
//
// With -cpu, the first run of a benchmark has the number of processors of the one before.
func BenchmarkAdvice(b *testing.B) {
	const rounds = 5
	for _, a := range answers() {
		b.Run(a.name, func(b *testing.B) {
			var least []time.Duration
			for b.Loop() {
				class := a.diagnosed(4 * rounds)
				candidates := append([]program{a.program, a.after(class)}, a.sizes()...)
				least = slices.Repeat([]time.Duration{math.MaxInt64}, len(candidates))
				for range rounds {
					for i, c := range candidates {
						took, _ := c.execute()
						least[i] = min(least[i], took)
					}
				}
				b.Logf("%s, %d tasks as advised, %d at best", class.Diagnosis, len(candidates[1].tasks), len(candidates[slices.Index(least, slices.Min(least))].tasks))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(least[0].Seconds()*1e3, "before-ms")
			b.ReportMetric(least[1].Seconds()*1e3, "advised-ms")
			b.ReportMetric(slices.Min(least).Seconds()*1e3, "best-ms")
			b.ReportMetric(float64(least[1])/float64(slices.Min(least)), "ratio")
		})
	}
}

// While processes compute on the same processors, every execution is counted, and no diagnosis is
// of another kind than the known one.
func TestAnswersBesideBusyProcesses(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("the sizes of the tasks are those of a 64-bit processor")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for busy := range 4 {
		startBusy(t, min(busy, 1)) // one more each time
		for procs := range 2 {
			runtime.GOMAXPROCS(procs + 1)
			for i, a := range answers() {
				if i%4 != busy || a.total() > 50*time.Millisecond || race.Enabled && len(a.tasks) > 30_000 {
					continue // all of them take long: see BenchmarkAnswers
				}
				_, p := a.execute()
				c := &p.Classes[0]
				if len(p.Classes) != 1 || c.Executions() != uint64(len(a.tasks)) {
					t.Errorf("%s on %d processors beside %d processes: %d executions in %d classes, want %d in one", a.name, a.procs, busy, c.Executions(), len(p.Classes), len(a.tasks))
				}
				if !a.accepts(c.Diagnosis) {
					t.Errorf("%s on %d processors beside %d processes: %s, want %s: %q", a.name, a.procs, busy, c.Diagnosis, a.wanted(), c.Reasons)
				}
			}
		}
	}
}

// BenchmarkAnswers reports how often the programs get the known diagnosis, or another one than
// unknown, while processes compute on the same processors.
//
//	GOMAXPROCS=1 go test -run=- -bench=Answers -benchtime=1x ./granularity
func BenchmarkAnswers(b *testing.B) {
	const runs = 5
	for busy := range 4 {
		b.Run(fmt.Sprintf("busy=%d", busy), func(b *testing.B) {
			startBusy(b, busy)
			for b.Loop() {
				right, wrong, all := diagnoses(b, runs)
				b.ReportMetric(100*float64(right)/float64(all), "right-%")
				b.ReportMetric(100*float64(wrong)/float64(all), "wrong-%")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// diagnoses runs the programs several times and counts their diagnoses.
func diagnoses(b *testing.B, runs int) (right, wrong, all int) {
	for _, a := range answers() {
		for range runs {
			_, p := a.execute()
			all++
			c, want := &p.Classes[0], a.wanted()
			if c.Diagnosis == want {
				right++
				continue
			}
			if c.Diagnosis != Unknown {
				wrong++
			}
			b.Logf("%s: %s, want %s: %q", a.name, c.Diagnosis, want, c.Reasons)
		}
	}
	return right, wrong, all
}

// startBusy starts processes that compute until the end of the test.
func startBusy(tb testing.TB, n int) {
	tb.Helper()
	for range n {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "GRANULARITY_TEST_CHILD=busy", "GOMAXPROCS=2")
		in, err := cmd.StdinPipe() // the child ends with it, even if this process is killed
		if err != nil {
			tb.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			tb.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			in.Close()
			cmd.Wait()
		})
		if _, err := out.Read(make([]byte, 1)); err != nil {
			tb.Fatal(err)
		}
	}
}

// busyChild computes until the end of its input.
func busyChild() {
	go func() {
		fmt.Print("x")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		compute(1000)
	}
}
