package verdict

import "testing"

// If nearly all is lost, the bound is far away: it comes with what half of the loss is worth.
func TestBound(t *testing.T) {
	for _, tt := range []struct {
		f    Finding
		want string
	}{
		{Finding{Gain: 1.4, Basis: "the capacity"}, "at best 1.40 times as fast"},
		{Finding{Gain: 149}, "at best 149 times as fast (1.99 times if half of that loss remains)"},
		{Finding{Basis: "cannot tell"}, "cannot tell"},
	} {
		if got := tt.f.Bound(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.f, got, tt.want)
		}
	}
}
