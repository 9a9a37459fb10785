package contention

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/fuzzing"
)

// everything makes waits of all kinds.
func everything() {
	var m Mutex
	var rw RWMutex
	c := NewCond(&m)
	c.SetName("cond")
	rw.SetName("rw")
	var ready atomic.Int32
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 100 {
				m.Lock()
				holdSome(n)
				m.Unlock()
				if i%2 == 0 {
					rw.Lock()
					holdSome(n)
					rw.Unlock()
				} else {
					rw.RLock()
					holdSome(n)
					rw.RUnlock()
				}
			}
		})
	}
	wg.Go(func() { consumer(c, &ready, 20) })
	wg.Go(func() {
		for range 20 {
			time.Sleep(100 * time.Microsecond)
			producer(c, &ready)
		}
	})
	wg.Wait()
	m.SetName("named late")
}

// holdSome takes a while, and now and then so long that others must wait.
func holdSome(n int) {
	if n%10 == 0 {
		time.Sleep(50 * time.Microsecond)
	} else {
		work(1000)
	}
}

// table makes profiles comparable whatever the addresses of their stacks.
func (k *rowKeys) table(p *Profile) map[rowKey]any {
	t := map[rowKey]any{}
	for _, w := range p.Waits {
		key := k.wait(&w)
		w.Lock = &Lock{Name: w.Lock.Name, Class: w.Lock.Class, Waiters: w.Lock.Waiters, Longest: w.Lock.Longest, Contended: w.Lock.Contended}
		w.Waiter.Stack = nil
		t[key] = w
	}
	for _, q := range p.Pairs {
		key := k.pair(&q)
		q.Lock, q.Waiter.Stack, q.Owner.Stack = nil, nil, nil
		t[key] = q
	}
	return t
}

func record(t *testing.T, o Options, work func()) ([]byte, *Profile) {
	t.Helper()
	var file bytes.Buffer
	o.Events = &file
	if err := Start(o); err != nil {
		t.Fatal(err)
	}
	work()
	if err := Stop(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), Snapshot()
}

func TestEventsReadBack(t *testing.T) {
	for _, o := range []Options{{}, {Goroutines: true, Exact: true}} {
		live, read := readBack(t, o, everything)
		if len(live.Waits)+len(live.Pairs) < 8 {
			t.Errorf("only %d and %d rows", len(live.Waits), len(live.Pairs))
		}
		// What an owner did meanwhile is told by its own waits, and which of two locks'
		// waits are settled first is not in the file.
		for _, p := range []*Profile{live, read} {
			for i := range p.Pairs {
				p.Pairs[i].Activity, p.Pairs[i].Roots = Activity{}, nil
			}
		}
		sameRows(t, live, read)

		// Here, one wait after the other is settled.
		live, read = readBack(t, o, func() { chainOfBlame(t) })
		if callstack.Goid() != 0 && !slices.ContainsFunc(live.Pairs, func(q Pair) bool { return len(q.Roots) > 0 }) {
			t.Error("no chain of blame")
		}
		sameRows(t, live, read)
	}
}

// readBack records, and returns the live profile and that of the file.
func readBack(t *testing.T, o Options, work func()) (live, read *Profile) {
	t.Helper()
	file, live := record(t, o, work)
	read, err := ReadEvents(bytes.NewReader(file), o)
	if err != nil {
		t.Fatal(err)
	}
	checkConservation(t, live)
	checkConservation(t, read)
	if read.Source != FromEvents || read.Accuracy != live.Accuracy || !read.Start.Equal(live.Start) ||
		read.Duration != live.Duration || read.InFlight != 0 || read.Dropped != live.Dropped {
		t.Errorf("read %+v\nlive %+v", read, live)
	}
	return live, read
}

func sameRows(t *testing.T, live, read *Profile) {
	t.Helper()
	var k rowKeys
	a, b := k.table(live), k.table(read)
	for key, row := range a {
		if !reflect.DeepEqual(row, b[key]) {
			t.Errorf("live %+v\nread %+v", row, b[key])
		}
		delete(b, key)
	}
	for _, row := range b {
		t.Errorf("only in the file: %+v", row)
	}
}

// A row is told by what the user sees of it, whichever way its calls took through the wrappers.
func TestRowsAreDistinct(t *testing.T) {
	collecting(t, Options{Exact: true})
	for range 5 {
		everything()
	}
	p := Snapshot()
	seen := map[string]bool{}
	distinct := func(row string) {
		if seen[row] {
			t.Errorf("twice: %s", row)
		}
		seen[row] = true
	}
	for _, w := range p.Waits {
		distinct(fmt.Sprintf("%v %p %v %v", w.Kind, w.Lock, w.Waiter, w.Flags))
	}
	for _, q := range p.Pairs {
		distinct(fmt.Sprintf("%v %p %v %v, %v", q.Kind, q.Lock, q.Waiter, q.Owner, q.Flags))
	}
}

func TestEventsCutOff(t *testing.T) {
	file, _ := record(t, Options{Exact: true}, everything)
	for n := 0; n < len(file); n += max(1, len(file)/400) {
		p, err := ReadEvents(bytes.NewReader(file[:n]), Options{})
		if err == nil || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "offset") {
			t.Fatalf("%d of %d bytes: error %v", n, len(file), err)
		}
		if p != nil {
			checkConservation(t, p)
		}
	}
}

func TestEventsForeignAndDamaged(t *testing.T) {
	for name, c := range map[string]struct{ file, says string }{
		"empty":       {"", "ends at offset 0"},
		"text":        {"hello, world, this is no event file", "at offset 0"},
		"gzip":        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "at offset 0"},
		"new version": {eventMagic + "\x03rest", "version 3"},
		"no stream":   {eventMagic + "\x02this is not an S2 stream", "offset 0"},
	} {
		p, err := ReadEvents(strings.NewReader(c.file), Options{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: profile %v, error %v", name, p, err)
		}
	}

	// Records that decode but make no sense. The reader must survive them all.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		ev := recordsReader(scramble(rng))
		if err := ev.records(); err == nil && rng.IntN(10) == 0 {
			continue
		}
		checkConservation(t, ev.s.snapshot())
	}
}

// FuzzEvents: records that make no sense, after a file's head, are an error or a profile in which
// the sums are right.
func FuzzEvents(f *testing.F) {
	fuzzing.Brief(f)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(scramble(rng))
	}
	f.Fuzz(func(t *testing.T, records []byte) {
		ev := recordsReader(records)
		if err := ev.records(); err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("an error of several lines: %q", err)
		}
		checkConservation(t, ev.s.snapshot())
	})
}

// TestEventsOfAges: waits that are longer than a number can hold, in sum, are an error.
func TestEventsOfAges(t *testing.T) {
	for _, cond := range []bool{false, true} {
		ev := &eventWriter{}
		ev.buf = append(ev.buf, 'S', 0, 0, 's', 1, 'f', 'c', 0, 1, 1, 1, 7, 0, 'l', 9, 1, 0, 1)
		for range 5 {
			if cond {
				ev.buf = append(ev.buf, 'k', 1, 1, 1, 0) // lock, goroutine, chain, start
			} else {
				ev.buf = append(ev.buf, 'w', 1, 0, 0, 1, 1, 0) // lock, kind, flags, goroutine, chain, start
			}
			ev.number(math.MaxInt64 / 4)
			if cond {
				ev.buf = append(ev.buf, 0, 0, 0)
			} else {
				ev.buf = append(ev.buf, 0, 0, 0, 1, 1, 1) // first, exits, lost, weight, count, waiters
			}
		}
		er := recordsReader(ev.buf)
		if err := er.records(); !errors.Is(err, errDamaged) {
			t.Errorf("cond: %v: %v", cond, err)
		}
		checkConservation(t, er.s.snapshot())
	}
}

type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestEventsWriteErrors(t *testing.T) {
	if err := Start(Options{Events: &failing{}}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Start: %v", err)
	}
	if err := Stop(); err != ErrNotStarted {
		t.Errorf("Stop after a failed Start: %v", err)
	}
	if err := Start(Options{Events: &failing{20}}); err != nil {
		t.Fatal(err)
	}
	everything()
	if err := Stop(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Stop: %v", err)
	}
	if p := Snapshot(); len(p.Waits) == 0 {
		t.Error("the live profile is lost with the file")
	}
}

func TestSince(t *testing.T) {
	collecting(t, Options{Exact: true})
	everything()
	a := Snapshot()
	if a.Since(nil) != a {
		t.Error("Since(nil)")
	}
	if d := Snapshot().Since(a); len(d.Waits) != 0 || len(d.Pairs) != 0 || len(d.Locks) != 0 {
		t.Errorf("nothing happened, but: %+v", d)
	}
	everything()
	b := Snapshot()
	d := b.Since(a)
	checkConservation(t, d)
	wa, ba, ha, ua := totals(a)
	wb, bb, hb, ub := totals(b)
	wd, bd, hd, ud := totals(d)
	if wd != wb-wa || bd != bb-ba || hd != hb-ha || ud != ub-ua || wd == 0 {
		t.Errorf("waited %v, want %v − %v", wd, wb, wa)
	}
	if d.Duration != b.Duration-a.Duration || !d.Start.Equal(a.Start.Add(a.Duration)) {
		t.Errorf("from %v for %v", d.Start, d.Duration)
	}
}

// recordsReader reads what follows the head of an event file, unpacked.
func recordsReader(b []byte) *eventReader {
	return &eventReader{in: &counter{r: bufio.NewReader(bytes.NewReader(b))}, s: newSession(Options{}), strings: []string{""}, chains: []*callstack.Chain{nil}, locks: []*eventAccount{nil}}
}

// scramble returns a stream of records with random small fields after valid definitions.
func scramble(rng *rand.Rand) []byte {
	ev := &eventWriter{}
	ev.buf = append(ev.buf, 'S', 0, 0, 's', 1, 'f', 'c', 0, 1, 1, 1, 7, 0, 'l', 9, 1, 0, 1)
	for range rng.IntN(20) {
		ev.buf = append(ev.buf, "scxwknle"[rng.IntN(8)])
		for range rng.IntN(14) {
			switch rng.IntN(12) {
			case 0:
				ev.number(rng.Uint64())
			case 1:
				ev.number(1 << rng.IntN(62))
			default:
				ev.number(uint64(rng.IntN(4)))
			}
		}
	}
	return ev.buf
}

// Options.MaxLocks is for whoever wrote the file.
func TestReadEventsKeepsAllLocks(t *testing.T) {
	var file bytes.Buffer
	collecting(t, Options{Exact: true, Events: &file})
	for range 3 {
		contend(t, new(Mutex), nil)
	}
	if err := Stop(); err != nil {
		t.Fatal(err)
	}
	p, err := ReadEvents(&file, Options{MaxLocks: 1})
	if err != nil || len(p.Locks) != 3 {
		t.Errorf("%d locks, want 3; %v", len(p.Locks), err)
	}
}

// A text that is longer than ReadEvents takes is cut off.
func TestEventsWithLongName(t *testing.T) {
	var file bytes.Buffer
	collecting(t, Options{Exact: true, Events: &file})
	var m Mutex
	m.SetName(strings.Repeat("x", maxText+1))
	contend(t, &m, nil)
	if err := Stop(); err != nil {
		t.Fatal(err)
	}
	p, err := ReadEvents(&file, Options{})
	if err != nil || len(p.Locks) != 1 || len(p.Locks[0].Name) != maxText {
		t.Errorf("%d locks; %v", len(p.Locks), err)
	}
}
