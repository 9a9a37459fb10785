package report

import (
	"math/bits"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// tasksObject is a task profile: distributions as points, values over time in columns. Times are
// relative to the start of the run. Without windows, it is unknown when tasks ended.
func tasksObject(p *granularity.Profile, windows []Window[*granularity.Profile]) object {
	utilization, classes, samples, pauses := []string{}, []object{}, []object{}, [][2]int64{}
	for _, u := range p.Utilizations() { // that of the process is a title
		utilization = append(utilization, u.String())
	}
	names := make([]string, len(p.Classes))
	for i := range p.Classes {
		names[i] = p.Classes[i].Name
	}
	byName := map[string]object{}
	for i, short := range format.Funcs(names) {
		c := classObject(p, &p.Classes[i], format.Clean(short))
		classes, byName[names[i]] = append(classes, c), c
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		sample := object{"begin": s.At - int64(s.Wall) - p.Start, "end": s.At - p.Start, "switches": 0.0, "utilization": finite(s.Utilization),
			"throttled": s.ThrottledShare(p.Procs), "excluded": s.Excluded}
		if s.Wall > 0 {
			sample["switches"] = (float64(s.Voluntary) + float64(s.Involuntary)) / s.Wall.Seconds()
		}
		samples = append(samples, sample)
	}
	for _, g := range p.Pauses {
		pauses = append(pauses, [2]int64{g.At - int64(g.Length) - p.Start, g.At - p.Start})
	}
	out := object{
		"source": p.Source, "accuracy": p.Accuracy, "hz": finite(p.Hz), "byTime": p.ByTime(), "fineBelow": finite(p.FineBelow()),
		"overhead": p.Overhead, "overheadOrigin": p.OverheadOrigin, "wall": p.Wall, "switches": p.SwitchesName(), "utilization": utilization,
		"warnings": list(p.Warnings), "classes": classes, "samples": samples, "pauses": pauses, "windows": nil,
	}
	if len(windows) == 0 {
		return out
	}
	out["windows"] = edges(object{}, windows)
	for i, w := range windows {
		if w.Part == nil {
			continue
		}
		for j := range w.Part.Classes {
			c := &w.Part.Classes[j]
			if to := byName[c.Name]; to != nil && c.Tasks > 0 {
				of, _ := to["windows"].([]object)
				to["windows"] = append(of, taskWindow(i, c, w.Part.Granularity(c)))
			}
		}
	}
	return out
}

// classObject is a class. Its curve has values, and the fraction of tasks up to each.
func classObject(p *granularity.Profile, c *granularity.Class, short string) object {
	h := p.Granularity(c)
	f := object{
		"name": c.Name, "short": short, "tasks": c.Tasks, "diagnosis": c.Diagnosis, "blocked": nil,
		"q": map[string]float64{"min": float64(h.Min()), "p1": h.Quantile(.01), "p25": h.Quantile(.25), "p50": h.Quantile(.5),
			"p75": h.Quantile(.75), "p99": h.Quantile(.99), "max": float64(h.Max()), "mean": finite(h.Mean()), "sum": h.Sum()},
		"reasons": list(c.Reasons), "advice": list(c.Advice),
	}
	if w := c.WallNS.Sum(); w > 0 {
		f["blocked"] = c.BlockedNS.Sum() / w
	}
	curve, series, sites := [][2]float64{}, [][4]float64{}, []object{}
	for value, fraction := range h.CDF() {
		curve = append(curve, [2]float64{value, fraction})
	}
	from := int64(0)
	for _, b := range c.Series {
		at := b.At - p.Start
		if b.Busy > 0 || b.Ended > 0 {
			series = append(series, [4]float64{float64(from), float64(at), float64(b.Ended), float64(b.Busy)})
		}
		from = at
	}
	for i := range c.Sites {
		s := &c.Sites[i]
		sites = append(sites, object{"pool": s.Pool, "tasks": s.Tasks, "created": chainTexts(s.Created), "submitted": chainTexts(s.Submitted)})
	}
	f["curve"], f["series"], f["sites"] = curve, series, sites
	return f
}

func chainTexts(chain []granularity.Frame) []string {
	out := []string{}
	for _, f := range chain {
		out = append(out, f.String())
	}
	return out
}

// taskWindow holds the tasks of a class that ended in a window. The histogram of granularity is a
// list of pairs: the smallest value of a bucket, and its count.
func taskWindow(i int, c *granularity.Class, h *granularity.Histogram) object {
	var buckets []float64
	for value, count := range h.Buckets() {
		shift := max(0, bits.Len64(value)-7)
		buckets = append(buckets, float64(value>>shift<<shift), float64(count))
	}
	return object{"w": i, "tasks": c.Tasks, "wall": c.WallNS.Sum(), "blocked": c.BlockedNS.Sum(), "min": h.Min(), "max": h.Max(), "sum": h.Sum(), "buckets": buckets}
}
