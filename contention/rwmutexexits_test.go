package contention

import (
	"testing"
	"time"
)

// A reader may leave before a writer announces itself, and say so in the history only when that writer has the
// lock and leaves as well. Both then add to the history, one after the other.
func TestWriterLeavesBesideReader(t *testing.T) {
	collecting(t, Options{Exact: true})
	var rw RWMutex
	rw.Lock()
	var w wait
	if !rw.arrive(&w, 1, kindWriter, 0) { // somebody waits
		t.Fatal("not recorded")
	}
	st := rw.st.Load()
	st.mu.Lock() // as a reader does that is about to say so
	before := st.seq.Load()
	left := make(chan bool)
	go func() {
		rw.Unlock()
		close(left)
	}()
	select {
	case <-left:
		t.Error("the writer added to the history while a reader did")
	case <-time.After(50 * time.Millisecond):
	}
	if now := st.seq.Load(); now != before {
		t.Errorf("%d exits were added meanwhile", now-before)
	}
	st.mu.Unlock()
	<-left
	if now := st.seq.Load(); now != before+1 {
		t.Errorf("%d exits were added, want that of the writer", now-before)
	}
}
