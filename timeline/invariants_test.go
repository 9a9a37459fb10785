package timeline

import "testing"

// The guarantees of a pass hold for every recorded trace, in pieces and as a whole.
func TestInvariants(t *testing.T) {
	for _, c := range corpus(t) {
		if c.real && c.slow() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			pieces := [][]byte{c.data}
			if parts := generations(t, c.data); len(parts) > 1 {
				pieces = append(pieces, parts...)
			}
			for i, data := range pieces {
				check := newChecker()
				info := mustRead(t, data, Options{Name: c.name}, check)
				check.verify(t, info)
				if info.Inconsistent != 0 {
					t.Errorf("part %d: %d events contradict earlier ones", i, info.Inconsistent)
				}
				if check.transitions < 50 || !check.known {
					t.Errorf("part %d: only %d transitions, GOMAXPROCS known: %v", i, check.transitions, check.known)
				}
				t.Logf("part %d: %d bytes, %d generations, %d events, %d transitions, %d goroutines, %v, reordered %d",
					i, len(data), info.Generations, info.Events, check.transitions, info.Goroutines, info.Duration(), info.Reordered)
			}
		})
	}
}
