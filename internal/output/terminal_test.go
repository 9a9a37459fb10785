package output

import "testing"

func TestFitLine(t *testing.T) {
	for _, tt := range []struct {
		s     string
		width int
		want  string
	}{
		{"short", 20, "short"},
		{"reading a very long name.trace: 12% of 3.4 GB", 30, "reading a…trace: 12% of 3.4 GB"},
		{"evil\x1b[2J\nname", 40, "evil\uFFFD[2J name"},
		{"abcdefghij", 4, "abcd"},
		{"abc", 0, ""},
	} {
		if got := fitLine(tt.s, tt.width); got != tt.want {
			t.Errorf("fitLine(%q, %d) = %q, want %q", tt.s, tt.width, got, tt.want)
		}
	}
}
