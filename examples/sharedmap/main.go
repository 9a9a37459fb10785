// Sharedmap is what the paper on lock contention (Hofer, Gnedt, Schörgenhumer, Mössenböck, ICPE
// 2016, section 6) finds in xalan and pmd: many threads share one map, and the lock around
// it lets them in one by one. The repaired version has many maps, each with a lock of its own; the hash of
// a key tells in which one it is.
//
//	go run .                  # both versions: who waited for whom, and updates a second
//	go run . -o profiles      # writes profiles for go tool pprof, JSON and pictures, too
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/beforeafter"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sharedmap: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{}
	flag.IntVar(&o.goroutines, "goroutines", 8, "number of goroutines")
	flag.IntVar(&o.shards, "shards", 64, "number of maps of the repaired version")
	flag.IntVar(&o.compute, "compute", 4000, "steps of computation for each update, in the map's lock")
	flag.DurationVar(&o.time, "time", time.Second, "how long each version runs")
	flag.StringVar(&o.dir, "o", "", "`directory` to write profiles and pictures to")
	flag.Parse()
	if flag.NArg() > 0 || o.goroutines < 2 || o.shards < 2 || o.compute < 0 || o.time <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if _, err := o.run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

type options struct {
	goroutines, shards, compute int
	time                        time.Duration
	dir                         string
}

func (o *options) run(ctx context.Context, out io.Writer) ([]*beforeafter.Result, error) {
	version := func(shards int) func() beforeafter.Work {
		return func() beforeafter.Work { return &updates{newSharded(shards), o.compute} }
	}
	return beforeafter.Run(ctx, out, []beforeafter.Variant{
		{Name: "before", About: "one map, one lock", Start: version(1)},
		{Name: "after", About: "shards, each with a lock of its own", Start: version(o.shards)},
	}, beforeafter.Options{Goroutines: o.goroutines, Time: o.time, Dir: o.dir, Unit: "updates"})
}

// updates are what goroutines do.
type updates struct {
	m       *sharded
	compute int
}

// Do updates the next key of a goroutine.
func (u *updates) Do(g, n int) { u.m.Update(keyOf(g, n), u.compute) }

// Close has nothing to do.
func (u *updates) Close() {}
