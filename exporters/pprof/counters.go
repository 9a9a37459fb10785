package pprof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/internal/format"
)

// CountersOptions says what a profile of quanta shows. The zero value is ready to use.
type CountersOptions struct {
	// Metrics are what is added up beside the number of quanta and their time; nil means every
	// counter of changes. A metric of levels or of quotients is refused, since its sum means
	// nothing.
	Metrics []string
	// File and BuildID name the executable that was recorded; empty when not known: pprof then
	// shows "program" in titles.
	File, BuildID string
}

// Counters turns the quanta of a set (nil means all) of a recording into a profile with the sample
// types quanta/count, time/nanoseconds, the default, and one for each metric:
//
//	go tool pprof -top -sample_index=minor_faults counters.pb.gz   # in which function quanta with faults end
//
// A sample sums up the quanta of one group that ended in one function: the group is the root of its
// stack, "[group] name", and the function the leaf, so it says where goroutines stopped, not where
// they spent their time. Labels are group, kind and ended. What is not known of a quantum is left
// out; the profile's comments say of how many, and what of a counter belongs to no quantum.
//
// Like [Write], it keeps under 16,000 samples and 4 MB: the smallest are added up under "[others]",
// and a comment says so. The errors are those of the metrics (see [counters.ParseMetric]) and of
// ctx.
func Counters(ctx context.Context, e *counters.Explorer, set *counters.Set, opt CountersOptions) (*profile.Profile, error) {
	if e == nil {
		return nil, errors.New("pprof: no recording")
	}
	if set == nil {
		set = counters.AllRows(e.Recording().Len())
	}
	q := quanta{rec: e.Recording(), set: set}
	if err := q.evaluate(ctx, e, opt.Metrics); err != nil {
		return nil, fmt.Errorf("pprof: %w", err)
	}
	out := q.build(opt)
	if err := out.CheckValid(); err != nil {
		return nil, fmt.Errorf("pprof: building the profile: %w", err)
	}
	return out, nil
}

// WriteCounters writes the profile of [Counters] to w, compressed by gzip as is usual.
func WriteCounters(ctx context.Context, w io.Writer, e *counters.Explorer, set *counters.Set, opt CountersOptions) error {
	out, err := Counters(ctx, e, set, opt)
	if err != nil {
		return err
	}
	if err := out.Write(w); err != nil {
		return fmt.Errorf("pprof: writing the profile: %w", err)
	}
	return nil
}

// quanta are the rows of a set with the values of the metrics.
type quanta struct {
	rec      *counters.Recording
	set      *counters.Set
	types    []*profile.ValueType
	values   [][]float64 // by metric, of the rows of the set
	comments []string
}

func (q *quanta) evaluate(ctx context.Context, e *counters.Explorer, metrics []string) error {
	names := e.Names()
	if metrics == nil {
		for _, name := range names {
			if !name.Builtin && !name.Level {
				metrics = append(metrics, name.Name)
			}
		}
	}
	taken := map[string]bool{"quanta": true, "time": true}
	for _, text := range metrics {
		m, err := counters.ParseMetric(text)
		if err != nil {
			return err
		}
		if err := summable(m, names); err != nil {
			return err
		}
		s, err := e.Values(ctx, m, q.set)
		if err != nil {
			return err
		}
		unit := "count"
		if i := slices.IndexFunc(names, func(n counters.Name) bool { return n.Name == m.String() }); i >= 0 {
			unit = map[string]string{"ns": "nanoseconds", "bytes": "bytes"}[names[i].Unit]
		}
		q.types = append(q.types, &profile.ValueType{Type: typeName(m.String(), taken), Unit: cmp.Or(unit, "count")})
		q.values = append(q.values, s)
		q.tell(m.String(), s)
	}
	return nil
}

// summable refuses what must not be added up.
func summable(m *counters.Metric, names []counters.Name) error {
	if m.Quotient() {
		return fmt.Errorf("%s is a quotient, and a sum of quotients means nothing: take its two sides", m)
	}
	for _, name := range names {
		if name.Name == m.String() && (name.Level || name.Builtin && name.Unit != "ns" || name.Name == "begin" || name.Name == "end") {
			return fmt.Errorf("%s is not a change during the quantum, so its sum means nothing", m)
		}
	}
	return nil
}

// typeName is a metric's name as databases accept it: letters, digits and "_", each once.
func typeName(metric string, taken map[string]bool) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, metric)
	name = strings.Trim(name, "_")
	if len(name) > 100 {
		name = name[:100]
	}
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "metric_" + name
	}
	unique := name
	for i := 2; taken[unique]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	taken[unique] = true
	return unique
}

// tell says in a comment what a metric's values leave open.
func (q *quanta) tell(metric string, values []float64) {
	unknown := 0
	for _, v := range values {
		if math.IsNaN(v) {
			unknown++
		}
	}
	what := q.types[len(q.types)-1].Type
	if what != metric {
		q.comments = append(q.comments, fmt.Sprintf("%s is %s", what, cleanName(metric)))
	}
	if unknown > 0 {
		q.comments = append(q.comments, fmt.Sprintf("%s: not known of %s, which are left out", what, format.Plural(unknown, "quantum", "quanta")))
	}
	for i := range q.rec.Counters {
		c := &q.rec.Counters[i]
		if strings.ReplaceAll(c.Name, "-", "_") != metric {
			continue
		}
		q.comments = append(q.comments, fmt.Sprintf("%s: %s, from %s; %d of %d belong to no quantum", what, cleanName(string(c.Accuracy)), cleanName(c.Source), c.Remainder, c.Total))
	}
}

// stop is where quanta of a group ended, and how.
type stop struct {
	group, fn int32
	ended     counters.Ending
}

type stopSum struct {
	stop
	quanta, time int64
	sums         []float64
}

// stops adds up the quanta, the longest time first.
func (q *quanta) stops() []*stopSum {
	index := map[stop]*stopSum{}
	var out []*stopSum
	i := 0
	for row := range q.set.Rows() {
		key := stop{q.rec.Group[row], q.rec.Func[row], q.rec.Ending[row]}
		s := index[key]
		if s == nil {
			s = &stopSum{stop: key, sums: make([]float64, len(q.values))}
			index[key] = s
			out = append(out, s)
		}
		s.quanta++
		s.time += q.rec.Duration[row]
		for j, values := range q.values {
			if v := values[i]; !math.IsNaN(v) {
				s.sums[j] += v
			}
		}
		i++
	}
	slices.SortStableFunc(out, func(a, b *stopSum) int { return cmp.Compare(b.time, a.time) })
	return out
}

func (q *quanta) build(opt CountersOptions) *profile.Profile {
	b := newBuilder(&profile.Profile{
		SampleType: append([]*profile.ValueType{
			{Type: "quanta", Unit: "count"},
			{Type: "time", Unit: "nanoseconds"},
		}, q.types...),
		DefaultSampleType: "time",
		PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
		Period:            1,
		DurationNanos:     int64(q.rec.Wall),
		DocURL:            docURL,
	}, opt.File, opt.BuildID)
	if !q.rec.Start.IsZero() {
		b.p.TimeNanos = q.rec.Start.UnixNano()
	}
	what := fmt.Sprintf("counters: %s of %s", format.Plural(q.set.Count(), "quantum", "quanta"), format.Count(q.rec.Len()))
	b.p.Comments = append(append([]string{what}, q.comments...), warningComments(q.rec.Warnings)...)
	q.samples(b)
	return b.p
}

// samples adds a sample for each stop that fits, and one for the rest.
func (q *quanta) samples(b *builder) {
	stops := q.stops()
	bytes, kept := 0, 0
	for _, s := range stops {
		group, fn := q.rec.Groups[s.group], q.function(s.fn)
		// From above: the names as frames and labels, and ten bytes for each number.
		bytes += 2*min(len(group.Name), 4*maxName) + 2*min(len(fn.name), 4*maxName) + sampleBytes + 10*len(s.sums)
		if kept >= maxSamples-2 || bytes > maxBytes-maxBytes/16 {
			break
		}
		kept++
		name := cleanName(group.Name)
		b.counted(s, []frame{{name: "[group] " + name, aspect: "group"}, fn}, [2]string{"group", orNone(name)}, [2]string{"kind", group.Kind.String()}, [2]string{"ended", s.ended.String()})
	}
	rest := &stopSum{sums: make([]float64, len(q.values))}
	for _, s := range stops[kept:] {
		rest.quanta += s.quanta
		rest.time += s.time
		for j, v := range s.sums {
			rest.sums[j] += v
		}
	}
	name := "[others]"
	if len(stops) == 0 { // a profile without samples is an error to some
		name = "[no quanta]"
	}
	if kept < len(stops) || len(stops) == 0 {
		b.counted(rest, []frame{{name: name, aspect: "others"}}, [2]string{"group", name}, [2]string{"kind", "none"}, [2]string{"ended", "other"})
	}
	if kept < len(stops) {
		b.p.Comments = append(b.p.Comments, fmt.Sprintf("folded: %s with the shortest times are added up under [others]", format.Plural(len(stops)-kept, "sample", "samples")))
	}
}

// function is the frame of a function, which may not be known.
func (q *quanta) function(fn int32) frame {
	if fn == 0 {
		return frame{name: "[not known]", aspect: "function"}
	}
	return frame{name: cleanName(q.rec.Funcs[fn])}
}

// counted adds a sample with a stack from the root.
func (b *builder) counted(s *stopSum, stack []frame, labels ...[2]string) {
	values := []int64{s.quanta, s.time}
	for _, v := range s.sums {
		values = append(values, int64(math.Round(max(-1<<62, min(v, 1<<62)))))
	}
	b.add(values, stack, labels...)
}
