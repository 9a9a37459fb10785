package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// Sentence names the neck of a graph in one sentence of plain text, such as
//
//	The neck is main.reader: 1.02 s (32% of the time) at a parallelism of 1.12.
//
// Names in it are shortened and safe to print; the sentence ends without a line feed.
func Sentence(g *bottle.Graph) string { return newModel(g, -1, style{}).sentence() }

// headline says what was measured and where the neck is.
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
	if idle := g.Idle; idle > 0 && idle >= g.Wall/20 && len(m.rows) > 0 {
		b.WriteString(wrap(fmt.Sprintf("Nothing ran for %s of the time (%s).", m.percent(idle), m.duration(idle)), width, 0) + "\n")
	}
	return b.String()
}

// sentence tells the neck: which groups, how long, how narrow.
func (m *model) sentence() string {
	g := m.graph
	neck, share := g.Neck()
	limit := strconv.FormatFloat(g.NeckLimit(), 'f', -1, 64)
	parallelism := "parallelism"
	if g.Offered {
		parallelism = "offered parallelism"
	}
	switch {
	case len(m.rows) == 0:
		return "Nothing ran in this time."
	case g.Procs == 1:
		return "With one processor nothing runs in parallel, and no group can be called the neck."
	case len(neck) == 0:
		return "There is no neck: no group has " + article(parallelism) + " below " + limit + "."
	case share < g.Wall/20:
		return fmt.Sprintf("There is hardly a neck: %s of the time passes at %s below %s, most of it in %s.",
			m.percent(share), article(parallelism), limit, m.short(neck[0]))
	case len(neck) == 1 || neck[0].Share >= share-share/20:
		b := neck[0]
		return fmt.Sprintf("The neck is %s: %s (%s of the time) at %s of %s.",
			m.short(b), m.duration(b.Share), m.percent(b.Share), article(parallelism), m.parallelism(b.Parallelism))
	}
	first, second := neck[0], neck[1]
	more := ""
	if n := len(neck) - 2; n > 0 {
		more = ", and " + format.Plural(n, "other", "others")
	}
	return fmt.Sprintf("The neck takes %s of the time (%s) at %s below %s: %s (%s at %s), then %s (%s at %s)%s.",
		m.percent(share), m.duration(share), article(parallelism), limit,
		m.short(first), m.duration(first.Share), m.parallelism(first.Parallelism),
		m.short(second), m.duration(second.Share), m.parallelism(second.Parallelism), more)
}

// maxName is how many columns a name may take in running text.
const maxName = 60

func (m *model) short(b *bottle.Box) string { return m.style.fit(m.name(b), maxName) }

func article(noun string) string {
	if strings.HasPrefix(noun, "o") {
		return "an " + noun
	}
	return "a " + noun
}

func (m *model) duration(d time.Duration) string { return m.style.plain(format.Duration(d)) }

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
