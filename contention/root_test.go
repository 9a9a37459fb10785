package contention

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// checkOwners checks that the activities of owners and the roots sum to the blame of the owners.
func checkOwners(t testing.TB, p *Profile) {
	t.Helper()
	waits := map[rowKey]int64{}
	for _, w := range p.Waits {
		waits[w.key()] += w.Contentions
	}
	for _, q := range p.Pairs {
		if n := waits[q.waiterKey()]; q.Contentions > n {
			t.Errorf("an owner held the lock in %d of %d waits", q.Contentions, n)
		}
		if q.Running < 0 || q.Runnable < 0 || q.Unknown() < 0 {
			t.Errorf("%v: %+v", q.Blamed, q)
		}
		left := maps.Clone(q.Blocked)
		var sum time.Duration
		for i, r := range q.Roots {
			sum += r.Blamed
			if r.Blamed <= 0 || r.Contentions < 0 || r.Contentions > q.Contentions || (r.Kind == "") != (r.Links == 0) {
				t.Errorf("root %d of %v in %d: %+v", i, q.Blamed, q.Contentions, r)
			}
			if r.Kind == "" && r.Owner != q.Owner {
				t.Errorf("the owner is %+v, itself as a root %+v", q.Owner, r.Owner)
			}
			if r.Kind != "" {
				left[r.Kind] -= r.Blamed
			}
		}
		if q.Roots != nil && sum != q.Blamed {
			t.Errorf("roots sum to %v of %v", sum, q.Blamed)
		}
		for k, d := range left {
			if d < 0 || q.Blocked[k] <= 0 {
				t.Errorf("blocked on %s for %v, %v less than the roots", k, q.Blocked[k], d)
			}
		}
	}
}

func toldActivity(a *Wait) string {
	var b strings.Builder
	add := func(what string, d time.Duration) {
		if d != 0 {
			fmt.Fprintf(&b, " %s %d", what, us(d))
		}
	}
	add("running", a.Running)
	add("runnable", a.Runnable)
	for _, k := range a.BlockedKinds() {
		add(string(k), a.Blocked[k])
	}
	add("unknown", a.Unknown())
	return b.String()
}

func us(d interface{ Microseconds() int64 }) int64 { return d.Microseconds() }

// lines removes the indentation of a literal.
func lines(text string) string {
	var b strings.Builder
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimPrefix(strings.TrimLeft(l, "\t"), "|"); strings.TrimSpace(l) != "" {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}
