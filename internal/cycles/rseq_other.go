//go:build !linux

package cycles

import "errors"

func probeRseq(*Thread, *Timebase) error { return errors.New("rseq: Linux only") }

// readRseq and rereadRseq are never reached: probeRseq refuses.
func readRseq(*Timebase) Mark            { return Mark{Wall: ticks(), Thread: threads.current()} }
func rereadRseq(*Timebase, *Thread) Mark { return readRseq(nil) }
