package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/live"
	"github.com/bottleneck-go/bottleneck/exporters/live/full"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// service answers requests for items: a worker of the pool gets the page from the cache, which
// makes it if necessary, and writes a line of the log.
type service struct {
	url   string // with a slash at the end
	debug string // the same of the debug pages
	http  *http.Server
	pool  *granularity.Pool
	tasks *granularity.Recorder
	cache cache
	log   logger
	ended chan error

	endDebug   context.CancelFunc
	debugEnded chan error
	recorder   *bottle.Recorder
	continuous *bottleneck.Continuous
}

// workers is the number of concurrent requests of the service. A worker mostly waits for the
// backend, so there are more workers than processors.
const workers = 16

// The sizes of the cache and of the item space: half of the requests find their page in the cache.
const (
	items    = 2000
	capacity = items / 2
)

// start starts a service with its debug pages on a listener of their own, which a proxy in front of
// the service does not reach. continuous is for long-running services: metrics, and answers without
// a snapshot.
func start(address, debug string, repaired repairs, continuous bool) (*service, error) {
	s := &service{ended: make(chan error, 1), debugEnded: make(chan error, 1), recorder: &bottle.Recorder{}, tasks: granularity.NewRecorder()}
	l, err := live.Listen(context.Background(), address) // on this machine
	if err != nil {
		return nil, err
	}
	d, err := live.Listen(context.Background(), debug)
	if err != nil {
		l.Close()
		return nil, err
	}
	if err := s.observe(continuous); err != nil {
		l.Close()
		d.Close()
		return nil, err
	}
	s.pool = &granularity.Pool{Name: "requests", Workers: workers, Recorder: s.tasks}
	s.cache, s.log = newLockedCache(), newLockedLog(disk{})
	if repaired.cache {
		s.cache = newShardedCache()
	}
	if repaired.log {
		s.log = newQueuedLog(disk{})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /item/{id}", s.item)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: readHeaderTimeout}
	s.url = "http://" + l.Addr().String() + "/"
	go func() { s.ended <- s.http.Serve(l) }()
	s.debug = "http://" + d.Addr().String() + "/"
	debugging, cancel := context.WithCancel(context.Background())
	s.endDebug = cancel
	go func() {
		s.debugEnded <- live.Serve(debugging, d, live.Options{Recorder: s.recorder, Continuous: s.continuous, Tasks: s.tasks, Full: full.Pages, Title: "examples/service"})
	}()
	return s, nil
}

// observe starts the sources of the live handlers.
func (s *service) observe(continuous bool) error {
	if err := s.recorder.Start(); err != nil {
		return err
	}
	if continuous {
		s.continuous = bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
		if err := s.continuous.Start(); err != nil {
			s.recorder.Stop()
			return err
		}
	}
	s.tasks.Start()
	// Wrapped locks log in the trace which goroutine held them during each wait. Waits are few
	// and long, so all of them are recorded.
	return contention.Start(contention.Options{})
}

// item answers a request with the page of an item.
func (s *service) item(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 0 || id >= items {
		http.Error(w, "there is no such item", http.StatusNotFound)
		return
	}
	page := make(chan string, 1)
	err = s.pool.SubmitContext(r.Context(), func() { page <- s.work(id) })
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, <-page)
}

// work is a task of the pool.
func (s *service) work(id int) string {
	page := s.cache.get(id)
	s.log.print(fmt.Sprintf("%s item %d, %d bytes\n", time.Now().Format(time.RFC3339Nano), id, len(page)))
	return page
}

// stop answers the requests in progress, except for those of the debug pages, and ends everything.
func (s *service) stop() error {
	s.endDebug()
	debugged := <-s.debugEnded
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := errors.Join(debugged, s.http.Shutdown(ctx))
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	err = errors.Join(err, s.pool.Close())
	s.log.close()
	s.tasks.Stop()
	err = errors.Join(err, contention.Stop())
	if s.continuous != nil {
		s.continuous.Stop()
	}
	s.recorder.Stop()
	return err
}
