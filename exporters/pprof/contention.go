package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/google/pprof/profile"
)

// ContentionOptions configures [Contention]. The zero value is ready to use.
type ContentionOptions struct {
	// View selects whose call stacks the samples have; empty means [contention.OwnerView].
	View contention.View
	// File and BuildID identify the profiled executable. If File is empty, pprof shows "program" in
	// titles.
	File, BuildID string
}

// Contention returns a contention profile as a pprof profile with the sample types
// contentions/count, delay/nanoseconds, the default, and ready/nanoseconds. The delays sum to the
// wait time. ready is the time from the end of a wait until the goroutine had a processor, if the
// profile distinguishes it from the wait:
//
//	go tool pprof -top contention.pb.gz           # whom the waiting is to be blamed on
//	go tool pprof -http=: joined.pb.gz            # the flame graph of the joined view
//
// In the joined view, a stack has, from the root, the calls of the waiter, "[lock] name", "[held
// by]", and the calls of the owner upside down. If the lock was on its way to its next owner, or
// its owner is unknown, "[hand-off]" or "[unattributed]" follows instead, and "[ready]" if the
// waiter was ready again. Frames in brackets are not code: their file name gives their meaning.
//
// In the root view, the call stacks are those of the owners at the end of the chains of blame: the
// goroutine that blocked the owner, if the owner was itself blocked.
//
// In the waiter view, contentions are the number of waits. In the others, they are the number of
// waits that an owner delayed: a wait behind three owners counts three times.
//
// Samples carry the labels kind, lock_class, and, in the views to which they apply, waiter_group,
// owner_group and root_group. They also carry lock, unless there are more than 100 different names.
// Goroutine ids are never labels.
//
// Like [Write], Contention stays under 16,000 samples and 4 MB: the shortest excess delays are
// added up under "[others]", and a comment of the profile records that.
func Contention(p *contention.Profile, opt ContentionOptions) (*profile.Profile, error) {
	if p == nil {
		return nil, errors.New("pprof: no contention profile")
	}
	if opt.View == "" {
		opt.View = contention.OwnerView
	}
	if _, err := contention.ParseView(string(opt.View)); err != nil {
		return nil, fmt.Errorf("pprof: %w", err)
	}
	return checked(buildContention(p, opt))
}

// WriteContention writes the profile of [Contention] to w, compressed with gzip. Its errors are
// those of Contention and of w.
func WriteContention(w io.Writer, p *contention.Profile, opt ContentionOptions) error {
	out, err := Contention(p, opt)
	return write(w, out, err)
}

// A contention profile is converted to samples in four steps:
//
//  1. Combine equal stacks with equal labels.
//  2. Sort them, longest delay first.
//  3. Select those that fit, by an upper estimate of their size.
//  4. Add up the others, one sample per kind of contention.

// blame is a sample before it has locations.
type blame struct {
	stack         []frame // root first
	labels        blameLabels
	count, delays int64
	ready         int64
}

// blameLabels is comparable, to find equal labels. Labels that do not apply to a view are empty.
type blameLabels struct{ kind, lock, class, waiter, owner, root string }

// maxLockNames is the maximum number of different lock labels.
const maxLockNames = 100

func buildContention(p *contention.Profile, opt ContentionOptions) *profile.Profile {
	b := newBuilder(&profile.Profile{
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
	}, opt.File, opt.BuildID)
	b.samples = foldedKinds
	if !p.Start.IsZero() {
		b.p.TimeNanos = p.Start.UnixNano()
	}
	blames := together(p, opt.View)
	rest, dropped := map[string]*blame{}, 0
	for i := range blames {
		s := &blames[i]
		if b.fitsBlame(s) {
			b.addBlame(s)
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
		b.addBlame(rest[kind])
	}
	if dropped > 0 {
		b.p.Comments = append(b.p.Comments, fmt.Sprintf("folded: %s with the shortest delays are added up under [others]", format.Plural(dropped, "stack", "stacks")))
	}
	if len(b.p.Sample) == 0 { // some tools reject a profile without samples
		b.addBlame(&blame{
			stack:  []frame{{name: "[no contention]", aspect: "none"}},
			labels: blameLabels{kind: "none", class: "[none]"},
		})
	}
	return b.p
}

// folded returns the sample that adds up the excess samples of a kind.
func folded(like blameLabels) *blame {
	name := otherStacks.name
	some := func(s string) string {
		if s == "" {
			return ""
		}
		return name
	}
	return &blame{
		stack:  []frame{otherStacks},
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

// together returns the samples of a view, equal ones combined, longest delay first.
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
			key = append(append(key, label...), '\n') // cleaned names contain no line feeds
		}
		stack := make([]frame, len(s.Stack))
		for i, call := range s.Stack {
			f := frame{name: cleanName(call.Func), file: cleanName(call.File), line: call.Line, aspect: call.Aspect}
			key = append(append(key, f.name...), '\n')
			key = append(append(key, f.file...), '\n')
			key = append(append(strconv.AppendInt(key, int64(f.line), 10), f.aspect...), '\n')
			stack[i] = f
		}
		at, ok := index[string(key)]
		if !ok {
			at = len(out)
			index[string(key)] = at
			out = append(out, blame{stack: stack, labels: l})
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

// foldedKinds is the maximum number of samples added at the end.
const foldedKinds = 20

func (b *builder) fitsBlame(s *blame) bool {
	l := s.labels
	return b.fits(s.stack, l.kind, l.class, l.lock, l.owner, l.waiter, l.root)
}

func (b *builder) addBlame(s *blame) {
	l := s.labels
	b.add([]int64{s.count, s.delays, s.ready}, s.stack, [2]string{"kind", l.kind}, [2]string{"lock_class", l.class},
		[2]string{"lock", l.lock}, [2]string{"waiter_group", l.waiter}, [2]string{"owner_group", l.owner}, [2]string{"root_group", l.root})
}

// contentionComments returns a description of the profile, and its warnings.
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
		if p.HasReady() {
			verb = "blocked"
		}
		what += fmt.Sprintf(": %s %s in %s", format.Duration(waited), verb, format.Duration(p.Duration))
	}
	return append([]string{what}, warningComments(p.Warnings)...)
}
