package text

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// CSV writes a graph as comma-separated values (RFC 4180, lines end in LF): a header,
// a row for each box from the bottom of the stack up, and a row "[idle]" where there was
// idle time, so that the column share_ns sums to wall_ns and the column lost_ns to what was not
// used of the capacity. A graph with windows gives the rows of each window in order, and none for
// the whole.
//
// The columns are
//
//	window            number of the window from 0; empty without windows
//	start_ns, wall_ns begin of the window or graph in the trace, and its length
//	group, kind       name and kind of the box
//	goroutines        that belonged to it
//	share_ns, running_ns, lost_ns (ns·processors), parallelism, self_parallelism (empty where not known)
//	runnable_ns, blocked_ns
//	waiting_…_ns      one column for each reason that occurs, sorted
//	in_c_ns           time in C code: part of running_ns, but for waiting_in-c_ns; only if there is any
//	site_…            the place of each reason at which most of the time was spent, with file and line; only if places are known
//
// Control characters in names become U+FFFD, and names that a spreadsheet would take for a
// formula get an apostrophe in front. The error is that of w.
func CSV(w io.Writer, g *bottle.Graph) error {
	if g == nil {
		return fmt.Errorf("text: no graph")
	}
	graphs := slices.DeleteFunc(slices.Clone(g.Windows), func(w *bottle.Graph) bool { return w == nil })
	windows := len(graphs) > 0
	if !windows {
		graphs = []*bottle.Graph{g}
	}
	t := csvTable{out: csv.NewWriter(w), reasons: allReasons(graphs, func(b *bottle.Box) map[string]time.Duration { return b.Waiting })}
	t.sites = allReasons(graphs, func(b *bottle.Box) map[string][]bottle.Site { return b.Sites })
	for _, g := range graphs {
		all, _ := g.InC()
		t.inC = t.inC || all > 0
	}
	header := []string{"window", "start_ns", "wall_ns", "group", "kind", "goroutines", "share_ns", "running_ns", "lost_ns",
		"parallelism", "self_parallelism", "runnable_ns", "blocked_ns"}
	for _, reason := range t.reasons {
		header = append(header, "waiting_"+format.Clean(reason)+"_ns")
	}
	if t.inC {
		header = append(header, "in_c_ns")
	}
	for _, reason := range t.sites {
		header = append(header, "site_"+format.Clean(reason))
	}
	t.write(header)
	for i, g := range graphs {
		number := ""
		if windows {
			number = strconv.Itoa(i)
		}
		for j := range g.Boxes {
			t.box(number, g, &g.Boxes[j])
		}
		if g.Idle > 0 {
			t.box(number, g, &bottle.Box{Group: "[idle]", Kind: "idle", Share: g.Idle, Lost: g.IdleLost, SelfParallelism: math.NaN()})
		}
	}
	t.out.Flush()
	if err := t.out.Error(); err != nil {
		return fmt.Errorf("text: writing CSV: %w", err)
	}
	return nil
}

// allReasons returns the keys that occur in a map of the boxes, sorted.
func allReasons[V any](graphs []*bottle.Graph, of func(*bottle.Box) map[string]V) []string {
	seen := map[string]bool{}
	for _, g := range graphs {
		for i := range g.Boxes {
			for reason := range of(&g.Boxes[i]) {
				seen[reason] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

type csvTable struct {
	out     *csv.Writer
	reasons []string
	inC     bool
	sites   []string // reasons with places
}

// write ignores the error: csv.Writer keeps the first one.
func (t *csvTable) write(record []string) { _ = t.out.Write(record) }

func (t *csvTable) box(window string, g *bottle.Graph, b *bottle.Box) {
	record := []string{window, ns(g.Start), ns(g.Wall), harmless(b.Group), harmless(string(b.Kind)), strconv.Itoa(b.Goroutines),
		ns(b.Share), ns(b.Running), ns(b.Lost), float(b.Parallelism), float(b.SelfParallelism), ns(b.Runnable), ns(b.Blocked())}
	for _, reason := range t.reasons {
		record = append(record, ns(b.Waiting[reason]))
	}
	if t.inC {
		record = append(record, ns(b.InC))
	}
	for _, reason := range t.sites {
		place := ""
		if s := b.TopSite(reason); s != nil {
			place = harmless(s.String())
		}
		record = append(record, place)
	}
	t.write(record)
}

func ns(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }

// float writes all digits; what is not a finite number is empty.
func float(f float64) string {
	return result.Number.Machine(result.Float(f))
}

// harmless is a name that neither a terminal nor a spreadsheet obeys: a spreadsheet takes
// text for a formula when it begins with one of a few signs, of usual or full width.
func harmless(name string) string {
	name = format.Clean(name)
	if strings.IndexFunc(strings.TrimLeft(name, " "), func(r rune) bool { return strings.ContainsRune("=+-@＝＋－＠", r) }) == 0 {
		return "'" + name
	}
	return name
}
