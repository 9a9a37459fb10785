//go:build !linux

package cycles

import "errors"

func probeRseq(*Thread, *Timebase) error { return errors.New("rseq: Linux only") }

// Start reads the clock at the begin of a measurement.
func (c *Clock) Start() Mark { return c.readSlow() }

// Stop reads the clock at the end of a measurement. The thread at the begin is
// most likely the one to be read.
func (c *Clock) Stop(likely *Thread) Mark { return c.readSlow() }
