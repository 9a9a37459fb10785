package granularity

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/cycles"
)

// The counter may be set back, as when a virtual machine moves. A task that ends before it begins
// takes no time.
func TestCounterStepsBack(t *testing.T) {
	rec := NewRecorder()
	s := rec.site(&siteKey{name: "x"})
	for range 2 {
		s.cell.add(&note{site: s, first: rec.began.tick + 1000, wall: -5000})
	}
	p := rec.Profile()
	if c := classNamed(t, p, "x"); c.WallNS.Max() != 0 || c.WallNS.Count() != 2 {
		t.Errorf("%d tasks, the longest of %d ns; want 2, 0", c.WallNS.Count(), c.WallNS.Max())
	}
	var buf bytes.Buffer
	if err := WriteJSON(&buf, p); err != nil {
		t.Error(err)
	}
	if _, err := ReadJSON(&buf); err != nil {
		t.Error(err)
	}
}

// A class keeps its name if the caller reuses the memory of it.
func TestClassNameIsCopied(t *testing.T) {
	rec := NewRecorder()
	ctx := WithRecorder(context.Background(), rec)
	name := []byte("first")
	Do(ctx, unsafe.String(&name[0], len(name)), namedTask)
	copy(name, "other")
	classNamed(t, rec.Profile(), "first")
}

// If the clock cannot show whether a task was off the processor, the profile does not claim that
// none was.
func TestBlockedIsUnknown(t *testing.T) {
	rec := NewRecorder()
	clock, err := cycles.Open(cycles.WallTSC)
	if err != nil {
		t.Fatal(err)
	}
	rec.clock = clock
	ctx := WithRecorder(context.Background(), rec)
	Do(ctx, "x", namedTask)
	p := rec.Profile()
	if n := classNamed(t, p, "x").BlockedNS.Count(); n != 0 {
		t.Errorf("%d of 1 task have a blocked time", n)
	}
	var buf bytes.Buffer
	if err := WriteJSON(&buf, p); err != nil || !strings.Contains(buf.String(), `"blocked_ns":{"p1":null,`) {
		t.Errorf("%v: %s", err, buf.String())
	}
	Do(ctx, "x", func(context.Context) error { Pause()(); return nil })
	if n := classNamed(t, rec.Profile(), "x").BlockedNS.Count(); n != 1 {
		t.Errorf("%d tasks have a blocked time; want the one that paused", n)
	}
}

// A goroutine that finds all notes in use leaves the processor to those that use them. Without
// preemption, the child would end only then.
func TestNotesInUse(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "GRANULARITY_TEST_CHILD=notes", "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func notesChild() {
	for i := range allNotes {
		allNotes[i].busy = 1
	}
	go func() { allNotes[5].release() }()
	notesOf(&cycles.Thread{TID: 1}, 0).release()
}

// Of tasks that were locked as a sample, the wall times are their own, but at most those of the
// others: a lock makes a task longer, but does not make a short one like those that were preempted.
func TestWallTimesOfASampleAreItsOwn(t *testing.T) {
	for _, tt := range []struct {
		of             string
		sample, others time.Duration
		want           time.Duration // of 1,000 in the sample and 10 others
	}{
		{"short ones among preempted ones", 20 * time.Microsecond, 50 * time.Millisecond, 520 * time.Millisecond},
		{"some that blocked longer, for the lock", 40 * time.Microsecond, 20 * time.Microsecond, 20200 * time.Microsecond},
	} {
		var l left
		var place Site
		l.cycles.AddN(10_000, 1000)
		l.sampled.AddN(uint64(tt.sample), 1000)
		l.wall.AddN(uint64(tt.others), 10)
		l.estimate(&place, 1, 1)
		if ratio := place.WallNS.Sum() / float64(tt.want); ratio < 0.95 || ratio > 1.05 || place.WallNS.Count() != 1010 || place.BlockedNS.Count() != 1010 {
			t.Errorf("%s: %v in %d tasks, want %v in 1010", tt.of, time.Duration(place.WallNS.Sum()), place.WallNS.Count(), tt.want)
		}
	}
}

// Tasks that block are not estimated to have executed more than the process did.
func TestEstimatesAreBounded(t *testing.T) {
	rec := NewRecorder()
	s := rec.site(&siteKey{name: "x"})
	second := rec.base.FromNS(1e9)
	for kind, n := range map[noteKind]int{noteSample: 3, noteLeft: 1000} {
		for range n {
			s.cell.add(&note{site: s, first: rec.began.tick, wall: 2 * second, self: second, kind: kind})
		}
	}
	p := rec.Profile()
	if p.Hz == 0 || p.Run.CPU == 0 {
		t.Skip("the frequency or the processor time is not known")
	}
	c := classNamed(t, p, "x")
	executed, most := c.Cycles.Sum()/p.Hz, (p.Run.CPU + time.Duration(p.Procs)*4*time.Millisecond).Seconds()
	if executed > 1.01*most || c.Tasks != 1003 || c.BlockedNS.Sum() < 1.99*1003e9 {
		t.Errorf("%d tasks executed for %.3f s and were blocked for %.0f s, in a process that used %.3f s", c.Tasks, executed, c.BlockedNS.Sum()/1e9, most)
	}
}
