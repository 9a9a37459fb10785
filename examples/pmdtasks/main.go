// Pmdtasks is a checker of source files that makes one task of each file, as the benchmark pmd
// does: 570 tasks, so small that a goroutine for each is too expensive. It measures its tasks,
// prints the diagnosis, merges as many files into a task as advised, and prints the speed-up:
//
//	go run .                    # the diagnosis and the speed-up
//	go run . -json pmd.json     # keeps the profile for "bottleneck tasks pmd.json"
package main

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/bottleneck-go/bottleneck/examples/internal/advised"
)

func main() {
	files := flag.Int("files", 570, "number of files")
	advised.Main(200, func() (advised.Example, error) {
		if *files < 1 {
			return advised.Example{}, errors.New("-files: want at least one")
		}
		return example(*files), nil
	})
}

func example(n int) advised.Example {
	files := sources(n)
	return advised.Example{Tasks: n, Again: true, Work: func(tasks int, g advised.Group) (int, error) {
		return checkAll(files, (n+tasks-1)/tasks, g)
	}}
}

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

// checkAll checks the files, some in each task, and returns the number of all violations. (It is not
// inlined, so that its name in the profile is a plain one.)
//
//go:noinline
func checkAll(files []string, each int, g advised.Group) (int, error) {
	var sum atomic.Int64
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := 0; i < len(files); i += each {
		part := files[i:min(i+each, len(files))]
		if each == 1 { // a function of its own, so a class of its own
			g.Go(func() error { sum.Add(int64(violations(part[0]))); return nil })
			continue
		}
		g.Go(func() error {
			for _, file := range part {
				sum.Add(int64(violations(file)))
			}
			return nil
		})
	}
	err := g.Wait()
	return int(sum.Load()), err
}
