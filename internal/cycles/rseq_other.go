//go:build !linux

package cycles

import "errors"

func probeRseq(*Thread, *Timebase) error { return errors.New("rseq: Linux only") }

// readRseq is never reached: probeRseq refuses.
func readRseq(*Timebase, bool) Mark { return Mark{Wall: ticks(), Thread: threads.current()} }
