package granularity

import (
	"bytes"
	"testing"
)

// TestScaleMultipliesTheProfile: a profile scaled by n is the profile of n identical programs,
// except for what was observed over time.
func TestScaleMultipliesTheProfile(t *testing.T) {
	const n = 37
	p := taskProfile("class", 10)
	copies := make([]*Profile, n)
	for i := range copies {
		copies[i] = p
	}
	want, got := Merge(copies...), Merge(p.Scale(n))
	want.Instances, want.LogDropped = 0, got.LogDropped
	got.Samples = nil
	want.Diagnose()
	text := func(p *Profile) string {
		var b bytes.Buffer
		if err := WriteJSON(&b, p); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if a, b := text(got), text(want); a != b {
		t.Errorf("scaled\n%s\nmerged\n%s", a, b)
	}
}
