package pprof

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
)

// A contention profile becomes samples in four steps:
//
//  1. Equal stacks with equal labels are put together.
//  2. They are sorted, the longest delay first.
//  3. Those that fit are taken, by an estimate of their bytes from above.
//  4. The others are added up, a sample for each kind of contention.

// blame is a sample before it has locations.
type blame struct {
	stack         []contention.SampleFrame // root first
	labels        blameLabels
	count, delays int64
	ready         int64
}

// blameLabels are comparable, so that equal ones are found. Those that a view has not are empty.
type blameLabels struct{ kind, lock, class, waiter, owner, root string }

// maxLockNames is how many locks can be told apart by a label.
const maxLockNames = 100

func buildContention(p *contention.Profile, opt ContentionOptions) *profile.Profile {
	b := &builder{
		p: &profile.Profile{
			SampleType: []*profile.ValueType{
				{Type: "contentions", Unit: "count"},
				{Type: "delay", Unit: "nanoseconds"},
				{Type: "ready", Unit: "nanoseconds"},
			},
			DefaultSampleType: "delay",
			PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
			Period:            1,
			DurationNanos:     int64(p.Duration),
			DocURL:            docURL,
			Comments:          contentionComments(p, opt.View),
		},
		code: codeMapping(opt.File, opt.BuildID),
	}
	b.p.Mapping = []*profile.Mapping{b.code}
	if !p.Start.IsZero() {
		b.p.TimeNanos = p.Start.UnixNano()
	}
	t := &callTable{b: b, strings: map[string]bool{}, functions: map[[2]string]*profile.Function{}, calls: map[contention.SampleFrame]*profile.Location{}}
	blames := together(p, opt.View)
	rest, dropped := map[string]*blame{}, 0
	for i := range blames {
		s := &blames[i]
		if t.fits(s) {
			t.add(s)
			continue
		}
		dropped++
		r := rest[s.labels.kind]
		if r == nil {
			r = folded(s.labels)
			rest[s.labels.kind] = r
		}
		r.count += s.count
		r.delays += s.delays
		r.ready += s.ready
	}
	for _, kind := range sortedKinds(rest) {
		t.add(rest[kind])
	}
	if dropped > 0 {
		b.p.Comments = append(b.p.Comments, fmt.Sprintf("folded: %s with the shortest delays are added up under [others]", format.Plural(dropped, "stack", "stacks")))
	}
	if len(b.p.Sample) == 0 { // a profile without samples is an error to some
		t.add(&blame{
			stack:  []contention.SampleFrame{{Frame: contention.Frame{Func: "[no contention]"}, Aspect: "none"}},
			labels: blameLabels{kind: "none", class: "[none]"},
		})
	}
	return b.p
}

// folded is the sample for what does not fit of a kind.
func folded(like blameLabels) *blame {
	const name = "[others]"
	some := func(s string) string {
		if s == "" {
			return ""
		}
		return name
	}
	return &blame{
		stack:  []contention.SampleFrame{{Frame: contention.Frame{Func: name}, Aspect: "others"}},
		labels: blameLabels{like.kind, some(like.lock), name, some(like.waiter), some(like.owner), some(like.root)},
	}
}

func sortedKinds(rest map[string]*blame) (kinds []string) {
	for kind := range rest {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// together gives the samples of a view, equal ones added up, the longest delay first.
func together(p *contention.Profile, view contention.View) []blame {
	names := map[string]bool{}
	for _, l := range p.Locks {
		if len(names) <= maxLockNames {
			names[l.Title()] = true
		}
	}
	index := map[string]int{}
	var out []blame
	var key []byte
	for s := range p.Samples(view) {
		if s.Delay == 0 && s.Contentions == 0 && s.Ready == 0 {
			continue
		}
		l := blameLabels{
			kind: cleanName(string(s.Kind)), class: orNone(cleanName(s.Lock.Class)),
			waiter: cleanName(s.WaiterGroup), owner: cleanName(s.OwnerGroup), root: cleanName(s.RootGroup),
		}
		if len(names) <= maxLockNames {
			l.lock = orNone(cleanName(s.Lock.Title()))
		}
		key = key[:0]
		for _, label := range []string{l.kind, l.class, l.lock, l.waiter, l.owner, l.root} {
			key = append(append(key, label...), '\n') // cleaned names have no line feeds
		}
		for i := range s.Stack {
			f := &s.Stack[i]
			f.Func, f.File, f.PC = cleanName(f.Func), cleanName(f.File), 0
			key = append(append(key, f.Func...), '\n')
			key = append(append(key, f.File...), '\n')
			key = append(append(strconv.AppendInt(key, int64(f.Line), 10), f.Aspect...), '\n')
		}
		at, ok := index[string(key)]
		if !ok {
			at = len(out)
			index[string(key)] = at
			out = append(out, blame{stack: s.Stack, labels: l})
		}
		out[at].count += s.Contentions
		out[at].delays += int64(s.Delay)
		out[at].ready += int64(s.Ready)
	}
	order.Stable(out, func(a, b blame) int { return cmp.Compare(b.delays, a.delays) })
	return out
}

func orNone(s string) string {
	if s == "" {
		return "[none]"
	}
	return s
}

// callTable makes the locations of calls.
type callTable struct {
	b         *builder
	functions map[[2]string]*profile.Function
	calls     map[contention.SampleFrame]*profile.Location
	strings   map[string]bool
	bytes     int // of what was taken, at most
}

// Bounds of encoded sizes; ids and indices have up to 3 bytes, as there are fewer than 2^21 of anything.
const (
	contentionSampleBytes = 111 // two values of up to 10 bytes and a 0, six labels of 10
	callBytes             = 28  // a location with its line
	functionBytes         = 22
	stringBytes           = 4  // before each string
	foldedKinds           = 20 // samples that may be added at the end
)

// fits reports whether there is room for one more sample, and takes it.
func (t *callTable) fits(s *blame) bool {
	n := contentionSampleBytes + 3*len(s.stack)
	var fresh []string
	text := func(s string) {
		if !t.strings[s] {
			n += stringBytes + len(s) // perhaps twice
			fresh = append(fresh, s)
		}
	}
	for _, f := range s.stack {
		if t.calls[f] == nil {
			n += callBytes
			if t.functions[[2]string{f.Func, f.File}] == nil {
				n += functionBytes
				text(f.Func)
				text(f.File)
			}
		}
	}
	l := s.labels
	for _, s := range []string{l.kind, l.class, l.lock, l.owner, l.waiter, l.root} {
		text(s)
	}
	if len(t.b.p.Sample)+foldedKinds >= maxSamples || t.bytes+n > maxBytes-maxBytes/16 {
		return false
	}
	t.bytes += n
	for _, s := range fresh {
		t.strings[s] = true
	}
	return true
}

func (t *callTable) add(s *blame) {
	l := s.labels
	smp := &profile.Sample{Value: []int64{s.count, s.delays, s.ready}, Label: map[string][]string{"kind": {l.kind}, "lock_class": {l.class}}}
	for _, label := range [][2]string{{"lock", l.lock}, {"waiter_group", l.waiter}, {"owner_group", l.owner}, {"root_group", l.root}} {
		if label[1] != "" {
			smp.Label[label[0]] = []string{label[1]}
		}
	}
	for _, f := range slices.Backward(s.stack) {
		smp.Location = append(smp.Location, t.location(f))
	}
	t.b.p.Sample = append(t.b.p.Sample, smp)
}

func (t *callTable) location(f contention.SampleFrame) *profile.Location {
	if loc := t.calls[f]; loc != nil {
		return loc
	}
	name := [2]string{f.Func, f.File}
	if f.Aspect != "" {
		name[1] = "\x00" + f.Aspect // no function is in such a file
	}
	fn := t.functions[name]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(t.functions) + 1), Name: f.Func, Filename: f.File}
		if f.Aspect == "" {
			fn.SystemName = f.Func
		} else {
			fn.Filename = f.Aspect // the system name stays empty, or pprof would demangle it
		}
		t.functions[name] = fn
		t.b.p.Function = append(t.b.p.Function, fn)
	}
	loc := &profile.Location{ID: uint64(len(t.calls) + 1), Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
	if f.Aspect == "" {
		loc.Mapping = t.b.code
	}
	t.calls[f] = loc
	t.b.p.Location = append(t.b.p.Location, loc)
	return loc
}

// contentionComments tells what the profile shows, and its own warnings.
func contentionComments(p *contention.Profile, view contention.View) []string {
	what := fmt.Sprintf("lock contention, %s view", view)
	if p.Source != "" {
		what += fmt.Sprintf(", from %s, %s", p.Source, p.Accuracy)
	}
	var waited time.Duration
	for i := range p.Waits {
		waited += p.Waits[i].Waited
	}
	if p.Duration > 0 {
		verb := "waited"
		if p.TellsReady() {
			verb = "blocked"
		}
		what += fmt.Sprintf(": %s %s in %s", format.Duration(waited), verb, format.Duration(p.Duration))
	}
	return append([]string{what}, warningComments(p.Warnings)...)
}
