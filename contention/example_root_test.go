package contention_test

import (
	"fmt"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// search is a profile in which requests wait for a cache. Its owner waits for a disk most of the
// time.
func search() *contention.Profile {
	call := func(f string) *contention.Stack {
		return &contention.Stack{Frames: []contention.Frame{{Func: f}}}
	}
	cache := &contention.Lock{ID: 1, Name: "cache"}
	get := contention.Party{Group: "main.serve", Stack: call("cache.Get")}
	fill := contention.Party{Group: "main.serve", Stack: call("cache.fill")}
	disk := contention.Party{Group: "main.disk", Stack: call("disk.Read")}
	return &contention.Profile{
		Locks: []*contention.Lock{cache},
		Waits: []contention.Wait{{Kind: contention.MutexKind, Lock: cache, Waiter: get, Contentions: 9, Waited: 10 * time.Second, Blamed: 10 * time.Second}},
		Pairs: []contention.Wait{{
			Kind: contention.MutexKind, Lock: cache, Waiter: get, Owner: fill, Contentions: 9, Blamed: 10 * time.Second,
			Running: 2 * time.Second, Blocked: map[string]time.Duration{contention.ChanReceiveKind: 8 * time.Second},
			Roots: []contention.Wait{
				{Owner: disk, Kind: contention.ChanReceiveKind, Links: 1, Contentions: 9, Blamed: 8 * time.Second},
				{Owner: fill, Contentions: 9, Blamed: 2 * time.Second},
			},
		}},
	}
}

// The root owners are the ones to make faster.
func ExampleProfile_Aggregate_roots() {
	tree, err := search().Aggregate(contention.ByLock, contention.ByRootFunc)
	if err != nil {
		panic(err)
	}
	for _, root := range tree.Children[0].Children {
		fmt.Println(root.Key, root.Blamed)
	}
	// Output:
	// disk.Read 8s
	// cache.fill 2s
}

func ExampleWait_RootOwners() {
	for _, pair := range search().Pairs {
		for _, root := range pair.RootOwners() {
			if root.Kind == "" {
				fmt.Println("the owner itself:", root.Blamed)
			} else {
				fmt.Println(root.Owner.Stack.Frames[0].Func, "via", root.Kind, root.Blamed)
			}
		}
	}
	// Output:
	// disk.Read via chan-receive 8s
	// the owner itself: 2s
}

func ExampleWait_BlockedTotal() {
	for _, lock := range search().LockTable() {
		fmt.Printf("%s: its owners ran for %v and were blocked for %v\n", lock.Lock, lock.Running, lock.BlockedTotal())
	}
	// Output:
	// cache: its owners ran for 2s and were blocked for 8s
}
