package background_test

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/schedstat"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// All go statements of the packages that a program imports are in this package, except for those
// that execute functions of the program and those of the command.
func TestAllGoroutinesOfTheModuleStartHere(t *testing.T) {
	others := map[string]string{
		"granularity/pool.go":       "executes the program's tasks",
		"granularity/group.go":      "executes the program's tasks",
		"counters/run.go":           "of the command that runs a program",
		"internal/causes/causes.go": "programs that are traced",
		"internal/causes/waits.go":  "programs that are traced",
	}
	seen := map[string]bool{}
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		if err != nil || d.IsDir() {
			if name == "cmd" || name == "examples" || name == "benchmarks" || d != nil && d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git") {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/background/") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if _, is := n.(*ast.GoStmt); is && !seen[name] {
				seen[name] = true
				if others[name] == "" {
					t.Errorf("%s has a go statement: a trace counts its goroutines as the application's", name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range others {
		if !seen[name] {
			t.Errorf("%s has no go statement", name)
		}
	}
}

// kinds records which goroutines of the module a trace has, by their calls.
type kinds struct {
	timeline.Base
	own         map[string]bool // functions in call chains of our own goroutines
	application map[string]bool // functions of the module that others call
}

func (k *kinds) Transition(t *timeline.Transition) {
	if t.Stack == nil {
		return
	}
	for _, f := range t.Stack.Frames {
		rest, ok := strings.CutPrefix(f.Func, "github.com/bottleneck-go/bottleneck/")
		switch {
		case !ok:
		case t.G.Kind == timeline.Tracer:
			k.own[rest] = true
		case t.G.Kind == timeline.Application:
			k.application[rest] = true
		}
	}
}

// Every helper is started while a trace is recorded.
func TestHelpersAreNotTheApplicationInATrace(t *testing.T) {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Minute})
	if err := recorder.Start(); err != nil {
		t.Skip(err)
	}
	defer recorder.Stop()

	callstack.Goid()
	tasks := granularity.NewRecorder()
	tasks.Start()
	stop := schedstat.Watch(os.Getpid())
	if stop, err := counters.Start(counters.Options{}); err != nil {
		t.Log("no counters: ", err)
	} else if err := stop(io.Discard); err != nil { // continuous takes traces, too
		t.Error(err)
	}
	if err := contention.Start(contention.Options{Exact: true}); err != nil {
		t.Fatal(err)
	}
	continuous := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
	if err := continuous.Start(); err != nil {
		t.Log("no continuous analysis: ", err)
	}
	pool := &granularity.Pool{Workers: 2, Recorder: tasks}
	var mu contention.Mutex
	var waiting sync.WaitGroup
	for range 4 {
		waiting.Go(func() {
			for range 300 { // until the buffer of events is written
				mu.Lock()
				time.Sleep(10 * time.Microsecond)
				mu.Unlock()
			}
		})
	}
	pool.Submit(func() { time.Sleep(time.Millisecond) })
	waiting.Wait()
	pool.Close()
	continuous.Stop()
	contention.Stop()
	stop()
	tasks.Stop()
	var first, recorded bytes.Buffer
	if _, err := recorder.WriteTo(&first); err != nil {
		t.Fatal(err)
	}
	timeline.Read(context.Background(), &first, timeline.Options{})
	if _, err := recorder.WriteTo(&recorded); err != nil {
		t.Fatal(err)
	}
	k := &kinds{own: map[string]bool{}, application: map[string]bool{}}
	if _, err := timeline.Read(context.Background(), &recorded, timeline.Options{}, k); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"granularity.(*Recorder).Start.func", "internal/schedstat.(*meter).loop", "timeline."} {
		found := false
		for fn := range k.own {
			found = found || strings.HasPrefix(fn, want)
		}
		if !found {
			t.Errorf("no goroutine of our own calls %s…; they call %v", want, k.own)
		}
	}
	for fn := range k.application {
		if fn == "internal/background.run" { // one may be preempted in Go, which starts another
			t.Errorf("a goroutine of the application calls %s", fn)
		}
	}
	if !k.application["granularity.(*Pool).work"] {
		t.Error("the workers of a pool, which execute the program's tasks, are not the application's")
	}
}
