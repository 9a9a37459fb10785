package tracewaits

import (
	"strings"
	"testing"
)

// The locks that protect the records of wrapped locks are not locks of the program, although the
// program waits for them in its call of Unlock. They have a name of their own, and no
// message is expected for them.
func TestProfilersOwnLocksAreLabeled(t *testing.T) {
	const own = wrapperMethods + "account).add < " + wrapperMethods + "release).finish < " + wrapperMethods + "Mutex).Unlock < main.f:12"
	p := play(t, Options{}, `
		100 2 blocks mutex in sync.(*Mutex).Lock < `+own+`
		150 1 wakes 2 in sync.(*Mutex).Unlock < `+own+`
		160 2 runs
		200 3 blocks mutex in sync.(*Mutex).Lock < github.com/bottleneck-go/bottleneck/internal/callstack.(*Table).insert < `+wrapperMethods+`tracker[go.shape.struct {}]).arrive < main.g:7
		230 1 wakes 3 in sync.(*Mutex).Unlock < `+own+`
		240 3 runs
		300 4 blocks mutex in `+wLock+`f:10
		350 1 wakes 4 in `+wUnlock+`f:12
		360 4 runs
		500 ends`)
	waited := map[string]int64{}
	for _, w := range p.Waits {
		waited[w.Lock.Class] += int64(w.Waited)
		if own := w.Lock.Class == profilerLock; own != (w.Waiter.Stack.Frames[0].Func == profilerLock) || own && !strings.HasPrefix(w.Waiter.Stack.Frames[1].Func, "main.") {
			t.Errorf("%s: waited for in %s", w.Lock.Class, w.Waiter.Stack)
		}
	}
	if waited[profilerLock] != 80_000 || waited["main.f"] != 50_000 || len(waited) != 2 {
		t.Errorf("%v", waited)
	}
}
