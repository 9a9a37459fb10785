package contention_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// serviceProfile is a profile of a service: requests wait for a cache because of its janitor, and
// for a log because of each other.
func serviceProfile() *contention.Profile {
	calls := func(group string, functions ...string) contention.Party {
		s := &contention.Stack{}
		for _, f := range functions {
			s.Frames = append(s.Frames, contention.Frame{Func: f, File: "main.go", Line: 10})
		}
		return contention.Party{Group: group, Stack: s}
	}
	get, sweep := calls("serve", "main.get", "main.serve"), calls("janitor", "main.sweep", "main.janitor")
	write := calls("serve", "main.write", "main.serve")
	cache, log := &contention.Lock{ID: 1, Name: "cache"}, &contention.Lock{ID: 2, Name: "log"}
	const kind, ms = contention.MutexKind, time.Millisecond
	return &contention.Profile{
		Duration: time.Second,
		Locks:    []*contention.Lock{cache, log},
		Waits: []contention.Wait{
			{Kind: kind, Lock: cache, Waiter: get, Contentions: 20, Waited: 90 * ms, Blamed: 80 * ms, HandOff: 10 * ms},
			{Kind: kind, Lock: log, Waiter: write, Contentions: 3, Waited: 10 * ms, Blamed: 10 * ms},
		},
		Pairs: []contention.Wait{
			{Kind: kind, Lock: cache, Waiter: get, Owner: sweep, Contentions: 20, Blamed: 80 * ms},
			{Kind: kind, Lock: log, Waiter: write, Owner: write, Contentions: 3, Blamed: 10 * ms},
		},
	}
}

func ExampleWriteJSON() {
	var saved bytes.Buffer
	if err := contention.WriteJSON(&saved, serviceProfile()); err != nil {
		panic(err)
	}
	p, err := contention.ReadJSON(&saved)
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Pairs[0].Owner.Stack, "held", p.Pairs[0].Lock, "for", p.Pairs[0].Blamed)
	// Output:
	// main.sweep main.go:10 < main.janitor main.go:10 held cache for 80ms
}

func ExampleProfile_Filter() {
	p := serviceProfile().Filter(nil, regexp.MustCompile(`\.sweep$`), 0)
	for _, w := range p.Waits { // the remaining waits are those blamed on sweep
		fmt.Println(w.Lock, w.Waited, w.HandOff)
	}
	// Output:
	// cache 80ms 0s
}

func ExampleProfile_Samples() {
	for frames, part := range serviceProfile().Samples(contention.JoinedView) {
		var stack []string
		for _, f := range frames {
			stack = append(stack, f.Func)
		}
		fmt.Println(strings.Join(stack, ";"), part.Blamed)
	}
	// Output:
	// main.serve;main.get;[lock] cache;[held by];main.sweep;main.janitor 80ms
	// main.serve;main.write;[lock] log;[held by];main.write;main.serve 10ms
	// main.serve;main.get;[lock] cache;[hand-off] 10ms
}
