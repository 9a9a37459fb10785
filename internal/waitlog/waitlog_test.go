package waitlog

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestLogMessages: many parts take several messages. The runtime truncates none of them.
func TestLogMessages(t *testing.T) {
	for _, n := range []int{0, 1, 30, MaxParts} {
		w := &Wait{Lock: 1 << 40, Kind: Reader, Reacquire: true, Waiters: 9, Goroutine: 77, Start: 1 << 50, Name: strings.Repeat("é\x00\"", 99), Class: strings.Repeat("\xff", 300)}
		for i := range n {
			w.Parts = append(w.Parts, Part{Number: math.MaxUint64, Goroutine: math.MaxInt64, From: int64(i), Length: 1 << 40, NS: 1 << 40, Flags: 1 << (i % 3)})
			w.Waited += 1 << 40
		}
		messages := w.Messages()
		var got *Wait
		for i, m := range messages {
			if len(m) > 1000 {
				t.Errorf("%d parts: a message of %d bytes", n, len(m))
			}
			var err error
			if i == 0 {
				got, err = ParseWait("5" + m)
			} else {
				err = got.AddParts(m)
			}
			if err != nil || got.Complete() != (i == len(messages)-1) {
				t.Fatal(n, i, err)
			}
		}
		w.Sent, w.expected = 5, int64(n)
		w.Name, w.Class = clip(w.Name), clip(w.Class)
		if !reflect.DeepEqual(got, w) || got.Check() != nil {
			t.Errorf("%d parts: %+v, want %+v", n, got, w)
		}
	}
}
