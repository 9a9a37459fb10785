package granularity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
)

// ReadJSON reads a profile that [WriteJSON] or json.Marshal wrote. The diagnosis is that of the
// machine that recorded it; [Profile.Diagnose] makes one anew.
//
// What it accepts is consistent: no time is negative, histograms sum to what they say, no sum
// overflows. The error for anything else says which class and field is wrong. Names it does not
// know are ignored.
func ReadJSON(r io.Reader) (*Profile, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("granularity: reading JSON: %w", err)
	}
	p := new(Profile)
	if err := p.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	return p, nil
}

// UnmarshalJSON replaces the profile by the one in a JSON object. It accepts what [ReadJSON]
// accepts; the profile is unchanged after an error.
func (p *Profile) UnmarshalJSON(text []byte) error {
	if string(bytes.TrimSpace(text)) == "null" {
		return nil // the convention of encoding/json
	}
	var form profileJSON
	err := json.Unmarshal(text, &form)
	var read *Profile
	if err == nil {
		read, err = form.profile()
	}
	if err != nil {
		return fmt.Errorf("granularity: reading JSON: %w", format.ExplainJSON(err, "source and classes"))
	}
	*p = *read
	return nil
}

// profile checks the form and makes the profile.
func (form *profileJSON) profile() (*Profile, error) {
	switch {
	case form.Classes == nil:
		return nil, errors.New("this is no profile of tasks: classes is missing")
	case form.Hz != nil && !(*form.Hz >= 0 && *form.Hz <= 1e15):
		return nil, fmt.Errorf("hz is out of range: %v", *form.Hz)
	case form.Procs < 0 || form.Procs > 1<<20:
		return nil, fmt.Errorf("gomaxprocs is out of range: %d", form.Procs)
	case form.Instances < 0 || form.Instances > 1<<20:
		return nil, fmt.Errorf("instances is out of range: %d", form.Instances)
	case form.Wall < 0 || form.Overhead < 0:
		return nil, errors.New("run_ns or overhead_ns is negative")
	}
	p := &Profile{
		Source: form.Source, Accuracy: form.Accuracy, HzOrigin: form.HzOrigin, HzPPM: form.HzPPM,
		Warnings: form.Warnings, Start: form.Start, Wall: time.Duration(form.Wall), Procs: form.Procs,
		Overhead: time.Duration(form.Overhead), OverheadOrigin: form.OverheadOrigin,
	}
	if form.Instances > 1 {
		p.Instances = form.Instances
	}
	if form.Hz != nil {
		p.Hz = *form.Hz
	}
	if form.Time != nil {
		p.Time = *form.Time
	}
	if form.Run != nil {
		run, err := form.Run.sample()
		if err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
		p.Run = run
	}
	if err := form.machine(p); err != nil {
		return nil, err
	}
	var tasks, executions uint64
	for i := range form.Classes {
		c, err := form.Classes[i].class()
		if err == nil {
			err = addTo(&tasks, c.Tasks)
		}
		if err == nil {
			err = addTo(&executions, c.Tasks, c.Unmeasured, c.Nested, c.Aggregated)
		}
		if err != nil {
			return nil, fmt.Errorf("class %d (%.100q): %w", i+1, form.Classes[i].Class, err)
		}
		p.Classes = append(p.Classes, c)
	}
	return p, nil
}

// machine reads samples and pauses.
func (form *profileJSON) machine(p *Profile) error {
	for i := range form.Samples {
		s, err := form.Samples[i].sample()
		if err != nil {
			return fmt.Errorf("sample %d: %w", i+1, err)
		}
		p.Samples = append(p.Samples, s)
	}
	for i, g := range form.Pauses {
		if g.Length < 0 {
			return fmt.Errorf("gc_pause %d: length_ns is negative", i+1)
		}
		p.Pauses = append(p.Pauses, GCPause{g.At, time.Duration(g.Length)})
	}
	return nil
}

func (form *sampleJSON) sample() (Sample, error) {
	if form.Wall < 0 || form.Paused < 0 || form.CPU < 0 || form.Ready < 0 || form.Delayed < 0 || !(form.Utilisation >= 0 && form.Utilisation < math.MaxFloat32) {
		return Sample{}, errors.New("a time or the utilisation is negative or too large")
	}
	return Sample{form.At, time.Duration(form.Wall), time.Duration(form.Paused), time.Duration(form.CPU), form.Voluntary, form.Involuntary, time.Duration(form.Ready), time.Duration(form.Delayed), form.Utilisation, form.Excluded}, nil
}

func (form *classJSON) class() (Class, error) {
	c := Class{
		Name: form.Class, Tasks: form.Tasks, Workers: max(0, form.Workers), Unmeasured: form.Unmeasured, Estimated: min(form.Estimated, form.Tasks), Nested: form.Nested, Aggregated: form.Aggregated,
		ActiveShare: form.ActiveShare, Diagnosis: form.Diagnosis, Advice: form.Advice, Merge: form.Merge, Split: form.Split,
	}
	switch {
	case form.Histograms == nil:
		return Class{}, errors.New("histograms is missing: quantiles alone do not make a distribution")
	case !slices.Contains([]Diagnosis{Fine, Coarse, Blocked, OK, Unknown}, form.Diagnosis):
		return Class{}, fmt.Errorf("diagnosis is %.100q, not fine, coarse, blocked, ok or unknown", form.Diagnosis)
	case !(form.ActiveShare >= 0 && form.ActiveShare <= 1):
		return Class{}, fmt.Errorf("active_share is not between 0 and 1: %v", form.ActiveShare)
	}
	c.Reasons = form.Reasons
	if n := len(c.Reasons) - len(c.Advice); n >= 0 && slices.Equal(c.Reasons[n:], c.Advice) {
		c.Reasons = c.Reasons[:n:n]
	}
	if err := form.Histograms.into(form.Tasks, &c.Cycles, &c.RunningNS, &c.WallNS, &c.BlockedNS, &c.ReadyNS); err != nil {
		return Class{}, err
	}
	for i, b := range form.Series {
		if b.Busy < 0 || !(b.Active >= 0 && b.Active <= 1) || i > 0 && b.At < form.Series[i-1].At {
			return Class{}, fmt.Errorf("bin %d of the series: busy_ns or active is out of range, or at_ns is before that of the bin before", i+1)
		}
		c.Series = append(c.Series, Bin{b.At, b.Ended, time.Duration(b.Busy), b.Active})
	}
	var tasks uint64
	for i := range form.Sites {
		s := &form.Sites[i]
		site := Site{Pool: s.Pool, Tasks: s.Tasks, Created: chain(s.Created), Submitted: chain(s.Submitted)}
		err := addTo(&tasks, s.Tasks)
		if err == nil && s.Histograms != nil {
			err = s.Histograms.into(s.Tasks, &site.Cycles, &site.RunningNS, &site.WallNS, &site.BlockedNS, &Histogram{})
		}
		if err != nil {
			return Class{}, fmt.Errorf("site %d: %w", i+1, err)
		}
		c.Sites = append(c.Sites, site)
	}
	return c, nil
}

// into rebuilds the histograms of a class or site of so many tasks.
func (form *histogramsJSON) into(tasks uint64, cycles, running, wall, blocked, ready *Histogram) error {
	for _, part := range []struct {
		name string
		form *histogramJSON
		into *Histogram
	}{{"cycles", form.Cycles, cycles}, {"running_ns", form.RunningNS, running}, {"wall_ns", form.WallNS, wall}, {"blocked_ns", form.BlockedNS, blocked}, {"ready_ns", form.ReadyNS, ready}} {
		h, err := part.form.histogram()
		if err == nil && h.Count() > tasks {
			err = fmt.Errorf("it counts %d values of %d tasks", h.Count(), tasks)
		}
		if err != nil {
			return fmt.Errorf("histogram %s: %w", part.name, err)
		}
		*part.into = h
	}
	return nil
}

func chain(form []frameJSON) (out []Frame) {
	for _, f := range form {
		out = append(out, Frame(f))
	}
	return out
}

// addTo adds to a sum that must not overflow: such sums are taken everywhere.
func addTo(sum *uint64, terms ...uint64) error {
	const most = 1 << 62
	for _, n := range terms {
		if n > most-*sum {
			return fmt.Errorf("%d tasks are more than can be added up", n)
		}
		*sum += n
	}
	return nil
}
