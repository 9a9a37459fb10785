package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/examples/internal/beforeafter"
)

// The map's lock is blamed before the repair, whatever else the machine does: with enough work
// under the lock, goroutines queue there.
func TestLockIsBlamedBeforeTheRepair(t *testing.T) {
	o := options{shards: 64, compute: 200_000}
	var out bytes.Buffer
	results, err := beforeafter.Run(context.Background(), &out, o.variants(), beforeafter.Options{
		Goroutines: 8, Time: 300 * time.Millisecond, Dir: t.TempDir(), Unit: "updates",
	})
	if err != nil {
		t.Fatal(err)
	}
	before := results[0]
	tree, err := before.Profile.Aggregate("owner-func")
	if err != nil || len(tree.Children) == 0 {
		t.Fatal("no goroutine waited", err)
	}
	for _, c := range tree.Children {
		if c.Blamed > 0 && !strings.HasSuffix(c.Key, ".(*shard).Update") {
			t.Errorf("to blame is %s", c.Key)
		}
	}
	if l := before.Profile.Locks; len(l) != 1 || l[0].Name != "map" {
		t.Errorf("%d locks before", len(l))
	}
	for _, want := range []string{"── before: one map, one lock ──", "── after: shards, each with a lock of its own ──", "updates/s", "×1.00"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Both versions keep all updates.
func TestBothKeepAllUpdates(t *testing.T) {
	for _, shards := range []int{1, 7} {
		m := newSharded(shards)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for n := range 1000 {
					m.Update(keyOf(g, n), 1)
				}
			})
		}
		wg.Wait()
		if n := m.updates(); n != 4000 {
			t.Errorf("%d shards: %d updates", shards, n)
		}
	}
}
