package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// This test's own binary is the command that is swept: what follows does its work in GRAIN pieces,
// a goroutine each.
const swept = "GRAIN"

func inPieces(n int) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			x := 1
			for range 1_000_000 / n {
				x = x*3 + 1
			}
			fmt.Fprint(io.Discard, x)
		})
	}
	wg.Wait()
}

func BenchmarkSwept(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv(swept))
	if err != nil {
		b.Skip("only for the tests of -sweep")
	}
	for range b.N {
		inPieces(n)
	}
}

// TestSweptProgram is a program that gets a number and the name of the file for its trace.
func TestSweptProgram(t *testing.T) {
	args := strings.Split(os.Getenv(scaled), ":")
	n, err := strconv.Atoi(args[0])
	if len(args) != 2 || err != nil {
		t.Skip("only for the tests of -sweep")
	}
	f, err := os.Create(args[1])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := trace.Start(f); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	inPieces(n)
	for runtime.NumGoroutine() > before { // a task ends with its goroutine, after Done
		runtime.Gosched()
	}
	trace.Stop()
}

// Each value has its time, as many tasks as the command has started, and for all but the first
// value a prediction of its own.
func TestSweepShowsTimesAndTasks(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sweep.csv")
	bench := []string{self, "-test.run=^$", "-test.bench=^BenchmarkSwept$", "-test.benchtime=3x"}
	if filepath.Ext(self) != ".test" && filepath.Ext(self) != ".exe" {
		t.Skip("the binary has another name")
	}
	for name, tt := range map[string]struct {
		args   []string
		rounds int
	}{
		"a benchmark": {append([]string{"-sweep", swept + "=2,50", "-runs", "2", "-class", "inPieces", "-o", file, "--"}, bench...), 4}, // b.N is 1, then 3
		"a program":   {[]string{"-sweep", "N=2,50", "-runs", "1", "-class", "inPieces", "-o", file, "--", "/usr/bin/env", scaled + "={N}:{trace}", self, "-test.run=^TestSweptProgram$"}, 1},
	} {
		bottleneck(append([]string{"tasks"}, tt.args...)...).want(t, exitOK, "", "")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Fatalf("%s: %v: %s", name, err, text)
		}
		for i, pieces := range []int{2, 50} {
			row := map[string]string{}
			for k, head := range rows[0] {
				row[head] = rows[i+1][k]
			}
			if row["value"] != strconv.Itoa(pieces) || row["tasks"] != strconv.Itoa(pieces*tt.rounds) || row["time"] == "" || row["predicted"] == "" ||
				(row["time"] == row["predicted"]) != (i == 0) || !strings.Contains(row["class"], "inPieces") {
				t.Errorf("%s: %v", name, row)
			}
		}
	}
	page := filepath.Join(t.TempDir(), "sweep.html")
	bottleneck(append([]string{"tasks", "-sweep", swept + "=1,2", "-runs", "1", "-format", "json", "-o", page, "--"}, bench...)...).want(t, exitOK, `"predicted"`, "")
	if !strings.Contains(string(read(t, page)), ">predicted<") {
		t.Error("the page has no predictions")
	}
}

func TestSweepErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-sweep N":                              "want NAME=VALUE,VALUE",
		"-sweep N=1,1 -- x":                     "with different values",
		"-sweep N=1,2":                          "wants a command after --",
		"-sweep N=1,2 file -- x.test":           "wants a command after --",
		"-sweep N=1,2 -runs 0 -- x.test":        "-runs 0",
		"-sweep N=1,2 -fail tasks>1 -- x.test":  "-fail is not for -sweep",
		"-sweep N=1,2 -o a.svg -- x.test":       "a sweep cannot be written as svg: want",
		"-sweep N=1,2 -- go vet":                "go vet runs nothing: want go test or go run",
		"-sweep N=1,2 -- x.test -test.count=10": "-count",
	} {
		bottleneck(append([]string{"tasks"}, strings.Fields(args)...)...).want(t, exitUsage, "", want)
	}
}
