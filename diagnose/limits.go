package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/symbol"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// A limit makes goroutines wait until one of those that are past it is done: a semaphore, the
// connections of a pool, a buffered channel, a number of workers. If those past it sleep or wait
// for the network, the limit sets the pace.

// limit is a place where goroutines wait for one of a limited number.
type limit struct {
	place   timeline.Place
	sort    limitSort
	waiters string                   // most of the waiting goroutines
	holders map[string]time.Duration // by start function: see starts
	waited  time.Duration
	count   int64
	callers []timeline.Place
	channel bool // of semaphores: goroutines wait to send
}

type limitSort uint8

const (
	semaphores  limitSort = iota + 1 // golang.org/x/sync/semaphore, SetLimit, a channel that one group fills and empties
	databases                        // SetMaxOpenConns
	connections                      // MaxConnsPerHost
	tests                            // of package testing in parallel
	tokens                           // goroutines of one group wait for each other at a channel or a sync.Cond
	workers                          // a channel: goroutines of one group wait until those of another receive what they send
)

// inLibrary reports whether the standard library has the limit: those past it may wait at the same
// line of the program.
func (s limitSort) inLibrary() bool { return s == databases || s == connections }

// The functions of the standard library in which goroutines wait at a limit.
const (
	waitsForDatabase   = "database/sql.(*DB).conn"
	waitsForConnection = "net/http.(*Transport).getConn"
	dials              = "net/http.(*Transport).dialConn"
)

// findLimits finds limits among all waits that were ended by a goroutine.
func (d *diagnosis) findLimits() {
	d.limitAt, d.joined, d.starters = map[timeline.Place]*limit{}, map[timeline.Place]bool{}, map[string]timeline.Place{}
	if d.Contention == nil {
		return
	}
	bySort, closed := map[timeline.Place]map[limitSort]*limit{}, map[timeline.Place]time.Duration{}
	for i := range d.Contention.Pairs {
		p := &d.Contention.Pairs[i]
		if p.Owner.Stack == nil {
			continue
		}
		sort := limitSort(0)
		switch {
		case p.Kind == contention.SelectKind && calls(p.Waiter.Stack, waitsForDatabase): // or until its context ends
			sort = databases
		case p.Kind == contention.SelectKind && calls(p.Waiter.Stack, waitsForConnection):
			if calls(p.Owner.Stack, dials) {
				continue
			}
			sort = connections
		case p.Flags&contention.Closer != 0: // what they wait for is done once
		case calls(p.Waiter.Stack, "testing.(*T).Parallel"):
			sort = tests
		case p.Kind == contention.SemaphoreKind:
			sort = semaphores
		case p.Kind != contention.ChanSendKind && p.Kind != contention.ChanReceiveKind && p.Kind != contention.SelectKind && p.Kind != contention.CondKind:
			continue
		case p.Kind == contention.ChanSendKind && p.Waiter.Group == p.Owner.Group && !d.blocksAt(p.Owner.Stack):
			sort = semaphores
		// Goroutines that divide their work among others wait for these without any limit.
		case p.Waiter.Group == p.Owner.Group && !d.startedBy[p.Waiter.Group][p.Waiter.Group] && !d.blocksAt(p.Owner.Stack):
			sort = tokens
		case (p.Kind == contention.ChanSendKind || p.Kind == contention.SelectKind && d.receivesAt(p.Owner.Stack)) && p.Waiter.Group != p.Owner.Group:
			sort = workers
			if d.releasesOnce(p) {
				sort = semaphores
			}
		}
		place, callers := d.placeIn(p.Waiter.Stack)
		if place == (timeline.Place{}) && sort.inLibrary() {
			place = usesLimit(p.Waiter.Stack) // by a library, for the program
		}
		if place == (timeline.Place{}) || p.Waiter.Group == p.Owner.Group && d.barriers[place] {
			continue
		}
		sorts := bySort[place]
		if sorts == nil {
			sorts = map[limitSort]*limit{}
			bySort[place] = sorts
		}
		l := sorts[sort]
		if l == nil {
			l = &limit{place: place, sort: sort, waiters: p.Waiter.Group, holders: map[string]time.Duration{}, callers: callers, channel: p.Kind == contention.ChanSendKind}
			sorts[sort] = l
		}
		l.holders[d.starts(p.Owner.Group)] += p.Blamed
		l.waited += p.Blamed
		l.count += p.Contentions
		if p.Flags&contention.Closer != 0 {
			closed[place] += p.Blamed
		}
	}
	for place, sorts := range bySort {
		var all time.Duration
		var most *limit
		for _, l := range sorts {
			all += l.waited
			if most == nil || l.waited > most.waited || l.waited == most.waited && l.sort < most.sort {
				most = l
			}
		}
		d.closed[place] = closed[place] > all/2
		switch {
		case most.sort == 0 || most.waited <= all/2 || most.sort == workers && d.isOne(most):
		case d.joins(most):
			d.joined[place] = true
		default:
			if d.limitAt[place] = most; most.sort == semaphores && most.channel && d.waitedAt(place) >= 0.5 {
				d.starters[most.waiters] = place
			}
		}
	}
}

// releasesOnce reports whether a wait to send ends as goroutines receive that are about as many
// as these waits, and never wait there: each was started with a place in a limit, which it
// returns.
func (d *diagnosis) releasesOnce(p *contention.Wait) bool {
	b := d.boxes[p.Owner.Group]
	return b != nil && p.Contentions >= 10 && int64(b.Goroutines) >= p.Contentions/2 && !d.blocksAt(p.Owner.Stack)
}

// usesLimit returns the innermost place of a call chain outside the package that has a limit.
func usesLimit(s *contention.Stack) timeline.Place {
	for _, f := range framesOf(s) {
		if pkg := symbol.Package(f.Func); pkg != "runtime" && pkg != "database/sql" && pkg != "net/http" {
			return placeOf(f)
		}
	}
	return timeline.Place{}
}

// isOne reports whether a single goroutine receives nearly all that is sent: it is the cause.
func (d *diagnosis) isOne(l *limit) bool {
	for group, t := range l.holders {
		if b := d.boxes[group]; b != nil && b.Goroutines == 1 && t > l.waited*9/10 {
			return true
		}
	}
	return false
}

// joins reports whether goroutines wait at a semaphore until those that they have started are done,
// as for a sync.WaitGroup: each of these ends no wait but the last. Those that each need a place
// before they start end one wait each.
func (d *diagnosis) joins(l *limit) bool {
	if l.sort != semaphores || l.channel {
		return false
	}
	started := 0
	for group := range l.holders {
		if b := d.boxes[group]; b != nil && d.startedBy[group][l.waiters] {
			started += b.Goroutines
		}
	}
	return l.count < int64(started)/4
}

// blocksAt reports whether goroutines also wait for a channel at the place of a call chain, as
// stages of a pipeline do. A goroutine that returns a place in a limit never waits there.
func (d *diagnosis) blocksAt(s *contention.Stack) bool {
	p, _ := d.placeIn(s)
	if d.waitPlaces == nil {
		d.waitPlaces = map[timeline.Place]int64{}
		for i := range d.Contention.Waits {
			switch w := &d.Contention.Waits[i]; w.Kind {
			case contention.ChanSendKind, contention.ChanReceiveKind, contention.SelectKind:
				at, _ := d.placeIn(w.Waiter.Stack)
				d.waitPlaces[at] += w.Contentions
			}
		}
	}
	return p != (timeline.Place{}) && d.waitPlaces[p] > 0
}

// receivesAt reports whether goroutines also wait to receive from a channel where a call chain
// ends: a goroutine that ends the wait of another one there receives what that one sends.
func (d *diagnosis) receivesAt(s *contention.Stack) bool {
	if d.receives == nil {
		d.receives = map[timeline.Place]bool{}
		for i := range d.Contention.Waits {
			if w := &d.Contention.Waits[i]; w.Kind == contention.ChanReceiveKind {
				d.receives[innermost(w.Waiter.Stack)] = true
			}
		}
	}
	at := innermost(s)
	return at != (timeline.Place{}) && d.receives[at]
}

// innermost returns the place where a call chain ends; the zero place without frames.
func innermost(s *contention.Stack) timeline.Place {
	for _, f := range framesOf(s) {
		return placeOf(f)
	}
	return timeline.Place{}
}

// framesOf returns the frames of a call chain, which may be nil.
func framesOf(s *contention.Stack) []contention.Frame {
	if s == nil {
		return nil
	}
	return s.Frames
}

func placeOf(f contention.Frame) timeline.Place {
	return timeline.Place{Func: f.Func, File: f.File, Line: f.Line}
}

// calls reports whether a call chain contains a function.
func calls(s *contention.Stack, fn string) bool {
	return slices.ContainsFunc(framesOf(s), func(f contention.Frame) bool { return strings.HasPrefix(f.Func, fn) })
}

// passes reports whether a call chain contains a place.
func passes(s *contention.Stack, p timeline.Place) bool {
	return slices.ContainsFunc(framesOf(s), func(f contention.Frame) bool { return f.Func == p.Func && f.Line == p.Line })
}

// placeIn returns the innermost place of a call chain in the program's own code, and its callers.
func (d *diagnosis) placeIn(s *contention.Stack) (p timeline.Place, callers []timeline.Place) {
	for _, f := range framesOf(s) {
		at := placeOf(f)
		switch {
		case at.Func == "testing.(*M).Run":
			return p, callers // called by TestMain
		case !d.own(at) || strings.HasPrefix(f.Func, "golang.org/x/sync/") || symbol.IsWrapper(f.Func, f.File):
		case p == timeline.Place{}:
			p = at
		default:
			callers = append(callers, at)
		}
	}
	return p, callers
}

// allLimits returns the limits, longest wait first.
func (d *diagnosis) allLimits() []*limit {
	return slices.SortedFunc(maps.Values(d.limitAt), func(a, b *limit) int {
		return cmp.Or(cmp.Compare(b.waited, a.waited), cmp.Compare(a.place.String(), b.place.String()))
	})
}

// mergePast adds to a limit the processors that were idle because one of the goroutines past it
// ran, and no others, if a goroutine waited for the limit nearly all of the time.
func (d *diagnosis) mergePast() {
	for _, l := range d.allLimits() {
		if l.sort == workers || d.waitedAt(l.place) < 0.9 {
			continue
		}
		for _, c := range d.causes {
			if c.kind == Serial && d.past(l, c.name) {
				d.causeOf(key{kind: Limit, place: l.place}).take(c)
			}
		}
	}
}

// mergeLimited adds to a limit what the goroutines past it waited for outside the program.
func (d *diagnosis) mergeLimited() {
	limits := d.allLimits()
	for _, c := range d.causes {
		if c.kind != Sleep && c.kind != Network && c.kind != Blocking && c.kind != Timer && !d.waitsForCommands(c) {
			continue
		}
		for _, l := range limits {
			if !d.holds(l, c) || l.sort == workers && (c.kind == Timer || !d.occupied(l, c)) { // a ticker sets the pace of workers
				continue
			}
			if d.timesOf(c)[ledger.Syscall] > c.lost/2 && !d.waitsForCommands(c) {
				break // without the limit, these calls hold processors, too
			}
			into := d.causeOf(key{kind: Limit, place: l.place})
			if !d.forRequests(c) { // a server waits for these in each of its connections
				into.inside = append(into.inside, inside{c.kind, c.place, d.atATime(c), d.didIn(c)})
			}
			into.take(c)
			break
		}
	}
}

// inside is what goroutines past a limit did.
type inside struct {
	kind  string
	place timeline.Place
	mean  float64 // number of goroutines that did so, on average
	did   string
}

// didIn describes what goroutines did that waited outside the program.
func (d *diagnosis) didIn(c *cause) string {
	switch {
	case d.startsCommands(c), d.forCommands(c):
		return "started commands and waited for them"
	case d.throughFile(c):
		return "waited for a pipe or a device"
	}
	return map[string]string{Sleep: "slept", Network: "waited for the network", Blocking: "were in system calls", Syscalls: "were in system calls", Timer: "waited for a timer"}[c.kind]
}

// starts returns the function that starts the goroutines of a group if they are those of a
// server, which have the names of the program's functions while they call these. Otherwise it
// returns the group.
func (d *diagnosis) starts(group string) string {
	if b := d.boxes[group]; b != nil && len(b.Starts) == 1 && d.boxes[b.Starts[0]] != nil {
		return b.Starts[0]
	}
	return group
}

// past reports whether goroutines of a group end a good part of the waits at a limit.
func (d *diagnosis) past(l *limit, group string) bool {
	return l.holders[d.starts(group)] > l.waited/20
}

// holds reports whether the goroutines of a cause end waits at a limit or start after such a
// wait, and others waited there for at least half of the time for which the cause left processors
// idle.
func (d *diagnosis) holds(l *limit, c *cause) bool {
	if 2*l.waited*time.Duration(d.l.Procs) < c.lost {
		return false
	}
	var held time.Duration
	asks := d.asks(l)
	for _, i := range c.rows {
		// A server in the same program answers those past a limit of connections.
		r := &d.l.Rows[i]
		if k, ok := d.keyOf(r); ok && k.kind == Serial && d.past(l, k.name) { // ran alone to start commands
			held += r.Time
		} else if (d.past(l, r.Group) || d.past(l, d.servedBy(r.Group).group) || asks && d.answers(r.Group)) && r.Site != l.place {
			held += r.Time
		}
	}
	return held > c.lost/2
}

// occupied reports whether workers do something else than to wait for other goroutines for two
// thirds of the time: else more of them would wait, too. A library may read for them from a
// connection.
func (d *diagnosis) occupied(l *limit, c *cause) bool {
	served := map[timeline.Place]bool{}
	for r := range d.rowsOf(c) {
		if !d.own(r.Site) {
			served[d.servedBy(r.Group).place] = true
		}
	}
	var all, waited time.Duration
	for name, b := range d.boxes {
		if l.holders[d.starts(name)] == 0 {
			continue
		}
		all += b.Running + b.Runnable + b.Blocked()
		for _, wait := range []timeline.Wait{timeline.WaitChanSend, timeline.WaitChanReceive, timeline.WaitCond} {
			for _, at := range b.Sites[wait.String()] {
				if !served[timeline.Place{Func: at.Func, File: at.File, Line: at.Line}] {
					waited += at.Time
				}
			}
		}
	}
	return waited <= all/3
}

// asks reports whether goroutines past a limit are net/http clients.
func (d *diagnosis) asks(l *limit) bool {
	return l.sort == connections || slices.ContainsFunc(d.Contention.Waits, func(w contention.Wait) bool {
		return d.past(l, w.Waiter.Group) && calls(w.Waiter.Stack, "net/http.(*Client).do")
	})
}

// answers reports whether goroutines belong to a net/http server.
func (d *diagnosis) answers(group string) bool {
	const serves = "net/http.(*conn).serve"
	return group == serves || slices.ContainsFunc(d.Contention.Waits, func(w contention.Wait) bool {
		return w.Waiter.Group == group && calls(w.Waiter.Stack, serves)
	})
}

// waitedAt returns the average number of goroutines that waited at a limit, or for others elsewhere.
func (d *diagnosis) waitedAt(p timeline.Place) float64 {
	all := d.waitedFrom(p)
	if l := d.limitAt[p]; l != nil && l.sort.inLibrary() {
		return min(all, ratio(l.waited, d.Contention.Duration))
	}
	return all
}

// waitedFrom returns the average number of goroutines that waited for others at a place.
func (d *diagnosis) waitedFrom(p timeline.Place) float64 {
	var sum time.Duration
	for _, wait := range []timeline.Wait{timeline.WaitSemaphore, timeline.WaitSelect, timeline.WaitChanSend, timeline.WaitChanReceive, timeline.WaitCond} {
		sum += d.blockedAt(p, wait.String())
	}
	if l := d.limitAt[p]; sum == 0 && l != nil { // the graph has other places in libraries
		return ratio(l.waited, d.Contention.Duration)
	}
	if d.Graph == nil {
		return 0
	}
	return ratio(sum, d.Graph.Wall)
}

// blockedAt returns how long goroutines waited for something at a place.
func (d *diagnosis) blockedAt(p timeline.Place, wait string) (sum time.Duration) {
	for _, b := range d.boxes {
		for _, at := range b.Sites[wait] {
			if at.Func == p.Func && at.Line == p.Line {
				sum += at.Time
			}
		}
	}
	return sum
}

// atATime returns the average number of goroutines that waited for a cause.
func (d *diagnosis) atATime(c *cause) float64 {
	if d.Graph == nil || d.Graph.Wall <= 0 {
		return 0
	}
	type seen struct {
		wait string
		site timeline.Place
	}
	served := map[timeline.Place]bool{} // where others wait for what connections do; one that nothing uses waits, too
	of := func(r *ledger.Row) timeline.Place {
		if c.kind != Network || d.own(r.Site) {
			return timeline.Place{}
		}
		return d.servedBy(r.Group).place
	}
	for r := range d.rowsOf(c) {
		served[of(r)] = true
	}
	delete(served, timeline.Place{})
	var sum time.Duration
	for place := range served {
		n := d.waitedFrom(place)
		if l := d.limitAt[place]; l != nil && l.sort.inLibrary() {
			n -= d.waitedAt(place)
		}
		sum += time.Duration(n * float64(d.Graph.Wall))
	}
	done := map[seen]bool{}
	call := timeline.WaitSyscall.String()
	for r := range d.rowsOf(c) {
		s := seen{cmp.Or(r.Wait, call), r.Site}
		if !done[s] && !served[r.Site] && of(r) == (timeline.Place{}) && !d.beside(c, r) && (c.kind != Blocking || s.wait == call) { // others may wait for the caller
			done[s] = true
			sum += d.blockedAt(s.site, s.wait)
		}
	}
	return float64(sum) / float64(d.Graph.Wall)
}

// limited describes the limit and what the goroutines past it did.
func (d *diagnosis) limited(f *verdict.Finding, c *cause, at, lost string) {
	l := d.limitAt[c.place]
	f.Title = fmt.Sprintf("A limit at %s kept %s of the capacity idle.", at, lost)
	f.Advice = fmt.Sprintf("Raise the limit (there are %s).", format.Plural(d.l.Procs, "processor", "processors"))
	if l == nil {
		return
	}
	what := "A limit at " + at
	switch l.sort {
	case databases:
		what = "The limit of the connections to a database, waited for at " + at + ","
		f.Advice = "Raise it (SetMaxOpenConns) if the database can bear it, or hold connections for less time."
	case connections:
		what = "The limit of the connections to a host, waited for at " + at + ","
		f.Advice = "Raise it (MaxConnsPerHost) if the other side can bear it."
	case tests:
		what = "The limit of tests that run in parallel, waited for at " + at + ","
		f.Advice = "Raise it (go test -parallel): by default it is GOMAXPROCS, also for tests that only wait."
	case tokens:
		what = fmt.Sprintf("Goroutines of %s wait for one another at %s, which", format.Func(l.waiters), at)
		if len(c.inside) == 0 {
			f.Where = append(f.Where, d.hotPlaces(l.waiters)...)
		}
		f.Advice = "If that bounds how many go on at a time, raise the bound; if each needs what the one before it did, shorten that chain, or have each do more in its turn."
	case workers:
		what = fmt.Sprintf("The limit of how many %s work at a time, waited for at %s,", format.Func(largest(l.holders, strings.Compare)), at)
		f.Advice = "Have more of them work at a time, if what they wait for can bear it."
	case semaphores:
		if len(c.inside) > 0 {
			f.Advice = "Raise the limit, if what those past it wait for can bear it."
		} else if l.channel {
			f.Advice = strings.TrimSuffix(f.Advice, ".") + "; if it is 1 because it guards data, as a lock does, hold it for less time, or divide what it guards."
		}
	}
	f.Title = fmt.Sprintf("%s kept %s of the capacity idle", what, lost)
	if waiting := d.waitedAt(l.place); waiting >= 0.05 {
		f.Title += ": " + format.Number(waiting) + " waited on average"
		if len(c.inside) > 0 {
			f.Title += " while " + d.doing(c.inside)
			f.Where = append(f.Where, d.placesInside(c)...)
		}
	}
	f.Title += "."
}

// mostInside returns what most goroutines past a limit did of what the first ones did, how many did
// so on average, and whether at several places.
func mostInside(all []inside) (most inside, mean float64, several bool) {
	most = all[0]
	for _, in := range all {
		if in.did == all[0].did {
			mean, several = mean+in.mean, several || in.place != all[0].place
			if in.mean > most.mean {
				most = in
			}
		}
	}
	return most, mean, several
}

// placesInside returns the places where goroutines waited past a limit, or under a lock, the one
// with the most of them first.
func (d *diagnosis) placesInside(c *cause) []timeline.Place {
	most, _, _ := mostInside(c.inside)
	out := d.places(most.place)
	for _, in := range c.inside {
		if in.place != most.place && d.own(in.place) {
			out = append(out, d.places(in.place)...)
		}
	}
	return out
}

// doing describes what goroutines past a limit did.
func (d *diagnosis) doing(all []inside) string {
	most, mean, several := mostInside(all)
	did := "others " + most.did
	if mean >= 0.005 {
		did = format.Number(mean) + " " + most.did
	}
	switch {
	case most.place == timeline.Place{}:
	case several:
		did += ", most at " + short(most.place)
	default:
		did += " at " + short(most.place)
	}
	return did
}
