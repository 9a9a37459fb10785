package contention

import (
	"cmp"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/order"
)

// LockRow is one lock's line in the table of locks.
type LockRow struct {
	*Lock
	// Contentions is the number of waits for the lock, and Parks how often goroutines blocked
	// for it; see Wait.
	Contentions, Parks int64
	// Waited == Blamed + HandOff + Unattributed is what all waiters lost together.
	Waited, Blamed, HandOff, Unattributed time.Duration
	// ForWork is the part of Waited in waits that need not cost anything; see [Wait.ForWork].
	ForWork time.Duration
	// Ready is for how long they were ready after that, and ReadyIdle the part of it in which a
	// processor was idle.
	Ready, ReadyIdle time.Duration
	// Activity is what the owners did while they were waited for: its parts sum to Blamed.
	Activity Activity
	// ContendedShare is the part of the profile's duration in which the lock was held
	// while a goroutine waited for it: near 1, the lock is all that the program does.
	ContendedShare float64
}

// LockTable returns a row for each lock, the one that cost most first: that is Waited without
// ForWork.
func (p *Profile) LockTable() []LockRow {
	byLock := make(map[*Lock]*LockRow, len(p.Locks))
	for _, l := range p.Locks {
		r := &LockRow{Lock: l}
		if p.Duration > 0 {
			r.ContendedShare = float64(l.Contended) / float64(p.Duration)
		}
		byLock[l] = r
	}
	for i := range p.Waits {
		w := &p.Waits[i]
		if r := byLock[w.Lock]; r != nil {
			r.Contentions += w.Contentions
			r.Parks += w.Parks
			r.Ready += w.Ready
			r.ReadyIdle += w.ReadyIdle
			r.Waited += w.Waited
			if w.ForWork() {
				r.ForWork += w.Waited
			}
			r.Blamed += w.Blamed
			r.HandOff += w.HandOff
			r.Unattributed += w.Unattributed
		}
	}
	for i := range p.Pairs {
		if r := byLock[p.Pairs[i].Lock]; r != nil {
			r.Activity.add(p.Pairs[i].OwnerActivity(), 1)
		}
	}
	rows := make([]LockRow, 0, len(byLock))
	for _, l := range p.Locks {
		rows = append(rows, *byLock[l])
	}
	order.Stable(rows, func(a, b LockRow) int {
		return cmp.Or(cmp.Compare(b.Waited-b.ForWork, a.Waited-a.ForWork), cmp.Compare(b.Waited, a.Waited))
	})
	return rows
}
