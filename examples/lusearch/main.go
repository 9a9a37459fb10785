// Lusearch answers queries on an index in memory with one task per processor, as the benchmark
// lusearch does. The queries of the first task take longer than those of the others, so at the end
// one processor works and the others are idle. It measures its tasks, prints the diagnosis, splits
// the queries into as many tasks as advised, and prints the speed-up:
//
//	go run .                        # the diagnosis and the speed-up
//	go run . -json lusearch.json    # keeps the profile for "bottleneck tasks lusearch.json"
package main

import (
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/examples/internal/advised"
)

func main() {
	queries := flag.Int("queries", 6000, "number of queries")
	advised.Main(9, func() (advised.Example, error) {
		switch {
		case *queries < 1:
			return advised.Example{}, errors.New("-queries: want at least one")
		case runtime.GOMAXPROCS(0) < 2:
			return advised.Example{}, errors.New("GOMAXPROCS must be at least 2: a single processor is never idle")
		}
		return example(*queries), nil
	})
}

func example(n int) advised.Example {
	x := newIndex()
	queries := x.queries(n)
	return advised.Example{Tasks: runtime.GOMAXPROCS(0), Work: func(tasks int, g advised.Group) (int, error) {
		return x.searchAll(queries, tasks, g)
	}}
}

// index has the documents that contain each word. Word w is in about one of w+2 documents.
type index struct {
	postings [][]uint32 // the documents of each word, in order
}

const (
	words     = 400
	documents = 200_000
)

func newIndex() *index {
	rng := rand.New(rand.NewPCG(7, 11))
	x := &index{postings: make([][]uint32, words)}
	for w := range x.postings {
		for d := uint32(rng.IntN(w + 2)); d < documents; d += uint32(1 + rng.IntN(2*w+3)) {
			x.postings[w] = append(x.postings[w], d)
		}
	}
	return x
}

// queries makes queries of three words each. The first ones ask for frequent words and take longer,
// as in a log that is sorted by words.
func (x *index) queries(n int) [][]int {
	rng := rand.New(rand.NewPCG(13, 17))
	out := make([][]int, n)
	for i := range out {
		from := words * i / n * 3 / 4
		out[i] = []int{from + rng.IntN(words/4), from + rng.IntN(words/4), from + rng.IntN(words/4)}
	}
	return out
}

// search returns the number of documents that contain all words of a query.
func (x *index) search(query []int) (hits int) {
	a := x.postings[query[0]]
	for _, w := range query[1:] {
		a = intersect(a, x.postings[w])
	}
	return len(a)
}

// intersect returns the intersection of two sorted lists.
func intersect(a, b []uint32) []uint32 {
	var both []uint32
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both = append(both, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return both
}

// searchAll answers the queries in the given number of tasks, on as many goroutines at once as
// there are processors, and returns the total number of hits.
//
//go:noinline
func (x *index) searchAll(queries [][]int, tasks int, g advised.Group) (int, error) {
	var sum atomic.Int64
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range tasks {
		batch := queries[len(queries)*i/tasks : len(queries)*(i+1)/tasks]
		g.Go(func() error {
			for _, q := range batch {
				sum.Add(int64(x.search(q)))
			}
			return nil
		})
	}
	err := g.Wait()
	return int(sum.Load()), err
}
