//go:build !linux

package cycles

import (
	"errors"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/monotime"
)

// area is the thread state that Linux keeps outside the Go heap. On other systems only its life
// matters, which is that of a goroutine descriptor, which the runtime never frees.
type area struct{ life uint32 }

func newArea() *area { return new(area) }

func (a *area) enter() (tid int) {
	a.life = 1
	return 0
}

func (a *area) exists(int) bool { return true }

// sleepThread makes the calling thread sleep. The goroutine must be locked to it.
func sleepThread(d time.Duration) { time.Sleep(d) }

// identity is the same for all threads: only Linux has thread state.
func identity() uintptr { return 1 }

// here returns the turn of the calling goroutine.
func here() place { return place{turn: turn()} }

func findProcid() {}

// monotonic returns the runtime's monotonic clock at t, since the start of the process. On Windows
// its steps are 0.5 to 15 ms.
func monotonic(t time.Time) int64 { return int64(t.Sub(start)) }

// What the counter is calibrated against, and the largest step of that clock in seconds.
const (
	monotonicName = monotime.Source
	monotonicStep = 1e-6
)

func prepareRseq() {}

// Switches returns 0: this system has no counts for threads.
func Switches() int64 { return 0 }

func probeRseq(*Thread, *Timebase) error { return errors.New("rseq: Linux only") }

// Start reads the clock at the start of a measurement.
func (c *Clock) Start() Mark { return c.readSlow() }

// Stop reads the clock at the end of a measurement. likely is the thread at its start.
func (c *Clock) Stop(likely *Thread) Mark { return c.readSlow() }

func (c *Clock) stop(*place, *Thread) Mark { return c.readSlow() }

// Glance is Start.
func (c *Clock) Glance() Mark { return c.readSlow() }

// Brief reports whether less than limit ticks have passed since Glance returned start.
func (c *Clock) Brief(start *Mark, limit int64) bool { return ticks()-start.Wall < limit }
