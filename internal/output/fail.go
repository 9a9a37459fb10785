package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bottleneck-go/bottleneck/internal/condition"
)

// Conditions is the value of -fail.
type Conditions struct{ condition.List }

// Define adds -fail. more is the end of its help.
func (f *Conditions) Define(c *cobra.Command, more string, about ...*condition.Measures) {
	f.About = about
	c.Flags().Func("fail", "exit with status 1 if `CONDITION` holds, such as "+about[0].Example+more+"; separate several by commas", f.Add)
	if len(about) > 1 {
		return
	}
	var b strings.Builder
	b.WriteString(strings.TrimSpace(c.Long) + "\n\nA CONDITION is NAME, one of < <= > >=, and a value. NAME is\n\n")
	all, width := about[0].All(), 17
	for _, m := range all {
		width = max(width, len(m.Name))
	}
	for _, m := range all {
		fmt.Fprintf(&b, "  %-*s %s\n", width, m.Name, Wrapped(width+3, m.Help))
	}
	c.Long = b.String() + "\n" + Wrapped(0, about[0].Parts)
}

// Failed returns a one-line error that lists the conditions that hold. log gets remarks.
func (f *Conditions) Failed(log io.Writer, values condition.Values) error {
	err := f.Check(values, func(s string) { fmt.Fprintf(log, "bottleneck: -fail: %s\n", s) })
	if err != nil {
		err = fmt.Errorf("-fail: %w", err)
	}
	return err
}
