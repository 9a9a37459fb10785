// Package rand has random numbers that are 0 in some runs, and 1 in others.
package rand

import "model/sched"

func Uint32() uint32 { return uint32(sched.Choose(2)) }
