package granularity

import "encoding/json"

// quantilesJSON is how a histogram is written.
type quantilesJSON struct {
	P1   float64 `json:"p1"`
	P25  float64 `json:"p25"`
	P50  float64 `json:"p50"`
	P75  float64 `json:"p75"`
	P99  float64 `json:"p99"`
	Mean float64 `json:"mean"`
	Sum  float64 `json:"sum"`
}

func quantiles(h *Histogram) quantilesJSON {
	return quantilesJSON{
		P1: h.Quantile(.01), P25: h.Quantile(.25), P50: h.Quantile(.5), P75: h.Quantile(.75), P99: h.Quantile(.99),
		Mean: h.Mean(), Sum: h.Sum(),
	}
}

type classJSON struct {
	Class       string        `json:"class"`
	Tasks       uint64        `json:"tasks"`
	Cycles      quantilesJSON `json:"cycles"`
	WallNS      quantilesJSON `json:"wall_ns"`
	BlockedNS   quantilesJSON `json:"blocked_ns"`
	Diagnosis   Diagnosis     `json:"diagnosis"`
	Reasons     []string      `json:"reasons"`
	CreatedAt   []string      `json:"created_at"`
	SubmittedAt []string      `json:"submitted_at"`
}

type profileJSON struct {
	Source   string      `json:"source"`
	Accuracy string      `json:"accuracy"`
	Hz       float64     `json:"hz"`
	Warnings []string    `json:"warnings"`
	Classes  []classJSON `json:"classes"`
}

// MarshalJSON writes what a program needs to act on: the source of the cycles,
// and for each class its quantiles, the diagnosis with its reasons and advice, and
// the lines that create and submit its tasks, most cycles first. Histograms, series and
// the log are not written. Lists are never null.
func (p *Profile) MarshalJSON() ([]byte, error) {
	out := profileJSON{Source: p.Source, Accuracy: p.Accuracy, Hz: p.Hz, Warnings: list(p.Warnings), Classes: []classJSON{}}
	for i := range p.Classes {
		c := &p.Classes[i]
		diagnosis := c.Diagnosis
		if diagnosis == "" {
			diagnosis = Unknown
		}
		out.Classes = append(out.Classes, classJSON{
			Class: c.Name, Tasks: c.Tasks,
			Cycles: quantiles(&c.Cycles), WallNS: quantiles(&c.WallNS), BlockedNS: quantiles(&c.BlockedNS),
			Diagnosis:   diagnosis,
			Reasons:     append(list(c.Reasons), c.Advice...),
			CreatedAt:   c.places(func(s *Site) []Frame { return s.Created }),
			SubmittedAt: c.places(func(s *Site) []Frame { return s.Submitted }),
		})
	}
	return json.Marshal(out)
}

// list returns a copy that is not nil.
func list(s []string) []string { return append([]string{}, s...) }

// places names the leaves of the sites' call chains, each once.
func (c *Class) places(chain func(*Site) []Frame) []string {
	seen := map[string]bool{"": true}
	out := []string{}
	for i := range c.Sites {
		if name := at(chain(&c.Sites[i])); !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}
