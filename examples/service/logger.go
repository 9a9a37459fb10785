package main

import (
	"io"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
)

// logger writes lines.
type logger interface {
	print(line string)
	close()
}

// disk takes its time for each write, whatever its length.
type disk struct{ io.Writer }

func (d disk) Write(p []byte) (int, error) {
	time.Sleep(300 * time.Microsecond)
	if d.Writer == nil {
		return len(p), nil
	}
	return d.Writer.Write(p)
}

// lockedLog is the first version of the log, as in package log: a lock around the write.
type lockedLog struct {
	mu contention.Mutex
	w  io.Writer
}

func newLockedLog(w io.Writer) *lockedLog {
	l := &lockedLog{w: w}
	l.mu.SetName("log")
	return l
}

func (l *lockedLog) print(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	io.WriteString(l.w, line)
}

func (l *lockedLog) close() {}

// queuedLog is the repair: lines go into a queue, and one goroutine writes all queued lines at
// once. The queue is bounded: if the disk cannot keep up, workers wait for it again.
type queuedLog struct {
	lines chan string
	done  chan struct{}
}

func newQueuedLog(w io.Writer) *queuedLog {
	l := &queuedLog{lines: make(chan string, 1024), done: make(chan struct{})}
	go l.write(w)
	return l
}

func (l *queuedLog) print(line string) { l.lines <- line }

// write writes the queued lines until the queue is closed and empty.
func (l *queuedLog) write(w io.Writer) {
	defer close(l.done)
	for line := range l.lines {
		var batch strings.Builder
		batch.WriteString(line)
		for n := len(l.lines); n > 0; n-- {
			batch.WriteString(<-l.lines)
		}
		io.WriteString(w, batch.String())
	}
}

// close waits until everything is written.
func (l *queuedLog) close() {
	close(l.lines)
	<-l.done
}
