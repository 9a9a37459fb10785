package picture

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// stackModel is what a picture of speedup stacks shows, before anything has a place: the parts
// that can be seen, each with one colour in all bars.
type stackModel struct {
	opt    Options
	stacks []*speedup.Stack
	parts  []stackPart // from the bottom: the speed-up first
}

// stackPart is one part of all bars.
type stackPart struct {
	name   string
	values []float64 // by stack
	fill   color.RGBA
	bold   bool
	// what is the component, for a what-if; −1 for the speed-up, the remainder and what was put
	// together
	what int
}

// The colours of families: those of the boxes of a bottle graph, warm ones for waiting.
var familyColors = [speedup.NumFamilies][]color.RGBA{
	speedup.Running:           {hex(0x0072b2)},
	speedup.GarbageCollection: gcColors,
	speedup.SequentialPart:    {hex(0x009e73)},
	speedup.Synchronisation: {hex(0xd55e00), hex(0xe69f00), hex(0xf08c5a), hex(0xa84a00), hex(0xf7c46c),
		hex(0x8a5a00), hex(0xf2b8a0), hex(0xb8860b), hex(0xe8b98a), hex(0xe8d27a)},
	speedup.InputOutput:     {hex(0x8cd17d), hex(0x5fc8a8), hex(0xbfe3b4)},
	speedup.SystemCalls:     {hex(0x00695c)},
	speedup.ImbalanceFamily: {hex(0xf0e442)},
	speedup.SpawnFamily:     {hex(0xc9b400)},
	speedup.NoWorkerFamily:  {hex(0xddcc4d)},
	speedup.Scheduling:      {hex(0x7a8fd6), hex(0x2f5597), hex(0xb3c7ee), hex(0x9fd8f4)},
	speedup.RuntimeFamily:   {hex(0x8c96a3), hex(0xc3c9d0)},
}

// Colours of what is no component.
var (
	remainderColor = hex(0x56b4e9)
	smallColor     = othersColor
)

// seen is the part of a bar's height below which a component is put together with others.
const seen = 0.01

func newStackModel(stacks []*speedup.Stack, opt Options) *stackModel {
	m := &stackModel{opt: opt, stacks: stacks}
	m.parts = append(m.parts, m.part("speed-up", hex(0x0072b2), func(s *speedup.Stack) float64 { return s.Speedup }))
	m.parts[0].bold = true
	if slices.ContainsFunc(stacks, func(s *speedup.Stack) bool { return s.Estimate }) {
		m.parts[0].name = "speed-up (at most)"
	}
	used := map[speedup.Family]int{}
	var small []stackPart
	for _, c := range speedup.Delimiters() {
		list := familyColors[c.Family()]
		p := m.part(c.Words(), list[used[c.Family()]%len(list)], func(s *speedup.Stack) float64 { return s.Components[c] })
		p.what = int(c)
		switch {
		case m.visible(p):
			used[c.Family()]++
			m.parts = append(m.parts, p)
		case p.any():
			small = append(small, p)
		}
	}
	m.parts = append(m.parts, together(small)...)
	if rest := m.part("remainder", remainderColor, func(s *speedup.Stack) float64 { return s.Remainder }); rest.any() {
		m.parts = append(m.parts, rest)
	}
	return m
}

// together puts parts into one, unless it is alone.
func together(small []stackPart) []stackPart {
	if len(small) < 2 {
		return small
	}
	sum := stackPart{name: format.Count(len(small)) + " small components", values: make([]float64, len(small[0].values)), fill: smallColor, what: -1}
	for _, p := range small {
		for i, v := range p.values {
			sum.values[i] += v
		}
	}
	return []stackPart{sum}
}

func (m *stackModel) part(name string, fill color.RGBA, of func(*speedup.Stack) float64) stackPart {
	p := stackPart{name: name, fill: fill, what: -1}
	for _, s := range m.stacks {
		v := of(s)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			v = 0
		}
		p.values = append(p.values, v)
	}
	return p
}

func (p *stackPart) any() bool {
	return slices.ContainsFunc(p.values, func(v float64) bool { return v != 0 })
}

func (m *stackModel) visible(p stackPart) bool {
	for i, v := range p.values {
		if math.Abs(v) >= seen*float64(max(1, m.stacks[i].N)) {
			return true
		}
	}
	return false
}

// span is how far the bars reach from zero, up and down.
func (m *stackModel) span() (up, down float64) {
	for i, s := range m.stacks {
		u, d := 0.0, 0.0
		for _, p := range m.parts {
			u += max(0, p.values[i])
			d += max(0, -p.values[i])
		}
		up, down = max(up, u, float64(s.N)), max(down, d)
	}
	return max(up, 1), down
}

// barLabel is what stands below a bar.
func barLabel(s *speedup.Stack) string {
	if l := strings.TrimSpace(format.Clean(s.Label)); l != "" {
		return l
	}
	return strconv.Itoa(s.N)
}

func (m *stackModel) title() string {
	if t := strings.TrimSpace(format.Clean(m.opt.Title)); t != "" {
		return t
	}
	if len(m.stacks) == 1 {
		return "Speedup stack"
	}
	return "Speedup stacks"
}

// sentence tells the result of the bar that asks most.
func (m *stackModel) sentence() string {
	s := m.stacks[0]
	for _, o := range m.stacks {
		if o.N > s.N {
			s = o
		}
	}
	return s.Sentence()
}

// warnings are those of all stacks, each once.
func (m *stackModel) warnings() (out []string) {
	for _, s := range m.stacks {
		for _, w := range s.Warnings {
			if !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

// describe tells the picture in words.
func (m *stackModel) describe() string {
	var b strings.Builder
	b.WriteString("Speedup stacks: each bar is as high as the number of workers; the part at its bottom is the speed-up, the others are what keeps it from being higher. " + m.sentence() + ".")
	for i, s := range m.stacks {
		b.WriteString(" " + barLabel(s) + ":")
		for _, p := range m.parts {
			if v := p.values[i]; v != 0 {
				b.WriteString(" " + p.name + " " + format.Parallelism(v) + ",")
			}
		}
	}
	return strings.TrimSuffix(b.String(), ",") + "."
}
