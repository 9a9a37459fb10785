package tracewaits

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Identifying locks
//
// Locks have no names in a trace, only call chains. A lock is therefore a set of sites, and
// union-find merges the sites that must belong to the same lock: that of a wait and that of the
// release that ended it, and that of a goroutine's own wait and that where it released a lock, if
// the two fit (callSite.fits).
//
// That merges too much if the same code locks several locks. Three observations reveal that:
//
//   - The queue of a sync.Mutex is first in, first out, except that a waiter of a futile wake-up
//     goes to its head. If a release wakes a waiter although an earlier one stays blocked, the
//     earlier one waits for another lock.
//   - Two goroutines are known to have held the lock at the same time.
//   - Two writers wait for readers at the same time. For one sync.RWMutex, the second would wait for
//     the first. A single case is enough.
//
// If these are more than occasional, the lock is assumed to be several. Then a wait is divided only
// at the releases that are linked to it one by one: the previous owner woke the owner that ended it,
// and so on.

// tracedLock is a lock as inferred from the trace.
type tracedLock struct {
	parent   *tracedLock // parent in the union-find; nil for a root
	id       uint64
	name     string
	class    string
	declared string    // see Options.Declared
	history  []*hold   // the latest releases, in order of time
	evicted  bool      // older releases were dropped
	holds    durations // durations of known holds, wherever they ended
	// compared is the number of wake-ups that could be compared with a longer wait, and early the
	// number of those that came too early.
	compared, early int
	// waiting is the number of waiters in each queue, and waitingSince the time when there last
	// was none.
	waiting      [queues]int
	waitingSince timeline.Time
	peak         int           // maximum number of simultaneous waiters
	woken        *hold         // the latest release that woke a waiter of the exclusive queue;
	firstPark    timeline.Time // when a goroutine first blocked, since that waiter ran,
	lastPark     timeline.Time // and when one last blocked
	sums         [][]*spanSum  // of the history
	rows         []*traceRow   // rows that may have some of these sums
	work         int           // releases, sums and parts visited so far, for tests
	next         uint64        // number of the next exit, if the history is that of messages,
	ahead        timeline.Time // and what its times are ahead of the messages; see log.go
	past         *past         // the roots for those who waited for it
	seen         []heldSeen    // observed holders since the latest release
	// known is the number of holds known from beginning to end, and both the number of those that
	// overlapped the one before.
	known, both int
	// proved is set if two writers waited for readers at once: with one lock, the second would
	// wait for the first.
	proved      bool
	unclaimed   int           // readers that were woken and have not run yet; see insideSince
	claimed     timeline.Time // when the latest of them ran
	readers     []heldSeen    // readers seen since a writer was woken last,
	readersLeft timeline.Time // which was at this time
	lockFacts
}

// maxHistory is the minimum number of releases that a lock remembers. Waits behind more releases
// are blamed on the latest.
const maxHistory = 1024

// evictable is the unit in which old releases are dropped: the releases of one sum.
const evictable = fanOut * fanOut * fanOut * fanOut

// hold is a time in which a goroutine held a lock. The release that ended it makes it known. There
// may be very many, so the small fields are together.
type hold struct {
	from, to timeline.Time
	coOwner                // the owner
	pending  timeline.Time // when the owner, a writer, began to hold back readers; from if it did not
	known    bool          // from is when the owner ran after its own wait
	// foreign is set if another goroutine held the lock than the one that released it, or if it
	// was another lock.
	foreign   bool
	forgotten bool // there was a prev, but it was evicted

	// The waiter that the release woke:
	queue    queue
	requeued bool          // it is back after a futile wake-up
	place    queuePlace    // its position in the queue when it came
	handed   bool          // it was given the lock
	again    bool          // it has blocked again
	asked    timeline.Time // when it entered the queue
	wokenG   int64         // its goroutine
	ran      timeline.Time // when it ran; 0 if not yet

	prev  *hold         // the previous hold of the same lock, if that is certain
	start timeline.Time // from, but not before the previous release
	spans []heldSpan    // spans since the previous release
	whole *heldSpan     // of the owner, since start or the previous hold; see cutter.chained
	with  []coOwner     // goroutines that held it together with the owner; last seen first
}

// queuePlace is the position at which a waiter enters a queue.
type queuePlace uint8

const (
	unknownPlace queuePlace = iota // not determined yet
	lastPlace                      // behind all others in the queue
	anyPlace                       // possibly before others
)

// placeAt returns where the waiter that x woke entered its queue. A release leaves a token for the
// waiter that it wakes. A goroutine that arrives before that waiter runs takes the token, tries the
// lock, and blocks at the head of the queue if another goroutine was faster.
func (l *tracedLock) placeAt(x *hold) queuePlace {
	i := sort.Search(len(l.history), func(i int) bool { return l.history[i].to > x.asked+overlap })
	for i > 0 && l.history[i-1].to >= x.asked-placeWindow {
		l.work++
		if n := l.allRanBefore(i, x.asked-overlap); n > 0 {
			i -= n
			continue
		}
		i--
		if y := l.history[i]; y.ran == 0 || y.ran > x.asked-overlap {
			return anyPlace
		}
	}
	return lastPlace
}

// allRanBefore returns the number of releases of the largest sum that ends before release i and
// whose waiters all ran at time t, or 0.
func (l *tracedLock) allRanBefore(i int, t timeline.Time) int {
	for level := min(bits.TrailingZeros(uint(i))/fanBits, len(l.sums)) - 1; level >= 0; level-- {
		if shift := (level + 1) * fanBits; l.ranBy(level, i>>shift-1) <= t {
			return 1 << shift
		}
	}
	return 0
}

// ranBy returns when the latest waiter that was woken in sum number i of a level ran. It is computed
// once all of them have run.
func (l *tracedLock) ranBy(level, i int) timeline.Time {
	s := l.sums[level][i]
	if s.ran != 0 {
		return s.ran
	}
	latest := timeline.Time(0)
	for j := i * fanOut; j < (i+1)*fanOut; j++ {
		l.work++
		ran := timeline.Time(0)
		if level > 0 {
			ran = l.ranBy(level-1, j)
		} else {
			ran = l.history[j].ran
		}
		if ran == 0 || ran == never {
			return never
		}
		latest = max(latest, ran)
	}
	s.ran = latest
	return latest
}

// never is a time after all others.
const never timeline.Time = math.MaxInt64

// placeWindow is how long before the arrival of a waiter to search for a release whose token it may
// have taken.
const placeWindow timeline.Time = 10_000_000

// owner is the party to blame. g is 0 unless Options.Goroutines is set.
type owner struct {
	g     int64
	group string
	site  *callSite
	flags uint32
}

// is reports whether two owners are the same. It is faster than ==: most of them differ in the site,
// or share the memory of the name.
func (a *owner) is(b *owner) bool {
	return a.site == b.site && a.flags == b.flags && a.g == b.g && a.group == b.group
}

func (l *tracedLock) root() *tracedLock {
	for l.parent != nil {
		if l.parent.parent != nil {
			l.parent = l.parent.parent
		}
		l = l.parent
	}
	return l
}

// several reports whether there is more than one lock behind the sites. For one lock, some 0.1 % of
// the wake-ups seem early when the operating system takes threads off their cores, and up to 10 %
// of the holds overlap if they last microseconds, since more are unseen then.
func (l *tracedLock) several() bool {
	return l.proved || l.early >= 4 && l.early*40 > l.compared || l.both >= 4 && l.both*5 > l.known
}

// doubtful reports whether there may be more than one lock behind the sites, by the few holds that
// are known so far. Until the doubt is resolved, waits are divided as if there were several locks,
// which blames less.
func (l *tracedLock) doubtful() bool {
	return l.proved || l.early*40 > l.compared || l.both*5 > l.known
}

// add remembers a release.
func (l *tracedLock) add(h *hold) {
	l.compareHolds(h)
	if l.waiting[h.queue] > 1 {
		l.compared++
	}
	l.history = append(l.history, h)
	l.sumFrom(len(l.history) - 1)
	if len(l.history) >= 2*l.memory() {
		l.evict()
	}
}

// compareHolds counts whether h overlaps the latest known hold of another goroutine.
func (l *tracedLock) compareHolds(h *hold) {
	if !h.known || h.owner.flags&contention.ReadOwner != 0 {
		return
	}
	for i := len(l.history) - 1; i >= max(0, len(l.history)-4); i-- {
		y := l.history[i]
		// y was released while h was held
		if h.foreign || y.foreign && y.g != h.g && h.from < y.to-sameTime {
			l.known++
			l.both++
			return
		}
		if !y.known || y.owner.flags&contention.ReadOwner != 0 {
			continue
		}
		l.known++
		if y.g != h.g && h.from < y.to-sameTime {
			l.both++
		}
		return
	}
}

// sameTime is the minimum overlap of two holds that counts as evidence for different locks.
const sameTime timeline.Time = 50_000

// memory returns the number of releases that the lock remembers: more if there are many waiters,
// whose waits may extend over all of them.
func (l *tracedLock) memory() int { return max(maxHistory, 2*l.peak) }

// waits returns the number of waiters.
func (l *tracedLock) waits() (n int) {
	for _, m := range l.waiting {
		n += m
	}
	return n
}

func (l *tracedLock) evict() {
	keep := l.memory()
	n := (len(l.history) - keep) / evictable * evictable // whole sums
	if n == 0 {
		return
	}
	for _, h := range l.history[:n] {
		// Chains of holds are no longer than the history.
		h.forgotten = h.forgotten || h.prev != nil
		h.prev = nil
	}
	l.settleRows()
	l.history = slices.Delete(l.history, 0, n)
	l.evicted = true
	for level, size := 0, fanOut; level < len(l.sums); level, size = level+1, size*fanOut {
		l.sums[level] = slices.Delete(l.sums[level], 0, min(n/size, len(l.sums[level])))
		if n%size != 0 {
			l.sums[level] = nil
		}
	}
	l.sumFrom(len(l.history))
}

// forget drops the history.
func (l *tracedLock) forget() {
	l.settleRows()
	l.history, l.sums, l.evicted, l.next = nil, nil, false, 0
}

// settleRows makes the rows keep no old sums.
func (l *tracedLock) settleRows() {
	for _, row := range l.rows {
		row.settle()
	}
	l.rows = l.rows[:0]
}

// last returns the latest release, or nil.
func (l *tracedLock) last() *hold {
	if n := len(l.history); n > 0 {
		return l.history[n-1]
	}
	return nil
}

// lockOf returns the lock that is used at a site.
func (o *Observer) lockOf(s *callSite) *tracedLock {
	if s.lock == nil {
		o.locks++
		s.lock = &tracedLock{id: o.locks, class: cmp.Or(o.declared(s), s.class())}
	}
	s.lock = s.lock.root()
	return s.lock
}

// unite merges two locks into the older one and returns it.
func (o *Observer) unite(a, b *tracedLock) *tracedLock {
	if a == b {
		return a
	}
	if b.id < a.id {
		a, b = b, a
	}
	b.parent = a
	a.waitingSince = earlier(a.waitingSince, b.waitingSince)
	a.mergeHistory(b)
	for i := range b.waiting {
		a.waiting[i] += b.waiting[i]
	}
	a.peak = max(a.peak, b.peak, a.waits())
	a.firstPark, a.lastPark = earlier(a.firstPark, b.firstPark), max(a.lastPark, b.lastPark)
	if a.woken == nil || b.woken != nil && b.woken.to > a.woken.to {
		a.woken = b.woken
	}
	if a.past == nil || b.past != nil && len(b.past.segs) > len(a.past.segs) {
		a.past = b.past
	}
	a.seen = append(a.seen, b.seen...)
	b.seen, b.woken = nil, nil
	a.holds.merge(&b.holds)
	a.compared += b.compared
	a.early += b.early
	a.known += b.known
	a.both += b.both
	a.proved = a.proved || b.proved || a.waiting[writerQueue] > 1
	a.unclaimed += b.unclaimed
	a.claimed = max(a.claimed, b.claimed)
	a.lockFacts.merge(&b.lockFacts)
	a.readers = append(a.readers, b.readers...)
	a.readers = slices.Delete(a.readers, 0, max(0, len(a.readers)-maxSeenReaders))
	a.readersLeft = max(a.readersLeft, b.readersLeft)
	b.readers = nil
	return a
}

// mergeHistory moves the releases of b to a. Those before all current waits are of no use. Without
// that limit, each of many locks that turn out to be one would have all releases after its own
// first one summed up again.
func (a *tracedLock) mergeHistory(b *tracedLock) {
	x, y := a.history, b.history // the latest release is in x
	if len(x) == 0 || len(y) > 0 && x[len(x)-1].to < y[len(y)-1].to {
		x, y = y, x
		a.sums = b.sums
	}
	needed := never
	if a.waitingSince != 0 {
		needed = a.waitingSince - placeWindow
	}
	y = y[sort.Search(len(y), func(i int) bool { return y[i].to >= needed }):]
	a.rows = append(a.rows, b.rows...)
	b.history, b.sums, b.rows = nil, nil, nil
	a.work += b.work
	a.evicted = a.evicted || b.evicted
	a.history = x
	if len(y) == 0 {
		return
	}
	first := sort.Search(len(x), func(i int) bool { return x[i].to > y[0].to })
	a.history = append(x, y...)
	slices.SortStableFunc(a.history[first:], func(x, y *hold) int { return cmp.Compare(x.to, y.to) })
	a.sumFrom(first)
	a.work += len(a.history) - first
	if len(a.history) >= 2*a.memory() {
		a.evict()
	}
}

// earlier returns the earlier of two times; 0 means no time.
func earlier(a, b timeline.Time) timeline.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// durations keeps the latest maxDurations durations.
type durations struct {
	recent    []timeline.Time
	next      int32
	fresh     int32         // number added since these were computed:
	mid, high timeline.Time // the median and the third quartile
}

const maxDurations = 64

func (d *durations) add(t timeline.Time) {
	if len(d.recent) < maxDurations {
		d.recent = append(d.recent, t)
	} else {
		d.recent[d.next] = t
		d.next = (d.next + 1) % maxDurations
	}
	d.fresh++
}

func (d *durations) merge(e *durations) {
	for _, t := range e.recent {
		d.add(t)
	}
}

// upper returns the third quartile and the number of durations.
func (d *durations) upper() (timeline.Time, int) {
	d.sort()
	return d.high, len(d.recent)
}

// median returns the median and the number of durations.
func (d *durations) median() (timeline.Time, int) {
	d.sort()
	return d.mid, len(d.recent)
}

// sort computes the quantiles again if half of the durations have changed.
func (d *durations) sort() {
	if n := len(d.recent); 2*int(d.fresh) >= n && n > 0 || n < 8 && d.fresh > 0 {
		var room [maxDurations]timeline.Time
		sorted := room[:copy(room[:], d.recent)]
		slices.Sort(sorted)
		d.fresh, d.mid, d.high = 0, sorted[n/2], sorted[n*3/4]
	}
}
