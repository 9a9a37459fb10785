package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/order"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// LedgerOptions adds information that a ledger does not contain. The zero value is ready to use.
type LedgerOptions struct {
	// File and BuildID identify the traced executable. If File is empty, pprof shows "program" in
	// titles.
	File, BuildID string
}

// Ledger returns a ledger as a profile of the lost capacity, with the sample type lost/nanoseconds,
// in ns·processors:
//
//	go tool pprof -http=: ledger.pb.gz                          # the flame graph: what the processors waited for
//	go tool pprof -top -cum -tagfocus=part=idle ledger.pb.gz    # only what was idle
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
// Like [Write], Ledger stays under 16,000 samples and 4 MB: the smallest are added up under
// "[others]", and a comment of the profile records that.
func Ledger(l *ledger.Ledger, opt LedgerOptions) (*profile.Profile, error) {
	if l == nil {
		return nil, errors.New("pprof: no ledger")
	}
	return checked(buildLedger(l, opt))
}

// WriteLedger writes the profile of [Ledger] to w, compressed with gzip. Its errors are those of
// Ledger and of w.
func WriteLedger(w io.Writer, l *ledger.Ledger, opt LedgerOptions) error {
	out, err := Ledger(l, opt)
	return write(w, out, err)
}

// loss is a sample of a ledger.
type loss struct {
	stack  []frame // root first
	labels lossLabels
	time   time.Duration
}

type lossLabels struct{ part, kind, group, waker, beside string }

var created = timeline.WaitCreated.String()

// Frames of a ledger.
var (
	wokenBy  = frame{name: "[woken by]", aspect: "waker"}
	noLosses = frame{name: "[nothing lost]", aspect: "none"}
)

func buildLedger(l *ledger.Ledger, opt LedgerOptions) *profile.Profile {
	losses := lossesOf(l)
	var lost time.Duration
	for i := range losses {
		lost += losses[i].time
	}
	what := fmt.Sprintf("ledger: %s lost of a capacity of %s (%s × %s)", format.Duration(lost), format.Duration(l.Capacity),
		format.Plural(l.Procs, "processor", "processors"), format.Duration(l.Wall))
	b := newBuilder(&profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "lost", Unit: "nanoseconds"}},
		DefaultSampleType: "lost",
		PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
		Period:            1,
		DurationNanos:     int64(l.Wall),
		DocURL:            docURL,
		Comments:          append([]string{what}, warningComments(l.Warnings)...),
	}, opt.File, opt.BuildID)
	b.samples = len(ledger.Categories())
	rest, dropped := map[string]time.Duration{}, 0
	for i := range losses {
		s := &losses[i]
		if n := s.labels; b.fits(s.stack, n.part, n.kind, n.group, n.waker, n.beside) {
			b.addLoss(s)
			continue
		}
		dropped++
		rest[s.labels.part] += s.time
	}
	for _, c := range ledger.Categories() {
		if part := string(c); rest[part] > 0 {
			b.addLoss(&loss{stack: []frame{partFrame(part), otherStacks}, labels: lossLabels{part: part, kind: "[others]", group: "[others]"}, time: rest[part]})
		}
	}
	if dropped > 0 {
		b.p.Comments = append(b.p.Comments, fmt.Sprintf("folded: %s with the least time are added up under [others]", format.Plural(dropped, "stack", "stacks")))
	}
	if len(b.p.Sample) == 0 { // some tools reject a profile without samples
		b.addLoss(&loss{stack: []frame{noLosses}, labels: lossLabels{part: "none", kind: "none", group: "[none]"}})
	}
	return b.p
}

func (b *builder) addLoss(s *loss) {
	n := s.labels
	b.add([]int64{int64(s.time)}, s.stack, [2]string{"part", n.part}, [2]string{"kind", n.kind}, [2]string{"group", n.group},
		[2]string{"waker", n.waker}, [2]string{"beside", n.beside})
}

// lossesOf returns the losses, equal stacks with equal labels combined, largest first.
func lossesOf(l *ledger.Ledger) (out []loss) {
	index := map[string]int{}
	var key []byte
	add := func(s *ledger.Stack) {
		if s.Category.Used() || s.Time == 0 {
			return
		}
		x := loss{stack: lossStack(s), time: s.Time, labels: lossLabels{
			part: cleanName(string(s.Category)), kind: orNoWait(cleanName(s.Wait)), group: orNone(cleanName(s.Group)), waker: cleanName(s.Waker), beside: cleanName(s.Beside)}}
		key = key[:0]
		for _, label := range []string{x.labels.part, x.labels.kind, x.labels.group, x.labels.waker, x.labels.beside} {
			key = append(append(key, label...), '\n') // cleaned names contain no line feeds
		}
		for _, f := range x.stack {
			key = append(append(key, f.name...), '\n')
			key = append(append(key, f.file...), '\n')
			key = append(append(strconv.AppendInt(key, int64(f.line), 10), f.aspect...), '\n')
		}
		if at, known := index[string(key)]; known {
			out[at].time += x.time
			return
		}
		index[string(key)] = len(out)
		out = append(out, x)
	}
	for i := range l.Stacks {
		add(&l.Stacks[i])
	}
	if len(l.Stacks) == 0 {
		for i := range l.Rows {
			add(&ledger.Stack{Row: l.Rows[i]})
		}
	}
	order.Stable(out, func(a, b loss) int { return cmp.Compare(b.time, a.time) })
	return out
}

func partFrame(part string) frame { return frame{name: "[" + part + "]", aspect: "part"} }

func orNoWait(wait string) string {
	if wait == "" {
		return "none"
	}
	return wait
}

// lossStack returns the stack of a row, root first.
func lossStack(s *ledger.Stack) []frame {
	stack := []frame{partFrame(cleanName(string(s.Category)))}
	calls := codeFrames(s.Calls)
	if calls == nil && s.Site.Func != "" {
		calls = []frame{placeFrame(s.Site)}
	}
	if calls == nil && s.Group != "" {
		calls = []frame{{name: "[group] " + cleanName(s.Group), aspect: "group"}}
	}
	stack = append(stack, calls...)
	if s.Wait != "" {
		stack = append(stack, frame{name: "[wait] " + cleanName(s.Wait), aspect: "wait"})
	}
	if s.Wait == created { // the call stack is that of the go statement
		return stack
	}
	waker := codeFrames(s.WakerCalls)
	slices.Reverse(waker)
	if waker == nil && s.WakerSite.Func != "" {
		waker = []frame{placeFrame(s.WakerSite)}
	}
	if waker == nil && s.Waker != "" {
		waker = []frame{{name: "[group] " + cleanName(s.Waker), aspect: "group"}}
	}
	if waker != nil {
		stack = append(append(stack, wokenBy), waker...)
	}
	return stack
}

func placeFrame(p ledger.Place) frame {
	return frame{name: cleanName(p.Func), file: cleanName(p.File), line: p.Line}
}
