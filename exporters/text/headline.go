package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Sentence says where the capacity of the processors went, as [bottle.Graph.Sentence] does, such as
//
//	48% of the capacity of 4 processors was not used: 32% while main.reader ran (1.02 s at a parallelism of 1.12), 16% while nothing ran (idle for 320 ms).
//
// Names in it are shortened and safe to print; the text ends without a line feed.
func Sentence(g *bottle.Graph) string { return newModel(g, -1, style{}).sentence() }

// headline says what was measured and where the capacity went.
func headline(m *model, width int) string {
	g := m.graph
	what := "Bottle graph"
	if g.GroupBy != "" {
		what += " by " + m.style.fit(m.style.clean(g.GroupBy), maxName)
	}
	parts := []string{m.duration(g.Wall)}
	if g.Procs > 0 {
		parts = append(parts, "GOMAXPROCS "+strconv.Itoa(g.Procs))
	}
	kind := "mean parallelism "
	if g.Offered {
		kind = "mean offered parallelism (running + runnable) "
	}
	parts = append(parts, kind+m.parallelism(g.MeanParallelism()))
	first := wrap(what+": "+strings.Join(parts, ", "), width, 0)
	var b strings.Builder
	b.WriteString(m.style.paintLines(bold, first) + "\n")
	b.WriteString(wrap(m.sentence(), width, 0) + "\n")
	if all, _ := g.InC(); all > 0 && all >= g.Wall/20 {
		b.WriteString(wrap(fmt.Sprintf("Goroutines were in C code for %s, which the scheduler does not see.", m.duration(all)), width, 0) + "\n")
	}
	return b.String()
}

func (m *model) sentence() string { return m.style.plain(m.graph.Sentence(m.short)) }

// maxName is how many columns a name may take in running text.
const maxName = 60

func (m *model) short(b *bottle.Box) string { return m.style.fit(m.name(b), maxName) }

func (m *model) duration(d time.Duration) string { return m.style.plain(format.Duration(d)) }

// lost is a part of the capacity.
func (m *model) lost(d time.Duration) string {
	return m.style.plain(format.Percent(d, m.graph.Capacity))
}

// percent is a part of the wall time.
func (m *model) percent(d time.Duration) string {
	return m.style.plain(format.Percent(d, m.graph.Wall))
}

// paintLines paints each line by itself, so that a pager may cut between them.
func (st style) paintLines(attribute, s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = st.paint(attribute, lines[i])
	}
	return strings.Join(lines, "\n")
}
