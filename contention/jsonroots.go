package contention

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// readOwners reads what the owners of all pairs did, and because of whom.
func (r *jsonReader) readOwners() error {
	for i := range r.p.Pairs {
		f, q := &r.form.Pairs[i], &r.p.Pairs[i]
		err := f.Activity.read(q)
		if err == nil {
			err = r.roots(f.Roots, q)
		}
		if err != nil {
			return fmt.Errorf("pair %d: %w", i, err)
		}
	}
	return nil
}

// read sets what the owner of q did. A profile that was written before this was known has none.
func (f *activityJSON) read(q *Pair) error {
	if f == nil {
		q.Activity = Activity{Unknown: q.Blamed}
		return nil
	}
	left := int64(q.Blamed)
	take := func(ns int64) bool {
		if ns < 0 || ns > left {
			return false
		}
		left -= ns
		return true
	}
	if !take(f.Running) || !take(f.Runnable) || !take(f.Unknown) {
		return fmt.Errorf("owner_activity: a part is negative, or they sum to more than wait_ns, %d", q.Blamed)
	}
	a := Activity{Running: time.Duration(f.Running), Runnable: time.Duration(f.Runnable), Unknown: time.Duration(f.Unknown)}
	for k, ns := range f.Blocked {
		switch {
		case !slices.Contains(Kinds, k):
			return fmt.Errorf("owner_activity: blocked_ns has the kind %q, not one of %v", k, Kinds)
		case !take(ns):
			return fmt.Errorf("owner_activity: a part is negative, or they sum to more than wait_ns, %d", q.Blamed)
		}
		a.add(Activity{Blocked: map[Kind]time.Duration{k: time.Duration(ns)}}, 1)
	}
	if left != 0 {
		return fmt.Errorf("owner_activity: the parts sum to %d, not to wait_ns, %d", int64(q.Blamed)-left, q.Blamed)
	}
	q.Activity = a
	return nil
}

// roots reads the root owners of q.
func (r *jsonReader) roots(forms []rootJSON, q *Pair) error {
	if len(forms) == 0 {
		return nil
	}
	left := q.Blamed
	blocked := q.Activity.clone()
	itself := false
	for i := range forms {
		f := &forms[i]
		d := time.Duration(f.Wait)
		root := Root{
			Owner: Party{Goroutine: f.RootGoroutine, Group: f.RootGroup}, Via: f.Via, Links: f.Links,
			Contentions: f.Contentions, Blamed: d,
		}
		var err error
		switch root.Owner.Stack, err = r.stack("root_id", f.RootID, f.RootStack); {
		case err != nil:
		case f.Links < 0 || f.Contentions < 0:
			err = errors.New("links or contentions is negative")
		case d < 0 || d > left:
			err = fmt.Errorf("a wait_ns is negative, or they sum to more than that of the pair, %d", q.Blamed)
		case f.Via == "" && (itself || root.Owner != q.Owner):
			err = errors.New("a root with an empty via must be the owner, and unique")
		case f.Via != "" && blocked.Blocked[f.Via] < d:
			err = fmt.Errorf("the owner was not blocked on %q for so long", f.Via)
		}
		if err != nil {
			return fmt.Errorf("root %d: %w", i, err)
		}
		if itself = itself || f.Via == ""; f.Via != "" {
			blocked.add(Activity{Blocked: map[Kind]time.Duration{f.Via: d}}, -1)
		}
		left -= d
		q.Roots = append(q.Roots, root)
	}
	if left != 0 {
		return fmt.Errorf("roots: they sum to %d, not to wait_ns, %d", q.Blamed-left, q.Blamed)
	}
	return nil
}
