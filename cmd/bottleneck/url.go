package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// patienceURL is how long a server may send nothing, beyond the seconds that it was
// asked to trace.
var patienceURL = time.Minute

// urlInput is a trace that a server sends, such as net/http/pprof's
// /debug/pprof/trace?seconds=5. It is read as it arrives.
func urlInput(u *url.URL) *input {
	in := &input{label: u.Redacted()}
	seconds := secondsOf(u)
	in.open = func(ctx context.Context, cancel context.CancelCauseFunc) (io.ReadCloser, error) {
		limit := seconds + patienceURL
		idle := time.AfterFunc(limit, func() {
			cancel(fmt.Errorf("%s: the server has sent nothing for %v", in.label, limit.Round(time.Second)))
		})
		resp, err := fetch(ctx, u)
		if err != nil {
			idle.Stop()
			return nil, urlError(ctx, in.label, err)
		}
		if in.answered != nil {
			in.answered(resp.Header)
		}
		return &download{body: resp.Body, meter: &in.meter, idle: idle, limit: limit}, nil
	}
	in.progress = func(since time.Duration) string {
		s := "fetching " + in.label
		if seconds > 0 && since < seconds+time.Second {
			s += fmt.Sprintf(": tracing, %.0f of %.0f s", min(since, seconds).Seconds(), seconds.Seconds())
		}
		if n := in.meter.done.Load(); n > 0 {
			s += ", " + bytesOf(n)
		}
		return s
	}
	return in
}

// secondsOf is how long the server traces before it is done.
func secondsOf(u *url.URL) time.Duration {
	s, err := strconv.ParseFloat(u.Query().Get("seconds"), 64)
	if err != nil || !(s > 0 && s < 1e6) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// get is fetch without the headers.
func get(ctx context.Context, u *url.URL) (io.ReadCloser, error) {
	resp, err := fetch(ctx, u)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// fetch asks for a trace and refuses answers that cannot be one.
func fetch(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := client(req).Do(req)
	if err != nil {
		return nil, err
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode != http.StatusOK:
		err = &statusError{resp.StatusCode, "the server answers " + resp.Status + explanation(resp.Body, media)}
		if resp.StatusCode == http.StatusUnauthorized && resp.Header.Get("WWW-Authenticate") == `Bearer realm="bottleneck"` {
			err = &statusError{resp.StatusCode, "the server answers " + resp.Status + ": a token is needed, or another one; use -token-file FILE"}
		}
	case media == "text/html":
		err = errors.New("the server answers with an HTML page, not a trace" + hint(u))
	default:
		return resp, nil
	}
	resp.Body.Close()
	return nil, err
}

// statusError is an answer that is none.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// explanation is the first line of an error's body, when it is plain text:
// net/http/pprof says there what is wrong.
func explanation(body io.Reader, media string) string {
	if media != "text/plain" {
		return ""
	}
	line, _ := bufio.NewReader(io.LimitReader(body, 300)).ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		return ""
	}
	return ": " + line
}

// hint tells somebody who gave the address of the service only where its trace is.
func hint(u *url.URL) string {
	if strings.Contains(u.Path, "trace") {
		return ""
	}
	return "; net/http/pprof serves traces at /debug/pprof/trace?seconds=5"
}

// urlError puts the URL once, and without its password, before what went wrong.
func urlError(ctx context.Context, label string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return fmt.Errorf("%s: %w", label, err)
}

var errBrokeOff = errors.New("the connection broke off")

// download is the body of an answer, counted and watched.
type download struct {
	body  io.ReadCloser
	meter *meter
	idle  *time.Timer
	limit time.Duration
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	d.meter.done.Add(int64(n))
	if n > 0 {
		d.idle.Reset(d.limit)
	}
	if err == io.ErrUnexpectedEOF {
		err = errBrokeOff // "unexpected EOF" says that to few people
	}
	return n, err
}

func (d *download) Close() error {
	d.idle.Stop()
	return d.body.Close()
}
