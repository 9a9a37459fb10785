package granularity

import (
	"slices"
	"time"
)

// Scale returns a copy of the profile with n times as many tasks in n times the time, diagnosed:
// the estimate of a time of which the profile shows the n-th part, drawn at random. As n is a whole
// number, nothing is rounded. What was seen over time stays as it is: samples, pauses, the log, and
// the series of classes. n must be positive.
func (p *Profile) Scale(n int) *Profile {
	out := *p
	k, count := time.Duration(n), uint64(n)
	out.Wall *= k
	r := &out.Run
	for _, d := range []*time.Duration{&r.Wall, &r.Paused, &r.CPU, &r.Ready, &r.Delayed} {
		*d *= k
	}
	r.Voluntary *= count
	r.Involuntary *= count
	out.Classes = slices.Clone(p.Classes)
	for i := range out.Classes {
		c := &out.Classes[i]
		for _, v := range []*uint64{&c.Tasks, &c.Unmeasured, &c.Estimated, &c.Nested, &c.Aggregated} {
			*v *= count
		}
		for _, h := range []*Histogram{&c.Cycles, &c.RunningNS, &c.WallNS, &c.BlockedNS, &c.ReadyNS} {
			*h = h.scaled(count)
		}
		c.Sites = slices.Clone(c.Sites)
		for j := range c.Sites {
			s := &c.Sites[j]
			s.Tasks *= count
			for _, h := range []*Histogram{&s.Cycles, &s.RunningNS, &s.WallNS, &s.BlockedNS} {
				*h = h.scaled(count)
			}
		}
	}
	out.Diagnose()
	return &out
}

// scaled returns a histogram of the same values, each n times as often.
func (h *Histogram) scaled(n uint64) Histogram {
	out := *h
	out.count *= n
	out.sum *= n
	out.pages = slices.Clone(h.pages)
	for i, from := range h.pages {
		if from == nil {
			continue
		}
		to := *from
		for slot := range to {
			to[slot] *= n
		}
		out.pages[i] = &to
	}
	return out
}
