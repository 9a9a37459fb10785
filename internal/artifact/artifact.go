// Package artifact has the table of the results that commands read, compare, add up and write.
package artifact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/condition"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/input"
	"github.com/bottleneck-go/bottleneck/internal/instrument"
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// Artifact is a result that commands load, compare, add up and write.
type Artifact struct {
	*Kind
	Value any    // of the type of the kind; nil if nothing could be read
	Label string // name of the input
	// The Report has all results of the trace or, without Info, those of a saved result.
	*bn.Report
	Runs []Artifact // all runs of its side of a comparison
}

// Kind is a row of the table of artifacts. Its functions take values of its type.
type Kind struct {
	Name   string  // for -kind, and of the command that reads its JSON by default
	What   string  // for messages
	reader string  // command that reads its JSON, if different from name
	key    string  // JSON key that no other kind has
	want   bn.Want // analysis that makes it of a trace
	of     func(r *bn.Report) any
	load   func(r io.Reader) (any, error) // reads saved JSON
	Fails  *condition.Measures            // of -fail
	Forms  output.Forms                   // in which it can be written
	Sums   *adder                         // nil if there is no sum of several
	Pairs  *pairs                         // nil if two cannot be compared
}

// loading adapts the function that reads the JSON of a type.
func loading[T any](read func(io.Reader) (T, error)) func(io.Reader) (any, error) {
	return func(r io.Reader) (any, error) { return read(r) }
}

// The table of artifacts. The first ones are those of -kind.
var (
	Graph = &Kind{Name: "graph", What: "bottle graph", key: "boxes", want: bn.WantVerdict,
		of: func(r *bn.Report) any { return r.Bottle }, load: loading(bottle.ReadJSON), Fails: &measures.Graph, Forms: output.GraphForms,
		Sums: summing(bottle.Merge, measures.GraphNumbers, func(g *bottle.Graph) (int, *[]string) { return g.Instances, &g.Warnings }),
		Pairs: comparing(pointer[bottle.Graph], bottle.Summary(), bottle.Changes, drawGraphs, func(g *bottle.Graph) (string, string, []string) {
			return "graphs are grouped differently,", "by " + g.GroupBy, nil
		}),
	}
	Ledger = &Kind{Name: "ledger", What: "ledger", key: "rows", want: bn.WantVerdict,
		of: func(r *bn.Report) any { return r.Ledger }, load: loading(ledger.ReadJSON), Fails: &measures.Ledger, Forms: output.LedgerForms,
		Sums:  summing(ledger.Merge, measures.LedgerNumbers, func(l *ledger.Ledger) (int, *[]string) { return l.Instances, &l.Warnings }),
		Pairs: &pairs{},
	}
	Stack = &Kind{Name: "stack", What: "speedup stack", reader: "report", key: "components", want: bn.WantSpeedup,
		of: func(r *bn.Report) any { return []*speedup.Stack{r.Speedup} }, load: loading(speedup.ReadJSON), Fails: &measures.Stack, Forms: output.StackForms,
		Pairs: comparing(func(v any) *speedup.Stack { return measures.Widest(v.([]*speedup.Stack)) }, speedup.Summary(), speedup.Changes, drawStacks,
			func(s *speedup.Stack) (string, string, []string) { return "", "", s.Warnings }),
	}
	Contention = &Kind{Name: "contention", What: "contention profile", key: "waits", want: bn.WantContention,
		of: func(r *bn.Report) any { return r.Contention }, load: loading(contention.ReadJSON), Fails: &measures.Contention, Forms: output.ContentionForms,
		Sums: summing(adding(contention.Merge), measures.ContentionNumbers, func(p *contention.Profile) (int, *[]string) { return p.Instances, &p.Warnings }),
		Pairs: comparing(pointer[contention.Profile], contention.Summary(), contention.Changes, nil, func(p *contention.Profile) (string, string, []string) {
			return "profiles differ in accuracy:", p.Accuracy, p.Warnings
		}),
	}
	Tasks = &Kind{Name: "tasks", What: "profile of tasks", key: "classes", want: bn.WantTasks,
		of: func(r *bn.Report) any { return r.Tasks }, load: loading(granularity.ReadJSON), Fails: &measures.Tasks, Forms: output.TasksForms,
		Sums: summing(adding(granularity.Merge), measures.TaskNumbers, func(p *granularity.Profile) (int, *[]string) { return p.Instances, &p.Warnings }),
		Pairs: comparing(pointer[granularity.Profile], granularity.Summary(), granularity.Changes, nil, func(p *granularity.Profile) (string, string, []string) {
			return "profiles are measured differently,", "by " + p.Source, p.Warnings
		}),
	}
	Critical = &Kind{Name: "critical", What: "profile of critical paths", key: "paths", want: bn.WantPaths,
		of: func(r *bn.Report) any { return r.Paths }, load: loading(critical.ReadJSON), Fails: &measures.Critical, Forms: output.CriticalForms,
		Sums: summing(critical.Merge, measures.PathNumbers, func(p *critical.Profile) (int, *[]string) { return p.Instances, &p.Warnings }),
	}
	Verdict = &Kind{Name: "verdict", What: "verdict", key: "findings", load: loading(readVerdict)}
	Trace   = &Kind{of: func(r *bn.Report) any { return r }, load: func(io.Reader) (any, error) { return nil, errors.New("want an execution trace, not JSON") }}
	Kinds   = []*Kind{Graph, Ledger, Stack, Contention, Tasks}
	Summed  = []*Kind{Graph, Ledger, Contention, Tasks, Critical} // of merge
	// sniffed lists the kinds of JSON in the order of the checks: a graph may have findings.
	sniffed = []*Kind{Stack, Contention, Tasks, Critical, Ledger, Graph, Verdict}
)

// pointer is the value of a kind whose type is *T.
func pointer[T any](v any) *T { return v.(*T) }

// adding adapts a sum that cannot fail.
func adding[T any](merge func(...T) T) func(...T) (T, error) {
	return func(parts ...T) (T, error) { return merge(parts...), nil }
}

func readVerdict(r io.Reader) (v *verdict.Verdict, err error) {
	if err = json.NewDecoder(r).Decode(&v); err == nil {
		err = v.CheckValid()
	}
	return v, err
}

// KindNamed returns a kind by its name, or nil.
func KindNamed(name string) *Kind {
	all := append(slices.Clone(Kinds), Critical)
	if i := slices.IndexFunc(all, func(k *Kind) bool { return k.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// DefineKind adds -kind for some kinds.
func DefineKind(c *cobra.Command, k **Kind, kinds []*Kind, usage string) {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	c.Flags().Func("kind", usage, func(name string) error {
		if *k = KindNamed(name); !slices.Contains(names, name) {
			return fmt.Errorf("want %s", output.Either(names))
		}
		return nil
	})
	c.Flags().SetAnnotation("kind", flags.Choices, names)
}

// Read reads a trace, from which it makes the first kind, or a saved result of one of the kinds.
// With an error, the artifact may have the value of the part that could be read.
func Read(ctx context.Context, progress input.Progress, in *input.Source, opt bn.Options, kinds ...*Kind) (Artifact, error) {
	return input.Read(ctx, progress, in, func(ctx context.Context, r io.Reader, head []byte) (Artifact, error) {
		return Load(ctx, in, r, head, opt, kinds...)
	})
}

// ReadKind reads an artifact of a kind or, if that is nil, of one of several kinds.
func ReadKind(ctx context.Context, stdin io.Reader, progress input.Progress, source string, k *Kind, kinds []*Kind, opt bn.Options) (a Artifact, err error) {
	in, err := input.Find(stdin, source)
	if err != nil {
		return a, err
	}
	of := kinds
	if k != nil {
		of = append([]*Kind{k}, kinds...)
	}
	if a, err = Read(ctx, progress, in, opt, of...); err == nil && k != nil && a.Kind != k {
		err = flags.Errorf("-kind %s: %s is a %s", k.Name, in.Label, a.What)
	}
	return a, err
}

// traces is held while a trace is read: a pass is concurrent itself, and the memory limit is for
// one.
var traces sync.Mutex

// Load is [Read] for an open input that begins with head.
func Load(ctx context.Context, in *input.Source, r io.Reader, head []byte, opt bn.Options, kinds ...*Kind) (a Artifact, err error) {
	if input.HoldsJSON(head) {
		data, err := io.ReadAll(r)
		if err != nil {
			return a, input.FileError(in.Label, err)
		}
		return OfJSON(in.Label, data, kinds...)
	}
	traces.Lock()
	defer traces.Unlock()
	k := kinds[0]
	a.Kind, a.Label = k, in.Label
	opt.Want |= k.want
	opt.Speedup.MultiName = in.Label
	if a.Report, err = Analyze(ctx, in, r, opt); a.Report == nil {
		return a, err
	}
	if a.Value = k.of(a.Report); opt.Want&bn.WantSpeedup != 0 && err == nil {
		err = a.SpeedupErr
	}
	return a, err
}

// OfJSON reads a saved result of one of the kinds.
func OfJSON(label string, data []byte, kinds ...*Kind) (a Artifact, err error) {
	a.Kind, a.Label = kindOfJSON(data), label
	switch {
	case a.Kind == nil && len(kinds) > 1 && json.Valid(data):
		var whats []string
		for _, k := range kinds {
			whats = append(whats, k.What)
		}
		return a, fmt.Errorf("%s: it is JSON, but not a %s that this program saved", label, output.Either(whats))
	case a.Kind == nil:
		a.Kind = kinds[0] // to return its error
	case !slices.Contains(kinds, a.Kind):
		return a, flags.Errorf("%s is a %s: \"bottleneck %s\" reads it", label, a.What, cmp.Or(a.reader, a.Name))
	}
	v, err := a.load(bytes.NewReader(data))
	if err != nil {
		return a, fmt.Errorf("%s: %w", label, err)
	}
	a.Value, a.Report = v, &bn.Report{}
	switch v := v.(type) {
	case *bottle.Graph:
		a.Bottle, a.Verdict = v, v.Verdict
	case *ledger.Ledger:
		if a.Ledger, a.Verdict = v, v.Verdict; a.Verdict == nil {
			a.Verdict = diagnose.New(diagnose.Results{Ledger: v})
		}
	case *verdict.Verdict:
		a.Verdict = v
	}
	return a, nil
}

// kindOfJSON recognizes saved JSON by a key that only its kind has; nil if there is none.
func kindOfJSON(data []byte) *Kind {
	var keys map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(data)).Decode(&keys) != nil {
		return nil
	}
	if i := slices.IndexFunc(sniffed, func(k *Kind) bool { return keys[k.key] != nil }); i >= 0 {
		return sniffed[i]
	}
	return nil
}

// Analyze makes results of a trace. All commands use it to read traces.
func Analyze(ctx context.Context, in *input.Source, r io.Reader, opt bn.Options) (*bn.Report, error) {
	opt.Name, opt.Progress = in.Label, in.Decoded
	opt.Contention.Declared = instrument.Declarations()
	return bn.Analyze(ctx, r, opt)
}
