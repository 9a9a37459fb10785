package granularity

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// Finish completes a profile of a trace that another package has filled in: it sorts the classes and
// adds the limits of the profile, if it shows any, to Warnings.
func (p *Profile) Finish() {
	p.sort()
	p.Warnings = append(p.Warnings, p.traceWarnings()...)
}

// DropSeries removes the series of the classes, but not what the diagnosis needs of them.
func (p *Profile) DropSeries() {
	for i := range p.Classes {
		c := &p.Classes[i]
		if used := p.during(c); used > 0 {
			c.used = used
		}
		c.Series = nil
	}
}

// sort sorts the classes and the sites of each class, largest sums first.
func (p *Profile) sort() {
	order.Stable(p.Classes, func(a, b Class) int {
		return cmp.Or(cmp.Compare(p.Granularity(&b).Sum(), p.Granularity(&a).Sum()), strings.Compare(a.Name, b.Name))
	})
	for i := range p.Classes {
		order.Stable(p.Classes[i].Sites, func(a, b Site) int {
			if d := cmp.Or(cmp.Compare(p.SiteGranularity(&b).Sum(), p.SiteGranularity(&a).Sum()), cmp.Compare(b.Tasks, a.Tasks)); d != 0 {
				return d
			}
			return strings.Compare(chainKey(a.Created)+chainKey(a.Submitted), chainKey(b.Created)+chainKey(b.Submitted))
		})
	}
}

// Merge adds profiles of several instances of a program into one profile, and diagnoses it.
//
// Tasks and histograms are added by class (name) and by site (pool and call chains). Wall and the
// usage of the processes are summed, so utilization remains that of an average instance. Procs is
// the largest. ActiveShare is the mean, weighted by Wall. Samples, pauses and series are not kept.
// Logs are not merged; their entries are counted in LogDropped. Nil profiles are ignored. If the
// profiles differ in source or in the frequency of the cycles, there is a warning.
func Merge(profiles ...*Profile) *Profile { return merge(profiles, false) }

// Join is Merge for consecutive windows of one trace. The result is one instance, with the samples
// and the pauses of all windows.
func Join(windows ...*Profile) *Profile { return merge(windows, true) }

// merger is the state of a merge.
type merger struct {
	out     Profile
	n       int
	windows bool           // of one program
	traced  bool           // some profile has traceWarnings
	classes map[string]int // index
	sites   map[mergedSite]int
	active  []activity // by class
}

// activity is the time in which a class was active, the part of it for which the utilization of the
// processors is known, and that utilization times that part, all in nanoseconds.
type activity struct{ active, known, used float64 }

// mergedSite identifies a site by its contents.
type mergedSite struct{ class, pool, created, submitted string }

// allProcs returns the number of processors of all instances.
func (p *Profile) allProcs() uint64 {
	return uint64(max(p.Procs, 1)) * uint64(max(p.Instances, 1))
}

func merge(profiles []*Profile, windows bool) *Profile {
	m := merger{windows: windows, classes: map[string]int{}, sites: map[mergedSite]int{}}
	for _, p := range profiles {
		if p != nil {
			m.add(p)
		}
	}
	if m.n > 0 {
		m.finish()
	}
	return &m.out
}

func (m *merger) add(p *Profile) {
	o := &m.out
	if m.n++; m.n == 1 {
		o.Source, o.Accuracy, o.Of, o.Hz, o.HzOrigin, o.HzPPM = p.Source, p.Accuracy, p.Of, p.Hz, p.HzOrigin, p.HzPPM
		o.Overhead, o.OverheadOrigin = p.Overhead, p.OverheadOrigin
		o.Start, o.Time = p.Start, p.Time
	} else {
		m.differences(p)
	}
	if m.windows {
		o.Instances = max(o.Instances, p.Instances)
		o.Samples = append(o.Samples, p.Samples...)
		o.Pauses = append(o.Pauses, p.Pauses...)
	} else {
		o.Instances += max(1, p.Instances)
		m.warn(p.Warnings, p.traceWarnings()...)
	}
	if !p.Time.IsZero() && (o.Time.IsZero() || p.Time.Before(o.Time)) {
		o.Time = p.Time
	}
	o.Procs = max(o.Procs, p.Procs)
	o.LogDropped += p.LogDropped + uint64(len(p.Log))
	o.Run.Add(&p.Run)
	o.Wall += p.Wall
	for i := range p.Classes {
		m.class(&p.Classes[i], p)
	}
}

// differences records how a profile differs from those before.
func (m *merger) differences(p *Profile) {
	o := &m.out
	switch {
	case o.Of == p.Of:
	case m.windows && o.Of == OfGoroutines && p.Of == OfRegions: // goroutines are tasks only until the trace shows a region
		o.Of, o.Classes, m.active = p.Of, nil, nil
		clear(m.classes)
		clear(m.sites)
	default:
		o.Of = ""
	}
	if p.Source != o.Source {
		m.warn([]string{"Granularity comes from several sources (" + o.Source + ", " + p.Source + "): what they count differs."})
		o.Accuracy = "upper-bound"
	}
	if math.Abs(p.Hz-o.Hz) > 0.01*max(p.Hz, o.Hz) {
		m.warn([]string{"The instances' cycles have different frequencies."})
	}
	o.HzPPM = max(o.HzPPM, p.HzPPM)
	if p.Overhead > 0 && (o.Overhead == 0 || p.Overhead < o.Overhead) { // the least: tasks that are small even then are too small in all
		o.Overhead, o.OverheadOrigin = p.Overhead, p.OverheadOrigin
	}
}

// warn keeps the warnings, except for own, which finish computes again.
func (m *merger) warn(ws []string, own ...string) {
	const most = 32
	for _, w := range ws {
		if slices.Contains(own, w) {
			m.traced = true
		} else if len(m.out.Warnings) < most && !slices.Contains(m.out.Warnings, w) {
			m.out.Warnings = append(m.out.Warnings, w)
		}
	}
}

// Add adds the counts of another sample, of the time after it or of another process.
func (s *Sample) Add(b *Sample) {
	s.At = max(s.At, b.At)
	combine(s.times(), b.times(), func(x, y time.Duration) time.Duration { return x + y })
	combine(s.counts(), b.counts(), func(x, y uint64) uint64 { return x + y })
}

// combine replaces each x by f(x, y), with the y at its place.
func combine[T any](xs, ys []*T, f func(x, y T) T) {
	for i, x := range xs {
		*x = f(*x, *ys[i])
	}
}

// less returns x − y, or 0 if y is larger.
func less[T uint64 | time.Duration](x, y T) T { return x - min(x, y) }

// mergeAll adds the values of each histogram to the one at its place.
func mergeAll(into, from []*Histogram) {
	for i, h := range into {
		h.Merge(from[i])
	}
}

func packAll(all []*Histogram) {
	for _, h := range all {
		h.pack()
	}
}

func (m *merger) class(c *Class, p *Profile) {
	at, ok := m.classes[c.Name]
	if !ok {
		at = len(m.out.Classes)
		m.classes[c.Name] = at
		m.out.Classes = append(m.out.Classes, Class{Name: c.Name})
		m.active = append(m.active, activity{})
	}
	sum, active := &m.out.Classes[at], c.ActiveShare*float64(p.Wall)
	sum.Add(c)
	m.active[at].active += active
	if used := p.during(c); used > 0 {
		m.active[at].known += active
		m.active[at].used += used * active
	}
	for i := range c.Sites {
		m.site(sum, &c.Sites[i])
	}
}

// Add adds the tasks of another class, except for its sites and its series.
func (c *Class) Add(o *Class) {
	combine(c.counts(), o.counts(), func(x, y uint64) uint64 { return x + y })
	c.Longest = max(c.Longest, o.Longest)
	c.Workers = max(c.Workers, o.Workers)
	mergeAll(c.histograms(), o.histograms())
}

func (m *merger) site(c *Class, s *Site) {
	k := mergedSite{c.Name, s.Pool, chainKey(s.Created), chainKey(s.Submitted)}
	at, ok := m.sites[k]
	if !ok {
		at = len(c.Sites)
		m.sites[k] = at
		c.Sites = append(c.Sites, Site{Pool: s.Pool, Created: s.Created, Submitted: s.Submitted})
	}
	c.Sites[at].add(s)
}

func (s *Site) add(b *Site) {
	s.Tasks += b.Tasks
	mergeAll(s.histograms(), b.histograms())
}

func chainKey(chain []Frame) string {
	var b strings.Builder
	for _, f := range chain {
		fmt.Fprintf(&b, "%s %s:%d\n", f.Func, f.File, f.Line)
	}
	return b.String()
}

func (m *merger) finish() {
	p := &m.out
	if p.Instances == 1 {
		p.Instances = 0
	}
	for len(p.Samples) > maxSamples {
		p.Samples = FoldSamples(p.Samples)
	}
	if n := len(p.Pauses) - maxPauses; n > 0 {
		p.Pauses = slices.Clone(p.Pauses[n:])
	}
	for i, a := range m.active {
		c := &p.Classes[i]
		if p.Wall > 0 {
			c.ActiveShare = min(1, a.active/float64(p.Wall))
		}
		if a.known > 0 {
			c.used = a.used / a.known
		}
	}
	p.sort()
	p.JudgeSamples()
	if m.windows || m.traced {
		p.Warnings = append(p.traceWarnings(), p.Warnings...)
	}
	p.Diagnose()
}

// FoldSamples merges pairs of neighboring samples, in place. [Profile.JudgeSamples] completes them.
func FoldSamples(samples []Sample) []Sample {
	n := len(samples) / 2
	for i := range n {
		s := samples[2*i+1]
		s.Add(&samples[2*i])
		samples[i] = s
	}
	if len(samples)%2 == 1 {
		samples[n] = samples[2*n]
		n++
	}
	return samples[:n]
}

// JudgeSamples computes the derived fields of Run and Samples.
func (p *Profile) JudgeSamples() {
	p.Run.judge(p.Procs, p.Source == SourceTrace)
	for i := range p.Samples {
		p.Samples[i].judge(p.Procs, p.Source == SourceTrace)
	}
}

// judge computes the derived fields. While the world is stopped, one thread works. The CPU time of
// a pause is therefore its length, which a trace does not count.
func (s *Sample) judge(procs int, trace bool) {
	s.Excluded = 2*s.Paused > s.Wall
	s.Utilization = 0
	cpu := s.CPU
	if !trace {
		cpu = max(cpu-s.Paused, 0)
	}
	if open := s.Wall - s.Paused; open > 0 && procs > 0 {
		s.Utilization = float64(cpu) / float64(open) / float64(procs)
	}
}

// traceWarnings returns the limits of a profile of a trace, if it shows any.
func (p *Profile) traceWarnings() (out []string) {
	if p.Source != SourceTrace {
		return nil
	}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(p.Classes) > 0 {
		add("Granularity is running time from an execution trace, an upper bound of processor time: the trace does not show when the system took a thread off its core.")
	}
	switch {
	case p.Of == OfUserTasks && len(p.Classes) == 0:
		add("There is no user task (runtime/trace.NewTask) in the trace.")
	case p.Of == OfGoroutines:
		what := "each goroutine that began in it is a task, and so is each request whose handler the call chains show"
		if len(p.Classes) == 0 {
			what = "and no goroutine of the program began or ended in it: nothing shows what its tasks are"
		}
		add("There is no user region (runtime/trace.StartRegion) in the trace: %s.", what)
	}
	var unmeasured uint64
	for i := range p.Classes {
		unmeasured += p.Classes[i].Unmeasured
	}
	if unmeasured > 0 {
		add("%s not measured: %s before the trace, or had not ended with it, or had no regions.",
			format.Plural(unmeasured, "task was", "tasks were"), one(unmeasured, "it began", "they began"))
	}
	return out
}

// Scale returns a copy of the profile with n times as many tasks in n times the time, diagnosed: an
// estimate of a period from a random sample of 1/n of it. Data over time is unchanged. n must be
// positive.
func (p *Profile) Scale(n int) *Profile {
	out := *p
	durations := func(x, _ time.Duration) time.Duration { return x * time.Duration(n) }
	counts := func(x, _ uint64) uint64 { return x * uint64(n) }
	histograms := func(h, _ Histogram) Histogram { return h.scaled(uint64(n)) }
	out.Wall *= time.Duration(n)
	combine(out.Run.times(), out.Run.times(), durations)
	combine(out.Run.counts(), out.Run.counts(), counts)
	out.Classes = slices.Clone(p.Classes)
	for i := range out.Classes {
		c := &out.Classes[i]
		combine(c.counts(), c.counts(), counts)
		combine(c.histograms(), c.histograms(), histograms)
		c.Sites = slices.Clone(c.Sites)
		for j := range c.Sites {
			s := &c.Sites[j]
			s.Tasks *= uint64(n)
			combine(s.histograms(), s.histograms(), histograms)
		}
	}
	out.Diagnose()
	return &out
}

// scaled returns a histogram of the same values, each counted n times as often.
func (h *Histogram) scaled(n uint64) (out Histogram) {
	for b := range h.used {
		out.AddN(b.lo, b.n*n)
	}
	out.sum, out.min, out.max = h.sum*n, h.min, h.max
	return out
}

// Since returns what was recorded after an earlier profile of the same recorder, diagnosed. The
// log, samples, pauses and series contain only later entries. What is estimated of tasks that block
// is estimated from later ones, if some of these were sampled.
func (p *Profile) Since(earlier *Profile) *Profile {
	out := *p
	begin := earlier.Start + int64(earlier.Wall)
	out.Start, out.Time, out.Wall = begin, earlier.Time.Add(earlier.Wall), p.Wall-earlier.Wall
	combine(out.Run.times(), earlier.Run.times(), less)
	combine(out.Run.counts(), earlier.Run.counts(), less)
	if out.Run.Wall > 0 {
		out.Run.judge(runtime.GOMAXPROCS(0), false)
	}
	out.Samples = after(p.Samples, begin, func(s *Sample) int64 { return s.At })
	out.Pauses = after(p.Pauses, begin, func(g *GCPause) int64 { return g.At })
	out.Log = after(p.Log, begin, func(t *TaskRecord) int64 { return t.EndedAt })
	out.LogDropped -= min(p.LogDropped, earlier.LogDropped)
	before := map[string]*Class{}
	for i := range earlier.Classes {
		before[earlier.Classes[i].Name] = &earlier.Classes[i]
	}
	out.Classes = slices.Clone(p.Classes)
	var raw []*counts
	for i := range out.Classes {
		c := &out.Classes[i]
		c.Sites = slices.Clone(c.Sites)
		if e := before[c.Name]; e != nil {
			c.subtract(e)
		}
		for j := range c.Sites {
			if c.Sites[j].raw != nil {
				raw = append(raw, c.Sites[j].raw)
			}
		}
	}
	most := mostCycles(slices.Values(raw), &out)
	for i := range out.Classes {
		c := &out.Classes[i]
		c.estimate(&out, most)
		c.Series = after(c.Series, begin, func(b *Bin) int64 { return b.At })
		if out.Wall > 0 {
			c.ActiveShare = min(1, c.activeTime(begin, begin, math.MaxInt64)/float64(out.Wall))
		}
	}
	out.Classes = slices.DeleteFunc(out.Classes, func(c Class) bool { return c.Executions()+c.Aggregated == 0 })
	out.Diagnose()
	return &out
}

// after returns the elements whose time is later than begin.
func after[T any](all []T, begin int64, at func(*T) int64) (later []T) {
	for i := range all {
		if at(&all[i]) > begin {
			later = append(later, all[i])
		}
	}
	return later
}

// subtract keeps the part of the class that is later than e, an earlier state of it.
func (c *Class) subtract(e *Class) {
	combine(c.counts(), e.counts(), less) // formerly unmeasured tasks may be estimated by now
	combine(c.histograms(), e.histograms(), Histogram.since)
	for j := range c.Sites {
		s := &c.Sites[j]
		i := slices.IndexFunc(e.Sites, func(o Site) bool {
			return s.Pool == o.Pool && slices.Equal(s.Created, o.Created) && slices.Equal(s.Submitted, o.Submitted)
		})
		if i < 0 {
			continue
		}
		o := &e.Sites[i]
		s.Tasks = less(s.Tasks, o.Tasks)
		combine(s.histograms(), o.histograms(), Histogram.since)
		if s.raw != nil && o.raw != nil {
			s.raw = s.raw.since(o.raw)
		}
	}
}

// estimate makes the class anew from what its sites have counted, if that is known. The difference
// of two estimates would be wrong: the later one changes what the earlier one estimated.
func (c *Class) estimate(p *Profile, most float64) {
	if len(c.Sites) > 0 && !slices.ContainsFunc(c.Sites, func(s Site) bool { return s.raw == nil }) {
		sum := Class{Name: c.Name, Workers: c.Workers, Series: c.Series}
		for _, s := range c.Sites {
			place, part := s.raw.tasks(p, most)
			place.Pool, place.Created, place.Submitted, place.raw = s.Pool, s.Created, s.Submitted, s.raw
			sum.Add(&part)
			sum.Sites = append(sum.Sites, place)
		}
		*c = sum
	}
	c.Sites = slices.DeleteFunc(c.Sites, func(s Site) bool { return s.Tasks == 0 })
}

// since returns the values that are in h but not in o, an earlier state of h. Min and Max are known
// to the precision of the buckets.
func (h Histogram) since(o Histogram) (out Histogram) {
	before := map[uint64]uint64{}
	for b := range o.used {
		before[b.lo] = b.n
	}
	for b := range h.used {
		out.AddN(h.middle(b), less(b.n, before[b.lo]))
	}
	if h.count-min(h.count, o.count) == out.count && h.sum >= o.sum {
		out.sum = h.sum - o.sum // exact
	}
	out.min, out.max = h.min, h.max
	out.bound()
	return out
}

// Top returns the profile with the n largest classes and the n largest sites of all. The other
// classes are combined into "(other)", whose ActiveShare is an upper bound, and the other sites of a
// class into one without call chains. Classes have no series. Top returns p itself if there is
// nothing to combine, or n <= 0.
func (p *Profile) Top(n int) *Profile {
	sites := 0
	for i := range p.Classes {
		sites += len(p.Classes[i].Sites)
	}
	if n <= 0 || len(p.Classes) <= n && sites <= n {
		return p
	}
	out := *p
	out.Classes = slices.Clone(p.Classes)
	order.Stable(out.Classes, func(a, b Class) int {
		switch {
		case a.Name == otherClass:
			return 1 // from an earlier Top: it is not kept separately
		case b.Name == otherClass:
			return -1
		}
		return cmp.Compare(p.Granularity(&b).Sum(), p.Granularity(&a).Sum())
	})
	each := max(1, n/min(n, len(out.Classes)))
	known := func(s *Site) int { return min(1, len(s.Pool)+len(s.Created)+len(s.Submitted)) }
	for i := range out.Classes {
		c := &out.Classes[i]
		if i >= n {
			c.Name, c.Workers, c.Longest, each = otherClass, 0, 0, 0 // they differ
		}
		c.Sites = slices.Clone(c.Sites)
		order.Stable(c.Sites, func(a, b Site) int {
			return cmp.Or(cmp.Compare(known(&b), known(&a)), cmp.Compare(p.SiteGranularity(&b).Sum(), p.SiteGranularity(&a).Sum()))
		})
		for j := each; j < len(c.Sites); j++ {
			c.Sites[j].Pool, c.Sites[j].Created, c.Sites[j].Submitted = "", nil, nil
		}
	}
	top := Join(&out)
	top.Warnings = p.Warnings
	return top
}

// otherClass is the class of tasks for whose own class there was no room.
const otherClass = "(other)"
