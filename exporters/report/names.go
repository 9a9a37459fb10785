package report

import (
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// groupForm is a group of goroutines. All sections refer to it by the same number and show it in
// the same color.
type groupForm struct {
	Name  string `json:"name"`
	Short string `json:"short"`
	Kind  string `json:"kind"`
}

// namer numbers the groups.
type namer struct {
	groups []groupForm
	index  map[groupForm]int // keyed without Short
	byName map[string]int    // first group with the name
}

func newNamer() *namer {
	return &namer{groups: []groupForm{}, index: map[groupForm]int{}, byName: map[string]int{}}
}

// group returns the number of the group with a name and kind.
func (n *namer) group(name, kind string) int {
	k := groupForm{Name: name, Kind: kind}
	i, ok := n.index[k]
	if !ok {
		i = len(n.groups)
		n.index[k] = i
		n.groups = append(n.groups, k)
		if _, ok := n.byName[name]; !ok {
			n.byName[name] = i
		}
	}
	return i
}

// named returns the number of the group with the name, of any kind; −1 for none.
func (n *namer) named(name string) int {
	if name == "" {
		return -1
	}
	if i, ok := n.byName[name]; ok {
		return i
	}
	return n.group(name, "application")
}

// shorten gives all groups their short names. functions reports whether they are names of
// functions.
func (n *namer) shorten(functions bool) []groupForm {
	names := make([]string, len(n.groups))
	for i := range n.groups {
		names[i] = n.groups[i].Name
	}
	if functions {
		names = format.Funcs(names)
	}
	for i := range n.groups {
		n.groups[i].Short = format.Clean(names[i])
	}
	return n.groups
}

// table numbers strings in the order of their first use.
type table struct {
	texts []string
	index map[string]int
}

func newTable() *table { return &table{texts: []string{}, index: map[string]int{}} }

func (t *table) number(s string) int {
	i, ok := t.index[s]
	if !ok {
		i = len(t.texts)
		t.index[s] = i
		t.texts = append(t.texts, s)
	}
	return i
}
