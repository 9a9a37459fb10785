package perfevent

import (
	"reflect"
	"runtime"
	"syscall"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/require"
)

//go:noinline
func trapped(n int) int { return n + 1 }

// TestBreakpoints: a group is read each time that its thread comes to an address.
func TestBreakpoints(t *testing.T) {
	address := uint64(reflect.ValueOf(trapped).Pointer())
	s, refused, err := NewSampler(SamplerOptions{Group: []Spec{TaskClock}, Breakpoints: []uint64{address}})
	if err != nil {
		require.Missing(t, err)
	}
	defer s.Close()
	if len(refused) > 0 || len(s.Groups()) == 0 {
		t.Skip(refused)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := s.Follow(func(int) {}); err != nil {
		t.Fatal(err)
	}
	const calls = 500
	n := 0
	for range calls {
		n = trapped(n)
	}
	s.Stop()
	hits := uint64(0)
	readings := 0
	s.Drain(func(r *Record) {
		if r.Kind == Reading && r.Thread == syscall.Gettid() {
			readings++
			hits = max(hits, r.Values[s.Extra()-1])
		}
	})
	// An interrupt at the very instruction makes one hit of two.
	if n != calls || hits < calls || hits > calls+calls/50 || readings < calls {
		t.Errorf("%d calls, %d hits, %d readings", n, hits, readings)
	}
}
