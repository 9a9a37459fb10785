// Package monotime reads the monotonic clock as finely as the system lets a program read it.
//
// It is the clock of package time, with steps of 1 to 100 ns. On Windows, where that steps by 0.5 to
// 15 ms, it is the performance counter, which steps by 100 ns on most machines. A reading takes as
// long as time.Now, on Windows some 50 ns, and does not allocate.
package monotime
