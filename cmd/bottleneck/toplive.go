package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// topLive is a service that has mounted package exporters/live.
type topLive struct {
	mount   *url.URL
	seconds float64
	counts  *topCounts // nil before the first
	none    bool       // there are no counts
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

// probe tells whether it is such a service. One that has nothing to tell yet is.
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
		s.none = true // it counts nothing
	case err == nil:
		sample.rates = counts.rates(s.counts)
		s.counts = counts
	}
	return sample, nil
}

// errNoGraph is an answer that is something else.
var errNoGraph = errors.New("the answer is not a bottle graph")

// mostJSON is more than any service sends, in bytes.
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

// topCounts are the counters of a service that top shows.
type topCounts struct {
	contentions   float64
	seen, dropped float64 // seconds
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

// parseCounts reads the text format of Prometheus, as far as it is needed here.
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

// rates are those since an earlier count: contentions in a second that was seen.
func (c *topCounts) rates(before *topCounts) text.TopRates {
	r := text.TopRates{Seen: seconds(c.seen), Dropped: seconds(c.dropped), StreamKnown: true}
	if before == nil || c.seen <= before.seen || c.contentions < before.contentions { // the first, or the service began anew
		return r
	}
	r.Contentions, r.ContentionsKnown = (c.contentions-before.contentions)/(c.seen-before.seen), true
	return r
}

func seconds(s float64) time.Duration { return time.Duration(min(s, 1e9) * float64(time.Second)) }
