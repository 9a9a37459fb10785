package diagnose

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/starter"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// ownModule reports whether a place is in the program's own module, not in a dependency.
func (d *diagnosis) ownModule(p timeline.Place) bool {
	return d.own(p) && !starter.RoleOf(p.Func, p.File).Foreign
}

// from returns a place and up to two of its callers, which are the innermost ones of the program's
// own module for a place in a dependency. A place may be in a small function with many other
// callers.
func (d *diagnosis) from(p timeline.Place, callers []timeline.Place) []timeline.Place {
	out := d.places(p)
	foreign := !d.ownModule(p) // the golden file of otel-old needs it
	for _, q := range callers {
		known := slices.ContainsFunc(out, func(at timeline.Place) bool { return at.Func == q.Func })
		if len(out) < 3 && !known && (!foreign || d.ownModule(q)) {
			out = append(out, q)
			foreign = false
		}
	}
	if n := len(out); n > 2 && out[n-1].Func == "main.main" {
		out = out[:n-1] // it calls everything
	}
	return out
}

// orWaits returns callers or, if the runtime has lost the callers of the function that it
// interrupted, a place of the program's own module where a group of goroutines was seen in
// another function. That is chance if it was seen once: then only the function that names the
// group is certain.
func (d *diagnosis) orWaits(group string, p timeline.Place, callers []timeline.Place) []timeline.Place {
	if len(callers) > 0 || p.Func == group || !d.ownModule(p) {
		return callers
	}
	for _, i := range d.code[group] {
		if r := &d.l.Rows[i]; r.Site.Func != p.Func && d.ownModule(r.Site) && r.Count > 1 {
			return append([]timeline.Place{r.Site}, r.Callers...)
		}
	}
	if at := (timeline.Place{Func: group}); group != unnamed && d.ownModule(at) {
		return d.places(at)
	}
	return nil
}

// user returns the caller to name for a shared place: the innermost one of another package, because
// the place's own package may implement only a lock, otherwise the innermost one.
func (d *diagnosis) user(p timeline.Place, callers []timeline.Place) (timeline.Place, bool) {
	for _, q := range callers {
		if symbol.Package(q.Func) != symbol.Package(p.Func) && d.own(q) {
			return q, true
		}
	}
	for _, q := range callers {
		if q.Func != p.Func && d.own(q) && q.Func != "main.main" {
			return q, true
		}
	}
	return timeline.Place{}, false
}

// named returns the name of the place of a cause in a sentence, and the places of the finding. The
// name of a place in a dependency begins with the line of the program's own module that led there,
// if there is only one and it led there most of the time.
func (d *diagnosis) named(c *cause) (title string, where []timeline.Place) {
	callers := c.callers(d)
	title = short(c.place)
	if c.place.Func == "" || d.ownModule(c.place) {
		return title, d.from(c.place, callers)
	}
	var led, all time.Duration
	see := func(chain []timeline.Place, t time.Duration) {
		all += t
		if i := slices.IndexFunc(chain, d.ownModule); i >= 0 {
			led += t
			if !slices.Contains(where, chain[i]) {
				where = append(where, chain[i])
			}
		}
	}
	see(callers, 0)
	for r := range d.rowsOf(c) {
		if r.Site == c.place {
			see(r.Callers, r.Time)
		}
	}
	if led < all/2 {
		where, callers = nil, nil
	}
	switch len(where) {
	case 0:
		return title, d.from(c.place, callers)
	case 1:
		title = short(where[0]) + " (in " + title + ")"
	}
	return title, append(where, c.place)
}

// through returns the innermost function of the program that at least half of the running time of a
// group of goroutines passed through, with its most frequent line, if that time is spread over many
// places. The start function of the goroutines does not count.
func (d *diagnosis) through(group string) (timeline.Place, bool) {
	type passed struct {
		time, below time.Duration // below: Σ time × frames below
		lines       map[timeline.Place]time.Duration
	}
	var all, most time.Duration
	of := map[string]*passed{}
	for _, i := range d.code[group] {
		r := &d.l.Rows[i]
		all += r.Time
		if d.own(r.Site) {
			most = max(most, r.Time)
		}
		seen := map[string]bool{}
		for depth, p := range append([]timeline.Place{r.Site}, r.Callers...) {
			if seen[p.Func] || !d.own(p) {
				continue
			}
			seen[p.Func] = true
			f := of[p.Func]
			if f == nil {
				f = &passed{lines: map[timeline.Place]time.Duration{}}
				of[p.Func] = f
			}
			f.time += r.Time
			f.below += r.Time * time.Duration(depth)
			f.lines[p] += r.Time
		}
	}
	if most >= all/4 {
		return timeline.Place{}, false
	}
	innermost := ""
	for fn, f := range of {
		if f.time < all/2 || fn == group {
			continue
		}
		best := of[innermost]
		if best == nil || cmp.Or(cmp.Compare(float64(f.below)/float64(f.time), float64(best.below)/float64(best.time)), strings.Compare(fn, innermost)) < 0 {
			innermost = fn
		}
	}
	if innermost == "" {
		return timeline.Place{}, false
	}
	return largest(of[innermost].lines, timeline.Place.Compare), true
}

// lineOf returns the innermost place of the program's own module in a row, or else what behalfOf
// returns.
func (d *diagnosis) lineOf(r *ledger.Row) timeline.Place {
	for _, p := range append([]timeline.Place{r.Site}, r.Callers...) {
		if d.ownModule(p) {
			return p
		}
	}
	return d.behalfOf(r)
}

// behalfOf returns where a goroutine waited. If that is in the standard library, it returns where
// the goroutines that it wakes wait, because a goroutine that only reads from a connection or
// cancels a context does so for others.
func (d *diagnosis) behalfOf(r *ledger.Row) timeline.Place {
	if d.own(r.Site) {
		return r.Site
	}
	if b := d.servedBy(r.Group); b.place != (timeline.Place{}) {
		return b.place
	}
	return r.Site
}

// largest returns the key with the largest value, of several the first; the zero key if there is
// none.
func largest[K comparable, N time.Duration | int64](values map[K]N, compare func(a, b K) int) (most K) {
	first := true
	for k, n := range values {
		if first || n > values[most] || n == values[most] && compare(k, most) < 0 {
			most, first = k, false
		}
	}
	return most
}

// served are goroutines that others work for, and where they wait for them.
type served struct {
	group string
	place timeline.Place
}

// servedBy returns the other goroutines that wait most for those of a group, except for their locks, if
// there are any, or else those that started them, if the standard library did so for the program.
func (d *diagnosis) servedBy(group string) served {
	if b, known := d.behalf[group]; known || d.Contention == nil {
		return b
	}
	sums := map[served]time.Duration{}
	var own, others int64 // waits of the group, and for it
	for i := range d.Contention.Waits {
		if w := &d.Contention.Waits[i]; w.Waiter.Group == group {
			own += w.Contentions
		}
	}
	for i := range d.Contention.Pairs {
		w := &d.Contention.Pairs[i]
		if p, callers := d.placeIn(w.Waiter.Stack); w.Owner.Group == group && w.Waiter.Group != group && p != (timeline.Place{}) && !isLock(string(w.Kind)) {
			by := served{w.Waiter.Group, p}
			if sums[by] += w.Blamed; d.above[by] == nil {
				d.above[by] = callers
			}
			others += w.Contentions
		}
	}
	if others < min(own/10, 10) { // such as one that waits at the end until a server is closed
		sums = nil
	}
	if g := d.ran[group].started; len(sums) == 0 && g != nil && !symbol.IsProgram(group, "") {
		sums = map[served]time.Duration{{g.Waker, g.Site}: 1}
		d.above[served{g.Waker, g.Site}] = g.Callers
	}
	d.behalf[group] = largest(sums, func(a, b served) int { return cmp.Or(a.place.Compare(b.place), strings.Compare(a.group, b.group)) })
	return d.behalf[group]
}

// ownFirst sorts the places of a finding, each line once: those of the program's own module before
// those of its dependencies, and the standard library last. If all are in the standard library,
// the first one is the place that the goroutines there worked for; if none is in the program's
// own module, the place there that waits for them is added.
func (d *diagnosis) ownFirst(f *verdict.Finding) {
	// TestPlacesOfTheProgramAreFirst needs this.
	for i := 0; len(f.Where) > 0 && !slices.ContainsFunc(f.Where, d.own) && i < len(f.Rows); i++ {
		if p := d.behalfOf(&d.l.Rows[f.Rows[i]]); d.own(p) {
			f.Where = append(f.Where, p)
		}
	}
	if len(f.Rows) > 0 && len(f.Where) > 0 && !slices.ContainsFunc(f.Where, d.ownModule) {
		b := d.servedBy(d.l.Rows[f.Rows[0]].Group)
		chain := append([]timeline.Place{b.place}, d.above[b]...)
		if i := slices.IndexFunc(chain, d.ownModule); i >= 0 {
			f.Where = append(f.Where, chain[i])
		}
	}
	var sorted [3][]timeline.Place
	for _, p := range f.Where {
		to := &sorted[2]
		if d.ownModule(p) {
			to = &sorted[0]
		} else if d.own(p) {
			to = &sorted[1]
		}
		if !slices.ContainsFunc(*to, func(q timeline.Place) bool {
			return q == p || q.Line > 0 && q.Line == p.Line && symbol.Enclosing(q.Func) == symbol.Enclosing(p.Func)
		}) {
			*to = append(*to, p)
		}
	}
	f.Where = slices.Concat(sorted[:]...)
}
