package text

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Contended is how often something was waited for, how long, and for how long the waiters were
// ready after that.
type Contended struct {
	Contentions   int64
	Waited, Ready time.Duration
}

func (c *Contended) add(b Contended) {
	c.Contentions += b.Contentions
	c.Waited += b.Waited
	c.Ready += b.Ready
}

// time is that of a line: only one with the owner "[ready]" has any of Ready.
func (c *Contended) time() time.Duration { return c.Waited + c.Ready }

// ContentionChange is a group of waiters, the group of owners that delayed it, and what they met
// at, in two profiles.
type ContentionChange struct {
	Kind contention.Kind
	// Lock is the lock's name or, without one, its class: numbers of locks differ from run to
	// run.
	Lock, Class string
	// Waiter and Owner are groups of goroutines. The owner is "[hand-off]" or "[unattributed]"
	// for waiting that is no owner's, and "[ready]" for the time after it. Contentions is 0
	// there: those are counted where an owner is known.
	Waiter, Owner string
	// Before and After sum up all pairs that these names fit; zero where there are none.
	Before, After     Contended
	InBefore, InAfter bool
}

// ContentionChanges pairs what is waited for in two profiles, those first whose waiting changed
// most. All Waited together are what was waited in each profile, in traces what goroutines were
// blocked for.
func ContentionChanges(before, after *contention.Profile) []ContentionChange {
	at := map[ContentionChange]int{}
	var out []ContentionChange
	for side, p := range []*contention.Profile{before, after} {
		add := func(kind contention.Kind, l *contention.Lock, waiter, owner string, c Contended) {
			if c == (Contended{}) {
				return
			}
			key := ContentionChange{Kind: kind, Lock: lockGroup(l), Class: l.Class, Waiter: waiter, Owner: owner}
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, key)
			}
			if side == 0 {
				out[i].InBefore = true
				out[i].Before.add(c)
			} else {
				out[i].InAfter = true
				out[i].After.add(c)
			}
		}
		for i := range p.Pairs {
			q := &p.Pairs[i]
			add(q.Kind, q.Lock, q.Waiter.Group, q.Owner.Group, Contended{q.Contentions, q.Blamed, 0})
		}
		for i := range p.Waits {
			w := &p.Waits[i]
			add(w.Kind, w.Lock, w.Waiter.Group, contention.HandOffKey, Contended{Waited: w.HandOff})
			add(w.Kind, w.Lock, w.Waiter.Group, contention.UnattributedKey, Contended{Waited: w.Unattributed})
			add(w.Kind, w.Lock, w.Waiter.Group, contention.ReadyKey, Contended{Ready: w.Ready})
		}
	}
	order.Stable(out, func(a, b ContentionChange) int {
		return cmp.Or(cmp.Compare((b.After.time()-b.Before.time()).Abs(), (a.After.time()-a.Before.time()).Abs()),
			strings.Compare(a.Lock, b.Lock), strings.Compare(a.Waiter, b.Waiter), strings.Compare(a.Owner, b.Owner))
	})
	return out
}

// lockGroup names a lock so that it has the same name in another run.
func lockGroup(l *contention.Lock) string {
	if l.Name != "" && l.Name != contention.SeveralLocks {
		return l.Name
	}
	return cmp.Or(l.Class, contention.UnknownKey)
}

// WriteContentionDiff writes what changed from one contention profile to another: the whole, then a
// line for each kind, and one for each lock with its waiters and owners, those whose time changed
// most first. Lines that changed by less than a thousandth of what was waited are only counted. The
// error is that of w.
func WriteContentionDiff(w io.Writer, before, after *contention.Profile, opt Options) error {
	if before == nil || after == nil {
		return errNoContention
	}
	opt = opt.withDefaults()
	d := &contentionDiff{style: style{colour: opt.Colour, ascii: opt.ASCII}, opt: opt}
	d.kinds(before, after)
	d.pairs(ContentionChanges(before, after))
	if before.Accuracy != after.Accuracy {
		d.warn(fmt.Sprintf("the profiles differ in accuracy: %s and %s.", before.Accuracy, after.Accuracy))
	}
	for _, warning := range before.Warnings {
		d.warn("before: " + warning)
	}
	for _, warning := range after.Warnings {
		d.warn("after: " + warning)
	}
	if _, err := io.WriteString(w, d.b.String()); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

// contentionDiff is the text under way.
type contentionDiff struct {
	style         style
	opt           Options
	b             strings.Builder
	before, after Contended // in total
}

func (d *contentionDiff) table(names ...string) *changeTable {
	return &changeTable{style: d.style, head: append(names, "time before", "after", "change", "waits before", "after", "change")}
}

// cells are the numbers of a line.
func (d *contentionDiff) cells(before, after Contended, inBefore, inAfter bool) []string {
	waited := func(c Contended, there bool) string {
		if !there {
			return format.Unknown
		}
		return format.Duration(c.time())
	}
	count := func(c Contended, there bool) string {
		if !there {
			return format.Unknown
		}
		return format.Count(c.Contentions)
	}
	return []string{
		waited(before, inBefore), waited(after, inAfter), ratioOf(float64(before.time()), float64(after.time())),
		count(before, inBefore), count(after, inAfter), ratioOf(float64(before.Contentions), float64(after.Contentions)),
	}
}

// kinds writes the whole and its kinds.
func (d *contentionDiff) kinds(before, after *contention.Profile) {
	sums := map[contention.Kind]*[2]Contended{}
	for side, p := range []*contention.Profile{before, after} {
		total := []*Contended{&d.before, &d.after}[side]
		for i := range p.Waits {
			w := &p.Waits[i]
			total.add(Contended{w.Contentions, w.Waited, w.Ready})
			if sums[w.Kind] == nil {
				sums[w.Kind] = new([2]Contended)
			}
			sums[w.Kind][side].add(Contended{Contentions: w.Contentions, Waited: w.Waited})
		}
	}
	t := d.table("")
	waitedBefore, waitedAfter := d.before, d.after
	waitedBefore.Ready, waitedAfter.Ready = 0, 0
	all := "waited"
	if before.TellsReady() && after.TellsReady() {
		all = "blocked"
	}
	t.row(append([]string{all}, d.cells(waitedBefore, waitedAfter, true, true)...)...)
	for _, kind := range contention.Kinds {
		if s := sums[kind]; s != nil {
			t.row(append([]string{string(kind)}, d.cells(s[0], s[1], s[0] != Contended{}, s[1] != Contended{})...)...)
		}
	}
	if d.before.Ready > 0 || d.after.Ready > 0 {
		t.row("then ready", format.Duration(d.before.Ready), format.Duration(d.after.Ready), ratioOf(float64(d.before.Ready), float64(d.after.Ready)), "", "", "")
	}
	t.row("wall time", format.Duration(before.Duration), format.Duration(after.Duration), ratioOf(float64(before.Duration), float64(after.Duration)), "", "", "")
	t.write(&d.b, d.opt.Width)
}

// pairs writes who waited for whom.
func (d *contentionDiff) pairs(changes []ContentionChange) {
	if len(changes) == 0 {
		return
	}
	var locks, parties []string
	for _, c := range changes {
		locks = append(locks, c.Lock)
		parties = append(parties, c.Waiter, c.Owner)
	}
	locks, parties = format.Funcs(locks), format.Funcs(parties)
	least, same := max(d.before.Waited, d.after.Waited)/1000, 0
	t := d.table("kind, lock: waiter " + d.style.or("→", "->") + " owner")
	for i, c := range changes {
		if (c.After.time()-c.Before.time()).Abs() < least && len(changes) > 1 {
			same++
			continue
		}
		name := fmt.Sprintf("%s, %s: %s", c.Kind, locks[i], cmp.Or(parties[2*i], contention.UnknownKey))
		name = d.style.clean(name) + d.style.or(" → ", " -> ") + d.style.clean(cmp.Or(parties[2*i+1], contention.UnknownKey))
		cells := d.cells(c.Before, c.After, c.InBefore, c.InAfter)
		if c.Before.Contentions == 0 && c.After.Contentions == 0 { // of no owner
			cells[3], cells[4], cells[5] = "", "", ""
		}
		t.row(append([]string{name}, cells...)...)
	}
	d.b.WriteByte('\n')
	t.write(&d.b, d.opt.Width)
	if before, after := contentionsOf(changes); before > d.before.Contentions || after > d.after.Contentions {
		d.b.WriteString(d.style.paintLines(dim, wrap("waits: "+severalLegend, d.opt.Width, 0)) + "\n")
	}
	if same > 0 {
		d.b.WriteString(d.style.paintLines(dim, wrap(format.Plural(same, "line", "lines")+" changed by less than "+d.style.plain(format.Duration(least))+".", d.opt.Width, 0)) + "\n")
	}
}

// contentionsOf are the numbers of waits of all lines.
func contentionsOf(changes []ContentionChange) (before, after int64) {
	for _, c := range changes {
		before += c.Before.Contentions
		after += c.After.Contentions
	}
	return before, after
}

func (d *contentionDiff) warn(s string) {
	d.b.WriteString(d.style.paint(bold, "Warning:") + wrap(d.style.clean(s), d.opt.Width, len("Warning:")) + "\n")
}
