package main

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck"
)

// A trace has a goroutine for each request, and one for each of its parts.
func TestRecord(t *testing.T) {
	const requests, service = 300, 2
	data, err := record(service, 1, requests)
	if err != nil {
		t.Fatal(err)
	}
	r, err := bottleneck.Analyze(t.Context(), bytes.NewReader(data), bottleneck.Options{Want: bottleneck.WantVerdict})
	if err != nil {
		t.Fatal(err)
	}
	goroutines := map[string]int{}
	for _, b := range r.Bottle.Boxes {
		goroutines[path.Base(b.Group)] = b.Goroutines
	}
	if n := goroutines["fleet.record.func1"]; n != requests {
		t.Errorf("%d goroutines handle requests, want %d: %v", n, requests, goroutines)
	}
	parts := 0
	for name, n := range goroutines {
		if strings.HasSuffix(name, " (WaitGroup.Go)") {
			parts += n
		}
	}
	if parts != requests*service {
		t.Errorf("%d goroutines of requests, want %d: %v", parts, requests*service, goroutines)
	}
}

func TestFileNames(t *testing.T) {
	parts := map[string]int{}
	names := map[string]bool{}
	for i := range 2000 {
		name := fileName("x", i, 2000)
		parts[name[:3]]++
		names[name] = true
	}
	if len(names) != 2000 || parts["x/t"] != 200 || parts["x/h"] != 800 || parts["x/r"] != 1000 {
		t.Errorf("%d names, parts %v", len(names), parts)
	}
	if got := fileName("x", 1999, 2000); got != "x/rest/service4/v3/host9/1999.trace" {
		t.Error(got)
	}
}
