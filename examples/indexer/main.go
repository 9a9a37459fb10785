// Indexer is the toy program of the project's README: it loads documents one after another, then
// indexes them with one worker per processor.
//
//	go run ./examples/indexer -trace indexer.trace
//	go run ./cmd/bottleneck graph indexer.trace
//
// A CPU profile sums over all processors and shows both functions. The bottle graph shows that load
// keeps the program from getting faster.
//
// With -serve it repeats this and serves net/http/pprof, to try the graph of a running service.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/counters"
)

func main() {
	defer counters.FromEnvironment()() // for "bottleneck record -counters"
	traceFile := flag.String("trace", "", "write an execution trace of one run to this file")
	documents := flag.Int("documents", 400, "number of documents")
	serve := flag.String("serve", "", "run over and over, serving net/http/pprof on this address, such as localhost:6060")
	limit := flag.Duration("for", 20*time.Second, "with -serve: stop after this time")
	flag.Parse()
	if *serve != "" {
		serveFor(*serve, *limit, *documents)
	} else if err := record(*traceFile, func() { run(*documents) }); err != nil {
		log.Fatal(err)
	}
}

// run is one run of the program.
func run(documents int) int {
	docs := load(documents)
	return index(docs)
}

// load makes the documents, one after another.
func load(n int) []string {
	docs := make([]string, n)
	for i := range docs {
		docs[i] = document(i)
	}
	return docs
}

// index counts the words of all documents, with one worker per processor.
func index(docs []string) (words int) {
	next := make(chan string)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { worker(next, &mu, &words) })
	}
	for _, d := range docs {
		next <- d
	}
	close(next)
	wg.Wait()
	return words
}

func worker(docs <-chan string, mu *sync.Mutex, words *int) {
	for d := range docs {
		n := count(d)
		mu.Lock()
		*words += n
		mu.Unlock()
	}
}

// document writes 50,000 words of two letters, and proofreads them.
func document(seed int) string {
	var b strings.Builder
	x := uint32(seed)*2654435761 + 1
	for range 50_000 {
		for range 2 {
			for range 8 {
				x = x*1664525 + 1013904223
			}
			b.WriteByte('a' + byte(x>>24)%26)
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// count counts the distinct words of a document.
func count(doc string) int {
	seen := map[string]int{}
	for w := range strings.FieldsSeq(doc) {
		seen[w]++
	}
	return len(seen)
}

// record runs f, under the tracer if file is not empty.
func record(file string, f func()) error {
	start := time.Now()
	if file != "" {
		out, err := os.Create(file)
		if err != nil {
			return err
		}
		defer out.Close()
		if err := trace.Start(out); err != nil {
			return err
		}
		defer trace.Stop()
	}
	f()
	fmt.Printf("indexed in %v with GOMAXPROCS %d\n", time.Since(start).Round(time.Millisecond), runtime.GOMAXPROCS(0))
	return nil
}

func serveFor(addr string, d time.Duration, documents int) {
	go func() { log.Fatal(http.ListenAndServe(addr, nil)) }()
	fmt.Printf("serving http://%s/debug/pprof/ for %v\n", addr, d)
	for end := time.Now().Add(d); time.Now().Before(end); {
		run(documents)
	}
}
