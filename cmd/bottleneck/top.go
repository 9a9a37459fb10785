package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
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
as http://localhost:6060/debug/bottleneck/. Top requests the graph of the last
seconds every second. A service that analyzes itself all the time
(bottleneck.Continuous) answers at once; one that only records (bottle.Recorder)
takes a snapshot each time.

A service with only net/http/pprof works as well: give the URL of /debug/pprof/.
Top then traces one second in three, which costs the service more, and analyzes
the traces itself.

Columns are the share of the time of each group, as a bar and in percent; its
change since the last refresh, in percentage points; the parallelism; the mean
number of its goroutines that were running, runnable (waiting for a processor)
and blocked; and the main reason for being blocked. A star marks groups that
lost at least 5% of the capacity. Press h for the keys, q to quit.

If the service becomes unreachable, top shows the last graph with a message, and
tries again at every refresh.`, f.run)
	fs := c.Flags()
	f.flags = fs
	fs.DurationVar(&f.interval, "interval", 0, "refresh every `DURATION`; default 1s, 3s for net/http/pprof")
	fs.Float64Var(&f.seconds, "seconds", 0, "request the last `N` seconds; default 2, 1 for net/http/pprof")
	defineGroup(fs, &f.group, "of net/http/pprof: ")
	fs.IntVar(&f.top, "top", 0, "show `N` groups, or all if 0; default 15, or as many as fit on a terminal")
	fs.IntVarP(&f.frames, "number", "n", 0, "print `N` frames and exit; without -n, output that is not a terminal gets frames until top is interrupted")
	c.Example = `  bottleneck top http://localhost:6060/debug/bottleneck/
  bottleneck top http://localhost:6060/debug/pprof/
  bottleneck top -n 3 http://localhost:6060/debug/bottleneck/ >> log`
	return a.reads(c)
}

// The shortest and the longest interval, and the longest period of a graph.
const (
	leastInterval = 100 * time.Millisecond
	mostInterval  = time.Hour
	mostSeconds   = 3600
)

func (f *topFlags) parse() error {
	switch {
	case f.flags.Changed("interval") && (f.interval < leastInterval || f.interval > mostInterval):
		return usagef("-interval %v: want from %v to %v", f.interval, leastInterval, mostInterval)
	case f.flags.Changed("seconds") && !(f.seconds >= 0.01 && f.seconds <= mostSeconds):
		return usagef("-seconds %v: want from 0.01 to %d", f.seconds, mostSeconds)
	case f.flags.Changed("number") && f.frames < 1:
		return usagef("-n %d: want a number of frames", f.frames)
	case f.top < 0:
		return usagef("-top %d: want a number of groups, or 0 for all", f.top)
	case f.top == 0 && f.flags.Changed("top"):
		f.top = -1 // all
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
		f.interval = source.pace()
	}
	loop := newTopLoop(source, f)
	t, terminal := terminalOf(std.out)
	if !terminal || t.dumb || f.frames > 0 {
		return loop.batch(ctx, std.out, t, f.frames)
	}
	return loop.interact(ctx, std.in, std.out)
}

// open determines the kind of source.
func (f *topFlags) open(ctx context.Context, std stdio, u *url.URL) (topSource, error) {
	defer startProgress(std.err, func(time.Duration) string { return "asking " + u.Redacted() })()
	source, err := findService(ctx, u, f.seconds, bottle.Options{Group: f.group})
	if err != nil {
		return nil, err
	}
	if _, traces := source.(*topTraces); !traces && f.group.String() != bottle.ByFunction.String() {
		return nil, usagef("-group is for net/http/pprof, whose traces top reads itself: this service groups as it likes")
	}
	return source, nil
}

// topLoop refreshes a view: frame by frame in batch, or as the model of a bubbletea program. Frames
// depend only on the view. The view changes by keys, samples and errors, which one goroutine
// handles.
type topLoop struct {
	source   topSource
	interval time.Duration
	view     text.TopView
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
	l.view.Source, l.view.Sort = source.label(), text.SortLost
	return l
}

// topAnswer is the result of a request to the source.
type topAnswer struct {
	topSample
	err error
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
	l.view.Graph, l.view.Note, l.view.Taken = a.graph, a.note, now
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
	case !l.asked.IsZero() && now.Sub(l.asked) > late*max(l.interval, l.source.pace()):
		return fmt.Sprintf("Waiting for an answer since %s.", l.asked.Format("15:04:05"))
	}
	return ""
}

// batch prints the given number of frames one below the other; without a number, until there is an
// error or ctx is done.
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
		frame := l.frame(t.Options, 0, time.Now())
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
	help := v.Help
	v.Help = nil // any key closes the help
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

// topKeysHelp is the text that the key h shows.
var topKeysHelp = []string{
	"q, ctrl-C       quit                        p       pause, go on",
	"up, down, k, j  scroll by a line            blank   refresh at once",
	"page up, down   scroll by a page            + -     refresh more, less often",
	"home, end       to the first, the last      ctrl-Z  suspend",
	"s, S            next, previous order        h, ?    this help",
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

// topSource is the source of top's graphs. Its methods are called by one goroutine at a time.
type topSource interface {
	// label returns the name of the source.
	label() string
	// pace returns the default interval.
	pace() time.Duration
	// next returns the current graph.
	next(ctx context.Context) (topSample, error)
}

// topSample is the state of a source at one moment.
type topSample struct {
	graph *bottle.Graph
	note  string
}

// topPatience is how long top waits for an answer, in addition to the time of a trace.
const topPatience = 15 * time.Second

// findService determines which handlers a service has mounted. The URL may be that of the service
// itself.
func findService(ctx context.Context, u *url.URL, seconds float64, opt bottle.Options) (topSource, error) {
	at := strings.TrimRight(u.Path, "/")
	if before, _, found := strings.Cut(at+"/", "/debug/pprof/"); found {
		return newTopTraces(withPath(u, before+"/debug/pprof/trace"), seconds, opt), nil
	}
	at = strings.TrimSuffix(at, "/graph")
	live := newTopLive(withPath(u, at+"/"), seconds)
	first := live.probe(ctx)
	if first == nil {
		return live, nil
	}
	if at == "" && ctx.Err() == nil && answered(first) { // the default paths
		if live := newTopLive(withPath(u, "/debug/bottleneck/"), seconds); live.probe(ctx) == nil {
			return live, nil
		}
		if body, err := get(ctx, withPath(u, "/debug/pprof/cmdline")); err == nil {
			body.Close()
			return newTopTraces(withPath(u, "/debug/pprof/trace"), seconds, opt), nil
		}
	}
	if answered(first) {
		first = fmt.Errorf("%w; give the URL where the service has mounted exporters/live, or that of /debug/pprof/", first)
	}
	return nil, urlError(ctx, u.Redacted(), first)
}

// answered reports whether there is a server, and only the path is wrong.
func answered(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.status == http.StatusNotFound || errors.Is(err, errNoGraph)
}

func withPath(u *url.URL, path string) *url.URL {
	out := *u
	out.Path, out.RawPath, out.Fragment = path, "", ""
	return &out
}

// below returns a URL below a mount point, with parameters added to those of the user.
func below(mount *url.URL, name string, parameters ...string) *url.URL {
	out := withPath(mount, path.Join("/", mount.Path, name))
	q := out.Query()
	for i := 0; i+1 < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	out.RawQuery = q.Encode()
	return out
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

// topLive is a service that has mounted package exporters/live.
type topLive struct {
	mount   *url.URL
	seconds float64
}

func newTopLive(mount *url.URL, seconds float64) *topLive {
	if seconds == 0 {
		seconds = 2
	}
	return &topLive{mount: mount, seconds: seconds}
}

func (s *topLive) label() string       { return s.mount.Redacted() }
func (s *topLive) pace() time.Duration { return time.Second }

// probe returns an error if the service is of another kind. A service without a graph yet is
// accepted.
func (s *topLive) probe(ctx context.Context) error {
	_, err := s.graph(ctx)
	var status *statusError
	if errors.As(err, &status) && status.status == http.StatusServiceUnavailable {
		return nil
	}
	return err
}

func (s *topLive) next(ctx context.Context) (sample topSample, err error) {
	if sample.graph, err = s.graph(ctx); err != nil {
		return sample, causeOf(err)
	}
	return sample, nil
}

// errNoGraph is the error for an answer that is not a graph.
var errNoGraph = errors.New("the answer is not a bottle graph")

// mostJSON exceeds the size of any service's answer, in bytes.
const mostJSON = 64 << 20

func (s *topLive) graph(ctx context.Context) (*bottle.Graph, error) {
	ctx, cancel := context.WithTimeout(ctx, topPatience)
	defer cancel()
	body, err := get(ctx, below(s.mount, "graph", "format", "json", "seconds", strconv.FormatFloat(s.seconds, 'f', -1, 64)))
	if err != nil {
		return nil, err
	}
	defer body.Close()
	r := bufio.NewReader(io.LimitReader(body, mostJSON))
	if head, err := r.Peek(1); err == nil && !holdsJSON(head) {
		return nil, errNoGraph
	}
	g, err := bottle.ReadJSON(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoGraph, err)
	}
	return g, nil
}

func seconds(s float64) time.Duration { return time.Duration(min(s, 1e9) * float64(time.Second)) }

// topTraces is a service with net/http/pprof: top requests traces and analyzes them itself.
type topTraces struct {
	trace   *url.URL
	seconds float64
	opt     bottle.Options
}

func newTopTraces(trace *url.URL, seconds float64, opt bottle.Options) *topTraces {
	if seconds == 0 {
		seconds = 1
	}
	return &topTraces{trace: trace, seconds: seconds, opt: opt}
}

func (s *topTraces) label() string       { return s.trace.Redacted() }
func (s *topTraces) pace() time.Duration { return max(3*time.Second, 3*seconds(s.seconds)) }

func (s *topTraces) next(ctx context.Context) (sample topSample, err error) {
	ctx, cancel := context.WithTimeout(ctx, topPatience+seconds(s.seconds))
	defer cancel()
	u := below(s.trace, "", "seconds", strconv.FormatFloat(s.seconds, 'f', -1, 64))
	body, err := get(ctx, u)
	if err != nil {
		return sample, causeOf(err)
	}
	defer body.Close()
	report, err := bn.Analyze(ctx, body, bn.Options{Name: "the trace", Want: bn.WantVerdict, Bottle: s.opt})
	if report == nil {
		return sample, causeOf(err)
	}
	sample.graph = report.Bottle
	sample.note = fmt.Sprintf("Traces of net/http/pprof, of %v each: slower, and dearer for the service.", seconds(s.seconds))
	return sample, nil
}
