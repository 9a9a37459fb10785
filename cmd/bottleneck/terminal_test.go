package main

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

func TestBytesOf(t *testing.T) {
	for n, want := range map[int64]string{0: "0 kB", 1500: "2 kB", 1_250_000: "1.2 MB", 53_000_000: "53.0 MB", 3_400_000_000: "3.4 GB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%d is written as %q, want %q", n, got, want)
		}
	}
}

func TestMeter(t *testing.T) {
	var m meter
	if got := m.String(); got != "" {
		t.Errorf("%q before the first byte", got)
	}
	m.decoded(5_000_000, -1)
	if got := m.String(); got != ": 5.0 MB" {
		t.Errorf("%q", got)
	}
	m.decoded(5_000_000, 20_000_000)
	if got := m.String(); got != ": 25% of 20.0 MB" {
		t.Errorf("%q", got)
	}
}
