package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	interval "github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
)

// reader is a process that reads a trace.
type reader struct {
	name string
	args []string
}

// cost is the cost of a process, in seconds and megabytes.
type cost struct{ wall, cpu, mem float64 }

// compare runs the readers in turn, so that slow changes of the machine affect all of them, and
// prints the medians, which it returns, and those of the ratios to the last reader in each round.
func compare(runs int, readers ...reader) []cost {
	all := make([][]cost, len(readers))
	for range runs {
		for i, r := range readers {
			c, err := run(r)
			if err != nil {
				fmt.Fprintln(os.Stderr, "pass:", err)
				os.Exit(1)
			}
			all[i] = append(all[i], c)
		}
	}
	last := all[len(all)-1]
	wall, cpu, mem := func(c cost) float64 { return c.wall }, func(c cost) float64 { return c.cpu }, func(c cost) float64 { return c.mem }
	ratio := func(cs []cost, of func(cost) float64) string {
		return medianOf(cs, func(k int) float64 { return of(cs[k]) / of(last[k]) }).Text("%.3f")
	}
	out := make([]cost, len(readers))
	for i, cs := range all {
		middle := func(of func(cost) float64) float64 {
			return medianOf(cs, func(k int) float64 { return of(cs[k]) }).Median
		}
		out[i] = cost{wall: middle(wall), cpu: middle(cpu), mem: middle(mem)}
		fmt.Printf("  %-30s wall %6.2f s   CPU %6.2f s   peak memory %5.0f MB   ratios: wall %s, CPU %s\n", readers[i].name, out[i].wall, out[i].cpu, out[i].mem, ratio(cs, wall), ratio(cs, cpu))
	}
	return out
}

func medianOf(cs []cost, of func(k int) float64) interval.Interval {
	v := make([]float64, len(cs))
	for k := range cs {
		v[k] = of(k)
	}
	return interval.Of(v)
}

func run(r reader) (cost, error) {
	cmd := exec.Command(r.args[0], r.args[1:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w", r.name, err)
	}
	wall := time.Since(start)
	ps := cmd.ProcessState
	return cost{wall.Seconds(), (ps.UserTime() + ps.SystemTime()).Seconds(), peakMemory(ps)}, nil
}

func build(to string) error {
	cmd := exec.Command("go", "build", "-o", to, "github.com/bottleneck-go/bottleneck/cmd/bottleneck")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// record has a child record a workload, unless the file exists.
func record(dir, workload string, size int) (string, error) {
	file := filepath.Join(dir, fmt.Sprintf("%s-%d.trace", workload, size))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self, "child", "record", workload, strconv.Itoa(size), file)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("recording %s: %w", workload, err)
	}
	return file, nil
}
