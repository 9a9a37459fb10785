package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// lockCells are the cells of a line of the table, but for the name of the lock.
func (m *contentionModel) lockCells(waited, percent, ready, idle, count, parks, longest, waiters, held string, did [3]string) []string {
	cells := []string{waited, percent}
	if m.ready {
		cells = append(cells, ready, idle)
	}
	cells = append(cells, count)
	if m.ready {
		cells = append(cells, parks)
	}
	cells = append(cells, longest, waiters, held)
	if m.known() {
		cells = append(cells, did[:]...)
	}
	return cells
}

// lockLine are the cells of a lock, or of several.
func (m *contentionModel) lockLine(r *contention.LockRow, longest time.Duration, waiters, held string) []string {
	ready, idle := m.style.plain(format.Unknown), m.style.plain(format.Unknown)
	if r.Parks > 0 { // else it is of wrapped locks
		ready, idle = m.duration(r.Ready), m.style.plain(format.Percent(r.ReadyIdle, r.Ready))
		if r.Ready == 0 {
			idle = ""
		}
	}
	return m.lockCells(m.duration(r.Waited), m.percent(r.Waited), ready, idle, format.Count(r.Contentions), format.Count(r.Parks), m.duration(longest),
		waiters, held, m.did(r.Activity, r.Blamed))
}

// locks writes the table of the locks that cost most.
func (m *contentionModel) locks() string {
	rows := m.p.LockTable()
	var waited, forWork time.Duration
	for _, r := range rows {
		waited, forWork = waited+r.Waited, forWork+r.ForWork
	}
	top, least := m.limits(m.least(waited - forWork))
	_, leastForWork := m.limits(m.least(waited))
	var worth, more []contention.LockRow
	for _, r := range rows {
		costs := max(r.Waited-r.ForWork, r.Ready)
		if (top < 0 || len(worth) < top) && (costs > 0 && costs >= least || r.Waited > 0 && r.Waited >= leastForWork) {
			worth = append(worth, r)
		} else {
			more = append(more, r)
		}
	}
	if len(more) == 1 && m.opt.Min == 0 { // "(1 more lock)" would be no shorter
		worth, more = rows, nil
	}
	shown := len(worth)
	if shown == 0 {
		return ""
	}
	rows = append(worth, more...)
	names := lockNames(rows)[:shown]
	lines := [][]string{m.lockCells(m.heading(), "%", "ready", "idle%", "contentions", "parks", "longest", "at once", "held%", didHeadings)}
	for i := range rows[:shown] {
		r := &rows[i]
		held := format.Unknown
		if r.ContendedShare > 0 {
			held = format.Percent(r.Contended, m.p.Duration)
		}
		waiters := format.Unknown
		if r.Waiters > 0 {
			waiters = strconv.Itoa(r.Waiters)
		}
		lines = append(lines, m.lockLine(r, r.Longest, m.style.plain(waiters), m.style.plain(held)))
	}
	if shown < len(rows) {
		var rest contention.LockRow
		var longest time.Duration
		for _, r := range rows[shown:] {
			rest.Waited += r.Waited
			rest.Ready += r.Ready
			rest.ReadyIdle += r.ReadyIdle
			rest.Contentions += r.Contentions
			rest.Parks += r.Parks
			longest = max(longest, r.Longest)
			rest.Blamed += r.Blamed
			rest.Activity = rest.Activity.Plus(r.Activity)
		}
		lines = append(lines, m.lockLine(&rest, longest, "", ""))
		names = append(names, "("+format.Plural(len(rows)-shown, "more lock", "more locks")+")")
	}
	return m.lockLines(lines, names)
}

// lockNames names locks as the tree does, but tells those of one name apart.
func lockNames(rows []contention.LockRow) []string {
	times := map[string]int{}
	for _, r := range rows {
		times[r.Lock.String()]++
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Lock.String()
		switch {
		case r.Name == "":
			names[i] = format.Func(names[i])
		case times[names[i]] > 1:
			names[i] = fmt.Sprintf("%s#%d", names[i], r.ID)
		}
	}
	return names
}

// leastLockName is the width of the names that the columns beside them leave.
const leastLockName = 24

// lockLines lays the table out, numbers first as in the tree. Columns that have no room beside the
// names follow in a second table of the same locks.
func (m *contentionModel) lockLines(lines [][]string, names []string) string {
	var b strings.Builder
	widths := make([]int, len(lines[0]))
	for i := range widths {
		for _, l := range lines {
			widths[i] = max(widths[i], columns(l[i]))
		}
	}
	for from, to := 0, 0; from < len(widths); from = to {
		used := 0
		for ; to < len(widths) && (to == from || used+widths[to]+2+leastLockName <= m.opt.Width); to++ {
			used += widths[to] + 2
		}
		for i, l := range lines {
			s := ""
			for j := from; j < to; j++ {
				s += right(l[j], widths[j]) + "  "
			}
			if i == 0 {
				b.WriteString(m.style.paint(dim, s+"lock") + "\n")
				continue
			}
			name := m.style.fit(m.style.clean(names[i-1]), max(minName, m.opt.Width-used))
			b.WriteString(strings.TrimRight(s+name, " ") + "\n")
		}
	}
	legend := "at once: most goroutines that waited at the same time; held%: part of the time in which the lock is known to have been held while others waited."
	if m.ready {
		legend = "ready: after the wait, until they had a processor; idle%: part of that in which a processor was idle; " +
			"parks: how often they blocked, as the runtime's profiles count; " + legend
	}
	if m.known() && !m.showsDid() {
		legend += " " + didLegend
	}
	b.WriteString(m.style.paintLines(dim, wrap(legend, m.opt.Width, 0)) + "\n")
	return b.String()
}

// didHeadings are the columns of what owners did while they were waited for. They are there only if
// something of it is known.
var didHeadings = [3]string{"run%", "ready%", "block%"}

const didLegend = "run%, ready%, block%: part of the blamed time in which the owner ran, was ready to run, was itself blocked."

// did are the columns for owners that are blamed for the given time.
func (m *contentionModel) did(a contention.Activity, blamed time.Duration) [3]string {
	var out [3]string
	if blamed <= 0 {
		return out
	}
	if a.Unknown >= blamed {
		unknown := m.style.plain(format.Unknown)
		return [3]string{unknown, unknown, unknown}
	}
	for i, d := range []time.Duration{a.Running, a.Runnable, a.BlockedTotal()} {
		out[i] = m.style.plain(format.Percent(d, blamed))
	}
	return out
}

// known reports whether anything is known of what owners did.
func (m *contentionModel) known() bool { return m.tree.Activity.Unknown < m.tree.Blamed }

// owners says what owners did while they were waited for, and who was at the end of the chains of
// blame.
func (m *contentionModel) owners() string {
	s := ""
	if m.known() {
		a, of := m.tree.Activity, m.tree.Blamed
		var on []string
		for _, k := range a.BlockedKinds() {
			if a.Blocked[k] >= of/200 {
				on = append(on, string(k)+" "+format.Percent(a.Blocked[k], of))
			}
		}
		s = fmt.Sprintf("Meanwhile the owners ran for %s of the blamed time, were ready to run for %s, and were themselves blocked for %s",
			format.Percent(a.Running, of), format.Percent(a.Runnable, of), format.Percent(a.BlockedTotal(), of))
		if len(on) > 0 {
			s += " (" + strings.Join(on, ", ") + ")"
		}
		if a.Unknown > 0 {
			s += "; what they did for " + format.Percent(a.Unknown, of) + " is not known"
		}
		s += "."
	}
	if who, d := m.mostAtRoot(); d > 0 { // of the same waits as the sentence before
		s += fmt.Sprintf(" At the end of the chains of blame, most is due to %s: %s (%s).", who, format.Duration(d), format.Percent(d, m.tree.Waited))
	}
	if s == "" {
		return ""
	}
	return m.paragraph("", strings.TrimSpace(s))
}

// mostAtRoot is the function of the root owners that most is due to, if any owner was blocked by
// another.
func (m *contentionModel) mostAtRoot() (string, time.Duration) {
	for i := range m.p.Pairs {
		if m.p.Pairs[i].Roots != nil {
			return m.most(contention.ByRootFunc)
		}
	}
	return "", 0
}
