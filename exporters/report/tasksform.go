package report

import (
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// tasksForm is a task profile: distributions as points, values over time in columns.
type tasksForm struct {
	Source         string       `json:"source"`
	Accuracy       string       `json:"accuracy"`
	Hz             float64      `json:"hz"`
	ByTime         bool         `json:"byTime"` // granularity is in nanoseconds, not in cycles
	FineBelow      float64      `json:"fineBelow"`
	Overhead       int64        `json:"overhead"`
	OverheadOrigin string       `json:"overheadOrigin"`
	Wall           int64        `json:"wall"`
	Switches       string       `json:"switches"`
	Utilization    []string     `json:"utilization"` // that of the process is a title
	Warnings       []string     `json:"warnings"`
	Classes        []classForm  `json:"classes"`
	Samples        []sampleForm `json:"samples"`
	Pauses         [][2]int64   `json:"pauses"`  // begin and end
	Windows        *edgesForm   `json:"windows"` // nil if it is unknown when tasks ended
}

type classForm struct {
	Name      string                `json:"name"`
	Short     string                `json:"short"`
	Tasks     uint64                `json:"tasks"`
	Quantiles map[string]float64    `json:"q"`
	Blocked   *float64              `json:"blocked"` // part of the wall time; nil if unknown
	Diagnosis granularity.Diagnosis `json:"diagnosis"`
	Reasons   []string              `json:"reasons"`
	Advice    []string              `json:"advice"`
	Curve     [][2]float64          `json:"curve"` // value, and fraction of tasks up to it
	Series    [][4]float64          `json:"series"`
	Sites     []siteForm            `json:"sites"`
	Windows   []taskWindow          `json:"windows,omitempty"`
}

type siteForm struct {
	Pool      string   `json:"pool"`
	Tasks     uint64   `json:"tasks"`
	Created   []string `json:"created"`
	Submitted []string `json:"submitted"`
}

type sampleForm struct {
	Begin       int64   `json:"begin"`
	End         int64   `json:"end"`
	Switches    float64 `json:"switches"` // per second
	Utilization float64 `json:"utilization"`
	Throttled   float64 `json:"throttled,omitempty"` // share of the processors
	Excluded    bool    `json:"excluded,omitempty"`
}

// newTasksForm copies a profile. Times are relative to the start of the run.
func newTasksForm(p *granularity.Profile) *tasksForm {
	f := &tasksForm{
		Source: p.Source, Accuracy: p.Accuracy, Hz: finite(p.Hz), ByTime: p.ByTime(), FineBelow: finite(p.FineBelow()),
		Overhead: int64(p.Overhead), OverheadOrigin: p.OverheadOrigin, Wall: int64(p.Wall), Switches: p.SwitchesName(),
		Warnings: append([]string{}, p.Warnings...), Classes: []classForm{}, Samples: []sampleForm{}, Pauses: [][2]int64{},
	}
	for _, u := range p.Utilizations() {
		f.Utilization = append(f.Utilization, u.String())
	}
	names := make([]string, len(p.Classes))
	for i := range p.Classes {
		names[i] = p.Classes[i].Name
	}
	for i, short := range format.Funcs(names) {
		f.Classes = append(f.Classes, newClassForm(p, &p.Classes[i], format.Clean(short)))
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		form := sampleForm{Begin: s.At - int64(s.Wall) - p.Start, End: s.At - p.Start, Utilization: finite(s.Utilization), Throttled: s.ThrottledShare(p.Procs), Excluded: s.Excluded}
		if s.Wall > 0 {
			form.Switches = (float64(s.Voluntary) + float64(s.Involuntary)) / s.Wall.Seconds()
		}
		f.Samples = append(f.Samples, form)
	}
	for _, g := range p.Pauses {
		f.Pauses = append(f.Pauses, [2]int64{g.At - int64(g.Length) - p.Start, g.At - p.Start})
	}
	return f
}

func newClassForm(p *granularity.Profile, c *granularity.Class, short string) classForm {
	h := p.Granularity(c)
	f := classForm{
		Name: c.Name, Short: short, Tasks: c.Tasks, Diagnosis: c.Diagnosis,
		Quantiles: map[string]float64{"min": float64(h.Min()), "p1": h.Quantile(.01), "p25": h.Quantile(.25), "p50": h.Quantile(.5),
			"p75": h.Quantile(.75), "p99": h.Quantile(.99), "max": float64(h.Max()), "mean": finite(h.Mean()), "sum": h.Sum()},
		Reasons: append([]string{}, c.Reasons...), Advice: append([]string{}, c.Advice...),
		Curve: [][2]float64{}, Series: [][4]float64{}, Sites: []siteForm{},
	}
	if w := c.WallNS.Sum(); w > 0 {
		blocked := c.BlockedNS.Sum() / w
		f.Blocked = &blocked
	}
	for value, fraction := range h.CDF() {
		f.Curve = append(f.Curve, [2]float64{value, fraction})
	}
	from := int64(0)
	for _, b := range c.Series {
		at := b.At - p.Start
		if b.Busy > 0 || b.Ended > 0 {
			f.Series = append(f.Series, [4]float64{float64(from), float64(at), float64(b.Ended), float64(b.Busy)})
		}
		from = at
	}
	for i := range c.Sites {
		s := &c.Sites[i]
		f.Sites = append(f.Sites, siteForm{Pool: s.Pool, Tasks: s.Tasks,
			Created: chainTexts(s.Created), Submitted: chainTexts(s.Submitted)})
	}
	return f
}

func chainTexts(chain []granularity.Frame) []string {
	out := []string{}
	for _, f := range chain {
		out = append(out, f.String())
	}
	return out
}
