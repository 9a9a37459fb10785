// Fleet writes any number of traces of a fleet of services, the input of measurements of
// bottleneck-fleet:
//
//	go run ./benchmarks/fleet -n 2000 -requests 100000 /tmp/traces   # 10 GB
//
// The names of files are SERVICE/VERSION/HOST/N.trace, for 5 services, 4 versions and 10 hosts.
// Version v of service s runs for Work(s, v) before and after it waits for a lock. So the tables
// have a closed form: the share of the goroutines of each request is 2 × (Work + 10 ns).
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/bulk"
)

// Work is the time of half a request.
func Work(service, version int) time.Duration {
	return time.Duration(1000*(1+service)+100*version) * time.Nanosecond
}

func main() {
	n := flag.Int("n", 200, "`number` of traces")
	requests := flag.Int("requests", 100_000, "`number` of requests in each trace, of 50 bytes each")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: fleet [-n NUMBER] [-requests NUMBER] DIRECTORY")
	}
	for i := range *n {
		if err := write(flag.Arg(0), i, *requests); err != nil {
			log.Fatal(err)
		}
	}
}

// write writes trace number i.
func write(dir string, i, requests int) error {
	service, version, host := i%5, i/5%4, i/20%10
	name := filepath.Join(dir, fmt.Sprintf("service%d/v%d/host%d/%d.trace", service, version, host, i))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := bulk.Service(w, fmt.Sprintf("example.com/service%d", service), requests, Work(service, version), 500); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
