package timeline_test

import (
	"fmt"
	"log"
	"runtime/trace"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// births counts the started goroutines, and records the gaps.
type births struct {
	timeline.Base
	born int
	gaps timeline.Time
}

func (b *births) Transition(t *timeline.Transition) {
	if t.State == timeline.NotExist {
		b.born++
	}
}

func (b *births) Gap(from, to timeline.Time) { b.gaps += to - from }

// A program reads its own trace while it runs, with one percent of the machine.
func ExampleStream() {
	b := &births{}
	stream := timeline.NewStream(timeline.StreamOptions{Budget: 0.01}, b)
	if err := trace.Start(stream); err != nil {
		log.Fatal(err) // another trace is running
	}
	done := make(chan bool)
	for range 3 {
		go func() { done <- true }()
	}
	for range 3 {
		<-done
	}
	trace.Stop()
	if err := stream.Close(); err != nil {
		log.Fatal(err)
	}
	st := stream.Stats()
	fmt.Println("every generation is read or counted as dropped:", st.Generations+st.Dropped.Generations > 0 && st.Pending == 0)
	fmt.Println("births are known:", b.born >= 3)
	fmt.Println("time without news:", time.Duration(b.gaps))
	// Output:
	// every generation is read or counted as dropped: true
	// births are known: true
	// time without news: 0s
}
