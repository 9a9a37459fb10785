package contention

import (
	"slices"
	"strings"
	"time"
)

// Profile says who waited, who is to blame, and for how long. Wrapped locks and
// execution traces both give one.
//
// In each row of Waits, Waited == Blamed + HandOff + Unattributed, exactly; and the
// pairs with the same kind, lock, waiter and waiter's flags sum to its Blamed.
type Profile struct {
	// Source tells where the observations come from.
	Source Source
	// Accuracy tells how the blame was found.
	Accuracy Accuracy
	// Start is when collection began; zero if the source does not tell.
	Start time.Time
	// Duration is how long it went on.
	Duration time.Duration
	// Waits holds what waiters lost, each contention once. Sorted, longest Waited first.
	Waits []Wait
	// Pairs holds what is blamed on owners. Sorted, most Blamed first.
	Pairs []Pair
	// Locks are the locks that rows refer to, in the order of their IDs.
	Locks []*Lock
	// InFlight is the number of contentions that had begun but were not yet
	// settled, and so are in no row of Waits.
	InFlight int64
	// Unfinished has those of InFlight in which a goroutine was still blocked when the trace
	// ended, longest Waited first; and of wrapped locks, those that have lasted for 10 ms by
	// the time of the Snapshot. They are in no sum.
	Unfinished []Unfinished
	// Dropped counts what did not fit into bounded memory.
	Dropped Dropped
	// Warnings says in full sentences what limits the trust in the numbers.
	Warnings []string
	// Instances is the number of programs that the profile is about, if [Merge] has added
	// several; 0 is one. Duration is then the sum of theirs.
	Instances int

	piece Piece // what Merge has to know besides
}

// TellsReady reports whether the profile tells the time for which goroutines were ready after their
// waits from the waits: all Waited in it is then what they were blocked for.
func (p *Profile) TellsReady() bool {
	return p.Source == FromTrace || slices.ContainsFunc(p.Waits, func(w Wait) bool { return w.Ready > 0 })
}

// Unfinished is what goroutines waited for when the trace ended, or the Snapshot was taken.
type Unfinished struct {
	Kind   Kind
	Lock   string // as Lock.String names it
	Waiter Party
	// Holder is who holds the lock then, and where that goroutine is; of a wrapped lock, where
	// it took the lock. It is zero if it is not known: for wrapped locks, if that goroutine got
	// the lock without waiting.
	Holder Party
	// Count is how many goroutines wait, Waited for how long they have been blocked so far, all
	// together, and Longest for how long the first of them has.
	Count           int64
	Waited, Longest time.Duration
}

// Source is where a profile's observations come from.
type Source string

// The sources of profiles.
const (
	FromWrappers Source = "wrappers" // Mutex, RWMutex and Cond of this package, live
	FromTrace    Source = "trace"    // an execution trace
)

// Accuracy is how blame was found.
type Accuracy string

// The accuracies, best first. A profile has that of its least accurate part.
const (
	Exact    Accuracy = "exact"    // every owner noted when it came and left
	Sampled  Accuracy = "sampled"  // exact for a random part of the waits, scaled to all
	Inferred Accuracy = "inferred" // worked out from what is known of the owners
)

// Kind is what was waited for.
type Kind string

// The kinds of contention. Wrappers give the first four.
const (
	MutexKind         Kind = "mutex"
	RWMutexWriterKind Kind = "rwmutex-writer"
	RWMutexReaderKind Kind = "rwmutex-reader"
	CondKind          Kind = "cond"
	WaitGroupKind     Kind = "waitgroup"
	OnceKind          Kind = "once"
	ChanSendKind      Kind = "chan-send"
	ChanReceiveKind   Kind = "chan-receive"
	SelectKind        Kind = "select"
	SemaphoreKind     Kind = "semaphore"
	NetworkKind       Kind = "network"
	SleepKind         Kind = "sleep"
	GCKind            Kind = "gc"
	OtherKind         Kind = "other"
	// SyscallKind is a system call that lost its processor. A profile of a trace has them if
	// tracewaits.Options.Syscalls asks for them; an [Activity] always does.
	SyscallKind Kind = "syscall"
)

// Flags are circumstances of a wait or of an owner.
type Flags uint32

// The first group belongs to the waiter and is set in a Wait and in all of its
// Pairs; the second belongs to the owner and is set in a Pair only.
const (
	// Reacquire marks the wait for the lock at the end of Cond.Wait.
	Reacquire Flags = 1 << iota
	// Estimated marks waits that were sampled because the lock is hot, or that were behind an
	// owner which took the lock so often that not every hold of it was seen.
	Estimated

	// ReadOwner marks an owner that held the lock for reading.
	ReadOwner
	// PendingWriter marks a writer that did not hold the lock yet, but held back readers.
	PendingWriter
	// Signaller marks an owner that did not hold anything: it ended a wait on a
	// Cond by Signal or Broadcast.
	Signaller
	// InWait marks an owner that let go of the lock in Cond.Wait, and whose final
	// Unlock was not known yet: its call chain is that of the Wait.
	InWait

	// Logged belongs to the waiter, too: it marks waits of a trace that wrapped locks have told
	// exactly, by messages that they wrote into it.
	Logged
)

// WaiterFlags are the flags that belong to the waiter.
const WaiterFlags = Reacquire | Estimated | Logged

var flagNames = []string{"reacquire", "estimated", "read-owner", "pending-writer", "signaller", "in-wait", "logged"}

// String returns the names of the flags, such as "reacquire,read-owner".
func (f Flags) String() string {
	var names []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Party is one side of a contention.
type Party struct {
	// Goroutine is the id of the goroutine, 0 if rows are not kept apart by
	// goroutine or it is unknown.
	Goroutine uint64
	// Group names goroutines of one sort: the function that they were started with.
	Group string
	// Stack is the call chain; nil if unknown. The same chain is the same pointer
	// within a profile.
	Stack *Stack
}

// Stack is a call chain, leaf first.
type Stack struct {
	Frames []Frame
	// Truncated tells that the root is missing.
	Truncated bool
}

// Frame is one call.
type Frame struct {
	// Func is the full name of the function, such as "net/http.(*Server).Serve".
	Func string
	File string
	Line int
	// PC is the address of the call in the profiled program; 0 if unknown.
	PC uint64
}

// Lock is one thing that was waited for.
type Lock struct {
	// ID is unique within the profile.
	ID uint64
	// Name is what SetName or a New function was given; may be empty.
	Name string
	// Class puts locks of one sort together: the function that made the lock, if it
	// was made by a New function of this package; else the type whose method first
	// waited for it, or the function if it is not a method.
	Class string
	// Created is the call chain of the lock's creation; nil if unknown.
	Created *Stack
	// Waiters is the largest number of goroutines that waited at once, when one of
	// them was granted the lock.
	Waiters int
	// Longest is the longest single wait.
	Longest time.Duration
	// Contended is for how long the lock was held while a goroutine waited for it.
	Contended time.Duration
	// Hold is the median of the latest holds that a trace shows from beginning to end; 0 if
	// there are too few. Of several recordings, it is the longest.
	Hold time.Duration
}

// Wait is what goroutines with one call chain lost at one lock.
type Wait struct {
	Kind   Kind
	Lock   *Lock
	Waiter Party
	Flags  Flags
	// Contentions is the number of times they had to wait; if the waits were sampled, scaled. A
	// goroutine that was woken, lost the race for the lock and blocked again goes on with one
	// wait.
	Contentions int64
	// Parks is the number of times that they blocked, as the runtime's block and mutex profiles
	// count: once more for each race that was lost. Traces only; 0 for wrapped locks.
	Parks int64
	// Observed is the number of waits seen. Contentions is more if the waits were sampled.
	Observed int64
	// Waited is the time from asking for the lock to getting it; in a trace, the time that they
	// were blocked.
	Waited time.Duration
	// Ready is for how long they were ready then, and waited for a processor: it is not in
	// Waited. Traces only; wrapped locks cannot tell, and have it in Waited.
	Ready time.Duration
	// ReadyIdle is the part of Ready in which a processor was idle: the latency of the wake-up,
	// which is the price of blocking. In the rest, all processors were busy or stopped, which
	// is not the lock's doing.
	ReadyIdle time.Duration
	// StdErr is the standard error of Waited, if Estimated, else 0. It contains what is "[not
	// sampled]". With less than some 30 waits Observed, it is a rough guess itself.
	StdErr time.Duration
	// Blamed is the part of Waited during which known owners held the lock.
	Blamed time.Duration
	// HandOff is the part in which the lock was given to a goroutine that did not run yet.
	HandOff time.Duration
	// Unattributed is the part for which it is not known whether the lock was held, and by
	// which goroutine.
	Unattributed time.Duration
	// Longest is the longest single wait.
	Longest time.Duration
}

// Pair is what one waiter's call chain lost because of one owner's.
type Pair struct {
	Kind   Kind
	Lock   *Lock
	Waiter Party
	Owner  Party
	Flags  Flags
	// Contentions is the number of waits in which this owner held the lock. A wait
	// behind three owners counts in three pairs, so the sum over pairs is not the
	// number of contentions.
	Contentions int64
	// Blamed is the time.
	Blamed time.Duration
	// StdErr is the standard error of Blamed, if Estimated, else 0. It contains what is "[not
	// sampled]", and what is unattributed because not every hold of the owner was seen.
	StdErr time.Duration
	// Longest is the most that a single wait lost to the owner.
	Longest time.Duration
	// Activity is what the owner did during that time; its parts sum to Blamed. See
	// OwnerActivity.
	Activity Activity
	// Roots is who was at the end of the chains of blame that begin with the owner, if that was
	// itself blocked by others: they sum to Blamed. nil means the owner itself. See RootOwners.
	Roots []Root
}

// Dropped counts what did not fit into bounded memory. All of it is still in the
// totals, but under names such as "[call chains dropped]", or as unattributed.
type Dropped struct {
	// Chains is the number of captures whose call chain was not kept.
	Chains uint64
	// Locks is the number of locks that were put together as "[other locks]".
	Locks uint64
	// Pairs is the number of times a wait or a part of it was put into a row without call
	// chains.
	Pairs uint64
	// Exits is the number of releases that were not kept while a wait went on: what
	// they explain is unattributed.
	Exits uint64
}
