package starter

import "testing"

func TestIs(t *testing.T) {
	for fn, want := range map[string]bool{
		"sync.(*WaitGroup).Go.func1":                                         true,
		"golang.org/x/sync/errgroup.(*Group).Go.func1":                       true,
		"golang.org/x/sync/errgroup.(*Group).TryGo.func1":                    true,
		"github.com/sourcegraph/conc.(*WaitGroup).Go.func1.1":                true,
		"github.com/bottleneck-go/bottleneck/granularity.(*Pool).work":       true,
		"github.com/bottleneck-go/bottleneck/internal/cycles.(*Clock).Start": true,
		"github.com/bottleneck-go/bottleneck/internal/perfevent.OpenThread":  true,
		"runtime.corostart":      true,
		"sync.(*WaitGroup).Wait": false,
		"main.(*WaitGroup).Go":   false,
		"":                       false,
	} {
		if got := Is(fn); got != want {
			t.Errorf("Is(%q) = %v", fn, got)
		}
	}
}
