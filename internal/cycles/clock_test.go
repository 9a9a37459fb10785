package cycles

import (
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// accuracies has the accuracy that each source must have.
var accuracies = map[Source][]Accuracy{
	RefCyclesRDPMC: {Counted, CountedUser},
	RefCyclesRead:  {Counted, CountedUser},
	RseqClock:      {ThreadTime},
	MSRTSC:         {ThreadTime},
	ThreadClock:    {ThreadTime},
	WallTSC:        {UpperBound},
}

func TestLabels(t *testing.T) {
	t.Log(Default().Info())
	for _, why := range Default().Info().Refused {
		t.Log("refused:", why)
	}
	for _, s := range Ladder {
		c, err := Open(s)
		if err != nil {
			t.Logf("%v", err)
			continue
		}
		info := c.Info()
		t.Log(info)
		if info.Source != s || info.Accuracy != accuracies[s][0] && info.Accuracy != accuracies[s][len(accuracies[s])-1] {
			t.Errorf("%s is labelled %s, %s", s, info.Source, info.Accuracy)
		}
		if info.Hz == 0 || info.HzOrigin == "" || haveTSC && info.HzPPM == 0 {
			t.Errorf("%s does not name its frequency and the origin of that: %+v", s, info)
		}
	}
	for _, s := range []Source{RefCyclesRDPMC, RefCyclesRead, MSRTSC} {
		if _, err := Open(s); !haveTSC && (err == nil || !strings.Contains(err.Error(), errNoTSC.Error())) {
			t.Errorf("%s without a counter for its frequency: %v", s, err)
		}
	}
	if _, err := Open("trace-running"); err == nil {
		t.Error("a source that only traces have was opened")
	}
}

// A single sleep during which the hypervisor took the processor does not reject a source for good.
// The next source would count all sleeps.
func TestProbeSleepsAgain(t *testing.T) {
	for _, tt := range []struct {
		counts []float64
		still  bool
	}{{[]float64{0.01}, true}, {[]float64{0.7, 0.02}, true}, {[]float64{1, 1, 0.9, 1, 1}, false}} {
		n := 0
		err := standsStill(func() float64 { n++; return tt.counts[n-1] })
		if (err == nil) != tt.still || n != len(tt.counts) {
			t.Errorf("%g cycles a tick of sleeping: %v, after %d", tt.counts, err, n)
		}
	}
}

func TestTimebase(t *testing.T) {
	b := TimebaseOf()
	if b.PPM < 0 || b.PPM > 500 {
		t.Errorf("frequency known to %g ppm; want less than 500", b.PPM)
	}
	tick := int64(math.Ceil(max(b.nsTick, 1)))
	for _, ns := range []int64{0, 1000, 1e9, 3600e9} {
		if got := b.NS(b.FromNS(ns)); got < ns-tick || got > ns+tick {
			t.Errorf("%d ns became %d; a tick has %g", ns, got, b.nsTick)
		}
	}
	now := time.Now()
	if off := time.Duration(b.Monotonic(Ticks()) - monotonic(now)); off < -time.Millisecond || off > time.Second {
		t.Errorf("the counter is off by %v from the monotonic clock", off)
	}
	// Two calibrations agree within their stated errors.
	again := calibrate(20*time.Millisecond, func() {})
	if diff := (again.Hz/b.Hz - 1) * 1e6; diff > 3*(b.PPM+again.PPM)+5 || -diff > 3*(b.PPM+again.PPM)+5 {
		t.Errorf("calibrated %f ± %g ppm and %f ± %g ppm", b.Hz, b.PPM, again.Hz, again.PPM)
	}
}

func TestUnlockedIsNoticed(t *testing.T) {
	c := Default()
	marks := make(chan Mark)
	release := make(chan bool)
	for range 2 {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			marks <- c.Start()
			<-release // the other one is on another thread
		}()
	}
	a, b := <-marks, <-marks
	if _, _, ok := c.elapsed(&a, &b); ok {
		t.Error("readings of two threads were taken for one measurement")
	}
	close(release)
}

// elapsed returns the cycles executed and the ticks passed between two readings, without the least
// cost of a pair of readings, and whether both are of one thread.
func (c *Clock) elapsed(start, stop *Mark) (cycles, wall int64, ok bool) {
	return max(stop.CPU-start.CPU-c.bias(), 0), stop.Wall - start.Wall, start.Thread == stop.Thread
}

var biases sync.Map // by *Clock

// bias returns the least difference of two consecutive readings.
func (c *Clock) bias() int64 {
	if v, ok := biases.Load(c); ok {
		return v.(int64)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := int64(math.MaxInt64)
	for range 200 {
		from := c.Start()
		least = min(least, max(c.Stop(from.Thread).CPU-from.CPU, 0))
	}
	biases.Store(c, least)
	return least
}

func TestManyThreads(t *testing.T) {
	const n = 200
	var mu sync.Mutex
	seen := map[*Thread]bool{}
	index := map[int]bool{}
	var started, wg sync.WaitGroup
	started.Add(n)
	for range n {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			th := threads.current()
			mu.Lock()
			seen[th], index[th.Index] = true, true
			mu.Unlock()
			started.Done()
			started.Wait() // all hold their threads now
			if again := threads.current(); again != th {
				t.Error("the same thread was found twice")
			}
		})
	}
	wg.Wait()
	if len(seen) != n || len(index) != n {
		t.Errorf("%d threads have %d entries with %d indexes", n, len(seen), len(index))
	}
}

func TestReadingDoesNotAllocate(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, s := range Ladder {
		c, err := Open(s)
		if err != nil {
			continue
		}
		c.Start()
		if n := testing.AllocsPerRun(100, func() { c.Start(); c.Stop(nil) }); n != 0 && runtime.GOOS == "linux" {
			t.Errorf("%s: %g allocations a measurement", s, n)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, s := range Ladder {
		c, err := Open(s)
		if err != nil {
			continue
		}
		b.Run(string(s), func(b *testing.B) {
			for b.Loop() {
				c.Stop(nil)
			}
		})
	}
	b.Run("ticks alone", func(b *testing.B) {
		for b.Loop() {
			Ticks()
		}
	})
}
