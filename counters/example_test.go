package counters_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os/exec"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
)

func ExampleStart() {
	stop, err := counters.Start(counters.Options{Counters: []string{"task-clock", "faults"}})
	if err != nil {
		log.Fatal(err)
	}
	counters.Mark(context.Background(), "begin")
	done := make(chan bool)
	go func() { done <- true }()
	<-done
	rec, err := quanta.Stop(context.Background(), stop, quanta.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.Len() > 0, rec.Markers[0].Text)
	for _, c := range rec.Counters {
		var sum int64
		for _, v := range c.Values {
			if v != quanta.Unknown {
				sum += v
			}
		}
		if !c.Level && sum+c.Remainder != c.Total {
			fmt.Println(c.Name, "does not add up")
		}
	}
	// Output: true begin
}

// A command is recorded from outside, and its archive is read.
func ExampleRun() {
	var archive bytes.Buffer
	cmd := exec.Command("./program") // its main begins with: defer counters.FromEnvironment()()
	err := counters.Run(context.Background(), cmd, &archive, counters.Options{
		Counters: []string{"cycles", "instructions", "faults"},
		Warning:  func(s string) { log.Print(s) },
	})
	if err != nil {
		log.Fatal(err)
	}
	rec, err := quanta.ReadArchiveAt(context.Background(), bytes.NewReader(archive.Bytes()), int64(archive.Len()), quanta.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.Len(), "quanta")
}
