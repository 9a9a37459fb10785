package contention

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// The methods that package sync inlines are inlined here, too, with one atomic operation each, so
// their cost is the same in every release of Go and on every processor.
func TestUncontendedOperationsAreOneInstruction(t *testing.T) {
	goTool := testenv.Program(t, "go")
	out, err := exec.CommandContext(t.Context(), goTool, "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, method := range []string{"(*Mutex).Lock", "(*Mutex).Unlock", "(*Mutex).TryLock", "(*RWMutex).RLock", "(*RWMutex).RUnlock"} {
		// On 386, atomic operations are calls, and the compiler inlines none of these
		// methods of package sync either.
		if runtime.GOARCH != "386" && !strings.Contains(string(out), ": can inline "+method+"\n") {
			t.Errorf("%s is not inlined", method)
		}
	}
	var m Mutex
	var rw RWMutex
	words := func() [2]int64 { return [2]int64{int64(m.mu.Word.Load()), rw.mu.Word.Load()} }
	for _, c := range []struct {
		do   func()
		want [2]int64
	}{
		{m.Lock, [2]int64{wordLocked, 0}}, {m.Unlock, [2]int64{0, 0}},
		{rw.RLock, [2]int64{0, 1}}, {rw.RLock, [2]int64{0, 2}}, {rw.RUnlock, [2]int64{0, 1}}, {rw.RUnlock, [2]int64{0, 0}},
		{rw.Lock, [2]int64{0, -oneWriter}}, {rw.Unlock, [2]int64{0, 0}},
	} {
		if c.do(); words() != c.want {
			t.Errorf("words are %v, want %v", words(), c.want)
		}
	}
}

// While one lock has waiters, with collection on, others are locked and unlocked as if there were
// none: with one instruction each and without a state of their own.
func TestWaitersOfOneLockDoNotSlowOthers(t *testing.T) {
	collecting(t, Options{Exact: true})
	var m, waitedFor Mutex
	var rw, rwWaitedFor RWMutex
	waitedFor.Lock()
	rwWaitedFor.RLock()
	done := make(chan bool)
	go func() { defer func() { done <- true }(); waitedFor.Lock(); defer waitedFor.Unlock() }()
	go func() { defer func() { done <- true }(); rwWaitedFor.Lock(); defer rwWaitedFor.Unlock() }()
	waitFor(t, "the waiters", func() bool { return waitedFor.registered() == 1 && rwWaitedFor.registered() == 1 })
	for _, c := range []struct {
		do   func()
		want [2]int64
	}{
		{m.Lock, [2]int64{wordLocked, 0}}, {m.Unlock, [2]int64{0, 0}},
		{rw.RLock, [2]int64{0, 1}}, {rw.RUnlock, [2]int64{0, 0}},
		{rw.Lock, [2]int64{0, -oneWriter}}, {rw.Unlock, [2]int64{0, 0}},
	} {
		c.do()
		if got := [2]int64{int64(m.mu.Word.Load()), rw.mu.Word.Load()}; got != c.want || m.st.Load() != nil || rw.st.Load() != nil {
			t.Errorf("words are %v, want %v; states %v and %v", got, c.want, m.st.Load(), rw.st.Load())
		}
	}
	waitedFor.Unlock()
	rwWaitedFor.RUnlock()
	<-done
	<-done
}

// The package does not depend on the internals of package sync or on a release of Go.
func TestNoDependenceOnSyncInternals(t *testing.T) {
	goTool := testenv.Program(t, "go")
	list := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), goTool, append([]string{"list", "-f", "{{.GoFiles}} {{.SFiles}} {{.IgnoredGoFiles}}"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if files := list("."); strings.Contains(files, "_go1") || strings.Contains(files, ".s]") {
		t.Errorf("files of releases, or in assembly: %s", files)
	}
	if a, b := list("."), list("-tags", "purego", "."); a != b {
		t.Errorf("with the tag purego, the files are %s, without %s", b, a)
	}
}

// The locks of words.go exclude one another, wake their waiters and end free, in every order of
// the atomic operations of two or three goroutines, or in every order with a few preemptions. The
// program in testdata/model runs the code itself with its imports replaced, so each operation on a
// word or on a lock of package sync is a step.
func TestLockWordsInEveryInterleaving(t *testing.T) {
	if race.Enabled {
		t.Skip("the program is the same without the race detector")
	}
	t.Parallel() // waits for the program
	goTool := testenv.Program(t, "go")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/model")); err != nil {
		t.Fatal(err)
	}
	imports := strings.NewReplacer(
		"package contention", "package main", `"sync"`, `"model/sync"`, `"sync/atomic"`, `"model/atomic"`,
		`"math/rand/v2"`, `"model/rand"`, `"runtime"`, `"model/runtime"`,
		`"github.com/bottleneck-go/bottleneck/internal/race"`, `"model/race"`,
		"inLine     = 64", "inLine     = 4", // exhausts the count of unlocks soon
	)
	if err := os.Mkdir(filepath.Join(dir, "race"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"words.go": "words.go", "../internal/race/norace.go": "race/race.go"} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), []byte(imports.Replace(string(b))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module model\n\ngo 1.26\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), goTool, "run", ".")
	if os.Getenv("BOTTLENECK_LONG") != "" {
		cmd.Args = append(cmd.Args, "-long")
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("%v", err)
	}
}

// A lock returns to its fast form when it has no waiters, however they came and went.
func TestLockWordReturnsToTheFastForm(t *testing.T) {
	for _, o := range []*Options{nil, {}, {Exact: true}} {
		if o != nil {
			collecting(t, *o)
		}
		var m Mutex
		var rw RWMutex
		var inside, readers atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for j := range 3000 {
					m.Lock()
					if inside.Add(1) != 1 {
						t.Error("two have the Mutex")
					}
					if j%16 == i {
						runtime.Gosched()
					}
					inside.Add(-1)
					m.Unlock()
					if j%8 == 0 && m.TryLock() {
						if inside.Add(1) != 1 {
							t.Error("two have the Mutex")
						}
						inside.Add(-1)
						m.Unlock()
					}
					switch {
					case j%7 == i%7:
						rw.Lock()
						if n := readers.Add(1000); n != 1000 {
							t.Errorf("a writer is beside others: %d", n)
						}
						if j%16 == i {
							runtime.Gosched()
						}
						readers.Add(-1000)
						rw.Unlock()
					case j%13 == 0:
						if rw.TryRLock() {
							if readers.Add(1) > 999 {
								t.Error("a reader is beside a writer")
							}
							readers.Add(-1)
							rw.RUnlock()
						}
					default:
						rw.RLock()
						if readers.Add(1) > 999 {
							t.Error("a reader is beside a writer")
						}
						if j%16 == i {
							runtime.Gosched()
						}
						readers.Add(-1)
						rw.RUnlock()
					}
				}
			})
		}
		wg.Wait()
		for range 100 * changeBack {
			m.Lock()
			m.Unlock() //lint:ignore SA2001 the test is about the word
		}
		if w := m.mu.Word.Load(); w != 0 {
			t.Errorf("the word of the Mutex is %d", w)
		}
		if w := rw.mu.Word.Load(); w != 0 {
			t.Errorf("the word of the RWMutex is %d", w)
		}
		if g := rw.mu.gates.Load(); g != nil && (g.gate != nil || g.waiting != 0 || g.admitted != 0 || g.leaving.Load() != 0) {
			t.Errorf("the gates are %+v", g)
		}
		if o != nil {
			Stop()
			checkConservation(t, Snapshot())
		}
	}
}

// The owner registers, as after a Cond's Wait, while others change the lock to the form with
// waiters.
func TestOwnerNeverWaitsForItself(t *testing.T) {
	var m wordMutex
	lock := func() {
		if !m.Word.CompareAndSwap(0, wordLocked) && !m.tryQueued() {
			m.Lock()
		}
	}
	var wg sync.WaitGroup
	inside := 0
	for range 4 {
		wg.Go(func() {
			for i := range 20_000 {
				lock()
				if inside++; inside != 1 {
					t.Errorf("%d owners", inside)
				}
				if i%2 == 0 {
					m.raiseOwn()
					m.lower()
				}
				inside--
				m.Unlock()
			}
		})
	}
	wg.Wait()
}
