package text

import (
	"fmt"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

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
