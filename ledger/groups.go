package ledger

import "unsafe"

// groups numbers the names of goroutines. recent caches most lookups by the address of the name's
// text, which goroutines of the same name usually share.
type groups struct {
	of     map[string]who
	names  []string // by number
	recent [64]struct {
		name string
		who  who
	}
}

const (
	otherGroups who = 2 // groups without a number of their own
	maxGroups       = 1 << 16
)

func newGroups() groups {
	return groups{of: map[string]who{others: otherGroups}, names: []string{None, Several, others}}
}

// number returns the number of a name.
func (g *groups) number(name string) who {
	w := g.known(name)
	switch {
	case w != 0:
		return w
	case len(g.names) >= maxGroups:
		return otherGroups
	}
	w = who(len(g.names))
	g.of[name] = w
	g.names = append(g.names, name)
	return w
}

// known returns the number of a name, or 0 if it has none.
func (g *groups) known(name string) who {
	r := &g.recent[uintptr(unsafe.Pointer(unsafe.StringData(name)))>>4%uintptr(len(g.recent))]
	if r.who == 0 || r.name != name {
		r.name, r.who = name, g.of[name]
	}
	return r.who
}
