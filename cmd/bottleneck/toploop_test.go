package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/fuzzing"
)

// scripted is a source that answers what a test wants.
type scripted struct {
	answer func(n int) (topSample, error)
	n      atomic.Int64
	groups []string
}

func (s *scripted) label() string       { return "the service" }
func (s *scripted) pace() time.Duration { return time.Second }
func (s *scripted) regroup() (string, error) {
	if len(s.groups) == 0 {
		return "", errors.New("there is one")
	}
	s.groups = append(s.groups[1:], s.groups[0])
	return s.groups[0], nil
}
func (s *scripted) next(context.Context) (topSample, error) {
	return s.answer(int(s.n.Add(1)))
}

// recorded is a screen that keeps its frames.
type recorded struct {
	mu        sync.Mutex
	frames    []string
	suspended int
}

func (r *recorded) options() text.TopOptions {
	return text.TopOptions{Options: text.Options{Width: 100}, Height: 24}
}
func (r *recorded) suspend() { r.suspended++ }
func (r *recorded) show(frame string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, frame)
	return nil
}
func (r *recorded) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.frames[len(r.frames)-1]
}

// graphOf is a graph of one second, with the share of main.main in percent.
func graphOf(percent int) *bottle.Graph {
	share := time.Duration(percent) * time.Second / 100
	g := &bottle.Graph{Wall: time.Second, Idle: time.Second - share, Procs: 4, GroupBy: "function",
		Boxes: []bottle.Box{{Group: "main.main", Kind: bottle.Application, Goroutines: 1, Share: share, Running: share, Parallelism: 1, SelfParallelism: 1}}}
	g.SetProcs(4)
	return g
}

// growing answers graphs in which main.main has 10 %, 20 % and so on.
func growing() *scripted {
	return &scripted{answer: func(n int) (topSample, error) { return topSample{graph: graphOf(10 * n)}, nil }}
}

// session is a view in a bubble of time.
type session struct {
	screen *recorded
	keys   chan []byte
	loop   *topLoop
	ended  chan error
	cancel context.CancelFunc
}

func startTop(source topSource) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{screen: &recorded{}, keys: make(chan []byte), ended: make(chan error, 1), cancel: cancel}
	s.loop = newTopLoop(source, &topFlags{interval: time.Second, sort: "share"})
	go func() { s.ended <- s.loop.run(ctx, s.screen, s.keys, nil, nil) }()
	return s
}

func (s *session) press(keys string) {
	s.keys <- []byte(keys)
	synctest.Wait()
}

func (s *session) has(t *testing.T, parts ...string) {
	t.Helper()
	synctest.Wait()
	for _, p := range parts {
		if !strings.Contains(s.screen.last(), p) {
			t.Errorf("%q is missing in\n%s", p, s.screen.last())
		}
	}
}

func (s *session) end(t *testing.T) {
	t.Helper()
	s.press("q")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	s.cancel()
}

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

// passed lets some seconds pass, and what happens at their end.
func passed(seconds float64) {
	time.Sleep(time.Duration(seconds*float64(time.Second)) + time.Millisecond)
	synctest.Wait()
}

// The view is refreshed once an interval, shows trends, pauses and goes on, and ends with q.
func TestTopLoop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := growing()
		s := startTop(source)
		s.has(t, "bottleneck top: the service", "main.main", " 10%", "every 1 s", "q quit")
		passed(3)
		s.has(t, " 40%", "▲10.0")
		if source.n.Load() != 4 {
			t.Errorf("asked %d times in 3 s", source.n.Load())
		}
		s.press("p")
		s.has(t, "PAUSED")
		if passed(5); source.n.Load() != 4 {
			t.Errorf("asked %d times, though it paused", source.n.Load())
		}
		s.press(" ")
		s.has(t, " 50%", "PAUSED")
		s.press("p")
		passed(1)
		s.has(t, " 60%")
		s.press("-")
		s.has(t, "every 2 s")
		asked := source.n.Load()
		if passed(4); source.n.Load() != asked+2 {
			t.Errorf("asked %d times in two intervals", source.n.Load()-asked)
		}
		s.end(t)
	})
}

// A service that goes away leaves its last graph, with a message, and is asked again.
func TestTopLosesService(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := growing()
		answer := source.answer
		source.answer = func(n int) (topSample, error) {
			if n > 2 && n < 6 {
				return topSample{}, errors.New("connection refused")
			}
			return answer(n)
		}
		s := startTop(source)
		passed(2)
		s.has(t, " 20%", "No answer since "+time.Now().Format("15:04:05")+": connection refused. This is the last graph; trying again.")
		passed(2)
		s.has(t, " 20%", "No answer since "+time.Now().Add(-2*time.Second).Format("15:04:05"))
		passed(1)
		s.has(t, " 60%")
		if strings.Contains(s.screen.last(), "No answer") {
			t.Errorf("the message stays:\n%s", s.screen.last())
		}
		s.end(t)
	})
}

// A service that hangs is not asked twice at a time, keys work meanwhile, and the view says what it
// waits for.
func TestTopWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		source := growing()
		answer := source.answer
		source.answer = func(n int) (topSample, error) {
			if n == 2 {
				<-release
			}
			return answer(n)
		}
		s := startTop(source)
		passed(6)
		s.has(t, " 10%", "Waiting for an answer since "+time.Now().Add(-5*time.Second).Format("15:04:05"))
		s.press("h")
		s.has(t, "refresh at once")
		s.press("h")
		s.has(t, "main.main")
		if source.n.Load() != 2 {
			t.Errorf("asked %d times", source.n.Load())
		}
		close(release)
		s.has(t, " 20%")
		s.end(t)
	})
}

// The grouping changes with g, and graphs of different groupings are not compared.
func TestTopRegroups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := growing()
		source.groups = []string{"function", "creator"}
		answer := source.answer
		source.answer = func(n int) (topSample, error) {
			sample, err := answer(n)
			if len(source.groups) > 0 {
				sample.graph.GroupBy = source.groups[0]
			}
			return sample, err
		}
		s := startTop(source)
		synctest.Wait()
		s.press("g")
		if s.has(t, " 20%"); s.loop.view.Graph.GroupBy != "creator" || strings.Contains(s.screen.last(), "▲") {
			t.Errorf("grouped by %s:\n%s", s.loop.view.Graph.GroupBy, s.screen.last())
		}
		source.groups = nil
		s.press("g")
		s.has(t, "No other grouping: there is one.", "main.main")
		passed(1)
		s.has(t, " 30%")
		s.end(t)
	})
}

// A panic of a source comes up where the terminal can be put in order.
func TestTopPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := &scripted{answer: func(int) (topSample, error) { panic("out of ink") }}
		defer func() {
			if p := recover(); p != "out of ink" {
				t.Errorf("recovered %v", p)
			}
		}()
		newTopLoop(source, &topFlags{interval: time.Second, sort: "share"}).run(context.Background(), &recorded{}, nil, nil, nil)
		t.Error("no panic")
	})
}

// It ends with its context, and suspends.
func TestTopEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := startTop(growing())
		if s.press("\x1a"); s.screen.suspended != 1 {
			t.Errorf("suspended %d times", s.screen.suspended)
		}
		s.cancel()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTopKeys(t *testing.T) {
	for _, tt := range []struct {
		typed string
		want  []string
	}{
		{"q", []string{"q"}}, {"\x03", []string{"q"}}, {"sS1", []string{"s", "S", "1"}}, {"\x1b[A\x1b[B", []string{"up", "down"}},
		{"\x1bOA", []string{"up"}}, {"\x1b[5~\x1b[6~", []string{"page up", "page down"}}, {"\x1b[1;5Cs", []string{"s"}}, {"\x1b", nil}, {"\x1b[", nil}, {"\x1bO", nil},
		{"\x1bx", nil}, {"é世\x00", nil}, {"?", []string{"h"}}, {"\x1b[200~q", []string{"q"}},
	} {
		if got := parseKeys([]byte(tt.typed)); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.typed, got, tt.want)
		}
	}
	l := newTopLoop(&scripted{}, &topFlags{interval: time.Second, sort: "share"})
	l.view.Graph = &bottle.Graph{Boxes: make([]bottle.Box, 40)}
	for _, tt := range []struct {
		key  string
		skip int
		sort text.TopSort
	}{
		{"down", 1, "share"}, {"page down", 16, "share"}, {"end", 25, "share"}, {"page down", 25, "share"}, {"page up", 10, "share"}, {"home", 0, "share"}, {"up", 0, "share"},
		{"s", 0, "parallelism"}, {"S", 0, "share"}, {"S", 0, "lost"}, {"S", 0, "name"}, {"s", 0, "lost"}, {"6", 0, "blocked"}, {"x", 0, "blocked"},
	} {
		if l.press(tt.key, 24); l.view.Skip != tt.skip || l.view.Sort != tt.sort {
			t.Errorf("%s: skips %d, sorted by %s", tt.key, l.view.Skip, l.view.Sort)
		}
	}
	for range 20 {
		l.press("+", 24)
	}
	if l.interval != leastInterval {
		t.Errorf("the interval went down to %v", l.interval)
	}
}

func FuzzTopKeys(f *testing.F) {
	fuzzing.Brief(f)
	f.Add([]byte("q\x1b[A\x1bO\x1b["))
	f.Fuzz(func(t *testing.T, typed []byte) {
		l := newTopLoop(&scripted{}, &topFlags{interval: time.Second, sort: "share"})
		for _, k := range parseKeys(typed) {
			l.press(k, 24)
		}
		if l.view.Skip < 0 || l.interval < leastInterval || l.interval > mostInterval {
			t.Errorf("skips %d, interval %v", l.view.Skip, l.interval)
		}
	})
}

// What is sent to a terminal fills it without scrolling it.
func TestOnScreen(t *testing.T) {
	if got, want := onScreen("a\nb\n"), "\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
