package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/queries.json anew")

// vectors are the recorded results: how texts parse, and the answers to queries.
type vectors struct {
	Parse []parseVector `json:"parse"`
	Cases []caseVector  `json:"cases"`
}

type parseVector struct {
	Filter    *string `json:"filter,omitempty"`
	Metric    *string `json:"metric,omitempty"`
	Canonical string  `json:"canonical,omitempty"` // a text that means the same, written by hand
	Pos       *int    `json:"pos,omitempty"`       // of the error
}

type caseVector struct {
	Recording string          `json:"recording"`
	Query     Query           `json:"query"`
	Set       []int           `json:"set"` // the rows
	Answer    json.RawMessage `json:"answer,omitempty"`
	Part      string          `json:"part,omitempty"` // the wrong part
	Pos       *int            `json:"pos,omitempty"`
}

// vectorQueries are the queries of the vectors, in addition to those of filterCases.
func vectorQueries() (out []Query) {
	metrics := []string{"duration", "instructions/cycles", "1000*minor_faults/duration", `"msr/tsc"`, "heap", "change(heap)", "gap", "proc", "-cycles", "(cycles+instructions)/2", "min(cycles, 1e5)", "abs(gap)", "0/0"}
	for _, filter := range []string{"", "ended = blocked", "none", "goroutine = 3"} {
		out = append(out, Query{Filter: filter, Stats: metrics})
	}
	for _, by := range []string{"group", "kind", "goroutine", "func", "caller", "proc", "thread", "ended", "wait"} {
		out = append(out, Query{Filter: "duration > 20us", Table: &Table{By: by, Metrics: []string{"minor_faults", "instructions / cycles"}, Limit: 3}})
	}
	out = append(out,
		Query{Table: &Table{By: "goroutine", Metrics: []string{"heap"}}},
		Query{Filter: "first(3, gc)", Rows: &rowPage{Metrics: []string{"cycles", "gap"}}},
		Query{Rows: &rowPage{Metrics: []string{"minor_faults"}, Sort: "minor_faults", Descending: true, Offset: 5, Limit: 7}},
		Query{Rows: &rowPage{Sort: "minor_faults", Offset: 50, Limit: 20}},
		Query{Rows: &rowPage{Descending: true, Limit: 3}},
		Query{Table: &Table{Metrics: []string{"instructions / cycles"}, Bins: 7}},
		Query{Table: &Table{By: "ended", Stats: []string{"mean", "deviation", "ratio", "p50", "p99.9"}, Limit: 2}},
		Query{Density: &density{X: "duration", Y: "cycles", Width: 6, Height: 4}},
		Query{Density: &density{X: "cycles", Y: "duration", LogX: true, LogY: true, Width: 5, Height: 5}},
		Query{Filter: "none", Density: &density{X: "cycles", Y: "duration", Width: 2, Height: 2}},
		Query{Lanes: &Lanes{By: "goroutine", Metric: "instructions / cycles", Width: 20, Limit: 4}},
		Query{Lanes: &Lanes{By: "proc", Width: 50, From: 200_000, To: 700_000}},
		Query{Filter: "proc = 1", Lanes: &Lanes{By: "group", Metric: "heap", Width: 10}},
		Query{Lanes: &Lanes{By: "thread", Metric: "minor_faults", Width: 300, From: 200_000, To: 300_001}},
		Query{Correlate: []string{"duration", "cycles", "instructions", "heap", "minor_faults", "1"}},
		Query{Correlate: []string{"duration", "gap"}},
		Query{Filter: "first(10, gc)", Compare: []string{}},
		Query{Filter: "group = main.worker", Against: "kind = gc", Compare: []string{"cycles", "heap", "1"}},
		Query{Filter: "goroutine = 1", Against: "none", Compare: []string{"cycles"}},
		// Invalid ones.
		Query{Filter: "cycels > 1"}, Query{Against: "duration >"}, Query{Stats: []string{"duration", "heap + begin"}},
		Query{Table: &Table{By: "grup"}}, Query{Rows: &rowPage{Sort: "x"}}, Query{Lanes: &Lanes{By: "proc", From: 5, To: 5}},
		Query{Density: &density{X: "cycles", Y: "cycles", Width: 1 << 30}}, Query{Lanes: &Lanes{By: "func"}}, Query{Correlate: []string{"cycles", "a b"}},
		Query{Compare: []string{"all"}},
	)
	return out
}

func jsonOf(t testing.TB, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// makeVectors computes the vectors.
func makeVectors(t *testing.T) *vectors {
	v := &vectors{}
	explorers := map[string]*Explorer{"small": explorer(t, made(42, 70)), "empty": explorer(t, made(1, 0))}
	for _, text := range canonicalFilters() {
		v.Parse = append(v.Parse, parseVector{Filter: &text, Pos: posOf(t, CheckFilter(text))})
	}
	for _, text := range canonicalMetrics {
		v.Parse = append(v.Parse, parseVector{Metric: &text, Pos: posOf(t, parse(nil, text, func(p *parser) { p.number() }))})
	}
	var queries []Query
	for _, c := range filterCases {
		queries = append(queries, Query{Filter: c.filter})
	}
	for _, q := range append(queries, vectorQueries()...) {
		v.Cases = append(v.Cases, makeCase(t, explorers["small"], "small", q))
	}
	for _, q := range vectorQueries() {
		if q.Filter != "first(3, gc)" {
			v.Cases = append(v.Cases, makeCase(t, explorers["empty"], "empty", q))
		}
	}
	return v
}

// posOf returns the position of an error, or nil.
func posOf(t *testing.T, err error) *int {
	if syntax := syntaxOf(t, err); syntax != nil {
		return &syntax.Pos
	}
	return nil
}

func makeCase(t *testing.T, e *Explorer, name string, q Query) caseVector {
	c := caseVector{Recording: name, Query: q, Set: []int{}}
	a, err := e.Answer(context.Background(), q)
	var part *Error
	if errors.As(err, &part) {
		c.Part = part.Part
		if part.Pos >= 0 {
			c.Pos = &part.Pos
		}
		return c
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Set = append(c.Set, chosen(t, e, q.Filter)...)
	c.Answer = jsonOf(t, a)
	return c
}

// The answers to the vectors are unchanged. Other tests check their meaning.
func TestVectors(t *testing.T) {
	got := makeVectors(t)
	name := filepath.Join("testdata", "queries.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var want vectors
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	e := explorer(t, lettered())
	for i := range got.Parse[:min(len(got.Parse), len(want.Parse))] {
		switch w := want.Parse[i]; {
		case w.Canonical == "":
		case w.Filter != nil:
			sameFilter(t, e, *w.Filter, w.Canonical)
		default:
			sameMetric(t, e, *w.Metric, w.Canonical)
		}
		got.Parse[i].Canonical = want.Parse[i].Canonical
	}
	if *update {
		if err := os.WriteFile(name, vectorText(t, got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(want.Parse) != len(got.Parse) || len(want.Cases) != len(got.Cases) {
		t.Fatalf("%d and %d vectors, %d and %d on record", len(got.Parse), len(got.Cases), len(want.Parse), len(want.Cases))
	}
	for i := range want.Parse {
		if a, b := jsonOf(t, got.Parse[i]), jsonOf(t, want.Parse[i]); !bytes.Equal(a, b) {
			t.Errorf("parsed\n%s, on record\n%s", a, b)
		}
	}
	for i := range want.Cases {
		if a, b := jsonOf(t, got.Cases[i]), jsonOf(t, want.Cases[i]); !bytes.Equal(a, b) {
			t.Errorf("case %d\n%.2000s, on record\n%.2000s", i, a, b)
		}
	}
}

// vectorText writes one vector a line.
func vectorText(t *testing.T, v *vectors) []byte {
	var b strings.Builder
	b.WriteString("{\"parse\":[\n")
	for i, p := range v.Parse {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.Write(jsonOf(t, p))
	}
	b.WriteString("],\n\"cases\":[\n")
	for i, c := range v.Cases {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.Write(jsonOf(t, c))
	}
	b.WriteString("]}\n")
	return []byte(b.String())
}

// Queries and answers survive JSON.
func TestAnswerJSON(t *testing.T) {
	e := explorer(t, made(42, 70))
	for _, q := range vectorQueries() {
		var q2 Query
		if err := json.Unmarshal(jsonOf(t, q), &q2); err != nil {
			t.Fatal(err)
		}
		a, err := e.Answer(context.Background(), q2)
		if err != nil {
			var part *Error
			if !errors.As(err, &part) || !json.Valid(jsonOf(t, part)) {
				t.Errorf("%v", err)
			}
			continue
		}
		var again Answer
		if err := json.Unmarshal(jsonOf(t, a), &again); err != nil {
			t.Fatal(err)
		}
		if x, y := jsonOf(t, a), jsonOf(t, &again); !bytes.Equal(x, y) {
			t.Errorf("%s\nbecame\n%s", x, y)
		}
	}
}
