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
