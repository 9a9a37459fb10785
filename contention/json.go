package contention

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The JSON form of a profile: one object, all times in nanoseconds.
//
//	{"wait_ns":…, "handoff_ns":…, "unattributed_ns":…, "contentions":…, "warnings":[…],
//	 "ready_ns":…, "ready_idle_ns":…, "parks":…,
//	 "kinds":{"mutex":{"contentions":…, "wait_ns":…, "ready_ns":…}},
//	 "pairs":[{"kind":"mutex", "lock":"cache", "class":"example.com/lru.Cache",
//	           "waiter_group":"main.worker", "waiter_stack":["main.get /src/main.go:12", …],
//	           "owner_group":"main.janitor", "owner_stack":["main.sweep /src/main.go:40", …],
//	           "contentions":…, "wait_ns":…,
//	           "owner_activity":{"running_ns":…, "runnable_ns":…, "blocked_ns":{"chan-receive":…}, "unknown_ns":…},
//	           "roots":[{"root_group":"main.fetch", "root_stack":[…], "via":"chan-receive", "links":1,
//	                     "contentions":…, "wait_ns":…, …}], …}], …}
//
// Stacks begin with the leaf; a frame is "func file:line", or "func" if the file is not
// known. What a pair has as wait_ns is Blamed. The sum of wait_ns over the pairs, and
// handoff_ns and unattributed_ns, is wait_ns. The parts of owner_activity sum to the pair's
// wait_ns, and so do those of the roots; roots is empty if the owner itself is the root of all of
// it. The via of a root is empty if it is the owner. ready_ns is for how long goroutines were ready
// after their waits, and waited for a processor; it is not in wait_ns. In ready_idle_ns of it, a
// processor was idle. parks is how often they blocked; contentions counts those who were woken in
// vain once. unfinished has what goroutines waited for when the trace ended, in none of these sums:
// as in pairs, but for count, how many they are, and holder_group and holder_stack, which are empty
// if it is not known who holds the lock. Pairs and waits that are estimated have the standard error
// of their wait_ns as stderr_ns.
//
// What else is in the object is there to read it back: "locks", "stacks" (whose
// frames are objects, for names may hold blanks) and "waits" are the tables of the profile, and
// lock_id, waiter_id and owner_id refer to them; stacks are numbered from 1, and 0 is none. Nothing
// is ever null.
type profileJSON struct {
	Wait         *int64              `json:"wait_ns"`
	HandOff      int64               `json:"handoff_ns"`
	Unattributed int64               `json:"unattributed_ns"`
	Ready        int64               `json:"ready_ns"`
	ReadyIdle    int64               `json:"ready_idle_ns"`
	Contentions  int64               `json:"contentions"`
	Parks        int64               `json:"parks"`
	Warnings     []string            `json:"warnings"`
	Kinds        map[string]kindJSON `json:"kinds"`
	Source       Source              `json:"source"`
	Accuracy     Accuracy            `json:"accuracy"`
	Start        string              `json:"start"` // RFC 3339, or empty
	Duration     int64               `json:"duration_ns"`
	InFlight     int64               `json:"in_flight"`
	Unfinished   []unfinishedJSON    `json:"unfinished"`
	Instances    int                 `json:"instances,omitempty"` // only if there are several
	Dropped      droppedJSON         `json:"dropped"`
	Pairs        []pairJSON          `json:"pairs"`
	Waits        []waitJSON          `json:"waits"`
	Locks        []lockJSON          `json:"locks"`
	Stacks       []stackJSON         `json:"stacks"`
}

type kindJSON struct {
	Contentions int64 `json:"contentions"`
	Wait        int64 `json:"wait_ns"`
	Ready       int64 `json:"ready_ns"`
}

type droppedJSON struct {
	Chains uint64 `json:"chains"`
	Locks  uint64 `json:"locks"`
	Pairs  uint64 `json:"pairs"`
	Exits  uint64 `json:"exits"`
}

type waiterJSON struct {
	Kind            Kind     `json:"kind"`
	Lock            string   `json:"lock"`
	Class           string   `json:"class"`
	WaiterGroup     string   `json:"waiter_group"`
	WaiterStack     []string `json:"waiter_stack"`
	LockID          uint64   `json:"lock_id"`
	WaiterID        int      `json:"waiter_id"`
	WaiterGoroutine uint64   `json:"waiter_goroutine"`
	Flags           []string `json:"flags"`
	Contentions     int64    `json:"contentions"`
	Wait            int64    `json:"wait_ns"`
	Longest         int64    `json:"longest_ns"`
	StdErr          int64    `json:"stderr_ns,omitempty"` // of wait_ns, if estimated
}

type pairJSON struct {
	waiterJSON
	OwnerGroup     string   `json:"owner_group"`
	OwnerStack     []string `json:"owner_stack"`
	OwnerID        int      `json:"owner_id"`
	OwnerGoroutine uint64   `json:"owner_goroutine"`

	Activity *activityJSON `json:"owner_activity"`
	Roots    []rootJSON    `json:"roots"`
}

type activityJSON struct {
	Running  int64          `json:"running_ns"`
	Runnable int64          `json:"runnable_ns"`
	Blocked  map[Kind]int64 `json:"blocked_ns"`
	Unknown  int64          `json:"unknown_ns"`
}

type rootJSON struct {
	RootGroup     string   `json:"root_group"`
	RootStack     []string `json:"root_stack"`
	RootID        int      `json:"root_id"`
	RootGoroutine uint64   `json:"root_goroutine"`
	Via           Kind     `json:"via"`
	Links         int      `json:"links"`
	Contentions   int64    `json:"contentions"`
	Wait          int64    `json:"wait_ns"`
}

type waitJSON struct {
	waiterJSON
	Observed     int64 `json:"observed"`
	Parks        int64 `json:"parks"`
	Ready        int64 `json:"ready_ns"`
	ReadyIdle    int64 `json:"ready_idle_ns"`
	Blamed       int64 `json:"blamed_ns"`
	HandOff      int64 `json:"handoff_ns"`
	Unattributed int64 `json:"unattributed_ns"`
}

type lockJSON struct {
	ID        uint64 `json:"id"`
	Name      string `json:"name"`
	Class     string `json:"class"`
	CreatedID int    `json:"created_id"`
	Waiters   int    `json:"waiters"`
	Longest   int64  `json:"longest_ns"`
	Contended int64  `json:"contended_ns"`
	Hold      int64  `json:"hold_ns,omitempty"`
}

type unfinishedJSON struct {
	Kind            Kind     `json:"kind"`
	Lock            string   `json:"lock"`
	WaiterGroup     string   `json:"waiter_group"`
	WaiterStack     []string `json:"waiter_stack"`
	WaiterID        int      `json:"waiter_id"`
	WaiterGoroutine uint64   `json:"waiter_goroutine"`
	HolderGroup     string   `json:"holder_group"`
	HolderStack     []string `json:"holder_stack"`
	HolderID        int      `json:"holder_id"`
	HolderGoroutine uint64   `json:"holder_goroutine"`
	Count           int64    `json:"count"`
	Wait            int64    `json:"wait_ns"`
	Longest         int64    `json:"longest_ns"`
}

type stackJSON struct {
	Truncated bool        `json:"truncated"`
	Frames    []frameJSON `json:"frames"`
}

type frameJSON struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
	PC   uint64 `json:"pc"`
}

// MarshalJSON writes the profile as one JSON object, of which [Profile.UnmarshalJSON]
// makes an equal profile. Names that are no valid UTF-8 are changed so that they are. The
// only error is that of a profile that refers to locks which are not in Locks.
func (p Profile) MarshalJSON() ([]byte, error) { // not on *Profile, or a Profile by value would marshal in another form
	form, err := p.form()
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(form); err != nil {
		return nil, fmt.Errorf("contention: writing JSON: %w", err)
	}
	return format.EscapeJSON(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// WriteJSON writes p's JSON object, indented. Errors are those of w and of
// [Profile.MarshalJSON].
func WriteJSON(w io.Writer, p *Profile) error {
	object, err := p.MarshalJSON()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := json.Indent(&buf, object, "", " "); err != nil {
		return fmt.Errorf("contention: writing JSON: %w", err)
	}
	buf.WriteByte('\n')
	_, err = w.Write(buf.Bytes())
	return err
}

// jsonTables number what rows refer to.
type jsonTables struct {
	form   *profileJSON
	locks  map[*Lock]bool
	stacks map[*Stack]int
	texts  [][]string // of the stacks
}

// form copies a profile into its JSON form.
func (p *Profile) form() (*profileJSON, error) {
	f := &profileJSON{
		Warnings: append([]string{}, p.Warnings...), // [] instead of null
		Source:   p.Source, Accuracy: p.Accuracy, Duration: int64(p.Duration), InFlight: p.InFlight, Instances: severalInstances(p.Instances),
		Dropped: droppedJSON(p.Dropped),
		Pairs:   make([]pairJSON, len(p.Pairs)), Waits: make([]waitJSON, len(p.Waits)), Locks: make([]lockJSON, len(p.Locks)),
		Stacks: []stackJSON{}, Unfinished: make([]unfinishedJSON, len(p.Unfinished)),
	}
	if !p.Start.IsZero() {
		f.Start = p.Start.UTC().Format(time.RFC3339Nano)
	}
	t := &jsonTables{form: f, locks: map[*Lock]bool{}, stacks: map[*Stack]int{}}
	for i, l := range p.Locks {
		t.locks[l] = true
		f.Locks[i] = lockJSON{l.ID, l.Name, l.Class, t.stack(l.Created), l.Waiters, int64(l.Longest), int64(l.Contended), int64(l.Hold)}
	}
	for i := range p.Pairs {
		q := &p.Pairs[i]
		if !t.locks[q.Lock] {
			return nil, fmt.Errorf("contention: writing JSON: pair %d is of a lock that is not in Locks", i)
		}
		owner := t.stack(q.Owner.Stack)
		f.Pairs[i] = pairJSON{
			waiterJSON: t.waiter(q.Kind, q.Lock, &q.Waiter, q.Flags, q.Contentions, q.Blamed, q.Longest),
			OwnerGroup: q.Owner.Group, OwnerStack: t.text(owner), OwnerID: owner, OwnerGoroutine: q.Owner.Goroutine,
			Activity: activityForm(q.OwnerActivity()), Roots: t.roots(q.Roots),
		}
	}
	for i := range p.Waits {
		w := &p.Waits[i]
		if !t.locks[w.Lock] {
			return nil, fmt.Errorf("contention: writing JSON: wait %d is for a lock that is not in Locks", i)
		}
		f.Waits[i] = waitJSON{
			waiterJSON: t.waiter(w.Kind, w.Lock, &w.Waiter, w.Flags, w.Contentions, w.Waited, w.Longest),
			Observed:   w.Observed, Parks: w.Parks, Ready: int64(w.Ready), ReadyIdle: int64(w.ReadyIdle), Blamed: int64(w.Blamed), HandOff: int64(w.HandOff), Unattributed: int64(w.Unattributed),
		}
	}
	for i := range p.Unfinished {
		u := &p.Unfinished[i]
		waiter, holder := t.stack(u.Waiter.Stack), t.stack(u.Holder.Stack)
		f.Unfinished[i] = unfinishedJSON{
			u.Kind, u.Lock, u.Waiter.Group, t.text(waiter), waiter, u.Waiter.Goroutine,
			u.Holder.Group, t.text(holder), holder, u.Holder.Goroutine, u.Count, int64(u.Waited), int64(u.Longest),
		}
	}
	for i := range p.Pairs {
		f.Pairs[i].StdErr = int64(p.Pairs[i].StdErr)
	}
	for i := range p.Waits {
		f.Waits[i].StdErr = int64(p.Waits[i].StdErr)
	}
	f.sum()
	return f, nil
}

func activityForm(a Activity) *activityJSON {
	f := &activityJSON{int64(a.Running), int64(a.Runnable), map[Kind]int64{}, int64(a.Unknown)}
	for k, d := range a.Blocked {
		f.Blocked[k] = int64(d)
	}
	return f
}

func (t *jsonTables) roots(roots []Root) []rootJSON {
	out := make([]rootJSON, len(roots)) // [] instead of null
	for i := range roots {
		r := &roots[i]
		id := t.stack(r.Owner.Stack)
		out[i] = rootJSON{r.Owner.Group, t.text(id), id, r.Owner.Goroutine, r.Via, r.Links, r.Contentions, int64(r.Blamed)}
	}
	return out
}

// sum fills in the totals.
func (f *profileJSON) sum() {
	f.Wait, f.HandOff, f.Unattributed, f.Contentions = new(int64), 0, 0, 0
	f.Ready, f.ReadyIdle, f.Parks = 0, 0, 0
	f.Kinds = map[string]kindJSON{}
	for i := range f.Waits {
		w := &f.Waits[i]
		*f.Wait += w.Wait
		f.HandOff += w.HandOff
		f.Unattributed += w.Unattributed
		f.Contentions += w.Contentions
		f.Parks += w.Parks
		f.Ready += w.Ready
		f.ReadyIdle += w.ReadyIdle
		k := f.Kinds[string(w.Kind)]
		k.Contentions += w.Contentions
		k.Wait += w.Wait
		k.Ready += w.Ready
		f.Kinds[string(w.Kind)] = k
	}
}

func (t *jsonTables) waiter(k Kind, l *Lock, who *Party, flags Flags, contentions int64, wait, longest time.Duration) waiterJSON {
	id := t.stack(who.Stack)
	return waiterJSON{
		Kind: k, Lock: l.String(), Class: l.Class, WaiterGroup: who.Group, WaiterStack: t.text(id),
		LockID: l.ID, WaiterID: id, WaiterGoroutine: who.Goroutine, Flags: flags.names(),
		Contentions: contentions, Wait: int64(wait), Longest: int64(longest),
	}
}

// stack returns the number of a stack, which it gets when it is first seen; 0 for none.
func (t *jsonTables) stack(s *Stack) int {
	if s == nil {
		return 0
	}
	if n := t.stacks[s]; n > 0 {
		return n
	}
	form, text := stackJSON{s.Truncated, make([]frameJSON, len(s.Frames))}, make([]string, len(s.Frames))
	for i, f := range s.Frames {
		form.Frames[i] = frameJSON(f)
		text[i] = f.String()
	}
	t.form.Stacks, t.texts = append(t.form.Stacks, form), append(t.texts, text)
	n := len(t.texts)
	t.stacks[s] = n
	return n
}

func (t *jsonTables) text(n int) []string {
	if n == 0 {
		return []string{}
	}
	return t.texts[n-1]
}

// String returns "func file:line", or "func" if the file is not known.
func (f Frame) String() string {
	if f.File == "" {
		return f.Func
	}
	return f.Func + " " + f.File + ":" + strconv.Itoa(f.Line)
}

// names returns the names of the flags that are set.
func (f Flags) names() []string {
	if f == 0 {
		return []string{}
	}
	return strings.Split(f.String(), ",")
}

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
