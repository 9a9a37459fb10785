package picture_test

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/speedup"
)

func ExampleDrawStacks() {
	s := &speedup.Stack{N: 4, Speedup: 2.5, Remainder: 0.5}
	s.Components[speedup.SyncMutex] = 1
	var svg bytes.Buffer
	d, err := picture.DrawStacks([]*speedup.Stack{s}, picture.Options{Title: "thumbnails"})
	if err == nil {
		err = d.SVG(&svg)
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(svg.String(), "2.50 times faster with 4 workers"))
	// Output: true
}

// From left to right: the waiters, and what they waited for.
func ExampleDrawContention() {
	cache := &contention.Lock{ID: 1, Name: "cache"}
	p := &contention.Profile{
		Duration: time.Second,
		Locks:    []*contention.Lock{cache},
		Waits:    []contention.Wait{{Kind: contention.MutexKind, Lock: cache, Waiter: contention.Party{Group: "main.serve"}, Contentions: 10, Waited: 400 * time.Millisecond, Blamed: 400 * time.Millisecond}},
		Pairs: []contention.Wait{{Kind: contention.MutexKind, Lock: cache, Waiter: contention.Party{Group: "main.serve"}, Owner: contention.Party{Group: "main.evict"},
			Contentions: 10, Blamed: 400 * time.Millisecond}},
	}
	var svg bytes.Buffer
	d, err := picture.DrawContention(p, picture.Options{})
	if err == nil {
		err = d.SVG(&svg)
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(svg.String(), "400 ms waited in 1 s; most for main.evict: 400 ms (100%)"))
	// Output: true
}
