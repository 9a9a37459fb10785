package timeline

import (
	"bytes"
	"context"
	"errors"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"testing"
)

// TestReadTwice: the second pass shows the same calls as the first, and the same Info.
func TestReadTwice(t *testing.T) {
	for _, c := range corpus(t) {
		if len(c.data) > 900_000 || race.Enabled && len(c.data) > 100_000 {
			continue
		}
		first, second := &transcript{}, &transcript{}
		calls := 0
		info, err := ReadTwice(context.Background(), bytes.NewReader(c.data), Options{}, 0, []Observer{first}, func(info *Info) []Observer {
			calls++
			return []Observer{second}
		})
		if err != nil || calls != 1 {
			t.Fatalf("%s: %v, %d second passes", c.name, err, calls)
		}
		second.sameAs(t, c.name, first)
		want := *mustRead(t, c.data, Options{}, &transcript{})
		if info.Start != want.Start || info.End != want.End || info.Events != want.Events || info.Goroutines != want.Goroutines {
			t.Errorf("%s: %+v, want that of Read: %+v", c.name, info, want)
		}
	}
}

// TestReadTwiceFrom: observers that join later see goroutines on processors exactly as long as
// observers of the whole, and a trace that keeps all guarantees.
func TestReadTwiceFrom(t *testing.T) {
	for _, c := range corpus(t) {
		if len(c.data) > 900_000 || race.Enabled && len(c.data) > 100_000 {
			continue
		}
		parts := []Time{0, 1, 3, 7, 9, 10, 11} // tenths of the trace
		if len(c.data) > 200_000 {
			parts = []Time{0, 7, 11}
		}
		for _, part := range parts {
			check := newOnProc(nil)
			var from, start, end Time
			info, err := readTwice(context.Background(), bytes.NewReader(c.data), Options{}, anyFormat(), 0, nil, func(info *Info) (Time, []Observer) {
				start, end = info.Start, info.End
				from = start + (end-start)*part/10
				return from, []Observer{check}
			})
			if err != nil {
				t.Fatal(err)
			}
			from = min(from, end)
			if len(check.failures) > 0 || !check.ended || check.start != from || check.now != end || info.Start != from {
				t.Errorf("%s from %d/10: begins at %d, ends at %d; want %d, %d; %q", c.name, part, check.start, check.now, from, end, check.failures)
			}
			whole := newOnProc([]gap{{start - 1, from}})
			mustRead(t, c.data, Options{}, whole)
			for id, d := range whole.on {
				if check.on[id] != d {
					t.Errorf("%s from %d/10: goroutine %d was on a processor for %d ns, %d by the whole trace", c.name, part, id, check.on[id], d)
				}
			}
		}
	}
}

func TestReadTwiceErrors(t *testing.T) {
	data := smallTrace(t, "phases-go1.26.8.trace")
	second := func(*Info) []Observer { t.Error("a second pass"); return nil }
	if _, err := ReadTwice(context.Background(), bytes.NewReader(data), Options{}, 1, nil, second); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a trace larger than allowed: %v", err)
	}
	if _, err := ReadTwice(context.Background(), bytes.NewReader([]byte("<html>")), Options{}, 0, nil, second); err == nil {
		t.Error("no trace, no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadTwice(ctx, bytes.NewReader(data), Options{}, 0, nil, second); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	cut, seen := data[:len(data)-200], newChecker()
	_, err := ReadTwice(context.Background(), bytes.NewReader(cut), Options{}, 0, nil, func(*Info) []Observer { return []Observer{seen} })
	var e *Error
	if !errors.As(err, &e) || !seen.ended || len(seen.failures) > 0 {
		t.Errorf("cut off: %v, %q", err, seen.failures)
	}
}
