package counters_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os/exec"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func ExampleStart() {
	s, err := counters.Start(counters.StartOptions{Counters: []string{"task-clock", "faults"}})
	if err != nil {
		log.Fatal(err)
	}
	counters.Mark(context.Background(), "begin")
	done := make(chan bool)
	go func() { done <- true }()
	<-done
	rec, err := s.Stop()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.Len() > 0, rec.Markers[0].Text)
	for _, c := range rec.Counters {
		var sum int64
		for _, v := range c.Values {
			if v != counters.Unknown {
				sum += v
			}
		}
		if !c.Level && sum+c.Remainder != c.Total {
			fmt.Println(c.Name, "does not add up")
		}
	}
	// Output: true begin
}

func ExampleReadFile() {
	rec, err := counters.ReadFile(context.Background(), "../testdata/small/mutex-go1.26.8.trace", counters.Options{})
	if err != nil {
		log.Fatal(err)
	}
	blocked := 0
	for i := range rec.Len() {
		if rec.Ending[i] == counters.Blocked && rec.Wait[i] == timeline.WaitMutex {
			blocked++
		}
	}
	fmt.Println("quanta that ended at a mutex:", blocked > 0)
	// Output: quanta that ended at a mutex: true
}

// A command is recorded from outside, and its archive is read.
func ExampleRun() {
	var archive bytes.Buffer
	cmd := exec.Command("./program") // whose main begins with: defer counters.FromEnvironment()()
	err := counters.Run(context.Background(), cmd, &archive, counters.RunOptions{
		Counters: []string{"cycles", "instructions", "faults"},
		Warning:  func(s string) { log.Print(s) },
	})
	if err != nil {
		log.Fatal(err)
	}
	rec, err := counters.ReadArchiveAt(context.Background(), bytes.NewReader(archive.Bytes()), int64(archive.Len()), counters.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.Len(), "quanta")
}

// Counters and another analysis in one pass over a trace.
func ExampleObserver() {
	o := counters.NewObserver(counters.Options{})
	if _, err := timeline.ReadFile(context.Background(), "../testdata/small/compute-go1.26.8.trace", timeline.Options{}, o); err != nil {
		log.Fatal(err)
	}
	rec, err := o.Recording()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.GoVersion, len(rec.Counters))
	// Output: go1.26 7
}
