package pprof

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// builder builds the tables of a profile; ids count from 1 in the order of first use.
type builder struct {
	p         *profile.Profile
	code      *profile.Mapping // mapping of frames that are functions
	frames    map[frame]*profile.Location
	functions map[frame]*profile.Function // keyed by frames without a line
}

// frame is one line of a stack. A frame that is not code has no mapping; its aspect ("group",
// "idle") replaces the file name.
type frame struct {
	name, aspect string
	file         string
	line         int
}

// newBuilder returns a builder of a profile of the given wall time. Each type is the name and the
// unit of a value; main is the default one.
func newBuilder(opt Options, wall time.Duration, main string, types ...[2]string) *builder {
	b := &builder{
		p: &profile.Profile{
			DefaultSampleType: main,
			PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
			Period:            1, // not sampled: each nanosecond counts
			DurationNanos:     int64(wall),
			DocURL:            docURL,
		},
		// The file is the first word of the title that pprof shows. All symbols are known, so pprof
		// does not look for them in the file.
		code:      &profile.Mapping{ID: 1, File: cmp.Or(opt.File, "program"), BuildID: opt.BuildID, HasFunctions: true, HasFilenames: true, HasLineNumbers: true},
		frames:    map[frame]*profile.Location{},
		functions: map[frame]*profile.Function{},
	}
	b.p.Mapping = []*profile.Mapping{b.code}
	for _, t := range types {
		b.p.SampleType = append(b.p.SampleType, &profile.ValueType{Type: t[0], Unit: t[1]})
	}
	if !opt.Time.IsZero() {
		b.p.TimeNanos = opt.Time.UnixNano()
	}
	return b
}

func (b *builder) location(f frame) *profile.Location {
	if loc := b.frames[f]; loc != nil {
		return loc
	}
	loc := &profile.Location{ID: uint64(len(b.frames) + 1), Line: []profile.Line{{Function: b.function(f), Line: int64(f.line)}}}
	if f.aspect == "" {
		loc.Mapping = b.code
	}
	b.frames[f] = loc
	b.p.Location = append(b.p.Location, loc)
	return loc
}

func (b *builder) function(f frame) *profile.Function {
	f.line = 0
	if fn := b.functions[f]; fn != nil {
		return fn
	}
	fn := &profile.Function{ID: uint64(len(b.functions) + 1), Name: f.name, Filename: f.file}
	if f.aspect == "" {
		fn.SystemName = f.name
	} else {
		fn.Filename = f.aspect // with a system name, pprof would demangle names like those of C++
	}
	b.functions[f] = fn
	b.p.Function = append(b.p.Function, fn)
	return fn
}

// sample is a sample before it has locations. Labels are pairs of a name and a value; those without
// a value are omitted.
type sample struct {
	stack  []frame // root first
	labels [][2]string
	values []int64
	window []int64 // the start of its window, if it has one
}

// add adds a sample to the profile.
func (b *builder) add(s *sample) {
	out := &profile.Sample{Value: s.values, Label: map[string][]string{}}
	for _, label := range s.labels {
		if label[1] != "" {
			out.Label[label[0]] = []string{label[1]}
		}
	}
	if s.window != nil {
		out.NumLabel = map[string][]int64{"window_start": s.window}
		out.NumUnit = map[string][]string{"window_start": {"nanoseconds"}}
	}
	for _, f := range slices.Backward(s.stack) {
		out.Location = append(out.Location, b.location(f))
	}
	b.p.Sample = append(b.p.Sample, out)
}

// plus adds the values of another sample, up to a limit.
func (s *sample) plus(o *sample) {
	for i, v := range o.values {
		s.values[i] = min(s.values[i]+v, maxValue)
	}
}

// maxValue bounds values, so that sums of two do not overflow.
const maxValue = 1<<62 - 1

// samples holds samples, those with equal stacks and labels combined.
type samples struct {
	all   []sample
	index map[string]int
	key   []byte
}

func (s *samples) add(x sample) {
	s.key = s.key[:0]
	for _, label := range x.labels {
		s.key = append(append(s.key, label[1]...), '\n') // cleaned names contain no line feeds
	}
	for _, f := range x.stack {
		s.key = append(append(s.key, f.name...), '\n')
		s.key = append(append(s.key, f.file...), '\n')
		s.key = append(append(strconv.AppendInt(s.key, int64(f.line), 10), f.aspect...), '\n')
	}
	for _, at := range x.window {
		s.key = strconv.AppendInt(s.key, at, 10)
	}
	at, known := s.index[string(s.key)]
	if known {
		s.all[at].plus(&x)
		return
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	s.index[string(s.key)] = len(s.all)
	s.all = append(s.all, x)
}

// The limits of common profile databases, per profile.
const (
	maxSamples = 16_000  // exclusive
	maxBytes   = 4 << 20 // uncompressed
)

// size is a writer that counts bytes.
type size int

func (n *size) Write(p []byte) (int, error) {
	*n += size(len(p))
	return len(p), nil
}

// set replaces the samples of the profile, and reports whether it is within the limits, with room
// for another comment.
func (b *builder) set(all []sample) bool {
	if len(all) >= maxSamples {
		return false
	}
	b.p.Sample, b.p.Location, b.p.Function = nil, nil, nil
	clear(b.frames)
	clear(b.functions)
	for i := range all {
		b.add(&all[i])
	}
	var n size
	return b.p.WriteUncompressed(&n) == nil && n < maxBytes-maxName
}

// sort sorts samples by their values of the default type, largest first.
func (b *builder) sort(all []sample) {
	main := slices.IndexFunc(b.p.SampleType, func(t *profile.ValueType) bool { return t.Type == b.p.DefaultSampleType })
	order.Stable(all, func(x, y sample) int { return cmp.Compare(y.values[main], x.values[main]) })
}

// fill sets the samples of the profile. If not all fit, those with the smallest values of the default
// type are added up: fold returns the stack and the labels of the sum. fill returns false if not even
// the sums fit. none is the only sample if there is no other, because some tools reject a profile
// without samples.
func (b *builder) fill(all []sample, fold func(sample) sample, none sample) bool {
	if len(all) == 0 {
		none.values = make([]int64, len(b.p.SampleType))
		all = []sample{none}
	}
	folded := 0
	keep := func(n int) bool {
		folded = 0
		if n >= maxSamples {
			return false
		}
		var rest samples
		for _, s := range all[n:] {
			sum := fold(s)
			if !slices.Equal(sum.stack, s.stack) {
				folded++
			}
			sum.values = slices.Clone(s.values)
			rest.add(sum)
		}
		return b.set(append(all[:n:n], rest.all...))
	}
	if keep(len(all)) {
		return true
	}
	if !keep(0) {
		return false
	}
	b.sort(all)
	for n := len(all) * 3 / 4; !keep(n); n = n * 3 / 4 {
	}
	b.p.Comments = append(b.p.Comments, fmt.Sprintf("folded: %s with the least time are added up under [others]", format.Plural(folded, "stack", "stacks")))
	return true
}
