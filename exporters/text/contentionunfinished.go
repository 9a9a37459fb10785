package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// unfinished says what goroutines still waited for when the trace ended, or the snapshot was taken,
// and who held the locks then.
func (m *contentionModel) unfinished() string {
	var rows []*contention.Unfinished
	for i := range m.p.Unfinished {
		if u := &m.p.Unfinished[i]; u.Waited >= m.opt.Min && m.tellsUnfinished(u) {
			rows = append(rows, u)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	shown := m.opt.Top
	if shown == 0 {
		shown = 12
	}
	if shown < 0 || shown > len(rows) {
		shown = len(rows)
	}
	when := "when the trace ended"
	if m.p.Source == contention.FromWrappers {
		when = "at the end"
	}
	s := m.paragraph(bold, "Still waiting "+when+" (in none of the sums):")
	for _, u := range rows[:shown] {
		s += m.paragraph("", m.unfinishedSentence(u))
	}
	if n := len(rows) - shown; n > 0 {
		s += m.paragraph("", "("+format.Plural(n, "more row", "more rows")+")")
	}
	return s
}

// tellsUnfinished reports whether a wait that goes on is worth a line: of goroutines that wait for
// something to do, only if they were asked for.
func (m *contentionModel) tellsUnfinished(u *contention.Unfinished) bool {
	switch u.Kind {
	case contention.MutexKind, contention.RWMutexWriterKind, contention.RWMutexReaderKind, contention.OnceKind, contention.WaitGroupKind, contention.SemaphoreKind:
		return true
	case contention.CondKind:
		return slices.Contains(m.opt.Kinds, u.Kind) || !u.ForWork()
	}
	return slices.Contains(m.opt.Kinds, u.Kind)
}

func (m *contentionModel) unfinishedSentence(u *contention.Unfinished) string {
	where := contention.UnknownKey
	if u.Waiter.Stack != nil && len(u.Waiter.Stack.Frames) > 0 {
		where = format.Func(u.Waiter.Stack.Frames[0].Func)
	}
	lock := u.Lock
	if !strings.HasPrefix(lock, "[") {
		lock = format.Func(lock)
	}
	s := fmt.Sprintf("%s in %s: %s of %s", format.Plural(u.Count, "goroutine", "goroutines"), where, u.Kind, lock)
	if u.Count == 1 {
		s += ", for " + format.Duration(u.Waited)
	} else {
		s += fmt.Sprintf(", for up to %s, %s in all", format.Duration(u.Longest), format.Duration(u.Waited))
	}
	if !u.OfLock() {
		return s + "."
	}
	switch {
	case u.Holder.Group != "":
	case m.p.Source == contention.FromWrappers:
		return s + "; cannot tell who holds it, because that goroutine did not wait for it."
	default:
		return s + "; cannot tell who holds it, because no event of the trace shows it."
	}
	s += "; " + format.Func(u.Holder.Group) + " holds it"
	if h := u.Holder.Stack; h != nil && len(h.Frames) > 0 {
		s += ", at " + format.Func(h.Frames[0].Func)
		if len(h.Frames) > 1 {
			s += " in " + format.Func(h.Frames[1].Func)
		}
	}
	return s + "."
}
