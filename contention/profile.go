package contention

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Profile lists who waited, who is to blame, and for how long. Wrapped locks and
// execution traces both give one.
//
// In each row of Waits, Waited == Blamed + HandOff + Unattributed, exactly; and the
// pairs with the same kind, lock, waiter and waiter's flags sum to its Blamed.
type Profile struct {
	// Source is where the observations come from.
	Source Source `json:"source"`
	// Accuracy is how the blame was found.
	Accuracy Accuracy `json:"accuracy"`
	// Start is when collection began; zero if it is not known.
	Start time.Time `json:"start"`
	// Duration is how long it went on.
	Duration time.Duration `json:"duration_ns"`
	// Waits holds what waiters lost, each contention once. Sorted, longest Waited first.
	Waits []Wait `json:"waits"`
	// Pairs holds what is blamed on owners. Sorted, most Blamed first.
	Pairs []Pair `json:"pairs"`
	// Locks are the locks that rows refer to, in the order of their IDs.
	Locks []*Lock `json:"locks"`
	// InFlight is the number of contentions that had begun but were not yet
	// settled, and so are in no row of Waits.
	InFlight int64 `json:"in_flight"`
	// Unfinished has those of InFlight in which a goroutine was still blocked when the trace
	// ended, longest Waited first; of wrapped locks, those that had lasted for 10 ms at the
	// Snapshot, at most 128 of a lock. They are in no sum.
	Unfinished []Unfinished `json:"unfinished"`
	// Dropped counts what did not fit into bounded memory.
	Dropped Dropped `json:"dropped"`
	// Warnings has a sentence for each limit to the trust in the numbers.
	Warnings []string `json:"warnings"`
	// Instances is the number of programs that the profile is about, if [Merge] has added
	// several; 0 is one. Duration is then the sum of theirs.
	Instances int `json:"instances,omitempty"`

	piece Piece // for Merge
}

// TellsReady reports whether the profile separates the time for which goroutines were ready after
// their waits: then Waited is the time for which they were blocked.
func (p *Profile) TellsReady() bool {
	return p.Source == FromTrace || slices.ContainsFunc(p.Waits, func(w Wait) bool { return w.Ready > 0 })
}

// Unfinished is what goroutines waited for when the trace ended, or the Snapshot was taken.
type Unfinished struct {
	Kind   Kind   `json:"kind"`
	Lock   string `json:"lock"` // as Lock.String returns it
	Waiter Party  `json:"-"`
	// Holder is the goroutine that holds the lock then, with its call chain; of a wrapped lock,
	// that of the Lock. It is zero if it is not known: a goroutine that got a wrapped lock without
	// waiting leaves no trace.
	Holder Party `json:"-"`
	// Count is how many goroutines wait, Waited for how long they have been blocked so far, all
	// together, and Longest for how long the first of them has.
	Count   int64         `json:"count"`
	Waited  time.Duration `json:"wait_ns"`
	Longest time.Duration `json:"longest_ns"`
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

// Kinds lists all kinds.
var Kinds = []Kind{
	MutexKind, RWMutexWriterKind, RWMutexReaderKind, CondKind, WaitGroupKind, OnceKind, ChanSendKind,
	ChanReceiveKind, SelectKind, SemaphoreKind, NetworkKind, SleepKind, GCKind, OtherKind, SyscallKind,
}

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

	// Logged belongs to the waiter, too: it marks waits that wrapped locks have written into the
	// trace, exactly.
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
	Frames []Frame `json:"frames"`
	// Truncated is set if the root is missing.
	Truncated bool `json:"truncated"`
}

// Frame is one call.
type Frame struct {
	// Func is the full name of the function, such as "net/http.(*Server).Serve".
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
	// PC is the address of the call in the profiled program; 0 if unknown.
	PC uint64 `json:"pc"`
}

// Lock is one thing that was waited for.
type Lock struct {
	// ID is unique within the profile.
	ID uint64 `json:"id"`
	// Name is what SetName or a New function was given; may be empty.
	Name string `json:"name"`
	// Class puts locks of one sort together: the function that made the lock, if it
	// was made by a New function of this package; else the type whose method first
	// waited for it, or the function if it is not a method.
	Class string `json:"class"`
	// Created is the call chain of the lock's creation; nil if unknown.
	Created *Stack `json:"-"`
	// Waiters is the largest number of goroutines that waited at once, when one of
	// them was granted the lock.
	Waiters int `json:"waiters"`
	// Longest is the longest single wait.
	Longest time.Duration `json:"longest_ns"`
	// Contended is for how long the lock was held while a goroutine waited for it.
	Contended time.Duration `json:"contended_ns"`
	// Hold is the median of the latest holds that a trace shows from beginning to end; 0 if
	// there are too few. Of several recordings, it is the longest.
	Hold time.Duration `json:"hold_ns,omitempty"`
}

// Wait is what goroutines with one call chain lost at one lock.
type Wait struct {
	Kind   Kind  `json:"-"`
	Lock   *Lock `json:"-"`
	Waiter Party `json:"-"`
	Flags  Flags `json:"-"`
	// Contentions is the number of times they had to wait; if the waits were sampled, scaled. A
	// goroutine that was woken, lost the race for the lock and blocked again goes on with one
	// wait.
	Contentions int64 `json:"contentions"`
	// Parks is the number of times that they blocked, as the runtime's block and mutex profiles
	// count: once more for each race that was lost. Traces only; 0 for wrapped locks.
	Parks int64 `json:"parks"`
	// Observed is the number of waits seen. Contentions is more if the waits were sampled.
	Observed int64 `json:"observed"`
	// Waited is the time from asking for the lock to getting it; in a trace, the time that they
	// were blocked.
	Waited time.Duration `json:"wait_ns"`
	// Ready is for how long they were ready then, and waited for a processor: it is not in
	// Waited. Traces only: of wrapped locks, Waited contains it.
	Ready time.Duration `json:"ready_ns"`
	// ReadyIdle is the part of Ready in which a processor was idle: the latency of the wake-up,
	// which is the price of blocking. In the rest, all processors were busy or stopped, which
	// is not the lock's doing.
	ReadyIdle time.Duration `json:"ready_idle_ns"`
	// StdErr is the standard error of Waited, if Estimated, else 0. It contains what is "[not
	// sampled]". With less than some 30 waits Observed, it is a rough guess itself.
	StdErr time.Duration `json:"stderr_ns,omitempty"`
	// Blamed is the part of Waited during which known owners held the lock.
	Blamed time.Duration `json:"blamed_ns"`
	// HandOff is the part in which the lock was given to a goroutine that did not run yet.
	HandOff time.Duration `json:"handoff_ns"`
	// Unattributed is the part for which it is not known whether the lock was held, and by
	// which goroutine.
	Unattributed time.Duration `json:"unattributed_ns"`
	// Longest is the longest single wait.
	Longest time.Duration `json:"longest_ns"`
}

// Pair is what one waiter's call chain lost because of one owner's.
type Pair struct {
	Kind   Kind  `json:"-"`
	Lock   *Lock `json:"-"`
	Waiter Party `json:"-"`
	Owner  Party `json:"-"`
	Flags  Flags `json:"-"`
	// Contentions is the number of waits in which this owner held the lock. A wait
	// behind three owners counts in three pairs, so the sum over pairs is not the
	// number of contentions.
	Contentions int64 `json:"contentions"`
	// Blamed is the time.
	Blamed time.Duration `json:"wait_ns"`
	// StdErr is the standard error of Blamed, if Estimated, else 0. It contains what is "[not
	// sampled]", and what is unattributed because not every hold of the owner was seen.
	StdErr time.Duration `json:"stderr_ns,omitempty"`
	// Longest is the most that a single wait lost to the owner.
	Longest time.Duration `json:"longest_ns"`
	// Activity is what the owner did during that time; its parts sum to Blamed. See
	// OwnerActivity.
	Activity Activity `json:"owner_activity"`
	// Roots is who was at the end of the chains of blame that begin with the owner, if that was
	// itself blocked by others: they sum to Blamed. nil means the owner itself. See RootOwners.
	Roots []Root `json:"roots"`
}

// rowKey identifies a row within a profile. The owner is empty in Waits.
type rowKey struct {
	kind          Kind
	lock          *Lock
	waiter, owner Party
	flags         Flags
}

func (w *Wait) key() rowKey {
	return rowKey{kind: w.Kind, lock: w.Lock, waiter: w.Waiter, flags: w.Flags}
}

// waiterKey returns the key of the Wait that q is a part of.
func (q *Pair) waiterKey() rowKey {
	return rowKey{kind: q.Kind, lock: q.Lock, waiter: q.Waiter, flags: q.Flags & WaiterFlags}
}

// Dropped counts what did not fit into bounded memory. All of it is still in the
// totals, but under names such as "[call chains dropped]", or as unattributed.
type Dropped struct {
	// Chains is the number of captures whose call chain was not kept.
	Chains uint64 `json:"chains"`
	// Locks is the number of locks that were put together as "[other locks]".
	Locks uint64 `json:"locks"`
	// Pairs is the number of times a wait or a part of it was put into a row without call
	// chains.
	Pairs uint64 `json:"pairs"`
	// Exits is the number of releases that were not kept while a wait went on: what
	// they explain is unattributed.
	Exits uint64 `json:"exits"`
}

// Activity is what owners did while they were waited for. In a profile, the parts sum to
// what is blamed on them, exactly.
//
// An execution trace has the state of each goroutine at each instant. Wrapped locks record waits for
// wrapped locks and Conds only: all else is Unknown there.
type Activity struct {
	// Running is the time in which they executed code, or a system call that kept its
	// processor. The operating system may have taken the thread off its core during that time.
	Running time.Duration `json:"running_ns"`
	// Runnable is the time in which they were ready but had no processor.
	Runnable time.Duration `json:"runnable_ns"`
	// Blocked is the time in which they waited themselves, by what for. It is nil if they did
	// not. Treat it as read-only.
	Blocked map[Kind]time.Duration `json:"blocked_ns"`
	// Unknown is the rest, such as the time before the owner's goroutine was started.
	Unknown time.Duration `json:"unknown_ns"`
}

// Total returns the sum of all parts.
func (a Activity) Total() time.Duration { return a.Running + a.Runnable + a.BlockedTotal() + a.Unknown }

// BlockedTotal returns the sum of Blocked.
func (a Activity) BlockedTotal() (d time.Duration) {
	for _, b := range a.Blocked {
		d += b
	}
	return d
}

// BlockedKinds returns the keys of Blocked, the longest first.
func (a Activity) BlockedKinds() []Kind {
	var kinds []Kind
	for _, k := range Kinds { // in a fixed order if they are equal
		if a.Blocked[k] != 0 {
			kinds = append(kinds, k)
		}
	}
	slices.SortStableFunc(kinds, func(x, y Kind) int { return int(min(1, max(-1, a.Blocked[y]-a.Blocked[x]))) })
	return kinds
}

// add adds sign times b to a, whose map must be its own.
func (a *Activity) add(b Activity, sign time.Duration) {
	a.Running += sign * b.Running
	a.Runnable += sign * b.Runnable
	a.Unknown += sign * b.Unknown
	for k, d := range b.Blocked {
		if a.Blocked == nil {
			a.Blocked = make(map[Kind]time.Duration)
		}
		if a.Blocked[k] += sign * d; a.Blocked[k] == 0 {
			delete(a.Blocked, k)
		}
	}
	if len(a.Blocked) == 0 {
		a.Blocked = nil
	}
}

// Plus returns the sum of a and b.
func (a Activity) Plus(b Activity) Activity {
	c := a.clone()
	c.add(b, 1)
	return c
}

// clone returns a with a map of its own.
func (a Activity) clone() (c Activity) {
	c.add(a, 1)
	return c
}

// OwnerActivity returns q.Activity such that its parts sum to Blamed: in a profile that was made by
// hand, what is missing is Unknown.
func (q *Pair) OwnerActivity() Activity {
	a := q.Activity
	a.Unknown += q.Blamed - a.Total()
	return a
}

// Chains of blame
//
// An owner may itself be blocked while others wait for it: it waits for a second lock, or for a
// channel. Then the goroutine that it waits for is to blame for both waits, and may be blocked as
// well. The root owner is at the end of this chain: a goroutine that does not wait for another one.
// A wait is split among root owners by the time for which each was at the end.
//
// The chain ends
//
//   - with a goroutine that runs, is runnable, or does what is not known;
//   - with one that waits for what no goroutine is blamed for: a timer, the network, a system call, or a
//     lock that was given to a goroutine that does not run yet;
//   - with no goroutine that is known, if a goroutine waits for a lock whose owner is not known.
//
// Each goroutine's past is written with the roots of its waits as soon as they are over. Owners
// that delayed a wait have ended their own waits before, so the roots are there when they are
// needed: no chain has to be followed twice, none can be a circle, and a long one costs no more
// than a short one.

// Root is the goroutine at the end of a chain of blame, and its part of a [Pair].
type Root struct {
	// Owner is who is at the end of the chain, with the call chain by which it ended
	// the wait of the one before: the Unlock, the send. It is zero if that is not known.
	Owner Party `json:"-"`
	// Via is what the owner of the pair was blocked on during that time. It is empty if it was
	// not blocked on anybody: the root is then the owner of the pair itself.
	Via Kind `json:"via"`
	// Links is how many goroutines of the chain were blocked, from the owner of the pair on;
	// the most if there were several chains. It is 0 if the root is the owner of the pair
	// itself.
	Links int `json:"links"`
	// Contentions is the number of waits in which the root had a part.
	Contentions int64 `json:"contentions"`
	// Blamed is the part of the pair's.
	Blamed time.Duration `json:"wait_ns"`
}

// RootOwners returns who was at the end of the chains of blame that begin with the owner of q, the
// longest Blamed first. They sum to q.Blamed. It is q.Roots, or the owner itself if that is nil.
func (q *Pair) RootOwners() []Root {
	if len(q.Roots) > 0 {
		return q.Roots
	}
	return []Root{{Owner: q.Owner, Contentions: q.Contentions, Blamed: q.Blamed}}
}

// SetRoots completes the roots of q other than its owner by the owner itself, and sorts them. They
// stay nil if there are none.
func (q *Pair) SetRoots(others []Root) {
	q.Roots = nil
	if len(others) == 0 {
		return
	}
	self := Root{Owner: q.Owner, Contentions: q.Contentions, Blamed: q.Blamed}
	for _, r := range others {
		self.Blamed -= r.Blamed
	}
	q.Roots = others
	if self.Blamed > 0 {
		q.Roots = append(q.Roots, self)
	}
	order.Stable(q.Roots, func(a, b Root) int { return cmp.Compare(b.Blamed, a.Blamed) })
}

// otherRoots returns a copy of the roots of q other than its owner.
func (q *Pair) otherRoots() (others []Root) {
	for _, r := range q.Roots {
		if r.Via != "" {
			others = append(others, r)
		}
	}
	return others
}

// addRoot adds r to the root of the same owner, if there is one.
func addRoot(roots []Root, r Root) []Root {
	for i := range roots {
		if t := &roots[i]; t.Owner == r.Owner && t.Via == r.Via {
			t.Contentions += r.Contentions
			t.Blamed += r.Blamed
			t.Links = max(t.Links, r.Links)
			return roots
		}
	}
	return append(roots, r)
}

// activityUnder returns what the owner of q did while r was the root.
func (q *Pair) activityUnder(r *Root) Activity {
	if r.Via != "" {
		return Activity{Blocked: map[Kind]time.Duration{r.Via: r.Blamed}}
	}
	a := q.OwnerActivity().clone()
	for i := range q.Roots {
		if via := q.Roots[i].Via; via != "" {
			a.add(Activity{Blocked: map[Kind]time.Duration{via: q.Roots[i].Blamed}}, -1)
		}
	}
	return a
}

// ForWork reports whether goroutines waited for others to finish, for the network, for a time, or
// for something to do. Most of such waits cost nothing, however long they are: a main goroutine
// waits for its workers, and a connection that is kept open for the next request. They come after
// what costs in tables.
func (w *Wait) ForWork() bool { return forWork(w.Kind, w.Waiter.Stack) }

// ForWork reports the same as [Wait.ForWork] of the wait that the pair is a part of.
func (q *Pair) ForWork() bool { return forWork(q.Kind, q.Waiter.Stack) }

// ForWork reports the same as [Wait.ForWork] of a wait that went on at the end of the trace.
func (u *Unfinished) ForWork() bool { return forWork(u.Kind, u.Waiter.Stack) }

func forWork(kind Kind, waiter *Stack) bool {
	switch kind {
	case WaitGroupKind, NetworkKind, SleepKind:
		return true
	case ChanReceiveKind, SelectKind, CondKind:
	default:
		return false
	}
	if waiter == nil || len(waiter.Frames) == 0 {
		return false
	}
	// Benchmarks and tests wait for those that they run; connections for requests, answers and
	// their ends.
	for _, of := range []string{"testing.(*", "net/http.(*persistConn).", "net/http.(*conn).", "net/http.(*connReader).", "net/http.(*http2", "os/signal."} {
		if strings.HasPrefix(waiter.Frames[0].Func, of) {
			return true
		}
	}
	return false
}

// OfLock reports whether the wait was for a lock, which another goroutine held: a Mutex, an RWMutex
// or a Once.
func (u *Unfinished) OfLock() bool {
	switch u.Kind {
	case MutexKind, RWMutexWriterKind, RWMutexReaderKind, OnceKind:
		return true
	}
	return false
}
