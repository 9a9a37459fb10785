package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/google/pprof/profile"
)

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
// Like [Profile], Contention stays under 16,000 samples and 4 MB: the shortest excess delays are
// added up under "[others]", and a comment of the profile records that.
func Contention(p *contention.Profile, opt Options) (*profile.Profile, error) {
	if p == nil {
		return nil, errors.New("pprof: no contention profile")
	}
	opt.View = cmp.Or(opt.View, contention.OwnerView)
	if err := contention.CheckView(opt.View); err != nil {
		return nil, fmt.Errorf("pprof: %w", err)
	}
	opt.Time = p.Start
	b := newBuilder(opt, p.Duration, "delay",
		[2]string{"contentions", "count"}, [2]string{"delay", "nanoseconds"}, [2]string{"ready", "nanoseconds"})
	b.p.Comments = contentionComments(p, opt.View)
	all := blames(p, opt.View)
	b.sort(all)
	b.fill(all, func(s sample) sample {
		folded := sample{stack: []frame{otherStacks}, labels: slices.Clone(s.labels)}
		for i := range folded.labels[1:] {
			if label := &folded.labels[1+i]; label[1] != "" {
				label[1] = otherStacks.name
			}
		}
		return folded
	}, sample{stack: []frame{{name: "[no contention]", aspect: "none"}}, labels: [][2]string{{"kind", "none"}, {"lock_class", "[none]"}}})
	return checked(b.p)
}

// maxLockNames is the maximum number of different lock labels.
const maxLockNames = 100

// blames returns the samples of a view, equal ones combined.
func blames(p *contention.Profile, view string) []sample {
	names := map[string]bool{}
	for _, l := range p.Locks {
		if len(names) <= maxLockNames {
			names[l.Title()] = true
		}
	}
	var out samples
	for calls, q := range p.Samples(view) {
		if q.Blamed == 0 && q.Contentions == 0 {
			continue
		}
		values := []int64{q.Contentions, int64(q.Blamed), 0}
		if q.Owner.Group == contention.ReadyKey {
			values[1], values[2] = 0, values[1]
		}
		waiter, owner, root := orUnknown(q.Waiter.Group), orUnknown(q.Owner.Group), ""
		switch view {
		case contention.WaiterView:
			owner = ""
		case contention.RootView:
			waiter, root = "", orUnknown(q.Roots[0].Owner.Group)
		case contention.OwnerView:
			waiter = ""
		}
		lock := ""
		if len(names) <= maxLockNames {
			lock = orNone(cleanName(q.Lock.Title()))
		}
		stack := make([]frame, len(calls))
		for i, call := range calls {
			stack[i] = frame{name: cleanName(call.Func), file: cleanName(call.File), line: call.Line, aspect: call.Aspect}
		}
		out.add(sample{stack: stack, values: values, labels: [][2]string{
			{"kind", cleanName(q.Kind)}, {"lock_class", orNone(cleanName(q.Lock.Class))}, {"lock", lock},
			{"waiter_group", cleanName(waiter)}, {"owner_group", cleanName(owner)}, {"root_group", cleanName(root)},
		}})
	}
	return out.all
}

func orNone(s string) string { return cmp.Or(s, "[none]") }

func orUnknown(s string) string { return cmp.Or(s, contention.UnknownKey) }

// contentionComments returns a description of the profile, and its warnings.
func contentionComments(p *contention.Profile, view string) []string {
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
