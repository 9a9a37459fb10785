package main

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
	"github.com/bottleneck-go/bottleneck/internal/measures"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// artifact is a result that commands load, compare, add up and write.
type artifact struct {
	*kind
	value any    // of the type of the kind; nil if nothing could be read
	label string // name of the input
	// The Report has all results of the trace or, without Info, those of a saved result.
	*bn.Report
	runs []artifact // all runs of its side of a comparison
}

// kind is a row of the table of artifacts. Its functions take values of its type.
type kind struct {
	name   string  // for -kind, and of the command that reads its JSON by default
	what   string  // for messages
	reader string  // command that reads its JSON, if different from name
	key    string  // JSON key that no other kind has
	want   bn.Want // analysis that makes it of a trace
	of     func(r *bn.Report) any
	load   func(r io.Reader) (any, error) // reads saved JSON
	fails  *condition.Measures            // of -fail
	forms  output.Forms                   // in which it can be written
	sums   *adder                         // nil if there is no sum of several
	pairs  *pairs                         // nil if two cannot be compared
}

// loading adapts the function that reads the JSON of a type.
func loading[T any](read func(io.Reader) (T, error)) func(io.Reader) (any, error) {
	return func(r io.Reader) (any, error) { return read(r) }
}

// The table of artifacts. The first ones are those of -kind.
var (
	graphKind = &kind{name: "graph", what: "bottle graph", key: "boxes", want: bn.WantVerdict,
		of: func(r *bn.Report) any { return r.Bottle }, load: loading(bottle.ReadJSON), fails: &measures.Graph, forms: output.GraphForms,
		sums: summing(bottle.Merge, measures.GraphNumbers, func(g *bottle.Graph) (int, *[]string) { return g.Instances, &g.Warnings }),
		pairs: comparing(pointer[bottle.Graph], bottle.Summary(), bottle.Changes, drawGraphs, func(g *bottle.Graph) (string, string, []string) {
			return "graphs are grouped differently,", "by " + g.GroupBy, nil
		}),
	}
	ledgerKind = &kind{name: "ledger", what: "ledger", key: "rows", want: bn.WantVerdict,
		of: func(r *bn.Report) any { return r.Ledger }, load: loading(ledger.ReadJSON), fails: &measures.Ledger, forms: output.LedgerForms,
		sums:  summing(ledger.Merge, measures.LedgerNumbers, func(l *ledger.Ledger) (int, *[]string) { return l.Instances, &l.Warnings }),
		pairs: &pairs{},
	}
	stackKind = &kind{name: "stack", what: "speedup stack", reader: "report", key: "components", want: bn.WantSpeedup,
		of: func(r *bn.Report) any { return []*speedup.Stack{r.Speedup} }, load: loading(speedup.ReadJSON), fails: &measures.Stack, forms: output.StackForms,
		pairs: comparing(func(v any) *speedup.Stack { return measures.Widest(v.([]*speedup.Stack)) }, speedup.Summary(), speedup.Changes, drawStacks,
			func(s *speedup.Stack) (string, string, []string) { return "", "", s.Warnings }),
	}
	contentionKind = &kind{name: "contention", what: "contention profile", key: "waits", want: bn.WantContention,
		of: func(r *bn.Report) any { return r.Contention }, load: loading(contention.ReadJSON), fails: &measures.Contention, forms: output.ContentionForms,
		sums: summing(adding(contention.Merge), measures.ContentionNumbers, func(p *contention.Profile) (int, *[]string) { return p.Instances, &p.Warnings }),
		pairs: comparing(pointer[contention.Profile], contention.Summary(), contention.Changes, nil, func(p *contention.Profile) (string, string, []string) {
			return "profiles differ in accuracy:", p.Accuracy, p.Warnings
		}),
	}
	tasksKind = &kind{name: "tasks", what: "profile of tasks", key: "classes", want: bn.WantTasks,
		of: func(r *bn.Report) any { return r.Tasks }, load: loading(granularity.ReadJSON), fails: &measures.Tasks, forms: output.TasksForms,
		sums: summing(adding(granularity.Merge), measures.TaskNumbers, func(p *granularity.Profile) (int, *[]string) { return p.Instances, &p.Warnings }),
		pairs: comparing(pointer[granularity.Profile], granularity.Summary(), granularity.Changes, nil, func(p *granularity.Profile) (string, string, []string) {
			return "profiles are measured differently,", "by " + p.Source, p.Warnings
		}),
	}
	criticalKind = &kind{name: "critical", what: "profile of critical paths", key: "paths", want: bn.WantPaths,
		of: func(r *bn.Report) any { return r.Paths }, load: loading(critical.ReadJSON), fails: &measures.Critical, forms: output.CriticalForms,
		sums: summing(critical.Merge, measures.PathNumbers, func(p *critical.Profile) (int, *[]string) { return p.Instances, &p.Warnings }),
	}
	verdictKind = &kind{name: "verdict", what: "verdict", key: "findings", load: loading(readVerdict)}
	traceKind   = &kind{of: func(r *bn.Report) any { return r }, load: func(io.Reader) (any, error) { return nil, errors.New("want an execution trace, not JSON") }}
	kinds       = []*kind{graphKind, ledgerKind, stackKind, contentionKind, tasksKind}
	summed      = []*kind{graphKind, ledgerKind, contentionKind, tasksKind, criticalKind} // of merge
	// sniffed lists the kinds of JSON in the order of the checks: a graph may have findings.
	sniffed = []*kind{stackKind, contentionKind, tasksKind, criticalKind, ledgerKind, graphKind, verdictKind}
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

// kindNamed returns a kind by its name, or nil.
func kindNamed(name string) *kind {
	all := append(slices.Clone(kinds), criticalKind)
	if i := slices.IndexFunc(all, func(k *kind) bool { return k.name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// defineKind adds -kind for some kinds.
func defineKind(c *cobra.Command, k **kind, kinds []*kind, usage string) {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	c.Flags().Func("kind", usage, func(name string) error {
		if *k = kindNamed(name); !slices.Contains(names, name) {
			return fmt.Errorf("want %s", output.Either(names))
		}
		return nil
	})
	c.Flags().SetAnnotation("kind", flags.Choices, names)
}

// readArtifact reads a trace, of which it makes the first kind, or a saved result of one of the
// kinds. With an error, the artifact may have the value of the part that could be read.
func readArtifact(ctx context.Context, std stdio, in *input.Source, opt bn.Options, kinds ...*kind) (artifact, error) {
	return input.Read(ctx, std.progress, in, func(ctx context.Context, r io.Reader, head []byte) (artifact, error) {
		return load(ctx, in, r, head, opt, kinds...)
	})
}

// readKind reads an artifact of a kind or, if that is nil, of one of several kinds.
func readKind(ctx context.Context, std stdio, source string, k *kind, kinds []*kind, opt bn.Options) (a artifact, err error) {
	in, err := input.Find(std.in, source)
	if err != nil {
		return a, err
	}
	of := kinds
	if k != nil {
		of = append([]*kind{k}, kinds...)
	}
	if a, err = readArtifact(ctx, std, in, opt, of...); err == nil && k != nil && a.kind != k {
		err = usagef("-kind %s: %s is a %s", k.name, in.Label, a.what)
	}
	return a, err
}

// traces is held while a trace is read: a pass is concurrent itself, and the memory limit is for one.
var traces sync.Mutex

// load is readArtifact for an open input that begins with head.
func load(ctx context.Context, in *input.Source, r io.Reader, head []byte, opt bn.Options, kinds ...*kind) (a artifact, err error) {
	if input.HoldsJSON(head) {
		data, err := io.ReadAll(r)
		if err != nil {
			return a, input.FileError(in.Label, err)
		}
		return artifactOfJSON(in.Label, data, kinds...)
	}
	traces.Lock()
	defer traces.Unlock()
	k := kinds[0]
	a.kind, a.label = k, in.Label
	opt.Want |= k.want
	opt.Speedup.MultiName = in.Label
	if a.Report, err = analyze(ctx, in, r, opt); a.Report == nil {
		return a, err
	}
	if a.value = k.of(a.Report); opt.Want&bn.WantSpeedup != 0 && err == nil {
		err = a.SpeedupErr
	}
	return a, err
}

// artifactOfJSON reads a saved result of one of the kinds.
func artifactOfJSON(label string, data []byte, kinds ...*kind) (a artifact, err error) {
	a.kind, a.label = kindOfJSON(data), label
	switch {
	case a.kind == nil && len(kinds) > 1 && json.Valid(data):
		var whats []string
		for _, k := range kinds {
			whats = append(whats, k.what)
		}
		return a, fmt.Errorf("%s: it is JSON, but not a %s that this program saved", label, output.Either(whats))
	case a.kind == nil:
		a.kind = kinds[0] // to return its error
	case !slices.Contains(kinds, a.kind):
		return a, usagef("%s is a %s: \"bottleneck %s\" reads it", label, a.what, cmp.Or(a.reader, a.name))
	}
	v, err := a.load(bytes.NewReader(data))
	if err != nil {
		return a, fmt.Errorf("%s: %w", label, err)
	}
	a.value, a.Report = v, &bn.Report{}
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
func kindOfJSON(data []byte) *kind {
	var keys map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(data)).Decode(&keys) != nil {
		return nil
	}
	if i := slices.IndexFunc(sniffed, func(k *kind) bool { return keys[k.key] != nil }); i >= 0 {
		return sniffed[i]
	}
	return nil
}
