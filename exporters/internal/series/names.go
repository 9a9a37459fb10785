package series

import (
	"cmp"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"maps"
	"slices"
	"strings"
)

// names is the set of names with their own counters: the largest ones when there was room.
type names struct {
	limit int
	known map[cell]bool // cells without a part
}

// elect gives counters to the largest names without one while there is room.
func (n *names) elect(sizes map[cell]int64) {
	if n.known == nil {
		n.known = map[cell]bool{}
	}
	if len(n.known) >= n.limit {
		return
	}
	candidates := slices.Collect(maps.Keys(sizes))
	order.Stable(candidates, func(a, b cell) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind))
	})
	for _, c := range candidates {
		// Such as goroutines of the runtime that only wait.
		if len(n.known) >= n.limit || sizes[c] <= 0 {
			return
		}
		if !collective(c.name) {
			n.known[c] = true
		}
	}
}

// has reports whether the name of a cell has its own counters.
func (n *names) has(c cell) bool { return n.known[cell{name: c.name, kind: c.kind}] }

// collective reports whether a name stands for folded groups, such as "12 others (gc)". Such names
// come and go.
func collective(name string) bool {
	digits := len(name) - len(strings.TrimLeft(name, "0123456789"))
	return name == Others || digits > 0 && (name[digits:] == " others" || strings.HasPrefix(name[digits:], " others ("))
}
