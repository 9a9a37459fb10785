// Package markdown writes tables of results for comments on pull requests and wikis.
//
// This program writes the groups of a bottle graph as a table:
//
//	package main
//
//	import (
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/markdown"
//	)
//
//	func main() {
//		g, err := bottle.ReadJSON(os.Stdin)
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := markdown.Write(os.Stdout, g.Table()); err != nil {
//			log.Fatal(err)
//		}
//	}
package markdown

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// Write writes the table of any result as GitHub-flavored Markdown: its title, a heading, the rows
// and their sums. It omits empty columns. Text of the observed program cannot end a cell or become
// markup. The error is that of w.
func Write(w io.Writer, t *result.Table) error {
	rows := slices.Concat(t.Rows, t.Footer())
	shown := map[int]bool{}
	for k := range t.Columns {
		for _, row := range rows {
			if c := &row[k]; c.Known && (!t.Columns[k].Unit.Whole() || c.Int != 0) {
				shown[k] = true
			}
		}
	}
	var b strings.Builder
	line := func(cell func(k int) string) {
		for k := range t.Columns {
			if shown[k] {
				b.WriteString("| " + cell(k) + " ")
			}
		}
		b.WriteString("|\n")
	}
	if t.Title != "" {
		b.WriteString("**" + escape(t.Title) + "**\n\n")
	}
	if len(shown) == 0 {
		b.WriteString("No rows.\n")
	} else {
		line(func(k int) string { return escape(t.Columns[k].Title) })
		line(func(k int) string {
			if t.Columns[k].Unit.IsText() {
				return "---"
			}
			return "---:"
		})
		for i, row := range rows {
			line(func(k int) string {
				switch s := escape(t.Columns[k].Format(&row[k])); {
				case i < len(t.Rows):
					return s
				case k == t.Label():
					return "**all**"
				case s != "":
					return "**" + s + "**"
				}
				return ""
			})
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("markdown: writing: %w", err)
	}
	return nil
}

// escape escapes the characters that Markdown interprets.
func escape(s string) string { return escapes.Replace(format.Clean(s)) }

var escapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&", "&amp;", "[", `\[`, "|", `\|`, "~", `\~`, "@", "@\u200b", "://", ":\u200b//")
