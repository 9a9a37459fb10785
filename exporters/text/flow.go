package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// FoldedStacks writes a contention profile as folded stacks for flamegraph.pl and many viewers: one
// line per stack, with its frames from the root separated by semicolons, a blank, and the
// nanoseconds. Equal stacks are combined, in the order of their first row. It returns an error of
// w, or an error for an unknown view.
//
//	bottleneck contention -format folded trace.out | flamegraph.pl --countname ns > contention.svg
//
// Semicolons in names become colons, and control characters U+FFFD.
func FoldedStacks(w io.Writer, p *contention.Profile, view string) error {
	if p == nil {
		return errNoContention
	}
	if err := contention.CheckView(view); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	sums := map[string]time.Duration{}
	var order []string
	for frames, q := range p.Samples(view) {
		if q.Owner.Group == contention.ReadyKey {
			continue
		}
		var b strings.Builder
		for i, f := range frames {
			if i > 0 {
				b.WriteByte(';')
			}
			name := strings.TrimSpace(strings.ReplaceAll(format.Clean(f.Func), ";", ":"))
			if name == "" {
				name = contention.UnknownKey
			}
			b.WriteString(name)
		}
		stack := b.String()
		if _, ok := sums[stack]; !ok {
			order = append(order, stack)
		}
		sums[stack] += q.Blamed
	}
	var b strings.Builder
	for _, stack := range order {
		if sums[stack] > 0 {
			b.WriteString(stack + " " + strconv.FormatInt(int64(sums[stack]), 10) + "\n")
		}
	}
	return emit(w, b.String())
}
