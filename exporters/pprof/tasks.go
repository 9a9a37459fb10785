package pprof

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// Tasks returns a task profile as a pprof profile with the sample types tasks/count, cycles/count
// and time/nanoseconds, the default:
//
//	go tool pprof -top tasks.pb.gz                                  # which classes execute for how long
//	go tool pprof -peek 'main.walk' -sample_index=tasks tasks.pb.gz  # how many tasks a function creates
//	go tool pprof -tags tasks.pb.gz                                 # how large the tasks are
//
// The stacks are the call stacks that created the tasks, with the class as the leaf, "[class] name",
// which is not code: its file name is "class". Each sample carries the labels
// granularity, the decade of its tasks' granularity such as "1e4-1e5 cycles" (or "10µs-100µs" in a
// profile by time), class, diagnosis, and pool if there is one.
//
// Time is cycles divided by their frequency; in a profile from a trace, running time; and if cycles
// have no fixed length, time on the processor. Unknown cycles are 0. The samples of a site sum to
// its cycles; a sample of one decade is as exact as the histogram's buckets, 1 %.
//
// Like [Profile], Tasks stays under 16,000 samples and 4 MB: the smallest sites are added up under
// "[others]", and a comment of the profile records that.
func Tasks(p *granularity.Profile, opt Options) (*profile.Profile, error) {
	if p == nil {
		return nil, errors.New("pprof: no profile of tasks")
	}
	opt.Time = p.Time
	b := newBuilder(opt, p.Wall, "time",
		[2]string{"tasks", "count"}, [2]string{"cycles", "count"}, [2]string{"time", "nanoseconds"})
	b.p.Comments = tasksComments(p)
	labels := func(granularity, class, diagnosis, pool string) [][2]string {
		return [][2]string{{"granularity", granularity}, {"class", class}, {"diagnosis", diagnosis}, {"pool", pool}}
	}
	var all []sample
	for i := range p.Classes {
		c := &p.Classes[i]
		sites := c.Sites // a class without known sites is its own site
		if !slices.ContainsFunc(sites, func(s granularity.Site) bool { return p.SiteGranularity(&s).Count() > 0 }) {
			sites = []granularity.Site{{Tasks: c.Tasks, Cycles: c.Cycles, RunningNS: c.RunningNS}}
		}
		for j := range sites {
			s := &sites[j]
			for _, d := range decades(p, s, nsPerCycle(p, c)) {
				all = append(all, sample{stack: taskStack(s.Created, c.Name), values: []int64{whole(d.tasks), whole(d.cycles), whole(d.time)},
					labels: labels(d.name, orNone(cleanName(c.Name)), c.DiagnosisOrUnknown(), cleanName(s.Pool))})
			}
		}
	}
	// If times are equal, the number of tasks decides.
	slices.SortStableFunc(all, func(a, b sample) int { return cmp.Compare(b.values[0], a.values[0]) })
	b.sort(all)
	b.fill(all, func(s sample) sample {
		return sample{stack: []frame{otherStacks}, labels: labels(s.labels[0][1], otherStacks.name, otherStacks.name, "")}
	}, sample{stack: []frame{{name: "[no tasks]", aspect: "none"}}, labels: labels("none", "[none]", "unknown", "")})
	return checked(b.p)
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

// decade holds the tasks of a site whose granularity is between two powers of ten.
type decade struct {
	name                string
	tasks, cycles, time float64
}

// decades divides the tasks of a site by size, using the counts in the buckets of its distribution.
func decades(p *granularity.Profile, s *granularity.Site, perCycle float64) (out []*decade) {
	h := p.SiteGranularity(s)
	byDecade := map[int]*decade{}
	sum := 0.0
	for value, count := range h.Buckets() {
		n, v := float64(count), float64(value)
		d := int(math.Floor(math.Log10(max(v, 1)) + 1e-12))
		x := byDecade[d]
		if x == nil {
			x = &decade{name: decadeName(p, d)}
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

// whole rounds to an integer.
func whole(v float64) int64 { return int64(math.Round(min(v, maxValue))) }

// tasksComments returns a description of the profile, and its warnings.
func tasksComments(p *granularity.Profile) []string {
	what := "task granularity by creation"
	if p.Source != "" {
		what += ", from " + cleanName(p.Source) + ", " + cleanName(p.Accuracy)
	}
	return append([]string{what}, warningComments(p.Warnings)...)
}
