package contention

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// profileJSON is the JSON form of a profile: one object, all times in nanoseconds.
//
//	{"wait_ns":…, "handoff_ns":…, "unattributed_ns":…, "ready_ns":…, "ready_idle_ns":…,
//	 "contentions":…, "parks":…, "kinds":{"mutex":{"contentions":…, "wait_ns":…, "ready_ns":…}},
//	 "pairs":[{"kind":"mutex", "lock":"cache", "class":"example.com/lru.Cache",
//	           "waiter_group":"main.worker", "waiter_stack":["main.get /src/main.go:12", …],
//	           "owner_group":"main.janitor", "owner_stack":["main.sweep /src/main.go:40", …],
//	           "contentions":…, "wait_ns":…, "owner_activity":{"running_ns":…, …},
//	           "roots":[{"root_group":"main.fetch", "root_stack":[…], "via":"chan-receive", …}]}],
//	 "waits":[…], "locks":[…], "stacks":[…], "unfinished":[…], "warnings":[…], …}
//
// The rows have the tags of their types. The sums at the top are those of waits; a pair's wait_ns is
// its Blamed. Stacks begin with the leaf. A frame is "func file:line", or "func" if the file is
// unknown. For reading a profile back, "stacks" has the frames as objects, and waiter_id, owner_id,
// root_id, holder_id and created_id are indexes into it, from 1; 0 is none. No value is ever null.
type profileJSON struct {
	sumsJSON
	Kinds map[string]kindJSON `json:"kinds"`
	profileFields
	Start      string           `json:"start"` // RFC 3339, or empty
	Pairs      []pairJSON       `json:"pairs"`
	Waits      []waitJSON       `json:"waits"`
	Locks      []lockJSON       `json:"locks"`
	Stacks     []*Stack         `json:"stacks"`
	Unfinished []unfinishedJSON `json:"unfinished"`
}

// profileFields has the fields of a Profile without its methods.
type profileFields Profile

// sumsJSON has the sums of the waits.
type sumsJSON struct {
	Wait         *time.Duration `json:"wait_ns"`
	HandOff      time.Duration  `json:"handoff_ns"`
	Unattributed time.Duration  `json:"unattributed_ns"`
	Ready        time.Duration  `json:"ready_ns"`
	ReadyIdle    time.Duration  `json:"ready_idle_ns"`
	Contentions  int64          `json:"contentions"`
	Parks        int64          `json:"parks"`
}

type kindJSON struct {
	Contentions int64         `json:"contentions"`
	Wait        time.Duration `json:"wait_ns"`
	Ready       time.Duration `json:"ready_ns"`
}

// rowJSON has the first fields of waits and pairs.
type rowJSON struct {
	Kind   string   `json:"kind"`
	Lock   string   `json:"lock"`
	Class  string   `json:"class"`
	LockID uint64   `json:"lock_id"`
	Flags  []string `json:"flags"`
	waiterJSON
}

type waitJSON struct {
	rowJSON
	Wait
}

type pairJSON struct {
	rowJSON
	Pair
	ownerJSON
	Activity Activity   `json:"owner_activity"`
	Roots    []rootJSON `json:"roots"`
}

type rootJSON struct {
	rootOwnerJSON
	Root
}

type lockJSON struct {
	Lock
	CreatedID int `json:"created_id"`
}

type unfinishedJSON struct {
	Kind    string        `json:"kind"`
	Lock    string        `json:"lock"`
	Held    time.Duration `json:"held_ns,omitempty"`
	Count   int64         `json:"count"`
	Waited  time.Duration `json:"wait_ns"`
	Longest time.Duration `json:"longest_ns"`
	waiterJSON
	holderJSON
}

// partyJSON is a Party. The other four types have the same fields with the names used in rows.
type partyJSON struct {
	Group     string
	Stack     []string
	ID        int
	Goroutine uint64
}

type waiterJSON struct {
	Group     string   `json:"waiter_group"`
	Stack     []string `json:"waiter_stack"`
	ID        int      `json:"waiter_id"`
	Goroutine uint64   `json:"waiter_goroutine"`
}

type ownerJSON struct {
	Group     string   `json:"owner_group"`
	Stack     []string `json:"owner_stack"`
	ID        int      `json:"owner_id"`
	Goroutine uint64   `json:"owner_goroutine"`
}

type rootOwnerJSON struct {
	Group     string   `json:"root_group"`
	Stack     []string `json:"root_stack"`
	ID        int      `json:"root_id"`
	Goroutine uint64   `json:"root_goroutine"`
}

type holderJSON struct {
	Group     string   `json:"holder_group"`
	Stack     []string `json:"holder_stack"`
	ID        int      `json:"holder_id"`
	Goroutine uint64   `json:"holder_goroutine"`
}

// MarshalJSON returns the profile as one JSON object, from which [Profile.UnmarshalJSON] makes an
// equal profile. Invalid UTF-8 in names is replaced. The only error is for a profile that refers to
// locks which are not in Locks.
// The receiver is not a pointer, as a Profile by value would marshal in another form.
func (p Profile) MarshalJSON() ([]byte, error) {
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

// WriteJSON writes the JSON object of p, indented. It returns the errors of w and of
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

// jsonTables numbers the objects that rows refer to.
type jsonTables struct {
	form   *profileJSON
	locks  map[*Lock]bool
	stacks map[*Stack]int
	texts  [][]string // of the stacks
}

// form copies a profile into its JSON form, with [] instead of null.
func (p *Profile) form() (*profileJSON, error) {
	sums, kinds := p.sums()
	f := &profileJSON{
		profileFields: profileFields(*p), sumsJSON: sums, Kinds: kinds,
		Pairs: make([]pairJSON, len(p.Pairs)), Waits: make([]waitJSON, len(p.Waits)), Locks: make([]lockJSON, len(p.Locks)),
		Stacks: []*Stack{}, Unfinished: make([]unfinishedJSON, len(p.Unfinished)),
	}
	f.Warnings, f.Instances = append([]string{}, p.Warnings...), severalInstances(p.Instances)
	if !p.Start.IsZero() {
		f.Start = p.Start.UTC().Format(time.RFC3339Nano)
	}
	t := &jsonTables{form: f, locks: map[*Lock]bool{}, stacks: map[*Stack]int{}}
	for i, l := range p.Locks {
		t.locks[l] = true
		f.Locks[i] = lockJSON{*l, t.stack(l.Created)}
	}
	for i := range p.Pairs {
		q := &p.Pairs[i]
		if !t.locks[q.Lock] {
			return nil, fmt.Errorf("contention: writing JSON: pair %d is of a lock that is not in Locks", i)
		}
		row := pairJSON{
			rowJSON: t.row(q.Kind, q.Lock, &q.Waiter, q.Flags), Pair: *q, ownerJSON: ownerJSON(t.party(&q.Owner)),
			Activity: q.OwnerActivity(), Roots: make([]rootJSON, len(q.Roots)),
		}
		if row.Activity.Blocked == nil {
			row.Activity.Blocked = map[string]time.Duration{}
		}
		for j, r := range q.Roots {
			row.Roots[j] = rootJSON{rootOwnerJSON(t.party(&r.Owner)), r}
		}
		f.Pairs[i] = row
	}
	for i := range p.Waits {
		w := &p.Waits[i]
		if !t.locks[w.Lock] {
			return nil, fmt.Errorf("contention: writing JSON: wait %d is for a lock that is not in Locks", i)
		}
		f.Waits[i] = waitJSON{t.row(w.Kind, w.Lock, &w.Waiter, w.Flags), *w}
	}
	for i := range p.Unfinished {
		u := &p.Unfinished[i]
		f.Unfinished[i] = unfinishedJSON{u.Kind, u.Lock.String(), u.Held, u.Contentions, u.Waited, u.Longest, waiterJSON(t.party(&u.Waiter)), holderJSON(t.party(&u.Holder))}
	}
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
	return sumsJSON{&all.Waited, all.HandOff, all.Unattributed, all.Ready, all.ReadyIdle, all.Contentions, all.Parks}, kinds
}

func (t *jsonTables) row(k string, l *Lock, waiter *Party, flags uint32) rowJSON {
	row := rowJSON{Kind: k, Lock: l.String(), Class: l.Class, LockID: l.ID, Flags: []string{}, waiterJSON: waiterJSON(t.party(waiter))}
	if flags != 0 {
		row.Flags = strings.Split(FlagNames(flags), ",")
	}
	return row
}

func (t *jsonTables) party(p *Party) partyJSON {
	n := t.stack(p.Stack)
	text := []string{}
	if n > 0 {
		text = t.texts[n-1]
	}
	return partyJSON{p.Group, text, n, p.Goroutine}
}

// stack returns the number of a stack, assigning it at first use; 0 for none.
func (t *jsonTables) stack(s *Stack) int {
	if s == nil {
		return 0
	}
	n := t.stacks[s]
	if n == 0 {
		t.form.Stacks = append(t.form.Stacks, &Stack{append([]Frame{}, s.Frames...), s.Truncated})
		t.texts = append(t.texts, s.texts())
		n = len(t.texts)
		t.stacks[s] = n
	}
	return n
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
	q, err := decodeProfile(json.NewDecoder(bytes.NewReader(data)))
	if err != nil {
		return fmt.Errorf("contention: reading JSON: %w", err)
	}
	*p = *q
	return nil
}

func decodeProfile(dec *json.Decoder) (*Profile, error) {
	f := new(profileJSON)
	if err := dec.Decode(f); err != nil {
		return nil, format.ExplainJSON(err, "wait_ns, pairs and waits")
	}
	if f.Wait == nil || f.Pairs == nil || f.Waits == nil || f.Locks == nil || f.Stacks == nil {
		return nil, errors.New("this is no contention profile: wait_ns, pairs, waits, locks or stacks is missing")
	}
	r := &jsonReader{form: f, locks: map[uint64]*Lock{}, p: (*Profile)(&f.profileFields)}
	for _, step := range []func() error{r.head, r.readStacks, r.readLocks, r.readWaits, r.readPairs, r.readUnfinished, r.p.CheckValid, r.sums} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r.p, nil
}

// jsonReader converts the form back into a profile.
type jsonReader struct {
	form  *profileJSON
	p     *Profile
	locks map[uint64]*Lock
	texts [][]string
}

func (r *jsonReader) head() (err error) {
	if len(r.p.Warnings) == 0 {
		r.p.Warnings = nil
	}
	if r.p.Instances == 1 {
		r.p.Instances = 0
	}
	if s := r.form.Start; s != "" {
		if r.p.Start, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return fmt.Errorf("start is %q, not a time such as 2006-01-02T15:04:05Z", s)
		}
	}
	return nil
}

func (r *jsonReader) readStacks() error {
	for i, s := range r.form.Stacks {
		if s == nil {
			return fmt.Errorf("stacks, number %d: it is null", i+1)
		}
		if len(s.Frames) == 0 {
			s.Frames = nil
		}
		for j, f := range s.Frames {
			if f.Line < 0 {
				return fmt.Errorf("stacks, number %d: frame %d has the line %d", i+1, j, f.Line)
			}
		}
		r.texts = append(r.texts, s.texts())
	}
	return nil
}

// stack returns the stack with a number. If text is not nil, it must match.
func (r *jsonReader) stack(field string, id int, text []string) (*Stack, error) {
	switch {
	case id < 0 || id > len(r.texts):
		return nil, fmt.Errorf("%s is %d, but there are %d stacks", field, id, len(r.texts))
	case id == 0 && len(text) > 0, id > 0 && text != nil && !slices.Equal(text, r.texts[id-1]):
		return nil, fmt.Errorf("the frames are not those of the stack with the number %s, %d", field, id)
	case id == 0:
		return nil, nil
	}
	return r.form.Stacks[id-1], nil
}

func (r *jsonReader) party(who string, f partyJSON) (Party, error) {
	s, err := r.stack(who+"_id", f.ID, f.Stack)
	return Party{f.Goroutine, f.Group, s}, err
}

func (r *jsonReader) readLocks() error {
	for i := range r.form.Locks {
		l := &r.form.Locks[i].Lock
		var err error
		if l.Created, err = r.stack("created_id", r.form.Locks[i].CreatedID, nil); err != nil {
			return fmt.Errorf("lock %d (%q): %w", l.ID, l.Name, err)
		}
		r.locks[l.ID] = l
		r.p.Locks = append(r.p.Locks, l)
	}
	return r.p.checkLocks() // rows find their locks by ID
}

// row returns the fields that waits and pairs have in common.
func (r *jsonReader) row(f *rowJSON) (l *Lock, waiter Party, flags uint32, err error) {
	l = r.locks[f.LockID]
	switch {
	case l == nil:
		err = fmt.Errorf("lock_id is %d, which is not in locks", f.LockID)
	case l.String() != f.Lock || l.Class != f.Class:
		err = fmt.Errorf("lock and class are not those of lock %d", f.LockID)
	default:
		waiter, err = r.party("waiter", partyJSON(f.waiterJSON))
	}
	for _, name := range f.Flags {
		i := slices.Index(flagNames, name)
		if i < 0 {
			return nil, waiter, 0, fmt.Errorf("flag %q cannot stand here", name)
		}
		flags |= 1 << i
	}
	return l, waiter, flags, err
}

func (r *jsonReader) readWaits() error {
	return each("wait", r.form.Waits, func(f *waitJSON) (err error) {
		w := f.Wait
		w.Kind = f.rowJSON.Kind
		w.Lock, w.Waiter, w.Flags, err = r.row(&f.rowJSON)
		r.p.Waits = append(r.p.Waits, w)
		return err
	})
}

func (r *jsonReader) readPairs() error {
	return each("pair", r.form.Pairs, func(f *pairJSON) (err error) {
		q := f.Pair
		q.Kind, q.Activity = f.rowJSON.Kind, f.Activity.clone()
		if q.Lock, q.Waiter, q.Flags, err = r.row(&f.rowJSON); err != nil {
			return err
		}
		if q.Owner, err = r.party("owner", partyJSON(f.ownerJSON)); err != nil {
			return err
		}
		err = each("root", f.Roots, func(f *rootJSON) (err error) {
			root := f.Root
			root.Owner, err = r.party("root", partyJSON(f.rootOwnerJSON))
			q.Roots = append(q.Roots, root)
			return err
		})
		r.p.Pairs = append(r.p.Pairs, q)
		return err
	})
}

func (r *jsonReader) readUnfinished() error {
	return each("unfinished", r.form.Unfinished, func(f *unfinishedJSON) (err error) {
		u := Wait{Kind: f.Kind, Lock: &Lock{Name: f.Lock}, Held: f.Held, Contentions: f.Count, Waited: f.Waited, Longest: f.Longest}
		if u.Waiter, err = r.party("waiter", partyJSON(f.waiterJSON)); err == nil {
			u.Holder, err = r.party("holder", partyJSON(f.holderJSON))
		}
		r.p.Unfinished = append(r.p.Unfinished, u)
		return err
	})
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

// sums checks the sums at the top of the object.
func (r *jsonReader) sums() error {
	got := r.form.sumsJSON
	want, kinds := r.p.sums()
	for _, s := range []struct {
		field     string
		got, want int64
	}{
		{"wait_ns", int64(*got.Wait), int64(*want.Wait)}, {"handoff_ns", int64(got.HandOff), int64(want.HandOff)},
		{"unattributed_ns", int64(got.Unattributed), int64(want.Unattributed)}, {"contentions", got.Contentions, want.Contentions},
		{"ready_ns", int64(got.Ready), int64(want.Ready)}, {"ready_idle_ns", int64(got.ReadyIdle), int64(want.ReadyIdle)}, {"parks", got.Parks, want.Parks},
	} {
		if s.got != s.want {
			return fmt.Errorf("%s is %d, but the waits sum to %d", s.field, s.got, s.want)
		}
	}
	if !maps.Equal(r.form.Kinds, kinds) {
		return errors.New("kinds is not what the waits sum to")
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
	case !slices.Contains([]string{"", Exact, Sampled, Inferred}, p.Accuracy):
		return fmt.Errorf("accuracy is %q, not exact, sampled or inferred", p.Accuracy)
	}
	for _, check := range []func() error{p.checkLocks, p.checkWaits, p.checkPairs, p.checkBlamed, p.checkOwners, p.checkUnfinished} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) checkLocks() error {
	seen := map[uint64]bool{}
	for _, l := range p.Locks {
		if seen[l.ID] {
			return fmt.Errorf("lock %d (%q): the id comes twice", l.ID, l.Name)
		}
		seen[l.ID] = true
		if l.Waiters < 0 || l.Longest < 0 || l.Contended < 0 || l.Hold < 0 {
			return fmt.Errorf("lock %d (%q): waiters, longest_ns, contended_ns or hold_ns is negative", l.ID, l.Name)
		}
	}
	return nil
}

// checkRow checks the fields that waits and pairs have in common.
func checkRow(kind string, contentions int64, waited, longest, stdErr time.Duration, flags, allowed uint32) error {
	switch {
	case !slices.Contains(Kinds, kind):
		return fmt.Errorf("kind is %q, not one of %v", kind, Kinds)
	case contentions < 0:
		return fmt.Errorf("contentions is negative: %d", contentions)
	case waited < 0:
		return fmt.Errorf("wait_ns is negative: %d", waited)
	case longest < 0 || stdErr < 0:
		return errors.New("longest_ns or stderr_ns is negative")
	case flags&^allowed != 0:
		return fmt.Errorf("flag %q cannot stand here", FlagNames(flags&^allowed))
	}
	return nil
}

// addAll adds terms to sums. It returns an error if one overflows, since many functions compute
// such sums.
func addAll(sums []int64, terms ...int64) error {
	for i, n := range terms {
		if sums[i] > math.MaxInt64-n {
			return errors.New("with it, the sum is too large: more than 292 years, or more waits than a number can hold")
		}
		sums[i] += n
	}
	return nil
}

func (p *Profile) checkWaits() error {
	sums := make([]int64, 5)
	return each("wait", p.Waits, func(w *Wait) error {
		err := checkRow(w.Kind, w.Contentions, w.Waited, w.Longest, w.StdErr, w.Flags, WaiterFlags)
		switch {
		case err != nil:
			return err
		case w.Observed < 0 || w.Blamed < 0 || w.HandOff < 0 || w.Unattributed < 0:
			return errors.New("observed, blamed_ns, handoff_ns or unattributed_ns is negative")
		case w.Parks < 0 || w.Ready < 0 || w.ReadyIdle < 0 || w.ReadyIdle > w.Ready:
			return errors.New("parks, ready_ns or ready_idle_ns is negative, or ready_idle_ns is more than ready_ns")
		case w.Blamed > w.Waited || w.HandOff > w.Waited-w.Blamed || w.Unattributed != w.Waited-w.Blamed-w.HandOff:
			return fmt.Errorf("blamed_ns, handoff_ns and unattributed_ns do not sum to wait_ns, %d", w.Waited)
		}
		return addAll(sums, int64(w.Waited), int64(w.Ready), w.Contentions, w.Observed, w.Parks)
	})
}

func (p *Profile) checkPairs() error {
	sums := make([]int64, 2)
	return each("pair", p.Pairs, func(q *Pair) error {
		if err := checkRow(q.Kind, q.Contentions, q.Blamed, q.Longest, q.StdErr, q.Flags, 1<<len(flagNames)-1); err != nil {
			return err
		}
		return addAll(sums, int64(q.Blamed), q.Contentions)
	})
}

// checkBlamed checks that the pairs of each waiter sum to its Blamed.
func (p *Profile) checkBlamed() error {
	rest := map[rowKey]time.Duration{}
	for i := range p.Waits {
		rest[p.Waits[i].key()] += p.Waits[i].Blamed
	}
	for i := range p.Pairs {
		rest[p.Pairs[i].waiterKey()] -= p.Pairs[i].Blamed
	}
	for i := range p.Waits {
		k := p.Waits[i].key()
		if rest[k] != 0 {
			return fmt.Errorf("wait %d: the pairs of its waiter differ by %v from its blamed_ns", i, -rest[k])
		}
		delete(rest, k)
	}
	for k, d := range rest {
		if d != 0 {
			return fmt.Errorf("there are pairs of a waiter for %q without a wait", k.lock)
		}
	}
	return nil
}

// checkOwners checks the activities and the roots of all pairs.
func (p *Profile) checkOwners() error {
	return each("pair", p.Pairs, func(q *Pair) error { return cmp.Or(q.checkActivity(), q.checkRoots()) })
}

// checkActivity checks that the parts sum to Blamed, unless all are zero.
func (q *Pair) checkActivity() error {
	parts := map[string]time.Duration{"running": q.Activity.Running, "runnable": q.Activity.Runnable, "unknown": q.Activity.Unknown}
	for k, d := range q.Activity.Blocked {
		if !slices.Contains(Kinds, k) {
			return fmt.Errorf("owner_activity: blocked_ns has the kind %q, not one of %v", k, Kinds)
		}
		parts[k] = d
	}
	left := q.Blamed
	for _, d := range parts {
		if d < 0 || d > left {
			return fmt.Errorf("owner_activity: a part is negative, or they sum to more than wait_ns, %d", q.Blamed)
		}
		left -= d
	}
	if left != 0 && left != q.Blamed {
		return fmt.Errorf("owner_activity: the parts sum to %d, not to wait_ns, %d", q.Blamed-left, q.Blamed)
	}
	return nil
}

func (q *Pair) checkRoots() error {
	left := q.Blamed
	blocked := map[string]time.Duration{}
	itself := false
	err := each("root", q.Roots, func(r *Root) error {
		switch {
		case r.Links < 0 || r.Contentions < 0:
			return errors.New("links or contentions is negative")
		case r.Blamed < 0 || r.Blamed > left:
			return fmt.Errorf("a wait_ns is negative, or they sum to more than that of the pair, %d", q.Blamed)
		case r.Via == "" && (itself || r.Owner != q.Owner):
			return errors.New("a root with an empty via must be the owner, and unique")
		case r.Via != "" && q.Activity.Blocked[r.Via]-blocked[r.Via] < r.Blamed:
			return fmt.Errorf("the owner was not blocked on %q for so long", r.Via)
		}
		itself = itself || r.Via == ""
		blocked[r.Via] += r.Blamed
		left -= r.Blamed
		return nil
	})
	if err == nil && len(q.Roots) > 0 && left != 0 {
		err = fmt.Errorf("roots: they sum to %d, not to wait_ns, %d", q.Blamed-left, q.Blamed)
	}
	return err
}

func (p *Profile) checkUnfinished() error {
	return each("unfinished", p.Unfinished, func(u *Wait) error {
		switch {
		case !slices.Contains(Kinds, u.Kind):
			return fmt.Errorf("kind is %q, not one of %v", u.Kind, Kinds)
		case u.Contentions <= 0:
			return fmt.Errorf("count is %d, not positive", u.Contentions)
		case u.Longest < 0 || u.Waited < u.Longest:
			return fmt.Errorf("wait_ns is %d, longest_ns %d", u.Waited, u.Longest)
		case u.Held < 0:
			return fmt.Errorf("held_ns is %d", u.Held)
		}
		return nil
	})
}
