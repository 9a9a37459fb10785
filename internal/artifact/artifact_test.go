package artifact

import (
	"strings"
	"testing"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/output"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// Each row of the table of artifacts has all functions that the commands use.
func TestTableOfArtifacts(t *testing.T) {
	names, keys := map[string]bool{}, map[string]bool{}
	for _, k := range sniffed {
		if names[k.Name] || keys[k.key] || k.key == "" || k.What == "" || k.load == nil {
			t.Errorf("%s: %+v", k.Name, k)
		}
		names[k.Name], keys[k.key] = true, true
		if k.Sums != nil && k.Forms["json"] == nil {
			t.Errorf("sums of %s cannot be saved", k.Name)
		}
		if got := kindOfJSON([]byte(`{"version":1,"` + k.key + `":[]}`)); got != k {
			t.Errorf("%s is recognized as %v", k.Name, got)
		}
	}
	for _, k := range Summed {
		if k.Sums == nil {
			t.Errorf("%s: there is no sum", k.Name)
		}
	}
	for _, k := range Kinds {
		if k.Pairs == nil || k.want == 0 || KindNamed(k.Name) != k || len(k.Fails.All()) == 0 || k.Forms["text"] == nil {
			t.Errorf("%s: %+v", k.Name, k)
		}
	}
	if KindNamed("counters") != nil || kindOfJSON([]byte(`{"version":1}`)) != nil || kindOfJSON([]byte(`[]`)) != nil {
		t.Error("a kind of what has none")
	}
}

// The warnings of both runs are shown, and that they cannot be compared as they are.
func TestDiffWarnings(t *testing.T) {
	for _, tt := range []struct {
		kind          *Kind
		before, after any
		want          string
	}{
		{Graph, &bottle.Graph{GroupBy: "function"}, &bottle.Graph{GroupBy: "region"}, "Warning: the graphs are grouped differently, by function and by region.\n"},
		{Stack, []*speedup.Stack{{N: 2}}, []*speedup.Stack{{N: 2, Warnings: []string{"Disturbed."}}}, "Warning: after: Disturbed.\n"},
		{Contention, &contention.Profile{Accuracy: contention.Exact, Warnings: []string{"Dry."}}, &contention.Profile{Accuracy: contention.Sampled, Warnings: []string{"It\nrained."}},
			"Warning: the profiles differ in accuracy: exact and sampled.\nWarning: before: Dry.\nWarning: after: It rained.\n"},
		{Tasks, &granularity.Profile{Source: "rseq-clock"}, &granularity.Profile{Source: granularity.SourceTrace, Warnings: []string{"Short."}},
			"Warning: the profiles are measured differently, by rseq-clock and by trace-running.\nWarning: after: Short.\n"},
	} {
		pair := func(before, after any) (text string) {
			var b strings.Builder
			p := Pair{{Kind: tt.kind, Value: before, Report: &bn.Report{}}, {Kind: tt.kind, Value: after, Report: &bn.Report{}}}
			if err := tt.kind.Pairs.compare(&b, p, output.Drawing{}); err != nil {
				t.Error(err)
			}
			_, text, _ = strings.Cut(b.String(), "Warning")
			return text
		}
		if got := "Warning" + pair(tt.before, tt.after); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.kind.Name, got, tt.want)
		}
		if got := pair(tt.before, tt.before); strings.Contains(got, "differ") {
			t.Errorf("%s: %q of two that are alike", tt.kind.Name, got)
		}
	}
}
