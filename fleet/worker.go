package fleet

import (
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

// A file is analyzed by a worker: a process of the same executable that reads requests from
// standard input and writes replies to standard output. So a fatal error, or a system without
// memory, ends a worker and not the run. A worker is reused for other files, and ends when the
// process that started it does.

// workerVariable is set in the environment of a worker, where beam.Init does not return.
const workerVariable = "BOTTLENECK_FLEET_WORKER"

type request struct {
	File      string
	MaxMemory int64
	Dir       string // the current directory
}

type reply struct {
	Findings []verdict.Finding
	Capacity int64
	Results  sums   // nil if there are none
	Err      string // why there are none, or not all
	TooLarge bool   // it did not fit into MaxMemory
}

func init() {
	runtime.RegisterInit(func() {
		if os.Getenv(workerVariable) != "" {
			work()
		}
	})
}

// work answers requests until standard input ends.
func work() {
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr // for everything else
	requests := make(chan request)
	background.Go(func() {
		for r := (request{}); in.Decode(&r) == nil; r = (request{}) {
			requests <- r
		}
		os.Exit(0) // also within an analysis
	})
	var limit atomic.Int64
	background.Go(func() { // a pass checks what it allocates itself; this is for what it does not expect
		for range time.Tick(20 * time.Millisecond) {
			if most := 2 * limit.Load(); most > 0 && memory.Resident() > most {
				fmt.Fprintf(os.Stderr, "memory exceeds %s\n", memory.Text(most))
				os.Exit(1)
			}
		}
	})
	for r := range requests {
		os.Chdir(r.Dir)
		limit.Store(r.MaxMemory)
		debug.SetMemoryLimit(r.MaxMemory * 3 / 2)
		if out.Encode(r.answer()) != nil {
			os.Exit(1)
		}
	}
}

func (r request) answer() (out reply) {
	results, err := r.analyze(memory.WithLimit(context.Background(), r.MaxMemory))
	out.TooLarge = errors.Is(err, timeline.ErrMemory)
	if results != nil {
		if v := results.Verdict; v != nil {
			out.Findings, out.Capacity = v.Findings, int64(v.Capacity)
		}
		var failed error
		out.Results, failed = encode(results)
		err = errors.Join(err, failed)
	}
	if err != nil {
		out.Err = err.Error()
	}
	return out
}

func (r request) analyze(ctx context.Context) (*resultSet, error) {
	fs, err := filesystem.New(ctx, r.File)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	f, err := fs.OpenRead(ctx, r.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return analyze(ctx, f, r.File, 0)
}

// worker is a running worker.
type worker struct {
	*exec.Cmd
	input    io.WriteCloser
	requests *gob.Encoder
	replies  *gob.Decoder
	messages messages
}

// messages are the first bytes that a worker wrote to standard error for a request.
type messages struct {
	sync.Mutex
	text []byte
}

func (m *messages) Write(p []byte) (int, error) {
	m.Lock()
	defer m.Unlock()
	m.text = append(m.text, p[:min(len(p), 1000-len(m.text))]...)
	return len(p), nil
}

// idle are the workers without a request.
var idle = make(chan *worker, cap(running))

func startWorker() (*worker, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{Cmd: exec.Command(name)}
	w.Env = append(os.Environ(), workerVariable+"=1", "GOMAXPROCS=2") // for the analysis and the garbage collector
	w.Stderr = &w.messages
	if w.input, err = w.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := w.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.requests, w.replies = gob.NewEncoder(w.input), gob.NewDecoder(output)
	return w, w.Start()
}

// stopIdle ends idle workers, whose heaps may have garbage of their last file.
func stopIdle() {
	for {
		select {
		case w := <-idle:
			w.stop()
		default:
			return
		}
	}
}

func (w *worker) stop() {
	w.Process.Kill()
	w.Wait()
}

// ask returns the reply of a worker, or how the worker ended without one.
func (r request) ask(ctx context.Context) (out reply, death string, err error) {
	var w *worker
	select {
	case w = <-idle:
	default:
		if w, err = startWorker(); err != nil {
			return out, "", fmt.Errorf("fleet: starting a worker: %w", err)
		}
	}
	w.messages.Lock()
	w.messages.text = nil
	w.messages.Unlock()
	r.Dir, _ = os.Getwd()
	ended := context.AfterFunc(ctx, func() { w.Process.Kill() })
	err = cmp.Or(w.requests.Encode(r), w.replies.Decode(&out))
	if ended() && err == nil {
		idle <- w
		return out, "", nil
	}
	w.stop()
	death = w.ProcessState.String()
	if message, _, _ := strings.Cut(string(w.messages.text), "\n"); message != "" {
		death += ": " + message
	}
	return reply{}, death, ctx.Err()
}
