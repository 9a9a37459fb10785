package tracewaits

import (
	"cmp"
	"slices"
	"sort"
	"unique"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Locks have no names in a trace; call chains are all there is. So a lock is a set of
// sites, and union-find puts together what must be the same lock:
//
//   - the site of a wait and the site of the release that ended it;
//   - the site of a goroutine's own wait and the site where it let go of a lock, if the one
//     fits the other (callSite.fits).
//
// That is one lock too few where the same code locks several: shards, or a lock in each of many
// objects. Three things tell:
//
//   - The order. The queue of a sync.Mutex is first in, first out, but for a waiter that was woken
//     in vain, which goes to its head. If a release wakes a waiter although one that had come
//     earlier stays blocked, the latter waits for another lock, and the release is no part of its
//     wait.
//   - Two goroutines that are known to have held the lock at the same time.
//   - Two writers that wait for readers at the same time: of one sync.RWMutex, the second waits for
//     the first. Once is enough.
//
// Once one of these happens more than now and then, the lock is taken for several, and a wait is
// cut only at those releases that are linked to it one by one: the owner before was the one that
// woke the owner that ended it, and so on.

// tracedLock is a lock, as far as one can tell.
type tracedLock struct {
	parent  *tracedLock // of the union-find; nil for a root
	id      uint64
	name    string
	class   string
	history []*hold   // the latest releases, in the order of time
	evicted bool      // there were more
	holds   durations // known holds, wherever they ended
	// compared is how many wakes could be compared to a longer wait, and early how many were
	// too early for that.
	compared, early int
	// waiting is how many wait in each queue, and waitingSince when there was none last.
	waiting      [queues]int
	waitingSince timeline.Time
	peak         int           // the most that have waited at once
	woken        *hold         // the latest release that woke a waiter of the exclusive queue;
	firstPark    timeline.Time // when a goroutine blocked first, since that one ran,
	lastPark     timeline.Time // and last
	sums         [][]*spanSum  // of the history
	past         *past         // who was at the root for those who waited for it
	seen         []heldSeen    // who was seen to hold it since the latest release
	// known is how many holds are known from beginning to end, and both how many of them were
	// at the same time as the one before.
	known, both int
	proved      bool          // two writers waited for readers at once: of one lock, the second would wait for the first
	unclaimed   int           // readers that were woken and did not run yet; see insideSince
	claimed     timeline.Time // when the latest of them ran
	readers     []readerSeen  // since a writer was woken last,
	readersLeft timeline.Time // which was then
	lockFacts
}

// maxHistory is how many releases a lock remembers at least. Waits behind more of them are blamed
// on the latest.
const maxHistory = 1024

// evictable is of how many releases the oldest are forgotten at once: those of a sum.
const evictable = fanOut * fanOut * fanOut * fanOut

// hold is a time in which a goroutine held a lock, known by the release that ended it.
type hold struct {
	from, to  timeline.Time
	coOwner                 // the owner
	pending   timeline.Time // since when the owner, a writer, had held back readers; from if not at all
	known     bool          // from is when the owner ran after its own wait
	foreign   bool          // another goroutine held the lock than the one that let go of it, or it was another lock
	prev      *hold         // the one before on the same lock, as far as that is certain
	forgotten bool          // there was a prev, but it is too long ago
	start     timeline.Time // from, but not before the release before
	spans     []heldSpan    // since the release before
	whole     heldSpan      // of the owner, since start or the hold before; see cutter.chained

	// The waiter that the release woke:
	queue    queue
	asked    timeline.Time // since when it had been in the queue
	requeued bool          // it had been woken in vain before
	place    queuePlace    // where it had come in the queue
	handed   bool          // it was given the lock
	wokenG   int64         // it is this goroutine,
	again    bool          // which has blocked again
	ran      timeline.Time // when it ran, 0 if not yet

	with []coOwner // who held it together with the owner; the last to be seen first
}

// queuePlace is where a waiter comes in a queue.
type queuePlace uint8

const (
	unknownPlace queuePlace = iota // not looked at yet
	lastPlace                      // behind all that are in it
	anyPlace                       // perhaps before them
)

// placeAt returns where the waiter that x woke had come in its queue. A release leaves a
// token for the waiter that it wakes. Whoever comes before that one runs takes the
// token, tries the lock, and blocks at the head of the queue if another goroutine was faster.
func (l *tracedLock) placeAt(x *hold) queuePlace {
	after := sort.Search(len(l.history), func(i int) bool { return l.history[i].to > x.asked+overlap })
	for i := after - 1; i >= 0; i-- {
		y := l.history[i]
		if y.ran == 0 || y.ran > x.asked-overlap {
			return anyPlace
		}
		if y.to < x.asked-placeWindow {
			break
		}
	}
	return lastPlace
}

// placeWindow is how long before the arrival of a waiter a release is looked for whose
// token it may have taken.
const placeWindow timeline.Time = 10_000_000

// group is the name of goroutines: one word, as it is compared again and again.
type group struct{ handle unique.Handle[string] }

func groupOf(name string) (g group) {
	if name != "" {
		g.handle = unique.Make(name)
	}
	return g
}

func (g group) name() string {
	if g == (group{}) {
		return ""
	}
	return g.handle.Value()
}

// owner is who is to blame. g is 0 unless goroutines are told apart.
type owner struct {
	g     int64
	group group
	site  *callSite
	flags contention.Flags
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

// several reports whether there is more than one lock behind the sites. For one lock, some
// 0.1 % of the wakes seem early, where the operating system takes threads off their cores; and up
// to 10 % of the holds overlap if they last microseconds, since more are unseen then.
func (l *tracedLock) several() bool {
	return l.proved || l.early >= 4 && l.early*40 > l.compared || l.both >= 4 && l.both*5 > l.known
}

// doubtful reports whether there may be more than one lock behind the sites, by the few holds that
// are known so far. While it does, waits are cut as if there were: less is blamed then.
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
	l.sumUp()
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
		if h.foreign || y.foreign && y.g != h.g && h.from < y.to-sameTime { // while h was held, y was let go of
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

// sameTime is how long two holds overlap at least if they are of different locks.
const sameTime timeline.Time = 50_000

// memory is how many releases the lock remembers: more if many wait, who may have to be told of
// them.
func (l *tracedLock) memory() int { return max(maxHistory, 2*l.peak) }

// waits returns how many wait for the lock.
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
	copy(l.history, l.history[n:])
	clear(l.history[len(l.history)-n:])
	l.history = l.history[:len(l.history)-n]
	l.evicted = true
	for level, size := 0, fanOut; level < len(l.sums); level, size = level+1, size*fanOut {
		if n%size == 0 {
			l.sums[level] = slices.Delete(l.sums[level], 0, n/size)
			continue
		}
		l.sums[level] = l.sums[level][:0]
		for i := range len(l.history) / size {
			l.sums[level] = append(l.sums[level], l.sumOf(level, i))
		}
	}
}

// last returns the latest release, or nil.
func (l *tracedLock) last() *hold {
	if n := len(l.history); n > 0 {
		return l.history[n-1]
	}
	return nil
}

// lockOf returns the lock that is meant at a site.
func (o *Observer) lockOf(s *callSite) *tracedLock {
	if s.lock == nil {
		o.locks++
		s.lock = &tracedLock{id: o.locks, class: s.class()}
	}
	s.lock = s.lock.root()
	return s.lock
}

// unite makes one lock of two, and returns it. The older one goes on.
func unite(a, b *tracedLock) *tracedLock {
	if a == b {
		return a
	}
	if b.id < a.id {
		a, b = b, a
	}
	b.parent = a
	a.history = append(a.history, b.history...)
	slices.SortStableFunc(a.history, func(x, y *hold) int { return cmp.Compare(x.to, y.to) })
	for i := range b.waiting {
		a.waiting[i] += b.waiting[i]
	}
	a.peak = max(a.peak, b.peak, a.waits())
	a.waitingSince = earlier(a.waitingSince, b.waitingSince)
	a.firstPark, a.lastPark = earlier(a.firstPark, b.firstPark), max(a.lastPark, b.lastPark)
	if a.woken == nil || b.woken != nil && b.woken.to > a.woken.to {
		a.woken = b.woken
	}
	if a.past == nil || b.past != nil && len(b.past.segs) > len(a.past.segs) {
		a.past = b.past
	}
	a.seen = append(a.seen, b.seen...)
	b.seen, b.sums, b.woken = nil, nil, nil
	if len(b.history) > 0 {
		a.sumAgain()
	}
	if len(a.history) >= 2*a.memory() {
		a.evict()
	}
	a.evicted = a.evicted || b.evicted
	a.holds.merge(&b.holds)
	a.compared += b.compared
	a.early += b.early
	a.known += b.known
	a.both += b.both
	a.proved = a.proved || b.proved || a.waiting[writerQueue] > 1
	a.unclaimed += b.unclaimed
	a.claimed = max(a.claimed, b.claimed)
	a.waiters = max(a.waiters, b.waiters)
	a.longest = max(a.longest, b.longest)
	a.contended += b.contended
	a.readers = append(a.readers, b.readers...)
	a.readersLeft = max(a.readersLeft, b.readersLeft)
	b.history, b.readers = nil, nil
	return a
}

// earlier returns the earlier of two times, of which 0 is none.
func earlier(a, b timeline.Time) timeline.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// durations keeps the latest of many durations.
type durations struct {
	recent []timeline.Time
	next   int
	sorted []timeline.Time
	fresh  int // since sorted was made
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

// upper returns the third quartile, and of how many. It is computed anew when
// half of them have changed.
func (d *durations) upper() (timeline.Time, int) { return d.quantile(3, 4) }

// median is the same of the median.
func (d *durations) median() (timeline.Time, int) { return d.quantile(1, 2) }

func (d *durations) quantile(part, of int) (timeline.Time, int) {
	if len(d.recent) == 0 {
		return 0, 0
	}
	if len(d.sorted) == 0 || 2*d.fresh >= len(d.recent) || len(d.recent) < 8 && d.fresh > 0 {
		d.sorted = append(d.sorted[:0], d.recent...)
		slices.Sort(d.sorted)
		d.fresh = 0
	}
	return d.sorted[len(d.sorted)*part/of], len(d.recent)
}
