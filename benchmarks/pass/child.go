package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/trace"
	"strconv"
	"sync/atomic"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// child is the work of the measured processes: record WORKLOAD SIZE FILE, boxes FILE, serial FILE,
// replay ANALYSES FILE.
func child(args []string) {
	var err error
	switch args[0] {
	case "record":
		err = recordWorkload(args[1], args[2], args[3])
	case "boxes":
		_, err = bottle.ReadFile(context.Background(), args[1], bottle.Options{})
	case "serial":
		err = serial(args[1])
	case "replay":
		err = replay(args[1], args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pass:", err)
		os.Exit(1)
	}
}

// recordWorkload records a workload until the trace has size megabytes, or for churn and crowd
// until size thousands of goroutines were started.
func recordWorkload(name, size, file string) error {
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	out := &counter{w: f}
	if err := trace.Start(out); err != nil {
		return err
	}
	deadline := time.Now().Add(5 * time.Minute)
	var asked atomic.Int64
	workloads[name](func() bool {
		if name == "churn" || name == "crowd" {
			return asked.Add(1) <= n
		}
		return out.n.Load() < n*1e6 && time.Now().Before(deadline)
	})
	trace.Stop()
	return f.Close()
}

// counter counts the bytes that are written through it.
type counter struct {
	w io.Writer
	n atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// serial reads the whole file with one Reader.
func serial(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	tr, err := xtrace.NewReader(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return err
	}
	for {
		if _, err := tr.ReadEvent(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
