package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// headline says what was measured, and the verdict.
func headline(m *model, opt Options) string {
	g, width := m.graph, opt.Width
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
	if !opt.Judged {
		b.WriteString(findings(g, m.style, width))
	}
	if all, _ := g.InC(); all > 0 && all >= g.Wall/20 {
		b.WriteString(wrap(fmt.Sprintf("Goroutines were in C code for %s, which the scheduler does not see.", m.duration(all)), width, 0) + "\n")
	}
	return b.String()
}

// maxName is how many columns a name may take in running text.
const maxName = 60

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
