package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// service is an HTTP service on this machine, with its clients: it parses a request, computes,
// looks things up in shared data, and writes an answer.
type service struct {
	*httptest.Server
	blocks int // hashed per request
	mu     sync.Mutex
	seen   map[uint64]int
}

const clients = 16

func newService(work time.Duration) *service {
	s := &service{seen: map[uint64]int{}, blocks: blocksFor(work)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = clients
	return s
}

// blocksFor returns the number of blocks whose hashing takes about the given time, by the fastest
// of several tries.
func blocksFor(work time.Duration) int {
	const n = 200
	best := time.Duration(1 << 62)
	for range 20 {
		begin := time.Now()
		hash(7, n)
		best = min(best, time.Since(begin))
	}
	return max(1, int(n*work/best))
}

func hash(key uint64, blocks int) (sum [32]byte) {
	var b [64]byte
	b[0] = byte(key)
	for range blocks {
		sum = sha256.Sum256(b[:])
		copy(b[:], sum[:])
	}
	return sum
}

type request struct {
	Key   uint64
	Words []string
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	sum := hash(q.Key, s.blocks)
	s.mu.Lock()
	s.seen[q.Key]++
	n := s.seen[q.Key]
	s.mu.Unlock()
	json.NewEncoder(w).Encode(map[string]any{"sum": sum[:], "seen": n, "words": q.Words})
}

// load sends the requests and waits for the answers.
func (s *service) load(requests int) error {
	var next atomic.Int64
	var group errgroup.Group
	for range clients {
		group.Go(func() error {
			for i := next.Add(1); i <= int64(requests); i = next.Add(1) {
				if err := s.ask(uint64(i % 1000)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *service) ask(key uint64) error {
	pr, pw := io.Pipe()
	go func() {
		pw.CloseWithError(json.NewEncoder(pw).Encode(request{Key: key, Words: []string{"what", "is", "it", "worth"}}))
	}()
	res, err := s.Client().Post(s.URL, "application/json", pr)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the service answers %s", res.Status)
	}
	return nil
}
