package causes

// Programs that wait in a library, at a place of their own.

import (
	"bufio"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
)

// requests sends requests to a slow server over a number of connections.
func requests(connections int) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(4 * time.Millisecond) }))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	parallel(16, func(int) {
		for range 6 {
			get(client, server.URL)
		}
	})
}

func get(client *http.Client, url string) {
	if r, err := client.Get(url); err == nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
}

// idle has a server that gets no requests.
func idle() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	defer listener.Close()
	for range 4 {
		listener.(*net.TCPListener).SetDeadline(time.Now().Add(40 * time.Millisecond))
		serveOne(listener)
	}
}

func serveOne(listener net.Listener) {
	if c, err := listener.Accept(); err == nil {
		c.Close()
	}
}

// journal writes each entry to the disk before the next.
func journal() {
	f, err := os.CreateTemp("", "journal")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		enter(f)
	}
}

func enter(f *os.File) {
	f.WriteString("entry\n")
	f.Sync()
}

// logged has goroutines that log with one Logger, whose lock is held while it writes slowly.
func logged(procs int) {
	l := log.New(slow{}, "", 0)
	parallel(2*procs, func(int) {
		for range 100 {
			note(l)
			Spin(30_000)
		}
	})
}

type slow struct{}

func (slow) Write(b []byte) (int, error) {
	Spin(200_000)
	return len(b), nil
}

func note(l *log.Logger) { l.Print("done") }

// bucket releases goroutines at a rate, as a rate limiter does: one that is early sleeps until it
// is due.
type bucket struct {
	mu   sync.Mutex
	next time.Time
}

func (b *bucket) wait(every time.Duration) {
	b.mu.Lock()
	now := time.Now()
	if b.next.Before(now) {
		b.next = now
	}
	due := b.next.Sub(now)
	b.next = b.next.Add(every)
	b.mu.Unlock()
	if due > 0 {
		t := time.NewTimer(due)
		<-t.C
	}
}

func rated() {
	b := &bucket{}
	parallel(4, func(int) {
		for range 30 {
			b.wait(2 * time.Millisecond)
			Spin(20_000)
		}
	})
}

// pulled has an iterator that a goroutine pulls from.
func pulled() {
	next, stop := iter.Pull(pulledValues)
	defer stop()
	for {
		if _, more := next(); !more {
			return
		}
		Spin(5_000)
	}
}

func pulledValues(yield func(int) bool) {
	for i := range 30_000 {
		Spin(5_000)
		if !yield(i) {
			return
		}
	}
}

// shared has goroutines request the same value at the same time.
func shared(procs int) {
	var group singleflight.Group
	parallel(4*procs, func(int) {
		for range 4 {
			lookUp(&group)
		}
	})
}

func lookUp(group *singleflight.Group) {
	group.Do("key", func() (any, error) {
		Spin(40_000_000)
		return nil, nil
	})
}

// late answers after a delay.
func late(http.ResponseWriter, *http.Request) { time.Sleep(3 * time.Millisecond) }

// client requests one page at a time from one server.
type client struct {
	mu  sync.Mutex
	url string
}

func (c *client) fetch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	get(http.DefaultClient, c.url)
}

func lockedRequests() {
	server := httptest.NewServer(http.HandlerFunc(late))
	defer server.Close()
	c := &client{url: server.URL}
	parallel(8, func(int) {
		for range 8 {
			c.fetch()
			Spin(20_000)
		}
	})
}

func limitedRequests(limit int) {
	server := httptest.NewServer(http.HandlerFunc(late))
	defer server.Close()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	defer c.CloseIdleConnections()
	var g errgroup.Group
	g.SetLimit(limit)
	for range 64 {
		g.Go(func() error {
			get(c, server.URL)
			return nil
		})
	}
	g.Wait()
}

// dial connects to a server of its own that echoes what it reads, after a while.
func dial(after time.Duration) (p *peer, hangUp func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for b := make([]byte, 8); ; {
			if _, err := io.ReadFull(conn, b); err != nil {
				return
			}
			if after > 0 {
				time.Sleep(after)
			}
			conn.Write(b)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		listener.Close()
		return nil, nil, err
	}
	return &peer{conn: conn}, func() { conn.Close(); listener.Close() }, nil
}

// oneByOne has a goroutine that sends many small requests to a server.
func oneByOne() {
	p, hangUp, err := dial(0)
	if err != nil {
		return
	}
	defer hangUp()
	for range 4000 {
		if p.ask() != nil {
			return
		}
	}
}

// oneConnection has goroutines that share a connection to a slow server.
func oneConnection() {
	p, hangUp, err := dial(time.Millisecond)
	if err != nil {
		return
	}
	defer hangUp()
	parallel(12, func(int) {
		for range 20 {
			if p.ask() != nil {
				return
			}
			Spin(100_000)
		}
	})
}

// peer is a connection with one request in progress at a time.
type peer struct {
	mu   sync.Mutex
	conn net.Conn
}

func (p *peer) ask() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := make([]byte, 8)
	if _, err := p.conn.Write(b); err != nil {
		return err
	}
	_, err := io.ReadFull(p.conn, b)
	return err
}

// written has goroutines that log to a file with one Logger, which writes under its lock.
func written(procs, buffer int) {
	f, err := os.CreateTemp("", "log")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	w := bufio.NewWriterSize(f, buffer)
	l := log.New(w, "", log.LstdFlags)
	parallel(8*procs, func(int) {
		for range 3000 {
			note(l)
		}
	})
	w.Flush()
}

// visits counts requests under a lock that it holds for too long.
type visits struct {
	mu sync.Mutex
	n  map[string]int
}

func (v *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n[r.URL.Path]++
	Spin(400_000)
}

func render(http.ResponseWriter, *http.Request) { Spin(2_000_000) }

// served runs a server, and clients that together send it a number of requests.
func served(handler http.Handler, clients, requests int) {
	server := httptest.NewServer(handler)
	defer server.Close()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer c.CloseIdleConnections()
	parallel(clients, func(int) {
		for range requests / clients {
			get(c, server.URL)
		}
	})
}
