//go:build !windows

// Package monotime reads the monotonic clock as finely as the system lets a program read it.
//
// It is the clock of package time, with steps of 1 to 100 ns. On Windows, where that steps by 0.5 to
// 15 ms, it is the performance counter, which steps by 100 ns on most machines. A reading takes as
// long as time.Now, on Windows some 50 ns, and does not allocate.
package monotime

import "time"

// Source is what is read.
const Source = "the system's monotonic clock"

// epoch is so long ago that the clock of package testing/synctest, which begins with the year 2000,
// is after it: a reading is not negative.
var epoch = time.Now().Add(-60 * 365 * 24 * time.Hour)

// Now returns nanoseconds since a moment in the past that is the same in the whole process; always
// positive. In a bubble of testing/synctest it is the bubble's time.
func Now() int64 { return int64(time.Since(epoch)) }

// Time returns the time of day of a reading.
func Time(ns int64) time.Time { return epoch.Add(time.Duration(ns)) }
