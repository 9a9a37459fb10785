package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// topLoop refreshes a view: frame by frame in batch, or as the model of a program of bubbletea.
// Frames depend on the view only, and the view changes by keys, by samples and by errors, which all
// come to one goroutine.
type topLoop struct {
	source   topSource
	interval time.Duration
	view     text.TopView
	top      int // groups in frames without a height, as exporters want it
	asked    time.Time
	failing  time.Time // since when there was no answer; zero if there is
	failure  error
	regroup  bool // the next question is about another grouping
	ctx      context.Context
	terminal terminal
	height   int // of the terminal
	ticks    topTick
}

func newTopLoop(source topSource, f *topFlags) *topLoop {
	l := &topLoop{source: source, interval: f.interval, height: 24, top: drawing{top: f.top, topSet: f.topSet}.exporterTop()}
	l.view.Source, l.view.Sort = source.label(), sortOf(f.sort)
	return l
}

// topAnswer is what came of asking the source.
type topAnswer struct {
	topSample
	err error
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
		l.accept(topAnswer{sample, err}, time.Now())
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

// Init asks for the first graph.
func (l *topLoop) Init() tea.Cmd { return tea.Batch(l.ask(), l.tick()) }

// View is the frame for the screen.
func (l *topLoop) View() tea.View {
	opt := text.TopOptions{Options: l.terminal.textOptions(), Height: l.height}
	v := tea.NewView(strings.TrimSuffix(l.frame(opt, time.Now()), "\n"))
	v.AltScreen = true
	return v
}

// topTick is the end of an interval; older than the last one if the interval has changed.
type topTick int

// tick waits for the end of an interval.
func (l *topLoop) tick() tea.Cmd {
	l.ticks++
	n := l.ticks
	return tea.Tick(l.interval, func(time.Time) tea.Msg { return topTick(n) })
}

// Update changes the view as a key, an answer, the time or the size of the terminal wants it.
func (l *topLoop) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		l.terminal.width, l.height = msg.Width, msg.Height
	case topTick:
		switch {
		case msg != l.ticks:
		case l.view.Paused:
			return l, l.tick()
		default:
			return l, tea.Batch(l.ask(), l.tick())
		}
	case topAnswer:
		l.asked = time.Time{}
		if l.regroup { // nobody wants to see the old one any more
			return l, l.ask()
		}
		l.accept(msg, time.Now())
	case tea.KeyPressMsg:
		return l, l.press(msg.String())
	}
	return l, nil
}

// ask asks the source, unless it is being asked already.
func (l *topLoop) ask() tea.Cmd {
	if !l.asked.IsZero() {
		return nil
	}
	if l.regroup {
		l.regroup = false
		name, err := l.source.regroup()
		if err != nil {
			l.view.Note = "No other grouping: " + err.Error() + "."
			return nil
		}
		l.view.Note = "Next: grouped by " + name + "."
	}
	l.asked = time.Now()
	return func() (msg tea.Msg) {
		sample, err := l.source.next(l.ctx)
		if err == nil && sample.graph == nil {
			sample.graph, err = &bottle.Graph{}, errors.New("no graph")
		}
		return topAnswer{sample, err}
	}
}

// interact shows the view on a terminal until the user quits or ctx is done.
func (l *topLoop) interact(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.ctx = ctx
	l.terminal, _ = terminalOf(out)
	if _, terminal := terminalOf(in); !terminal {
		in = nil // there are no keys
	}
	p := tea.NewProgram(l, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	// A program that ends with its context does not wait for its reader of keys, which then
	// stays.
	defer context.AfterFunc(ctx, p.Quit)()
	_, err := p.Run()
	if ctx.Err() != nil {
		return nil // that is how top ends
	}
	return err
}

// press changes the view as a key wants it.
func (l *topLoop) press(key string) tea.Cmd {
	v := &l.view
	page := max(1, l.height-9) // without the lines above and below the groups
	help := v.Help
	v.Help = nil // any key ends the help
	switch key {
	case "q", "Q", "ctrl+c", "ctrl+d":
		return tea.Quit
	case "ctrl+z":
		if canSuspend() {
			return tea.Suspend
		}
	case "ctrl+l":
		return tea.ClearScreen
	case "space":
		return l.ask()
	case "p":
		v.Paused = !v.Paused
	case "h", "?":
		if help == nil {
			v.Help = topKeysHelp
		}
	case "s":
		l.sort(1)
	case "S":
		l.sort(-1)
	case "1", "2", "3", "4", "5", "6", "7":
		v.Sort, v.Skip = text.TopSorts[key[0]-'1'], 0
	case "r":
		v.Reverse = !v.Reverse
	case "g":
		l.regroup = true
		return l.ask()
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
		l.interval = max(leastInterval, l.interval/2)
		return l.tick()
	case "-", "_":
		l.interval = min(mostInterval, l.interval*2)
		return l.tick()
	}
	return nil
}

func (l *topLoop) sort(step int) {
	n := len(text.TopSorts)
	for i, s := range text.TopSorts {
		if s == l.view.Sort {
			l.view.Sort = text.TopSorts[(i+step+n)%n]
			break
		}
	}
	l.view.Skip = 0
}

// scroll moves, but not beyond the last page.
func (l *topLoop) scroll(by, page int) {
	most := 0
	if l.view.Graph != nil {
		most = max(0, len(l.view.Graph.Boxes)-page)
	}
	l.view.Skip = max(0, min(l.view.Skip+by, most))
}

// topKeysHelp is what h shows.
var topKeysHelp = []string{
	"q, ctrl-C       quit                        p       pause, go on",
	"up, down, k, j  scroll by a line            blank   refresh at once",
	"page up, down   scroll by a page            + -     refresh more, less often",
	"home, end       to the first, the last      r       reverse the order",
	"s, S            next, previous order        g       next grouping, of pprof only",
	"h, ?            this help                   ctrl-Z  suspend",
	"1 to 7          order by lost, share, parallelism, running, runnable, blocked, name",
	"",
	"lost        part of the capacity (GOMAXPROCS × time) not used while the group ran",
	"share       part of the time: while n goroutines run, each is given 1/n of it",
	"trend       change of the share since the refresh before, in percent of the time",
	"parallel    how many goroutines ran, of all groups, while the group ran",
	"running, runnable, blocked",
	"            how many of the group's goroutines did so, on average;",
	"            runnable ones wait for a processor",
	"blocked on  the largest reason, and its part of the time blocked",
	"*           the neck: low parallelism, which more processors do not help",
}
