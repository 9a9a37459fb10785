// Package monotime reads the monotonic clock as finely as the system lets a program read it.
//
// On Windows, package time steps by 0.5 to 15 ms: too coarse for how long a lock is held or a task
// takes. There, the performance counter is read instead, which steps by 100 ns on most machines.
// Elsewhere it is the clock of package time, with steps of 1 to 100 ns.
//
//	from := monotime.Now()
//	work()
//	took := time.Duration(monotime.Now() - from)
//
// A reading takes as long as time.Now on the system, and on Windows some 50 ns; it does not
// allocate.
package monotime
