package capture_test

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/capture"
)

func ExampleCapturer() {
	path, err := os.MkdirTemp("", "captures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(path)
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		log.Fatal(err)
	}
	defer rec.Stop()
	dir := &capture.Dir{Path: path}
	c := capture.New(capture.Options{Recorder: &rec, Sink: dir})
	done := c.Slow("checkout", time.Millisecond)
	time.Sleep(50 * time.Millisecond) // the operation
	done()
	c.Stop() // waits until the capture is stored
	list, err := dir.List()
	if err != nil {
		log.Fatal(err)
	}
	for _, info := range list {
		fmt.Println(info.Reason)
	}
	// Output: checkout runs for more than 1ms
}

// A service that captures when a request takes more than a second, or when more than a thousand
// goroutines have been ready to run for five seconds.
func Example_service() {
	var rec bottle.Recorder
	if err := rec.Start(); err != nil {
		log.Print(err)
	}
	c := capture.New(capture.Options{
		Recorder: &rec,
		Sink:     &capture.Dir{Path: "/var/lib/shop/captures"},
		Runnable: 1000,
	})
	c.Start()
	defer c.Stop()
	log.Print(http.ListenAndServe("localhost:8080", c.SlowRequests(http.DefaultServeMux, time.Second)))
}
