package pprof

import (
	"cmp"
	"fmt"
	"maps"
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
	strings   map[string]bool             // strings counted by fits
	bytes     int                         // upper bound of the size so far
	samples   int                         // number of samples so far
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
		strings:   map[string]bool{},
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

// location returns the location of a frame.
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

// Bounds of encoded sizes. Ids and indices have up to 3 bytes, because there are fewer than 2^21 of
// each.
const (
	valuesBytes   = 111 // a sample: two values of up to 10 bytes and a 0, six labels of 10
	callBytes     = 28  // a location with its line
	functionBytes = 22
	stringBytes   = 4 // before each string
)

// fits reports whether there is room for one more sample, and reserves it.
func (b *builder) fits(stack []frame, labels ...[2]string) bool {
	n := valuesBytes + 3*len(stack)
	var fresh []string
	text := func(s string) {
		if !b.strings[s] {
			n += stringBytes + len(s) // possibly counted twice
			fresh = append(fresh, s)
		}
	}
	for _, f := range stack {
		if b.frames[f] == nil {
			n += callBytes
			if fn := (frame{f.name, f.aspect, f.file, 0}); b.functions[fn] == nil {
				n += functionBytes
				text(f.name)
				text(f.file)
			}
		}
	}
	for _, label := range labels {
		text(label[1])
	}
	if b.samples+1 >= maxSamples || b.bytes+n > maxBytes-maxBytes/16 {
		return false
	}
	b.samples++
	b.bytes += n
	for _, s := range fresh {
		b.strings[s] = true
	}
	return true
}

// sample is a sample before it has locations. Labels are pairs of a name and a value; those without
// a value are omitted.
type sample struct {
	stack  []frame // root first
	labels [][2]string
	values []int64
}

// add adds a sample to the profile.
func (b *builder) add(s sample) *profile.Sample {
	out := &profile.Sample{Value: s.values, Label: map[string][]string{}}
	for _, label := range s.labels {
		if label[1] != "" {
			out.Label[label[0]] = []string{label[1]}
		}
	}
	for _, f := range slices.Backward(s.stack) {
		out.Location = append(out.Location, b.location(f))
	}
	b.p.Sample = append(b.p.Sample, out)
	return out
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

// foldedKinds is the maximum number of samples of what does not fit.
const foldedKinds = 20

// fill adds the samples that fit, those with the largest value of the default type first. The
// others are added up, one sample for each value of their first label: fold returns the stack and
// the labels of that sample. none is the only sample if there is no other, because some tools
// reject a profile without samples.
func (b *builder) fill(all []sample, fold func(sample) sample, none sample) *profile.Profile {
	main := slices.IndexFunc(b.p.SampleType, func(t *profile.ValueType) bool { return t.Type == b.p.DefaultSampleType })
	order.Stable(all, func(x, y sample) int { return cmp.Compare(y.values[main], x.values[main]) })
	b.samples = foldedKinds
	rest, dropped := map[string]sample{}, 0
	for i := range all {
		s := &all[i]
		if b.fits(s.stack, s.labels...) {
			b.add(*s)
			continue
		}
		dropped++
		r, ok := rest[s.labels[0][1]]
		if !ok {
			r = fold(*s)
			r.values = make([]int64, len(s.values))
			rest[s.labels[0][1]] = r
		}
		r.plus(s)
	}
	for _, kind := range slices.Sorted(maps.Keys(rest)) {
		b.add(rest[kind])
	}
	if dropped > 0 {
		b.p.Comments = append(b.p.Comments, fmt.Sprintf("folded: %s with the least time are added up under [others]", format.Plural(dropped, "stack", "stacks")))
	}
	if len(b.p.Sample) == 0 {
		none.values = make([]int64, len(b.p.SampleType))
		b.add(none)
	}
	return b.p
}
