package contention_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// short drops the path of the package.
func short(function string) string { return function[strings.LastIndexByte(function, '.')+1:] }

// print prints waiters and owners without the times, which vary.
func print(p *contention.Profile) {
	for _, q := range p.Pairs {
		fmt.Printf("%s: %s waited for %s", q.Kind, short(q.Waiter.Stack.Frames[0].Func), short(q.Owner.Stack.Frames[0].Func))
		if q.Flags != 0 {
			fmt.Printf(" (%v)", contention.FlagNames(q.Flags))
		}
		fmt.Println()
	}
}

type account struct {
	mu      contention.Mutex
	balance int
}

// audit holds the lock for a long time.
func (a *account) audit(locked chan<- bool) {
	a.mu.Lock()
	close(locked)
	time.Sleep(10 * time.Millisecond)
	a.mu.Unlock()
}

func (a *account) deposit(n int) {
	a.mu.Lock()
	a.balance += n
	a.mu.Unlock()
}

func ExampleMutex() {
	if err := contention.Start(contention.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	a := new(account)
	locked := make(chan bool)
	go a.audit(locked)
	<-locked
	a.deposit(10)
	contention.Stop()

	p := contention.Snapshot()
	print(p)
	fmt.Println(p.Locks[0].Class[strings.LastIndexByte(p.Locks[0].Class, '/')+1:])
	// Output:
	// mutex: deposit waited for audit
	// contention_test.account
}

// A library collects independently of its host.
func ExampleCollector() {
	var mine contention.Collector
	if err := mine.Start(contention.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	a := new(account)
	locked := make(chan bool)
	go a.audit(locked)
	<-locked
	a.deposit(10)
	mine.Stop()
	print(mine.Snapshot())
	// Output: mutex: deposit waited for audit
}

func ExampleRWMutex() {
	contention.Start(contention.Options{})
	var rw contention.RWMutex
	readers := make(chan bool)
	for range 2 {
		go reader(&rw, readers)
	}
	<-readers
	<-readers
	writer(&rw) // waits for both readers, who share the blame
	contention.Stop()
	print(contention.Snapshot())
	// Output:
	// rwmutex-writer: writer waited for reader (read-owner)
}

func reader(rw *contention.RWMutex, locked chan<- bool) {
	rw.RLock()
	locked <- true
	time.Sleep(10 * time.Millisecond)
	rw.RUnlock()
}

func writer(rw *contention.RWMutex) {
	rw.Lock()
	rw.Unlock() //lint:ignore SA2001 the example is about the wait
}

func ExampleCond() {
	contention.Start(contention.Options{})
	var mu contention.Mutex
	c := contention.NewCond(&mu)
	var ready atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { announce(c, &ready) })
	await(c, &ready)
	wg.Wait()
	contention.Stop()
	for _, q := range contention.Snapshot().Pairs {
		if q.Kind == contention.CondKind {
			fmt.Printf("%s waited for %s (%v)\n", short(q.Waiter.Stack.Frames[0].Func), short(q.Owner.Stack.Frames[0].Func), contention.FlagNames(q.Flags))
		}
	}
	// Output:
	// await waited for announce (signaler)
}

func await(c *contention.Cond, ready *atomic.Bool) {
	c.L.Lock()
	for !ready.Load() {
		c.Wait()
	}
	c.L.Unlock()
}

func announce(c *contention.Cond, ready *atomic.Bool) {
	time.Sleep(10 * time.Millisecond)
	c.L.Lock()
	ready.Store(true)
	c.L.Unlock()
	c.Signal()
}

func ExampleProfile_Aggregate() {
	contention.Start(contention.Options{})
	a := new(account)
	a.mu.SetName("books")
	locked := make(chan bool)
	go a.audit(locked)
	<-locked
	a.deposit(10)
	contention.Stop()

	tree, err := contention.Snapshot().Aggregate(contention.ByLock, contention.ByOwnerFunc)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	lock := tree.Children[0]
	fmt.Println(lock.Key, lock.Contentions, lock.Waited > time.Millisecond)
	fmt.Println(short(lock.Children[0].Key))
	// Output:
	// books 1 true
	// audit
}
