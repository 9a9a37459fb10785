package contention

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// ReadJSON reads what [WriteJSON] wrote.
//
// What it accepts keeps the promises of [Profile]: no number is negative, each wait's
// parts sum to it, and pairs to what their waits blame on owners. The error for
// anything else says which row breaks which promise. Fields it does not know are ignored.
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

// UnmarshalJSON replaces the profile by the one in a JSON object such as MarshalJSON
// writes. It accepts what [ReadJSON] accepts; after an error, p is unchanged.
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
	var form profileJSON
	if err := dec.Decode(&form); err != nil {
		return nil, format.ExplainJSON(err, "wait_ns, pairs and waits")
	}
	return form.profile()
}

// jsonReader turns the form back into a profile.
type jsonReader struct {
	form   *profileJSON
	p      *Profile
	locks  map[uint64]*Lock
	stacks []*Stack
	texts  [][]string
}

func (f *profileJSON) profile() (*Profile, error) {
	if f.Wait == nil || f.Pairs == nil || f.Waits == nil || f.Locks == nil || f.Stacks == nil {
		return nil, errors.New("this is no contention profile: wait_ns, pairs, waits, locks or stacks is missing")
	}
	r := &jsonReader{form: f, locks: map[uint64]*Lock{}, p: &Profile{
		Source: f.Source, Accuracy: f.Accuracy, Duration: time.Duration(f.Duration), InFlight: f.InFlight, Instances: severalInstances(f.Instances),
		Dropped: Dropped(f.Dropped),
	}}
	if len(f.Warnings) > 0 {
		r.p.Warnings = f.Warnings
	}
	for _, step := range []func() error{r.head, r.readStacks, r.readLocks, r.readWaits, r.readPairs, r.blamed, r.readOwners, r.readUnfinished, r.totals} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r.p, nil
}

func (r *jsonReader) head() error {
	f := r.form
	if f.Start != "" {
		var err error
		if r.p.Start, err = time.Parse(time.RFC3339Nano, f.Start); err != nil {
			return fmt.Errorf("start is %q, not a time such as 2006-01-02T15:04:05Z", f.Start)
		}
	}
	switch {
	case f.Duration < 0:
		return fmt.Errorf("duration_ns is negative: %d", f.Duration)
	case f.Instances < 0 || f.Instances > 1<<30:
		return fmt.Errorf("instances is out of range: %d", f.Instances)
	case f.InFlight < 0:
		return fmt.Errorf("in_flight is negative: %d", f.InFlight)
	case !slices.Contains([]Source{"", FromWrappers, FromTrace}, f.Source):
		return fmt.Errorf("source is %q, not wrappers or trace", f.Source)
	case !slices.Contains([]Accuracy{"", Exact, Sampled, Inferred}, f.Accuracy):
		return fmt.Errorf("accuracy is %q, not exact, sampled or inferred", f.Accuracy)
	}
	return nil
}

func (r *jsonReader) readStacks() error {
	for i, form := range r.form.Stacks {
		s, text := &Stack{Truncated: form.Truncated}, []string{}
		for j, f := range form.Frames {
			if f.Line < 0 {
				return fmt.Errorf("stacks, number %d: frame %d has the line %d", i+1, j, f.Line)
			}
			s.Frames = append(s.Frames, Frame(f))
			text = append(text, Frame(f).String())
		}
		r.stacks, r.texts = append(r.stacks, s), append(r.texts, text)
	}
	return nil
}

// stack returns the stack of a number, which has to have the given text if that is not nil.
func (r *jsonReader) stack(field string, id int, text []string) (*Stack, error) {
	switch {
	case id < 0 || id > len(r.stacks):
		return nil, fmt.Errorf("%s is %d, but there are %d stacks", field, id, len(r.stacks))
	case id == 0 && len(text) > 0, id > 0 && text != nil && !slices.Equal(text, r.texts[id-1]):
		return nil, fmt.Errorf("the frames are not those of the stack with the number %s, %d", field, id)
	case id == 0:
		return nil, nil
	}
	return r.stacks[id-1], nil
}

func (r *jsonReader) readLocks() error {
	for _, f := range r.form.Locks {
		created, err := r.stack("created_id", f.CreatedID, nil)
		switch {
		case r.locks[f.ID] != nil:
			err = errors.New("the id comes twice")
		case f.Waiters < 0:
			err = fmt.Errorf("waiters is negative: %d", f.Waiters)
		case f.Longest < 0:
			err = fmt.Errorf("longest_ns is negative: %d", f.Longest)
		case f.Contended < 0:
			err = fmt.Errorf("contended_ns is negative: %d", f.Contended)
		case f.Hold < 0:
			err = fmt.Errorf("hold_ns is negative: %d", f.Hold)
		}
		if err != nil {
			return fmt.Errorf("lock %d (%q): %w", f.ID, f.Name, err)
		}
		l := &Lock{
			ID: f.ID, Name: f.Name, Class: f.Class, Created: created,
			Waiters: f.Waiters, Longest: time.Duration(f.Longest), Contended: time.Duration(f.Contended), Hold: time.Duration(f.Hold),
		}
		r.locks[f.ID] = l
		r.p.Locks = append(r.p.Locks, l)
	}
	return nil
}

// Kinds lists all kinds.
var Kinds = []Kind{
	MutexKind, RWMutexWriterKind, RWMutexReaderKind, CondKind, WaitGroupKind, OnceKind, ChanSendKind,
	ChanReceiveKind, SelectKind, SemaphoreKind, NetworkKind, SleepKind, GCKind, OtherKind, SyscallKind,
}

// waiter checks what waits and pairs have in common.
func (r *jsonReader) waiter(f *waiterJSON, allowed Flags) (l *Lock, who Party, flags Flags, err error) {
	l = r.locks[f.LockID]
	switch {
	case !slices.Contains(Kinds, f.Kind):
		err = fmt.Errorf("kind is %q, not one of %v", f.Kind, Kinds)
	case l == nil:
		err = fmt.Errorf("lock_id is %d, which is not in locks", f.LockID)
	case l.String() != f.Lock || l.Class != f.Class:
		err = fmt.Errorf("lock and class are not those of lock %d", f.LockID)
	case f.Contentions < 0:
		err = fmt.Errorf("contentions is negative: %d", f.Contentions)
	case f.Wait < 0:
		err = fmt.Errorf("wait_ns is negative: %d", f.Wait)
	case f.Longest < 0:
		err = fmt.Errorf("longest_ns is negative: %d", f.Longest)
	}
	if err != nil {
		return nil, who, 0, err
	}
	for _, name := range f.Flags {
		i := slices.Index(flagNames, name)
		if i < 0 || allowed&(1<<i) == 0 {
			return nil, who, 0, fmt.Errorf("flag %q cannot stand here", name)
		}
		flags |= 1 << i
	}
	who = Party{Goroutine: f.WaiterGoroutine, Group: f.WaiterGroup}
	who.Stack, err = r.stack("waiter_id", f.WaiterID, f.WaiterStack)
	return l, who, flags, err
}

func (r *jsonReader) readWaits() error {
	var waited, contentions, observed, ready, parks int64
	for i := range r.form.Waits {
		f := &r.form.Waits[i]
		l, who, flags, err := r.waiter(&f.waiterJSON, WaiterFlags)
		switch {
		case err != nil:
		case f.Observed < 0 || f.Blamed < 0 || f.HandOff < 0 || f.Unattributed < 0:
			err = errors.New("observed, blamed_ns, handoff_ns or unattributed_ns is negative")
		case f.Parks < 0 || f.Ready < 0 || f.ReadyIdle < 0 || f.ReadyIdle > f.Ready:
			err = errors.New("parks, ready_ns or ready_idle_ns is negative, or ready_idle_ns is more than ready_ns")
		case f.Blamed > f.Wait || f.HandOff > f.Wait-f.Blamed || f.Unattributed != f.Wait-f.Blamed-f.HandOff:
			err = fmt.Errorf("blamed_ns, handoff_ns and unattributed_ns do not sum to wait_ns, %d", f.Wait)
		case waited > math.MaxInt64-f.Wait || contentions > math.MaxInt64-f.Contentions || observed > math.MaxInt64-f.Observed ||
			ready > math.MaxInt64-f.Ready || parks > math.MaxInt64-f.Parks:
			err = errors.New("with it, the sum is too large: more than 292 years, or more waits than a number can hold")
		}
		if err != nil {
			return fmt.Errorf("wait %d: %w", i, err)
		}
		waited += f.Wait
		ready += f.Ready
		parks += f.Parks
		contentions += f.Contentions
		observed += f.Observed
		r.p.Waits = append(r.p.Waits, Wait{
			Kind: f.Kind, Lock: l, Waiter: who, Flags: flags, Contentions: f.Contentions, Observed: f.Observed,
			Parks: f.Parks, Ready: time.Duration(f.Ready), ReadyIdle: time.Duration(f.ReadyIdle),
			Waited: time.Duration(f.Wait), Blamed: time.Duration(f.Blamed), HandOff: time.Duration(f.HandOff),
			Unattributed: time.Duration(f.Unattributed), Longest: time.Duration(f.Longest), StdErr: time.Duration(max(0, f.StdErr)),
		})
	}
	return nil
}

func (r *jsonReader) readPairs() error {
	var blamed, contentions int64
	for i := range r.form.Pairs {
		f := &r.form.Pairs[i]
		l, who, flags, err := r.waiter(&f.waiterJSON, math.MaxUint32)
		owner := Party{Goroutine: f.OwnerGoroutine, Group: f.OwnerGroup}
		if err == nil {
			owner.Stack, err = r.stack("owner_id", f.OwnerID, f.OwnerStack)
		}
		if err == nil && (blamed > math.MaxInt64-f.Wait || contentions > math.MaxInt64-f.Contentions) {
			err = errors.New("with it, the sum is too large: more than 292 years, or more waits than a number can hold")
		}
		if err != nil {
			return fmt.Errorf("pair %d: %w", i, err)
		}
		blamed += f.Wait
		contentions += f.Contentions
		r.p.Pairs = append(r.p.Pairs, Pair{
			Kind: f.Kind, Lock: l, Waiter: who, Owner: owner, Flags: flags,
			Contentions: f.Contentions, Blamed: time.Duration(f.Wait), Longest: time.Duration(f.Longest), StdErr: time.Duration(max(0, f.StdErr)),
		})
	}
	return nil
}

// waiterKey is what a pair has in common with its wait.
type waiterKey struct {
	kind   Kind
	lock   *Lock
	waiter Party
	flags  Flags
}

// blamed checks that the pairs of each waiter sum to what it blames on owners.
func (r *jsonReader) blamed() error {
	rest := map[waiterKey]time.Duration{}
	for i := range r.p.Waits {
		w := &r.p.Waits[i]
		rest[waiterKey{w.Kind, w.Lock, w.Waiter, w.Flags}] += w.Blamed
	}
	for i := range r.p.Pairs {
		q := &r.p.Pairs[i]
		rest[waiterKey{q.Kind, q.Lock, q.Waiter, q.Flags & WaiterFlags}] -= q.Blamed
	}
	for i := range r.p.Waits {
		w := &r.p.Waits[i]
		k := waiterKey{w.Kind, w.Lock, w.Waiter, w.Flags}
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

// totals checks what the head of the object says about its rows.
func (r *jsonReader) totals() error {
	f := profileJSON{Waits: r.form.Waits}
	f.sum()
	for _, t := range []struct {
		field     string
		got, want int64
	}{
		{"wait_ns", *r.form.Wait, *f.Wait}, {"handoff_ns", r.form.HandOff, f.HandOff},
		{"unattributed_ns", r.form.Unattributed, f.Unattributed}, {"contentions", r.form.Contentions, f.Contentions},
		{"ready_ns", r.form.Ready, f.Ready}, {"ready_idle_ns", r.form.ReadyIdle, f.ReadyIdle}, {"parks", r.form.Parks, f.Parks},
	} {
		if t.got != t.want {
			return fmt.Errorf("%s is %d, but the waits sum to %d", t.field, t.got, t.want)
		}
	}
	if !maps.Equal(r.form.Kinds, f.Kinds) {
		return errors.New("kinds is not what the waits sum to")
	}
	return nil
}

func (r *jsonReader) readUnfinished() error {
	for i := range r.form.Unfinished {
		f := &r.form.Unfinished[i]
		waiter, err := r.stack("waiter_id", f.WaiterID, f.WaiterStack)
		var holder *Stack
		if err == nil {
			holder, err = r.stack("holder_id", f.HolderID, f.HolderStack)
		}
		switch {
		case err != nil:
		case !slices.Contains(Kinds, f.Kind):
			err = fmt.Errorf("kind is %q, not one of %v", f.Kind, Kinds)
		case f.Count <= 0:
			err = fmt.Errorf("count is %d, not positive", f.Count)
		case f.Longest < 0 || f.Wait < f.Longest:
			err = fmt.Errorf("wait_ns is %d, longest_ns %d", f.Wait, f.Longest)
		}
		if err != nil {
			return fmt.Errorf("unfinished %d: %w", i, err)
		}
		r.p.Unfinished = append(r.p.Unfinished, Unfinished{
			Kind: f.Kind, Lock: f.Lock,
			Waiter: Party{Goroutine: f.WaiterGoroutine, Group: f.WaiterGroup, Stack: waiter},
			Holder: Party{Goroutine: f.HolderGoroutine, Group: f.HolderGroup, Stack: holder},
			Count:  f.Count, Waited: time.Duration(f.Wait), Longest: time.Duration(f.Longest),
		})
	}
	return nil
}
