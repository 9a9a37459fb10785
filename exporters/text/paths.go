package text

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// kindsOfPaths describes the kinds that need it.
var kindsOfPaths = map[string]string{
	critical.Scheduling:   "ready, without a processor",
	critical.Network:      "waited for the network",
	critical.Timer:        "waited for a timer",
	critical.Syscall:      "in a system call",
	critical.Runtime:      "waited for the collector or the runtime",
	critical.Unattributed: "what ended the wait is not in the trace",
}

// WritePaths writes critical paths: of the first, a sentence and the longest rows, then a line for
// each class of tasks. Options.Top is the number of rows and of classes; 0 means 10, or 20 if there
// is only one path. The error is that of w.
func WritePaths(w io.Writer, p *critical.Profile, opt Options) error {
	if p == nil {
		return errors.New("text: no critical paths")
	}
	opt, st := opt.withDefaults()
	rows, classes := opt.Top, opt.Top
	if opt.Top == 0 {
		rows, classes = 20, 6
		if len(p.Paths) > 1 {
			rows = 10
		}
	}
	var b strings.Builder
	if len(p.Paths) == 0 {
		b.WriteString("No paths.\n")
	} else {
		first := &p.Paths[0]
		sentence, legend := describePath(first)
		b.WriteString(st.paintLines(bold, wrap(sentence, opt.Width, 0)) + "\n")
		if legend != "" {
			b.WriteString(st.paintLines(dim, wrap(legend, opt.Width, 0)) + "\n")
		}
		t := (&critical.Profile{Paths: p.Paths[:1]}).Table()
		t.SetWhole("time", first.Elapsed)
		if t, err := t.Pick("time", "what", "function", "line", "group"); err == nil {
			b.WriteString("\n")
			writeRows(&b, t, rows, opt.Width, st)
		}
	}
	if len(p.Paths) > 1 {
		b.WriteString("\n" + st.paint(bold, fit("Requests, regions and user tasks; -class shows the path of one", opt.Width)) + "\n\n")
		writeRows(&b, result.New(critical.PathColumns, p.Paths[1:], 0), classes, opt.Width, st)
	}
	return emit(w, b.String()+st.warnings(p.Warnings, opt.Width))
}

// describePath returns a sentence about a path, and the meaning of the kinds in it.
func describePath(p *critical.Path) (sentence, legend string) {
	var parts, meanings []string
	for _, k := range critical.Kinds() {
		if t := p.Of(k); t > 0 {
			parts = append(parts, format.Percent(t, p.Elapsed)+" "+k)
			if kindsOfPaths[k] != "" {
				meanings = append(meanings, k+": "+kindsOfPaths[k])
			}
		}
	}
	switch name := format.Func(clean(p.Class)); {
	case p.Class == critical.Program:
		sentence = "Critical path of the program, " + format.Duration(p.Elapsed)
	case p.Count == 1:
		sentence = "Critical path of " + name + ", " + format.Duration(p.Elapsed)
	default:
		sentence = fmt.Sprintf("Critical paths of %s × %s, mean %s, longest %s", format.Count(p.Count), name, format.Duration(p.Elapsed/time.Duration(max(1, p.Count))), format.Duration(p.Longest))
	}
	if len(parts) > 0 {
		sentence += ": " + strings.Join(parts, ", ")
	}
	if len(meanings) > 0 {
		legend = strings.Join(meanings, "; ") + "."
	}
	return sentence + ".", legend
}
