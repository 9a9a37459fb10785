package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// TasksOptions configures [Tasks]. The zero value is ready to use.
type TasksOptions struct {
	// Submission uses the call stacks that submitted the tasks, instead of those that created them.
	Submission bool
	// File and BuildID identify the profiled executable. If File is empty, pprof shows "program" in
	// titles.
	File, BuildID string
}

// Tasks returns a task profile as a pprof profile with the sample types tasks/count, cycles/count
// and time/nanoseconds, the default:
//
//	go tool pprof -top tasks.pb.gz                                  # which classes execute for how long
//	go tool pprof -peek 'main.walk' -sample_index=tasks tasks.pb.gz  # how many tasks a function creates
//	go tool pprof -tags tasks.pb.gz                                 # how large the tasks are
//
// The stacks are the call stacks that created the tasks, or submitted them, with the class as the
// leaf, "[class] name", which is not code: its file name is "class". Each sample carries the labels
// granularity, the decade of its tasks' granularity such as "1e4-1e5 cycles" (or "10µs-100µs" in a
// profile by time), class, diagnosis, and pool if there is one.
//
// Time is cycles divided by their frequency; in a profile from a trace, running time; and if cycles
// have no fixed length, time on the processor. Unknown cycles are 0. The samples of a site sum to
// its cycles; a sample of one decade is as exact as the histogram's buckets, 1 %.
//
// Like [Write], Tasks stays under 16,000 samples and 4 MB: the smallest sites are added up under
// "[others]", and a comment of the profile records that.
func Tasks(p *granularity.Profile, opt TasksOptions) (*profile.Profile, error) {
	if p == nil {
		return nil, errors.New("pprof: no profile of tasks")
	}
	return checked(buildTasks(p, opt))
}

// WriteTasks writes the profile of [Tasks] to w, compressed with gzip. Its errors are those of
// Tasks and of w.
func WriteTasks(w io.Writer, p *granularity.Profile, opt TasksOptions) error {
	out, err := Tasks(p, opt)
	return write(w, out, err)
}

// A task profile is converted to samples in four steps:
//
//  1. Divide the tasks of each site by the decade of their granularity.
//  2. Sort the samples, longest time first.
//  3. Select those that fit, by an upper estimate of their size.
//  4. Add up the others, one sample per decade.

// taskSample is a sample before it has locations. It reuses labels: kind is the decade, lock the
// diagnosis, owner the pool.
type taskSample struct {
	blame
	tasks, cycles, time float64
}

func buildTasks(p *granularity.Profile, opt TasksOptions) *profile.Profile {
	b := newBuilder(&profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "tasks", Unit: "count"}, {Type: "cycles", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		DefaultSampleType: "time",
		PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
		Period:            1,
		DurationNanos:     int64(p.Wall),
		DocURL:            docURL,
		Comments:          tasksComments(p, opt),
	}, opt.File, opt.BuildID)
	b.samples = foldedKinds
	if !p.Time.IsZero() {
		b.p.TimeNanos = p.Time.UnixNano()
	}
	rest, dropped := map[string]*taskSample{}, 0
	for _, s := range taskSamples(p, opt) {
		if b.fitsBlame(&s.blame) {
			b.addTasks(s)
			continue
		}
		dropped++
		r := rest[s.labels.kind]
		if r == nil {
			r = &taskSample{blame: *folded(blameLabels{kind: s.labels.kind})}
			r.labels.lock = "[others]"
			rest[s.labels.kind] = r
		}
		r.tasks += s.tasks
		r.cycles += s.cycles
		r.time += s.time
	}
	for _, kind := range slices.Sorted(maps.Keys(rest)) {
		b.addTasks(rest[kind])
	}
	if dropped > 0 {
		b.p.Comments = append(b.p.Comments, fmt.Sprintf("folded: %s with the shortest times are added up under [others]", format.Plural(dropped, "sample", "samples")))
	}
	if len(b.p.Sample) == 0 { // some tools reject a profile without samples
		none := &taskSample{blame: blame{stack: []frame{{name: "[no tasks]", aspect: "none"}}}}
		none.labels = blameLabels{kind: "none", class: "[none]", lock: "unknown"}
		b.addTasks(none)
	}
	return b.p
}

// taskSamples returns the samples of all sites and decades, longest time first. A class without
// known sites is its own site.
func taskSamples(p *granularity.Profile, opt TasksOptions) (out []*taskSample) {
	for i := range p.Classes {
		c := &p.Classes[i]
		perCycle := nsPerCycle(p, c)
		sites := c.Sites
		if !slices.ContainsFunc(sites, func(s granularity.Site) bool { return p.SiteGranularity(&s).Count() > 0 }) {
			sites = []granularity.Site{{Tasks: c.Tasks, Cycles: c.Cycles, RunningNS: c.RunningNS}}
		}
		for j := range sites {
			s := &sites[j]
			chain := s.Created
			if opt.Submission {
				chain = s.Submitted
			}
			like := taskSample{blame: blame{stack: taskStack(chain, c.Name), labels: blameLabels{
				class: orNone(cleanName(c.Name)), lock: string(c.Diagnosis.OrUnknown()), owner: cleanName(s.Pool),
			}}}
			out = append(out, decades(p, s, like, perCycle)...)
		}
	}
	slices.SortStableFunc(out, func(a, b *taskSample) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(b.tasks, a.tasks))
	})
	return out
}

// taskStack returns the stack of a class's tasks, root first.
func taskStack(chain []granularity.Frame, class string) (stack []frame) {
	for _, f := range slices.Backward(chain) {
		stack = append(stack, frame{name: cleanName(f.Func), file: cleanName(f.File), line: f.Line})
	}
	return append(stack, frame{name: "[class] " + orNone(cleanName(class)), aspect: "class"})
}

// nsPerCycle returns the length of a cycle, from the frequency or from the class's time on the
// processor.
func nsPerCycle(p *granularity.Profile, c *granularity.Class) float64 {
	switch {
	case p.Hz > 0:
		return 1e9 / p.Hz
	case c.Cycles.Sum() > 0:
		return max(0, c.WallNS.Sum()-c.BlockedNS.Sum()) / c.Cycles.Sum()
	}
	return 0
}

// decades divides the tasks of a site by size, using the counts in the buckets of its distribution.
func decades(p *granularity.Profile, s *granularity.Site, like taskSample, perCycle float64) (out []*taskSample) {
	h := p.SiteGranularity(s)
	byDecade := map[int]*taskSample{}
	sum := 0.0
	for bucket := range h.Buckets() {
		n := float64(bucket.Count)
		v := float64(bucket.Low) + float64(bucket.High-bucket.Low)/2
		d := int(math.Floor(math.Log10(max(v, 1)) + 1e-12))
		x := byDecade[d]
		if x == nil {
			copied := like
			x = &copied
			x.labels.kind = decadeName(p, d)
			byDecade[d] = x
			out = append(out, x)
		}
		x.tasks += n
		x.cycles += n * v
		sum += n * v
	}
	for _, x := range out {
		if sum > 0 {
			x.cycles *= h.Sum() / sum // the buckets are approximate, the sum is exact
		}
		x.time = x.cycles * perCycle
		if p.ByTime() {
			x.time, x.cycles = x.cycles, 0
		}
	}
	return out
}

// decadeName returns the label of the granularities from 10^d to 10^(d+1).
func decadeName(p *granularity.Profile, d int) string {
	if p.ByTime() && d < 18 {
		return power(d) + "-" + power(d+1)
	}
	return "1e" + strconv.Itoa(d) + "-1e" + strconv.Itoa(d+1) + " cycles"
}

// power formats 10^d nanoseconds.
func power(d int) string {
	return "1" + strings.Repeat("0", d%3) + [...]string{"ns", "µs", "ms", "s", "ks", "Ms", "Gs"}[d/3]
}

func (b *builder) addTasks(s *taskSample) {
	l := s.labels
	b.add([]int64{whole(s.tasks), whole(s.cycles), whole(s.time)}, s.stack,
		[2]string{"granularity", l.kind}, [2]string{"class", l.class}, [2]string{"diagnosis", l.lock}, [2]string{"pool", l.owner})
}

// whole rounds to an integer, limited so that sums of a few do not overflow.
func whole(v float64) int64 { return int64(math.Round(min(v, 1<<62))) }

// tasksComments returns a description of the profile, and its warnings.
func tasksComments(p *granularity.Profile, opt TasksOptions) []string {
	what := "task granularity by creation"
	if opt.Submission {
		what = "task granularity by submission"
	}
	if p.Source != "" {
		what += ", from " + cleanName(p.Source) + ", " + cleanName(p.Accuracy)
	}
	return append([]string{what}, warningComments(p.Warnings)...)
}
