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
// on the thread), or what this very operation cost by the system's own thread clock, and 2 µs for
// reading that, where that is more: on virtual machines waking a thread can take 25 µs.
type truth struct {
	base    *Timebase
	lo, hi  int64
	locked  bool  // the goroutine is, to its thread
	allowed int64 // of hi, for blocks
	blocked int64 // what the blocks cost by the system's thread clock; 0 where that is not known
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
			tr.block(j)
		}
	}
}

// block blocks, and widens the bracket by what that may cost.
func (tr *truth) block(j job) {
	if !tr.locked { // readings on different threads tell nothing
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

// trial is what many measurements of a job came to.
type trial struct {
	inside, all int     // how many lay in their brackets
	median      float64 // of the relative distance from it
	perBlock    int64   // median of the ticks beyond the bracket, were nothing allowed for blocks, by block
	bareBlock   int64   // median of what those blocks cost by the system's thread clock, by block
}

// trials measures the job with the clock.
func (j job) trials(c *Clock, pinned bool) (t trial) {
	var mu sync.Mutex
	var errs []float64
	var beyond, bare []int64
	j.each(48/j.workers, func() {
		tr := &truth{base: c.Timebase(), locked: pinned}
		if pinned {
			runtime.LockOSThread()
		}
		time.Sleep(200 * time.Microsecond) // what is known of the thread is out of date
		asked := Ticks()
		from := c.Start()
		if !c.rseq { // which reads when all other work is done
			tr.hi += Ticks() - asked
		}
		j.run(tr)
		asked = Ticks()
		to := c.Stop(from.Thread)
		tr.hi += Ticks() - asked // the reading is somewhere in between: a system call takes 1 µs or more after other work
		if pinned {
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

// flatBlock is what a blocking operation may cost, at the median. Where these very blocks cost more
// by the system's thread clock, the clock may count blockSlack beyond that: the cost is the
// machine's, but what is added to it is the clock's.
const (
	flatBlock  = 10 * time.Microsecond
	blockSlack = 2 * time.Microsecond
)

// TestTruth requires only four measurements in five, in the best of four attempts, because the
// machine may be shared: time without a virtual processor looks like execution.
// TestTruthRejectsAWrongClock shows that a wrong clock is far from that.
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
					r = j.trials(c, true)
					most = raceSlow * max(c.Timebase().FromNS(int64(flatBlock)), r.bareBlock+c.Timebase().FromNS(int64(blockSlack)))
					t.Logf("%d of %d measurements inside their bracket, median relative distance from it %.4f; a block: %d ns, by the system's thread clock %d ns",
						r.inside, r.all, r.median, c.Timebase().NS(r.perBlock), c.Timebase().NS(r.bareBlock))
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

// The truth test must be able to fail: without the lock, goroutines that move between threads are
// measured wrongly.
func TestTruthRejectsAWrongClock(t *testing.T) {
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
		r := j.trials(c, false)
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
