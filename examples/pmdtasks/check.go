package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// sources makes files of about 300 bytes, each slightly different.
func sources(n int) []string {
	files := make([]string, n)
	for i := range files {
		var b strings.Builder
		fmt.Fprintf(&b, "class File%d {\n", i)
		for line := range 4 + i%5 {
			fmt.Fprintf(&b, "\tint f%d(int x) { return x * %d + %d; }%s\n", line, i, line*i, strings.Repeat(" ", (i+line)%3))
		}
		b.WriteString("}\n")
		files[i] = b.String()
	}
	return files
}

// violations counts the violations in a file: blanks at the ends of lines, lines that are too
// long, unbalanced braces.
func violations(file string) (n int) {
	width, depth := 0, 0
	var last byte
	for i := range len(file) {
		switch c := file[i]; c {
		case '\n':
			if last == ' ' || last == '\t' {
				n++
			}
			if width > 44 {
				n++
			}
			width = -1
		case '{':
			depth++
		case '}':
			depth--
			if depth < 0 {
				n++
			}
		}
		width++
		last = file[i]
	}
	return n + max(depth, 0)
}

// A pool executes tasks. Close waits for them.
type pool interface {
	Submit(task func()) error
	Close() error
}

// checkAll checks the files, some in each task, and returns the number of all violations. It closes
// the pool. (It is not inlined, so that its name in the profile is a plain one.)
//
//go:noinline
func checkAll(files []string, each int, p pool) int {
	var sum atomic.Int64
	for len(files) > 0 {
		n := min(each, len(files))
		group := files[:n]
		files = files[n:]
		task := func() { sum.Add(int64(violations(group[0]))) }
		if each > 1 { // a function of its own, so a class of its own
			task = func() {
				for _, file := range group {
					sum.Add(int64(violations(file)))
				}
			}
		}
		if err := p.Submit(task); err != nil {
			panic(err) // the pool is open
		}
	}
	if err := p.Close(); err != nil {
		panic(err) // tasks have no errors
	}
	return int(sum.Load())
}

// plain is a pool that measures nothing: a worker for each processor, fed by a channel.
type plain struct {
	tasks   chan func()
	workers sync.WaitGroup
}

func newPlain() *plain {
	p := &plain{tasks: make(chan func())}
	for range runtime.GOMAXPROCS(0) {
		p.workers.Go(func() {
			for task := range p.tasks {
				task()
			}
		})
	}
	return p
}

// Submit hands a task to a worker.
func (p *plain) Submit(task func()) error {
	p.tasks <- task
	return nil
}

// Close waits for the workers to end.
func (p *plain) Close() error {
	close(p.tasks)
	p.workers.Wait()
	return nil
}
