package timeline

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// TestOld: traces before Go 1.22, without generations, are readable. They are the ones with which
// the distribution tests its own reader.
func TestOld(t *testing.T) {
	old, err := oldTraces()
	if err != nil {
		testenv.Missing(t, err)
	}
	states := map[State]int{}
	waits := map[Wait]int{}
	for _, o := range old {
		t.Run(o.name, func(t *testing.T) {
			check := newChecker()
			facts := &facts{}
			info := mustRead(t, o.data, Options{Name: o.name}, check, facts)
			check.verify(t, info)
			if info.Version < FirstVersion || info.Version > 21 || info.Generations != 1 || info.Inconsistent != 0 {
				t.Errorf("%+v", info)
			}
			named := 0
			for _, iv := range facts.intervals {
				states[iv.State]++
				waits[iv.Wait]++
				if iv.Func != "" {
					named++
				}
			}
			if !strings.Contains(o.name, "start_stop") && named*2 < len(facts.intervals) {
				t.Errorf("only %d of %d intervals belong to a goroutine with a name", named, len(facts.intervals))
			}
			stream := newChecker()
			info2, err := Read(t.Context(), streamOnly{bytes.NewReader(packed(t, o.data, "gzip"))}, Options{}, stream)
			if err != nil {
				t.Fatal(err)
			}
			stream.verify(t, info2)
			if stream.transitions != check.transitions || info2.Goroutines != info.Goroutines {
				t.Errorf("as a stream: %d transitions, %d goroutines; as a file: %d, %d", stream.transitions, info2.Goroutines, check.transitions, info.Goroutines)
			}
			if _, err := ReadSnapshot(t.Context(), io.NewSectionReader(bytes.NewReader(o.data), 0, int64(len(o.data))), Options{}, 0, nil, func() []Observer { return nil }); !errors.Is(err, errOldSnapshot) {
				t.Errorf("as a snapshot: %v", err)
			}
			// It may also be truncated, which its parser does not accept.
			for _, n := range []int{len(o.data) / 2, len(o.data) - 1} {
				if info, _, err := checkBroken(t, bytes.NewReader(o.data[:n])); err == nil && info.Events > 0 && !strings.Contains(o.name, "1_11") {
					t.Logf("cut after %d of %d bytes: no error, %d events", n, len(o.data), info.Events)
				}
			}
		})
	}
	for _, s := range []State{Running, Runnable, Waiting, Syscall, SyscallBlocked} {
		if states[s] == 0 {
			t.Errorf("nothing is ever %v", s)
		}
	}
	for _, w := range []Wait{WaitMutex, WaitChanReceive, WaitNetwork, WaitSyscall} {
		if waits[w] == 0 {
			t.Errorf("nothing ever waits for %v", w)
		}
	}
	t.Logf("waits: %v", waits)
}
