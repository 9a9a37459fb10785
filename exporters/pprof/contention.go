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

// ContentionOptions says what a profile of lock contention shows. The zero value
// is ready to use.
type ContentionOptions struct {
	// View says whose call chains the stacks are; empty means [contention.OwnerView].
	View contention.View
	// File and BuildID name the executable that was profiled; empty when not known: pprof then
	// shows "program" in titles.
	File, BuildID string
}

// Contention turns a contention profile into a profile with the sample types
// contentions/count, delay/nanoseconds, the default, and ready/nanoseconds. The delays sum to what
// was waited, and ready is for how long goroutines were ready after that, until they had a
// processor, as far as the profile tells that from the waiting:
//
//	go tool pprof -top contention.pb.gz           # whom the waiting is to be blamed on
//	go tool pprof -http=: joined.pb.gz            # the flame graph of the joined view
//
// In the joined view, pprof's flame graph has from the root the calls of the waiter, then "[lock]
// name", "[held by]" and the calls of the owner upside down. Where the lock was on its way to its
// next owner, or it is not known who held it, "[hand-off]" or "[unattributed]" follows instead, and
// "[ready]" where the waiter was ready again. Frames in brackets are not code: their file name
// tells what they stand for.
//
// In the root's view, the call chains are those of the owners at the end of the chains of blame: of
// whoever blocked the owner, if that was itself blocked.
//
// In the waiter's view, contentions are the number of waits. In the others, they are the number of
// waits that an owner delayed: a wait behind three owners counts three times.
//
// Samples carry the labels kind, lock_class, and waiter_group, owner_group and root_group in the
// views in which they have a meaning; and lock, unless there are more than 100 of different names.
// Goroutine ids never become labels.
//
// Like [Write], it keeps under 16,000 samples and 4 MB: of what is too much, the shortest delays
// are added up under "[others]", and the profile's comments say so.
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
	out := buildContention(p, opt)
	if err := out.CheckValid(); err != nil {
		return nil, fmt.Errorf("pprof: building the profile: %w", err)
	}
	return out, nil
}

// WriteContention writes the profile of [Contention] to w, compressed by gzip as is
// usual. The errors are those of Contention and of w.
func WriteContention(w io.Writer, p *contention.Profile, opt ContentionOptions) error {
	out, err := Contention(p, opt)
	if err != nil {
		return err
	}
	if err := out.Write(w); err != nil {
		return fmt.Errorf("pprof: writing the profile: %w", err)
	}
	return nil
}

// A contention profile becomes samples in four steps:
//
//  1. Equal stacks with equal labels are put together.
//  2. They are sorted, the longest delay first.
//  3. Those that fit are taken, by an estimate of their bytes from above.
//  4. The others are added up, a sample for each kind of contention.

// blame is a sample before it has locations.
type blame struct {
	stack         []frame // root first
	labels        blameLabels
	count, delays int64
	ready         int64
}

// blameLabels are comparable, so that equal ones are found. Those that a view has not are empty.
type blameLabels struct{ kind, lock, class, waiter, owner, root string }

// maxLockNames is how many locks can be told apart by a label.
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
	if len(b.p.Sample) == 0 { // a profile without samples is an error to some
		b.addBlame(&blame{
			stack:  []frame{{name: "[no contention]", aspect: "none"}},
			labels: blameLabels{kind: "none", class: "[none]"},
		})
	}
	return b.p
}

// folded is the sample for what does not fit of a kind.
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

// foldedKinds is how many samples may be added at the end.
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
