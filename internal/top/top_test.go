package top

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// scripted is a source with the answers of a test.
type scripted struct {
	answer func(n int) (*bottle.Graph, error)
	n      atomic.Int64
}

func (s *scripted) source() Source {
	return Source{"the service", time.Second, "", func(context.Context) (*bottle.Graph, error) { return s.answer(int(s.n.Add(1))) }}
}

// graphOf is a graph of one second, with the share of main.main in percent.
func graphOf(percent int) *bottle.Graph {
	share := time.Duration(percent) * time.Second / 100
	g := &bottle.Graph{Wall: time.Second, Idle: time.Second - share, Procs: 4, GroupBy: "function",
		Boxes: []bottle.Box{{Group: "main.main", Kind: bottle.Application, Goroutines: 1, Share: share, Running: share, Parallelism: 1, SelfParallelism: 1}}}
	g.SetProcs(4)
	return g
}

// growing returns graphs in which main.main has 10 %, 20 % and so on.
func growing() *scripted {
	return &scripted{answer: func(n int) (*bottle.Graph, error) { return graphOf(10 * n), nil }}
}

// session is a view in a bubble of time. It processes messages one after another, as a bubbletea
// program does.
type session struct {
	loop  *Loop
	msgs  chan tea.Msg
	ended chan error
	mu    sync.Mutex
	frame string
}

func startTop(source *scripted) *session {
	s := &session{msgs: make(chan tea.Msg), ended: make(chan error, 1)}
	s.loop = New(source.source(), time.Second, 0)
	s.loop.opt.Width, s.loop.view.Sort, s.loop.ctx = 100, "share", context.Background()
	go s.run()
	return s
}

func (s *session) run() {
	quit := make(chan struct{})
	defer close(quit)
	do := func(cmd tea.Cmd) {
		if cmd != nil {
			go func() {
				select {
				case s.msgs <- cmd():
				case <-quit:
				}
			}()
		}
	}
	do(s.loop.Init())
	for {
		s.mu.Lock()
		s.frame = s.loop.View().Content
		s.mu.Unlock()
		switch msg := (<-s.msgs).(type) {
		case tea.BatchMsg:
			for _, cmd := range msg {
				do(cmd)
			}
		case tea.QuitMsg:
			s.ended <- nil
			return
		default:
			_, cmd := s.loop.Update(msg)
			do(cmd)
		}
	}
}

func (s *session) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frame
}

func (s *session) press(keys string) {
	for _, k := range keys {
		s.msgs <- keyPress(k)
		synctest.Wait()
	}
}

// keyPress is a key with a letter.
func keyPress(k rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: k, Text: string(k)} }

func (s *session) has(t *testing.T, parts ...string) {
	t.Helper()
	synctest.Wait()
	for _, p := range parts {
		if !strings.Contains(s.last(), p) {
			t.Errorf("%q is missing in\n%s", p, s.last())
		}
	}
}

func (s *session) end(t *testing.T) {
	t.Helper()
	s.press("q")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	time.Sleep(MostInterval) // of the last tick
}

// bubble runs a test with a simulated clock.
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

// passed lets some seconds pass, including the events at their end.
func passed(seconds float64) {
	time.Sleep(time.Duration(seconds*float64(time.Second)) + time.Millisecond)
	synctest.Wait()
}

// The view is refreshed once an interval, shows trends, pauses and resumes, and ends with q.
func TestTopLoop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := growing()
		s := startTop(source)
		s.has(t, "bottleneck top: the service", "main.main", " 10.0%", "every 1 s", "q quit")
		passed(3)
		s.has(t, " 40.0%", "+10.0%")
		if source.n.Load() != 4 {
			t.Errorf("asked %d times in 3 s", source.n.Load())
		}
		s.press("p")
		s.has(t, "PAUSED")
		if passed(5); source.n.Load() != 4 {
			t.Errorf("asked %d times, though it paused", source.n.Load())
		}
		s.press(" ")
		s.has(t, " 50.0%", "PAUSED")
		s.press("p")
		passed(1)
		s.has(t, " 60.0%")
		s.press("-")
		s.has(t, "every 2 s")
		asked := source.n.Load()
		if passed(4); source.n.Load() != asked+2 {
			t.Errorf("asked %d times in two intervals", source.n.Load()-asked)
		}
		s.end(t)
	})
}

// If a service disappears, top keeps its last graph with a message, and asks again.
func TestTopLosesService(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := growing()
		answer := source.answer
		source.answer = func(n int) (*bottle.Graph, error) {
			if n > 2 && n < 6 {
				return nil, errors.New("connection refused")
			}
			return answer(n)
		}
		s := startTop(source)
		passed(2)
		s.has(t, " 20.0%", "No answer since "+time.Now().Format("15:04:05")+": connection refused. This is the last graph; trying again.")
		passed(2)
		s.has(t, " 20.0%", "No answer since "+time.Now().Add(-2*time.Second).Format("15:04:05"))
		passed(1)
		s.has(t, " 60.0%")
		if strings.Contains(s.last(), "No answer") {
			t.Errorf("the message stays:\n%s", s.last())
		}
		s.end(t)
	})
}

// A hanging service is not asked again concurrently, keys still work, and the view shows what it
// waits for.
func TestTopWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		source := growing()
		answer := source.answer
		source.answer = func(n int) (*bottle.Graph, error) {
			if n == 2 {
				<-release
			}
			return answer(n)
		}
		s := startTop(source)
		passed(6)
		s.has(t, " 10.0%", "Waiting for an answer since "+time.Now().Add(-5*time.Second).Format("15:04:05"))
		s.press("s")
		s.has(t, "main.main", "sorted by parallelism")
		if source.n.Load() != 2 {
			t.Errorf("asked %d times", source.n.Load())
		}
		close(release)
		s.has(t, " 20.0%")
		s.end(t)
	})
}

// Keys scroll, sort, change the interval, quit and show the help.
func TestTopKeys(t *testing.T) {
	l := New(Source{}, time.Second, 0)
	l.view.Graph, l.view.Sort = &bottle.Graph{Boxes: make([]bottle.Box, 40)}, "share"
	for _, tt := range []struct {
		key  tea.KeyPressMsg
		skip int
		sort string
	}{
		{tea.KeyPressMsg{Code: tea.KeyDown}, 1, "share"}, {tea.KeyPressMsg{Code: tea.KeyPgDown}, 16, "share"}, {tea.KeyPressMsg{Code: tea.KeyEnd}, 25, "share"},
		{keyPress('f'), 25, "share"}, {tea.KeyPressMsg{Code: tea.KeyPgUp}, 10, "share"}, {tea.KeyPressMsg{Code: tea.KeyHome}, 0, "share"}, {tea.KeyPressMsg{Code: tea.KeyUp}, 0, "share"},
		{keyPress('j'), 1, "share"}, {keyPress('s'), 0, "parallelism"}, {keyPress('S'), 0, "share"}, {keyPress('S'), 0, "lost"}, {keyPress('S'), 0, "name"}, {keyPress('s'), 0, "lost"},
		{keyPress('6'), 0, "blocked"}, {keyPress('x'), 0, "blocked"}, {keyPress('世'), 0, "blocked"},
	} {
		if l.Update(tt.key); l.view.Skip != tt.skip || l.view.Sort != tt.sort {
			t.Errorf("%s: skips %d, sorted by %s", tt.key, l.view.Skip, l.view.Sort)
		}
	}
	for range 20 {
		l.press("+")
	}
	if l.interval != LeastInterval {
		t.Errorf("the interval went down to %v", l.interval)
	}
	for _, key := range []tea.KeyPressMsg{keyPress('q'), {Code: 'c', Mod: tea.ModCtrl}, {Code: 'd', Mod: tea.ModCtrl}} {
		if _, cmd := l.Update(key); cmd == nil || cmd() != (tea.QuitMsg{}) {
			t.Errorf("%s does not quit", key)
		}
	}
}

func FuzzTopKeys(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add("q+-sSjk1g")
	f.Fuzz(func(t *testing.T, typed string) {
		l := New(Source{}, time.Second, 0)
		for _, k := range typed {
			l.Update(keyPress(k))
		}
		if l.view.Skip < 0 || l.interval < LeastInterval || l.interval > MostInterval {
			t.Errorf("skips %d, interval %v", l.view.Skip, l.interval)
		}
	})
}
