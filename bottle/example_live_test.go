package bottle_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A service starts a recorder once, and analyzes the last seconds on demand.
func ExampleRecorder() {
	var rec bottle.Recorder // keeps the last 5 s
	if err := rec.Start(); err != nil {
		log.Fatal(err)
	}
	defer rec.Stop()

	done := make(chan bool)
	go func() {
		defer close(done)
		time.Sleep(2 * time.Millisecond) // some work
	}()
	<-done

	r, err := bottleneck.GraphRecorder(context.Background(), &rec, bottleneck.Options{})
	if err != nil {
		log.Fatal(err)
	}
	sum := r.Bottle.Idle
	for _, b := range r.Bottle.Boxes {
		sum += b.Share
	}
	fmt.Println("shares and idle time sum to the wall time:", sum == r.Bottle.Wall)
	// Output:
	// shares and idle time sum to the wall time: true
}

// The source can be an existing flight recorder or any other writer of traces: here a file.
func ExampleRecorder_source() {
	recorded, err := os.ReadFile("../testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		log.Fatal(err)
	}
	rec := &bottle.Recorder{
		Last:   200 * time.Millisecond,
		Source: bytes.NewBuffer(recorded), // usually a *trace.FlightRecorder
	}
	r, err := bottleneck.GraphRecorder(context.Background(), rec, bottleneck.Options{})
	if err != nil {
		log.Fatal(err)
	}
	neck, _ := r.Bottle.Neck()
	fmt.Printf("in the last %v most was lost to %s\n", r.Bottle.Wall, neck[0].Group)
	// Output:
	// in the last 200ms most was lost to proto/work.mutexWorker
}

// Graphs of two instances of a service are merged into one. Windows of one instance can be merged,
// too.
func ExampleMerge() {
	a, err := bottle.ReadFile(context.Background(), "../testdata/small/mutex-go1.26.8.trace", bottle.Options{})
	if err != nil {
		log.Fatal(err)
	}
	b, err := bottle.ReadFile(context.Background(), "../testdata/small/phases-go1.26.8.trace", bottle.Options{})
	if err != nil {
		log.Fatal(err)
	}
	both, err := bottle.Merge(a, b)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(both.Instances, "instances,", both.Wall == a.Wall+b.Wall)
	// Output:
	// 2 instances, true
}

// minutes prints a graph per minute of an endless pass.
type minutes struct {
	*bottle.Observer
	next timeline.Time
}

func (m *minutes) Transition(t *timeline.Transition) {
	if t.End >= m.next {
		g := m.Cut(t.End)
		fmt.Println(g.Wall)
		m.next = t.End + timeline.Time(time.Minute)
	}
	m.Observer.Transition(t)
}

// An observer of an endless stream is cut into graphs.
func ExampleObserver_Cut() {
	m := &minutes{Observer: bottle.NewObserver(bottle.Options{})}
	stream := timeline.NewStream(timeline.StreamOptions{}, m)
	defer stream.Close()
	// runtime/trace.Start(stream)
}
