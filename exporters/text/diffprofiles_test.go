package text

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
)

func oneLock(id uint64, contentions int64, blamed, handOff, unattributed time.Duration) *contention.Profile {
	l := &contention.Lock{ID: id, Class: "example.com/lru.Cache"}
	worker := contention.Party{Group: "main.worker"}
	p := &contention.Profile{Accuracy: contention.Exact, Duration: time.Second, Locks: []*contention.Lock{l}}
	p.Waits = []contention.Wait{{
		Kind: contention.MutexKind, Lock: l, Waiter: worker, Contentions: contentions,
		Waited: blamed + handOff + unattributed, Blamed: blamed, HandOff: handOff, Unattributed: unattributed,
	}}
	p.Pairs = []contention.Wait{{Kind: contention.MutexKind, Lock: l, Waiter: worker, Owner: contention.Party{Group: "main.janitor"}, Contentions: contentions, Blamed: blamed}}
	return p
}

// Locks are paired by class, whatever their numbers.
func TestContentionDiff(t *testing.T) {
	before := oneLock(3, 10, 100*time.Millisecond, 10*time.Millisecond, 0)
	after := oneLock(5, 20, 300*time.Millisecond, 10*time.Millisecond, 20*time.Millisecond)
	const want = `                   before   after  change
waited             110 ms  330 ms   3.00x
contentions            10      20   2.00x
waiting at a time    0.11    0.33   3.00x
hand-off             9.1%    3.0%   0.33x
unattributed         0.0%    6.1%       –
wall time             1 s     1 s       =

time before   after   change  waits before  after  change  kind
     110 ms  330 ms  +220 ms            10     20     +10  mutex
     110 ms  330 ms  +220 ms            10     20     +10  all

time before   after   change         kind   lock       waiter       owner
     100 ms  300 ms  +200 ms         mutex  lru.Cache  main.worker  main.janitor
        0 s   20 ms   +20 ms  added  mutex  lru.Cache  main.worker  [unattributed]
      10 ms   10 ms      0 s         mutex  lru.Cache  main.worker  [hand-off]
     110 ms  330 ms  +220 ms         all
No room for: contentions.
`
	var b bytes.Buffer
	diff := func(w io.Writer, before, after *contention.Profile) error {
		changes := contention.Changes(before, after)
		kinds, err := changes.By("kind")
		return errors.Join(err, WriteDiff(w, before, after, contention.Summary(), nil, Options{}, kinds, changes))
	}
	if err := diff(&b, before, after); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
	if sums := contention.Changes(before, after).Total(); sums[0].Int != int64(110*time.Millisecond) || sums[1].Int != int64(330*time.Millisecond) {
		t.Errorf("the changes sum to %v", sums)
	}
	if err := diff(io.Discard, &contention.Profile{}, &contention.Profile{}); err != nil {
		t.Error(err)
	}
}

func oneClass(name string, tasks, cycles uint64, d string) granularity.Class {
	c := granularity.Class{Name: name, Tasks: tasks, Diagnosis: d}
	c.Cycles.AddN(cycles, tasks)
	c.WallNS.AddN(2*cycles, tasks)
	c.BlockedNS.AddN(cycles, tasks)
	return c
}

func TestTasksDiff(t *testing.T) {
	before := &granularity.Profile{Source: "rseq-clock", Hz: 1e9, Classes: []granularity.Class{oneClass("a/x.crunch", 100, 64, granularity.Fine), oneClass("x.old", 1, 64, "")}}
	after := &granularity.Profile{Source: "rseq-clock", Hz: 1e9, Classes: []granularity.Class{oneClass("x.new", 5, 1, granularity.OK), oneClass("a/x.crunch", 1000, 32, granularity.Fine)}}
	const want = `                     before  after  change
tasks                   101  1,005   9.95x
too small             99.0%  99.5%   1.00x
cycles a task         64.00  31.85   0.50x
running time a task   64 ns  31 ns   0.48x
time a task          128 ns  63 ns   0.49x

tasks before  after  change  p50 before  after  change         class     diagnosis before  after
         100  1,000    +900          64     32     -32         x.crunch  fine              fine
           0      5      +5           0      1      +1  added  x.new                       ok
           1      0      -1          64      0     -64  gone   x.old     unknown
         101  1,005    +904                                    all
No room for: blocked-%.
`
	var b bytes.Buffer
	diff := func(before, after *granularity.Profile) error {
		return WriteDiff(&b, before, after, granularity.Summary(), nil, Options{}, granularity.Changes(before, after))
	}
	if err := diff(before, after); err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
	// Compared with a trace, which has no cycles, both are in time.
	c := oneClass("a/x.crunch", 10, 1, "")
	c.RunningNS.AddN(128, 10)
	trace := &granularity.Profile{Source: granularity.SourceTrace, Classes: []granularity.Class{c}}
	b.Reset()
	if err := diff(before, trace); err != nil || !bytes.Contains(b.Bytes(), []byte("64 ns  128 ns")) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// fullDisk accepts nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
