package speedup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/result"
)

// A trace shows that the same work took longer to run with N workers (the remainder), but not why.
// Counters of the system do. If the processor time T of a unit of work has I instructions in C
// cycles, then T = I · C/I · T/C. With the logarithmic mean L(a, b) = (a − b) ÷ ln(a/b),
//
//	T_N − T_1 = L(T_N, T_1) · (ln I_N/I_1 + ln (C/I)_N/(C/I)_1 + ln (T/C)_N/(T/C)_1)
//
// exactly (the additive LMDI decomposition): more work, slower instructions, a slower clock. Divided
// by the wall time of a unit in the run with N workers, the terms are in units of the speed-up, as
// in figure 4 of the paper. Machines without counters of instructions split T into user mode and
// the kernel. All of that is an estimate: counts are of whole processes.

// Usage compares what the processes of two runs of the same work used, as the system counted it
// from their start to their end: counts by name, such as "page-faults". A name that is missing is
// unknown. Hardware counters of user mode alone have the suffix ":u". Times are in nanoseconds.
type Usage struct {
	// Per is the unit of work: "operation" (an iteration of a benchmark), "unit" (a region of
	// [Options].Unit) or "run".
	Per string `json:"per"`
	// Single and Multi are the counts of a unit of work with one worker and with N. Single is
	// nil if there was no run with one.
	Single counts `json:"single,omitempty"`
	Multi  counts `json:"multi"`
	// Missing is the reason why instructions and cycles are unknown.
	Missing string `json:"missing,omitempty"`
}

// counters lists the names of counts with their words, in the order of tables.
var counters = []struct{ name, words string }{
	{"wall-time", "wall time"},
	{"processor-time", "processor time"},
	{"user-time", "user time"},
	{"system-time", "system time"},
	{"page-faults", "page faults"},
	{"voluntary-switches", "switches to wait"},
	{"involuntary-switches", "switches while running"},
	{"migrations", "migrations"},
	{"instructions", "instructions"},
	{"cycles-per-instruction", "cycles per instruction"},
	{"time-per-cycle", "time per cycle"},
	{"cache-misses", "cache misses"},
}

// counts are the counts of a run, by name.
type counts map[string]float64

// of returns a count by its name, such as "page-faults" or, derived from others,
// "cycles-per-instruction"; NaN if it is unknown.
func (c counts) of(name string) float64 {
	v, known := c[name]
	if !known {
		v, known = c[name+":u"]
	}
	switch {
	case known:
		return v
	case name == "cycles-per-instruction":
		return c.of("cycles") / c.of("instructions")
	case name == "time-per-cycle":
		return c.of(c.timed()) / c.of("cycles")
	}
	return math.NaN()
}

// timed names the time for which the hardware counted.
func (c counts) timed() string {
	if _, user := c["cycles:u"]; user {
		return "user-time"
	}
	return "processor-time"
}

// growth is a count of a unit of work with one worker and with N. Unknown values are NaN.
type growth struct {
	Name, Words   string // such as "page-faults", and as tables call it
	Single, Multi float64
	// Lost is the part of N that goes with the growth, an estimate; NaN for counts that are not a
	// part of the processor time. That of processor-time is the sum of the others.
	Lost float64
}

// Ratio returns Multi ÷ Single.
func (g *growth) Ratio() float64 { return g.Multi / g.Single }

// Growth returns the counts that are known of the run with N workers, or nil without
// [Stack.Usage].
func (s *Stack) Growth() (out []growth) {
	u := s.Usage
	if u == nil {
		return nil
	}
	lost := u.lost()
	for _, c := range counters {
		g := growth{c.name, c.words, u.Single.of(c.name), u.Multi.of(c.name), math.NaN()}
		if v, part := lost[c.name]; part {
			g.Lost = v
		}
		if _, user := u.Multi[c.name+":u"]; user {
			g.Words += ", user mode"
		}
		if !math.IsNaN(g.Multi) {
			out = append(out, g)
		}
	}
	return out
}

// lost returns the parts of N that go with the growth of the processor time.
func (u *Usage) lost() map[string]float64 {
	wall, timed := u.Multi.of("wall-time"), u.Multi.timed()
	more := func(name string) float64 { return (u.Multi.of(name) - u.Single.of(name)) / wall }
	out := map[string]float64{"processor-time": more("processor-time"), "user-time": more("user-time"), "system-time": more("system-time")}
	mean := u.Multi.of(timed)
	if one := u.Single.of(timed); one != mean {
		mean = (mean - one) / math.Log(mean/one)
	}
	part := func(name string) float64 { return mean * math.Log(u.Multi.of(name)/u.Single.of(name)) / wall }
	work, slow, clock := part("instructions"), part("cycles-per-instruction"), part("time-per-cycle")
	if sum := work + slow + clock; math.IsNaN(sum) || math.IsInf(sum, 0) || u.Single.timed() != timed {
		return out
	}
	delete(out, "user-time")
	if timed == "processor-time" {
		delete(out, "system-time") // its instructions were counted
	}
	out["instructions"], out["cycles-per-instruction"], out["time-per-cycle"] = work, slow, clock
	return out
}

// format formats a count for people.
func (g *growth) format(v float64) string {
	switch {
	case math.IsNaN(v), math.IsInf(v, 0):
		return ""
	case strings.Contains(g.Name, "time") && v >= 100:
		return format.Duration(time.Duration(v))
	case strings.Contains(g.Name, "time"):
		return strconv.FormatFloat(v, 'g', 3, 64) + " ns"
	case v != 0 && v < 0.1:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return format.Quantity(v)
}

// UsageTable returns the counts of a unit of work as texts: a heading, and a row for each count,
// with a column for the run with one worker and for each stack. The last columns are the growth in
// the last stack, and the part of N that goes with it. It is nil if no stack has counts.
func UsageTable(stacks ...*Stack) (rows [][]string) {
	stacks = slices.DeleteFunc(slices.Clone(stacks), func(s *Stack) bool { return s.Usage == nil })
	if len(stacks) == 0 {
		return nil
	}
	last := stacks[len(stacks)-1]
	head := []string{"per " + last.Usage.Per, "1"}
	for _, s := range stacks {
		head = append(head, cmp.Or(s.Label, strconv.Itoa(s.N)))
	}
	rows = append(rows, append(head, "growth", "lost"))
	for _, g := range last.Growth() {
		row := []string{g.Words, g.format(g.Single)}
		for _, s := range stacks {
			row = append(row, g.format(s.Usage.Multi.of(g.Name)))
		}
		growth, lost := "", ""
		if r := g.Ratio(); !math.IsNaN(r) && !math.IsInf(r, 0) {
			growth = format.Quantity(r) + "x"
		}
		if !math.IsNaN(g.Lost) {
			lost = format.Parallelism(g.Lost)
		}
		rows = append(rows, append(row, growth, lost))
	}
	return rows
}

// UsageColumns returns a column for the growth of each count.
func UsageColumns() (columns []result.Column[Stack]) {
	for _, c := range counters[1:] {
		columns = append(columns, result.Column[Stack]{Name: c.name + "-growth", Title: c.words + " growth", Unit: result.Number,
			Help: "with N workers ÷ with one, for each unit of work",
			Value: result.Floats(func(s *Stack) float64 {
				for _, g := range s.Growth() {
					if g.Name == c.name {
						return g.Ratio()
					}
				}
				return math.NaN()
			})})
	}
	return columns
}

// Thresholds of [Stack.Explain].
const (
	grows      = 1.1  // processor time of a unit of work grew by more than this factor
	worthSteps = 0.05 // part of N below which a growth is not a cause
	// Switches are a cause if they grew by this factor to this many per second.
	manyTimes, manySwitches = 2, 1000
	// Usual costs in the kernel, in nanoseconds, to tell which of both took the time.
	faultCost, switchCost = 500, 2000
)

// Explain sets Usage, and Next to a sentence about what grew with the number of workers and what to
// look at next. Next is "" without the counts of a run with one worker.
func (s *Stack) Explain(u *Usage) {
	s.Usage = u
	s.Next = s.nextStep()
}

func (s *Stack) nextStep() string {
	all := map[string]growth{}
	for _, g := range s.Growth() {
		if !math.IsNaN(g.Single) {
			all[g.Name] = g
		}
	}
	cpu, known := all["processor-time"]
	if !known || s.Estimate {
		return ""
	}
	fromTo := func(name string) string {
		g := all[name]
		return fmt.Sprintf("from %s to %s", g.format(g.Single), g.format(g.Multi))
	}
	per, least, more := s.Usage.Per, worthSteps*float64(s.N), ""
	g, wall := all["voluntary-switches"], all["wall-time"].Multi
	if g.Multi > manyTimes*g.Single && g.Multi*1e9 > manySwitches*wall && s.Of(Synchronization) > least && s.Idle <= mostIdle {
		more = fmt.Sprintf(" Context switches per %s grow %s: threads sleep and wake up while goroutines wait for each other. Next: let them wait less often: hold locks for less time or split them, or send larger batches.",
			per, fromTo(g.Name))
	}
	if rest := s.Remainder - max(0, cpu.Lost); rest >= least && rest > s.Remainder/2 {
		more += fmt.Sprintf(" An estimated %s of the remainder is time in which goroutines seemed to run, but other programs had their processors.", format.Parallelism(rest))
	}
	little := fmt.Sprintf("Processor time per %s hardly grows (%s)", per, fromTo(cpu.Name))
	if cpu.Ratio() >= grows {
		little = fmt.Sprintf("Processor time per %s grows %s, but only an estimated %s of %d goes with it", per, fromTo(cpu.Name), format.Parallelism(cpu.Lost), s.N)
	}
	switch {
	case cpu.Ratio() >= grows && cpu.Lost >= least:
		return fmt.Sprintf("Processor time per %s grows %s: an estimated %s of %d goes with it, %s%s", per, fromTo(cpu.Name), format.Parallelism(cpu.Lost), s.N, s.grown(all, fromTo), more)
	case more != "":
		return little + "." + more
	}
	return little + ": the loss, if any, is not work."
}

// grown returns the end of a sentence about the largest part of the growth.
func (s *Stack) grown(all map[string]growth, fromTo func(string) string) string {
	worst := growth{}
	for _, g := range s.Growth() {
		if g.Name != "processor-time" && g.Lost > worst.Lost {
			worst = g
		}
	}
	more := func(name string) float64 { return max(0, all[name].Multi-all[name].Single) }
	faults, switches := faultCost*more("page-faults"), switchCost*(more("voluntary-switches")+more("involuntary-switches"))
	const profiles = " Next: compare CPU profiles of both widths (go tool pprof -diff_base)"
	switch worst.Name {
	case "instructions":
		return "mostly because the work grows: instructions " + fromTo(worst.Name) + "." + profiles + " and look for what is done once for each worker."
	case "cycles-per-instruction":
		misses := ""
		if _, known := all["cache-misses"]; known {
			misses = ", with cache misses " + fromTo("cache-misses")
		}
		return "mostly because instructions take longer: cycles for each " + fromTo(worst.Name) + misses + ". Next: look for memory that several goroutines write, such as atomics, locks and counters in one cache line; give each worker its own."
	case "time-per-cycle":
		return "mostly because the clock of the processors is slower: the program cannot repair that."
	case "system-time":
		switch tenth := more("system-time") / 10; {
		case faults >= max(tenth, switches):
			return "mostly in the kernel, with page faults " + fromTo("page-faults") + ": workers touch new memory. Next: let each worker reuse its memory, such as by sync.Pool."
		case switches >= tenth:
			return "mostly in the kernel, with context switches " + fromTo("voluntary-switches") + "."
		}
		return "mostly in the kernel." + profiles + " and look at system calls."
	case "user-time":
		why := ""
		if s.Usage.Missing != "" {
			why = "; instructions, which would distinguish these, are not counted: " + s.Usage.Missing
		}
		return "mostly in user mode: goroutines do more work, spin, or write memory that other cores use, such as atomics" + why + "." + profiles + " and look for functions that take longer for the same calls."
	}
	if _, known := s.Usage.Multi["user-time"]; !known {
		return "for reasons that a run of less than a second of processor time does not show. Next: run it for longer (-benchtime)."
	}
	return "for reasons that no counter shows." + profiles + "."
}

// checkValid returns an error if a count is negative or not finite.
func (u *Usage) checkValid() error {
	for _, c := range []counts{u.Single, u.Multi} {
		for name, v := range c {
			if !(v >= 0 && v <= math.MaxFloat64) {
				return fmt.Errorf("usage.%s is out of range: %v", name, v)
			}
		}
	}
	return nil
}
