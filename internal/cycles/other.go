//go:build !linux

package cycles

import (
	"errors"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// area is what Linux keeps outside the Go heap; elsewhere only its life matters,
// and that is the life of a goroutine structure, which the runtime never frees.
type area struct{ life uint32 }

func newArea() *area { return new(area) }

func (a *area) enter() (tid int) {
	a.life = 1
	return 0
}

func (a *area) exists(int) bool { return true }

// sleepThread lets the calling thread, to which the goroutine is locked, sleep.
func sleepThread(d time.Duration) { time.Sleep(d) }

// identifyByNumber has nothing to do: the kernel is given no address.
func identifyByNumber() {}

// identity is the same for all threads: outside of Linux nothing is kept for a thread.
func identity() uintptr { return 1 }

// here returns the turn of the calling goroutine.
func here() place { return place{turn: turn()} }

func findProcid() {}

// monotonic returns the runtime's monotonic clock at t, from the start of the process. On Windows
// it steps by 0.5 to 15 ms.
func monotonic(t time.Time) int64 { return int64(t.Sub(start)) }

// What the counter is calibrated against, and by how many seconds it steps, at most.
const (
	monotonicName = monotime.Source
	monotonicStep = 1e-6
)

func probeRseq(*Thread, *Timebase) error { return errors.New("rseq: Linux only") }

// Start reads the clock at the begin of a measurement.
func (c *Clock) Start() Mark { return c.readSlow() }

// Stop reads the clock at the end of a measurement. The thread at the begin is
// most likely the one to be read.
func (c *Clock) Stop(likely *Thread) Mark { return c.readSlow() }
