package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"time"

	interval "github.com/bottleneck-go/bottleneck/benchmarks/internal/median"
)

// reader is a process that reads a trace.
type reader struct {
	name string
	args []string
}

// cost is the cost of a process: its wall and CPU time in seconds, and its peak memory in MB.
type cost [3]float64

const (
	wall = iota
	cpu
	mem
)

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
	median := func(of func(k int) float64) interval.Interval {
		v := make([]float64, runs)
		for k := range v {
			v[k] = of(k)
		}
		return interval.Of(v)
	}
	out := make([]cost, len(readers))
	for i, cs := range all {
		var ratios [2]string // of wall and CPU
		for j := range out[i] {
			out[i][j] = median(func(k int) float64 { return cs[k][j] }).Median
			if j < len(ratios) {
				ratios[j] = median(func(k int) float64 { return cs[k][j] / last[k][j] }).Text("%.3f")
			}
		}
		fmt.Printf("  %-30s wall %6.2f s   CPU %6.2f s   peak memory %5.0f MB   ratios: wall %s, CPU %s\n", readers[i].name, out[i][wall], out[i][cpu], out[i][mem], ratios[wall], ratios[cpu])
	}
	return out
}

func run(r reader) (cost, error) {
	cmd := exec.Command(r.args[0], r.args[1:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w", r.name, err)
	}
	took, ps := time.Since(start), cmd.ProcessState
	return cost{took.Seconds(), (ps.UserTime() + ps.SystemTime()).Seconds(), peakMemory(ps)}, nil
}

// peakMemory returns the largest resident set of a finished process, in MB; NaN if the system does
// not report it.
func peakMemory(ps *os.ProcessState) float64 {
	size := reflect.Indirect(reflect.ValueOf(ps.SysUsage())).FieldByName("Maxrss")
	switch {
	case !size.IsValid():
		return math.NaN()
	case runtime.GOOS == "darwin":
		return float64(size.Int()) / 1e6 // in bytes there
	}
	return float64(size.Int()) * 1024 / 1e6
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
