package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// topLoop refreshes a view. Frames depend on the view only, and the view changes by keys, by
// samples and by errors, which all come to one goroutine.
type topLoop struct {
	source   topSource
	interval time.Duration
	view     text.TopView
	top      int // groups in frames without a height, as exporters want it
	asked    time.Time
	failing  time.Time // since when there was no answer; zero if there is
	failure  error
	regroup  bool // the next question is about another grouping
}

func newTopLoop(source topSource, f *topFlags) *topLoop {
	l := &topLoop{source: source, interval: f.interval, top: drawing{top: f.top, topSet: f.topSet}.exporterTop()}
	l.view.Source, l.view.Sort = source.label(), sortOf(f.sort)
	return l
}

// topAnswer is what came of asking the source.
type topAnswer struct {
	topSample
	err   error
	panic any
}

// accept puts an answer into the view.
func (l *topLoop) accept(a topAnswer, now time.Time) {
	if a.err != nil {
		if l.failure == nil {
			l.failing = now
		}
		l.failure = a.err
		return
	}
	l.failure = nil
	l.view.Before = l.view.Graph
	if l.view.Before != nil && l.view.Before.GroupBy != a.graph.GroupBy {
		l.view.Before = nil // boxes of other groupings have nothing to do with each other
	}
	if !l.view.Taken.IsZero() && a.graph == l.view.Graph {
		l.view.Before = nil // it is the same: nothing has changed, and nothing is known of it
	}
	l.view.Graph, l.view.Rates, l.view.Note, l.view.Taken = a.graph, a.rates, a.note, now
}

// frame draws the view.
func (l *topLoop) frame(opt text.TopOptions, now time.Time) string {
	v := l.view
	v.Interval = l.interval
	v.Problem = l.problem(now)
	if v.Problem == "" && v.Graph == nil {
		v.Note = "waiting for the first graph"
	}
	if opt.Top == 0 {
		opt.Top = l.top
	}
	var b strings.Builder
	text.WriteTop(&b, &v, opt) // a Builder takes everything
	return b.String()
}

// problem says what is wrong, if something is.
func (l *topLoop) problem(now time.Time) string {
	const late = 3 // refreshes without an answer
	switch {
	case l.failure != nil && l.view.Graph == nil:
		return fmt.Sprintf("No graph yet: %v. Trying again.", l.failure)
	case l.failure != nil:
		return fmt.Sprintf("No answer since %s: %v. This is the last graph; trying again.", l.failing.Format("15:04:05"), l.failure)
	case !l.asked.IsZero() && now.Sub(l.asked) > late*max(l.interval, l.source.pace()):
		return fmt.Sprintf("Waiting for an answer since %s.", l.asked.Format("15:04:05"))
	}
	return ""
}

// batch prints frames one below the other; without a number, until there is an error or ctx is
// done.
func (l *topLoop) batch(ctx context.Context, w io.Writer, t terminal, frames int) error {
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	for n := 0; frames == 0 || n < frames; n++ {
		if n > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
		}
		sample, err := l.source.next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		l.accept(topAnswer{topSample: sample, err: err}, time.Now())
		frame := l.frame(text.TopOptions{Options: t.textOptions()}, time.Now())
		if n > 0 {
			frame = "\n" + frame
		}
		if _, err := io.WriteString(w, frame); err != nil {
			return err
		}
	}
	if l.view.Graph == nil {
		return fmt.Errorf("%s: no graph in %d refreshes: %w", l.source.label(), frames, l.failure)
	}
	return nil
}

// topScreen is where frames are shown.
type topScreen interface {
	options() text.TopOptions
	show(frame string) error
	suspend() // until the user wants to see it again
}

// run shows the view until the user quits or ctx is done. Keys are bytes as a terminal sends them;
// wake asks for a frame, as when the screen has another size.
func (l *topLoop) run(ctx context.Context, screen topScreen, keys <-chan []byte, wake, suspend <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan topAnswer, 1)
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	l.ask(ctx, answers)
	for {
		if err := screen.show(l.frame(screen.options(), time.Now())); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-suspend:
			screen.suspend()
		case <-tick.C:
			if !l.view.Paused {
				l.ask(ctx, answers)
			}
		case a := <-answers:
			l.asked = time.Time{}
			if a.panic != nil {
				panic(a.panic) // here, where the terminal is put back in order
			}
			if l.regroup { // nobody wants to see the old one any more
				l.ask(ctx, answers)
			} else {
				l.accept(a, time.Now())
			}
		case typed, open := <-keys:
			if !open {
				keys = nil
			}
			interval := l.interval
			for _, k := range parseKeys(typed) {
				switch l.press(k, screen.options().Height) {
				case topQuit:
					return nil
				case topSuspend:
					screen.suspend()
				case topAsk:
					l.ask(ctx, answers)
				}
			}
			if l.interval != interval {
				tick.Reset(l.interval)
			}
		}
	}
}

// ask asks the source, unless it is being asked already.
func (l *topLoop) ask(ctx context.Context, answers chan<- topAnswer) {
	if !l.asked.IsZero() {
		return
	}
	if l.regroup {
		l.regroup = false
		if name, err := l.source.regroup(); err != nil {
			l.view.Note = "No other grouping: " + err.Error() + "."
			return
		} else {
			l.view.Note = "Next: grouped by " + name + "."
		}
	}
	l.asked = time.Now()
	go func() {
		var a topAnswer
		defer func() {
			a.panic = recover()
			answers <- a
		}()
		a.topSample, a.err = l.source.next(ctx)
		if a.err == nil && a.graph == nil {
			a.graph, a.err = &bottle.Graph{}, errors.New("no graph")
		}
	}()
}
