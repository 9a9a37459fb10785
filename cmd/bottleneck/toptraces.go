package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
)

// topTraces is a service with net/http/pprof: top takes traces and reads them itself.
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

// topGroupings are what g goes through.
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
		sample.rates.Contentions = float64(sumContention(p).contentions) / p.Duration.Seconds()
	}
	sample.note = fmt.Sprintf("Traces of net/http/pprof, of %v each: slower, and dearer for the service.", seconds(s.seconds))
	return sample, nil
}
