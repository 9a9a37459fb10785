package contention

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// profileJSON is the JSON form of a profile: its exported fields, after sums of waits.
//
//	{"wait_ns":…, "handoff_ns":…, "unattributed_ns":…, "ready_ns":…, "ready_idle_ns":…,
//	 "contentions":…, "parks":…,
//	 "kinds":{"mutex":{"contentions":…, "wait_ns":…, "ready_ns":…}},
//	 "pairs":[{"kind":"mutex", "lock":"cache", "class":"example.com/lru.Cache",
//	           "waiter_group":"main.worker", "waiter_stack":["main.get /src/main.go:12", …],
//	           "owner_group":"main.janitor", "owner_stack":["main.sweep /src/main.go:40", …],
//	           "contentions":…, "wait_ns":…, "running_ns":…, "blocked_ns":{"chan-receive":…},
//	           "roots":[{"owner_group":"main.fetch", "owner_stack":[…],
//	                     "kind":"chan-receive", …}]}],
//	 "waits":[…], "locks":[…], "stacks":[…], "unfinished":[…], "warnings":[…], …}
//
// In pairs and roots, wait_ns is the time blamed. Stacks begin with the leaf. For reading a profile
// back, "stacks" has the frames as objects, and waiter_id and owner_id are indexes into it, from 1.
// Fields of rows that are 0 or empty are omitted, except for contentions and wait_ns. No value is null.
type profileJSON struct {
	sumsJSON
	Kinds map[string]kindJSON `json:"kinds"`
	profileFields
	Start      string    `json:"start"` // RFC 3339, or empty
	Pairs      []rowJSON `json:"pairs"`
	Waits      []rowJSON `json:"waits"`
	Stacks     []*Stack  `json:"stacks"`
	Unfinished []rowJSON `json:"unfinished"`
}

// profileFields has the fields of a Profile without its methods.
type profileFields Profile

// sumsJSON has the sums of the waits.
type sumsJSON struct {
	Wait         time.Duration `json:"wait_ns"`
	HandOff      time.Duration `json:"handoff_ns"`
	Unattributed time.Duration `json:"unattributed_ns"`
	Ready        time.Duration `json:"ready_ns"`
	ReadyIdle    time.Duration `json:"ready_idle_ns"`
	Contentions  int64         `json:"contentions"`
	Parks        int64         `json:"parks"`
}

type kindJSON struct {
	Contentions int64         `json:"contentions"`
	Wait        time.Duration `json:"wait_ns"`
	Ready       time.Duration `json:"ready_ns"`
}

// rowJSON is a Wait with what it refers to.
type rowJSON struct {
	Lock            string   `json:"lock,omitempty"`
	Class           string   `json:"class,omitempty"`
	LockID          uint64   `json:"lock_id,omitempty"`
	Flags           []string `json:"flags,omitempty"`
	WaiterGroup     string   `json:"waiter_group,omitempty"`
	WaiterStack     []string `json:"waiter_stack,omitempty"`
	WaiterID        int      `json:"waiter_id,omitempty"`
	WaiterGoroutine uint64   `json:"waiter_goroutine,omitempty"`
	OwnerGroup      string   `json:"owner_group,omitempty"`
	OwnerStack      []string `json:"owner_stack,omitempty"`
	OwnerID         int      `json:"owner_id,omitempty"`
	OwnerGoroutine  uint64   `json:"owner_goroutine,omitempty"`
	Wait
	Roots []rowJSON `json:"roots,omitempty"`
}

// MarshalJSON returns the profile as one JSON object, from which [Profile.UnmarshalJSON] makes an
// equal profile. Invalid UTF-8 in names is replaced. It is an error if rows refer to locks that are
// not in Locks. The receiver is not a pointer, as a Profile by value would marshal in another form.
func (p Profile) MarshalJSON() ([]byte, error) {
	form, err := p.form()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(form)
	return format.EscapeJSON(text), err
}

// WriteJSON writes the JSON object of p, indented. It returns the errors of w and of
// [Profile.MarshalJSON].
func WriteJSON(w io.Writer, p *Profile) error {
	return format.WriteJSON(w, "contention", p)
}

// jsonTables numbers the stacks that rows refer to.
type jsonTables struct {
	list  []*Stack
	texts [][]string // of the stacks
	index map[*Stack]int
}

// form copies a profile into its JSON form, with [] instead of null.
func (p *Profile) form() (*profileJSON, error) {
	sums, kinds := p.sums()
	f := &profileJSON{profileFields: profileFields(*p), sumsJSON: sums, Kinds: kinds, Stacks: []*Stack{}}
	f.Warnings, f.Locks, f.Instances = append([]string{}, p.Warnings...), append([]*Lock{}, p.Locks...), severalInstances(p.Instances)
	if !p.Start.IsZero() {
		f.Start = p.Start.UTC().Format(time.RFC3339Nano)
	}
	t := &jsonTables{index: map[*Stack]int{nil: 0}}
	locks := map[*Lock]bool{}
	for _, l := range p.Locks {
		locks[l] = true
	}
	for _, rows := range [][]Wait{p.Pairs, p.Waits} {
		if i := slices.IndexFunc(rows, func(w Wait) bool { return !locks[w.Lock] }); i >= 0 {
			return nil, fmt.Errorf("row %d: its lock is not in Locks", i)
		}
	}
	f.Pairs, f.Waits, f.Unfinished = t.rows(p.Pairs), t.rows(p.Waits), t.rows(p.Unfinished)
	f.Stacks = append(f.Stacks, t.list...)
	return f, nil
}

// sums returns the sums of the waits, in all and by kind.
func (p *Profile) sums() (sumsJSON, map[string]kindJSON) {
	var all Wait
	kinds := map[string]kindJSON{}
	for i := range p.Waits {
		w := &p.Waits[i]
		all.Add(w)
		k := kinds[w.Kind]
		kinds[w.Kind] = kindJSON{k.Contentions + w.Contentions, k.Wait + w.Waited, k.Ready + w.Ready}
	}
	return sumsJSON{all.Waited, all.HandOff, all.Unattributed, all.Ready, all.ReadyIdle, all.Contentions, all.Parks}, kinds
}

func (t *jsonTables) rows(rows []Wait) []rowJSON {
	out := make([]rowJSON, len(rows))
	for i := range rows {
		w, f := &rows[i], &out[i]
		f.Wait = *w
		if w.Waited == 0 { // a pair or a root
			f.Waited, f.Blamed = w.Blamed, 0
		}
		if l := w.Lock; l != nil {
			f.Lock, f.Class, f.LockID = l.String(), l.Class, l.ID
		}
		if w.Flags != 0 {
			f.Flags = strings.Split(FlagNames(w.Flags), ",")
		}
		f.WaiterGroup, f.WaiterID, f.WaiterGoroutine = w.Waiter.Group, t.stack(w.Waiter.Stack), w.Waiter.Goroutine
		f.OwnerGroup, f.OwnerID, f.OwnerGoroutine = w.Owner.Group, t.stack(w.Owner.Stack), w.Owner.Goroutine
		f.WaiterStack, f.OwnerStack = t.text(f.WaiterID), t.text(f.OwnerID)
		f.Roots = t.rows(w.Roots)
	}
	return out
}

// stack returns the number of a stack, assigning it at first use; 0 for none.
func (t *jsonTables) stack(s *Stack) int {
	n, ok := t.index[s]
	if !ok {
		t.list = append(t.list, &Stack{append([]Frame{}, s.Frames...), s.Truncated})
		t.texts = append(t.texts, s.texts())
		n = len(t.list)
		t.index[s] = n
	}
	return n
}

func (t *jsonTables) text(n int) []string {
	if n == 0 {
		return nil
	}
	return t.texts[n-1]
}

// texts returns the frames in the form used in rows.
func (s *Stack) texts() []string {
	texts := make([]string, len(s.Frames))
	for i, f := range s.Frames {
		texts[i] = f.String()
	}
	return texts
}

// String returns "func file:line", or "func" if the file is unknown.
func (f Frame) String() string {
	if f.File == "" {
		return f.Func
	}
	return f.Func + " " + f.File + ":" + strconv.Itoa(f.Line)
}

// ReadJSON reads a profile written by [WriteJSON]. Profiles that it accepts are valid; see
// [Profile.CheckValid]. It ignores unknown fields.
func ReadJSON(r io.Reader) (*Profile, error) {
	dec := json.NewDecoder(r)
	p, err := decodeProfile(dec)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = fmt.Errorf("unexpected data after top-level value at offset %d", dec.InputOffset())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("contention: reading JSON: %w", err)
	}
	return p, nil
}

// UnmarshalJSON replaces the profile by the one in a JSON object such as MarshalJSON returns. It
// accepts what [ReadJSON] accepts. After an error, p is unchanged.
func (p *Profile) UnmarshalJSON(data []byte) error {
	if string(bytes.TrimSpace(data)) == "null" {
		return nil // the convention of encoding/json
	}
	q, err := ReadJSON(bytes.NewReader(data))
	if err == nil {
		*p = *q
	}
	return err
}

func decodeProfile(dec *json.Decoder) (*Profile, error) {
	f := new(profileJSON)
	if err := dec.Decode(f); err != nil {
		return nil, format.ExplainJSON(err, "wait_ns, pairs and waits")
	}
	if f.Pairs == nil || f.Waits == nil || f.Locks == nil || f.Stacks == nil {
		return nil, errors.New("not a contention profile: pairs, waits, locks or stacks is missing")
	}
	p := (*Profile)(&f.profileFields)
	if err := f.read(p); err != nil {
		return nil, err
	}
	if err := p.CheckValid(); err != nil {
		return nil, err
	}
	if sums, kinds := p.sums(); sums != f.sumsJSON || !maps.Equal(kinds, f.Kinds) {
		return nil, fmt.Errorf("wait_ns and the other sums, also those in kinds, do not match the waits: want %+v", sums)
	}
	return p, nil
}

// read sets the fields of p that have another form.
func (f *profileJSON) read(p *Profile) (err error) {
	if len(p.Warnings) == 0 {
		p.Warnings = nil
	}
	if len(p.Locks) == 0 {
		p.Locks = nil
	}
	p.Instances = severalInstances(p.Instances)
	if s := f.Start; s != "" {
		if p.Start, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return fmt.Errorf("start is %q, not a time such as 2006-01-02T15:04:05Z", s)
		}
	}
	for i, s := range f.Stacks {
		if s == nil {
			return fmt.Errorf("stacks[%d] is null", i)
		}
		if len(s.Frames) == 0 {
			s.Frames = nil
		}
		if err := s.checkLines(); err != nil {
			return fmt.Errorf("stacks[%d]: %w", i, err)
		}
	}
	if err := p.checkLocks(); err != nil { // rows find their locks by ID
		return err
	}
	locks := map[uint64]*Lock{}
	for _, l := range p.Locks {
		locks[l.ID] = l
		if err := l.Created.checkLines(); err != nil {
			return fmt.Errorf("lock %d: %w", l.ID, err)
		}
	}
	lockOf := func(r *rowJSON) (*Lock, error) {
		if l := locks[r.LockID]; l != nil {
			return l, nil
		}
		return nil, fmt.Errorf("lock_id is %d, which is not in locks", r.LockID)
	}
	if p.Pairs, err = f.rows("pair", f.Pairs, lockOf); err == nil {
		if p.Waits, err = f.rows("wait", f.Waits, lockOf); err == nil {
			p.Unfinished, err = f.rows("unfinished", f.Unfinished, func(r *rowJSON) (*Lock, error) { return &Lock{Name: r.Lock}, nil })
		}
	}
	return err
}

func (s *Stack) checkLines() error {
	if s == nil {
		return nil
	}
	for i, f := range s.Frames {
		if f.Line < 0 {
			return fmt.Errorf("frame %d: line is negative: %d", i, f.Line)
		}
	}
	return nil
}

// stack returns the stack with a number.
func (f *profileJSON) stack(field string, id int) (*Stack, error) {
	switch {
	case id < 0 || id > len(f.Stacks):
		return nil, fmt.Errorf("%s is %d, but there are %d stacks", field, id, len(f.Stacks))
	case id == 0:
		return nil, nil
	}
	return f.Stacks[id-1], nil
}

// rows reads rows; lockOf returns the lock of one.
func (f *profileJSON) rows(name string, rows []rowJSON, lockOf func(*rowJSON) (*Lock, error)) (out []Wait, err error) {
	err = each(name, rows, func(r *rowJSON) (err error) {
		w := r.Wait
		if name == "pair" || name == "root" { // wait_ns is the time blamed
			w.Waited, w.Blamed = 0, w.Waited
		}
		if w.Lock, err = lockOf(r); err != nil {
			return err
		}
		w.Waiter, w.Owner = Party{Goroutine: r.WaiterGoroutine, Group: r.WaiterGroup}, Party{Goroutine: r.OwnerGoroutine, Group: r.OwnerGroup}
		if w.Waiter.Stack, err = f.stack("waiter_id", r.WaiterID); err != nil {
			return err
		}
		if w.Owner.Stack, err = f.stack("owner_id", r.OwnerID); err != nil {
			return err
		}
		for _, name := range r.Flags {
			i := slices.Index(flagNames, name)
			if i < 0 {
				return fmt.Errorf("unknown flag %q", name)
			}
			w.Flags |= 1 << i
		}
		w.Roots, err = f.rows("root", r.Roots, func(*rowJSON) (*Lock, error) { return nil, nil })
		out = append(out, w)
		return err
	})
	return out, err
}

// each calls f for each row. The error of f gets the number of the row.
func each[T any](name string, rows []T, f func(*T) error) error {
	for i := range rows {
		if err := f(&rows[i]); err != nil {
			return fmt.Errorf("%s %d: %w", name, i, err)
		}
	}
	return nil
}

// CheckValid returns an error that names the first row that violates the invariants of [Profile]:
// no number is negative, the parts of each wait sum to it, and pairs sum to what their waits blame
// on owners. Fields have their JSON names.
func (p *Profile) CheckValid() error {
	switch {
	case p.Duration < 0:
		return fmt.Errorf("duration_ns is negative: %d", p.Duration)
	case p.Instances < 0 || p.Instances > 1<<30:
		return fmt.Errorf("instances is out of range: %d", p.Instances)
	case p.InFlight < 0:
		return fmt.Errorf("in_flight is negative: %d", p.InFlight)
	case !slices.Contains([]string{"", FromWrappers, FromTrace}, p.Source):
		return fmt.Errorf("source is %q, not wrappers or trace", p.Source)
	case !slices.Contains(accuracies, p.Accuracy):
		return fmt.Errorf("accuracy is %q, not exact, sampled or inferred", p.Accuracy)
	}
	return cmp.Or(p.checkLocks(),
		checkRows("wait", p.Waits, WaiterFlags, (*Wait).checkWait),
		checkRows("pair", p.Pairs, 1<<len(flagNames)-1, (*Wait).checkPair),
		p.checkBlamed(),
		checkRows("unfinished", p.Unfinished, 0, (*Wait).checkUnfinished))
}

func (p *Profile) checkLocks() error {
	seen := map[uint64]bool{}
	for i, l := range p.Locks {
		if l == nil {
			return fmt.Errorf("locks[%d] is null", i)
		}
		if seen[l.ID] {
			return fmt.Errorf("duplicate id of a lock: %d (%q)", l.ID, l.Name)
		}
		seen[l.ID] = true
		if l.Waiters < 0 || l.Longest < 0 || l.Contended < 0 || l.Hold < 0 {
			return fmt.Errorf("lock %d (%q): waiters, longest_ns, contended_ns or hold_ns is negative", l.ID, l.Name)
		}
	}
	return nil
}

// checkRows checks rows, and that their sums are not too large for numbers.
func checkRows(name string, rows []Wait, flags uint32, check func(*Wait) error) error {
	var sum Wait
	return each(name, rows, func(w *Wait) error {
		switch {
		case !slices.Contains(Kinds, w.Kind):
			return fmt.Errorf("kind is %q, not one of %v", w.Kind, Kinds)
		case w.Flags&^flags != 0:
			return fmt.Errorf("flag %q is not valid here", FlagNames(w.Flags&^flags))
		}
		if err := cmp.Or(w.checkNumbers(), check(w)); err != nil {
			return err
		}
		numbers := *w
		numbers.Blocked = nil
		if sum.Add(&numbers); sum.checkNumbers() != nil {
			return errors.New("the sum up to this row overflows: more than 292 years, or too many waits")
		}
		return nil
	})
}

// checkNumbers returns an error if a number is negative.
func (w *Wait) checkNumbers() error {
	links, sums := int64(w.Links), w.sums()
	for _, field := range append(sums[:],
		named{"observed", &w.Observed}, named{"links", &links}, named{"stderr_ns", (*int64)(&w.StdErr)}, named{"longest_ns", (*int64)(&w.Longest)}, named{"held_ns", (*int64)(&w.Held)}) {
		if *field.n < 0 {
			return fmt.Errorf("%s is negative: %d", field.name, *field.n)
		}
	}
	return nil
}

func (w *Wait) checkWait() error {
	switch {
	case w.Owner != (Party{}) || len(w.Roots) > 0:
		return errors.New("only pairs have an owner and roots")
	case w.ReadyIdle > w.Ready:
		return errors.New("ready_idle_ns is more than ready_ns")
	case w.Blamed > w.Waited || w.HandOff > w.Waited-w.Blamed || w.Unattributed != w.Waited-w.Blamed-w.HandOff:
		return fmt.Errorf("blamed_ns, handoff_ns and unattributed_ns do not sum to wait_ns, %d", w.Waited)
	}
	return nil
}

func (w *Wait) checkUnfinished() error {
	switch {
	case w.Contentions == 0:
		return errors.New("contentions is 0")
	case w.Waited < w.Longest:
		return fmt.Errorf("wait_ns is %d, longest_ns %d", w.Waited, w.Longest)
	}
	return nil
}

// checkPair checks the activity of the owner, and the roots.
func (w *Wait) checkPair() error {
	if w.Waited != 0 || w.partTime() != w.Blamed {
		return errors.New("handoff_ns, unattributed_ns and ready_ns must be 0 in a pair")
	}
	left := w.Blamed
	took := func(d time.Duration) bool {
		left -= max(0, d)
		return d >= 0 && left >= 0
	}
	if !took(w.Running) || !took(w.Runnable) {
		return fmt.Errorf("running_ns and runnable_ns are more than wait_ns, %d", w.Blamed)
	}
	for k, d := range w.Blocked {
		if !slices.Contains(Kinds, k) {
			return fmt.Errorf("blocked_ns has the kind %q, not one of %v", k, Kinds)
		}
		if !took(d) {
			return fmt.Errorf("blocked_ns: a part is negative, or they sum to more than wait_ns, %d", w.Blamed)
		}
	}
	if len(w.Roots) == 0 {
		return nil
	}
	left = w.Blamed
	blocked := map[string]time.Duration{}
	itself := false
	err := each("root", w.Roots, func(r *Wait) error {
		if err := r.checkNumbers(); err != nil {
			return err
		}
		switch {
		case !took(r.Blamed):
			return fmt.Errorf("they sum to more than wait_ns of the pair, %d", w.Blamed)
		case r.Kind == "" && (itself || r.Owner != w.Owner):
			return errors.New("a root without a kind must be the owner, and unique")
		case r.Kind != "" && w.Blocked[r.Kind]-blocked[r.Kind] < r.Blamed:
			return fmt.Errorf("the owner was not blocked on %q for so long", r.Kind)
		}
		itself = itself || r.Kind == ""
		blocked[r.Kind] += r.Blamed
		return nil
	})
	if err == nil && left != 0 {
		err = fmt.Errorf("roots: they sum to %d, not to wait_ns, %d", w.Blamed-left, w.Blamed)
	}
	return err
}

// checkBlamed checks that the pairs of each waiter sum to its Blamed.
func (p *Profile) checkBlamed() error {
	rest := map[rowKey]time.Duration{}
	for i := range p.Waits {
		rest[p.Waits[i].waiterKey()] += p.Waits[i].Blamed
	}
	for i := range p.Pairs {
		rest[p.Pairs[i].waiterKey()] -= p.Pairs[i].Blamed
	}
	for i := range p.Waits {
		k := p.Waits[i].waiterKey()
		if rest[k] != 0 {
			return fmt.Errorf("wait %d: blamed_ns differs by %v from the sum of its pairs", i, rest[k])
		}
		delete(rest, k)
	}
	for k, d := range rest {
		if d != 0 {
			return fmt.Errorf("pairs for lock %q have no row in waits", k.lock)
		}
	}
	return nil
}
