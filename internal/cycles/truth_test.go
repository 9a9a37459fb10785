package cycles

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// truth is what a piece of work really executed: at least lo and at most hi ticks.
//
// The work is spinning in a loop that reads the TSC. A step that takes less
// than a microsecond was executed. A longer one is an interrupt, which a counter may or
// may not charge to the thread, or a stay off the processor, which it must not: up to 50 µs
// it widens the bracket, beyond that by two interrupts, which begin and end the stay. Each
// blocking operation of the work may cost 10 µs (switching threads, and what the scheduler does
// on the thread), or what nine in ten of them cost by the system's own thread clock in the
// same run where that is more: on virtual machines waking a thread can take 25 µs. The median
// block must do with 10 µs, or with what the median one costs by that clock where that is more.
type truth struct {
	base      *Timebase
	lo, hi    int64
	blockCost int64
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
	hogs    int // other processes that compute meanwhile
	rounds  int
	spin    time.Duration
	blocks  int    // how often one call of block blocks
	block   func() // nil: the work does not block
}

func (j job) run(tr *truth) {
	for range j.rounds {
		tr.spin(j.spin)
		if j.block != nil {
			j.block()
			tr.hi += tr.blockCost
		}
	}
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

// trial is what many measurements of a job came to.
type trial struct {
	inside, all int     // how many lay in their brackets
	median      float64 // of the relative distance from it
	perBlock    int64   // median of the ticks beyond the bracket, were nothing allowed for blocks, by block
}

// trials measures the job with the clock.
func (j job) trials(c *Clock, pinned bool, blockCost int64) (t trial) {
	var mu sync.Mutex
	var errs []float64
	var beyond []int64
	j.each(48/j.workers, func() {
		tr := &truth{base: c.Timebase(), blockCost: blockCost}
		if pinned {
			runtime.LockOSThread()
		}
		time.Sleep(200 * time.Microsecond) // what is known of the thread is out of date
		from := c.Start()
		j.run(tr)
		to := c.Stop(from.Thread)
		if pinned {
			to.Thread.Leave()
			runtime.UnlockOSThread()
		}
		got := to.CPU - from.CPU - c.bias
		slack := raceSlow * (c.Timebase().FromNS(1500) + tr.lo/500)
		mu.Lock()
		defer mu.Unlock()
		t.all++
		if got >= tr.lo-slack && got <= tr.hi+slack {
			t.inside++
		}
		if j.block != nil {
			rounds := int64(j.rounds)
			beyond = append(beyond, max(got-(tr.hi-rounds*blockCost), tr.lo-got, 0)/(rounds*int64(j.blocks)))
		}
		errs = append(errs, float64(max(got-tr.hi, tr.lo-got, 0))/float64(tr.lo))
	})
	slices.Sort(errs)
	slices.Sort(beyond)
	t.median = errs[len(errs)/2]
	if len(beyond) > 0 {
		t.perBlock = beyond[len(beyond)/2]
	}
	return t
}

// flatBlock is what a blocking operation may cost, at the median. Where the machine's own blocks cost more by the
// system's thread clock, in the same run, the clock may be blockSlack beyond a quarter more than those: the cost is the machine's, but
// what is added to it is the clock's.
const (
	flatBlock  = 10 * time.Microsecond
	blockSlack = 2 * time.Microsecond
)

// TestTruth asks only for four measurements in five, in the best of four attempts, because
// the machine may be shared: a virtual processor that is taken away looks like executing.
// TestTruthHasTeeth shows that a wrong clock is far from that.
func TestTruth(t *testing.T) {
	if !haveTSC {
		t.Skip("no counter of constant rate to know the truth by")
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
				limit := 0.005 * raceSlow
				var most int64
				for range 4 {
					cost, bare := j.blockCost(c.Timebase())
					most = raceSlow * max(c.Timebase().FromNS(int64(flatBlock)), bare*5/4+c.Timebase().FromNS(int64(blockSlack)))
					r = j.trials(c, true, cost)
					t.Logf("%d of %d measurements inside their bracket, median relative distance from it %.4f; allowed for a block: %d ns, median used of it: %d ns; bare: %d ns",
						r.inside, r.all, r.median, c.Timebase().NS(cost), c.Timebase().NS(r.perBlock), c.Timebase().NS(bare))
					if r.inside*10 >= r.all*8 && r.median <= limit && r.perBlock <= most {
						return
					}
				}
				t.Errorf("%d of %d measurements inside their bracket, median relative distance from it %.4f, %d ns a block; want at least 80 %%, at most %.4f and %d",
					r.inside, r.all, r.median, c.Timebase().NS(r.perBlock), limit, c.Timebase().NS(most))
			})
		}
	}
}

// The truth test must be able to fail: without the lock, goroutines that move
// between threads are measured wrongly.
func TestTruthHasTeeth(t *testing.T) {
	if !haveTSC {
		t.Skip("no counter of constant rate to know the truth by")
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
		cost, _ := j.blockCost(c.Timebase())
		r := j.trials(c, false, cost)
		t.Logf("%s, unpinned: %d of %d measurements inside their bracket", j.name, r.inside, r.all)
		if r.inside*10 >= r.all*8 {
			t.Errorf("%s: unpinned readings pass the truth test: %d of %d", j.name, r.inside, r.all)
		}
	}
}

// startHogs burdens the machine with other processes that compute, until the test ends.
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
