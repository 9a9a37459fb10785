package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// sites lists where the groups of the program waited most, for each reason that matters, and where
// they were in C.
func sites(m *model, width int) string {
	var lines [][3]string
	var places []string
	for i := len(m.rows) - 1; i >= 0; i-- {
		r := &m.rows[i]
		if r.box.Kind != bottle.Application {
			continue
		}
		name := r.name
		for _, wait := range siteReasons(&r.box) {
			site := r.box.TopSite(wait)
			if site == nil {
				continue
			}
			lines = append(lines, [3]string{name, m.style.clean(wait), m.duration(site.Time)})
			places = append(places, m.style.clean(site.String()))
			name = ""
		}
	}
	if len(lines) == 0 {
		return ""
	}
	heads := [3]string{"group", "reason", "time"}
	var wide [3]int
	for _, l := range append(lines, heads) {
		for c := range l {
			wide[c] = max(wide[c], columns(l[c]))
		}
	}
	wide[0] = min(wide[0], width/3)
	wide[1] = min(wide[1], 16)
	var b strings.Builder
	used := 2 + wide[0] + 2 + wide[1] + 2 + wide[2] + 2
	below := slices.ContainsFunc(places, func(s string) bool { return columns(s) > max(16, width-used) })
	write := func(l [3]string, place, attribute string) {
		text := "  " + left(m.style.fit(l[0], wide[0]), wide[0]) + "  " + left(m.style.fit(l[1], wide[1]), wide[1]) + "  " + right(l[2], wide[2])
		if below { // each place has a line of its own
			text += "\n" + spaces(4) + m.style.fit(place, width-4)
		} else {
			text = strings.TrimRight(text+"  "+m.style.fit(place, width-used), " ")
		}
		b.WriteString(m.style.paintLines(attribute, text) + "\n")
	}
	write(heads, "the place where most of it was spent", dim)
	for i, l := range lines {
		write(l, places[i], "")
	}
	return b.String()
}

// siteReasons are the reasons for which a box waited for at least a twentieth of the time for which
// it was blocked or in C, longest first; and its time in C.
func siteReasons(b *bottle.Box) []string {
	of := maps.Clone(b.Waiting)
	if of == nil {
		of = map[string]time.Duration{}
	}
	delete(of, bottle.InCode)
	if b.InC > 0 {
		of[bottle.InCode] = b.InC
	}
	all := b.Blocked() - b.Waiting[bottle.InCode] + b.InC
	maps.DeleteFunc(of, func(_ string, d time.Duration) bool { return d < all/20 || d <= 0 })
	return slices.SortedFunc(maps.Keys(of), func(x, y string) int {
		return cmp.Or(cmp.Compare(of[y], of[x]), strings.Compare(x, y))
	})
}
