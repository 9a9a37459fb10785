package pprof

import (
	"github.com/google/pprof/profile"
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

func newBuilder(p *profile.Profile, file, buildID string) *builder {
	b := &builder{
		p: p,
		// HasFunctions keeps pprof from looking for the executable.
		code:      codeMapping(file, buildID),
		frames:    map[frame]*profile.Location{},
		functions: map[frame]*profile.Function{},
		strings:   map[string]bool{},
	}
	p.Mapping = []*profile.Mapping{b.code}
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
func (b *builder) fits(stack []frame, labels ...string) bool {
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
	for _, s := range labels {
		text(s)
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

// add adds a sample with a stack from the root. It omits labels without a value.
func (b *builder) add(values []int64, stack []frame, labels ...[2]string) *profile.Sample {
	s := &profile.Sample{Value: values, Label: map[string][]string{}}
	for _, label := range labels {
		if label[1] != "" {
			s.Label[label[0]] = []string{label[1]}
		}
	}
	for i := len(stack) - 1; i >= 0; i-- {
		s.Location = append(s.Location, b.location(stack[i]))
	}
	b.p.Sample = append(b.p.Sample, s)
	return s
}
