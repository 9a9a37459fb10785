package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// topSource is where top has its graphs from. Its methods are called by one goroutine at a time.
type topSource interface {
	// label names it.
	label() string
	// pace is the interval if nobody asks for another.
	pace() time.Duration
	// next returns the graph of this moment.
	next(ctx context.Context) (topSample, error)
	// regroup changes to the next grouping and returns its name, or says why there is none.
	regroup() (string, error)
}

// topSample is what a source knows at one moment.
type topSample struct {
	graph *bottle.Graph
	rates text.TopRates
	note  string
}

// topPatience is how long top waits for an answer, beyond the time that a trace takes.
const topPatience = 15 * time.Second

// findService asks a service what it has mounted. The URL may be that of the service itself.
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
	if at == "" && ctx.Err() == nil && answered(first) { // the usual places
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

// answered tells that there is a server, and only the path is wrong.
func answered(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.status == http.StatusNotFound || errors.Is(err, errNoGraph)
}

func withPath(u *url.URL, path string) *url.URL {
	out := *u
	out.Path, out.RawPath, out.Fragment = path, "", ""
	return &out
}

// below is a URL below a mount point, with parameters added to those that the user gave.
func below(mount *url.URL, name string, parameters ...string) *url.URL {
	out := withPath(mount, path.Join("/", mount.Path, name))
	q := out.Query()
	for i := 0; i+1 < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	out.RawQuery = q.Encode()
	return out
}

// causeOf is an error without the URL, which stands above it.
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
