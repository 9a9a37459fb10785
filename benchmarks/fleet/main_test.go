package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bottleneck-go/bottleneck"
)

// The traces have the share and the waits that the comment of the program states.
func TestClosedForm(t *testing.T) {
	const requests = 1000
	dir := t.TempDir()
	for _, i := range []int{0, 7, 199} {
		if err := write(dir, i, requests); err != nil {
			t.Fatal(err)
		}
	}
	for name, half := range map[string]int{"service0/v0/host0/0.trace": 1000, "service2/v1/host0/7.trace": 3100, "service4/v3/host9/199.trace": 5300} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := bottleneck.Analyze(t.Context(), f, bottleneck.Options{Want: bottleneck.WantVerdict})
		if err != nil {
			t.Fatal(err)
		}
		group := "example.com/service" + name[7:8] + ".(*Server).serve"
		found := 0
		for _, b := range r.Bottle.Boxes {
			if b.Group == group {
				found++
				if want := requests * 2 * (half + 10); b.Goroutines != requests || int(b.Share) != want || int(b.Running) != want {
					t.Errorf("%s: %d goroutines, share %d ns, running %d ns, want %d", name, b.Goroutines, b.Share, b.Running, want)
				}
			}
		}
		waits := int64(0)
		for _, w := range r.Contention.Waits {
			if w.Kind == "mutex" {
				waits += w.Contentions
			}
		}
		if found != 1 || waits != requests {
			t.Errorf("%s: %d boxes of %s, %d waits", name, found, group, waits)
		}
	}
}
