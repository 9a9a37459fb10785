// Service is an HTTP service with three typical parts: a pool of workers, a shared cache, and a
// log. Two of its locks are held for too long. It shows how the live handlers of package
// exporters/live find them, and what the repairs gain. README.md walks through it.
//
//	go run .                                 # the whole story: load, graph, repair, load again
//	go run . -o pictures                     # the same, with pictures
//	go run . -serve localhost:8080           # the service, until it is interrupted
//	go run . -load http://localhost:8080/    # its load generator
//	go run . -serve localhost:8080 -repair-cache -repair-log
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("service: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := defaults
	flag.StringVar(&o.serve, "serve", "", "local `address` to serve on, instead of the story")
	flag.StringVar(&o.debug, "debug", o.debug, "local `address` of the debug pages of -serve")
	flag.StringVar(&o.load, "load", "", "`URL` of a service to load, instead of the story")
	flag.BoolVar(&o.repair.cache, "repair-cache", false, "with -serve: repair the cache")
	flag.BoolVar(&o.repair.log, "repair-log", false, "with -serve: repair the log")
	flag.IntVar(&o.clients, "clients", o.clients, "number of clients of the load generator")
	flag.DurationVar(&o.time, "time", o.time, "time of the load in each part of the story; with -load, 0 means forever")
	flag.StringVar(&o.dir, "o", "", "`directory` to write pictures of the story to")
	flag.Parse()
	if flag.NArg() > 0 || o.clients < 1 || o.time < 0 || o.serve != "" && o.load != "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := o.run(ctx, os.Stdout); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// options are the flags.
type options struct {
	serve, debug, load string
	repair             repairs
	clients            int
	time               time.Duration
	dir                string
}

var defaults = options{debug: "localhost:8081", clients: 32, time: 2 * time.Second}

func (o *options) run(ctx context.Context, w io.Writer) error {
	switch {
	case o.load != "":
		return o.generate(ctx, w)
	case o.serve != "":
		return o.listen(ctx, w)
	}
	_, err := o.chapters(ctx, w)
	return err
}

// listen serves until ctx is done, on local addresses only.
func (o *options) listen(ctx context.Context, w io.Writer) error {
	s, err := start(o.serve, o.debug, o.repair, true)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Serving %sitem/1, and the debug pages %s.\n", s.url, s.debug)
	<-ctx.Done()
	return s.stop()
}

// generate loads a service and prints its rate every second.
func (o *options) generate(ctx context.Context, w io.Writer) error {
	if o.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.time)
		defer cancel()
	}
	l, err := newLoad(o.load, o.clients)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	wait := l.start(ctx)
	go func() { ended <- wait() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := l.count(); ; {
		select {
		case <-tick.C:
			now := l.count()
			fmt.Fprintf(w, "%7.0f requests/s\n", now.rate(last))
			last = now
		case err := <-ended: // at the end of the time, or when all clients have failed
			return err
		}
	}
}

// repairs is the set of repairs.
type repairs struct{ cache, log bool }

// readHeaderTimeout is for clients that connect and send nothing.
const readHeaderTimeout = 10 * time.Second
