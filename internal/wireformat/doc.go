// Package wireformat decodes one generation of a Go execution trace, of Go 1.22 and later, without
// an allocation for each event.
//
// # The format
//
// A trace is a header of 16 bytes, "go 1.26 trace\x00\x00\x00", and generations of about a second
// each. All numbers are unsigned varints, as in package encoding/binary. A generation is a run of
// batches with the same number gen:
//
//	1 gen thread time size data[size]               events of one thread
//	49 experiment gen thread time size data[size]   data of an experiment
//
// A version of 1.26 or later ends a generation with a single byte 52. Before, a generation ends
// where gen changes. A generation is complete in itself: its header and its batches are a trace.
// The first byte of the data says what a batch holds:
//
//	2, 3 id n (pc func file line)·n …   call chains; func and file are numbers of strings
//	4, 5 id len bytes[len] …            strings
//	6, 7 time thread proc g stack …     samples of the CPU profiler
//	8 frequency                         units of time in a second (1.22, 1.23)
//	50, 8 frequency, 51 dt mono s ns    the same, and what all clocks showed (1.25 and later)
//
// Any other batch holds events of its thread, each a type, the units of time since the event before
// (since the time of the batch for the first), and up to four arguments. The number 0 is an empty
// string or call chain. The batches of a thread are in order in the file, those of different
// threads are not.
//
// # The order of events
//
// Clocks of processors differ, so times alone do not order the events of different threads. The
// decoder takes the event with the least time first, unless that cannot be the next one:
//
//   - A goroutine starts (GoStart) only when it is runnable, is unblocked (GoUnblock) only when it
//     waits, and the sequence number of the event is one more than that of the goroutine. The
//     number is 0 at a status (GoStatus) and at the creation.
//   - Likewise for processors: ProcStart needs an idle one, ProcSteal one whose thread is in a
//     system call, and the next sequence number; GoSyscallBegin has a number of the processor, too.
//   - A system call that lost its processor ends (GoSyscallEndBlocked) only after the thread has
//     lost it.
//   - The mark phases of the collector have numbers of their own.
//
// While the first thread has to wait, the other threads are tried in the order of time. An event
// that needs no other thread, such as GoBlock, can always come next; if it contradicts what is
// known, the trace is broken.
//
// The state that these rules need is small: for each thread its goroutine and processor, for each
// goroutine and processor a status and a number. Goroutines have indexes in the order in which they
// are met, and one hash table finds them; all else is arrays. The threads wait in a heap. A thread
// stays at its root while its next event precedes those of the others, which costs two comparisons.
//
// Two events never have the same time: the second one gets a nanosecond more. This rule, and the
// choice among events of the same time, are those of golang.org/x/exp/trace, so both packages give
// the same events in the same order with the same times.
//
// # Status events
//
// The first event of a generation that concerns a goroutine or processor is its status. The runtime
// omits one: a coroutine (iter.Pull) whose first event is its end (GoSwitchDestroy, Go 1.23 to
// 1.26) has let go of its goroutine by then. The decoder adds the status before that event, with
// the goroutine that Options.Running has for the thread.
package wireformat
