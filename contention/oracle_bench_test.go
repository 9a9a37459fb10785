package contention

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// quiet is the share of its processors' time that a run may have waited for them while
// other processes had them. It says nothing about the error: it is from the kernel's
// accounts, and a run that it disqualifies can be as good as any.
const quiet = 0.05

// BenchmarkOracle prints the error table of the package documentation. Of many short runs
// it gives the median error, how much of that is too much or too little blame for all (the bias),
// the error of the quiet runs alone, and the share of those. If another process takes the processor
// in the 100 ns between a line of the log and the release of the lock, the lock is held for
// milliseconds more than the log says. These runs have Options.Exact. As many have not, and the
// median error of those that went over to sampling is given beside the share of waits that were
// estimated. As many have locks that tell when their own steps begin and end
// (oracle_bracket_test.go): how much the profile is beyond what these leave open, in the median and
// the worst run, and how much of the blame that is.
func BenchmarkOracle(b *testing.B) {
	const runs, length = 20, 100 * time.Millisecond
	for _, wl := range workloads {
		b.Run(strings.ReplaceAll(wl.name, " ", "-"), func(b *testing.B) {
			var all, biases, undisturbed, sampled, naive, delays, beyonds, widths []float64
			var waits, estimated int64
			for range b.N * runs {
				delay := startDelay()
				r := runOracle(b, wl, length, Options{Exact: true})
				share := delay() / (length.Seconds() * 2)
				s := runOracle(b, wl, length, Options{})
				if beyond, width := bracketRun(b, wl, length); !math.IsNaN(beyond) {
					beyonds, widths = append(beyonds, beyond), append(widths, width)
				}
				waits += s.waits
				estimated += s.estimated
				if s.estimated > 0 && !math.IsNaN(s.err) {
					sampled = append(sampled, s.err)
				}
				if math.IsNaN(r.err) { // nobody waited for anybody
					continue
				}
				all, biases, naive, delays = append(all, r.err), append(biases, r.bias), append(naive, r.naive), append(delays, share)
				if share < quiet {
					undisturbed = append(undisturbed, r.err)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(100*median(all), "error-%")
			b.ReportMetric(100*median(biases), "bias-%")
			b.ReportMetric(100*slices.Max(append(all, 0)), "worst-%")
			b.ReportMetric(100*median(naive), "naive-error-%")
			b.ReportMetric(100*float64(len(undisturbed))/float64(max(1, len(all))), "quiet-runs-%")
			if len(undisturbed) > 0 {
				b.ReportMetric(100*median(undisturbed), "quiet-error-%")
				b.ReportMetric(100*slices.Max(undisturbed), "quiet-worst-%")
			}
			if len(beyonds) > 0 {
				b.ReportMetric(100*median(beyonds), "beyond-bracket-%")
				b.ReportMetric(100*slices.Max(beyonds), "worst-beyond-%")
				b.ReportMetric(100*median(widths), "bracket-%")
			}
			b.ReportMetric(100*median(delays), "delay-%")
			b.ReportMetric(100*float64(estimated)/float64(max(waits, 1)), "sampled-%")
			if len(sampled) > 0 {
				b.ReportMetric(100*median(sampled), "sampled-error-%")
			}
		})
	}
}

// BenchmarkOracleSampled prints how the error of sampled runs falls with their length.
func BenchmarkOracleSampled(b *testing.B) {
	for _, wl := range workloads {
		if wl.name != "64 goroutines" && wl.hold > 10*time.Microsecond {
			continue
		}
		for _, c := range []struct {
			runs   int
			length time.Duration
		}{{20, 100 * time.Millisecond}, {10, 500 * time.Millisecond}, {5, 2 * time.Second}} {
			b.Run(strings.ReplaceAll(wl.name, " ", "-")+"/"+c.length.String(), func(b *testing.B) {
				var errs []float64
				for range b.N * c.runs {
					if r := runOracle(b, wl, c.length, Options{}); r.estimated > 0 && !math.IsNaN(r.err) {
						errs = append(errs, 100*r.err)
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(len(errs)), "sampled-runs")
				if len(errs) > 0 {
					b.ReportMetric(median(errs), "error-%")
					b.ReportMetric(errs[len(errs)/4], "lower-quartile-%")
					b.ReportMetric(errs[len(errs)*3/4], "upper-quartile-%")
				}
			})
		}
	}
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return x[len(x)/2]
}

// oracleRun is what one run of a workload gave.
type oracleRun struct {
	err, naive       float64
	bias             float64 // by how much more is blamed on anybody than was lost
	waits, estimated int64
}

func runOracle(t testing.TB, wl workload, d time.Duration, o Options) (r oracleRun) {
	if err := Start(o); err != nil {
		t.Fatal(err)
	}
	log := wl.run(d)
	p := Snapshot()
	if err := Stop(); err != nil {
		t.Fatal(err)
	}
	pairs, waker, _ := truth(log)
	est := estimate(p)
	r.err, r.naive, r.bias = pairs.errorOf(est), pairs.errorOf(waker), est.sum()/pairs.sum()-1
	for _, w := range p.Waits {
		r.waits += w.Contentions
		if w.Flags&Estimated != 0 {
			r.estimated += w.Contentions
		}
	}
	return r
}
