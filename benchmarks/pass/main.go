// Pass compares the cost of a pass over an execution trace with a bare loop over the events with
// the Reader of x/exp/trace.
//
//	go run ./benchmarks/pass
//
// It records its own traces (about half a minute), runs every reader as a process of its own, in
// turn, and prints medians of wall time, CPU time and peak memory, and their ratios:
//
//   - speed: `bottleneck graph` against one bare Reader;
//   - verdict: `bottleneck graph`, which runs all analyses, against the boxes of the bottle graph
//     alone;
//   - observers: what each analysis adds to the replay of a decoded trace;
//   - queues and crowd: the same for many waits for locks, and for a million live goroutines;
//   - bound: the memory for a trace in which two million goroutines start and exit against one a
//     tenth as long.
//
// With -against FILE, the other build of the command in FILE, it prints instead the cost of commands
// in ratios to that build, such as to that of a commit before features that they do not ask for.
//
// Quote ratios, not seconds: they also hold on a busy or slow machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		child(os.Args[2:])
		return
	}
	dir := flag.String("dir", "", "keep the traces in this directory and use those that are there (default: a temporary one)")
	runs := flag.Int("runs", 3, "runs of each reader; the medians are printed")
	megabytes := flag.Int("size", 120, "size of the mixed trace in MB")
	against := flag.String("against", "", "compare with another build of the command, in `FILE`")
	flag.Parse()
	if err := measure(*dir, *against, *runs, *megabytes); err != nil {
		fmt.Fprintln(os.Stderr, "pass:", err)
		os.Exit(1)
	}
}

func measure(dir, against string, runs, megabytes int) error {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "bottleneck-pass")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	command := filepath.Join(dir, "bottleneck-under-test")
	if err := build(command); err != nil {
		return err
	}
	mixed, err := record(dir, "mixed", megabytes)
	if err != nil {
		return err
	}
	if against != "" {
		for _, of := range []string{"graph", "contention", "ledger"} {
			compare(runs, reader{of, []string{command, of, "-format", "json", mixed}}, reader{of + ", the other build", []string{against, of, "-format", "json", mixed}})
		}
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// compareAll compares the command with the boxes alone and with one bare Reader.
	compareAll := func(what, trace string, runs int) {
		fmt.Printf("%s, %s\n", what, size(trace))
		c := compare(runs, reader{"bottleneck graph", []string{command, "graph", "-format", "json", trace}},
			reader{"the boxes alone", []string{self, "child", "boxes", trace}}, reader{"one bare Reader", []string{self, "child", "serial", trace}})
		fmt.Printf("  graph / one bare Reader: wall %.2f, CPU %.2f\n", c[0][wall]/c[2][wall], c[0][cpu]/c[2][cpu])
		fmt.Printf("  graph / the boxes alone: wall %.2f, CPU %.2f, memory %.2f\n\n", c[0][wall]/c[1][wall], c[0][cpu]/c[1][cpu], c[0][mem]/c[1][mem])
	}
	compareAll("mixed workload", mixed, runs)
	if err := compareObservers(self, mixed, runs); err != nil {
		return err
	}
	for _, of := range []struct {
		what, workload string
		size           int
	}{{"a thousand goroutines in queues for locks", "queues", megabytes / 3}, {"a million live goroutines", "crowd", 1000}} {
		trace, err := record(dir, of.workload, of.size)
		if err != nil {
			return err
		}
		compareAll(of.what, trace, 1)
	}
	var all [2]cost
	for i, n := range []int{200, 2000} {
		trace, err := record(dir, "churn", n)
		if err != nil {
			return err
		}
		fmt.Printf("%d thousand goroutines born and gone, %s\n", n, size(trace))
		all[i] = compare(runs, reader{"bottleneck graph", []string{command, "graph", "-format", "json", trace}})[0]
	}
	fmt.Printf("  ten times as long: wall %.1f, memory %.2f\n", all[1][wall]/all[0][wall], all[1][mem]/all[0][mem])
	return nil
}

func size(file string) string {
	st, err := os.Stat(file)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.0f MB", float64(st.Size())/1e6)
}
