package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Ledger returns a ledger as a profile of the lost capacity, with the sample type lost/nanoseconds,
// in ns·processors:
//
//	go tool pprof -http=: ledger.pb.gz                        # what the processors waited for
//	go tool pprof -top -cum -tagfocus=part=idle ledger.pb.gz  # only what was idle
//
// The samples sum to the time of all rows except those of the program's own code, C code and system
// calls. The root of a stack is the category of the row, such as "[idle]". For an empty processor,
// the stack continues with the call stack in which the goroutine that ended the gap had waited,
// then "[wait] mutex", "[woken by]" and the call stack of the wake-up, upside down, from the call
// that woke it to the start of its goroutine. Read from the root, a stack shows which goroutine was
// missing; read from the leaf, which goroutine should be faster. If the ledger has no call stacks
// ([ledger.Options.Stacks]), each of the two is a single place in the program. Frames in brackets
// are not code: their file name gives their meaning.
//
// Samples carry the labels part, the category; kind, the reason of the wait; group, the goroutines
// that ran or that ended the gap; and, if known, waker, the goroutines that woke them, and
// beside, the goroutines that ran on other processors in that time.
//
// Like [Profile], Ledger stays under 16,000 samples and 4 MB: the smallest are added up under
// "[others]", and a comment of the profile records that.
func Ledger(l *ledger.Ledger, opt Options) (*profile.Profile, error) {
	if l == nil {
		return nil, errors.New("pprof: no ledger")
	}
	losses := lossesOf(l)
	var lost time.Duration
	for i := range losses {
		lost += time.Duration(losses[i].values[0])
	}
	b := newBuilder(opt, l.Wall, "lost", [2]string{"lost", "nanoseconds"})
	b.p.Comments = append([]string{fmt.Sprintf("ledger: %s lost of a capacity of %s (%s)", format.Duration(lost), format.Duration(l.Capacity), l.Extent())}, warningComments(l.Warnings)...)
	b.sort(losses)
	b.fill(losses, func(s sample) sample {
		part := s.labels[0][1]
		return sample{stack: []frame{partFrame(part), otherStacks}, labels: lossLabels(part, "[others]", "[others]", "", "")}
	}, sample{stack: []frame{{name: "[nothing lost]", aspect: "none"}}, labels: lossLabels("none", "none", "[none]", "", "")})
	return checked(b.p)
}

func lossLabels(part, kind, group, waker, beside string) [][2]string {
	return [][2]string{{"part", part}, {"kind", kind}, {"group", group}, {"waker", waker}, {"beside", beside}}
}

// lossesOf returns the losses, equal stacks with equal labels combined.
func lossesOf(l *ledger.Ledger) []sample {
	var out samples
	add := func(s *ledger.Row) {
		if !s.Used() && s.Time != 0 {
			out.add(sample{stack: lossStack(s), values: []int64{int64(s.Time)},
				labels: lossLabels(cleanName(s.Category), cmp.Or(cleanName(s.Wait), "none"), orNone(cleanName(s.Group)), cleanName(s.Waker), cleanName(s.Beside))})
		}
	}
	for i := range l.Stacks {
		add(&l.Stacks[i])
	}
	if len(l.Stacks) == 0 {
		for i := range l.Rows {
			add(&l.Rows[i])
		}
	}
	return out.all
}

func partFrame(part string) frame { return frame{name: "[" + part + "]", aspect: "part"} }

// lossStack returns the stack of a row, root first.
func lossStack(s *ledger.Row) []frame {
	stack := []frame{partFrame(cleanName(s.Category))}
	stack = append(stack, callsOr(s.Calls, s.Site, s.Group)...)
	if s.Wait != "" {
		stack = append(stack, frame{name: "[wait] " + cleanName(s.Wait), aspect: "wait"})
	}
	if s.Wait == timeline.WaitCreated.String() { // the call stack is that of the go statement
		return stack
	}
	waker := callsOr(s.WakerCalls, s.WakerSite, s.Waker)
	slices.Reverse(waker)
	if waker != nil {
		stack = append(append(stack, frame{name: "[woken by]", aspect: "waker"}), waker...)
	}
	return stack
}

// callsOr returns the calls of a stack, or of what is known instead: the place, or the group.
func callsOr(s *timeline.Stack, site timeline.Place, group string) []frame {
	calls := codeFrames(s)
	switch {
	case calls != nil:
	case site.Func != "":
		calls = []frame{{name: cleanName(site.Func), file: cleanName(site.File), line: site.Line}}
	case group != "":
		calls = []frame{groupFrame(cleanName(group))}
	}
	return calls
}
