package bottleneck_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
)

// A service analyzes itself continuously, and prints once a minute what lost most of the capacity
// of its processors.
func ExampleContinuous() {
	live := bottleneck.NewContinuous(bottleneck.ContinuousOptions{Budget: 0.01})
	if err := live.Start(); err != nil {
		log.Fatal(err) // another trace is running: errors.Is(err, bottleneck.ErrTracing)
	}
	defer live.Stop()

	for range time.Tick(time.Minute) {
		l := live.Last(time.Minute)
		neck, _ := l.Bottle.Neck()
		for _, b := range neck {
			fmt.Println(b.Lost, "lost while these ran:", b.Group)
		}
		if d := l.Stream.Dropped; d.Generations > 0 {
			fmt.Printf("%d of %d windows were dropped, of %v in all\n", d.Generations, d.Generations+l.Stream.Generations, d.Duration)
		}
	}
}

// All analyses of the last seconds.
func ExampleAnalyzeRecorder() {
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		log.Fatal(err)
	}
	defer rec.Stop()
	time.Sleep(2 * time.Millisecond)

	report, err := bottleneck.AnalyzeRecorder(context.Background(), &rec, bottleneck.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("of the same time:", report.Bottle.Wall == report.Contention.Duration && report.Bottle.Wall == report.Tasks.Wall)
	// Output:
	// of the same time: true
}
