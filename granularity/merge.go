package granularity

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity/internal/series"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// piece is the position of a profile among those made in one pass over a trace. The zero value is
// for a separate profile.
type piece struct {
	pass        *int // the same for all of them; nil if there are no others
	first, last int  // the range of pieces
}

// Finish completes a profile of a trace that another package has filled in: it sorts the classes
// and adds the limits of the profile, if it shows any, to Warnings. If the profile is one of several
// of a pass over the trace, pass is the same pointer for all, and number its position among them.
func (p *Profile) Finish(pass *int, number int) {
	p.piece = piece{pass, number, number}
	p.sort()
	p.warnTrace()
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

// Merge adds profiles of several instances of a program, or of several windows of one, into one
// profile, and diagnoses it.
//
// Tasks and histograms are added by class (name) and by site (pool and call chains). Wall and the
// usage of the processes are summed, so utilization remains that of an average instance. Procs is
// the largest. ActiveShare is the mean, weighted by Wall. Samples, pauses and series are kept only
// for consecutive profiles from tracetasks.Observer.Cut, which count as one instance. Logs are not
// merged; their entries are counted in LogDropped. Nil profiles are ignored. If the profiles differ
// in source or in the frequency of the cycles, there is a warning.
func Merge(profiles ...*Profile) *Profile {
	m := merger{classes: map[string]int{}, sites: map[mergedSite]int{}, sources: map[*int]int{}}
	for _, p := range profiles {
		if p != nil {
			m.add(p)
		}
	}
	return m.result()
}

// merger is the state of a merge.
type merger struct {
	out       Profile
	n         int
	classes   map[string]int // index
	sites     map[mergedSite]int
	sources   map[*int]int // of pieces of passes: the last one
	instances int
	foreign   bool      // some profile is not a piece of a pass; its warnings are kept
	chain     bool      // all so far are consecutive pieces
	active    []float64 // by class: ns
}

// mergedSite identifies a site by its contents.
type mergedSite struct{ class, pool, created, submitted string }

// allProcs returns the number of processors of all instances.
func (p *Profile) allProcs() uint64 {
	return uint64(max(p.Procs, 1)) * uint64(max(p.Instances, 1))
}

func (m *merger) add(p *Profile) {
	o := &m.out
	m.n++
	s := p.piece.pass
	switch {
	case s == nil:
		m.instances += max(1, p.Instances)
		m.foreign = true
	default:
		if last, seen := m.sources[s]; !seen || p.piece.first <= last {
			m.instances++ // otherwise it follows the previous one
		}
		m.sources[s] = p.piece.last
	}
	if m.n == 1 {
		m.first(p)
	} else {
		m.chain = m.chain && s != nil && s == o.piece.pass && p.piece.first > o.piece.last
		m.agree(p)
		m.differences(p)
	}
	if m.chain {
		o.piece.last = p.piece.last
		o.Samples = append(o.Samples, p.Samples...)
		o.Pauses = append(o.Pauses, p.Pauses...)
	} else if m.n > 1 {
		o.piece, o.Samples, o.Pauses = piece{}, nil, nil
	}
	if !p.Time.IsZero() && (o.Time.IsZero() || p.Time.Before(o.Time)) {
		o.Time = p.Time
	}
	o.Procs = max(o.Procs, p.Procs)
	o.LogDropped += p.LogDropped + uint64(len(p.Log))
	o.Run.Add(&p.Run)
	if s == nil {
		m.warnings(p.Warnings)
	}
	for i := range p.Classes {
		m.class(&p.Classes[i], p)
	}
	if m.chain {
		m.padSeries(p)
	}
	o.Wall += p.Wall
}

// first copies the fields in which profiles are expected to agree.
func (m *merger) first(p *Profile) {
	o := &m.out
	o.Source, o.Accuracy, o.Of, o.Hz, o.HzOrigin, o.HzPPM = p.Source, p.Accuracy, p.Of, p.Hz, p.HzOrigin, p.HzPPM
	o.Overhead, o.OverheadOrigin = p.Overhead, p.OverheadOrigin
	o.Start, o.Time, o.piece = p.Start, p.Time, p.piece
	m.chain = p.piece.pass != nil
}

// agree ensures that the pieces of a pass have the same kind of tasks: goroutines are tasks only
// until the trace shows a region.
func (m *merger) agree(p *Profile) {
	o := &m.out
	switch {
	case o.Of == p.Of:
	case m.chain && o.Of == OfGoroutines && p.Of == OfRegions:
		o.Of, o.Classes, m.active = p.Of, nil, nil
		clear(m.classes)
		clear(m.sites)
	default:
		o.Of = ""
	}
}

// differences records how a profile differs from those before.
func (m *merger) differences(p *Profile) {
	o := &m.out
	if p.Source != o.Source {
		m.warnings([]string{"Granularity comes from several sources (" + o.Source + ", " + p.Source + "): what they count differs."})
		o.Accuracy = "upper-bound"
	}
	if math.Abs(p.Hz-o.Hz) > 0.01*max(p.Hz, o.Hz) {
		m.warnings([]string{"The instances' cycles have different frequencies."})
	}
	o.HzPPM = max(o.HzPPM, p.HzPPM)
	if p.Overhead > 0 && (o.Overhead == 0 || p.Overhead < o.Overhead) { // the least: tasks that are small even then are too small in all
		o.Overhead, o.OverheadOrigin = p.Overhead, p.OverheadOrigin
	}
}

func (m *merger) warnings(ws []string) {
	const most = 32
	for _, w := range ws {
		if len(m.out.Warnings) < most && !slices.Contains(m.out.Warnings, w) {
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

func (m *merger) class(c *Class, p *Profile) {
	at, ok := m.classes[c.Name]
	if !ok {
		at = len(m.out.Classes)
		m.classes[c.Name] = at
		m.out.Classes = append(m.out.Classes, Class{Name: c.Name})
		m.active = append(m.active, 0)
		if m.n > 1 && m.chain {
			m.out.Classes[at].Series = []Bin{{At: p.Start}} // it did not exist before
		}
	}
	sum := &m.out.Classes[at]
	sum.Add(c)
	m.active[at] += c.ActiveShare * float64(p.Wall)
	if m.chain {
		sum.Series = FoldBins(m.out.Start, append(sum.Series, c.Series...), 2*series.Bins)
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

// padSeries adds idle time to the classes that are not in a piece.
func (m *merger) padSeries(p *Profile) {
	end := p.Start + int64(p.Wall)
	if n := len(p.Samples); n > 0 {
		end = p.Samples[n-1].At
	}
	for i := range m.out.Classes {
		c := &m.out.Classes[i]
		if n := len(c.Series); n > 0 && c.Series[n-1].At < end {
			c.Series = FoldBins(m.out.Start, append(c.Series, Bin{At: end}), 2*series.Bins)
		}
	}
}

// FoldBins merges neighbors until there are at most most bins. The first one begins at start, with
// the run.
func FoldBins(start int64, bins []Bin, most int) []Bin {
	for len(bins) > most {
		bins = foldPairs(start, bins)
	}
	return bins
}

// foldPairs merges pairs of bins.
func foldPairs(start int64, bins []Bin) []Bin {
	out := bins[:0]
	for i := 0; i < len(bins); i += 2 {
		a := bins[i]
		if i+1 < len(bins) {
			b := bins[i+1]
			wa, wb := float64(a.At-start), float64(b.At-a.At)
			b.Ended += a.Ended
			b.Busy += a.Busy
			if wa+wb > 0 {
				b.Active = min(1, (a.Active*wa+b.Active*wb)/(wa+wb))
			}
			a = b
		}
		start = a.At
		out = append(out, a)
	}
	return out
}

func (m *merger) result() *Profile {
	p := &m.out
	if m.instances > 1 {
		p.Instances = m.instances
	}
	for len(p.Samples) > maxSamples {
		p.Samples = FoldSamples(p.Samples)
	}
	if n := len(p.Pauses) - maxPauses; n > 0 {
		p.Pauses = slices.Clone(p.Pauses[n:])
	}
	for i := range p.Classes {
		c := &p.Classes[i]
		if p.Wall > 0 {
			c.ActiveShare = min(1, m.active[i]/float64(p.Wall))
		}
		if !m.chain {
			c.Series = nil
		}
	}
	p.sort()
	p.JudgeSamples()
	if !m.foreign && m.n > 0 {
		p.Warnings = nil
		p.warnTrace()
	}
	if m.n > 0 {
		p.Diagnose()
	}
	return p
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

// warnTrace adds the limits of a profile of a trace, if it shows any, to Warnings.
func (p *Profile) warnTrace() {
	add := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
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
}

// Scale returns a copy of the profile with n times as many tasks in n times the time, diagnosed: an
// estimate of a period from a random sample of 1/n of it. Data over time is unchanged. n must be
// positive.
func (p *Profile) Scale(n int) *Profile {
	out := *p
	k, count := time.Duration(n), uint64(n)
	out.Wall *= k
	for _, d := range out.Run.times() {
		*d *= k
	}
	for _, v := range out.Run.counts() {
		*v *= count
	}
	out.Classes = slices.Clone(p.Classes)
	for i := range out.Classes {
		c := &out.Classes[i]
		for _, v := range c.counts() {
			*v *= count
		}
		for _, h := range c.histograms() {
			*h = h.scaled(count)
		}
		c.Sites = slices.Clone(c.Sites)
		for j := range c.Sites {
			s := &c.Sites[j]
			s.Tasks *= count
			for _, h := range s.histograms() {
				*h = h.scaled(count)
			}
		}
	}
	out.Diagnose()
	return &out
}

// scaled returns a histogram of the same values, each counted n times as often.
func (h *Histogram) scaled(n uint64) (out Histogram) {
	out.Merge(h)
	out.count *= n
	out.sum *= n
	for _, p := range out.pages {
		if p != nil {
			for slot := range p {
				p[slot] *= n
			}
		}
	}
	return out
}

// Since returns what was recorded after an earlier profile of the same recorder, diagnosed. The
// log, samples, pauses and series contain only later entries.
func (p *Profile) Since(earlier *Profile) *Profile {
	out := *p
	begin := earlier.Start + int64(earlier.Wall)
	out.Start, out.Time, out.Wall = begin, earlier.Time.Add(earlier.Wall), p.Wall-earlier.Wall
	r := &out.Run
	combine(r.times(), earlier.Run.times(), less)
	combine(r.counts(), earlier.Run.counts(), less)
	if r.Wall > 0 {
		r.judge(runtime.GOMAXPROCS(0), false)
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

// since returns the later part of a class.
func (c Class) since(e *Class) Class {
	combine(c.counts(), e.counts(), less) // formerly unmeasured tasks may be estimated by now
	combine(c.histograms(), e.histograms(), Histogram.since)
	var sites []Site
	for i := range c.Sites {
		s := c.Sites[i]
		for j := range e.Sites {
			o := &e.Sites[j]
			if s.Pool == o.Pool && slices.Equal(s.Created, o.Created) && slices.Equal(s.Submitted, o.Submitted) {
				s.Tasks = less(s.Tasks, o.Tasks)
				combine(s.histograms(), o.histograms(), Histogram.since)
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

// cutSeries keeps the bins that end after begin.
func (c *Class) cutSeries(begin, wall int64) {
	c.Series = slices.DeleteFunc(slices.Clone(c.Series), func(b Bin) bool { return b.At <= begin })
	if wall > 0 {
		c.ActiveShare = min(1, c.activeTime(begin, begin, math.MaxInt64)/float64(wall))
	}
}

// since returns the values that are in h but not in o, an earlier state of h. Min and Max are known
// to the precision of the buckets.
func (h Histogram) since(o Histogram) (out Histogram) {
	for value, count := range h.Buckets() {
		if before := o.countAt(value); count > before {
			out.AddN(value, count-before)
		}
	}
	if h.count-min(h.count, o.count) == out.count && h.sum >= o.sum {
		out.sum = h.sum - o.sum // exact
	}
	return out
}

// Top returns a copy of the profile with the n largest classes and the n largest sites of all. The
// other classes are combined into "(other)", and the other sites of a class into one without call
// chains. It returns p itself if there is nothing to combine, or n <= 0.
func (p *Profile) Top(n int) *Profile {
	sites := 0
	for i := range p.Classes {
		sites += len(p.Classes[i].Sites)
	}
	if n <= 0 || len(p.Classes) <= n && sites <= n {
		return p
	}
	out := *p
	classes := slices.Clone(p.Classes)
	order.Stable(classes, func(a, b Class) int {
		switch {
		case a.Name == otherClass:
			return 1 // from an earlier Top: it is not kept separately
		case b.Name == otherClass:
			return -1
		}
		return int(min(1, max(-1, p.Granularity(&b).Sum()-p.Granularity(&a).Sum())))
	})
	out.Classes = classes[:min(n, len(classes))]
	each := max(1, n/max(1, len(out.Classes)))
	if rest := classes[len(out.Classes):]; len(rest) > 0 {
		out.Classes = append(slices.Clip(out.Classes), foldClasses(rest))
	}
	for i := range out.Classes {
		c := &out.Classes[i]
		c.Sites = p.topSites(c.Sites, each)
	}
	out.Diagnose()
	return &out
}

// otherClass is the class of tasks for whose own class there was no room.
const otherClass = "(other)"

func foldClasses(rest []Class) Class {
	sum := Class{Name: otherClass}
	for i := range rest {
		c := &rest[i]
		sum.Add(c)
		sum.ActiveShare = max(sum.ActiveShare, c.ActiveShare) // a lower bound
		sum.Sites = append(sum.Sites, c.Sites...)
	}
	sum.Workers, sum.Longest = 0, 0 // they differ
	return sum
}

// topSites returns the n largest sites and one for the rest.
func (p *Profile) topSites(sites []Site, n int) []Site {
	if len(sites) <= n {
		return sites
	}
	sites = slices.Clone(sites)
	order.Stable(sites, func(a, b Site) int {
		return int(min(1, max(-1, p.SiteGranularity(&b).Sum()-p.SiteGranularity(&a).Sum())))
	})
	var rest Site
	kept := sites[:0]
	for _, s := range sites {
		if len(kept) < n && (s.Pool != "" || s.Created != nil || s.Submitted != nil) {
			kept = append(kept, s)
			continue
		}
		rest.add(&s)
	}
	if rest.Tasks > 0 {
		kept = append(kept, rest)
	}
	return kept
}
