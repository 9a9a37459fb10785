package spelling_test

import (
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/spelling"
)

func TestNearest(t *testing.T) {
	names := []string{"graph", "demo", "help", "version", "contention"}
	for word, want := range map[string]string{
		"grap": "graph", "grahp": "graph", "GRAPH": "graph", "hlep": "help", "verison": "version",
		"conten": "contention", "x": "", "": "", "trace": "", "speedup": "", strings.Repeat("g", 10_000): "",
	} {
		if got := spelling.Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
