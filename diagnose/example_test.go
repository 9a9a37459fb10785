package diagnose_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/bottleneck-go/bottleneck"
)

// The limit of a program that spends its time under one lock.
func ExampleNew() {
	f, err := os.Open("../testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := bottleneck.Analyze(context.Background(), f, bottleneck.Options{}) // calls diagnose.New
	if err != nil {
		log.Fatal(err)
	}
	first := r.Verdict.Findings[0]
	fmt.Println(first.Title)
	fmt.Println(first.Where[0])
	fmt.Printf("at best %.2f times as fast\n", first.Gain)
	// Output:
	// The lock work.mutexWorker kept 39% of the capacity idle (293 waits, blocked for 2.3 s in all).
	// work.mutexWorker work.go:172
	// at best 1.63 times as fast
}
