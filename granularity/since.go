package granularity

import (
	"math"
	"runtime"
	"slices"
)

// Since returns what was recorded after an earlier profile of the same recorder, diagnosed. Of the
// log, samples, pauses and series it has what is later.
func (p *Profile) Since(earlier *Profile) *Profile {
	out := *p
	begin := earlier.Start + int64(earlier.Wall)
	out.Start, out.Time, out.Wall = begin, earlier.Time.Add(earlier.Wall), p.Wall-earlier.Wall
	r, e := &out.Run, &earlier.Run
	r.Wall -= e.Wall
	r.Paused -= e.Paused
	r.CPU -= e.CPU
	r.Voluntary -= e.Voluntary
	r.Involuntary -= e.Involuntary
	r.Ready -= min(r.Ready, e.Ready)
	r.Delayed -= min(r.Delayed, e.Delayed)
	if r.Wall > 0 {
		r.Judge(runtime.GOMAXPROCS(0), false)
	}
	out.Samples = slices.DeleteFunc(slices.Clone(p.Samples), func(s Sample) bool { return s.At <= begin })
	out.Pauses = slices.DeleteFunc(slices.Clone(p.Pauses), func(g GCPause) bool { return g.At <= begin })
	out.Log = slices.DeleteFunc(slices.Clone(p.Log), func(t TaskRecord) bool { return t.EndedAt <= begin })
	out.LogDropped -= min(p.LogDropped, earlier.LogDropped)
	out.Classes = nil
	for i := range p.Classes {
		c := p.Classes[i]
		if j := slices.IndexFunc(earlier.Classes, func(o Class) bool { return o.Name == c.Name }); j >= 0 {
			c = c.since(&earlier.Classes[j])
		}
		if c.Executions()+c.Aggregated == 0 {
			continue
		}
		c.cutSeries(begin, out.Wall.Nanoseconds())
		out.Classes = append(out.Classes, c)
	}
	out.Diagnose()
	return &out
}

// since returns what is later of a class.
func (c Class) since(e *Class) Class {
	for _, pair := range [...][2]*uint64{{&c.Tasks, &e.Tasks}, {&c.Unmeasured, &e.Unmeasured}, {&c.Estimated, &e.Estimated}, {&c.Nested, &e.Nested}, {&c.Aggregated, &e.Aggregated}} {
		*pair[0] -= min(*pair[0], *pair[1]) // what was unmeasured may be estimated by now
	}
	for _, pair := range [...][2]*Histogram{{&c.Cycles, &e.Cycles}, {&c.RunningNS, &e.RunningNS}, {&c.WallNS, &e.WallNS}, {&c.BlockedNS, &e.BlockedNS}, {&c.ReadyNS, &e.ReadyNS}} {
		*pair[0] = pair[0].since(pair[1])
	}
	var sites []Site
	for i := range c.Sites {
		s := c.Sites[i]
		for j := range e.Sites {
			o := &e.Sites[j]
			if s.Pool == o.Pool && slices.Equal(s.Created, o.Created) && slices.Equal(s.Submitted, o.Submitted) {
				s.Tasks -= min(s.Tasks, o.Tasks)
				s.Cycles, s.RunningNS = s.Cycles.since(&o.Cycles), s.RunningNS.since(&o.RunningNS)
				s.WallNS, s.BlockedNS = s.WallNS.since(&o.WallNS), s.BlockedNS.since(&o.BlockedNS)
				break
			}
		}
		if s.Tasks > 0 {
			sites = append(sites, s)
		}
	}
	c.Sites = sites
	return c
}

// cutSeries leaves the bins that end after begin.
func (c *Class) cutSeries(begin, wall int64) {
	c.Series = slices.DeleteFunc(slices.Clone(c.Series), func(b Bin) bool { return b.At <= begin })
	if wall > 0 {
		c.ActiveShare = min(1, c.activeTime(begin, begin, math.MaxInt64)/float64(wall))
	}
}

// since returns the values that are in h and not in o, which h has grown from. The least and the
// greatest are known as exactly as the buckets are.
func (h *Histogram) since(o *Histogram) (out Histogram) {
	counts := map[[2]int]uint64{}
	for i, p := range o.pages {
		if p != nil {
			for slot, n := range p {
				counts[[2]int{o.first + i, slot}] = n
			}
		}
	}
	for i, p := range h.pages {
		if p == nil {
			continue
		}
		for slot, n := range p {
			if before := counts[[2]int{h.first + i, slot}]; n > before {
				lo, hi := bounds(h.first+i, slot)
				out.AddN(max(lo, h.min)+(min(hi, h.max)-max(lo, h.min))/2, n-before)
			}
		}
	}
	if h.count-min(h.count, o.count) == out.count && h.sum >= o.sum {
		out.sum = h.sum - o.sum // exactly
	}
	return out
}
