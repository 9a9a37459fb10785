package text

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// TasksCSV writes a profile of tasks as comma-separated values (RFC 4180, lines end in LF): a
// header, and a row for each class and place that its tasks come from. The columns are
//
//	class, diagnosis (of the class), pool
//	created_at, submitted_at        the leaves of the call chains
//	tasks                           of the place
//	cycles_p1 … cycles_p99, cycles_mean, cycles_sum; empty where cycles are not known
//	running_ns_…                    from a trace, else empty
//	wall_ns_…, blocked_ns_…
//
// A class without known places has one row. Names are harmless as in [CSV]. The error is that of w.
func TasksCSV(w io.Writer, p *granularity.Profile) error {
	if p == nil {
		return errors.New("text: no profile of tasks")
	}
	out := csv.NewWriter(w)
	header := []string{"class", "diagnosis", "pool", "created_at", "submitted_at", "tasks"}
	for _, what := range []string{"cycles", "running_ns", "wall_ns", "blocked_ns"} {
		for _, q := range []string{"p1", "p25", "p50", "p75", "p99", "mean", "sum"} {
			header = append(header, what+"_"+q)
		}
	}
	_ = out.Write(header) // csv.Writer keeps the first error
	for i := range p.Classes {
		c := &p.Classes[i]
		sites := c.Sites
		if len(sites) == 0 {
			sites = []granularity.Site{{Tasks: c.Tasks, Cycles: c.Cycles, RunningNS: c.RunningNS, WallNS: c.WallNS, BlockedNS: c.BlockedNS}}
		}
		for j := range sites {
			s := &sites[j]
			record := []string{harmless(c.Name), string(c.Diagnosis.OrUnknown()), harmless(s.Pool), harmlessLeaf(s.Created), harmlessLeaf(s.Submitted), strconv.FormatUint(s.Tasks, 10)}
			for _, h := range []*granularity.Histogram{&s.Cycles, &s.RunningNS, &s.WallNS, &s.BlockedNS} {
				record = append(record, quantiles(h)...)
			}
			_ = out.Write(record)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("text: writing CSV: %w", err)
	}
	return nil
}

func harmlessLeaf(chain []granularity.Frame) string {
	if len(chain) == 0 {
		return ""
	}
	return harmless(chain[0].String())
}

// quantiles are the cells of a histogram, empty if it is.
func quantiles(h *granularity.Histogram) []string {
	out := make([]string, 0, 7)
	for _, q := range []float64{.01, .25, .5, .75, .99} {
		out = append(out, float(h.Quantile(q)))
	}
	out = append(out, float(h.Mean()), float(h.Sum()))
	if h.Count() == 0 {
		clear(out)
	}
	return out
}
