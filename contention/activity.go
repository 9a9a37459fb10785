package contention

import (
	"slices"
	"time"
)

// Activity is what owners did while they were waited for. In a profile, the parts sum to
// what is blamed on them, exactly.
//
// An execution trace tells the state of each goroutine at each instant. Wrapped locks know of
// no waits but those for wrapped locks and Conds: all else is Unknown there.
type Activity struct {
	// Running is the time in which they executed code, or a system call that kept its
	// processor. The operating system may have taken the thread off its core during that time.
	Running time.Duration
	// Runnable is the time in which they were ready but had no processor.
	Runnable time.Duration
	// Blocked is the time in which they waited themselves, by what for. It is nil if they did
	// not. Treat it as read-only.
	Blocked map[Kind]time.Duration
	// Unknown is the rest, such as the time before the owner's goroutine was started.
	Unknown time.Duration
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
