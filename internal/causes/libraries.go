package causes

// Programs that wait in a library, at a place of their own.

import (
	"bufio"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// requests sends requests to a slow server over a number of connections.
func requests(connections int) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(4 * time.Millisecond) }))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	Each(16, 6, func(int) { Get(client, server.URL) })
}

// Get requests a page.
func Get(client *http.Client, url string) {
	if r, err := client.Get(url); err == nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
}

func note(l *log.Logger) { l.Print("done") }

// late answers after a delay.
func late(http.ResponseWriter, *http.Request) { time.Sleep(3 * time.Millisecond) }

func limitedRequests(limit int) {
	server := httptest.NewServer(http.HandlerFunc(late))
	defer server.Close()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	defer c.CloseIdleConnections()
	var g errgroup.Group
	g.SetLimit(limit)
	for range 64 {
		g.Go(func() error {
			Get(c, server.URL)
			return nil
		})
	}
	g.Wait()
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
	Each(8*procs, 3000, func(int) { note(l) })
	w.Flush()
}

func render(http.ResponseWriter, *http.Request) { Spin(2_000_000) }

// Served runs a server, and clients that together send it a number of requests.
func Served(handler http.Handler, clients, requests int) {
	server := httptest.NewServer(handler)
	defer server.Close()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer c.CloseIdleConnections()
	Each(clients, requests/clients, func(int) { Get(c, server.URL) })
}
