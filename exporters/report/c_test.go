package report

import (
	"context"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// TestPageHasTimeInCAndPlacesOfWaits checks every box of the whole graph.
func TestPageHasTimeInCAndPlacesOfWaits(t *testing.T) {
	g, err := bottle.ReadFile(context.Background(), "../../testdata/small/cgo-go1.26.8.trace", bottle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := newNamer()
	f := newBottleForm(g, n)
	found := false
	for i, b := range f.Boxes {
		if b.InC != int64(g.Boxes[i].InC) {
			t.Errorf("%s: in C %d, want %d", g.Boxes[i].Group, b.InC, g.Boxes[i].InC)
		}
		for _, s := range b.Sites {
			found = found || f.Reasons[s.Reason] == bottle.InCode && strings.HasPrefix(s.Place, "main.computing main.go:") && s.Time == b.InC
		}
	}
	if !found || !strings.Contains(strings.Join(f.Warnings, " "), "C code") {
		t.Errorf("%+v", f)
	}
}
