// Verdict compares the gain that the verdict predicts for a repair with the measured one. For each
// program with a known cause it prints the bound of the first finding and the speed-up of the
// repaired program, both run without tracing, the fastest of several interleaved rounds:
//
//	go run ./benchmarks/verdict
//
// Measured ÷ predicted is at most 1, except for disturbances by other programs.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"runtime"
	"runtime/trace"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/internal/causes"
)

func main() {
	rounds := flag.Int("rounds", 7, "rounds of each program")
	only := flag.String("run", "", "regular expression of the programs' names")
	flag.Parse()
	name, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal("-run: ", err)
	}
	procs := runtime.GOMAXPROCS(0)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "program\tfinding\tat best\tmeasured\tmeasured ÷ at best\t")
	for _, p := range causes.Programs {
		if !name.MatchString(p.Name) {
			continue
		}
		var b bytes.Buffer
		if err := trace.Start(&b); err != nil {
			log.Fatal(err)
		}
		p.Run(procs)
		trace.Stop()
		r, err := bottleneck.Analyze(context.Background(), &b, bottleneck.Options{})
		if err != nil {
			log.Fatal(err)
		}
		before, after := time.Duration(1<<62), time.Duration(1<<62)
		for range *rounds {
			before = min(before, took(p.Run, procs))
			after = min(after, took(p.Repaired, procs))
		}
		measured := float64(before) / float64(after)
		f := r.Verdict.Findings[0]
		predicted, part := "none", ""
		if f.Gain > 0 {
			predicted, part = strconv.FormatFloat(f.Gain, 'f', 2, 64), strconv.FormatFloat(measured/f.Gain, 'f', 2, 64)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\t\n", p.Name, f.Kind, predicted, measured, part)
	}
	w.Flush()
}

func took(run func(int), procs int) time.Duration {
	runtime.GC()
	start := time.Now()
	run(procs)
	return time.Since(start)
}
