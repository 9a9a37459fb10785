package workload

import (
	"context"
	"errors"
	"testing"
	"time"
)

var small = Config{Workers: 3, Small: 20, Factor: 12, Unit: 1000}

// Every order does the same work: checksums and units agree.
func TestSameWork(t *testing.T) {
	want := uint64(0)
	for range small.Small {
		want += compute(0, small.Unit)
	}
	for i := range small.Factor {
		want += compute(uint64(i), small.Unit)
	}
	for _, r := range []Repair{{}, {LargestFirst: true}, {Split: true}, {LargestFirst: true, Split: true}} {
		res, err := small.Run(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if res.Sum != want {
			t.Errorf("%+v: checksum %x, want %x", r, res.Sum, want)
		}
		units, files := 0, 0
		for _, w := range res.Workers {
			units += w.Units
			files += w.Files
		}
		wantFiles := small.Small + 1
		if r.Split {
			wantFiles = small.Small + small.Factor
		}
		if units != small.Small+small.Factor || files != wantFiles {
			t.Errorf("%+v: %d units in %d files, want %d in %d", r, units, files, small.Small+small.Factor, wantFiles)
		}
	}
}

func TestQueueOrder(t *testing.T) {
	for _, tt := range []struct {
		repair Repair
		large  int // position of the large file; −1 if none
	}{
		{Repair{}, 20},
		{Repair{LargestFirst: true}, 0},
		{Repair{Split: true}, -1},
	} {
		at := -1
		for i, f := range small.Queue(tt.repair) {
			if f.Size > 1 {
				at = i
			}
		}
		if at != tt.large {
			t.Errorf("%+v: the large file is at %d, want %d", tt.repair, at, tt.large)
		}
	}
}

// The result names the worker of the large file, and no worker if the file was split.
func TestLarge(t *testing.T) {
	res, err := small.Run(context.Background(), Repair{})
	if err != nil {
		t.Fatal(err)
	}
	w := res.Large()
	if w == nil || w.Units < small.Factor {
		t.Errorf("the worker of the large file is %+v", w)
	}
	if res, err = small.Run(context.Background(), Repair{Split: true}); err != nil {
		t.Fatal(err)
	}
	if w := res.Large(); w != nil {
		t.Errorf("the large file was split, yet %+v has it", w)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := small
	c.Unit = 1 << 30 // would take minutes
	if _, err := c.Run(ctx, Repair{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// The steps of a unit follow the requested time and how it is divided.
func TestStepsFor(t *testing.T) {
	short, long := small.StepsFor(time.Millisecond, 2), small.StepsFor(time.Second, 2)
	if short < 1 || long < 100*short {
		t.Errorf("%d steps for 1 ms, %d for 1 s", short, long)
	}
	if n := small.StepsFor(0, 0); n != 1 {
		t.Errorf("%d steps for no time, want 1", n)
	}
}

func TestCrowded(t *testing.T) {
	for _, tt := range []struct {
		cpu, running time.Duration
		warns        bool
	}{
		{2 * time.Second, 2 * time.Second, false},
		{1950 * time.Millisecond, 2 * time.Second, false}, // the tracer's own share
		{1500 * time.Millisecond, 2 * time.Second, true},
		{0, 2 * time.Second, false}, // not known
		{3 * time.Second, 2 * time.Second, false},
	} {
		if got := Crowded(tt.cpu, tt.running); (got != "") != tt.warns {
			t.Errorf("Crowded(%v, %v) = %q", tt.cpu, tt.running, got)
		}
	}
}
