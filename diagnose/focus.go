package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// A verdict on one group of goroutines is about the rows of the ledger that the group is part of.
// In these rows the group ran, or an empty processor waited for it or for what it would wake, or
// had nothing to run while only the group ran. The parts still sum to the capacity: rows unrelated
// to the group have parts of their own.

// involves reports whether a group is part of a row.
func involves(r *ledger.Row, group string) bool {
	return r.Group == group || r.Waker == group || r.Beside == group
}

// partsOfFocus returns the sums of the ledger by the role of the group. Each row counts for the
// first role that matches.
func (d *diagnosis) partsOfFocus() []verdict.Part {
	kinds := []struct {
		name string
		of   func(*ledger.Row) bool
	}{
		{"it ran", func(r *ledger.Row) bool { return !r.Empty() && r.Group == d.Focus }},
		{"others ran", func(r *ledger.Row) bool { return !r.Empty() }},
		{"idle while only it ran", func(r *ledger.Row) bool { return r.Beside == d.Focus }},
		{"idle until it woke others", func(r *ledger.Row) bool { return r.Waker == d.Focus }},
		{"idle until it ran", func(r *ledger.Row) bool { return r.Group == d.Focus }},
		{"idle without it", func(*ledger.Row) bool { return true }},
	}
	sums := make([]time.Duration, len(kinds))
	for i := range d.l.Rows {
		r := &d.l.Rows[i]
		for k := range kinds {
			if kinds[k].of(r) {
				sums[k] += r.Time
				break
			}
		}
	}
	var parts []verdict.Part
	for k, t := range sums {
		if t > 0 {
			parts = append(parts, verdict.Part{Name: kinds[k].name, Time: t, Share: ratio(t, d.l.Capacity)})
		}
	}
	return parts
}

// focused returns the findings of a verdict on one group.
func (d *diagnosis) focused(costly []verdict.Finding) []verdict.Finding {
	if len(costly) == 0 {
		return []verdict.Finding{{Kind: CannotTell, Title: fmt.Sprintf("Nothing that %s is part of cost %.0f%% of the capacity.", format.Func(d.Focus), 100*worthTelling)}}
	}
	return costly[:min(len(costly), maxFindings)]
}

// Group returns the ledger's name of the group of goroutines that name refers to, short or in full.
// If there is none, it returns an error that lists the largest groups.
func Group(l *ledger.Ledger, name string) (string, error) {
	sums := map[string]time.Duration{}
	for i := range l.Rows {
		r := &l.Rows[i]
		for _, group := range []string{r.Group, r.Waker, r.Beside} {
			if group != "" && group != ledger.None && group != ledger.Several {
				sums[group] += r.Time
			}
		}
	}
	if _, known := sums[name]; known {
		return name, nil
	}
	groups := slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), strings.Compare(a, b)) })
	for _, group := range groups {
		if format.Func(group) == name {
			return group, nil
		}
	}
	var known []string
	for _, group := range groups[:min(len(groups), 8)] {
		known = append(known, format.Func(group))
	}
	return "", fmt.Errorf("no group of goroutines is called %q; the largest are %s", name, strings.Join(known, ", "))
}
