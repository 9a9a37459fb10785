package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/result"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// artifact is a result that commands load, compare, add up and write.
type artifact struct {
	kind  kind
	value any    // of the type of the kind; nil if nothing could be read
	name  string // of the input
	// The Report has all results of the trace or, without Info, those of a saved result.
	*bn.Report
	runs []artifact // all runs of its side of a comparison
}

// kind is a row of the table of artifacts, a *row of the type of its values.
type kind interface {
	about() *kindInfo
	take(r *bn.Report) any             // takes the value from a report
	read(r io.Reader) (any, error)     // reads saved JSON
	measures() *measures               // of -fail
	sum(parts []artifact) (any, error) // of merge
	spread(s *spread, v any)           // numbers of each group, for merge
	forms() writings                   // supported forms
	write(w io.Writer, form string, v any, d drawing) error
	instances(v any) int
	warn(v any, warning string)
}

// kindInfo holds the properties of a kind that do not depend on the type of its values.
type kindInfo struct {
	name   string  // for -kind, and of the command that reads its JSON by default
	what   string  // for messages
	reader string  // command that reads its JSON, if different from name
	key    string  // JSON key that no other kind has
	want   bn.Want // analysis that makes it of a trace
	merged bool    // several can be added up
	// compare writes the changes between two in words, changes lists them for JSON, and draw, if
	// not nil, draws them. A kind without compare cannot be compared.
	compare func(w io.Writer, p diffPair, d drawing) error
	changes func(p diffPair) *result.Table
	draw    drawPair
}

type row[T any] struct {
	kindInfo
	of       func(r *bn.Report) T
	load     func(r io.Reader) (T, error)
	fails    *measures
	add      func(parts ...T) (T, error)
	numbers  func(s *spread, v T) map[string]float64
	table    formsOf[T]
	counted  func(v T) int // number of instances
	warnings func(v T) *[]string
}

func (k *row[T]) about() *kindInfo                  { return &k.kindInfo }
func (k *row[T]) take(r *bn.Report) any             { return k.of(r) }
func (k *row[T]) read(r io.Reader) (any, error)     { return k.load(r) }
func (k *row[T]) measures() *measures               { return k.fails }
func (k *row[T]) forms() writings                   { return formsIn(k.table.has) }
func (k *row[T]) instances(v any) int               { return max(1, k.counted(v.(T))) }
func (k *row[T]) warn(v any, warning string)        { w := k.warnings(v.(T)); *w = append(*w, warning) }
func (k *row[T]) sum(parts []artifact) (any, error) { return k.add(valuesOf[T](parts)...) }
func (k *row[T]) write(w io.Writer, form string, v any, d drawing) error {
	return k.table[form](w, v.(T), d)
}
func (k *row[T]) spread(s *spread, v any) { s.add(k.numbers(s, v.(T))) }

func valuesOf[T any](parts []artifact) (values []T) {
	for _, p := range parts {
		values = append(values, p.value.(T))
	}
	return values
}

// The table of artifacts. The first ones are those of -kind.
var (
	graphKind = &row[*bottle.Graph]{
		kindInfo: kindInfo{name: "graph", what: "bottle graph", key: "boxes", want: bn.WantVerdict, merged: true, compare: compareGraphs, changes: changing(bottle.Changes), draw: drawGraphs},
		of:       func(r *bn.Report) *bottle.Graph { return r.Bottle }, load: bottle.ReadJSON, fails: &graphMeasures, add: bottle.Merge, numbers: graphNumbers, table: graphForms,
		counted: func(g *bottle.Graph) int { return g.Instances }, warnings: func(g *bottle.Graph) *[]string { return &g.Warnings },
	}
	ledgerKind = &row[*ledger.Ledger]{
		kindInfo: kindInfo{name: "ledger", what: "ledger", key: "rows", want: bn.WantVerdict, merged: true, compare: compareLedgers},
		of:       func(r *bn.Report) *ledger.Ledger { return r.Ledger }, load: ledger.ReadJSON, fails: &ledgerMeasures, add: ledger.Merge, numbers: ledgerNumbers, table: ledgerForms,
		counted: func(l *ledger.Ledger) int { return l.Instances }, warnings: func(l *ledger.Ledger) *[]string { return &l.Warnings },
	}
	stackKind = &row[*speedup.Stack]{
		kindInfo: kindInfo{name: "stack", what: "speedup stack", reader: "report", key: "components", want: bn.WantSpeedup, compare: compareStacks, changes: changing(speedup.Changes), draw: drawStacks},
		of:       func(r *bn.Report) *speedup.Stack { return r.Speedup }, load: lastStack, fails: &stackMeasures,
	}
	contentionKind = &row[*contention.Profile]{
		kindInfo: kindInfo{name: "contention", what: "contention profile", key: "waits", want: bn.WantContention, merged: true, compare: compareContention, changes: changing(contention.Changes)},
		of:       func(r *bn.Report) *contention.Profile { return r.Contention }, load: contention.ReadJSON, fails: &contentionMeasures, add: adding(contention.Merge), numbers: contentionNumbers, table: contentionForms,
		counted: func(p *contention.Profile) int { return p.Instances }, warnings: func(p *contention.Profile) *[]string { return &p.Warnings },
	}
	tasksKind = &row[*granularity.Profile]{
		kindInfo: kindInfo{name: "tasks", what: "profile of tasks", key: "classes", want: bn.WantTasks, merged: true, compare: compareTasks, changes: changing(granularity.Changes)},
		of:       func(r *bn.Report) *granularity.Profile { return r.Tasks }, load: granularity.ReadJSON, fails: &tasksMeasures, add: adding(granularity.Merge), numbers: taskNumbers, table: tasksForms,
		counted: func(p *granularity.Profile) int { return p.Instances }, warnings: func(p *granularity.Profile) *[]string { return &p.Warnings },
	}
	verdictKind = &row[*verdict.Verdict]{kindInfo: kindInfo{name: "verdict", what: "verdict", key: "findings"}, load: readVerdict}
	kinds       = []kind{graphKind, ledgerKind, stackKind, contentionKind, tasksKind}
	// sniffed lists the kinds of JSON in the order of the checks: a graph may have findings.
	sniffed = []kind{stackKind, contentionKind, tasksKind, ledgerKind, graphKind, verdictKind}
)

// kindNamed returns a kind by its name, or nil.
func kindNamed(name string) kind {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.about().name == name }); i >= 0 {
		return kinds[i]
	}
	return nil
}

// adding adapts a sum that cannot fail.
func adding[T any](merge func(...T) T) func(...T) (T, error) {
	return func(parts ...T) (T, error) { return merge(parts...), nil }
}

// changing lists the changes between the values of a pair.
func changing[T any](changes func(before, after T) *result.Table) func(diffPair) *result.Table {
	return func(p diffPair) *result.Table { return changes(p[0].value.(T), p[1].value.(T)) }
}

// lastStack reads the stack of the largest width.
func lastStack(r io.Reader) (*speedup.Stack, error) {
	stacks, err := speedup.ReadJSON(r)
	if err != nil {
		return nil, err
	}
	return stacks[len(stacks)-1], nil
}

func readVerdict(r io.Reader) (v *verdict.Verdict, err error) {
	if err = json.NewDecoder(r).Decode(&v); err == nil {
		err = v.CheckValid()
	}
	return v, err
}

// what names an artifact in messages.
func (a artifact) what() string { return a.kind.about().what }

// readArtifact reads a trace, of which it makes the first kind, or a saved result of one of the
// kinds. With an error, the artifact may have the value of the part that could be read.
func readArtifact(ctx context.Context, std stdio, in *input, opt bn.Options, kinds ...kind) (artifact, error) {
	return readInput(ctx, std, in, func(ctx context.Context, r io.Reader, head []byte) (artifact, error) {
		return load(ctx, in, r, head, opt, kinds...)
	})
}

// readKind reads an artifact of a kind or, if that is nil, of any kind.
func readKind(ctx context.Context, std stdio, source string, k kind, opt bn.Options) (a artifact, err error) {
	in, err := findInput(std, source)
	if err != nil {
		return a, err
	}
	of := kinds
	if k != nil {
		of = append([]kind{k}, kinds...)
	}
	if a, err = readArtifact(ctx, std, in, opt, of...); err == nil && k != nil && a.kind != k {
		err = usagef("%s is a %s: that is no -kind %s", in.label, a.what(), k.about().name)
	}
	return a, err
}

// traces is held while a trace is read: a pass is concurrent itself, and the memory limit is for one.
var traces sync.Mutex

// load is readArtifact for an open input that begins with head.
func load(ctx context.Context, in *input, r io.Reader, head []byte, opt bn.Options, kinds ...kind) (a artifact, err error) {
	if holdsJSON(head) {
		data, err := io.ReadAll(r)
		if err != nil {
			return a, fileError(in.label, err)
		}
		return artifactOfJSON(in.label, data, kinds...)
	}
	traces.Lock()
	defer traces.Unlock()
	k := kinds[0]
	a.kind, a.name = k, in.label
	opt.Want |= k.about().want
	opt.Speedup.MultiName = in.label
	if a.Report, err = analyze(ctx, in, r, opt); a.Report == nil {
		return a, err
	}
	if a.value = k.take(a.Report); k == stackKind && err == nil {
		err = a.SpeedupErr
	}
	return a, err
}

// artifactOfJSON reads a saved result of one of the kinds.
func artifactOfJSON(name string, data []byte, kinds ...kind) (a artifact, err error) {
	a.kind, a.name = kindOfJSON(data), name
	switch {
	case a.kind == nil && len(kinds) > 1 && json.Valid(data):
		var whats []string
		for _, k := range kinds {
			whats = append(whats, k.about().what)
		}
		return a, fmt.Errorf("%s: it is JSON, but not a %s that this program saved", name, either(whats))
	case a.kind == nil:
		a.kind = kinds[0] // to return its error
	case !slices.Contains(kinds, a.kind):
		return a, usagef("%s is a %s: \"bottleneck %s\" reads it", name, a.what(), cmp.Or(a.kind.about().reader, a.kind.about().name))
	}
	v, err := a.kind.read(bytes.NewReader(data))
	if err != nil {
		return a, fmt.Errorf("%s: %w", name, err)
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
func kindOfJSON(data []byte) kind {
	var keys map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(data)).Decode(&keys) != nil {
		return nil
	}
	for _, k := range sniffed {
		if keys[k.about().key] != nil {
			return k
		}
	}
	return nil
}
