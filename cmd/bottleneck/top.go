package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/chart"
	"github.com/bottleneck-go/bottleneck/internal/input"
)

// topFlags holds the flags of top.
type topFlags struct {
	flags    *pflag.FlagSet
	interval time.Duration
	seconds  float64
	group    bottle.Grouping
	top      int
	frames   int
}

func (a *app) top() *cobra.Command {
	f := &topFlags{}
	c := a.command("top [flags] URL", "watch the bottle graph of a running service", `
Top shows which groups of goroutines limit a running service, refreshed like
top.

The URL is the place where the service has mounted package exporters/live, such
as http://localhost:6060/debug/bottleneck/. A service with only net/http/pprof
works as well: give the URL of /debug/pprof/. Top then traces one second in
three, which costs the service more, and analyzes the traces itself.

Columns are the share of the time of each group; the capacity lost while it ran;
the change of the share since the last refresh; the parallelism; the mean number
of its goroutines that were running, runnable (waiting for a processor) and
blocked; and the main reason for being blocked. A star marks groups that lost at
least 5% of the capacity.

Keys are q to quit, p to pause, the arrow keys or k and j, page up and down or b
and f, home and end to scroll, s and S for the next and the previous order, 1 to
7 for order by lost, share, parallelism, running, runnable, blocked or name, the
space bar to refresh at once, and + and - to refresh more and less often.

If the service becomes unreachable, top shows the last graph with a message, and
tries again at every refresh.`, f.run)
	fs := c.Flags()
	f.flags = fs
	fs.DurationVar(&f.interval, "interval", 0, "refresh every `DURATION`; default 1s, 3s for net/http/pprof")
	defineSeconds(fs, &f.seconds, 0, "request the last `N` seconds; default 2, 1 for net/http/pprof")
	defineGroup(fs, &f.group, "of net/http/pprof: ")
	fs.IntVar(&f.top, "top", 0, "show `N` groups, or all if 0; default 15, or as many as fit on a terminal")
	fs.IntVarP(&f.frames, "number", "n", 0, "print `N` frames and exit; without -n, output that is not a terminal gets frames until top is interrupted")
	c.Example = `  bottleneck top http://localhost:6060/debug/bottleneck/
  bottleneck top http://localhost:6060/debug/pprof/
  bottleneck top -n 3 http://localhost:6060/debug/bottleneck/ >> log`
	return a.reads(c)
}

// The shortest and the longest interval.
const (
	leastInterval = 100 * time.Millisecond
	mostInterval  = time.Hour
)

func (f *topFlags) parse() error {
	switch {
	case f.flags.Changed("number") && f.frames < 1:
		return usagef("-n %d: want a number of frames", f.frames)
	case f.top < 0:
		return usagef("-top %d: want a number of groups, or 0 for all", f.top)
	case f.top == 0 && f.flags.Changed("top"):
		f.top = -1 // all
	}
	if f.flags.Changed("interval") {
		return between("interval", f.interval, leastInterval, mostInterval)
	}
	return nil
}

func (f *topFlags) run(ctx context.Context, std stdio, args []string) error {
	if err := f.parse(); err != nil {
		return err
	}
	u, err := serviceURL(args)
	if err != nil {
		return err
	}
	source, err := f.open(ctx, std, u)
	if err != nil {
		if ctx.Err() != nil {
			return nil // top ends with an interrupt
		}
		return err
	}
	if f.interval == 0 {
		f.interval = source.pace
	}
	loop := newTopLoop(source, f)
	t, terminal := terminalOf(std.out)
	if !terminal || t.dumb || f.frames > 0 {
		return loop.batch(ctx, std.out, t, f.frames)
	}
	return loop.interact(ctx, std.in, std.out)
}

// open returns the source of a URL, after a service with a wrong answer was rejected. A service
// without a graph yet is accepted.
func (f *topFlags) open(ctx context.Context, std stdio, u *url.URL) (topSource, error) {
	source, traces := f.service(u)
	if traces {
		return source, nil
	}
	if f.group.String() != bottle.ByFunction.String() {
		return source, usagef("-group is for net/http/pprof, whose traces top reads itself: this service groups as it likes")
	}
	defer startProgress(std.err, func(time.Duration) string { return "asking " + u.Redacted() })()
	_, err := source.next(ctx)
	var status *input.StatusError
	if err == nil || errors.As(err, &status) && status.Status == http.StatusServiceUnavailable {
		return source, nil
	}
	return source, fmt.Errorf("%s: %w", u.Redacted(), hinted(err))
}

// topLoop refreshes a view: frame by frame in batch, or as the model of a bubbletea program. One
// goroutine handles keys, graphs and errors, which change the view.
type topLoop struct {
	source   topSource
	interval time.Duration
	view     chart.Screen
	top      int // groups in frames without a height, in the convention of exporters
	asked    time.Time
	failing  time.Time // when answers stopped; zero if there are answers
	failure  error
	ctx      context.Context
	terminal terminal
	height   int // of the terminal
	ticks    topTick
}

func newTopLoop(source topSource, f *topFlags) *topLoop {
	l := &topLoop{source: source, interval: f.interval, height: 24, top: f.top}
	l.view.Source, l.view.Note, l.view.Sort = source.label, source.note, text.TopSorts[0]
	return l
}

// topAnswer is the result of a request to the source.
type topAnswer struct {
	graph *bottle.Graph
	err   error
}

// accept updates the view with an answer.
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
		l.view.Before = nil // boxes of different groupings cannot be compared
	}
	if !l.view.Taken.IsZero() && a.graph == l.view.Graph {
		l.view.Before = nil // the same graph: there is no trend
	}
	l.view.Graph, l.view.Taken = a.graph, now
}

// frame draws the view, on a screen of the given height if that is not 0.
func (l *topLoop) frame(opt text.Options, height int, now time.Time) string {
	v := l.view
	v.Interval, v.Height = l.interval, height
	v.Problem = l.problem(now)
	if v.Problem == "" && v.Graph == nil {
		v.Note = "waiting for the first graph"
	}
	if opt.Top == 0 {
		opt.Top = l.top
	}
	var b strings.Builder
	text.WriteTop(&b, &v, opt) // a Builder never fails
	return b.String()
}

// problem returns the message for a source that fails or is late, or "".
func (l *topLoop) problem(now time.Time) string {
	const late = 3 // refreshes without an answer
	switch {
	case l.failure != nil && l.view.Graph == nil:
		return fmt.Sprintf("No graph yet: %v. Trying again.", l.failure)
	case l.failure != nil:
		return fmt.Sprintf("No answer since %s: %v. This is the last graph; trying again.", l.failing.Format("15:04:05"), l.failure)
	case !l.asked.IsZero() && now.Sub(l.asked) > late*max(l.interval, l.source.pace):
		return fmt.Sprintf("Waiting for an answer since %s.", l.asked.Format("15:04:05"))
	}
	return ""
}

// batch prints some frames one below the other; without a number, until ctx is done.
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
		graph, err := l.source.next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		l.accept(topAnswer{graph, err}, time.Now())
		frame := l.frame(t.Options, 0, time.Now())
		if n > 0 {
			frame = "\n" + frame
		}
		if _, err := io.WriteString(w, frame); err != nil {
			return err
		}
	}
	if l.view.Graph == nil {
		return fmt.Errorf("%s: no graph in %d refreshes: %w", l.source.label, frames, l.failure)
	}
	return nil
}

// Init requests the first graph.
func (l *topLoop) Init() tea.Cmd { return tea.Batch(l.ask(), l.tick()) }

// View returns the frame for the screen.
func (l *topLoop) View() tea.View {
	v := tea.NewView(strings.TrimSuffix(l.frame(l.terminal.Options, l.height, time.Now()), "\n"))
	v.AltScreen = true
	return v
}

// topTick is the end of an interval. It is stale if the interval has changed since.
type topTick int

// tick waits for the end of an interval.
func (l *topLoop) tick() tea.Cmd {
	l.ticks++
	n := l.ticks
	return tea.Tick(l.interval, func(time.Time) tea.Msg { return topTick(n) })
}

// Update updates the view on a key, an answer, a tick, or a change of the terminal's size.
func (l *topLoop) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		l.terminal.Width, l.height = msg.Width, msg.Height
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
		l.accept(msg, time.Now())
	case tea.KeyPressMsg:
		return l, l.press(msg.String())
	}
	return l, nil
}

// ask requests a graph from the source, unless a request is in progress.
func (l *topLoop) ask() tea.Cmd {
	if !l.asked.IsZero() {
		return nil
	}
	l.asked = time.Now()
	return func() tea.Msg {
		graph, err := l.source.next(l.ctx)
		return topAnswer{graph, err}
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
	// A program that ends with its context does not wait for its key reader, which is left behind.
	defer context.AfterFunc(ctx, p.Quit)()
	_, err := p.Run()
	if ctx.Err() != nil {
		return nil // top ends with an interrupt
	}
	return err
}

// press updates the view on a key.
func (l *topLoop) press(key string) tea.Cmd {
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
	l.view.Sort, l.view.Skip = text.TopSorts[(slices.Index(text.TopSorts, l.view.Sort)+step+n)%n], 0
}

// scroll scrolls, but not beyond the last page.
func (l *topLoop) scroll(by, page int) {
	most := 0
	if l.view.Graph != nil {
		most = max(0, len(l.view.Graph.Boxes)-page)
	}
	l.view.Skip = max(0, min(l.view.Skip+by, most))
}

// topSource is a service that top watches.
type topSource struct {
	label string
	pace  time.Duration // default interval
	note  string
	// next returns the current graph. It is called by one goroutine at a time.
	next func(ctx context.Context) (*bottle.Graph, error)
}

// topPatience is how long top waits for an answer, in addition to the time of a trace.
const topPatience = 15 * time.Second

// errNoGraph is the error for an answer that is not a graph.
var errNoGraph = errors.New("the answer is not a bottle graph")

// service returns the source of a URL. traces is set for net/http/pprof, whose traces top analyzes.
func (f *topFlags) service(u *url.URL) (s topSource, traces bool) {
	address, traces := input.Mount(u, "/graph")
	s.label, s.pace = address.Redacted(), time.Second
	period := cmp.Or(f.seconds, 2)
	if traces {
		period = cmp.Or(f.seconds, 1)
		s.pace = max(3*time.Second, 3*input.Seconds(period))
		s.note = fmt.Sprintf("Traces of net/http/pprof, of %v each: slower, and dearer for the service.", input.Seconds(period))
		address = input.Below(address, "trace", "seconds", input.FormatSeconds(period))
	} else {
		address = input.Below(address, "graph", "format", "json", "seconds", input.FormatSeconds(period))
	}
	s.next = func(ctx context.Context) (*bottle.Graph, error) {
		ctx, cancel := context.WithTimeout(ctx, topPatience+input.Seconds(period))
		defer cancel()
		resp, err := input.Fetch(ctx, address)
		if err != nil {
			return nil, causeOf(err)
		}
		defer resp.Body.Close()
		from, head := input.Peek(resp.Body)
		if input.HoldsJSON(head) {
			from = input.Saved(ctx, from)
		} else if !traces {
			return nil, errNoGraph
		}
		a, err := load(ctx, &input.Source{Label: "the answer"}, from, head, bn.Options{Bottle: bottle.Options{Group: f.group}}, graphKind)
		switch {
		case a.value != nil:
			return a.value.(*bottle.Graph), nil
		case !traces:
			err = fmt.Errorf("%w: %w", errNoGraph, err)
		}
		return nil, causeOf(err)
	}
	return s, traces
}

// causeOf returns an error without the URL, which is shown above it.
func causeOf(err error) error {
	var ue *url.Error
	if !errors.As(err, &ue) {
		return err
	}
	if ue.Timeout() {
		return errors.New("the service does not answer")
	}
	return ue.Err
}
