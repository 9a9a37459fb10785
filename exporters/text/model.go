package text

import (
	"math"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// model is what is shown of a graph: the boxes that are left after folding,
// each with a name that is safe and short, and a colour.
type model struct {
	style style
	graph *bottle.Graph // as it came, for sums and the neck
	rows  []row         // from the bottom of the stack, as in the graph
	necks map[key]bool  // idle time is the zero key
	names map[key]string
	never []string // names of groups that never ran
}

// row is a box as it is shown.
type row struct {
	box    bottle.Box
	name   string
	neck   bool
	colour string
}

// attribute makes the names of the neck bold.
func (r *row) attribute() string {
	if r.neck {
		return bold
	}
	return ""
}

type key struct {
	group string
	kind  bottle.Kind
}

// newModel folds the graph to its top boxes and names them.
func newModel(g *bottle.Graph, top int, st style) *model {
	m := &model{style: st, graph: g, necks: necks(g), names: map[key]string{}}
	ran := *g
	ran.Boxes, ran.Windows = nil, nil
	for _, b := range g.Boxes {
		if b.Share > 0 || b.Running > 0 {
			ran.Boxes = append(ran.Boxes, b)
		}
	}
	m.addNames()
	for i := range g.Boxes {
		if b := &g.Boxes[i]; b.Share <= 0 && b.Running <= 0 {
			m.never = append(m.never, m.name(b))
		}
	}
	shown := &ran
	if top == 0 {
		top = worthALine(&ran)
	}
	if top > 0 && len(ran.Boxes) > top+1 { // a line for "1 other" would be no shorter
		shown = ran.Top(top)
	}
	colours := palette{}
	for _, b := range shown.Boxes {
		r := row{box: b, neck: m.necks[key{b.Group, b.Kind}]}
		var single bool
		if r.name, single = m.names[key{b.Group, b.Kind}]; !single {
			r.name = st.clean(b.Group) // "12 others"
		}
		r.colour = othersColour
		if single || b.Kind != bottle.Application {
			r.colour = colours.pick(b.Kind, r.neck)
		}
		m.rows = append(m.rows, r)
	}
	return m
}

// necks are the groups of the neck.
func necks(g *bottle.Graph) map[key]bool {
	out := map[key]bool{}
	for _, l := range g.Neck() {
		if l.Idle() {
			out[key{}] = true
		}
		for _, b := range l.Boxes {
			out[key{b.Group, b.Kind}] = true
		}
	}
	return out
}

// worthALine is how many boxes are shown by themselves unless somebody asks for more: every
// trace has a dozen of the runtime's that ran for some microseconds.
func worthALine(g *bottle.Graph) int {
	n := 0
	for i := range g.Boxes {
		if g.Boxes[i].Share >= g.Wall/200 {
			n++
		}
	}
	return min(15, max(3, n))
}

// addNames gives each group of the graph and of its windows its name. Functions
// are shortened as far as they can be told apart.
func (m *model) addNames() {
	var keys []key
	var names []string
	for _, g := range append([]*bottle.Graph{m.graph}, m.graph.Windows...) {
		if g == nil {
			continue
		}
		for i := range g.Boxes {
			k := key{g.Boxes[i].Group, g.Boxes[i].Kind}
			if _, known := m.names[k]; !known {
				m.names[k] = ""
				keys = append(keys, k)
				names = append(names, k.group)
			}
		}
	}
	switch m.graph.GroupBy {
	case "", "function", "creator", "goroutine":
		names = format.Funcs(names)
	}
	for i, k := range keys {
		if name := strings.TrimSpace(m.style.clean(names[i])); name != "" {
			m.names[k] = name
		} else {
			m.names[k] = "(no name)"
		}
	}
}

// name is the name of a box of the graph or of one of its windows.
func (m *model) name(b *bottle.Box) string { return m.names[key{b.Group, b.Kind}] }

// The formats of numbers, for this terminal.

func (m *model) parallelism(p float64) string {
	if p >= 1e6 {
		return ">1M" // no machine has them, but a file may say so
	}
	return m.style.plain(format.Parallelism(p))
}

// width is a parallelism that can be drawn, whatever the file said.
func width(b *bottle.Box) float64 {
	if math.IsNaN(b.Parallelism) || b.Parallelism < 0 {
		return 0
	}
	return min(b.Parallelism, 1e6)
}
