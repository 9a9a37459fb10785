package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// topSource is the source of top's graphs. Its methods are called by one goroutine at a time.
type topSource interface {
	// label returns the name of the source.
	label() string
	// pace returns the default interval.
	pace() time.Duration
	// next returns the current graph.
	next(ctx context.Context) (topSample, error)
	// regroup changes to the next grouping and returns its name.
	regroup() (string, error)
}

// topSample is the state of a source at one moment.
type topSample struct {
	graph *bottle.Graph
	rates text.TopRates
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
	counts  *topCounts // nil before the first
	none    bool       // no counts available
}

func newTopLive(mount *url.URL, seconds float64) *topLive {
	if seconds == 0 {
		seconds = 2
	}
	return &topLive{mount: mount, seconds: seconds}
}

func (s *topLive) label() string            { return s.mount.Redacted() }
func (s *topLive) pace() time.Duration      { return time.Second }
func (s *topLive) regroup() (string, error) { return "", errors.New("the service serves one grouping") }

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
	if s.none {
		return sample, nil
	}
	counts, err := s.count(ctx)
	var status *statusError
	switch {
	case errors.As(err, &status):
		s.none = true // the service has no counters
	case err == nil:
		sample.rates = counts.rates(s.counts)
		s.counts = counts
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

// topCounts holds the counters of a service that top shows.
type topCounts struct {
	contentions   float64
	seen, dropped float64 // in seconds
}

// count reads the service's metrics.
func (s *topLive) count(ctx context.Context) (*topCounts, error) {
	ctx, cancel := context.WithTimeout(ctx, topPatience)
	defer cancel()
	body, err := get(ctx, below(s.mount, "metrics"))
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return parseCounts(io.LimitReader(body, mostJSON))
}

// parseCounts parses the counters of top from the Prometheus text format.
func parseCounts(r io.Reader) (*topCounts, error) {
	c, found := &topCounts{}, false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, labels := lines.Text(), ""
		if i := strings.IndexAny(name, "{ "); i >= 0 {
			name, labels = name[:i], name[i:]
		}
		v, err := strconv.ParseFloat(labels[strings.LastIndexByte(labels, ' ')+1:], 64)
		if err != nil || !(v >= 0) {
			continue
		}
		switch name {
		case "bottleneck_contentions_total":
			if slices.ContainsFunc(lockKinds, func(k contention.Kind) bool { return strings.Contains(labels, `kind="`+string(k)+`"`) }) {
				c.contentions += v
			}
		case "bottleneck_wall_seconds_total":
			c.seen, found = v, true
		case "bottleneck_stream_dropped_seconds_total":
			c.dropped += v
		}
	}
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case !found:
		return nil, &statusError{text: "nothing is counted"}
	}
	return c, nil
}

// rates returns the rates since an earlier count: contentions per traced second.
func (c *topCounts) rates(before *topCounts) text.TopRates {
	r := text.TopRates{Seen: seconds(c.seen), Dropped: seconds(c.dropped), StreamKnown: true}
	// The first, or the service restarted.
	if before == nil || c.seen <= before.seen || c.contentions < before.contentions {
		return r
	}
	r.Contentions, r.ContentionsKnown = (c.contentions-before.contentions)/(c.seen-before.seen), true
	return r
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

// topGroupings are the groupings that g cycles through.
var topGroupings = []bottle.Grouping{bottle.ByFunction, bottle.ByStart, bottle.ByCreator, bottle.ByRegion, bottle.ByTask, bottle.ByGoroutine}

func (s *topTraces) regroup() (string, error) {
	i := slices.IndexFunc(topGroupings, func(g bottle.Grouping) bool { return g.String() == s.opt.Group.String() })
	s.opt.Group = topGroupings[(i+1)%len(topGroupings)]
	return s.opt.Group.String(), nil
}

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
	p := report.Contention.Filter(contention.Filter{Kinds: lockKinds})
	if p.Duration > 0 {
		sample.rates.ContentionsKnown = true
		sample.rates.Contentions = float64(sumOf(p, contentions)) / p.Duration.Seconds()
	}
	sample.note = fmt.Sprintf("Traces of net/http/pprof, of %v each: slower, and dearer for the service.", seconds(s.seconds))
	return sample, nil
}

// topFile is a graph in a file.
type topFile struct {
	name    string
	read    time.Time // modification time of the file that was read
	size    int64
	graphs  []*bottle.Graph // its windows, or the graph itself
	at      int             // the next one to show
	windows int
}

func newTopFile(name string) (topSource, error) {
	s := &topFile{name: name}
	return s, s.refresh()
}

func (s *topFile) label() string       { return s.name }
func (s *topFile) pace() time.Duration { return time.Second }
func (s *topFile) regroup() (string, error) {
	return "", errors.New("the groups of a file are what they are")
}

// refresh reads the file if it has changed.
func (s *topFile) refresh() error {
	st, err := os.Stat(s.name)
	if err != nil {
		return fileError(s.name, err)
	}
	if s.graphs != nil && st.ModTime().Equal(s.read) && st.Size() == s.size {
		return nil
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s: top wants a URL or the JSON of a graph in a regular file, which it reads again when that changes", s.name)
	}
	data, err := os.ReadFile(s.name)
	if err != nil {
		return fileError(s.name, err)
	}
	if !holdsJSON(data[:min(len(data), headLength)]) {
		return fmt.Errorf("%s: top wants a URL or the JSON of a graph; for a trace, run \"bottleneck graph\"", s.name)
	}
	g, err := readSaved(bytes.NewReader(data), s.name, graphKind)
	if err != nil {
		return err
	}
	s.read, s.size, s.at, s.windows = st.ModTime(), st.Size(), 0, len(g.Windows)
	if s.graphs = g.Windows; s.windows == 0 {
		s.graphs = []*bottle.Graph{g}
	}
	return nil
}

func (s *topFile) next(context.Context) (sample topSample, err error) {
	if err := s.refresh(); err != nil {
		return sample, err
	}
	sample.graph = s.graphs[s.at]
	if s.windows > 0 {
		sample.note = fmt.Sprintf("Window %d of %d, from %v on.", s.at+1, s.windows, sample.graph.Start)
	}
	s.at = min(s.at+1, len(s.graphs)-1)
	return sample, nil
}
