package contention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/result"
)

// Profile lists who waited, who is to blame, and for how long. Wrapped locks and execution traces
// both produce profiles.
//
// In each row of Waits, Waited == Blamed + HandOff + Unattributed, exactly. The pairs with the same
// kind, lock, waiter and waiter's flags sum to its Blamed.
type Profile struct {
	// Source is the origin of the observations, such as [FromTrace].
	Source string `json:"source"`
	// Accuracy is the accuracy of the blame, such as [Exact].
	Accuracy string `json:"accuracy"`
	// Start is when collection began; zero if unknown.
	Start time.Time `json:"start"`
	// Duration is the length of the collection.
	Duration time.Duration `json:"duration_ns"`
	// Waits has the time lost by waiters, each contention once, longest Waited first.
	Waits []Wait `json:"waits"`
	// Pairs has the time blamed on owners, most Blamed first.
	Pairs []Pair `json:"pairs"`
	// Locks has the locks that rows refer to, in the order of their IDs.
	Locks []*Lock `json:"locks"`
	// InFlight is the number of contentions that had begun but were not yet settled. They are in
	// no row of Waits.
	InFlight int64 `json:"in_flight"`
	// Unfinished has the contentions of InFlight in which a goroutine was still blocked when the
	// trace ended, longest Waited first. For wrapped locks, it has those that had lasted for at
	// least 10 ms at the Snapshot, at most 128 of a lock. Their Contentions are goroutines, and
	// their Waited is the time so far. Their Lock has only a Name, as returned by Lock.String. They
	// are in no sum.
	Unfinished []Wait `json:"unfinished"`
	// Dropped counts what did not fit into bounded memory. All of it is still in the totals, but
	// under names such as "[call chains dropped]", or as unattributed.
	Dropped struct {
		// Chains is the number of captures whose call chain was not kept.
		Chains uint64 `json:"chains"`
		// Locks is the number of locks that were combined as "[other locks]".
		Locks uint64 `json:"locks"`
		// Pairs is the number of times a wait or a part of it was put into a row without call
		// chains.
		Pairs uint64 `json:"pairs"`
		// Exits is the number of releases that were not kept while a wait was in progress. The
		// time that they explain is unattributed.
		Exits uint64 `json:"exits"`
	} `json:"dropped"`
	// Warnings has a sentence for each limit of the accuracy.
	Warnings []string `json:"warnings"`
	// Instances is the number of program instances in the profile, if [Merge] has added several;
	// 0 means one. Duration is then the sum of theirs.
	Instances int `json:"instances,omitempty"`
	// Events is the number of events of the trace that was read, and Bytes their size without
	// compression; 0 for wrapped locks, for a live trace, and for a part of the time or the waits.
	Events int64 `json:"trace_events,omitempty"`
	Bytes  int64 `json:"trace_bytes,omitempty"`

	piece piece // for Merge
}

// HasReady reports whether the profile separates the time for which goroutines were ready after
// their waits. If it does, Waited is the time for which they were blocked.
func (p *Profile) HasReady() bool {
	return p.Source == FromTrace || slices.ContainsFunc(p.Waits, func(w Wait) bool { return w.Ready > 0 })
}

// Rates returns a sentence with the numbers of contentions, parks and events per second, and of
// bytes per contention; "" without a duration.
func (p *Profile) Rates() string {
	if p.Duration <= 0 {
		return ""
	}
	contentions, parks := sum(p, func(w *Wait) int64 { return w.Contentions }), sum(p, func(w *Wait) int64 { return w.Parks })
	rate := func(n int64) string { return format.Count(int64(float64(n)/p.Duration.Seconds() + 0.5)) }
	s := "Rates: " + rate(contentions) + " contentions a second"
	if parks > 0 {
		s += ", in which goroutines blocked " + rate(parks) + " times a second"
	}
	if p.Events == 0 {
		return s + "."
	}
	s += fmt.Sprintf(". The trace has %s events, %s a second, in %s", format.Count(p.Events), rate(p.Events), result.Bytes.Format(result.Int(p.Bytes)))
	if contentions > 0 {
		s += fmt.Sprintf(": %s and %s for each contention", format.Plural((p.Events+contentions/2)/contentions, "event", "events"), result.Bytes.Format(result.Int((p.Bytes+contentions/2)/contentions)))
	}
	return s + "."
}

// The sources of profiles.
const (
	FromWrappers = "wrappers" // Mutex, RWMutex and Cond of this package, live
	FromTrace    = "trace"    // an execution trace
)

// The accuracies, best first. A profile has the accuracy of its least accurate part.
const (
	Exact    = "exact"    // every owner recorded when it came and left
	Sampled  = "sampled"  // exact for a random part of the waits, scaled to all
	Inferred = "inferred" // inferred from other events
)

// The kinds of waits. Wrapped locks produce the first four.
const (
	MutexKind         = "mutex"
	RWMutexWriterKind = "rwmutex-writer"
	RWMutexReaderKind = "rwmutex-reader"
	CondKind          = "cond"
	WaitGroupKind     = "waitgroup"
	OnceKind          = "once"
	ChanSendKind      = "chan-send"
	ChanReceiveKind   = "chan-receive"
	SelectKind        = "select"
	SemaphoreKind     = "semaphore"
	NetworkKind       = "network"
	SleepKind         = "sleep"
	GCKind            = "gc"
	OtherKind         = "other"
	// SyscallKind is a system call that lost its processor (P). A profile of a trace includes
	// such calls only with tracewaits.Options.Syscalls; an [Activity] always does.
	SyscallKind = "syscall"
)

// Kinds lists all kinds.
var Kinds = []string{
	MutexKind, RWMutexWriterKind, RWMutexReaderKind, CondKind, WaitGroupKind, OnceKind, ChanSendKind,
	ChanReceiveKind, SelectKind, SemaphoreKind, NetworkKind, SleepKind, GCKind, OtherKind, SyscallKind,
}

// The flags describe the circumstances of a wait or of an owner. Those of the first group describe
// the waiter; they are set in a Wait and in all of its Pairs. Those of the second group describe
// the owner; they are set only in a Pair.
const (
	// Reacquire marks the wait for the lock at the end of Cond.Wait.
	Reacquire uint32 = 1 << iota
	// Estimated marks waits that were sampled because the lock is hot, or that were behind an
	// owner that took the lock so often that not every hold was seen.
	Estimated

	// ReadOwner marks an owner that held the lock for reading.
	ReadOwner
	// PendingWriter marks a writer that did not hold the lock yet but held back readers.
	PendingWriter
	// Signaler marks an owner that held no lock: it ended a wait on a Cond by Signal or
	// Broadcast.
	Signaler
	// InWait marks an owner that released the lock in Cond.Wait, and whose final Unlock was not
	// known yet: its call chain is that of the Wait.
	InWait

	// Logged also describes the waiter. It marks waits that wrapped locks logged exactly in the
	// trace.
	Logged
)

// WaiterFlags has the flags that describe the waiter.
const WaiterFlags = Reacquire | Estimated | Logged

var flagNames = []string{"reacquire", "estimated", "read-owner", "pending-writer", "signaler", "in-wait", "logged"}

// FlagNames returns the names of flags, such as "reacquire,read-owner".
func FlagNames(f uint32) string {
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
	// Goroutine is the ID of the goroutine; 0 if it is unknown or rows are not separated by
	// goroutine.
	Goroutine uint64
	// Group is the name of a group of goroutines: the function that they were started with.
	Group string
	// Stack is the call chain; nil if unknown. Within a profile, equal chains have the same
	// pointer.
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
	// Aspect is set in frames of [Profile.Samples] that are not calls. Func is then a text in brackets,
	// such as "[lock] cache", and Aspect is its meaning.
	Aspect string `json:"-"`
}

// Lock is a lock, or another object that was waited for.
type Lock struct {
	// ID is unique within the profile.
	ID uint64 `json:"id"`
	// Name is the name given to SetName or a New function; it may be empty.
	Name string `json:"name"`
	// Class groups locks of the same sort: by the type whose method first waited for it, or the
	// function if it is not a method, and by the place where it was made with a New function of
	// this package, as in "example.com/lru.Cache (New:12)". A trace does not show that place.
	Class string `json:"class"`
	// Created is the call chain of the lock's creation; nil if unknown.
	Created *Stack `json:"-"`
	// Waiters is the largest number of simultaneous waiters, counted when one of them was granted
	// the lock.
	Waiters int `json:"waiters"`
	// Longest is the longest single wait.
	Longest time.Duration `json:"longest_ns"`
	// Contended is the time in which the lock was held while a goroutine waited for it.
	Contended time.Duration `json:"contended_ns"`
	// Hold is the median of the latest holds that a trace shows from beginning to end; 0 if there
	// are too few. For several recordings, it is the longest median.
	Hold time.Duration `json:"hold_ns,omitempty"`
}

// Wait is the time that goroutines with one call chain lost at one lock.
type Wait struct {
	Kind   string `json:"-"`
	Lock   *Lock  `json:"-"`
	Waiter Party  `json:"-"`
	Flags  uint32 `json:"-"`
	// Contentions is the number of waits, scaled if the waits were sampled. If a goroutine was
	// woken, lost the race for the lock and blocked again, that is one wait.
	Contentions int64 `json:"contentions"`
	// Parks is the number of times that they blocked, as the runtime's block and mutex profiles
	// count: once more for each lost race. It is set for traces only; 0 for wrapped locks.
	Parks int64 `json:"parks"`
	// Observed is the number of waits that were recorded with their owners. Contentions is larger
	// if the waits were sampled.
	Observed int64 `json:"observed"`
	// Waited is the time from asking for the lock to getting it; in a trace, the time for which
	// they were blocked.
	Waited time.Duration `json:"wait_ns"`
	// Ready is the time after that for which they were ready and waited for a processor (P). It
	// is not in Waited. It is set for traces only; for wrapped locks, Waited includes it.
	Ready time.Duration `json:"ready_ns"`
	// ReadyIdle is the part of Ready in which a processor (P) was idle: the latency of the
	// wake-up, which is the price of blocking. In the rest, all processors were busy or stopped,
	// which is not due to the lock.
	ReadyIdle time.Duration `json:"ready_idle_ns"`
	// StdErr is the standard error of Waited if Estimated, else 0. It includes the time under
	// "[not sampled]". With fewer than some 30 waits Observed, it is itself a rough estimate.
	StdErr time.Duration `json:"stderr_ns,omitempty"`
	// Blamed is the part of Waited during which known owners held the lock.
	Blamed time.Duration `json:"blamed_ns"`
	// HandOff is the part in which the lock had been given to a goroutine that did not run yet.
	HandOff time.Duration `json:"handoff_ns"`
	// Unattributed is the part for which it is unknown whether the lock was held, or by which
	// goroutine.
	Unattributed time.Duration `json:"unattributed_ns"`
	// Longest is the longest single wait.
	Longest time.Duration `json:"longest_ns"`

	// Holder is set in Profile.Unfinished only: the goroutine that held the lock then, with its
	// call chain; for a wrapped lock, the call chain of the Lock. It is zero if unknown: a
	// goroutine that got a wrapped lock without waiting leaves no trace.
	Holder Party `json:"-"`
	// Held is for how long the holder had held the lock then; 0 if unknown. Of a trace it is the
	// time since an event showed that the goroutine held the lock, which it may have held before.
	Held time.Duration `json:"-"`
}

// Pair is the time that one waiter's call chain lost to one owner's.
type Pair struct {
	Kind   string `json:"-"`
	Lock   *Lock  `json:"-"`
	Waiter Party  `json:"-"`
	Owner  Party  `json:"-"`
	Flags  uint32 `json:"-"`
	// Contentions is the number of waits in which this owner held the lock. A wait behind three
	// owners counts in three pairs, so the sum over pairs is not the number of contentions.
	Contentions int64 `json:"contentions"`
	// Blamed is the time lost to the owner.
	Blamed time.Duration `json:"wait_ns"`
	// StdErr is the standard error of Blamed if Estimated, else 0. It includes the time under
	// "[not sampled]", and the time that is unattributed because not every hold of the owner was
	// seen.
	StdErr time.Duration `json:"stderr_ns,omitempty"`
	// Longest is the longest time that a single wait lost to the owner.
	Longest time.Duration `json:"longest_ns"`
	// Activity is what the owner did during that time; its parts sum to Blamed. See
	// OwnerActivity.
	Activity Activity `json:"owner_activity"`
	// Roots has the goroutines at the end of the chains of blame that begin with the owner, if
	// other goroutines blocked it. They sum to Blamed. nil means the owner itself. See
	// RootOwners.
	Roots []Root `json:"roots"`
}

// rowKey identifies a row within a profile. The owner is empty in Waits.
type rowKey struct {
	kind          string
	lock          *Lock
	waiter, owner Party
	flags         uint32
}

func (w *Wait) key() rowKey {
	return rowKey{kind: w.Kind, lock: w.Lock, waiter: w.Waiter, flags: w.Flags}
}

// waiterKey returns the key of the Wait that q is a part of.
func (q *Pair) waiterKey() rowKey {
	return rowKey{kind: q.Kind, lock: q.Lock, waiter: q.Waiter, flags: q.Flags & WaiterFlags}
}

// rowSums is a profile whose rows are sums.
type rowSums struct {
	out          Profile
	waits, pairs map[rowKey]int // indexes of rows
}

func newRowSums() rowSums { return rowSums{waits: map[rowKey]int{}, pairs: map[rowKey]int{}} }

// wait returns the row of Waits with a key, which is made at first use.
func (s *rowSums) wait(k rowKey) *Wait {
	at, ok := s.waits[k]
	if !ok {
		at = len(s.out.Waits)
		s.waits[k] = at
		s.out.Waits = append(s.out.Waits, Wait{Kind: k.kind, Lock: k.lock, Waiter: k.waiter, Flags: k.flags})
	}
	return &s.out.Waits[at]
}

// pair returns the pair with a key, which is made at first use.
func (s *rowSums) pair(k rowKey) *Pair {
	at, ok := s.pairs[k]
	if !ok {
		at = len(s.out.Pairs)
		s.pairs[k] = at
		s.out.Pairs = append(s.out.Pairs, Pair{Kind: k.kind, Lock: k.lock, Waiter: k.waiter, Owner: k.owner, Flags: k.flags})
	}
	return &s.out.Pairs[at]
}

// Activity is what owners did while they were waited for. In a profile, the parts sum exactly to
// the time blamed on them.
//
// An execution trace has the state of each goroutine at each instant. Wrapped locks record only
// waits for wrapped locks and Conds: the rest is Unknown.
type Activity struct {
	// Running is the time in which they executed code, or a system call that kept its processor
	// (P). The operating system may have taken the thread off its core during that time.
	Running time.Duration `json:"running_ns"`
	// Runnable is the time in which they were ready but had no processor (P).
	Runnable time.Duration `json:"runnable_ns"`
	// Blocked is the time in which they waited themselves, by kind. It is nil if they did not
	// wait. Treat it as read-only.
	Blocked map[string]time.Duration `json:"blocked_ns"`
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

// BlockedKinds returns the keys of Blocked, longest first.
func (a Activity) BlockedKinds() []string {
	var kinds []string
	for _, k := range Kinds { // a fixed order for ties
		if a.Blocked[k] != 0 {
			kinds = append(kinds, k)
		}
	}
	slices.SortStableFunc(kinds, func(x, y string) int { return int(min(1, max(-1, a.Blocked[y]-a.Blocked[x]))) })
	return kinds
}

// add adds sign times b to a, whose map must be its own.
func (a *Activity) add(b Activity, sign time.Duration) {
	a.Running += sign * b.Running
	a.Runnable += sign * b.Runnable
	a.Unknown += sign * b.Unknown
	for k, d := range b.Blocked {
		if a.Blocked == nil {
			a.Blocked = make(map[string]time.Duration)
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

// OwnerActivity returns q.Activity with parts that sum to Blamed. In a profile made by hand, the
// missing time is Unknown.
func (q *Pair) OwnerActivity() Activity {
	a := q.Activity
	a.Unknown += q.Blamed - a.Total()
	return a
}

// Chains of blame
//
// An owner may itself be blocked while others wait for it. The root owner is at the end of this
// chain. A wait is divided among root owners by the time for which each was at the end. The chain
// ends with
//
//   - a goroutine that runs, is runnable, or whose state is unknown;
//   - a goroutine whose wait is blamed on no other: a wait for a timer, the network, a system call,
//     or a lock that was given to a goroutine that does not run yet;
//   - an unknown goroutine, if a goroutine waits for a lock whose owner is unknown.
//
// The roots of each wait are recorded as soon as it is over. Owners that delayed a wait have ended
// their own waits before: no chain has to be followed twice, and no chain can be a cycle.

// Root is the goroutine at the end of a chain of blame, and its part of a [Pair].
type Root struct {
	// Owner is the goroutine at the end of the chain, with the call chain by which it ended the
	// previous goroutine's wait: the Unlock, the send. It is zero if unknown.
	Owner Party `json:"-"`
	// Via is what the owner of the pair was blocked on during that time. It is empty if no
	// goroutine blocked it: the root is then the owner of the pair itself.
	Via string `json:"via"`
	// Links is the number of blocked goroutines in the chain, from the owner of the pair; with
	// several chains, the maximum. It is 0 if the root is the owner of the pair itself.
	Links int `json:"links"`
	// Contentions is the number of waits in which the root had a part.
	Contentions int64 `json:"contentions"`
	// Blamed is the root's part of the pair's Blamed.
	Blamed time.Duration `json:"wait_ns"`
}

// RootOwners returns the goroutines at the end of the chains of blame that begin with the owner of
// q, longest Blamed first. They sum to q.Blamed. It returns q.Roots, or the owner itself if that is
// nil.
func (q *Pair) RootOwners() []Root {
	if len(q.Roots) > 0 {
		return q.Roots
	}
	return []Root{{Owner: q.Owner, Contentions: q.Contentions, Blamed: q.Blamed}}
}

// SetRoots sets the roots of q to others and, for the rest of Blamed, the owner itself, and sorts
// them. They stay nil if others is empty.
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
		return Activity{Blocked: map[string]time.Duration{r.Via: r.Blamed}}
	}
	a := q.OwnerActivity().clone()
	for i := range q.Roots {
		if via := q.Roots[i].Via; via != "" {
			a.add(Activity{Blocked: map[string]time.Duration{via: q.Roots[i].Blamed}}, -1)
		}
	}
	return a
}

// ForWork reports whether goroutines waited for others to finish, for the network, for a time, or
// for something to do. Most such waits cost nothing, however long they are: a main goroutine waits
// for its workers, or a connection is kept open for the next request. Tables list them after the
// waits that cost something.
func (w *Wait) ForWork() bool { return forWork(w.Kind, w.Waiter.Stack) }

// ForWork reports the same as [Wait.ForWork] for the wait that the pair is a part of.
func (q *Pair) ForWork() bool { return forWork(q.Kind, q.Waiter.Stack) }

func forWork(kind string, waiter *Stack) bool {
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
	// Benchmarks and tests wait for what they run; connections wait for requests, answers and the
	// end of these.
	for _, of := range []string{"testing.(*", "net/http.(*persistConn).", "net/http.(*conn).", "net/http.(*connReader).", "net/http.(*http2", "os/signal."} {
		if strings.HasPrefix(waiter.Frames[0].Func, of) {
			return true
		}
	}
	return false
}

// OfLock reports whether the wait was for a lock that another goroutine held: a Mutex, an RWMutex
// or a Once.
func (w *Wait) OfLock() bool {
	switch w.Kind {
	case MutexKind, RWMutexWriterKind, RWMutexReaderKind, OnceKind:
		return true
	}
	return false
}
