package ledger_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/ledger"
)

// The use of the capacity of a program that spends its time under one lock.
func ExampleLedger() {
	f, err := os.Open("../testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := bottleneck.Analyze(context.Background(), f, bottleneck.Options{Want: bottleneck.WantVerdict})
	if err != nil {
		log.Fatal(err)
	}
	l := r.Ledger
	for _, c := range []string{ledger.Code, ledger.WakeUp, ledger.Idle} {
		fmt.Printf("%-7s %.0f%%\n", c, 100*float64(l.Of(c))/float64(l.Capacity))
	}
	for i := range l.Rows {
		if r := &l.Rows[i]; r.Category == ledger.Idle {
			fmt.Println(strings.ReplaceAll(r.String(), ", ", ",\n\t"))
			break
		}
	}
	// Output:
	// code    61%
	// wake-up 1%
	// idle    38%
	// idle work.mutexWorker at work.mutexWorker work.go:172,
	// 	after mutex,
	// 	woken by work.mutexWorker at work.mutexWorker work.go:174; while work.mutexWorker ran
}
