// Package critical finds the critical paths of a program in an execution trace: the chain of work
// and waits that determined how long the program, or each of its requests, took.
//
// A path is followed backward from its end. While its goroutine ran, it follows the goroutine;
// where the goroutine had waited, it continues with the goroutine that ended the wait, at that
// moment; where the goroutine had been created, with its creator. The pieces of a path sum to its
// elapsed time exactly:
//
//	Σ Row.Time == Path.Elapsed
//
// So work outside the path does not matter: making it faster does not make the program faster.
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"os"
//
//		"github.com/bottleneck-go/bottleneck"
//	)
//
//	func main() {
//		opt := bottleneck.Options{Want: bottleneck.WantPaths}
//		r, err := bottleneck.Analyze(context.Background(), os.Stdin, opt)
//		if err != nil {
//			log.Fatal(err)
//		}
//		for _, p := range r.Paths.Paths {
//			for _, row := range p.Rows {
//				fmt.Println(p.Class, row.Time, row.What, row.Site)
//			}
//		}
//	}
package critical

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// The kinds: what happens in a piece of a path.
const (
	Running      = "running"      // Go code ran
	C            = "c"            // C code ran
	Scheduling   = "scheduling"   // the goroutine was ready and waited for a processor
	Network      = "network"      // waited until the network made it ready
	Timer        = "timer"        // waited until a timer made it ready
	Syscall      = "syscall"      // in a system call
	Runtime      = "runtime"      // waited for the garbage collector or another part of the runtime
	Unattributed = "unattributed" // the trace does not show what ended the wait
)

// Kinds returns all kinds.
func Kinds() []string {
	return []string{Running, C, Scheduling, Network, Timer, Syscall, Runtime, Unattributed}
}

// Program is the class of the path of the whole program.
const Program = "[program]"

// Row is a part of a path.
type Row struct {
	What string `json:"what"` // one of the kinds
	// Group is the name of the goroutine that ran or waited. It is "" for time before all that
	// is known of the path.
	Group string `json:"group,omitempty"`
	// Site is the innermost frame outside the standard library: where the goroutine ran until,
	// had waited, or was started.
	Site timeline.Place `json:"site,omitzero"`
	Time time.Duration  `json:"time"` // ns
	// Calls is the call chain, for rows of [Path].Stacks.
	Calls *timeline.Stack `json:"-"`
}

// Path is the sum of the critical paths of a class of tasks.
type Path struct {
	// Class is the name of the handler, region or user task; [Program] is the whole program.
	Class string `json:"class"`
	Count int64  `json:"count"` // tasks
	// Elapsed is the sum of the times from the beginning to the end of each task, Longest the
	// largest of these times, in ns.
	Elapsed time.Duration `json:"elapsed"`
	Longest time.Duration `json:"longest"`
	// Rows sum to Elapsed, largest first.
	Rows []Row `json:"rows"`
	// Stacks divide Rows by call chain. They are set only with bottleneck.Options.PathStacks,
	// and are not part of the JSON form.
	Stacks []Row `json:"-"`
}

// Of returns the time of the rows of a kind.
func (p *Path) Of(kinds ...string) (sum time.Duration) {
	for i := range p.Rows {
		if slices.Contains(kinds, p.Rows[i].What) {
			sum += p.Rows[i].Time
		}
	}
	return sum
}

// Profile holds the critical paths of a program.
type Profile struct {
	// Paths are sorted by Elapsed, largest first; that of the whole program is the first.
	Paths []Path `json:"paths"`
	// Instances is the number of profiles merged into this one; 0 if it is not a merge.
	Instances int `json:"instances,omitempty"`
	// Warnings are sentences about the limits of the profile.
	Warnings []string `json:"warnings,omitempty"`
}

// CheckValid returns an error if the profile contradicts itself.
func (p *Profile) CheckValid() error {
	if p.Instances < 0 {
		return errors.New("critical: a number is negative")
	}
	for i := range p.Paths {
		path := &p.Paths[i]
		name := format.Clean(path.Class)
		if path.Count < 0 || path.Elapsed < 0 || path.Longest < 0 || path.Longest > path.Elapsed {
			return fmt.Errorf("critical: the path of %s has an invalid number or time", name)
		}
		left := path.Elapsed
		for _, r := range path.Rows {
			switch {
			case !slices.Contains(Kinds(), r.What):
				return fmt.Errorf("critical: the path of %s: unknown kind %q", name, r.What)
			case r.Time < 0 || r.Time > left:
				return fmt.Errorf("critical: the path of %s: a row is negative, or the rows sum to more than %d ns", name, path.Elapsed)
			}
			left -= r.Time
		}
		if left > 0 {
			return fmt.Errorf("critical: the path of %s: the rows sum to %d ns less than %d ns", name, left, path.Elapsed)
		}
	}
	return nil
}

// WriteJSON writes the profile as one JSON object: its exported fields, with times in nanoseconds.
func WriteJSON(w io.Writer, p *Profile) error {
	if p == nil {
		return errors.New("critical: no profile")
	}
	out := *p
	if out.Paths == nil {
		out.Paths = []Path{} // never null: ReadJSON requires it
	}
	return format.WriteJSON(w, "critical", &out)
}

// ReadJSON reads a profile that WriteJSON wrote. It returns an error if the profile is not valid.
func ReadJSON(r io.Reader) (*Profile, error) {
	p := &Profile{}
	err := json.NewDecoder(r).Decode(p)
	switch {
	case err != nil:
		err = format.ExplainJSON(err, "paths")
	case p.Paths == nil:
		err = errors.New("these are no critical paths: paths is missing")
	default:
		if err := p.CheckValid(); err != nil {
			return nil, err
		}
		return p, nil
	}
	return nil, fmt.Errorf("critical: reading JSON: %w", err)
}

// Merge adds up profiles of several runs or machines: paths of the same class, and their rows that
// differ only in their time. The result does not depend on the order of profiles and merges. Nil
// profiles are ignored. The sum has no Stacks. Merge fails if there is no profile, or if a sum
// overflows an int64, which is 292 years. It takes about 0.3 µs per row.
func Merge(profiles ...*Profile) (*Profile, error) {
	var out *Profile
	paths := map[string]int{}
	rows := map[string]map[Row]int{}
	for _, p := range profiles {
		if p == nil {
			continue
		}
		if out == nil {
			out = &Profile{}
		}
		out.Instances += max(1, p.Instances)
		out.Warnings = append(out.Warnings, p.Warnings...)
		for i := range p.Paths {
			from := &p.Paths[i]
			k, known := paths[from.Class]
			if !known {
				k = len(out.Paths)
				paths[from.Class], rows[from.Class] = k, map[Row]int{}
				out.Paths = append(out.Paths, Path{Class: from.Class})
			}
			to := &out.Paths[k]
			if from.Elapsed > math.MaxInt64-to.Elapsed || from.Count > math.MaxInt64-to.Count {
				return nil, errors.New("critical: merging: the sums are too large")
			}
			to.Count, to.Elapsed, to.Longest = to.Count+from.Count, to.Elapsed+from.Elapsed, max(to.Longest, from.Longest)
			at := rows[from.Class]
			for _, r := range from.Rows {
				t := r.Time
				r.Time, r.Calls = 0, nil
				n, known := at[r]
				if !known {
					n = len(to.Rows)
					at[r] = n
					to.Rows = append(to.Rows, r)
				}
				to.Rows[n].Time += t
			}
		}
	}
	if out == nil {
		return nil, errors.New("critical: merging: there is no profile")
	}
	out.Sort()
	slices.Sort(out.Warnings)
	out.Warnings = slices.Compact(out.Warnings)
	return out, nil
}

// Sort sorts paths and rows, independent of their previous order.
func (p *Profile) Sort() {
	rank := func(p *Path) int {
		if p.Class == Program {
			return 0
		}
		return 1
	}
	order.Stable(p.Paths, func(a, b Path) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.Elapsed, a.Elapsed), strings.Compare(a.Class, b.Class))
	})
	for i := range p.Paths {
		order.Stable(p.Paths[i].Rows, func(a, b Row) int {
			return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(string(a.What), string(b.What)), strings.Compare(a.Group, b.Group), a.Site.Compare(b.Site))
		})
	}
}

// part is a row of a path, as the table shows it.
type part struct {
	*Path
	Row *Row
}

// columns are the columns of the rows of all paths, the most important first.
var columns = []result.Column[part]{
	{Name: "time", Title: "time", Unit: result.Duration, Help: "on the path: the rows of a class sum to the time that its tasks took",
		Value: result.Ints(func(p *part) time.Duration { return p.Row.Time })},
	{Name: "what", Title: "what", Help: "running, c, scheduling (ready, without a processor), network, timer, syscall, runtime (the collector, for example) or unattributed",
		Value: result.Texts(func(p *part) string { return p.Row.What })},
	{Name: "function", Title: "function", Unit: result.Func, Help: "the function that ran, or in which the goroutine waited",
		Value: result.Texts(func(p *part) string { return p.Row.Site.Func })},
	{Name: "line", Title: "line", Help: "where in that function",
		Value: result.Texts(func(p *part) string { return p.Row.Site.Source() })},
	{Name: "group", Title: "goroutines", Unit: result.Func, Help: "the name of the goroutine that ran or waited",
		Value: result.Texts(func(p *part) string { return p.Row.Group })},
	{Name: "class", Title: "class", Unit: result.Func, Help: "the handler, region or user task; [program] is the whole program",
		Value: result.Texts(func(p *part) string { return p.Class })},
	{Name: "tasks", Title: "tasks", Unit: result.Count, Quotient: result.Single, Help: "how many tasks of the class there were: the same in all of its rows",
		Value: result.Ints(func(p *part) int64 { return p.Count })},
	{Name: "longest", Title: "longest", Unit: result.Duration, Quotient: result.Single, Help: "the time that the longest of them took",
		Value: result.Ints(func(p *part) time.Duration { return p.Longest })},
}

// PathColumns are the columns of classes. Parts are those of the elapsed time.
var PathColumns = []result.Column[Path]{
	{Name: "class", Title: "class", Unit: result.Func, Help: "the handler, region or user task",
		Value: result.Texts(func(p *Path) string { return p.Class })},
	{Name: "tasks", Title: "tasks", Unit: result.Count, Help: "how many there were",
		Value: result.Ints(func(p *Path) int64 { return p.Count })},
	{Name: "mean", Title: "mean", Unit: result.Duration, Quotient: result.Single, Help: "the mean time from the begin to the end",
		Value: func(p *Path) (result.Value, bool) {
			return result.Int(p.Elapsed / time.Duration(max(1, p.Count))), p.Count > 0
		}},
	{Name: "longest", Title: "longest", Unit: result.Duration, Quotient: result.Single, Help: "the longest time",
		Value: func(p *Path) (result.Value, bool) { return result.Int(p.Longest), p.Count > 0 }},
	partOf("running", "the part in which goroutines ran", Running, C),
	partOf("scheduling", "the part in which they were ready and waited for a processor", Scheduling),
	partOf("outside", "the part in which they waited for the network, a timer or a system call", Network, Timer, Syscall),
	partOf("runtime", "the part in which they waited for the garbage collector or the runtime", Runtime),
	partOf("unattributed", "the part of which the trace does not show what was waited for", Unattributed),
}

func partOf(name, help string, kinds ...string) result.Column[Path] {
	return result.Column[Path]{Name: name, Title: name, Unit: result.Ratio, Quotient: result.Single, Help: help, Value: result.Floats(func(p *Path) float64 {
		return float64(p.Of(kinds...)) / float64(p.Elapsed)
	})}
}

// Whole returns the path of the whole program, or an empty one if there is none.
func (p *Profile) Whole() *Path {
	if len(p.Paths) > 0 && p.Paths[0].Class == Program {
		return &p.Paths[0]
	}
	return &Path{Class: Program}
}

// Table returns the rows of all paths as a table.
func (p *Profile) Table() *result.Table {
	var parts []part
	for i := range p.Paths {
		path := &p.Paths[i]
		for k := range path.Rows {
			parts = append(parts, part{path, &path.Rows[k]})
		}
	}
	t := result.New(columns, parts, 0)
	t.Title = "Critical paths"
	return t
}
