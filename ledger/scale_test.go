package ledger

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// A scaled ledger is the sum of as many ledgers. A ledger with its small rows combined has the
// same sums by category.
func TestScaleAndTop(t *testing.T) {
	for seed := range uint64(200) {
		l := random(rand.New(rand.NewPCG(seed, 2)))
		sum := merge(t, l, l, l)
		sum.Instances, sum.Warnings = l.Instances, l.Warnings
		for i := range sum.Rows {
			if sum.Rows[i].Callers == nil && i < len(l.Rows) {
				sum.Rows[i].Callers = l.Rows[i].Callers
			}
		}
		if got := l.Scale(3); !reflect.DeepEqual(got, sum) {
			t.Fatalf("seed %d: scaled\n%+v, added up\n%+v", seed, got, sum)
		}
		for n := range len(l.Rows) + 2 {
			top := l.Top(n)
			if err := top.CheckValid(); err != nil {
				t.Fatalf("seed %d, %d rows: %v", seed, n, err)
			}
			if n > 0 && len(top.Rows) > n+3 || n == 0 && len(top.Rows) != len(l.Rows) {
				t.Errorf("seed %d: %d rows of %d, want %d and one for each of three categories", seed, len(top.Rows), len(l.Rows), n)
			}
			var queue, want time.Duration
			for _, c := range Categories() {
				if top.Of(c) != l.Of(c) {
					t.Errorf("seed %d, %d rows: %v of %s, want %v", seed, n, top.Of(c), c, l.Of(c))
				}
			}
			for i := range top.Rows {
				queue += top.Rows[i].Queue
			}
			for i := range l.Rows {
				want += l.Rows[i].Queue
			}
			if queue != want {
				t.Errorf("seed %d, %d rows: queue %v, want %v", seed, n, queue, want)
			}
		}
	}
}
