package tracewaits

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/waitlog"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// script is a trace in words, one event a line, shown to an observer. Times are
// microseconds, goroutines are numbers, and all that are mentioned run from time 0 on:
//
//	100 2 blocks mutex in sync.(*Mutex).Lock < main.f:10
//	200 1 wakes 2 in sync.(*Mutex).Unlock < main.f:12
//	210 2 runs
//	250 2 stops          (it is runnable again)
//	255 2 calls          (it is in a system call)
//	257 2 hangs          (which loses its processor)
//	260 2 exits
//	265 2 logs 1 x 5 9   (a message of a wrapped lock)
//	270 7 begins         (it is born; otherwise, all that are mentioned run from time 0 on)
//	270 7 begins 1 in main.run:30 (by a go statement of 1)
//	300 ends
type script struct {
	t      *testing.T
	o      *Observer
	gs     map[int64]*timeline.Goroutine
	now    map[int64]*timeline.Transition // by goroutine: its current state
	frames map[string]*timeline.Frame
	stacks map[string]*timeline.Stack
}

// play shows the script to an observer and returns the profile.
func play(t *testing.T, opt Options, text string) *contention.Profile {
	t.Helper()
	s := newScript(t, opt)
	s.play(text)
	p := s.o.Profile()
	checkConservation(t, p)
	checkWindows(t, opt, text, p)
	return p
}

func newScript(t *testing.T, opt Options) *script {
	s := &script{
		t: t, o: NewObserver(opt),
		gs: map[int64]*timeline.Goroutine{}, now: map[int64]*timeline.Transition{},
		frames: map[string]*timeline.Frame{}, stacks: map[string]*timeline.Stack{},
	}
	s.o.Begin(0, 26)
	return s
}

func (s *script) play(text string) {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		head, where, _ := strings.Cut(line, " in ")
		head, message, _ := strings.Cut(head, " logs ")
		f := append(strings.Fields(head), "logs", "", "")
		at := timeline.Time(s.number(f[0]) * 1000)
		if f[1] == "ends" {
			s.end(at)
			continue
		}
		if message != "" {
			message = strings.Replace(message, "SENT", strconv.FormatInt(int64(at)+1e9, 36), 1) // the messages' clock is a second ahead
			id := s.number(f[1])
			s.g(id)
			s.o.Log(&timeline.Log{Time: at, G: s.gs[id], Category: waitlog.Category, Message: message, Stack: s.stack(where)})
			continue
		}
		s.event(at, s.number(f[1]), f[2], f[3], s.stack(where))
	}
}

func (s *script) event(at timeline.Time, id int64, verb, arg string, where *timeline.Stack) {
	if verb == "begins" {
		s.begin(at, id)
		if where != nil {
			s.gs[id].By = &timeline.Creator{ID: s.number(arg), Stack: where}
			s.gs[id].Func = where.Frames[0].Func
		}
		return
	}
	switch s.g(id); verb {
	case "runs":
		s.to(at, id, timeline.Running, timeline.WaitNone, nil)
	case "stops":
		s.to(at, id, timeline.Runnable, timeline.WaitPreempted, where)
	case "calls":
		s.to(at, id, timeline.Syscall, timeline.WaitNone, nil)
	case "hangs":
		s.to(at, id, timeline.SyscallBlocked, timeline.WaitSyscall, nil)
	case "exits":
		s.to(at, id, timeline.NotExist, timeline.WaitNone, nil)
		delete(s.now, id)
	case "blocks":
		i := slices.IndexFunc(timeline.Waits(), func(w timeline.Wait) bool { return w.String() == arg })
		if i < 0 {
			s.t.Fatalf("no wait %q", arg)
		}
		s.to(at, id, timeline.Waiting, timeline.Wait(i), where)
	case "wakes":
		other := s.number(arg)
		s.g(other)
		cur := s.now[other]
		if id != 0 {
			cur.Waker, cur.WakerStack = s.gs[id], where
		}
		s.to(at, other, timeline.Runnable, cur.Wait, cur.Stack)
	default:
		s.t.Fatalf("no verb %q", verb)
	}
}

// to ends the interval of a goroutine.
func (s *script) to(at timeline.Time, id int64, to timeline.State, w timeline.Wait, stack *timeline.Stack) {
	cur := s.now[id]
	cur.End = at
	s.o.nowOf = func(*timeline.Goroutine) (timeline.Wait, *timeline.Stack) { return w, stack }
	cur.To = to
	s.o.Transition(cur)
	*cur = timeline.Transition{G: cur.G, State: to, Start: at, Wait: w, Stack: stack}
}

func (s *script) end(at timeline.Time) {
	for id := range s.gs {
		if s.now[id] != nil {
			s.to(at, id, timeline.Unknown, timeline.WaitNone, nil)
		}
	}
	s.o.End(at)
}

// g creates a goroutine at its first mention. 0 means none.
func (s *script) g(id int64) {
	if s.gs[id] == nil && id != 0 {
		g := &timeline.Goroutine{ID: id, Index: len(s.gs), Func: "main.worker"}
		s.gs[id] = g
		s.now[id] = &timeline.Transition{G: g, State: timeline.Unknown}
		s.to(0, id, timeline.Running, timeline.WaitNone, nil)
	}
}

// begin creates a goroutine that starts at the time.
func (s *script) begin(at timeline.Time, id int64) {
	g := &timeline.Goroutine{ID: id, Index: len(s.gs), Func: "main.worker"}
	s.gs[id] = g
	s.now[id] = &timeline.Transition{G: g, State: timeline.NotExist}
	s.to(at, id, timeline.Runnable, timeline.WaitCreated, nil)
}

func (s *script) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// stack returns the one stack of a chain such as "sync.(*Mutex).Lock < main.f:10".
func (s *script) stack(chain string) *timeline.Stack {
	if chain = strings.TrimSpace(chain); chain == "" {
		return nil
	}
	if st := s.stacks[chain]; st != nil {
		return st
	}
	st := &timeline.Stack{}
	for _, text := range strings.Split(chain, " < ") {
		f := s.frames[text]
		if f == nil {
			fn, line, _ := strings.Cut(text, ":")
			n, _ := strconv.Atoi(line)
			f = &timeline.Frame{PC: uint64(len(s.frames) + 1), Func: fn, Line: n}
			s.frames[text] = f
		}
		st.Frames = append(st.Frames, f)
	}
	s.stacks[chain] = st
	return st
}

// profileText formats a profile in words, with times in microseconds: a line for each wait and,
// indented, for each owner that is blamed for it.
func profileText(p *contention.Profile) string {
	var b strings.Builder
	locks := map[*contention.Lock]int{} // numbered in order of appearance
	for _, w := range p.Waits {
		if locks[w.Lock] == 0 {
			locks[w.Lock] = len(locks) + 1
		}
		fmt.Fprintf(&b, "%s %s: %d waited %d = blamed %d + hand-off %d + unattributed %d; ready %d\n", title(&w, locks[w.Lock]),
			party(w.Waiter), w.Contentions, us(w.Waited), us(w.Blamed), us(w.HandOff), us(w.Unattributed), us(w.Ready))
		for _, q := range p.Pairs {
			if q.Kind == w.Kind && q.Lock == w.Lock && q.Waiter == w.Waiter && q.Flags&contention.WaiterFlags == w.Flags {
				fmt.Fprintf(&b, "  %s: %d of %d%s\n", party(q.Owner), us(q.Blamed), q.Contentions, bracketed(contention.FlagNames(q.Flags&^contention.WaiterFlags)))
			}
		}
	}
	return b.String()
}

func title(w *contention.Wait, lock int) string {
	return fmt.Sprintf("%s%s #%d%s", w.Kind, bracketed(contention.FlagNames(w.Flags)), lock, bracketed(strings.Trim(w.Lock.Name, "[]")))
}

func bracketed(s string) string {
	if s == "" {
		return ""
	}
	return " [" + s + "]"
}

func us(d interface{ Microseconds() int64 }) int64 { return d.Microseconds() }

func party(p contention.Party) string {
	var b strings.Builder
	if p.Goroutine != 0 {
		fmt.Fprintf(&b, "g%d ", p.Goroutine)
	}
	if p.Stack == nil {
		return b.String() + "?"
	}
	f := p.Stack.Frames[0]
	b.WriteString(f.Func)
	if f.Line != 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	return b.String()
}

// lines removes the indentation of a literal.
func lines(text string) string {
	var b strings.Builder
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimPrefix(strings.TrimLeft(l, "\t"), "|"); strings.TrimSpace(l) != "" {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}
