package bench

import (
	"bytes"
	"context"
	"fmt"
	"runtime/trace"
	"sync"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// maxTrace bounds the memory of a trace.
const maxTrace = 64 << 20

// recording is a trace in memory.
type recording struct {
	mu      sync.Mutex
	data    bytes.Buffer
	lost    int64 // bytes that did not fit
	stopped bool
}

// record starts a trace and logs the benchmark's goroutine in it.
func record() (*recording, error) {
	r := &recording{}
	if err := trace.Start(r); err != nil {
		return nil, err
	}
	trace.Log(context.Background(), logCategory, logMessage)
	return r, nil
}

// Write stores data of the tracer. It only counts what does not fit, because an error would not
// stop the tracer.
func (r *recording) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost > 0 || r.data.Len()+len(p) > maxTrace {
		r.lost += int64(len(p))
		return len(p), nil
	}
	return r.data.Write(p)
}

func (r *recording) stop() {
	if !r.stopped {
		r.stopped = true
		host.Note()
		trace.Stop()
	}
}

// graph reads the trace twice: for the marks of the timer, and for the graph of the measured part.
func (r *recording) graph(elapsed time.Duration) (*bottle.Graph, error) {
	if r.lost > 0 {
		return nil, fmt.Errorf("the trace has %d MB, more than %d: run the benchmark for a shorter time, with -benchtime", (int64(r.data.Len())+r.lost)>>20, maxTrace>>20)
	}
	m := &marks{}
	if _, err := timeline.Read(context.Background(), bytes.NewReader(r.data.Bytes()), timeline.Options{}, m); err != nil {
		return nil, err
	}
	spans, err := measured(m.all, elapsed)
	if err != nil {
		return nil, err
	}
	o := bottle.NewObserver(bottle.Options{})
	if _, err := timeline.Read(context.Background(), bytes.NewReader(r.data.Bytes()), timeline.Options{}, &clip{to: o, spans: spans}); err != nil {
		return nil, err
	}
	g := o.Graph()
	g.CPUs = host.Processors()
	return g, nil
}
