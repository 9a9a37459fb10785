package text

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// ContentionCSV writes a contention profile as comma-separated values (RFC 4180, lines end in
// LF): a header, a row for each pair of waiter and owner, and a row each for the hand-off and the
// unattributed time of each wait, whose owner is "[hand-off]" or "[unattributed]"; so the column
// wait_ns sums to what was waited. A row with the owner "[ready]" follows for waits of a trace,
// with a wait_ns of 0: its ready_ns is for how long the goroutines were ready after the waits,
// until they had a processor; ready_idle_ns is the part in which a processor was idle; parks is how
// often they blocked, and contentions is the number of waits. Those three columns are empty in all
// other rows.
//
// Rows for the waits that went on when a trace ended come last, with contentions and a wait_ns of
// 0: unfinished is the number of goroutines, unfinished_ns for how long they had been blocked in
// all, and unfinished_longest_ns for how long the first of them had. Their owner is who held the
// lock then, "[cannot tell]" if the trace does not show it, and empty for waits that are not for a
// lock. The class is empty: the lock is named as in the other rows. Those three columns are empty
// in all other rows.
//
// The columns are kind, lock, class, waiter_group, waiter_func, waiter_stack, owner_group,
// owner_func, owner_stack, flags, contentions and wait_ns. Stacks are "func file:line", leaf first,
// separated by " < ". Contentions are those that the owner delayed; 0 where there is no owner.
//
// What the owner did meanwhile follows: running_ns, runnable_ns, blocked_ns and unknown_ns, which
// sum to wait_ns, and blocked_on, such as "mutex=1200 chan-receive=300". Then root_group,
// root_func, root_stack and root_ns, are who was at the end of the chain of blame for the longest
// part of wait_ns, and for how long. These nine are empty where there is no owner.
//
// Control characters in names become U+FFFD, and names that a spreadsheet would take for a
// formula get an apostrophe in front. The error is that of w.
func ContentionCSV(w io.Writer, p *contention.Profile) error {
	if p == nil {
		return errNoContention
	}
	out := csv.NewWriter(w)
	write := func(record ...string) { _ = out.Write(record) } // csv.Writer keeps the first error
	write("kind", "lock", "class", "waiter_group", "waiter_func", "waiter_stack",
		"owner_group", "owner_func", "owner_stack", "flags", "contentions", "wait_ns",
		"running_ns", "runnable_ns", "blocked_ns", "unknown_ns", "blocked_on", "root_group", "root_func", "root_stack", "root_ns", "ready_ns", "ready_idle_ns", "parks",
		"unfinished", "unfinished_ns", "unfinished_longest_ns")
	record := func(k contention.Kind, lock, class string, waiter, owner *contention.Party, flags contention.Flags, contentions int64, d time.Duration, did []string) {
		write(append([]string{harmless(string(k)), harmless(lock), harmless(class),
			harmless(waiter.Group), harmless(leafOf(waiter.Stack)), harmless(waiter.Stack.String()),
			harmless(owner.Group), harmless(leafOf(owner.Stack)), harmless(owner.Stack.String()),
			flags.String(), strconv.FormatInt(contentions, 10), ns(d)}, did...)...)
	}
	row := func(k contention.Kind, l *contention.Lock, waiter, owner *contention.Party, flags contention.Flags, contentions int64, d time.Duration, did ...string) {
		record(k, l.String(), l.Class, waiter, owner, flags, contentions, d, append(did, "", "", ""))
	}
	for i := range p.Pairs {
		q := &p.Pairs[i]
		row(q.Kind, q.Lock, &q.Waiter, &q.Owner, q.Flags, q.Contentions, q.Blamed, append(didColumns(q), "", "", "")...)
	}
	nobody := func(key string) *contention.Party {
		return &contention.Party{Group: key, Stack: &contention.Stack{Frames: []contention.Frame{{Func: key}}}}
	}
	var none [12]string
	handOff, unattributed, ready := nobody(contention.HandOffKey), nobody(contention.UnattributedKey), nobody(contention.ReadyKey)
	for i := range p.Waits {
		w := &p.Waits[i]
		if w.HandOff > 0 {
			row(w.Kind, w.Lock, &w.Waiter, handOff, w.Flags, 0, w.HandOff, none[:]...)
		}
		if w.Unattributed > 0 {
			row(w.Kind, w.Lock, &w.Waiter, unattributed, w.Flags, 0, w.Unattributed, none[:]...)
		}
		if w.Parks > 0 {
			row(w.Kind, w.Lock, &w.Waiter, ready, w.Flags, w.Contentions, 0,
				append(none[:9:9], ns(w.Ready), ns(w.ReadyIdle), strconv.FormatInt(w.Parks, 10))...)
		}
	}
	for i := range p.Unfinished {
		u := &p.Unfinished[i]
		holder := &u.Holder
		switch {
		case !u.OfLock():
			holder = nobody("")
		case holder.Group == "":
			holder = nobody(cannotTell)
		}
		record(u.Kind, u.Lock, "", &u.Waiter, holder, 0, 0, 0, append(none[:], strconv.FormatInt(u.Count, 10), ns(u.Waited), ns(u.Longest)))
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("text: writing CSV: %w", err)
	}
	return nil
}

// cannotTell is in the place of who holds a lock where the trace does not show it.
const cannotTell = "[cannot tell]"

// didColumns are what the owner did, and who was the root for longest.
func didColumns(q *contention.Pair) []string {
	a := q.OwnerActivity()
	var on []string
	for _, k := range a.BlockedKinds() {
		on = append(on, string(k)+"="+ns(a.Blocked[k]))
	}
	r := q.RootOwners()[0]
	return []string{
		ns(a.Running), ns(a.Runnable), ns(a.BlockedTotal()), ns(a.Unknown), strings.Join(on, " "),
		harmless(r.Owner.Group), harmless(leafOf(r.Owner.Stack)), harmless(r.Owner.Stack.String()), ns(r.Blamed),
	}
}

func leafOf(s *contention.Stack) string {
	if s == nil || len(s.Frames) == 0 {
		return contention.UnknownKey
	}
	return s.Frames[0].Func
}

// FoldedStacks writes a contention profile as the folded stacks that flamegraph.pl and many viewers
// read: a line for each stack, its frames from the root separated by semicolons, and the
// nanoseconds behind a blank. Equal stacks are put together, in the order of their first row. The
// error is that of w, or of a view that there is not.
//
//	bottleneck contention -format folded trace.out | flamegraph.pl --countname ns > contention.svg
//
// Semicolons in names become colons, and control characters U+FFFD.
func FoldedStacks(w io.Writer, p *contention.Profile, view contention.View) error {
	if p == nil {
		return errNoContention
	}
	if _, err := contention.ParseView(string(view)); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	sums := map[string]time.Duration{}
	var order []string
	for s := range p.Samples(view) {
		var b strings.Builder
		for i, f := range s.Stack {
			if i > 0 {
				b.WriteByte(';')
			}
			name := strings.TrimSpace(strings.ReplaceAll(format.Clean(f.Func), ";", ":"))
			if name == "" {
				name = contention.UnknownKey
			}
			b.WriteString(name)
		}
		stack := b.String()
		if _, ok := sums[stack]; !ok {
			order = append(order, stack)
		}
		sums[stack] += s.Delay
	}
	var b strings.Builder
	for _, stack := range order {
		if sums[stack] > 0 {
			b.WriteString(stack + " " + ns(sums[stack]) + "\n")
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}
