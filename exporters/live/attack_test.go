package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// ask sends a request of any method.
func ask(t *testing.T, method, url string) answer {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp, string(body)}
}

// A hundred concurrent clients request everything, and some of them hang up or read slowly. Each
// gets an answer or the time of the next try, and no memory is held afterwards.
func TestManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), &made{live: report()})
	base := serve(t, h, nil)
	at := strings.Split(base, "/")[2]
	var paths []string
	for _, e := range endpoints {
		for _, f := range e.forms {
			if f != formPNG {
				paths = append(paths, e.name+"?format="+string(f))
			}
		}
	}
	paths = append(paths, "", "nothing", "metrics", "wall?seconds=1", "graph?group=start", "graph?seconds=-1", "trace?seconds=1e9", "graph?view=owner", "../../etc/passwd", "graph/", "%00", "?x", "graph?"+strings.Repeat("a", 900))
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for range 5 {
				path := paths[rng.IntN(len(paths))]
				c, err := net.Dial("tcp", at)
				if err != nil {
					t.Error(err)
					return
				}
				method := []string{"GET", "GET", "GET", "HEAD", "POST", "OPTIONS"}[rng.IntN(6)]
				fmt.Fprintf(c, "%s /debug/bottleneck/%s HTTP/1.1\r\nHost: localhost\r\nX-Long: %s\r\n\r\n", method, path, strings.Repeat("x", rng.IntN(100_000)))
				switch rng.IntN(4) {
				case 0: // hang up
					c.Close()
					continue
				case 1: // read slowly
					time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
				}
				resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
				if err != nil {
					t.Errorf("%s %s: %v", method, path, err)
					c.Close()
					continue
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Errorf("%s %s: %s: %v", method, path, resp.Status, err)
				}
				c.Close()
				if resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented && resp.Header.Get("Retry-After") == "" {
					t.Errorf("%s %s: %s", method, path, resp.Status)
				}
				if resp.StatusCode < 300 && (method == "POST" || method == "OPTIONS") {
					t.Errorf("%s %s: %s", method, path, resp.Status)
				}
			}
		})
	}
	wg.Wait()
	eventuallyFree(t, h)
	for begin := time.Now(); len(h.collections()) > 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("still busy: %v", h.collections())
		}
	}
}

// A client that reads nothing loses its answer at the answer's deadline, and the memory is
// released. The server has no WriteTimeout.
func TestClientThatReadsNothing(t *testing.T) {
	t.Parallel()
	r := readTape(t, smallTrace)
	r.data = append(r.data, make([]byte, 32<<20)...) // more than the buffers of a connection
	h := newHandler(Options{}, r, nil)
	h.sendTime = func(int64) time.Duration { return 300 * time.Millisecond }
	base := serve(t, h, nil)
	c, err := net.Dial("tcp", strings.Split(base, "/")[2])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /debug/bottleneck/trace HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for h.latest.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	eventuallyFree(t, h)
}

// The deadline of an answer does not apply to a later answer of the service on the same
// connection.
func TestDeadlineOfAnAnswerIsNotThatOfTheNext(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), nil)
	h.sendTime = func(int64) time.Duration { return time.Second }
	base := serve(t, h, nil)
	c, err := net.Dial("tcp", strings.Split(base, "/")[2])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	from := bufio.NewReader(c)
	fmt.Fprint(c, "GET /debug/bottleneck/graph HTTP/1.1\r\nHost: localhost\r\n\r\n")
	resp, err := http.ReadResponse(from, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal("graph: ", err)
	}
	io.Copy(io.Discard, resp.Body)
	time.Sleep(1200 * time.Millisecond)
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if resp, err := http.ReadResponse(from, nil); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Error("the answer of the service itself: ", err)
	}
}

// A socket left by a killed process does not prevent the next one from listening. A socket in use
// does.
func TestStaleSocketIsReplaced(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Skip("no Unix sockets: ", err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	l, err := Listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if again, err := Listen(t.Context(), "unix:"+path); err == nil {
		again.Close()
		t.Error("two listen on one socket")
	}
	file := filepath.Join(dir, "precious")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), "unix:"+file); err == nil {
		t.Error("a socket takes the place of a file")
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "x" {
		t.Error("the file has gone")
	}
}

// onceBroken is an observer that panics in its first generation.
type onceBroken struct {
	timeline.Base
	mu     sync.Mutex
	broken bool
}

func (o *onceBroken) Begin(timeline.Time, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.broken {
		o.broken = true
		panic("a fault of the observer")
	}
}

// After a panic of an observer the analysis restarts. The pages and a metric report it.
func TestPanickingObserver(t *testing.T) {
	underLoad(t)
	opt := bottleneck.ContinuousOptions{Budget: 1}
	opt.Observers = []timeline.Observer{&onceBroken{}}
	c := bottleneck.NewContinuous(opt)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	base := serve(t, newHandler(Options{Continuous: c}, nil, nil), nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wait := func(what string, ok func() bool) {
		t.Helper()
		for !ok() {
			if ctx.Err() != nil {
				t.Fatal("never: ", what)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	wait("a panic", func() bool { return c.Read().Panics == 1 })
	reported := false
	wait("a graph", func() bool {
		a := get(t, base+"graph?format=json")
		if a.StatusCode != http.StatusOK {
			reported = true
			if a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "panicked 1 time") || !strings.Contains(a.body, "a fault of the observer") || strings.Contains(a.body, "budget") {
				t.Errorf("/graph: %s %s", a.Status, a.body)
			}
			return false
		}
		if !strings.Contains(a.body, "panicked 1 time") {
			t.Errorf("/graph does not report the loss of earlier data: %s", a.body)
		}
		return true
	})
	if !reported {
		t.Error("the analysis did not rest")
	}
	if !c.Enabled() {
		t.Error("the analysis does not go on")
	}
	if v := metric(t, get(t, base+"metrics").body, "bottleneck_panics_total"); v != 1 {
		t.Errorf("the metric has %v panics", v)
	}
	if a := get(t, base); !strings.Contains(a.body, "a fault of the observer") {
		t.Error("the index does not report it")
	}
}
