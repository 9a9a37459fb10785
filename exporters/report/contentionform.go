package report

import (
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

type chainForm struct {
	Truncated bool     `json:"t,omitempty"`
	Frames    [][3]int `json:"f"` // function, file, line
}

type lockForm struct {
	Name      string `json:"name"` // Lock.String
	Title     string `json:"title"`
	Class     string `json:"class"`
	Waiters   int    `json:"waiters"`
	Contended int64  `json:"contended"`
}

// columns holds rows in columns, by name; an empty one has none.
type columns map[string][]any

// add adds a row: names and values in turn.
func (c columns) add(cells ...any) {
	for i := 0; i < len(cells); i += 2 {
		c[cells[i].(string)] = append(c[cells[i].(string)], cells[i+1])
	}
}

// rows counts the rows, each of which has the column.
func (c columns) rows(column string) int { return len(c[column]) }

// contentionTables numbers the items to which rows refer; −1 is none.
type contentionTables struct {
	funcs, files, parties, kinds, flags *table
	chains                              []chainForm
	stacks                              map[*contention.Stack]int
	shown                               []lockForm
	locks                               map[*contention.Lock]int
	// Keyed by id in the whole profile, with which the windows agree.
	byID map[uint64]int
}

// contentionObject is a profile in columns. aggregate.js adds it up like
// [contention.Profile.Aggregate].
//
// Columns that waits and pairs share are kind, lock, n, longest, flags; wg, wid and ws, the
// waiter's group, goroutine and stack; and forWork, 1 for waits that need not cost anything. Pairs
// have og, oid and os of the owner, and what it did during the wait: blocked has pairs of a kind's
// number and a time. Roots are the ends of the chains of blame, including pairs that are their own
// root. In windows, waits and pairs also have the number of their window.
func contentionObject(p *contention.Profile, windows []Window[*contention.Profile], n *namer) object {
	t := &contentionTables{funcs: newTable(), files: newTable(), parties: newTable(), kinds: newTable(), flags: newTable(),
		chains: []chainForm{}, stacks: map[*contention.Stack]int{}, shown: []lockForm{}, locks: map[*contention.Lock]int{}, byID: map[uint64]int{}}
	for _, l := range p.Locks {
		t.lock(l)
	}
	waits, pairs, roots := columns{}, columns{}, columns{}
	t.rows(p, waits, pairs, roots)
	out := object{
		"source": p.Source, "accuracy": p.Accuracy, "duration": p.Duration, "inFlight": p.InFlight, "dropped": p.Dropped, "rates": p.Rates(),
		"warnings": list(p.Warnings), "waits": waits, "pairs": pairs, "roots": roots, "unfinished": t.unfinished(p), "windows": nil,
	}
	if len(windows) > 0 {
		for _, l := range p.Locks {
			t.byID[l.ID] = t.locks[l]
		}
		waits, pairs, roots := columns{}, columns{}, columns{}
		for i, w := range windows {
			if w.Part == nil {
				continue
			}
			t.rows(w.Part, waits, pairs, roots)
			for _, c := range []columns{waits, pairs} {
				for c.rows("window") < c.rows("kind") {
					c.add("window", i)
				}
			}
		}
		out["windows"] = edges(object{"waits": waits, "pairs": pairs, "roots": roots}, windows)
	}
	groups := []int{} // of the page
	for _, name := range t.parties.texts {
		groups = append(groups, n.named(name))
	}
	out["funcs"], out["short"], out["files"], out["stacks"] = t.funcs.texts, format.Funcs(t.funcs.texts), t.files.texts, t.chains
	out["parties"], out["partyOf"], out["kinds"], out["flagSets"], out["locks"] = t.parties.texts, groups, t.kinds.texts, t.flags.texts, t.shown
	return out
}

// rows adds the rows of a profile to columns.
func (t *contentionTables) rows(p *contention.Profile, waits, pairs, roots columns) {
	for i := range p.Waits {
		w := &p.Waits[i]
		t.waiter(waits, w.Kind, w.Lock, &w.Waiter, w.Flags, w.ForWork(), w.Contentions, w.Longest)
		waits.add("handOff", w.HandOff, "unattributed", w.Unattributed, "ready", w.Ready, "idle", w.ReadyIdle, "parks", w.Parks)
	}
	for i := range p.Pairs {
		q := &p.Pairs[i]
		t.waiter(pairs, q.Kind, q.Lock, &q.Waiter, q.Flags, q.ForWork(), q.Contentions, q.Longest)
		blocked := [][2]int64{}
		for _, k := range q.BlockedKinds() {
			blocked = append(blocked, [2]int64{int64(t.kinds.number(k)), int64(q.Blocked[k])})
		}
		pairs.add("og", t.parties.number(q.Owner.Group), "oid", q.Owner.Goroutine, "os", t.stack(q.Owner.Stack), "blamed", q.Blamed,
			"running", q.Running, "runnable", q.Runnable, "unknown", q.Unknown(), "blocked", blocked)
		for _, r := range q.RootOwners() {
			roots.add("pair", pairs.rows("kind")-1, "rg", t.parties.number(r.Owner.Group), "rid", r.Owner.Goroutine, "rs", t.stack(r.Owner.Stack),
				"links", r.Links, "n", r.Contentions, "blamed", r.Blamed)
		}
	}
}

func (t *contentionTables) waiter(c columns, kind string, l *contention.Lock, who *contention.Party, flags uint32, forWork bool, contentions int64, longest time.Duration) {
	c.add("kind", t.kinds.number(kind), "lock", t.lock(l), "wg", t.parties.number(who.Group), "wid", who.Goroutine, "ws", t.stack(who.Stack),
		"flags", t.flags.number(contention.FlagNames(flags)), "forWork", map[bool]int{true: 1}[forWork], "n", contentions, "longest", longest)
}

// unfinished returns the waits in progress at the end of the trace: locks first, waits for work
// last. A lock may be missing in locks. A holder is −1 if it is unknown.
func (t *contentionTables) unfinished(p *contention.Profile) []object {
	rank := func(u contention.Wait) int {
		switch {
		case u.OfLock():
			return 0
		case !u.ForWork():
			return 1
		}
		return 2
	}
	out := []object{}
	for _, u := range slices.SortedStableFunc(slices.Values(p.Unfinished), func(a, b contention.Wait) int { return rank(a) - rank(b) }) {
		f := object{"kind": u.Kind, "lock": u.Lock.String(), "title": lockTitle(u.Lock.String()), "wg": t.parties.number(u.Waiter.Group), "wid": u.Waiter.Goroutine, "ws": t.stack(u.Waiter.Stack),
			"ofLock": u.OfLock(), "og": -1, "os": -1, "held": 0, "n": u.Contentions, "waited": u.Waited, "longest": u.Longest}
		if u.OfLock() && u.Owner.Group != "" {
			f["og"], f["os"], f["held"] = t.parties.number(u.Owner.Group), t.stack(u.Owner.Stack), u.Held
		}
		out = append(out, f)
	}
	return out
}

// lockTitle shortens the name of a lock like package text.
func lockTitle(name string) string {
	if strings.HasPrefix(name, "[") {
		return name
	}
	return format.Func(name)
}

func (t *contentionTables) lock(l *contention.Lock) int {
	i, ok := t.locks[l]
	if !ok {
		if i, ok = t.byID[l.ID]; ok { // the same lock in a window
			t.locks[l] = i
			return i
		}
		i = len(t.shown)
		t.locks[l] = i
		title := l.Name
		if title == "" {
			title = lockTitle(l.String())
		}
		t.shown = append(t.shown, lockForm{Name: l.String(), Title: title, Class: l.Class,
			Waiters: l.Waiters, Contended: int64(l.Contended)})
	}
	return i
}

// stack returns the number of a call stack, or −1 for none.
func (t *contentionTables) stack(s *contention.Stack) int {
	if s == nil {
		return -1
	}
	i, ok := t.stacks[s]
	if !ok {
		i = len(t.chains)
		t.stacks[s] = i
		form := chainForm{Truncated: s.Truncated, Frames: make([][3]int, len(s.Frames))}
		for j, fr := range s.Frames {
			form.Frames[j] = [3]int{t.funcs.number(fr.Func), t.files.number(fr.File), fr.Line}
		}
		t.chains = append(t.chains, form)
	}
	return i
}
