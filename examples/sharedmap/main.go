// Sharedmap is what the paper on lock contention (Hofer, Gnedt, Schörgenhumer, Mössenböck, ICPE
// 2016, section 6) finds in xalan and pmd: many threads share one map, and the lock around it
// admits them one by one. The repaired version has many maps with a lock each. The hash of a key
// selects the map.
//
//	go run .                  # both versions: waiters, owners and updates per second
//	go run . -o profiles      # writes profiles for go tool pprof, JSON and pictures, too
package main

import (
	"flag"

	"github.com/bottleneck-go/bottleneck/examples/internal/beforeafter"
)

func main() {
	o := options{}
	flag.IntVar(&o.shards, "shards", 64, "number of maps of the repaired version")
	flag.IntVar(&o.compute, "compute", 4000, "steps of computation for each update, under the map's lock")
	beforeafter.Main("updates", func() bool { return o.shards >= 2 && o.compute >= 0 }, o.variants)
}

type options struct{ shards, compute int }

func (o *options) variants() []beforeafter.Variant {
	version := func(shards int) func() (func(g, n int), func()) {
		return func() (func(g, n int), func()) {
			m := newSharded(shards)
			return func(g, n int) { m.Update(keyOf(g, n), o.compute) }, func() {}
		}
	}
	return []beforeafter.Variant{
		{Name: "before", About: "one map, one lock", Start: version(1)},
		{Name: "after", About: "shards, each with a lock of its own", Start: version(o.shards)},
	}
}
