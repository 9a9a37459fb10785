package contention

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// quiet is the part of a run for which it may have waited for processors that other processes used.
// It is independent of the error: it comes from the kernel's accounts, and a disqualified run can
// be as good as any.
const quiet = 0.05

// BenchmarkOracle prints the error table of the package documentation. For many short runs it
// prints the median error, the part of it that is too much or too little blame in total (the bias),
// the error of the quiet runs alone, and their share. If another process takes the processor in the
// 100 ns between a line of the log and the release of the lock, the lock is held for milliseconds
// more than in the log. These runs have Options.Exact. As many runs do not; for these it prints the
// median error of those that started sampling, and the share of estimated waits. As many runs have
// locks that record the beginning and end of their own steps (oracle_bracket_test.go); for these it
// prints how far the profile is beyond the range of these steps, in the median and the worst run,
// and how much of the blame that range is.
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
				if math.IsNaN(r.err) { // there was no wait
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

// BenchmarkOracleSampled prints how the error of sampled runs decreases with their length.
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

// oracleRun is the result of one run of a workload.
type oracleRun struct {
	err, naive       float64
	bias             float64 // total blame minus lost time
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
