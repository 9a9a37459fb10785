package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load is a load generator: clients that request one item after another.
type load struct {
	url     string
	clients int
	client  *http.Client
	done    atomic.Int64
	took    func(begin time.Time) // is called with the begin of each answered request; may be nil
	err     atomic.Pointer[error] // the first
}

func newLoad(service string, clients int) (*load, error) {
	u, err := url.Parse(service)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not the URL of a service", service)
	}
	u.Path = "/item/"
	transport := &http.Transport{MaxIdleConnsPerHost: clients, MaxConnsPerHost: clients}
	return &load{url: u.String(), clients: clients, client: &http.Client{Transport: transport}}, nil
}

// start sends requests until ctx is done. The returned function waits for the end and returns the
// first error of a request.
func (l *load) start(ctx context.Context) (wait func() error) {
	var clients sync.WaitGroup
	for id := range l.clients {
		clients.Go(func() { l.ask(ctx, rand.New(rand.NewPCG(1, uint64(id)))) })
	}
	return func() error {
		clients.Wait()
		l.client.CloseIdleConnections()
		if err := l.err.Load(); err != nil {
			return *err
		}
		return nil
	}
}

// ask is one client.
func (l *load) ask(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		begin := time.Now()
		err := l.get(ctx, random.IntN(items))
		switch {
		case err == nil:
			l.done.Add(1)
			if l.took != nil {
				l.took(begin)
			}
		case ctx.Err() == nil:
			l.err.CompareAndSwap(nil, &err)
			return
		}
	}
}

// get requests an item and checks the answer.
func (l *load) get(ctx context.Context, id int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint(l.url, id), nil)
	if err != nil {
		return err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK || !strings.HasPrefix(string(page), fmt.Sprintf("item %d: ", id)):
		return fmt.Errorf("item %d: %s: %.100s", id, resp.Status, page)
	}
	return nil
}

// count is the number of requests answered so far.
type count struct {
	requests int64
	at       time.Time
}

func (l *load) count() count { return count{l.done.Load(), time.Now()} }

// rate is the number of requests per second since an earlier count.
func (c count) rate(since count) float64 {
	return float64(c.requests-since.requests) / c.at.Sub(since.at).Seconds()
}
