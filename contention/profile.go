// Package contention records who waited for a lock, because of whom, and for how long.
//
// [Mutex], [RWMutex] and [Cond] replace the types of package sync. A [Profile] has the call chain
// of each waiter together with those of the owners that held the lock during the wait:
//
//	package main
//
//	import (
//		"fmt"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/contention"
//	)
//
//	var mu contention.Mutex // was: sync.Mutex
//
//	func main() {
//		contention.Start(contention.Options{})
//		mu.Lock()
//		go func() {
//			time.Sleep(10 * time.Millisecond)
//			mu.Unlock()
//		}()
//		mu.Lock() // waits for the Unlock
//		mu.Unlock()
//		for _, p := range contention.Snapshot().Pairs {
//			fmt.Println(p.Waiter.Stack.Frames[0].Func, "lost", p.Blamed, "to", p.Owner.Stack)
//		}
//	}
//
// The method is that of P. Hofer et al., ICPE 2016; see blame.go. The number and the total of a
// lock's waits are exact. The blame is exact, too, unless recording all waits would take more than
// 2 % of the time: then waits are sampled at random, and rows are flagged [Estimated] with a
// standard error. Waits of 1 ms or more are always in the row of their waiter, unless that takes
// more than 1 %: then those of 4 ms, 16 ms, … are. bottleneck.Analyze makes a Profile from
// an execution trace of any program.
//
// Cost: an uncontended Lock and Unlock takes 0.9 to 1.0 of the time of package sync
// (BenchmarkUncontended); docs/measurements.md has contended locks and the errors of the blame.
package contention

import (
	"cmp"
	"fmt"
	"maps"
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
// In each row of Waits, Waited == Blamed + HandOff + Unattributed, exactly. The rows of Pairs with
// the same kind, lock, waiter and waiter's flags sum to its Blamed.
type Profile struct {
	Source   string        `json:"source"`      // origin of the observations, such as [FromTrace]
	Accuracy string        `json:"accuracy"`    // of the least accurate part of the blame, such as [Exact]
	Start    time.Time     `json:"start"`       // when collection began; zero if unknown
	Duration time.Duration `json:"duration_ns"` // of the collection
	Waits    []Wait        `json:"waits"`       // time lost by waiters, each contention once, longest Waited first
	Pairs    []Wait        `json:"pairs"`       // time blamed on owners, most Blamed first
	Locks    []*Lock       `json:"locks"`       // the locks that rows refer to, in the order of their IDs
	// InFlight is the number of contentions that had begun but were not yet settled. They are in
	// no row of Waits.
	InFlight int64 `json:"in_flight"`
	// Unfinished has the contentions of InFlight in which a goroutine was still blocked when the
	// trace ended or, for wrapped locks, had been for 10 ms at the Snapshot, at most 128 of a lock.
	// The longest Waited, which is the time so far, is first. Contentions are goroutines. Owner is
	// the holder of the lock, with the call chain of the Lock for a wrapped one. Lock has only a
	// Name, as returned by Lock.String. They are in no sum.
	Unfinished []Wait `json:"unfinished"`
	// Dropped counts what did not fit into bounded memory. All of it is still in the totals, but
	// under names such as "[call chains dropped]", or as unattributed.
	Dropped struct {
		Chains uint64 `json:"chains"` // captures whose call chain was not kept
		Locks  uint64 `json:"locks"`  // locks that were combined as "[other locks]"
		Pairs  uint64 `json:"pairs"`  // waits, or parts of them, in a row without call chains
		Exits  uint64 `json:"exits"`  // releases during waits; the time that they explain is unattributed
	} `json:"dropped"`
	Warnings []string `json:"warnings"` // a sentence for each limit of the accuracy
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

// The accuracies, best first.
const (
	Exact    = "exact"    // every owner recorded when it came and left
	Sampled  = "sampled"  // exact for a random part of the waits, scaled to all
	Inferred = "inferred" // inferred from other events
)

var accuracies = []string{"", Exact, Sampled, Inferred}

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
	// such calls only with bottleneck.Options.Contention.Syscalls; [Wait.Blocked] always does.
	SyscallKind = "syscall"
)

// Kinds lists all kinds.
var Kinds = []string{
	MutexKind, RWMutexWriterKind, RWMutexReaderKind, CondKind, WaitGroupKind, OnceKind, ChanSendKind,
	ChanReceiveKind, SelectKind, SemaphoreKind, NetworkKind, SleepKind, GCKind, OtherKind, SyscallKind,
}

// The flags describe the circumstances of a wait or of an owner. Those of the first group describe
// the waiter; they are set in a Wait and in all of its Pairs. Those of the second group describe
// the owner; they are set only in Pairs.
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

	// Closer marks an owner that ended the wait of all that received from a channel: it closed
	// the channel.
	Closer
)

// WaiterFlags has the flags that describe the waiter.
const WaiterFlags = Reacquire | Estimated | Logged

var flagNames = []string{"reacquire", "estimated", "read-owner", "pending-writer", "signaler", "in-wait", "logged", "closer"}

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
	Goroutine uint64 // 0 if it is unknown or rows are not separated by goroutine
	Group     string // the function that a group of goroutines was started with
	Stack     *Stack // nil if unknown. Within a profile, equal call chains have the same pointer.
}

// Stack is a call chain, leaf first.
type Stack struct {
	Frames    []Frame `json:"frames"`
	Truncated bool    `json:"truncated"` // the root is missing
}

// Frame is one call.
type Frame struct {
	Func string `json:"func"` // in full, such as "net/http.(*Server).Serve"
	File string `json:"file"`
	Line int    `json:"line"`
	PC   uint64 `json:"pc"` // address of the call in the profiled program; 0 if unknown
	// Aspect is set in frames of [Profile.Samples] that are not calls. Func is then a text in
	// brackets, such as "[lock] cache", and Aspect is its meaning.
	Aspect string `json:"-"`
}

// Lock is a lock, or another object that was waited for.
type Lock struct {
	ID   uint64 `json:"id"`   // unique within the profile
	Name string `json:"name"` // given to SetName or a New function; it may be empty
	// Class groups similar locks. It is the type whose method first waited for the lock, or the
	// function if it is not a method, followed by the place where a New function of this package
	// made the lock, as in "example.com/lru.Cache (New:12)". A trace does not show that place.
	Class   string `json:"class"`
	Created *Stack `json:"created,omitempty"` // where the lock was created; nil if unknown
	// Waiters is the largest number of simultaneous waiters, counted when one was granted the lock.
	Waiters   int           `json:"waiters"`
	Longest   time.Duration `json:"longest_ns"`   // of the single waits
	Contended time.Duration `json:"contended_ns"` // held while a goroutine waited
	// Hold is the median of the latest holds that a trace shows from beginning to end; 0 if there
	// are too few. For several recordings, it is the longest median.
	Hold time.Duration `json:"hold_ns,omitempty"`
}

// Wait is the time that goroutines with one call chain lost at one lock: a row of [Profile]. In
// Pairs, it is the part of it that is due to one owner, as Blamed; in Roots, the part of a pair
// that is due to the end of a chain of blame.
type Wait struct {
	// Kind is what was waited for. In Roots, it is what the owner of the pair was blocked on; it is
	// empty if no goroutine blocked it: the root is then that owner.
	Kind   string `json:"kind,omitempty"`
	Lock   *Lock  `json:"-"` // nil in Roots, as is the Waiter
	Waiter Party  `json:"-"`
	// Owner is the goroutine to blame, zero if unknown and in Waits. In Roots, it has the call
	// chain by which it ended the previous goroutine's wait: the Unlock, the send.
	Owner Party  `json:"-"`
	Flags uint32 `json:"-"`
	// Contentions is the number of waits, scaled if the waits were sampled. If a goroutine was
	// woken, lost the race for the lock and blocked again, that is one wait. In Pairs, it is the
	// number of waits in which this owner held the lock. A wait behind three owners counts in three
	// pairs, so their sum is not the number of contentions.
	Contentions int64 `json:"contentions"`
	// Parks is the number of times that they blocked, as the runtime's block and mutex profiles
	// count: once more for each lost race. It is set for traces only; 0 for wrapped locks.
	Parks int64 `json:"parks,omitempty"`
	// Observed is the number of waits that were recorded with their owners: fewer if sampled.
	Observed int64 `json:"observed,omitempty"`
	// Waited is the time from asking for the lock to getting it; in a trace, that of being blocked.
	Waited time.Duration `json:"wait_ns"`
	// Ready is the time after that for which they were ready and waited for a processor (P). It is
	// set for traces only; for wrapped locks, Waited includes it.
	Ready time.Duration `json:"ready_ns,omitempty"`
	// ReadyIdle is the part of Ready in which a processor (P) was idle: the latency of the wake-up.
	// In the rest, all processors were busy or stopped, which is not due to the lock.
	ReadyIdle time.Duration `json:"ready_idle_ns,omitempty"`
	// StdErr is the standard error of Waited, or Blamed in Pairs, if Estimated, else 0. It includes
	// the time under "[not sampled]" and, in Pairs, time that is unattributed because not every
	// hold of the owner was seen. With fewer than some 30 waits Observed, it is rough.
	StdErr time.Duration `json:"stderr_ns,omitempty"`
	// Blamed is the part of Waited during which known owners, or this one, held the lock.
	Blamed time.Duration `json:"blamed_ns,omitempty"`
	// HandOff is the part in which the lock had been given to a goroutine that did not run yet.
	HandOff time.Duration `json:"handoff_ns,omitempty"`
	// Unattributed is the part for which it is unknown whether, or by which, the lock was held.
	Unattributed time.Duration `json:"unattributed_ns,omitempty"`
	// Longest is the longest single wait; in Pairs, the most that one wait lost to this owner.
	Longest time.Duration `json:"longest_ns,omitempty"`
	// Held, in Unfinished only, is how long the holder had held the lock, in a trace at least; 0 if
	// unknown.
	Held time.Duration `json:"held_ns,omitempty"`

	// What the owners did during the time Blamed. Wrapped locks record only waits for wrapped locks
	// and Conds. The rest is [Wait.Unknown].

	// Running is the time in which they executed code, or a system call that kept its processor (P).
	Running  time.Duration `json:"running_ns,omitempty"`
	Runnable time.Duration `json:"runnable_ns,omitempty"` // they were ready but had no processor (P)
	// Blocked is the time in which they waited themselves, by kind. Treat it as read-only.
	Blocked map[string]time.Duration `json:"blocked_ns,omitempty"`

	// Roots, in Pairs only, has the goroutines at the end of the chains of blame that begin with
	// the owner, if others blocked it; see RootOwners. They sum to Blamed.
	Roots []Wait `json:"-"`
	// Links, in Roots only, is the number of blocked goroutines in the chain, from the owner of the
	// pair; with several chains, the maximum. It is 0 if the root is the owner of the pair.
	Links int `json:"links,omitempty"`
}

// rowKey identifies a row within a profile. The owner is empty in Waits, all but the kind and the
// owner in Roots.
type rowKey struct {
	kind          string
	lock          *Lock
	waiter, owner Party
	flags         uint32
}

func (w *Wait) key() rowKey { return rowKey{w.Kind, w.Lock, w.Waiter, w.Owner, w.Flags} }

// waiterKey returns the key of the row of Waits that w is, or is a part of.
func (w *Wait) waiterKey() rowKey {
	return rowKey{kind: w.Kind, lock: w.Lock, waiter: w.Waiter, flags: w.Flags & WaiterFlags}
}

// sumRows has rows that are sums, by their keys.
type sumRows struct {
	list []Wait
	at   map[rowKey]int
}

// row returns the row with a key, which is made at first use.
func (s *sumRows) row(k rowKey) *Wait {
	at, ok := s.at[k]
	if !ok {
		if s.at == nil {
			s.at = map[rowKey]int{}
		}
		at = len(s.list)
		s.at[k] = at
		s.list = append(s.list, Wait{Kind: k.kind, Lock: k.lock, Waiter: k.waiter, Owner: k.owner, Flags: k.flags})
	}
	return &s.list[at]
}

// Add adds the numbers of b to w, except for the roots.
func (w *Wait) Add(b *Wait) { w.add(b, 1) }

// add adds b as often as times. Observed values are added once.
func (w *Wait) add(b *Wait, times int64) {
	more := b.sums()
	for i, sum := range w.sums() {
		*sum.n += times * *more[i].n
	}
	w.Observed += b.Observed
	w.Longest, w.Links = max(w.Longest, b.Longest), max(w.Links, b.Links)
	w.StdErr = bothErrors(w.StdErr, time.Duration(times)*b.StdErr)
	for k, d := range b.Blocked {
		w.block(k, time.Duration(times)*d)
	}
}

// named is a number with its name in JSON.
type named struct {
	name string
	n    *int64
}

// sums returns the numbers that are sums over waits.
func (w *Wait) sums() [10]named {
	return [...]named{
		{"contentions", &w.Contentions}, {"parks", &w.Parks}, {"ready_ns", (*int64)(&w.Ready)}, {"ready_idle_ns", (*int64)(&w.ReadyIdle)},
		{"wait_ns", (*int64)(&w.Waited)}, {"blamed_ns", (*int64)(&w.Blamed)}, {"handoff_ns", (*int64)(&w.HandOff)},
		{"unattributed_ns", (*int64)(&w.Unattributed)}, {"running_ns", (*int64)(&w.Running)}, {"runnable_ns", (*int64)(&w.Runnable)},
	}
}

// block adds to the time for which the owner was blocked. The map must be w's own.
func (w *Wait) block(kind string, d time.Duration) {
	if w.Blocked == nil {
		w.Blocked = make(map[string]time.Duration)
	}
	if w.Blocked[kind] += d; w.Blocked[kind] == 0 {
		delete(w.Blocked, kind)
	}
}

// Unknown is the part of Blamed for which the owners' activity is unknown, such as the time before
// an owner's goroutine was started.
func (w *Wait) Unknown() time.Duration {
	return w.Blamed - w.Running - w.Runnable - w.BlockedTotal()
}

// BlockedTotal returns the sum of Blocked.
func (w *Wait) BlockedTotal() (d time.Duration) {
	for _, b := range w.Blocked {
		d += b
	}
	return d
}

// BlockedKinds returns the keys of Blocked, longest first.
func (w *Wait) BlockedKinds() []string {
	var kinds []string
	for _, k := range Kinds { // a fixed order for ties
		if w.Blocked[k] != 0 {
			kinds = append(kinds, k)
		}
	}
	order.Stable(kinds, func(x, y string) int { return cmp.Compare(w.Blocked[y], w.Blocked[x]) })
	return kinds
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

// RootOwners returns the goroutines at the end of the chains of blame that begin with the owner of
// a pair, longest Blamed first. They sum to Blamed. It returns Roots, or the owner itself if that
// is nil.
func (w *Wait) RootOwners() []Wait {
	if len(w.Roots) > 0 {
		return w.Roots
	}
	return []Wait{w.self()}
}

// self returns the owner of a pair as its root.
func (w *Wait) self() Wait {
	return Wait{Owner: w.Owner, Contentions: w.Contentions, Blamed: w.Blamed}
}

// SetRoots sets the roots of a pair to others and, for the rest of Blamed, the owner itself, and
// sorts them. They stay nil if others is empty.
func (w *Wait) SetRoots(others []Wait) {
	w.Roots = nil
	if len(others) == 0 {
		return
	}
	self := w.self()
	for _, r := range others {
		self.Blamed -= r.Blamed
	}
	w.Roots = others
	if self.Blamed > 0 {
		w.Roots = append(w.Roots, self)
	}
	order.Stable(w.Roots, func(a, b Wait) int { return cmp.Compare(b.Blamed, a.Blamed) })
}

// byRoot returns the parts of a pair, one for each of its roots.
func (w *Wait) byRoot() []Wait {
	parts := slices.Clone(w.RootOwners())
	for i, r := range parts {
		p := *w
		p.Contentions, p.Blamed, p.Roots = r.Contentions, r.Blamed, []Wait{r}
		if r.Kind != "" {
			p.Running, p.Runnable, p.Blocked = 0, 0, map[string]time.Duration{r.Kind: r.Blamed}
		} else {
			p.Blocked = maps.Clone(w.Blocked)
			for _, other := range w.Roots {
				if other.Kind != "" {
					p.block(other.Kind, -other.Blamed)
				}
			}
		}
		parts[i] = p
	}
	return parts
}

// ForWork reports whether goroutines waited for others to finish, for the network, for a time, or
// for something to do. Most such waits cost nothing, however long they are: a main goroutine waits
// for its workers, or a connection is kept open for the next request. Tables list them after the
// waits that cost something.
func (w *Wait) ForWork() bool {
	switch w.Kind {
	case WaitGroupKind, NetworkKind, SleepKind:
		return true
	case ChanReceiveKind, SelectKind, CondKind:
	default:
		return false
	}
	// Benchmarks and tests wait for what they run, connections for requests, answers and the end of
	// these, and workers of a pool for tasks.
	leaf := leafFunc(&w.Waiter)
	return slices.ContainsFunc([]string{"testing.(*", "net/http.(*persistConn).", "net/http.(*conn).", "net/http.(*connReader).", "net/http.(*http2", "os/signal.", "github.com/bottleneck-go/bottleneck/granularity.(*Pool).work"},
		func(of string) bool { return strings.HasPrefix(leaf, of) })
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
