package cycles

import (
	"github.com/bottleneck-go/bottleneck/internal/race"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// truth is what a piece of work really executed: between lo and hi ticks.
//
// The work is spinning in a loop that reads the TSC. A step shorter than a microsecond was
// executed. A longer step is an interrupt, which a counter may or may not charge to the thread, or
// time off the processor, which it must not charge. Up to 50 µs it widens the bracket; above that,
// two interrupts widen it, at the beginning and the end of the time off. Each blocking operation of
// the work may cost 10 µs (switching threads, and the scheduler's work on the thread), or, if that
// is more, the cost of this very operation by the system's own thread clock plus 2 µs for reading
// that: on virtual machines waking a thread can take 25 µs.
type truth struct {
	base    *Timebase
	lo, hi  int64
	locked  bool  // the goroutine is locked to its thread
	allowed int64 // part of hi for blocks
	blocked int64 // cost of the blocks by the system's thread clock; 0 if unknown
}

func (tr *truth) spin(d time.Duration) {
	us := tr.base.FromNS(1000)
	end := tr.lo + tr.base.FromNS(int64(d))
	last := Ticks()
	for tr.lo < end {
		now := Ticks()
		switch step := now - last; {
		case step < us:
			tr.lo += step
			tr.hi += step
		case step < 50*us:
			tr.hi += step
		default:
			tr.hi += 2 * 50 * us
		}
		last = now
	}
}

// A job is rounds of spinning and then blocking, on several goroutines at once.
type job struct {
	name    string
	workers int
	hogs    int // concurrent computing processes
	rounds  int
	spin    time.Duration
	blocks  int    // how often one call of block blocks
	block   func() // nil if the work does not block
}

func (j job) run(tr *truth) {
	for range j.rounds {
		tr.spin(j.spin)
		if j.block != nil {
			tr.block(j)
		}
	}
}

// block blocks, and widens the bracket by the possible cost.
func (tr *truth) block(j job) {
	if !tr.locked { // readings on different threads are not comparable
		j.block()
		tr.hi += int64(j.blocks) * tr.base.FromNS(int64(flatBlock))
		return
	}
	from := threadNS()
	j.block()
	cost := tr.base.FromNS(threadNS() - from)
	tr.blocked += cost
	allowed := int64(j.blocks) * max(tr.base.FromNS(int64(flatBlock)), cost/int64(j.blocks)+tr.base.FromNS(int64(blockSlack)))
	tr.allowed += allowed
	tr.hi += allowed
}

var jobs = []job{
	{"pure compute", 1, 0, 1, 100 * time.Microsecond, 0, nil},
	{"sleep", 8, 0, 3, 50 * time.Microsecond, 1, func() { time.Sleep(200 * time.Microsecond) }},
	{"channel", 8, 0, 3, 50 * time.Microsecond, 1, func() {
		answer := make(chan bool)
		go func() {
			busy(300 * time.Microsecond)
			answer <- true
		}()
		<-answer
	}},
	{"mutex", 8, 0, 3, 50 * time.Microsecond, 2, func() {
		contended.Lock()
		time.Sleep(50 * time.Microsecond)
		contended.Unlock()
	}},
	{"Gosched", 8, 0, 3, 200 * time.Microsecond, 1, runtime.Gosched},
	{"preemption by 8 workers on 2 Ps", 8, 0, 1, 15 * time.Millisecond, 0, nil},
	{"OS-level hogs", 2, 3, 1, 5 * time.Millisecond, 0, nil},
}

var contended sync.Mutex

func busy(d time.Duration) { spinUntil(Ticks() + TimebaseOf().FromNS(int64(d))) }

// each runs f many times on each of the job's workers.
func (j job) each(times int, f func()) {
	var wg sync.WaitGroup
	for range j.workers {
		wg.Go(func() {
			for range times {
				f()
			}
		})
	}
	wg.Wait()
}

// trial is the result of many measurements of a job.
type trial struct {
	inside, all int     // number of measurements in their brackets
	median      float64 // of the relative distance from it
	perBlock    int64   // median of the ticks beyond the bracket without an allowance for blocks, per block
	bareBlock   int64   // median cost of those blocks by the system's thread clock, per block
}

// trials measures the job with the clock.
func (j job) trials(c *Clock, pinned bool) (t trial) {
	var mu sync.Mutex
	var errs []float64
	var beyond, bare []int64
	j.each(48/j.workers, func() {
		tr := &truth{base: c.base, locked: pinned}
		if pinned {
			runtime.LockOSThread()
		}
		time.Sleep(200 * time.Microsecond) // the data about the thread is out of date
		asked := Ticks()
		from := c.Start()
		if !c.rseq { // it reads after all other work
			tr.hi += Ticks() - asked
		}
		j.run(tr)
		asked = Ticks()
		to := c.Stop(from.Thread)
		tr.hi += Ticks() - asked // the reading is somewhere in between: a system call takes 1 µs or more
		if pinned {
			runtime.UnlockOSThread()
		}
		got := to.CPU - from.CPU - c.bias()
		slack := race.Slowdown * (c.base.FromNS(1500) + tr.lo/500)
		mu.Lock()
		defer mu.Unlock()
		t.all++
		if got >= tr.lo-slack && got <= tr.hi+slack {
			t.inside++
		}
		if j.block != nil {
			blocks := int64(j.rounds) * int64(j.blocks)
			beyond = append(beyond, max(got-(tr.hi-tr.allowed), 0)/blocks)
			bare = append(bare, tr.blocked/blocks)
		}
		errs = append(errs, float64(max(got-tr.hi, tr.lo-got, 0))/float64(tr.lo))
	})
	slices.Sort(errs)
	t.median = errs[len(errs)/2]
	if len(beyond) > 0 {
		slices.Sort(beyond)
		slices.Sort(bare)
		t.perBlock, t.bareBlock = beyond[len(beyond)/2], bare[len(bare)/2]
	}
	return t
}

// flatBlock is the allowed median cost of a blocking operation. If these blocks cost more by the
// system's thread clock, the clock may count blockSlack beyond that: the cost is due to the
// machine, but the addition is due to the clock.
const (
	flatBlock  = 10 * time.Microsecond
	blockSlack = 2 * time.Microsecond
)

// TestTruth requires only four measurements in five, in the best of four attempts, because the
// machine may be shared: time without a virtual processor looks like execution.
// TestTruthRejectsAWrongClock shows that a wrong clock is far from that.
func TestTruth(t *testing.T) {
	if !haveTSC {
		t.Skip("no counter of constant rate for the truth")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, source := range []Source{RefCyclesRDPMC, RefCyclesRead, RseqClock, MSRTSC, ThreadClock} {
		c, err := Open(source)
		if err != nil {
			t.Logf("not available here: %v", err)
			continue
		}
		for _, j := range jobs {
			t.Run(string(source)+"/"+j.name, func(t *testing.T) {
				startHogs(t, j.hogs)
				var r trial
				limit := 0.005 * race.Slowdown
				var most int64
				for range 4 {
					r = j.trials(c, true)
					most = race.Slowdown * max(c.base.FromNS(int64(flatBlock)), r.bareBlock+c.base.FromNS(int64(blockSlack)))
					t.Logf("%d of %d measurements inside their bracket, median relative distance from it %.4f; a block: %d ns, by the system's thread clock %d ns",
						r.inside, r.all, r.median, c.base.NS(r.perBlock), c.base.NS(r.bareBlock))
					if r.inside*10 >= r.all*8 && r.median <= limit && r.perBlock <= most {
						return
					}
				}
				t.Errorf("%d of %d measurements inside their bracket, median relative distance from it %.4f, %d ns a block; want at least 80 %%, at most %.4f and %d",
					r.inside, r.all, r.median, c.base.NS(r.perBlock), limit, c.base.NS(most))
			})
		}
	}
}

// The truth test must be able to fail: without the lock, goroutines that move between threads are
// measured wrongly.
func TestTruthRejectsAWrongClock(t *testing.T) {
	if !haveTSC {
		t.Skip("no counter of constant rate for the truth")
	}
	c := Default()
	if c.Info().Accuracy == UpperBound {
		t.Skip("no thread clock")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, j := range jobs {
		if j.workers == 1 || j.hogs > 0 {
			continue // cannot move
		}
		r := j.trials(c, false)
		t.Logf("%s, unpinned: %d of %d measurements inside their bracket", j.name, r.inside, r.all)
		if r.inside*10 >= r.all*8 {
			t.Errorf("%s: unpinned readings pass the truth test: %d of %d", j.name, r.inside, r.all)
		}
	}
}

// startHogs loads the machine with computing processes until the end of the test.
func startHogs(t *testing.T, n int) {
	t.Helper()
	for range n {
		hog := exec.Command(os.Args[0], "-test.run=^$")
		hog.Env = append(os.Environ(), "CYCLES_TEST_CHILD=hog", "GOMAXPROCS=1")
		if err := hog.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			hog.Process.Kill()
			hog.Wait()
		})
	}
	if n > 0 {
		time.Sleep(20 * time.Millisecond)
	}
}

func TestMain(m *testing.M) {
	switch child := os.Getenv("CYCLES_TEST_CHILD"); child {
	case "":
		os.Exit(m.Run())
	case "hog":
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		}
	default:
		childMain(child)
	}
}
