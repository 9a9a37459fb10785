package tracewaits

import (
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// The place of a wait is where the program asks for a lock, or what in the standard library has
// one.
func TestPlaceOfALock(t *testing.T) {
	for _, c := range []struct {
		calls []string
		want  string
	}{
		{[]string{"internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.add"}, "main.add"},
		{[]string{"sync.(*Mutex).Lock", "sync.(*Cond).Wait", "main.pop"}, "main.pop"},
		{[]string{"sync.(*Mutex).Lock", "internal/sync.(*HashTrieMap[...]).Swap", "sync.(*Map).Store", "main.set"}, "internal/sync.(*HashTrieMap[...]).Swap"},
	} {
		s := &timeline.Stack{}
		for _, fn := range c.calls {
			s.Frames = append(s.Frames, &timeline.Frame{Func: fn})
		}
		p := newPlaces(9)
		if got := p.of(s).site.frames[0].Func; got != c.want {
			t.Errorf("%v: got %s, want %s", c.calls, got, c.want)
		}
	}
}
