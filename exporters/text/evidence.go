package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
)

// Explanation writes a finding, and what is behind it: see [Evidence].
func Explanation(w io.Writer, e *diagnose.Evidence, opt Options) error {
	opt = opt.withDefaults()
	st := style{colour: opt.Colour, ascii: opt.ASCII}
	if _, err := io.WriteString(w, finding(&e.Finding, e.Number, st, min(opt.Width, 80), true)[1:]+"\n"); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return Evidence(w, e, opt)
}

// Evidence writes the rows of the ledger behind a finding, and the call chains. Options.Top is how
// many rows and call chains there are of each sort; 0 means 10 rows and 3 call chains, negative
// all. No line has more than 80 columns. The error is that of w.
func Evidence(w io.Writer, e *diagnose.Evidence, opt Options) error {
	opt = opt.withDefaults()
	opt.Width = min(opt.Width, 80)
	rows, chains := opt.Top, opt.Top
	if opt.Top == 0 {
		rows, chains = 10, 3
	}
	st := style{colour: opt.Colour, ascii: opt.ASCII}
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
	writeChains(&b, "Ran meanwhile, or there", e.Ran, chains, opt.Width, st)
	if e.Missing != "" {
		b.WriteString(wrap(st.clean(e.Missing), opt.Width, 0) + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("text: writing: %w", err)
	}
	return nil
}

// maxCalls is how many calls of a call chain are shown.
const maxCalls = 12

// writeChains lists call chains, leaf first.
func writeChains(b *strings.Builder, title string, chains []diagnose.Chain, top, width int, st style) {
	if len(chains) == 0 {
		return
	}
	b.WriteString("\n" + st.paint(bold, title) + "\n")
	for i := range chains {
		if top >= 0 && i == top {
			fmt.Fprintf(b, "\n%s\n", st.plain(format.Plural(len(chains)-i, "more call chain", "more call chains")))
			return
		}
		c := &chains[i]
		b.WriteString("\n" + wrap(st.clean(headOfChain(c)), width, 0) + "\n")
		for k, p := range c.Calls {
			if k == maxCalls && len(c.Calls) > maxCalls+1 {
				fmt.Fprintf(b, "   (%d more)\n", len(c.Calls)-k)
				break
			}
			b.WriteString("   " + st.fit(st.clean(p.String()), width-3) + "\n")
		}
	}
}

// headOfChain says how long a call chain took.
func headOfChain(c *diagnose.Chain) string {
	name := format.Func(c.Group)
	if c.Wait != "" {
		return fmt.Sprintf("%s: %s in %s for %s", name, format.Duration(c.Time), format.Plural(c.Count, "wait", "waits"), c.Wait)
	}
	head := fmt.Sprintf("%s: ran %s, share of the wall time %s", name, format.Duration(c.Time), format.Duration(c.Share))
	switch {
	case c.Source == string(bottle.NotSampled):
		return head + " (the trace shows no call chain)"
	case len(c.Calls) == 0:
		return head + " (several call chains)"
	}
	return head + " (by " + c.Source + ")"
}
