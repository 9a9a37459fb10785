package main

import (
	"errors"
	"net"
	"sync"
	"time"
)

// server is a network device that serves one request at a time: one byte in, one byte out.
type server struct {
	listener net.Listener
	each     time.Duration
	busy     sync.Mutex
}

func newServer(each time.Duration) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{listener: l, each: each}
	go s.accept()
	return s, nil
}

func (s *server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.serve(c)
	}
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	b := make([]byte, 1)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
		s.busy.Lock()
		time.Sleep(s.each)
		s.busy.Unlock()
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

func (s *server) close() { s.listener.Close() }

// client is a worker's connection to the device.
type client struct {
	r    *runner
	conn net.Conn
	b    [1]byte
}

// device connects to the device. An error is kept until the end of the run.
func (r *runner) device() *client {
	conn, err := net.Dial("tcp", r.server.listener.Addr().String())
	if err != nil {
		r.failed(err)
	}
	return &client{r: r, conn: conn}
}

func (r *runner) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = errors.Join(r.fail, err)
}

func (c *client) request() {
	if c.conn == nil {
		return
	}
	_, err := c.conn.Write(c.b[:])
	if err == nil {
		_, err = c.conn.Read(c.b[:])
	}
	if err != nil {
		c.r.failed(err)
		c.close()
	}
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
