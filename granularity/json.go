package granularity

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// The JSON of a profile has two layers. What a program needs to act on comes under short names:
// source, accuracy, hz, warnings, and for each class its quantiles, diagnosis and call sites. What
// is needed to rebuild the profile, its distributions, series and samples, follows under further
// names.

// quantilesJSON is how a histogram is summed up: null where nothing was measured, as cycles in a
// trace.
type quantilesJSON struct {
	P1   *float64 `json:"p1"`
	P25  *float64 `json:"p25"`
	P50  *float64 `json:"p50"`
	P75  *float64 `json:"p75"`
	P99  *float64 `json:"p99"`
	Mean *float64 `json:"mean"`
	Sum  *float64 `json:"sum"`
}

func quantiles(h *Histogram) (q quantilesJSON) {
	if h.Count() == 0 {
		return q
	}
	at := func(p float64) *float64 { return new(h.Quantile(p)) }
	return quantilesJSON{P1: at(.01), P25: at(.25), P50: at(.5), P75: at(.75), P99: at(.99), Mean: new(h.Mean()), Sum: new(h.Sum())}
}

type classJSON struct {
	Class       string         `json:"class"`
	Tasks       uint64         `json:"tasks"`
	Cycles      quantilesJSON  `json:"cycles"`
	RunningNS   *quantilesJSON `json:"running_ns,omitempty"` // from a trace
	WallNS      quantilesJSON  `json:"wall_ns"`
	BlockedNS   quantilesJSON  `json:"blocked_ns"`
	Diagnosis   Diagnosis      `json:"diagnosis"`
	Reasons     []string       `json:"reasons"` // and then the advice
	CreatedAt   []string       `json:"created_at"`
	SubmittedAt []string       `json:"submitted_at"`

	Advice      []string        `json:"advice"`
	Merge       uint64          `json:"merge,omitempty"`
	Split       uint64          `json:"split,omitempty"`
	Workers     int             `json:"workers,omitempty"`
	Unmeasured  uint64          `json:"unmeasured"`
	Estimated   uint64          `json:"estimated,omitempty"`
	Nested      uint64          `json:"nested"`
	Aggregated  uint64          `json:"aggregated"`
	ActiveShare float64         `json:"active_share"`
	Histograms  *histogramsJSON `json:"histograms"`
	Series      []binJSON       `json:"series"`
	Sites       []siteJSON      `json:"sites"`
}

type histogramsJSON struct {
	Cycles    *histogramJSON `json:"cycles,omitempty"`
	RunningNS *histogramJSON `json:"running_ns,omitempty"`
	WallNS    *histogramJSON `json:"wall_ns,omitempty"`
	BlockedNS *histogramJSON `json:"blocked_ns,omitempty"`
	ReadyNS   *histogramJSON `json:"ready_ns,omitempty"` // from a trace
}

// binJSON is an interval of the series: end on the clock of start_ns.
type binJSON struct {
	At     int64   `json:"at_ns"`
	Ended  uint64  `json:"ended"`
	Busy   int64   `json:"busy_ns"`
	Active float64 `json:"active"`
}

type siteJSON struct {
	Pool       string          `json:"pool,omitempty"`
	Tasks      uint64          `json:"tasks"`
	Created    []frameJSON     `json:"created,omitempty"` // leaf first
	Submitted  []frameJSON     `json:"submitted,omitempty"`
	Histograms *histogramsJSON `json:"histograms"`
}

type frameJSON struct {
	Func string `json:"func"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

type sampleJSON struct {
	At          int64   `json:"at_ns"`
	Wall        int64   `json:"wall_ns"`
	Paused      int64   `json:"paused_ns"`
	CPU         int64   `json:"cpu_ns"`
	Voluntary   uint64  `json:"voluntary"`
	Involuntary uint64  `json:"involuntary"`
	Ready       int64   `json:"ready_ns,omitempty"`
	Delayed     int64   `json:"delayed_ns,omitempty"`
	Utilisation float64 `json:"utilisation"`
	Excluded    bool    `json:"excluded,omitempty"`
}

type pauseJSON struct {
	At     int64 `json:"at_ns"`
	Length int64 `json:"length_ns"`
}

type profileJSON struct {
	Source   string      `json:"source"`
	Accuracy string      `json:"accuracy"`
	Hz       *float64    `json:"hz"` // null where it is not known
	Warnings []string    `json:"warnings"`
	Classes  []classJSON `json:"classes"`

	HzOrigin       string       `json:"hz_origin,omitempty"`
	HzPPM          float64      `json:"hz_ppm,omitempty"`
	Time           *time.Time   `json:"time,omitempty"`
	Start          int64        `json:"start_ns"`
	Wall           int64        `json:"run_ns"`
	Procs          int          `json:"gomaxprocs"`
	Instances      int          `json:"instances,omitempty"` // only if there are several
	Overhead       int64        `json:"overhead_ns"`
	OverheadOrigin string       `json:"overhead_origin,omitempty"`
	Run            *sampleJSON  `json:"run,omitempty"`
	Samples        []sampleJSON `json:"samples"`
	Pauses         []pauseJSON  `json:"gc_pauses"`
}

// WriteJSON writes the profile as one line, as [Profile.MarshalJSON] does. The error is that of w,
// or says that a number in the profile is not finite.
func WriteJSON(w io.Writer, p *Profile) error {
	text, err := json.Marshal(p)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("granularity: writing JSON: %w", err)
	}
	return nil
}

// MarshalJSON writes first what a program needs to act on: the source of the cycles,
// and for each class its quantiles, the diagnosis with its reasons and advice, and
// the lines that create and submit its tasks, most cycles first:
//
//	source, accuracy, hz, warnings[], classes[]
//	  class, tasks, cycles{p1,p25,p50,p75,p99,mean,sum}, wall_ns{…}, blocked_ns{…},
//	  diagnosis (fine, coarse, blocked, ok, unknown), reasons[], created_at[], submitted_at[]
//
// and running_ns{…} in a profile from a trace, whose cycles and hz are null: a trace does not tell
// them. Then follows what [ReadJSON] needs to rebuild the profile: histograms, series, sites with
// whole call chains, samples and pauses. The log is not written. Lists are never null.
func (p *Profile) MarshalJSON() ([]byte, error) {
	out := profileJSON{
		Source: p.Source, Accuracy: p.Accuracy, Warnings: list(p.Warnings), Classes: []classJSON{},
		HzOrigin: p.HzOrigin, HzPPM: p.HzPPM, Start: p.Start, Wall: int64(p.Wall), Procs: p.Procs,
		Overhead: int64(p.Overhead), OverheadOrigin: p.OverheadOrigin,
		Samples: []sampleJSON{}, Pauses: []pauseJSON{},
	}
	if p.Instances > 1 {
		out.Instances = p.Instances
	}
	if p.Hz != 0 {
		out.Hz = &p.Hz
	}
	if !p.Time.IsZero() {
		out.Time = &p.Time
	}
	if p.Run != (Sample{}) {
		run := p.Run.form()
		out.Run = &run
	}
	for i := range p.Samples {
		out.Samples = append(out.Samples, p.Samples[i].form())
	}
	for _, g := range p.Pauses {
		out.Pauses = append(out.Pauses, pauseJSON{g.At, int64(g.Length)})
	}
	for i := range p.Classes {
		out.Classes = append(out.Classes, p.Classes[i].form())
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return format.EscapeJSON(text), nil
}

// form is the JSON of a class.
func (c *Class) form() classJSON {
	out := classJSON{
		Class: c.Name, Tasks: c.Tasks,
		Cycles: quantiles(&c.Cycles), WallNS: quantiles(&c.WallNS), BlockedNS: quantiles(&c.BlockedNS),
		Diagnosis:   c.Diagnosis,
		Reasons:     append(list(c.Reasons), c.Advice...),
		CreatedAt:   c.places(func(s *Site) []Frame { return s.Created }),
		SubmittedAt: c.places(func(s *Site) []Frame { return s.Submitted }),
		Advice:      list(c.Advice),
		Merge:       c.Merge, Split: c.Split,
		Workers: c.Workers, Unmeasured: c.Unmeasured, Estimated: c.Estimated, Nested: c.Nested, Aggregated: c.Aggregated, ActiveShare: c.ActiveShare,
		Histograms: histogramForms(&c.Cycles, &c.RunningNS, &c.WallNS, &c.BlockedNS, &c.ReadyNS),
		Series:     []binJSON{}, Sites: []siteJSON{},
	}
	if out.Diagnosis == "" {
		out.Diagnosis = Unknown
	}
	if c.RunningNS.Count() > 0 {
		q := quantiles(&c.RunningNS)
		out.RunningNS = &q
	}
	for _, b := range c.Series {
		out.Series = append(out.Series, binJSON{b.At, b.Ended, int64(b.Busy), b.Active})
	}
	for i := range c.Sites {
		s := &c.Sites[i]
		out.Sites = append(out.Sites, siteJSON{
			Pool: s.Pool, Tasks: s.Tasks, Created: frameForms(s.Created), Submitted: frameForms(s.Submitted),
			Histograms: histogramForms(&s.Cycles, &s.RunningNS, &s.WallNS, &s.BlockedNS, &Histogram{}),
		})
	}
	return out
}

func histogramForms(cycles, running, wall, blocked, ready *Histogram) *histogramsJSON {
	return &histogramsJSON{Cycles: cycles.form(), RunningNS: running.form(), WallNS: wall.form(), BlockedNS: blocked.form(), ReadyNS: ready.form()}
}

func frameForms(chain []Frame) (out []frameJSON) {
	for _, f := range chain {
		out = append(out, frameJSON(f))
	}
	return out
}

func (s *Sample) form() sampleJSON {
	return sampleJSON{s.At, int64(s.Wall), int64(s.Paused), int64(s.CPU), s.Voluntary, s.Involuntary, int64(s.Ready), int64(s.Delayed), s.Utilisation, s.Excluded}
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
