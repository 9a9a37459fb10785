package report

import (
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// contentionForm is a profile in columns. aggregate.js adds it up like
// [contention.Profile.Aggregate].
type contentionForm struct {
	Source   string      `json:"source"`
	Accuracy string      `json:"accuracy"`
	Duration int64       `json:"duration"`
	InFlight int64       `json:"inFlight"`
	Dropped  any         `json:"dropped"` // Profile.Dropped
	Rates    string      `json:"rates"`
	Warnings []string    `json:"warnings"`
	Funcs    []string    `json:"funcs"` // full names
	Short    []string    `json:"short"` // shortened names
	Files    []string    `json:"files"`
	Stacks   []chainForm `json:"stacks"` // referenced by rows; −1 is none
	Parties  []string    `json:"parties"`
	PartyOf  []int       `json:"partyOf"` // the page's group of a party, or −1
	Kinds    []string    `json:"kinds"`
	FlagSets []string    `json:"flagSets"`
	Locks    []lockForm  `json:"locks"`
	// Columns that waits and pairs share are kind, lock, n, longest, flags; wg, wid and ws, the
	// waiter's group, goroutine and stack; and forWork, 1 for waits that need not cost anything.
	// Pairs have og, oid and os of the owner, and what it did during the wait: blocked has pairs of
	// a kind's number and a time. Roots are the ends of the chains of blame, including pairs that
	// are their own root.
	Waits   columns            `json:"waits"`
	Pairs   columns            `json:"pairs"`
	Roots   columns            `json:"roots"`
	Windows *contentionWindows `json:"windows"` // nil if the times of the waits are unknown

	Unfinished []unfinishedForm `json:"unfinished"` // locks first, waits for work last
}

// unfinishedForm is a row of waits in progress at the end of the trace. Lock is a name as in locks,
// which may not contain it.
type unfinishedForm struct {
	Kind        string `json:"kind"`
	Lock        string `json:"lock"`
	Title       string `json:"title"`
	Group       int    `json:"wg"`
	Goroutine   uint64 `json:"wid"`
	Stack       int    `json:"ws"`
	OfLock      bool   `json:"ofLock"`
	Holder      int    `json:"og"` // −1 if unknown
	HolderStack int    `json:"os"`
	Held        int64  `json:"held"` // 0 if unknown
	Count       int64  `json:"n"`
	Waited      int64  `json:"waited"`
	Longest     int64  `json:"longest"`
}

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

// contentionTables numbers the items to which rows refer.
type contentionTables struct {
	form                  *contentionForm
	funcs, files, parties *table
	kinds, flags          *table
	stacks                map[*contention.Stack]int
	locks                 map[*contention.Lock]int
	// Keyed by id in the whole profile, with which the windows agree.
	byID map[uint64]int
}

func newContentionForm(p *contention.Profile, windows []Window[*contention.Profile], n *namer) *contentionForm {
	f := &contentionForm{
		Source: p.Source, Accuracy: p.Accuracy, Duration: int64(p.Duration), InFlight: p.InFlight, Dropped: p.Dropped, Rates: p.Rates(),
		Warnings: append([]string{}, p.Warnings...), Stacks: []chainForm{}, PartyOf: []int{}, Locks: []lockForm{}, Waits: columns{}, Pairs: columns{}, Roots: columns{},
	}
	t := &contentionTables{form: f, funcs: newTable(), files: newTable(), parties: newTable(), kinds: newTable(), flags: newTable(),
		stacks: map[*contention.Stack]int{}, locks: map[*contention.Lock]int{}, byID: map[uint64]int{}}
	for _, l := range p.Locks {
		t.lock(l)
	}
	t.rows(p, f.Waits, f.Pairs, f.Roots)
	t.unfinished(p)
	if len(windows) > 0 {
		for _, l := range p.Locks {
			t.byID[l.ID] = t.locks[l]
		}
		f.Windows = newContentionWindows(t, windows)
	}
	for _, name := range t.parties.texts {
		f.PartyOf = append(f.PartyOf, n.named(name))
	}
	f.Funcs, f.Short, f.Files = t.funcs.texts, format.Funcs(t.funcs.texts), t.files.texts
	f.Parties, f.Kinds, f.FlagSets = t.parties.texts, t.kinds.texts, t.flags.texts
	return f
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
		did, blocked := q.OwnerActivity(), [][2]int64{}
		for _, k := range did.BlockedKinds() {
			blocked = append(blocked, [2]int64{int64(t.kinds.number(k)), int64(did.Blocked[k])})
		}
		pairs.add("og", t.parties.number(q.Owner.Group), "oid", q.Owner.Goroutine, "os", t.stack(q.Owner.Stack), "blamed", q.Blamed,
			"running", did.Running, "runnable", did.Runnable, "unknown", did.Unknown, "blocked", blocked)
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

// unfinished adds the waits in progress at the end.
func (t *contentionTables) unfinished(p *contention.Profile) {
	t.form.Unfinished = []unfinishedForm{}
	rank := func(u contention.Wait) int {
		switch {
		case u.OfLock():
			return 0
		case !u.ForWork():
			return 1
		}
		return 2
	}
	for _, u := range slices.SortedStableFunc(slices.Values(p.Unfinished), func(a, b contention.Wait) int { return rank(a) - rank(b) }) {
		f := unfinishedForm{Kind: u.Kind, Lock: u.Lock.String(), Title: lockTitle(u.Lock.String()), Group: t.parties.number(u.Waiter.Group), Goroutine: u.Waiter.Goroutine, Stack: t.stack(u.Waiter.Stack),
			OfLock: u.OfLock(), Holder: -1, HolderStack: -1, Count: u.Contentions, Waited: int64(u.Waited), Longest: int64(u.Longest)}
		if u.OfLock() && u.Holder.Group != "" {
			f.Holder, f.HolderStack, f.Held = t.parties.number(u.Holder.Group), t.stack(u.Holder.Stack), int64(u.Held)
		}
		t.form.Unfinished = append(t.form.Unfinished, f)
	}
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
		i = len(t.form.Locks)
		t.locks[l] = i
		title := l.Name
		if title == "" {
			title = lockTitle(l.String())
		}
		t.form.Locks = append(t.form.Locks, lockForm{Name: l.String(), Title: title, Class: l.Class,
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
		i = len(t.form.Stacks)
		t.stacks[s] = i
		form := chainForm{Truncated: s.Truncated, Frames: make([][3]int, len(s.Frames))}
		for j, fr := range s.Frames {
			form.Frames[j] = [3]int{t.funcs.number(fr.Func), t.files.number(fr.File), fr.Line}
		}
		t.form.Stacks = append(t.form.Stacks, form)
	}
	return i
}
