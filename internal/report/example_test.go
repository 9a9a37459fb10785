package report_test

import (
	"bytes"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/report"
)

// A page of a graph alone: the other sections state why they are missing.
func ExampleWrite() {
	g := &bottle.Graph{ // or one that package bottle has read from a trace
		Wall: 900 * time.Millisecond, Idle: 40 * time.Millisecond, Procs: 4,
		Boxes: []bottle.Box{
			{Group: "main.work", Goroutines: 4, Share: 600 * time.Millisecond, Running: 2280 * time.Millisecond, Parallelism: 3.8},
			{Group: "main.merge", Goroutines: 1, Share: 260 * time.Millisecond, Running: 286 * time.Millisecond, Parallelism: 1.1},
		},
	}
	g.SetProcs(4)
	var page bytes.Buffer // a file, usually
	if err := report.Write(&page, &report.Data{Title: "merge sort", Bottle: g}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(page.String(), "<title>merge sort – bottleneck</title>"))
	// Output: true
}

// The same page, served to this machine.
func ExampleNewHandler() {
	h, err := report.NewHandler(&report.Data{Title: "merge sort", Bottle: &bottle.Graph{Wall: time.Second}}, "")
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(h) // or http.Serve on a listener of localhost
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	// Output: 200 OK text/html; charset=utf-8
}
