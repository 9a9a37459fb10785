package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live/full"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// peaks has the measurements of a child process, in bytes of memory obtained from the operating
// system and not returned.
type peaks struct {
	Snapshot int64 // size
	Before   int64 // the process with a full recorder
	Answers  map[string]int64
	Status   map[string]int
	Slow     int64 // with many clients that read slowly
	Admitted int   // number of admitted ones
	Refused  int
}

// held returns the memory that the process has from the operating system.
func held() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// peakOf returns the maximum memory of the process during f.
func peakOf(f func()) int64 {
	debug.FreeOSMemory()
	var peak atomic.Int64
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			peak.Store(max(peak.Load(), held()))
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	f()
	close(done)
	wg.Wait()
	return peak.Load()
}

// fileTape writes a trace from a file.
type fileTape struct{ f *os.File }

func (t *fileTape) WriteTo(w io.Writer) (int64, error) {
	buf := make([]byte, 64<<10) // a batch
	info, err := t.f.Stat()
	if err != nil {
		return 0, err
	}
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{io.NewSectionReader(t.f, 0, info.Size())}, buf)
}

// memoryChild is the program of [TestMemory]: a busy service with a full recorder and requests for
// its pages.
func memoryChild() {
	var out peaks
	rec := &bottle.Recorder{MaxBytes: 6 << 20}
	if err := rec.Start(); err != nil {
		panic(err)
	}
	// From here on the snapshot is always the same, from a file. Progress is counted, not
	// timed: on a busy machine a recorder keeps much more than its limit, because generations
	// end late.
	f, err := os.CreateTemp("", "snapshot")
	if err != nil {
		panic(err)
	}
	defer os.Remove(f.Name())
	for begin := time.Now(); out.Snapshot < 4<<20 && time.Since(begin) < 30*time.Second; {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				c, d := make(chan int), make(chan int)
				go func() {
					defer close(d)
					for v := range c {
						d <- v
					}
				}()
				for i := range 5_000 {
					c <- i
					<-d
				}
				close(c)
			})
		}
		wg.Wait()
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			panic(err)
		}
		if err := f.Truncate(0); err != nil {
			panic(err)
		}
		if out.Snapshot, err = rec.WriteTo(f); err != nil {
			panic(err)
		}
	}
	rec.Stop()
	snapshots := &bottle.Recorder{Source: &fileTape{f}}
	debug.FreeOSMemory()
	out.Before = held()

	h := Handler(Options{Recorder: snapshots, AllowRemote: true, MaxMemory: maxMemory, Full: full.Pages}).(*handler)
	h.patience = 3 * time.Minute // everything is slow with the race detector on a busy machine
	s := httptest.NewServer(h)
	defer s.Close()
	out.Answers, out.Status = map[string]int64{}, map[string]int{}
	for _, path := range testenv.Some([]string{"trace", "graph", "contention?format=json", "graph?group=start&format=pprof", "speedup"}) {
		out.Answers[path] = peakOf(func() {
			resp, err := http.Get(s.URL + "/" + path)
			if err != nil {
				panic(err)
			}
			defer resp.Body.Close()
			io.Copy(io.Discard, resp.Body)
			out.Status[path] = resp.StatusCode
		})
	}
	var slow []net.Conn
	out.Slow = peakOf(func() {
		for range slowClients {
			if out.Refused == 10 {
				break
			}
			c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				panic(err)
			}
			c.(*net.TCPConn).SetReadBuffer(4 << 10)
			slow = append(slow, c)
			fmt.Fprintf(c, "GET /trace HTTP/1.1\r\nHost: localhost\r\n\r\n")
			status, err := bufio.NewReaderSize(c, 16).ReadString('\n') // and nothing more
			switch {
			case err != nil:
				panic(err)
			case strings.Contains(status, " 200 "):
				out.Admitted++
			case strings.Contains(status, " 503 "):
				out.Refused++
			}
		}
	})
	for _, c := range slow {
		c.Close()
	}
	json.NewEncoder(os.Stdout).Encode(out)
}

// slowClients is the number of clients that request traces and read little of them, unless ten are
// refused before that.
const slowClients = 300

// maxMemory is the limit of the child.
const maxMemory = 100 << 20

// Answers take a small multiple of the snapshot. Memory stays below the limit however many clients
// read slowly. The child process has a heap limit of its own, as a service in a container has.
func TestMemory(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BOTTLENECK_MEMORY_CHILD=1", "GOMEMLIMIT=200MiB")
	cmd.Stderr = os.Stderr
	data, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var p peaks
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", p)
	const noise = 16 << 20 // stacks, the garbage of requests, connections
	for path, peak := range p.Answers {
		times := int64(8)
		if path == "trace" {
			times = 2
		}
		if limit := p.Before + times*p.Snapshot + noise; p.Status[path] != http.StatusOK || peak > limit {
			t.Errorf("%s: %d, the peak is %d MB, want at most %d MB", path, p.Status[path], peak>>20, limit>>20)
		}
	}
	// The collector keeps garbage of up to the size of the live heap.
	if limit := p.Before + 2*maxMemory; p.Slow > limit || p.Admitted == 0 || p.Refused == 0 {
		t.Errorf("slow clients: %d admitted, %d refused, the peak is %d MB, want at most %d MB", p.Admitted, p.Refused, p.Slow>>20, limit>>20)
	}
}

// When a client disconnects or has read everything, its memory is available to the next one. The
// test needs a process of its own: the limit of an analysis is a limit of the heap, to which other
// tests would add.
func TestRoomIsGivenBack(t *testing.T) {
	r := readTape(t, httpTrace)
	h := newHandler(Options{}, r, nil)
	h.room.limit = 100 << 20
	base := serve(t, h, nil)
	paths := []string{"trace", "graph", "graph?format=svg", "speedup", "", "trace?seconds=1", "graph?group=start", "tasks?format=json", "wall"}
	for _, path := range testenv.Some(paths) {
		if a := get(t, base+path); a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", path, a.Status, a.body)
		}
		eventuallyFree(t, h)
	}
	c, err := net.Dial("tcp", strings.Split(base, "/")[2])
	if err != nil {
		t.Fatal(err)
	}
	c.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(c, "GET /debug/bottleneck/trace HTTP/1.1\r\nHost: localhost\r\n\r\n")
	io.ReadFull(c, make([]byte, 100))
	c.Close()
	eventuallyFree(t, h)
	r.data = append(r.data, make([]byte, h.room.limit)...)
	if a := get(t, base+"trace"); a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "MaxMemory") {
		t.Errorf("a trace above the limit: %s %.300s", a.Status, a.body)
	}
	eventuallyFree(t, h)
}

func eventuallyFree(t *testing.T, h *handler) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		h.room.mu.Lock()
		used := h.room.used
		h.room.mu.Unlock()
		if used == 0 {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%d bytes are held by nothing", used)
		}
	}
}
