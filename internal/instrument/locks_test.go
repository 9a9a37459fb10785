package instrument_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/instrument"
)

// TestDeclarations: each line with a comment //= asks for the lock of that name, whose declaration
// has a comment //- with the name. That of a question mark is unknown.
func TestDeclarations(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": "module example.com/app\n\ngo 1.26\n",
		"main.go": `package main

import (
	"fmt"
	"sync"

	"example.com/app/other"
)

var global sync.Mutex //- main.global

var cache struct {
	mu sync.RWMutex //- main.cache.mu
	m  map[string]int
}

var shards [4]struct{ sync.Mutex } //- main.shards[].Mutex

var (
	pointer   = &sync.Mutex{}
	several   []*sync.Mutex
	an        sync.Locker = pointer
	first, second sync.Mutex
)

func main() {
	global.Lock()              //= main.global
	(&global).Lock()           //= main.global
	defer global.Unlock()
	cache.mu.RLock()           //= main.cache.mu
	shards[1].Lock()           //= main.shards[].Mutex
	pointer.Lock()             //= ?
	several[0].Lock()          //= ?
	an.Lock()                  //= ?
	first.Lock(); second.Lock() //= ?
	local := sync.Mutex{}      //- main.main.local
	local.Lock()               //= main.main.local
	var once sync.Once         //- main.main.once
	once.Do(func() {           //= main.main.once
		global.Lock()      //= main.global
	})
	other.Table.Lock()         //= example.com/app/other.Table.RWMutex
	other.New().Inner.Mu.Lock() //= example.com/app/other.Inner.Mu
	fmt.Println()              //= ?
}

type list[T any] struct {
	items []T
	locks [2]sync.Mutex //- main.list.locks[]
	other.Inner
	sync.Mutex //- main.list.Mutex
	cond *sync.Cond
}

func (l *list[T]) add() {
	l.Lock()          //= main.list.Mutex
	l.locks[0].Lock() //= main.list.locks[]
	l.Mu.Lock()       //= example.com/app/other.Inner.Mu
	l.cond.L.Lock()   //= ?
}
`,
		"other/other.go": `package other

import "sync"

type Inner struct {
	N  int
	Mu sync.Mutex //- example.com/app/other.Inner.Mu
}

var Table struct {
	n int
	sync.RWMutex //- example.com/app/other.Table.RWMutex
}

type Outer struct{ Inner Inner }

func New() *Outer { return nil }
`,
	}
	write(t, dir, files)
	declared, asked := map[string]string{}, map[contention.Frame]string{}
	for _, name := range []string{"main.go", "other/other.go"} {
		function := ""
		for i, line := range strings.Split(files[name], "\n") {
			if rest, ok := strings.CutPrefix(line, "func "); ok {
				function = "main." + strings.ReplaceAll(strings.TrimSuffix(rest, "() {"), "(l *list[T]) ", "(*list[...]).")
			}
			if _, want, ok := strings.Cut(line, "//- "); ok {
				declared[want] = fmt.Sprintf("%s (%s:%d)", want, filepath.Base(name), i+1)
			} else if _, want, ok := strings.Cut(line, "//= "); ok {
				asked[contention.Frame{Func: function, File: filepath.Join(dir, name), Line: i + 1}] = want
			}
		}
	}
	later := time.Now().Add(time.Hour)
	declaration := instrument.Declarations()
	for at, name := range asked {
		if got := declaration(&contention.Stack{Frames: []contention.Frame{at}}, later); got != declared[name] {
			t.Errorf("line %d: %q, want %q", at.Line, got, declared[name])
		}
	}
	for at := range asked { // any
		if got := instrument.Declarations()(&contention.Stack{Frames: []contention.Frame{at}}, later.Add(-2*time.Hour)); got != "" {
			t.Errorf("line %d has changed: %q", at.Line, got)
		}
		break
	}
}
