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
	seen   map[int]int
}

const clients = 16

func newService(work time.Duration) *service {
	s := &service{seen: map[int]int{}}
	const blocks = 200
	best := time.Duration(1 << 62)
	for range 20 {
		begin := time.Now()
		hash(7, blocks)
		best = min(best, time.Since(begin))
	}
	s.blocks = max(1, int(blocks*work/best))
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = clients
	return s
}

func hash(key, blocks int) (sum [32]byte) {
	var b [64]byte
	b[0] = byte(key)
	for range blocks {
		sum = sha256.Sum256(b[:])
		copy(b[:], sum[:])
	}
	return sum
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Key   int
		Words []string
	}
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
				from, to := io.Pipe()
				go func() {
					_, err := fmt.Fprintf(to, `{"Key": %d, "Words": ["what", "is", "it", "worth"]}`, i%1000)
					to.CloseWithError(err)
				}()
				res, err := s.Client().Post(s.URL, "application/json", from)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, res.Body)
				if err == nil && res.StatusCode != http.StatusOK {
					err = fmt.Errorf("the service answers %s", res.Status)
				}
				if res.Body.Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
