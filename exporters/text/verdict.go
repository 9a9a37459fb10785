package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// capacityStyle is the style of a part of the capacity in the bar.
type capacityStyle struct {
	color string
	fill  string
}

// capacityStyles holds the styles of the parts by name: only running parts are dense.
var capacityStyles = map[string]capacityStyle{
	"your code":                 {coolColors[0], "█"},
	"C code":                    {coolColors[1], "▓"},
	"system calls":              {coolColors[2], "▒"},
	"collector":                 {gcColors[0], "░"},
	"tracer and runtime":        {runtimeColors[0], "◦"},
	"scheduler":                 {warmColors[2], "+"},
	"waking up":                 {warmColors[1], "/"},
	"idle":                      {warmColors[0], "·"},
	"idle, waiting for outside": {warmColors[3], "~"},

	// Parts of one group.
	"it ran":                    {coolColors[0], "█"},
	"others ran":                {runtimeColors[0], "▒"},
	"idle while only it ran":    {warmColors[0], "·"},
	"idle until it woke others": {warmColors[1], "/"},
	"idle until it ran":         {warmColors[2], "+"},
	"idle without it":           {warmColors[3], "~"},
}

// Verdict writes what limits a program: a bar of the use of the capacity, and the findings. It has
// at most 30 lines of 80 columns. The error is that of w.
func Verdict(w io.Writer, v *verdict.Verdict, opt Options) error {
	opt, st := opt.withDefaults()
	width := min(opt.Width, 80)
	var b strings.Builder
	b.WriteString(wrap(clean(v.Head())+":", width, 0) + "\n")
	b.WriteString(capacityBar(v, st, width))
	warnings := ""
	for i, warning := range v.Warnings {
		if i == 2 {
			warnings += fmt.Sprintf("(%d more warnings)\n", len(v.Warnings)-i)
			break
		}
		warnings += "\n" + st.warnings([]string{warning}, width)
	}
	most := verdictLines - strings.Count(warnings, "\n")
	for i := range v.Findings {
		s := finding(&v.Findings[i], i+1, st, width, true)
		if strings.Count(b.String()+s, "\n") > most {
			s = finding(&v.Findings[i], i+1, st, width, false)
		}
		if i > 0 && strings.Count(b.String()+s, "\n") > most {
			break
		}
		b.WriteString(s)
	}
	return emit(w, b.String()+warnings)
}

// verdictLines is the maximum number of lines of a verdict with warnings: 30 with [VerdictNext].
const verdictLines = 28

// VerdictNext returns a line with the commands that show more of a trace file. The flags select the
// part of the trace that the verdict covers, such as "-from 1s".
func VerdictNext(v *verdict.Verdict, file string, flags ...string) string {
	file = format.Clean(file)
	if file == "" || len(file) > 24 || strings.ContainsAny(file, " '\"$&;|<>()*?") {
		file = "FILE"
	}
	file = strings.Join(append(flags, file), " ")
	var more []string
	for i := range v.Findings {
		// The numbers are those of the whole program.
		if len(v.Findings[i].Rows) > 0 && v.Focus == "" {
			more = append(more, fmt.Sprintf("bottleneck explain %d %s", i+1, file))
			break
		}
	}
	next := "graph"
	if len(v.Findings) > 0 {
		switch v.Findings[0].Kind {
		case diagnose.Lock, diagnose.Limit, diagnose.HandOver:
			next = "contention"
		}
	}
	if next == "contention" && len(flags) > 0 {
		next = "graph" // the command that accepts them
	}
	const most = 80
	more = append(more, "bottleneck "+next+" "+file)
	for len(more) > 1 && columns("More: "+strings.Join(more, ", ")) > most {
		more = more[:len(more)-1]
	}
	return "More: " + strings.Join(more, ", ")
}

// findings formats the sentences of a graph's verdict, with their places.
func findings(g *bottle.Graph, st style, width int) string {
	var b strings.Builder
	if g.Verdict == nil {
		for _, s := range g.Sentences() {
			b.WriteString(wrap(clean(s), width, 0) + "\n")
		}
		return b.String()
	}
	for i := range g.Verdict.Findings {
		f := &g.Verdict.Findings[i]
		b.WriteString(numbered(f, i+1, st, width))
		if where := placesOf(f); where != "" {
			b.WriteString(labelled("where", clean(where), width))
		}
	}
	return b.String()
}

// numbered returns the sentence of a finding with its number.
func numbered(f *verdict.Finding, number int, st style, width int) string {
	head := strconv.Itoa(number) + ". "
	return st.paintLines(bold, head+indent(wrap(clean(f.Title), width-len(head), 0), len(head)-2)) + "\n"
}

// finding formats a finding, with the advice if there is room.
func finding(f *verdict.Finding, number int, st style, width int, advice bool) string {
	var b strings.Builder
	b.WriteString("\n" + numbered(f, number, st, width))
	if where := placesOf(f); where != "" {
		b.WriteString(labelled("where", clean(where), width))
	}
	if f.Advice != "" && advice {
		b.WriteString(labelled("do", clean(f.Advice), width))
	}
	if gain := f.Bound(); gain != "" {
		b.WriteString(labelled("gain", clean(gain), width))
	}
	return b.String()
}

// capacityBar draws the parts of the capacity as one bar, with their names below.
func capacityBar(v *verdict.Verdict, st style, width int) string {
	var bar strings.Builder
	drawn, sum := 0, 0.0
	var parts []string
	for _, p := range v.Parts {
		sum += p.Share
		to := int(sum*float64(width) + 0.5)
		look := capacityStyles[p.Name]
		fill := look.fill
		bar.WriteString(st.paint(look.color, strings.Repeat(fill, max(to-drawn, 0))))
		drawn = max(drawn, to)
		if p.Share >= 0.005 {
			parts = append(parts, fmt.Sprintf("%s %s %s", fill, p.Name, format.Percent(p.Time, v.Capacity)))
		}
	}
	return bar.String() + "\n" + legend(parts, width)
}

// legend puts the parts on lines without breaking any.
func legend(parts []string, width int) string {
	var b strings.Builder
	used := 0
	for _, p := range parts {
		switch {
		case used > 0 && used+2+columns(p) > width:
			b.WriteByte('\n')
			used = 0
		case used > 0:
			b.WriteString("  ")
			used += 2
		}
		b.WriteString(p)
		used += columns(p)
	}
	return b.String() + "\n"
}

// indent indents the lines after the first.
func indent(s string, n int) string {
	return strings.ReplaceAll(s, "\n", "\n"+spaces(max(n, 0)))
}

func labelled(label, s string, width int) string {
	const column = 9
	head := "   " + left(label, column-3)
	return head + indent(wrap(s, width-column, 0), column-2) + "\n"
}

// placesOf lists the places of a finding.
func placesOf(f *verdict.Finding) string {
	var out []string
	for i := range f.Where {
		if s := f.Where[i].String(); len(out) < 3 && (len(out) == 0 || out[len(out)-1] != s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// VerdictMarkdown writes a verdict for a comment on a pull request. The error is that of w.
func VerdictMarkdown(w io.Writer, v *verdict.Verdict) error {
	var b strings.Builder
	b.WriteString("**" + v.Head() + "**\n\n| capacity | |\n|---|---:|\n")
	for _, p := range v.Parts {
		fmt.Fprintf(&b, "| %s | %s |\n", p.Name, format.Percent(p.Time, v.Capacity))
	}
	b.WriteByte('\n')
	for i := range v.Findings {
		f := &v.Findings[i]
		fmt.Fprintf(&b, "%d. **%s**", i+1, markdown(f.Title))
		if where := placesOf(f); where != "" {
			fmt.Fprintf(&b, "\n   Where: `%s`.", strings.ReplaceAll(where, "`", "'"))
		}
		if f.Advice != "" {
			b.WriteString("\n   " + markdown(f.Advice))
		}
		if gain := f.Bound(); gain != "" {
			b.WriteString("\n   Gain: " + markdown(gain) + ".")
		}
		b.WriteByte('\n')
	}
	for _, warning := range v.Warnings {
		fmt.Fprintf(&b, "\n> %s\n", markdown(warning))
	}
	return emit(w, b.String())
}

// markdown escapes the characters that Markdown interprets.
func markdown(s string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "`", "'", "<", "&lt;", "[", `\[`, "|", `\|`).Replace(format.Clean(s))
}

// Explanation writes a finding and its evidence; see [Evidence].
func Explanation(w io.Writer, e *diagnose.Evidence, opt Options) error {
	opt, st := opt.withDefaults()
	if err := emit(w, finding(&e.Finding, e.Number, st, min(opt.Width, 80), true)[1:]+"\n"); err != nil {
		return err
	}
	return Evidence(w, e, opt)
}

// Evidence writes the rows of the ledger that support a finding, and the call stacks. Options.Top
// is the maximum number of rows and of call stacks of each sort; 0 means 10 rows and 3 call stacks,
// a negative value all. No line has more than 80 columns. The error is that of w.
func Evidence(w io.Writer, e *diagnose.Evidence, opt Options) error {
	opt, st := opt.withDefaults()
	opt.Width = min(opt.Width, 80)
	rows, chains := opt.Top, opt.Top
	if opt.Top == 0 {
		rows, chains = 10, 3
	}
	var b strings.Builder
	if len(e.Rows) == 0 && len(e.Finding.Rows) == 0 {
		b.WriteString(wrap("No rows of the ledger are behind it: it follows from the whole recording.", opt.Width, 0) + "\n")
	} else if len(e.Rows) > 0 {
		t := result.New(ledger.Columns, e.Rows, e.Capacity)
		t.Title = "Rows of the ledger"
		table := opt
		table.Top = max(rows, 0)
		if err := WriteTable(&b, t, table); err != nil {
			return err
		}
	}
	writeChains(&b, "Waited there", e.Blocked, chains, opt.Width, st)
	writeChains(&b, "Ran during the waits, or there", e.Ran, chains, opt.Width, st)
	if e.Missing != "" {
		b.WriteString(wrap(clean(e.Missing), opt.Width, 0) + "\n")
	}
	return emit(w, b.String())
}

// maxCalls is the maximum number of calls shown of a call stack.
const maxCalls = 12

// writeChains lists call stacks, leaf first.
func writeChains(b *strings.Builder, title string, chains []diagnose.Chain, top, width int, st style) {
	if len(chains) == 0 {
		return
	}
	b.WriteString("\n" + st.paint(bold, title) + "\n")
	for i := range chains {
		if top >= 0 && i == top {
			fmt.Fprintf(b, "\n%s\n", format.Plural(len(chains)-i, "more call chain", "more call chains"))
			return
		}
		c := &chains[i]
		b.WriteString("\n" + wrap(clean(headOfChain(c)), width, 0) + "\n")
		for k, p := range c.Calls {
			if k == maxCalls && len(c.Calls) > maxCalls+1 {
				fmt.Fprintf(b, "   (%d more)\n", len(c.Calls)-k)
				break
			}
			b.WriteString("   " + fit(clean(p.String()), width-3) + "\n")
		}
	}
}

// headOfChain formats the time of a call stack.
func headOfChain(c *diagnose.Chain) string {
	name := format.Func(c.Group)
	if c.Wait != "" {
		return fmt.Sprintf("%s: %s in %s for %s", name, format.Duration(c.Time), format.Plural(c.Count, "wait", "waits"), c.Wait)
	}
	head := fmt.Sprintf("%s: ran %s, share of the wall time %s", name, format.Duration(c.Time), format.Duration(c.Share))
	switch {
	case c.Source == bottle.NotSampled:
		return head + " (the trace shows no call chain)"
	case len(c.Calls) == 0:
		return head + " (several call chains)"
	}
	return head + " (by " + c.Source + ")"
}
