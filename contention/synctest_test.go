package contention

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The clock of a synctest bubble differs widely from the real one. Recordings by it are still
// consistent.
func TestInBubble(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("bubbles have no performance counter of their own")
	}
	collecting(t, Options{Exact: true})
	synctest.Test(t, func(t *testing.T) {
		var m Mutex
		c := NewCond(&m)
		var ready atomic.Int32
		go func() {
			time.Sleep(time.Second)
			producer(c, &ready)
		}()
		consumer(c, &ready, 1)
	})
	var m Mutex
	contend(t, &m, nil)
	if err := Stop(); err != nil {
		t.Fatal(err)
	}
	p := Snapshot()
	checkConservation(t, p)
	if len(p.Waits) != 2 {
		t.Errorf("waits %+v", p.Waits)
	}
	for _, w := range p.Waits {
		if w.Kind == CondKind && (w.Waited != time.Second || w.Blamed != time.Second) {
			t.Errorf("waited %v, of which %v for the producer", w.Waited, w.Blamed)
		}
	}
}
