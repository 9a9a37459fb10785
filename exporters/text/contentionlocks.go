package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

var lockHeadings = []string{"waited", "%", "contentions", "longest", "at once", "held%", didHeadings[0], didHeadings[1], didHeadings[2]}

// locks writes the table of the locks that cost most.
func (m *contentionModel) locks() string {
	rows := m.p.LockTable()
	top, least := m.opt.Top, m.opt.Min
	if top == 0 {
		top = 12
		if least == 0 {
			least = m.tree.Waited / 200
		}
	}
	shown := 0
	for shown < len(rows) && (top < 0 || shown < top) && rows[shown].Waited >= least && rows[shown].Waited > 0 {
		shown++
	}
	if shown == len(rows)-1 && m.opt.Min == 0 {
		shown++ // "(1 more lock)" would be no shorter
	}
	if shown == 0 {
		return ""
	}
	names := lockNames(rows)[:shown]
	lines := [][]string{lockHeadings}
	for _, r := range rows[:shown] {
		held := format.Unknown
		if r.ContendedShare > 0 {
			held = format.Percent(r.Contended, m.p.Duration)
		}
		waiters := format.Unknown
		if r.Waiters > 0 {
			waiters = strconv.Itoa(r.Waiters)
		}
		lines = append(lines, []string{
			m.duration(r.Waited), m.percent(r.Waited), format.Count(r.Contentions), m.duration(r.Longest),
			m.style.plain(waiters), m.style.plain(held),
		})
		did := m.did(r.Activity, r.Blamed)
		lines[len(lines)-1] = append(lines[len(lines)-1], did[:]...)
	}
	if shown < len(rows) {
		var rest contention.LockRow
		var longest time.Duration
		for _, r := range rows[shown:] {
			rest.Waited += r.Waited
			rest.Contentions += r.Contentions
			longest = max(longest, r.Longest)
			rest.Blamed += r.Blamed
			rest.Activity = rest.Activity.Plus(r.Activity)
		}
		did := m.did(rest.Activity, rest.Blamed)
		lines = append(lines, []string{m.duration(rest.Waited), m.percent(rest.Waited), format.Count(rest.Contentions), m.duration(longest), "", "", did[0], did[1], did[2]})
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

// lockLines lays the table out, numbers first as in the tree.
func (m *contentionModel) lockLines(lines [][]string, names []string) string {
	var b strings.Builder
	if !m.known() {
		for i := range lines {
			lines[i] = lines[i][:len(lockHeadings)-len(didHeadings)]
		}
	}
	widths := make([]int, len(lines[0]))
	used := 0
	for i := range widths {
		for _, l := range lines {
			widths[i] = max(widths[i], columns(l[i]))
		}
		used += widths[i] + 2
	}
	for i, l := range lines {
		s := ""
		for j, cell := range l {
			s += right(cell, widths[j]) + "  "
		}
		if i == 0 {
			b.WriteString(m.style.paint(dim, s+"lock") + "\n")
			continue
		}
		name := m.style.fit(m.style.clean(names[i-1]), max(minName, m.opt.Width-used))
		b.WriteString(strings.TrimRight(s+name, " ") + "\n")
	}
	b.WriteString(m.style.paintLines(dim, wrap("at once: most goroutines that waited at the same time; held%: part of the time in which somebody held the lock while others waited.", m.opt.Width, 0)) + "\n")
	return b.String()
}
