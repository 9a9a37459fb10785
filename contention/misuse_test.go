package contention

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/callstack"
	"github.com/bottleneck-go/bottleneck/internal/race"
)

// Misuse that ends the process is tested in a child process, during a wait, so that the slow paths
// are taken. The message must be that of package sync or of the runtime.
var fatal = map[string]fatalCase{
	"Unlock of unlocked": {func() {
		var m Mutex
		m.Unlock()
	}, "fatal error: sync: unlock of unlocked mutex"},
	"Unlock twice with waiters": {func() {
		var m Mutex
		m.Lock()
		go func() { m.Lock(); select {} }()
		for m.registered() == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(5 * time.Millisecond)
		m.Unlock()
		m.Unlock()
		m.Unlock()
	}, "fatal error: sync: unlock of unlocked mutex"},
	"RWMutex Unlock of unlocked": {func() {
		var rw RWMutex
		rw.Unlock()
	}, "fatal error: sync: Unlock of unlocked RWMutex"},
	"RUnlock of unlocked": {func() {
		var rw RWMutex
		rw.RUnlock()
	}, "fatal error: sync: RUnlock of unlocked RWMutex"},
	"RUnlock of write-locked": {func() {
		var rw RWMutex
		rw.Lock()
		go func() { rw.Lock() }()
		for rw.registered() == 0 {
			time.Sleep(time.Millisecond)
		}
		rw.RUnlock()
	}, "fatal error: sync: RUnlock of unlocked RWMutex"},
	"self deadlock": {func() {
		var m Mutex
		m.Lock()
		m.Lock()
	}, "fatal error: all goroutines are asleep - deadlock!"},
	"deadlock of two": {func() {
		var a, b RWMutex
		step := make(chan bool)
		go func() {
			a.RLock()
			step <- true
			<-step
			b.Lock()
		}()
		<-step
		b.RLock()
		step <- true
		a.Lock()
	}, "fatal error: all goroutines are asleep - deadlock!"},
	"the runtime's layout is checked by Start": {func() {
		panic(fmt.Sprint("checked: ", callstack.GoidChecked()))
	}, "panic: checked: true"},
	"Cond without waiters": {func() {
		c := NewCond(new(Mutex))
		c.L.Lock()
		c.Wait()
	}, "fatal error: all goroutines are asleep - deadlock!"},
}

type fatalCase struct {
	do   func()
	want string
}

func TestMain(m *testing.M) {
	if c, ok := fatal[os.Getenv("CONTENTION_FATAL")]; ok {
		if err := Start(Options{}); err != nil {
			fmt.Println(err)
			os.Exit(0)
		}
		c.do()
		fmt.Println("survived")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestFatal(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip("cannot run itself: ", err)
	}
	for name, c := range fatal {
		if race.Enabled && strings.Contains(c.want, "deadlock") {
			continue // the race detector uses cgo, with which the runtime does not detect deadlocks
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, exe)
		cmd.Env = append(os.Environ(), "CONTENTION_FATAL="+name)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v; want %q in\n%s", name, err, c.want, out)
		}
	}
}
