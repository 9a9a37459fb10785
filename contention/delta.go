package contention

import (
	"fmt"
	"strings"
	"time"
)

// Since returns what p has more than an earlier snapshot of the same collection: the
// waits that were settled between the two. Longest waits and the largest numbers of
// waiters are those since the beginning, as a maximum cannot be subtracted. It returns
// p itself if earlier is nil. Rows that have not changed are left out.
//
// It takes about 1 µs a row.
func (p *Profile) Since(earlier *Profile) *Profile {
	if earlier == nil {
		return p
	}
	d := &Profile{
		Source: p.Source, Accuracy: p.Accuracy,
		Start:    earlier.Start.Add(earlier.Duration),
		Duration: p.Duration - earlier.Duration,
		InFlight: p.InFlight, Unfinished: p.Unfinished,
		Dropped: Dropped{
			Chains: p.Dropped.Chains - earlier.Dropped.Chains,
			Locks:  p.Dropped.Locks - earlier.Dropped.Locks,
			Pairs:  p.Dropped.Pairs - earlier.Dropped.Pairs,
			Exits:  p.Dropped.Exits - earlier.Dropped.Exits,
		},
	}
	if p.Accuracy == Sampled {
		d.Accuracy = Exact // unless finish finds an estimate
	}
	var k rowKeys
	beforeWaits, beforePairs := k.waits(earlier), k.pairs(earlier)
	used := map[*Lock]bool{}
	for _, w := range k.waits(p).rows {
		if e := beforeWaits.row(k.wait(&w)); e != nil {
			w.Contentions -= e.Contentions
			w.Observed -= e.Observed
			w.Parks -= e.Parks
			w.Ready -= e.Ready
			w.ReadyIdle -= e.ReadyIdle
			w.Waited -= e.Waited
			w.StdErr = errorSince(w.StdErr, e.StdErr)
			w.Blamed -= e.Blamed
			w.HandOff -= e.HandOff
			w.Unattributed -= e.Unattributed
		}
		if w.Observed != 0 || w.Contentions != 0 || w.Waited != 0 {
			d.Waits = append(d.Waits, w)
			used[w.Lock] = true
		}
	}
	for _, q := range k.pairs(p).rows {
		if e := beforePairs.row(k.pair(&q)); e != nil {
			q.Contentions -= e.Contentions
			q.Blamed -= e.Blamed
			q.StdErr = errorSince(q.StdErr, e.StdErr)
			q.Activity = q.Activity.clone()
			q.Activity.add(e.Activity, -1)
			q.SetRoots(k.rootsSince(&q, e))
		}
		if q.Contentions != 0 || q.Blamed != 0 {
			d.Pairs = append(d.Pairs, q)
		}
	}
	d.takeLocks(p, earlier, used)
	d.finish()
	return d
}

// takeLocks copies those locks of p that are used, with what is theirs since earlier.
func (d *Profile) takeLocks(p, earlier *Profile, used map[*Lock]bool) {
	contended := make(map[uint64]time.Duration, len(earlier.Locks))
	for _, l := range earlier.Locks {
		contended[l.ID] = l.Contended
	}
	copies := make(map[*Lock]*Lock, len(used))
	for _, l := range p.Locks {
		if used[l] {
			c := *l
			c.Contended -= contended[l.ID]
			copies[l] = &c
			d.Locks = append(d.Locks, &c)
		}
	}
	for i := range d.Waits {
		d.Waits[i].Lock = copies[d.Waits[i].Lock]
	}
	for i := range d.Pairs {
		d.Pairs[i].Lock = copies[d.Pairs[i].Lock]
	}
}

// rowKey identifies a row across profiles, in which stacks have other addresses.
type rowKey struct {
	kind            Kind
	lock            uint64
	waiter, owner   int
	waiterG, ownerG uint64
	flags           Flags
}

// keyedRows are the rows of a profile by key. Rows that have the same are put together: their call
// chains differ in calls that are not shown, as with "go mu.Unlock()" in two places.
type keyedRows[R any] struct {
	rows []R
	at   map[rowKey]int
}

// row returns the row with a key, or nil.
func (r *keyedRows[R]) row(k rowKey) *R {
	if i, ok := r.at[k]; ok {
		return &r.rows[i]
	}
	return nil
}

func (r *keyedRows[R]) append(k rowKey, row R) {
	if r.at == nil {
		r.at = make(map[rowKey]int)
	}
	r.at[k] = len(r.rows)
	r.rows = append(r.rows, row)
}

func (k *rowKeys) waits(p *Profile) (r keyedRows[Wait]) {
	for _, w := range p.Waits {
		key := k.wait(&w)
		if same := r.row(key); same != nil {
			same.add(&w)
		} else {
			r.append(key, w)
		}
	}
	return r
}

func (k *rowKeys) pairs(p *Profile) (r keyedRows[Pair]) {
	for _, q := range p.Pairs {
		key := k.pair(&q)
		if same := r.row(key); same != nil {
			roots := same.otherRoots()
			for _, root := range q.otherRoots() {
				roots = addRoot(roots, root)
			}
			same.Activity = same.Activity.clone()
			same.add(&q)
			same.SetRoots(roots)
		} else {
			r.append(key, q)
		}
	}
	return r
}

// rowKeys numbers stacks by what is in them.
type rowKeys struct {
	byStack map[*Stack]int
	byText  map[string]int
}

func (k *rowKeys) wait(w *Wait) rowKey {
	return rowKey{kind: w.Kind, lock: w.Lock.ID, waiter: k.stack(w.Waiter.Stack), waiterG: w.Waiter.Goroutine, flags: w.Flags}
}

func (k *rowKeys) pair(q *Pair) rowKey {
	return rowKey{
		kind: q.Kind, lock: q.Lock.ID, flags: q.Flags,
		waiter: k.stack(q.Waiter.Stack), waiterG: q.Waiter.Goroutine,
		owner: k.stack(q.Owner.Stack), ownerG: q.Owner.Goroutine,
	}
}

// stack returns the number of a stack, 0 for none.
func (k *rowKeys) stack(s *Stack) int {
	if s == nil {
		return 0
	}
	if n := k.byStack[s]; n != 0 {
		return n
	}
	if k.byStack == nil {
		k.byStack, k.byText = map[*Stack]int{}, map[string]int{}
	}
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "%s %s:%d %x\n", f.Func, f.File, f.Line, f.PC)
	}
	text := b.String()
	n := k.byText[text]
	if n == 0 {
		n = len(k.byText) + 1
		k.byText[text] = n
	}
	k.byStack[s] = n
	return n
}
