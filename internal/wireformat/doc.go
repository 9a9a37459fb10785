// Package wireformat reads one generation of a Go execution trace, of Go 1.22 and later: its tables at
// once, and the events of each thread one by one, without allocating for each event. Package
// timeline puts the events of all threads in order and records them (wireorder.go).
//
// # The format
//
// A trace is a header of 16 bytes, "go 1.26 trace\x00\x00\x00", followed by generations of about a
// second each. All numbers are unsigned varints, as in package encoding/binary. A generation is a
// sequence of batches with the same number gen:
//
//	1 gen thread time size data[size]               events of one thread
//	49 experiment gen thread time size data[size]   data of an experiment
//
// Version 1.26 and later end a generation with a single byte 52. In earlier versions, a generation
// ends where gen changes. A generation is self-contained: the header and its batches are a trace.
// The first byte of the data is the type of the batch:
//
//	2, 3 id n (pc func file line)·n …   call chains; func and file are numbers of strings
//	4, 5 id len bytes[len] …            strings
//	6, 7 time thread proc g stack …     samples of the CPU profiler
//	8 frequency                         units of time in a second (1.22, 1.23)
//	50, 8 frequency, 51 dt mono s ns    the same, and what all clocks showed (1.25 and later)
//
// All other batches hold events of their thread. An event is a type, the time units since the
// previous event (since the time of the batch for the first one), and up to four arguments. The
// number 0 is an empty string or call chain. The batches of one thread are in order in the file;
// those of different threads are not.
//
// # The order of events
//
// Clocks of different processors differ, so times alone do not order the events of different
// threads. The decoder takes the event with the smallest time first, unless it cannot be the next
// one:
//
//   - A goroutine starts (GoStart) only if it is runnable, and is unblocked (GoUnblock) only if it
//     waits. In addition, the sequence number of the event must be one more than that of the
//     goroutine, which is 0 at a status (GoStatus) and at the creation.
//   - The same holds for processors: ProcStart needs an idle processor, ProcSteal one whose thread
//     is in a system call, and both the next sequence number. GoSyscallBegin also has a sequence
//     number of the processor.
//   - A system call that lost its processor ends (GoSyscallEndBlock) only after the thread has
//     lost the processor.
//   - The mark phases of the garbage collector have their own sequence numbers.
//
// While the first thread has to wait, the other threads are tried in the order of time. An event
// that does not depend on other threads, such as GoBlock, can always come next. If it contradicts
// the state, the trace is damaged.
//
// These rules need little state: for each thread its goroutine and processor, and for each
// goroutine and processor a status and a sequence number. They are in arrays, in order of
// appearance, and found by one table each ([Numbers]). The threads are in a heap. A thread
// stays at the root of the heap while its next event is not later than those of the others, which
// costs one comparison.
//
// No two events have the same time: the second one is moved by one nanosecond. This rule, and the
// order of events with equal times, are those of golang.org/x/exp/trace, so both packages produce
// the same events in the same order with the same times.
//
// # Status events
//
// The first event of a generation that concerns a goroutine or processor is its status. The runtime
// omits one status: a coroutine (iter.Pull) whose first event is its end (GoSwitchDestroy, Go 1.23
// to 1.26) is already detached from its goroutine by then. The decoder adds the status before that
// event.
package wireformat
