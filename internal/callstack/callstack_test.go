package callstack

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

//go:noinline
func leafA(t *Table) *Chain { return t.Capture() }

//go:noinline
func leafB(t *Table) *Chain { return t.Capture() }

// inlined must show up in the chain although it has no frame of its own.
func inlined(t *Table) *Chain { return leafA(t) }

//go:noinline
func deep(t *Table, n int) *Chain {
	if n == 0 {
		return t.Capture()
	}
	c := deep(t, n-1)
	runtime.KeepAlive(t)
	return c
}

func names(c *Chain) string {
	var s []string
	for _, f := range c.Frames() {
		s = append(s, f.Func[strings.LastIndexByte(f.Func, '/')+1:])
	}
	return strings.Join(s, " < ")
}

func TestSameCallsAreOneChain(t *testing.T) {
	tab := NewTable(0)
	var seen []*Chain
	for range 3 {
		seen = append(seen, leafA(tab))
	}
	if seen[0] != seen[1] || seen[1] != seen[2] {
		t.Error("three calls from one line gave different chains")
	}
	a, b := leafA(tab), leafB(tab)
	if a == b || a == seen[0] {
		t.Error("different lines or functions gave one chain")
	}
	if got := len(tab.chains); got != 3 {
		t.Errorf("table holds %d chains, want 3", got)
	}
}

func TestFrames(t *testing.T) {
	tab := NewTable(0)
	c := inlined(tab)
	want := "callstack.leafA < callstack.inlined < callstack.TestFrames < testing.tRunner"
	if got := names(c); got != want {
		t.Errorf("frames are\n%s, want\n%s", got, want)
	}
	f := c.Frames()[0]
	if !strings.HasSuffix(f.File, "callstack_test.go") || f.Line == 0 || f.PC == 0 {
		t.Errorf("leaf is %+v", f)
	}
	if c.Truncated() {
		t.Error("short chain is marked as truncated")
	}
}

func TestOwnFrames(t *testing.T) {
	const base = "github.com/bottleneck-go/bottleneck/"
	for _, c := range []struct {
		function, file string
		own            bool
	}{
		{base + "contention.(*Mutex).Lock", "mutex.go", true},
		{base + "contention.(*Mutex).Lock.func1", "mutex.go", true},
		{base + "contention.TestX", "x_test.go", false},
		{base + "contention_test.TestX", "x_test.go", false},
		{base + "contentionist.Do", "do.go", false},
		{"sync.(*Cond).Wait", "cond.go", true},
		{"sync.(*Once).Do", "once.go", false},
		{"main.main", "main.go", false},
	} {
		if got := isOwn(c.function, c.file); got != c.own {
			t.Errorf("isOwn(%s, %s) = %v", c.function, c.file, got)
		}
	}
}

func TestDeepChainsAreCutAtTheRoot(t *testing.T) {
	tab := NewTable(0)
	c := deep(tab, 3*MaxDepth)
	if !c.Truncated() {
		t.Error("not marked as truncated")
	}
	if d := deep(tab, 4*MaxDepth); len(d.Frames()) == 0 || d.Frames()[0].Func != c.Frames()[0].Func {
		t.Errorf("leaf lost: %s", names(d))
	}
}

func TestFullTableCountsWhatItDrops(t *testing.T) {
	tab := NewTable(10)
	for n := range 30 {
		c := deep(tab, n)
		if n < 10 && c == tab.Rest() || n >= 10 && c != tab.Rest() {
			t.Fatalf("chain %d: dropped = %v", n, c == tab.Rest())
		}
	}
	if tab.Dropped() != 20 || len(tab.chains) != 10 {
		t.Errorf("holds %d, dropped %d; want 10, 20", len(tab.chains), tab.Dropped())
	}
	if got := names(tab.Rest()); got != Dropped {
		t.Errorf("the chain of the dropped reads %q", got)
	}
}

func TestConcurrentCapture(t *testing.T) {
	tab := NewTable(0)
	var wg sync.WaitGroup
	got := make([][]*Chain, 8)
	for i := range got {
		wg.Go(func() {
			for n := range 100 { // the table grows twice during that time
				got[i] = append(got[i], deep(tab, n))
			}
		})
	}
	wg.Wait()
	for i := range got {
		for n := range got[i] {
			if got[i][n] != got[0][n] {
				t.Fatalf("goroutine %d, depth %d: another chain", i, n)
			}
		}
	}
}

// Chains stay the same while the table grows, also those that compete for one slot.
func TestGrowingTable(t *testing.T) {
	n := testenv.Rounds(10_000)
	tab := NewTable(n)
	hash := func(i int) uint64 {
		if i%4 == 0 {
			return uint64(i) << 32 // all at slot 0
		}
		return mixed(uint64(i))
	}
	var all []*Chain
	for i := range n {
		if c := tab.find(hash(i)); c != nil {
			t.Fatalf("chain %d is there already", i)
		}
		all = append(all, tab.insert(hash(i), []uintptr{uintptr(i)}))
	}
	for i, c := range all {
		if tab.find(hash(i)) != c || tab.insert(hash(i), nil) != c || c.pcs[0] != uintptr(i) {
			t.Fatalf("chain %d: %v", i, c)
		}
	}
	if tab.insert(mixed(uint64(n+1)), nil) != tab.Rest() || len(tab.chains) != n || tab.Dropped() != 1 {
		t.Errorf("%d chains, %d dropped", len(tab.chains), tab.Dropped())
	}
}

// mixed is a hash of i, one to one.
func mixed(i uint64) uint64 {
	i *= 0x9e3779b97f4a7c15
	return i ^ i>>32
}

//go:noinline
func twoPlaces(t *Table) (a, b *Chain) {
	var here int
	return above(t, &here), elsewhere(t, &here)
}

//go:noinline
func above(t *Table, p *int) *Chain { return t.CaptureAbove(unsafe.Pointer(p)) }

//go:noinline
func elsewhere(t *Table, p *int) *Chain { return above(t, p) }

func TestCaptureAbove(t *testing.T) {
	if !haveG {
		t.Skip("the portable version does not distinguish frames")
	}
	tab := NewTable(0)
	a, b := twoPlaces(tab)
	if a != b {
		t.Errorf("two places in one function gave two chains:\n%s\n%s", names(a), names(b))
	}
	if c, _ := twoPlaces(tab); c == a {
		t.Error("two calls of the function gave one chain")
	}
	heap := new(int)
	kept = heap
	if c, d := above(tab, heap), elsewhere(tab, heap); c == d {
		t.Error("a pointer that is not on the stack was not ignored")
	}
}

var kept *int

func TestGoid(t *testing.T) {
	if got, want := GoidSlowly(), stackGoid(); got != want || want == 0 {
		t.Errorf("GoidSlowly() = %d, runtime.Stack has %d", got, want)
	}
	if !haveG {
		if got := Goid(); got != 0 {
			t.Fatalf("Goid() = %d without assembly; it must not guess", got)
		}
		return
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, want := Goid(), stackGoid(); got != want || want == 0 {
				t.Errorf("Goid() = %d, runtime.Stack has %d", got, want)
			}
		})
	}
	wg.Wait()
}

// The walk handles moved stacks, reflection, deferred calls and panics.
func TestWalkSurvivesOddStacks(t *testing.T) {
	tab := NewTable(0)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
			if got := names(leafA(tab)); !strings.Contains(got, "gopanic") && !strings.Contains(got, "TestWalk") {
				t.Errorf("chain in a deferred call: %s", got)
			}
		}()
		var p *int
		*p = 1
	}()
	done := make(chan *Chain)
	go func() { done <- leafA(tab) }()
	if c := <-done; len(c.Frames()) != 2 {
		t.Errorf("root of a goroutine: %s", names(c))
	}
}

func BenchmarkCapture(b *testing.B) {
	for _, depth := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			b.ReportAllocs()
			benchDeep(b, NewTable(0), depth)
		})
	}
}

//go:noinline
func benchDeep(b *testing.B, t *Table, n int) {
	if n > 0 {
		benchDeep(b, t, n-1)
		return
	}
	for b.Loop() {
		t.Capture()
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		leafA(NewTable(1))
	}
}

func BenchmarkGoid(b *testing.B) {
	for b.Loop() {
		Goid()
	}
}
