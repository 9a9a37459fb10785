package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// resultSet has the results of one trace, or their sum over several. Results that a file does not
// have are nil.
type resultSet struct {
	Traces     int // including saved results
	Graph      *bottle.Graph
	Ledger     *ledger.Ledger
	Contention *contention.Profile
	Tasks      *granularity.Profile
	Paths      *critical.Profile
	Stacks     []stackShare

	// Verdict is that of one trace. A sum has none.
	Verdict *verdict.Verdict
}

// stackShare is the part of a box that belongs to one call chain, in ns. Shares sum to the wall time
// without the idle time.
type stackShare struct {
	Group   string
	Calls   string // function names, the caller first, with ";" between them
	Share   int64  `json:"share_ns"`
	Running int64  `json:"running_ns"`
}

// analyze returns the results of a trace, or reads saved results: a graph, ledger, contention,
// task or path profile in JSON. With results and an error, the trace is damaged, and the results are those
// of its beginning. Memory is bounded by maxMemory as in [bottleneck.Options].
func analyze(ctx context.Context, r io.Reader, name string, maxMemory int64) (out *resultSet, err error) {
	defer func() {
		if p := recover(); p != nil { // one trace must not end the run
			out, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	if strings.HasSuffix(name, ".json") {
		return readSaved(r)
	}
	report, err := bottleneck.Analyze(ctx, r, bottleneck.Options{
		Name:      name,
		MaxMemory: maxMemory,
		Workers:   1, // several traces are analyzed at once
		// With all that the verdict is based on, but without the estimate of the speed-up.
		Want:   bottleneck.WantVerdict | bottleneck.WantContention | bottleneck.WantPaths,
		Bottle: bottle.Options{Stacks: true},
	})
	if report == nil || report.Bottle == nil {
		return nil, err
	}
	out = &resultSet{Traces: 1, Graph: report.Bottle, Ledger: report.Ledger, Contention: report.Contention, Tasks: report.Tasks, Paths: report.Paths, Verdict: report.Verdict}
	sum := stackSums{}
	for i := range report.Bottle.Boxes {
		b := &report.Bottle.Boxes[i]
		for _, s := range b.Stacks {
			calls := "[" + string(s.Source) + "]"
			if s.Calls != nil {
				var names []string
				for _, f := range slices.Backward(s.Calls.Code()) {
					names = append(names, f.Func)
				}
				calls = strings.Join(names, ";")
			}
			sum.add(stackShare{b.Group, calls, int64(s.Share), int64(s.Running)})
		}
	}
	out.Stacks = sum.list()
	return out, err
}

// readSaved reads results in JSON, whichever they are.
func readSaved(r io.Reader) (*resultSet, error) {
	const most = 256 << 20
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, errors.New("saved results of more than 256 MB")
	}
	var all []error
	for _, read := range []func(r io.Reader, into *resultSet) error{
		func(r io.Reader, into *resultSet) (err error) { into.Graph, err = bottle.ReadJSON(r); return err },
		func(r io.Reader, into *resultSet) (err error) { into.Ledger, err = ledger.ReadJSON(r); return err },
		func(r io.Reader, into *resultSet) (err error) {
			into.Contention, err = contention.ReadJSON(r)
			return err
		},
		func(r io.Reader, into *resultSet) (err error) { into.Tasks, err = granularity.ReadJSON(r); return err },
		func(r io.Reader, into *resultSet) (err error) { into.Paths, err = critical.ReadJSON(r); return err },
	} {
		out := &resultSet{Traces: 1}
		if err := read(bytes.NewReader(data), out); err == nil {
			return out, nil
		} else {
			all = append(all, err)
		}
	}
	return nil, errors.Join(all...)
}

// merge adds results as the Merge functions of their packages do. It does not modify them.
func merge(all ...*resultSet) (out *resultSet, err error) {
	out = &resultSet{}
	stacks := stackSums{}
	for _, r := range all {
		out.Traces += r.Traces
		for _, s := range r.Stacks {
			stacks.add(s)
		}
	}
	out.Stacks = stacks.list()
	contentions := func(all ...*contention.Profile) (*contention.Profile, error) { return contention.Merge(all...), nil }
	sizes := func(all ...*granularity.Profile) (*granularity.Profile, error) { return granularity.Merge(all...), nil }
	var errs [5]error
	out.Graph, errs[0] = mergeAll(all, func(r *resultSet) *bottle.Graph { return r.Graph }, bottle.Merge)
	out.Ledger, errs[1] = mergeAll(all, func(r *resultSet) *ledger.Ledger { return r.Ledger }, ledger.Merge)
	out.Contention, errs[2] = mergeAll(all, func(r *resultSet) *contention.Profile { return r.Contention }, contentions)
	out.Tasks, errs[3] = mergeAll(all, func(r *resultSet) *granularity.Profile { return r.Tasks }, sizes)
	out.Paths, errs[4] = mergeAll(all, func(r *resultSet) *critical.Profile { return r.Paths }, critical.Merge)
	return out, errors.Join(errs[:]...)
}

// mergeAll merges one kind of result. It returns nil for none, and a single one as it is.
func mergeAll[R any](all []*resultSet, of func(*resultSet) *R, merge func(...*R) (*R, error)) (*R, error) {
	var list []*R
	for _, r := range all {
		if one := of(r); one != nil {
			list = append(list, one)
		}
	}
	switch len(list) {
	case 0:
		return nil, nil
	case 1:
		return list[0], nil
	}
	return merge(list...)
}

// stackSums adds stacks by group and calls.
type stackSums map[[2]string]*stackShare

func (m stackSums) add(s stackShare) {
	key := [2]string{s.Group, s.Calls}
	if sum := m[key]; sum != nil {
		sum.Share += s.Share
		sum.Running += s.Running
		return
	}
	m[key] = &s
}

// list returns the stacks, largest share first.
func (m stackSums) list() []stackShare {
	out := make([]stackShare, 0, len(m))
	for _, s := range m {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b stackShare) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Calls, b.Calls))
	})
	return out
}

// encodeTrace is the coder of what is kept of each file until the tables are written.
func encodeTrace(t fileRow) ([]byte, error) {
	data, err := json.Marshal(&t)
	return compressor.EncodeAll(data, nil), err
}

func decodeTrace(data []byte) (t fileRow, err error) {
	if data, err = decompressor.DecodeAll(data, nil); err == nil {
		err = json.Unmarshal(data, &t)
	}
	return t, err
}
