package contention_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/tracewaits"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestScaleMultipliesTheProfile: a profile scaled by n is the profile of n identical programs,
// except for what was observed.
func TestScaleMultipliesTheProfile(t *testing.T) {
	data, err := os.ReadFile("../testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	waits := tracewaits.NewObserver(tracewaits.Options{})
	_, err = timeline.Read(t.Context(), bytes.NewReader(data), timeline.Options{}, waits)
	p := waits.Profile()
	if err != nil || len(p.Pairs) == 0 {
		t.Fatalf("%d pairs, %v", len(p.Pairs), err)
	}
	const n = 37
	copies := make([]*contention.Profile, n)
	for i := range copies {
		copies[i] = p
	}
	want, scaled := contention.Merge(copies...), p.Scale(n)
	got := contention.Merge(scaled)
	want.Instances, want.InFlight, want.Unfinished, want.Dropped = got.Instances, got.InFlight, got.Unfinished, got.Dropped
	for i, l := range want.Locks {
		l.ID = got.Locks[i].ID // scaling renumbers them
	}
	for i := range want.Waits {
		want.Waits[i].Observed /= n
	}
	text := func(p *contention.Profile) string {
		var b bytes.Buffer
		if err := contention.WriteJSON(&b, p); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if a, b := text(got), text(want); a != b {
		t.Errorf("scaled\n%s\nmerged\n%s", a[:min(len(a), 2000)], b[:min(len(b), 2000)])
	}
	if again, err := contention.ReadJSON(bytes.NewReader([]byte(text(scaled)))); err != nil || text(again) != text(scaled) {
		t.Errorf("through JSON: %v", err)
	}
}
