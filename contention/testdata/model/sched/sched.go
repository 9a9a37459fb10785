// Package sched runs a few goroutines one step at a time, in every order.
//
// A run is a sequence of choices: the goroutine that takes the next step, and the value of a random
// number. Explore repeats the program with the next sequence until there is none left, depth first.
// A step is the code of a goroutine between two calls of Step. A switch away from a goroutine that
// could continue is a preemption. The number of preemptions may be limited, as in M. Musuvathi, S.
// Qadeer, "Iterative context bounding for systematic testing of multithreaded programs", PLDI 2007.
package sched

import (
	"fmt"
	"os"
)

type goroutine struct {
	name    string
	wake    chan struct{}
	enabled func() bool // whether its next step can be taken; nil: it can
	next    step        // for messages
	yielded bool        // it waits for others to take a step
	done    bool
}

type choice struct{ taken, of int }

var (
	all         []*goroutine
	current     *goroutine
	finished    chan struct{}
	path        []choice
	at          int // in path
	preemptions int // left in this run
	log         []step
	ready       []*goroutine // pick's, kept for the next call
)

// A step is formatted only if a run fails.
type step struct {
	goroutine, what string
	args            []int64
}

func (s step) String() string {
	args := make([]any, len(s.args))
	for i, a := range s.args {
		args[i] = a
	}
	return fmt.Sprintf(s.what, args...)
}

// Explore runs program, which calls Go and returns the final check, in all orders with at most the
// given number of preemptions, and returns the number of orders. A failure ends the process.
func Explore(most int, program func() (check func())) (runs int) {
	path = nil
	for {
		all, at, preemptions, log = nil, 0, most, log[:0]
		finished = make(chan struct{})
		current = nil
		check := program()
		resume(pick())
		<-finished
		current = nil
		check()
		runs++
		for len(path) > 0 && path[len(path)-1].taken == path[len(path)-1].of-1 {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return runs
		}
		path[len(path)-1].taken++
	}
}

// Go adds a goroutine.
func Go(name string, f func()) {
	g := &goroutine{name: name, wake: make(chan struct{}), next: step{name, "start", nil}}
	all = append(all, g)
	go func() {
		<-g.wake
		f()
		g.done = true
		if next := pick(); next != nil {
			resume(next)
		} else {
			close(finished)
		}
	}()
}

// Step lets others run before the next step of the calling goroutine, which can be taken when
// enabled returns true. Messages describe it by what, a format, and its arguments.
func Step(what string, enabled func() bool, args ...int64) {
	g := current
	if g == nil { // the check at the end
		return
	}
	g.next, g.enabled = step{g.name, what, args}, enabled
	next := pick()
	if next != g {
		resume(next)
		<-g.wake
	}
	log = append(log, g.next)
	for _, other := range all {
		if other != g {
			other.yielded = false
		}
	}
	g.enabled = nil
}

// Yield is runtime.Gosched.
func Yield() {
	current.yielded = true
	Step("Gosched", nil)
	current.yielded = false
}

func resume(g *goroutine) {
	current = g
	g.wake <- struct{}{}
}

// pick returns the goroutine that takes the next step, or nil if all are done.
func pick() *goroutine {
	ready = ready[:0]
	add := func(g *goroutine, yielded bool) {
		if !g.done && g.yielded == yielded && (g.enabled == nil || g.enabled()) {
			ready = append(ready, g)
		}
	}
	goesOn := false
	for _, yielded := range []bool{false, true} {
		if current != nil {
			add(current, yielded)
			goesOn = len(ready) > 0 && !yielded
		}
		if goesOn && preemptions == 0 {
			break
		}
		for _, g := range all {
			if g != current {
				add(g, yielded)
			}
		}
		if len(ready) > 0 {
			break
		}
	}
	if len(ready) == 0 {
		for _, g := range all {
			if !g.done {
				Fail("deadlock")
			}
		}
		return nil
	}
	i := Choose(len(ready))
	if goesOn && i > 0 {
		preemptions--
	}
	return ready[i]
}

// Choose returns each number below n in some run.
func Choose(n int) int {
	if n == 1 {
		return 0
	}
	if at == len(path) {
		path = append(path, choice{0, n})
	}
	c := path[at]
	if c.of != n {
		Fail("the program is not deterministic")
	}
	at++
	return c.taken
}

// Fail ends the process, and prints the steps that lead to the failure.
func Fail(why string, args ...any) {
	for _, s := range log {
		fmt.Printf("%s: %v\n", s.goroutine, s)
	}
	for _, g := range all {
		if !g.done {
			fmt.Printf("%s is about to: %v\n", g.name, g.next)
		}
	}
	fmt.Printf(why+"\n", args...)
	os.Exit(1)
}
