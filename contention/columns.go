package contention

import (
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/result"
)

// line is a row of the table of a profile: a part of a wait, or a wait in progress.
type line struct {
	*Wait
	owned      bool // a pair
	unfinished bool
}

// ofReady reports whether the line is the time after a wait.
func (l *line) ofReady() bool { return l.Owner.Stack == readyOwner.Stack }

// partyColumns returns the columns for the waiter or the owner.
func partyColumns(name, title string, of func(*line) *Party) []result.Column[line] {
	return []result.Column[line]{
		{Name: name + "_group", Title: title, Unit: result.Func, Help: "the goroutines of the " + title, Value: result.Texts(func(l *line) string { return of(l).Group })},
		{Name: name + "_func", Title: title + " in", Unit: result.Func, Help: "the function of the " + title, Value: result.Texts(func(l *line) string { return leafFunc(of(l)) })},
		{Name: name + "_stack", Title: title + " stack", Help: "the call chain of the " + title + ", leaf first", Value: result.Texts(func(l *line) string { return of(l).Stack.String() })},
	}
}

// of returns a function for a number that only some lines have.
func of[N ~int64](known func(*line) bool, number func(*line) N) func(*line) (result.Value, bool) {
	return func(l *line) (v result.Value, ok bool) {
		if ok = known(l); ok {
			v = result.Int(number(l))
		}
		return v, ok
	}
}

// rootColumn returns a function for the goroutine at the end of the chain of blame for the longest
// part.
func rootColumn(of func(*Party) string) func(*line) (result.Value, bool) {
	return func(l *line) (result.Value, bool) {
		if !l.owned {
			return result.Value{}, false
		}
		return result.Str(of(&l.RootOwners()[0].Owner)), true
	}
}

func lineColumns() []result.Column[line] {
	owned, unfinished := func(l *line) bool { return l.owned }, func(l *line) bool { return l.unfinished }
	held := func(l *line) bool { return l.unfinished && l.Held != 0 }
	c := []result.Column[line]{
		{Name: "kind", Title: "kind", Help: "what was waited for", Value: result.Texts(func(l *line) string { return l.Kind })},
		{Name: "lock", Title: "lock", Unit: result.Func, Help: "the lock", Value: result.Texts(func(l *line) string { return l.Lock.String() })},
		{Name: "class", Title: "class", Unit: result.Func, Help: "where locks of its sort are made", Value: result.Texts(func(l *line) string { return l.Lock.Class })},
	}
	c = append(c, partyColumns("waiter", "waiter", func(l *line) *Party { return &l.Waiter })...)
	c = append(c, partyColumns("owner", "owner", func(l *line) *Party { return &l.Owner })...)
	return append(c, []result.Column[line]{
		{Name: "flags", Title: "flags", Note: true, Help: "circumstances of the wait, and of its owner", Value: result.Texts(func(l *line) string { return FlagNames(l.Flags) })},
		{Name: "contentions", Title: "delayed", Unit: result.Count, Help: "waits that the owner delayed; 0 where there is no owner", Value: result.Ints(func(l *line) int64 {
			if l.owned {
				return l.Contentions
			}
			return 0
		})},
		{Name: "wait_ns", Title: "waited", Unit: result.Duration, Help: "for how long", Value: result.Ints((*line).waited)},
		{Name: "running_ns", Title: "ran", Unit: result.Duration, Help: "the part in which the owner ran", Value: of(owned, func(l *line) time.Duration { return l.Running })},
		{Name: "runnable_ns", Title: "ready", Unit: result.Duration, Help: "the part in which the owner was ready to run", Value: of(owned, func(l *line) time.Duration { return l.Runnable })},
		{Name: "blocked_ns", Title: "blocked", Unit: result.Duration, Help: "the part in which the owner was itself blocked", Value: of(owned, func(l *line) time.Duration { return l.BlockedTotal() })},
		{Name: "unknown_ns", Title: "unknown", Unit: result.Duration, Help: "the part in which it is not known what the owner did", Value: of(owned, func(l *line) time.Duration { return l.Unknown() })},
		{Name: "blocked_on", Title: "blocked on", Note: true, Help: "what the owner was blocked on", Value: result.Texts((*line).blockedOn)},
		{Name: "root_group", Title: "root", Unit: result.Func, Help: "the goroutines at the end of the chain of blame", Value: rootColumn(func(p *Party) string { return p.Group })},
		{Name: "root_func", Title: "root in", Unit: result.Func, Help: "their function", Value: rootColumn(leafFunc)},
		{Name: "root_stack", Title: "root stack", Help: "their call chain, leaf first", Value: rootColumn(func(p *Party) string { return p.Stack.String() })},
		{Name: "root_ns", Title: "by root", Unit: result.Duration, Help: "for how long they were at the end", Value: of(owned, func(l *line) time.Duration { return l.RootOwners()[0].Blamed })},
		{Name: "ready_ns", Title: "then ready", Unit: result.Duration, Help: "for how long they were ready after the waits", Value: of((*line).ofReady, func(l *line) time.Duration { return l.Ready })},
		{Name: "ready_idle_ns", Title: "beside an idle processor", Unit: result.Duration, Help: "the part in which a processor was idle", Value: of((*line).ofReady, func(l *line) time.Duration { return l.ReadyIdle })},
		{Name: "waits", Title: "waits", Unit: result.Count, Help: "how often they waited", Value: of((*line).ofReady, func(l *line) int64 { return l.Contentions })},
		{Name: "parks", Title: "parks", Unit: result.Count, Help: "how often they blocked", Value: of((*line).ofReady, func(l *line) int64 { return l.Parks })},
		{Name: "unfinished", Title: "still waiting", Unit: result.Count, Help: "goroutines that waited when the trace ended", Value: of(unfinished, func(l *line) int64 { return l.Contentions })},
		{Name: "unfinished_ns", Title: "for", Unit: result.Duration, Help: "for how long they had waited", Value: of(unfinished, func(l *line) time.Duration { return l.Waited })},
		{Name: "unfinished_longest_ns", Title: "longest", Unit: result.Duration, Help: "for how long the first of them had", Value: of(unfinished, func(l *line) time.Duration { return l.Longest })},
		{Name: "held_ns", Title: "held", Unit: result.Duration, Help: "for how long, at least, the owner had held the lock when the trace ended", Value: of(held, func(l *line) time.Duration { return l.Held })},
	}...)
}

// waited returns the time waited of a part.
func (l *line) waited() time.Duration { return l.Blamed + l.HandOff + l.Unattributed }

// blockedOn lists what the owner was blocked on, such as "mutex=1200 chan-receive=300".
func (l *line) blockedOn() string {
	var on []string
	for _, k := range l.BlockedKinds() {
		on = append(on, k+"="+strconv.FormatInt(int64(l.Blocked[k]), 10))
	}
	return strings.Join(on, " ")
}

// cannotTellKey replaces the holder of a lock if the trace does not show it.
const cannotTellKey = "[cannot tell]"

// lines returns a row for each pair of waiter and owner, and rows each for the hand-off, the
// unattributed time and, for waits of a trace, the time after each wait.
func (p *Profile) lines() (rows []line) {
	for w, owned := range p.parts() {
		if l := (line{Wait: w, owned: owned}); !l.ofReady() || w.Parks > 0 {
			rows = append(rows, l)
		}
	}
	return rows
}

func unknownParty(key string) Party {
	return Party{Group: key, Stack: &Stack{Frames: []Frame{{Func: key}}}}
}

// Table returns a row for each pair of waiter and owner, and a row each for the hand-off and the
// unattributed time of each wait, whose owner is "[hand-off]" or "[unattributed]": wait_ns sums to
// the time waited. For waits of a trace, a row with the owner "[ready]" follows: the time for which
// the goroutines were ready after the waits, until they had a processor (P), and the numbers of
// waits and of times that they blocked. Rows for the waits in progress at the end of a trace come
// last. Their owner is the holder of the lock then, "[cannot tell]" if the trace does not show it,
// and empty for waits that are not for a lock.
func (p *Profile) Table() *result.Table {
	rows := p.lines()
	for _, u := range p.Unfinished {
		switch {
		case !u.OfLock():
			u.Owner = unknownParty("")
		case u.Owner.Group == "":
			u.Owner = unknownParty(cannotTellKey)
		}
		u.Lock, u.Flags = &Lock{Name: u.Lock.String()}, 0
		rows = append(rows, line{Wait: &u, unfinished: true})
	}
	t := result.New(lineColumns(), rows, 0)
	t.Title, t.SortedBy = "Who waited for whom", "wait_ns"
	return t
}

// Changes returns the differences between two profiles, by lock, waiter and owner: see
// [result.Diff]. Locks are matched by name or, without one, by class: their numbers differ from run
// to run. The time is that of waits and, with the owner "[ready]", that after them.
func Changes(before, after *Profile) *result.Table {
	table := func(p *Profile) *result.Table {
		columns := []result.Column[line]{
			{Name: "time_ns", Title: "time", Unit: result.Duration, Help: "for how long they waited, or were ready after that", Value: result.Ints(func(l *line) time.Duration { return l.partTime() })},
			{Name: "contentions", Title: "waits", Unit: result.Count, Help: "waits that the owner delayed", Value: result.Ints(func(l *line) int64 {
				if l.ofReady() {
					return 0
				}
				return l.Contentions
			})},
			{Name: "kind", Title: "kind", Help: "what was waited for", Value: result.Texts(func(l *line) string { return l.Kind })},
			{Name: "lock", Title: "lock", Unit: result.Func, Help: "the lock or, without a name, its class", Value: result.Texts(func(l *line) string {
				if l.Lock.Name == SeveralLocks {
					return orUnknown(l.Lock.Class)
				}
				return l.Lock.Title()
			})},
			{Name: "waiter_group", Title: "waiter", Unit: result.Func, Help: "the goroutines that waited", Value: result.Texts(func(l *line) string { return l.Waiter.Group })},
			{Name: "owner_group", Title: "owner", Unit: result.Func, Help: "the goroutines to blame", Value: result.Texts(func(l *line) string { return l.Owner.Group })},
		}
		return result.New(columns, p.lines(), 0)
	}
	t := result.Changes(table(before), table(after), "time_ns", "contentions", "kind", "lock", "waiter_group", "owner_group")
	t.Title = "Who waited for whom"
	return t
}

// Summary returns the columns of a profile as a whole. Their names are those of conditions.
func Summary() []result.Column[Profile] {
	return []result.Column[Profile]{
		{Name: "waited", Title: "waited", Unit: result.Duration, Help: "what all waiters lost together", Value: summed(func(w *Wait) time.Duration { return w.Waited })},
		{Name: "longest", Title: "longest wait", Unit: result.Duration, Help: "the longest wait", Value: result.Ints(func(p *Profile) (longest time.Duration) {
			for i := range p.Waits {
				longest = max(longest, p.Waits[i].Longest)
			}
			return longest
		})},
		{Name: "ready", Title: "then ready", Unit: result.Duration, Help: "for how long they were ready after the waits", Value: summed(func(w *Wait) time.Duration { return w.Ready })},
		{Name: "ready-idle", Title: "beside an idle processor", Unit: result.Duration, Help: "the part of it in which a processor was idle", Value: summed(func(w *Wait) time.Duration { return w.ReadyIdle })},
		{Name: "contentions", Title: "contentions", Unit: result.Count, Help: "how often goroutines waited", Value: summed(func(w *Wait) int64 { return w.Contentions })},
		{Name: "parks", Title: "parks", Unit: result.Count, Help: "how often they blocked", Value: summed(func(w *Wait) int64 { return w.Parks })},
		{Name: "waiting", Title: "waiting at a time", Unit: result.Number, Help: "goroutines that waited, on average", Value: result.Floats(func(p *Profile) float64 { return p.part(func(w *Wait) time.Duration { return w.Waited }, p.Duration) })},
		{Name: "handoff-%", Title: "hand-off", Unit: result.Ratio, Help: "part of the waits in which the lock was on its way", Value: result.Floats(func(p *Profile) float64 { return p.part(func(w *Wait) time.Duration { return w.HandOff }, p.waited()) })},
		{Name: "unattributed-%", Title: "unattributed", Unit: result.Ratio, Help: "part of the waits that is blamed on no owner", Value: result.Floats(func(p *Profile) float64 {
			return p.part(func(w *Wait) time.Duration { return w.Unattributed }, p.waited())
		})},
		{Name: "wall", Title: "wall time", Unit: result.Duration, Help: "the time of the profile", Value: result.Ints(func(p *Profile) time.Duration { return p.Duration })},
	}
}

func sum[N ~int64](p *Profile, of func(*Wait) N) (sum N) {
	for i := range p.Waits {
		sum += of(&p.Waits[i])
	}
	return sum
}

func summed[N ~int64](of func(*Wait) N) func(*Profile) (result.Value, bool) {
	return result.Ints(func(p *Profile) N { return sum(p, of) })
}

func (p *Profile) waited() time.Duration {
	return sum(p, func(w *Wait) time.Duration { return w.Waited })
}

func (p *Profile) part(of func(*Wait) time.Duration, whole time.Duration) float64 {
	return float64(sum(p, of)) / float64(max(whole, 1))
}
