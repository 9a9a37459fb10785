// Package top watches the bottle graph of a service on a terminal, like the program top.
package top

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/chart"
)

// The shortest and the longest interval.
const (
	LeastInterval = 100 * time.Millisecond
	MostInterval  = time.Hour
)

// Loop refreshes a view: frame by frame in Batch, or as the model of a bubbletea program. One
// goroutine handles keys, graphs and errors, which change the view.
type Loop struct {
	source   Source
	interval time.Duration
	view     chart.Screen
	top      int // groups in frames without a height, in the convention of exporters
	asked    time.Time
	failing  time.Time // when answers stopped; zero if there are answers
	failure  error
	ctx      context.Context
	opt      text.Options // of the terminal
	height   int          // of the terminal
	ticks    ended
}

// New returns a loop that asks a source for a graph once an interval and shows the groups with the
// largest shares, as many as groups; 0 means those that fit, a negative number all.
func New(source Source, interval time.Duration, groups int) *Loop {
	l := &Loop{source: source, interval: interval, height: 24, top: groups}
	l.view.Source, l.view.Note, l.view.Sort = source.Label, source.Note, text.TopSorts[0]
	return l
}

// answer is the result of a request to the source.
type answer struct {
	graph *bottle.Graph
	err   error
}

// accept updates the view with an answer.
func (l *Loop) accept(a answer, now time.Time) {
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
		l.view.Before = nil // boxes of different groupings cannot be compared
	}
	if !l.view.Taken.IsZero() && a.graph == l.view.Graph {
		l.view.Before = nil // the same graph: there is no trend
	}
	l.view.Graph, l.view.Taken = a.graph, now
}

// frame draws the view, on a screen of the given height if that is not 0.
func (l *Loop) frame(opt text.Options, height int, now time.Time) string {
	v := l.view
	v.Interval, v.Height = l.interval, height
	v.Problem = l.problem(now)
	if v.Problem == "" && v.Graph == nil {
		v.Note = "waiting for the first graph"
	}
	opt.Top = cmp.Or(opt.Top, l.top)
	var b strings.Builder
	text.WriteTop(&b, &v, opt) // a Builder never fails
	return b.String()
}

// problem returns the message for a source that fails or is late, or "".
func (l *Loop) problem(now time.Time) string {
	const late = 3 // refreshes without an answer
	switch {
	case l.failure != nil && l.view.Graph == nil:
		return fmt.Sprintf("No graph yet: %v. Trying again.", l.failure)
	case l.failure != nil:
		return fmt.Sprintf("No answer since %s: %v. This is the last graph; trying again.", l.failing.Format("15:04:05"), l.failure)
	case !l.asked.IsZero() && now.Sub(l.asked) > late*max(l.interval, l.source.Pace):
		return fmt.Sprintf("Waiting for an answer since %s.", l.asked.Format("15:04:05"))
	}
	return ""
}

// Batch prints some frames one below the other; without a number, until ctx is done.
func (l *Loop) Batch(ctx context.Context, w io.Writer, opt text.Options, frames int) error {
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
		graph, err := l.source.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		l.accept(answer{graph, err}, time.Now())
		frame := l.frame(opt, 0, time.Now())
		if n > 0 {
			frame = "\n" + frame
		}
		if _, err := io.WriteString(w, frame); err != nil {
			return err
		}
	}
	if l.view.Graph == nil {
		return fmt.Errorf("%s: no graph in %d refreshes: %w", l.source.Label, frames, l.failure)
	}
	return nil
}

// Init requests the first graph.
func (l *Loop) Init() tea.Cmd { return tea.Batch(l.ask(), l.tick()) }

// View returns the frame for the screen.
func (l *Loop) View() tea.View {
	v := tea.NewView(strings.TrimSuffix(l.frame(l.opt, l.height, time.Now()), "\n"))
	v.AltScreen = true
	return v
}

// ended is the end of an interval. It is stale if the interval has changed since.
type ended int

// tick waits for the end of an interval.
func (l *Loop) tick() tea.Cmd {
	l.ticks++
	n := l.ticks
	return tea.Tick(l.interval, func(time.Time) tea.Msg { return ended(n) })
}

// Update updates the view on a key, an answer, a tick, or a change of the terminal's size.
func (l *Loop) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		l.opt.Width, l.height = msg.Width, msg.Height
	case ended:
		switch {
		case msg != l.ticks:
		case l.view.Paused:
			return l, l.tick()
		default:
			return l, tea.Batch(l.ask(), l.tick())
		}
	case answer:
		l.asked = time.Time{}
		l.accept(msg, time.Now())
	case tea.KeyPressMsg:
		return l, l.press(msg.String())
	}
	return l, nil
}

// ask requests a graph from the source, unless a request is in progress.
func (l *Loop) ask() tea.Cmd {
	if !l.asked.IsZero() {
		return nil
	}
	l.asked = time.Now()
	return func() tea.Msg {
		graph, err := l.source.Next(l.ctx)
		return answer{graph, err}
	}
}

// Interact shows the view on a terminal until the user quits or ctx is done. keys may be nil.
func (l *Loop) Interact(ctx context.Context, keys io.Reader, out io.Writer, opt text.Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.ctx, l.opt = ctx, opt
	p := tea.NewProgram(l, tea.WithInput(keys), tea.WithOutput(out), tea.WithoutSignalHandler())
	// A program that ends with its context does not wait for its key reader, which is left behind.
	defer context.AfterFunc(ctx, p.Quit)()
	_, err := p.Run()
	if ctx.Err() != nil {
		return nil // top ends with an interrupt
	}
	return err
}

// press updates the view on a key.
func (l *Loop) press(key string) tea.Cmd {
	v := &l.view
	page := max(1, l.height-9) // without the lines above and below the groups
	switch key {
	case "q", "Q", "ctrl+c", "ctrl+d":
		return tea.Quit
	case "ctrl+l":
		return tea.ClearScreen
	case "space":
		return l.ask()
	case "p":
		v.Paused = !v.Paused
	case "s":
		l.sort(1)
	case "S":
		l.sort(-1)
	case "1", "2", "3", "4", "5", "6", "7":
		v.Sort, v.Skip = text.TopSorts[key[0]-'1'], 0
	case "up", "k":
		l.scroll(-1, page)
	case "down", "j":
		l.scroll(1, page)
	case "pgup", "b":
		l.scroll(-page, page)
	case "pgdown", "f":
		l.scroll(page, page)
	case "home":
		v.Skip = 0
	case "end":
		l.scroll(1<<30, page)
	case "+", "=":
		l.interval = max(LeastInterval, l.interval/2)
		return l.tick()
	case "-", "_":
		l.interval = min(MostInterval, l.interval*2)
		return l.tick()
	}
	return nil
}

func (l *Loop) sort(step int) {
	n := len(text.TopSorts)
	l.view.Sort, l.view.Skip = text.TopSorts[(slices.Index(text.TopSorts, l.view.Sort)+step+n)%n], 0
}

// scroll scrolls, but not beyond the last page.
func (l *Loop) scroll(by, page int) {
	most := 0
	if l.view.Graph != nil {
		most = max(0, len(l.view.Graph.Boxes)-page)
	}
	l.view.Skip = max(0, min(l.view.Skip+by, most))
}

// Source is a service to watch.
type Source struct {
	Label string
	Pace  time.Duration // usual interval
	Note  string
	// Next returns the current graph. It is called by one goroutine at a time.
	Next func(ctx context.Context) (*bottle.Graph, error)
}
