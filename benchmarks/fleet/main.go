// Fleet writes the traces of a fleet of services, the input of measurements of bottleneck-fleet:
//
//	go run ./benchmarks/fleet /tmp/traces   # 2,000 traces, 10 GB
//
// The names of files are PART/SERVICE/VERSION/HOST/N.trace, for 5 services, 4 versions and 10 hosts.
// The parts "tenth", "half" and "rest" have a tenth, four tenths and half of them. Each version of
// each service is recorded, and its hosts have copies of that. A service has 16 clients and a
// goroutine for each request, which logs 150 bytes into the trace, computes, takes a lock, waits for
// goroutines of its own, makes garbage and writes to the null device. The higher the number of a
// service, the more goroutines and garbage it makes; a later version holds the lock longer.
//
// The script compare compares bottleneck-fleet with the command on these traces, and removes them.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
)

func main() {
	n := flag.Int("n", 2000, "`number` of traces")
	size := flag.Float64("size", 5, "`megabytes` of a trace, about")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: fleet [-n NUMBER] [-size MEGABYTES] DIRECTORY")
	}
	sum := 0
	for i := range min(20, *n) {
		const few = 2000
		data, err := record(i%5, i/5, few)
		if err == nil {
			data, err = record(i%5, i/5, int(few**size*1e6)/len(data))
		}
		for k := i; k < *n && err == nil; k += 20 {
			err = write(fileName(flag.Arg(0), k, *n), data)
			sum += len(data)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	log.Printf("%d traces, %.2f GB", *n, float64(sum)/1e9)
}

// fileName returns the name of trace number i of n.
func fileName(dir string, i, n int) string {
	part := "rest"
	if i < n/10 {
		part = "tenth"
	} else if i < n/2 {
		part = "half"
	}
	return filepath.Join(dir, fmt.Sprintf("%s/service%d/v%d/host%d/%d.trace", part, i%5, i/5%4, i/20%10, i))
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close()) // what the system writes later would disturb measurements
}

// record returns a trace in which a service answers requests.
func record(service, version, requests int) ([]byte, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	handle := func(i int64, answered chan<- struct{}) {
		trace.Log(context.Background(), "request", fmt.Sprint(i, strings.Repeat(" header", 20)))
		compute(2000)
		mu.Lock()
		compute(500 * version)
		mu.Unlock()
		var parts sync.WaitGroup
		for range service {
			parts.Go(func() { compute(1000) })
		}
		parts.Wait()
		null.Write(make([]byte, 500*service))
		answered <- struct{}{}
	}
	var sent atomic.Int64
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			answered := make(chan struct{})
			for i := sent.Add(1); i <= int64(requests); i = sent.Add(1) {
				go handle(i, answered)
				<-answered
			}
		})
	}
	clients.Wait()
	trace.Stop()
	return out.Bytes(), nil
}

func compute(n int) {
	x := 0
	for i := range n {
		x += i * i
	}
	runtime.KeepAlive(x)
}
