package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/result"
)

// input is the source of a trace: a file, a URL or standard input.
type input struct {
	label string // name in errors and pictures
	meter meter
	// decoded is called with the number of bytes processed, and the total; nil if open counts.
	decoded func(done, size int64)
	open    func(ctx context.Context, cancel context.CancelCauseFunc) (io.ReadCloser, error)
	// archives makes openTrace pass an archive of counters, rather than the trace in it.
	archives bool
	// answered, if not nil, is called with the headers of a server's answer.
	answered func(http.Header)
	// progress returns the progress line, given the time since reading began.
	progress func(time.Duration) string
}

// readInput opens and reads an input that begins with head, with progress on a terminal. With an
// error, the result may be that of the part that could be read.
func readInput[P any](ctx context.Context, std stdio, in *input, read func(ctx context.Context, r io.Reader, head []byte) (P, error)) (P, error) {
	opened, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer startProgress(std.err, in.progress)()
	r, from, head, err := in.openTrace(opened, cancel)
	if err != nil {
		var none P
		return none, reading(err)
	}
	defer r.Close()
	if holdsJSON(head) {
		from = savedInput(ctx, from)
	}
	p, err := read(opened, from, head)
	if err != nil && opened.Err() != nil && ctx.Err() == nil {
		// Such as a server that sends nothing, which read does not notice.
		err = context.Cause(opened)
	}
	return p, reading(err)
}

// openTrace opens an input, or the trace in an archive of counters, and returns its beginning.
func (in *input) openTrace(ctx context.Context, cancel context.CancelCauseFunc) (r io.ReadCloser, from io.Reader, head []byte, err error) {
	if r, err = in.open(ctx, cancel); err != nil {
		return nil, nil, nil, err
	}
	if from, head = peek(r); in.archives || !quanta.IsArchive(head) {
		return r, from, head, nil
	}
	at, size, err := seekable(from)
	if err == nil {
		from, err = quanta.TraceIn(at, size)
	}
	if err != nil {
		r.Close()
		return nil, nil, nil, fileError(in.label, err)
	}
	from, head = peek(from)
	return r, from, head, nil
}

// reading returns an error with "reading " before each line, except for usage errors.
func reading(err error) error {
	var usage *usageError
	if err == nil || errors.As(err, &usage) {
		return err
	}
	parts := flatten(err)
	for i := range parts {
		parts[i] = fmt.Errorf("reading %w", parts[i])
	}
	return errors.Join(parts...)
}

// headLength is the number of bytes needed to recognize an input.
const headLength = 512

// peek returns the first bytes of a reader, and a reader of all of it. For a file, that is the file
// itself, which supports random access.
func peek(r io.Reader) (all io.Reader, head []byte) {
	f, ok := r.(*os.File)
	if ok {
		at, err := f.Seek(0, io.SeekCurrent)
		ok = err == nil && at == 0
	}
	buf := bufio.NewReaderSize(r, 1<<16)
	head, _ = buf.Peek(headLength) // the next read returns the error, too
	if ok {
		if _, err := f.Seek(0, io.SeekStart); err == nil {
			return f, head
		}
	}
	return buf, head
}

// holdsJSON reports whether an input that begins with head is JSON.
func holdsJSON(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{"))
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// oneInput returns the input of a command that reads one: the argument, or standard input.
func oneInput(std stdio, args []string) (*input, error) {
	switch len(args) {
	case 0:
		return findInput(std, "")
	case 1:
		return findInput(std, args[0])
	}
	return nil, usagef("more than one input: %q and %q", args[0], args[1])
}

// onceStdin rejects arguments that name standard input twice.
func onceStdin(args []string) error {
	if at := slices.Index(args, "-"); at >= 0 && slices.Contains(args[at+1:], "-") {
		return usagef("standard input is named twice")
	}
	return nil
}

// findInput returns the input for an argument. It reads nothing.
func findInput(std stdio, arg string) (*input, error) {
	switch {
	case arg == "-":
		return stdinInput(std.in), nil
	case arg == "":
		if f, ok := std.in.(*os.File); std.in == nil || ok && !feeds(f) {
			return nil, usagef("no input: want a FILE, a URL, or data on standard input")
		}
		return stdinInput(std.in), nil
	case isURL(arg):
		u, err := url.Parse(arg)
		if err != nil || u.Host == "" {
			return nil, usagef("%q is not a URL", arg)
		}
		return urlInput(u), nil
	}
	return fileInput(arg), nil
}

// feeds reports whether standard input may contain a trace: it is neither a terminal nor the null
// device, which daemons and cron pass to their children.
func feeds(f *os.File) bool {
	if term.IsTerminal(int(f.Fd())) {
		return false
	}
	st, err := f.Stat()
	if err != nil {
		return false // closed
	}
	if st.Mode()&os.ModeNamedPipe != 0 {
		return true // Windows cannot distinguish a pipe and the null device
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(st, null)
}

// newInput returns an input that open opens.
func newInput(label string, open func(ctx context.Context) (io.ReadCloser, error)) *input {
	in := &input{label: label}
	in.decoded = in.meter.decoded
	in.open = func(ctx context.Context, _ context.CancelCauseFunc) (io.ReadCloser, error) { return open(ctx) }
	in.progress = func(time.Duration) string { return "reading " + label + in.meter.String() }
	return in
}

func fileInput(name string) *input {
	return newInput(name, func(ctx context.Context) (io.ReadCloser, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, fileError(name, err)
		}
		switch st, err := f.Stat(); {
		case err != nil:
			f.Close()
			return nil, fileError(name, err)
		case st.IsDir():
			f.Close()
			return nil, fmt.Errorf("%s: is a directory", name)
		case st.Mode().IsRegular():
			return f, nil
		}
		return interruptible(ctx, f), nil
	})
}

func stdinInput(r io.Reader) *input {
	return newInput("standard input", func(ctx context.Context) (io.ReadCloser, error) {
		if f, ok := r.(*os.File); ok {
			if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
				return f, nil
			}
		}
		return interruptible(ctx, io.NopCloser(r)), nil
	})
}

// fileError returns the error of a file with its name, without the system call.
func fileError(name string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// interruptible returns a reader of a pipe or a terminal whose reads end when the context ends. A
// read in progress cannot be canceled: it continues in the background.
func interruptible(ctx context.Context, from io.ReadCloser) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		defer from.Close()
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	return r
}

// meter counts the bytes processed, for the progress line.
type meter struct{ done, size atomic.Int64 }

func (m *meter) decoded(done, size int64) {
	m.done.Store(done)
	m.size.Store(size)
}

// String returns "", or a text that begins with a colon.
func (m *meter) String() string {
	done, size := m.done.Load(), m.size.Load()
	switch {
	case done == 0:
		return ""
	case size > 0:
		return fmt.Sprintf(": %d%% of %s", min(100, 100*done/size), bytesOf(size))
	}
	return ": " + bytesOf(done)
}

// bytesOf formats a number of bytes.
func bytesOf(n int64) string { return result.Bytes.Format(result.Int(n)) }

// patienceURL is how long a server may send nothing, in addition to the time of a trace.
var patienceURL = time.Minute

// urlInput is a trace from a server, which is read as it arrives.
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

// secondsOf returns how long the server traces before the answer is complete.
func secondsOf(u *url.URL) time.Duration {
	s, err := strconv.ParseFloat(u.Query().Get("seconds"), 64)
	if err != nil || !(s > 0 && s < 1e6) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// fetch requests a trace and rejects answers that cannot be one.
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

// statusError is an answer with an error status.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// explanation returns the first line of an error's body if it is plain text.
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

// hint returns the end of an error for the URL of a service that is not the URL of its trace.
func hint(u *url.URL) string {
	if strings.Contains(u.Path, "trace") {
		return ""
	}
	return "; net/http/pprof serves traces at /debug/pprof/trace?seconds=5"
}

// urlError puts the URL, without its password, once before the error.
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

// download is the body of an answer, counted and monitored.
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
		err = errBrokeOff // clearer than "unexpected EOF"
	}
	return n, err
}

func (d *download) Close() error {
	d.idle.Stop()
	return d.body.Close()
}

// credentials holds headers for each request of a command.
type credentials struct {
	header http.Header
	token  string // file with the token
}

// urls adds the flags of a command that reads URLs.
func (a *app) urls(c *cobra.Command) {
	a.credentials.header = http.Header{}
	c.Flags().Func("header", "send the header `'NAME: VALUE'` with each request, except to other hosts after a redirect; may be repeated", a.credentials.add)
	c.Flags().StringVar(&a.credentials.token, "token-file", "", "send \"Authorization: Bearer TOKEN\" with the token in `FILE`, for exporters/live with a token")
}

func (c *credentials) add(line string) error {
	name, value, ok := strings.Cut(line, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || strings.ContainsAny(line, "\r\n") || strings.ContainsAny(name, " \t\"(),/;<=>?@[\\]{}") {
		return usagef("-header: want 'NAME: VALUE'") // the value may be a secret
	}
	c.header.Add(name, value)
	return nil
}

type credentialsKey struct{}

// of returns a context whose requests carry the credentials.
func (c *credentials) of(ctx context.Context) (context.Context, error) {
	if c.token != "" {
		data, err := os.ReadFile(c.token)
		if err != nil {
			return nil, fmt.Errorf("-token-file: %w", fileError(c.token, err))
		}
		token := strings.TrimSpace(string(data))
		if token == "" || strings.ContainsAny(token, "\r\n") {
			return nil, usagef("-token-file %s: want a token on one line", c.token)
		}
		c.header.Set("Authorization", "Bearer "+token)
	}
	return context.WithValue(ctx, credentialsKey{}, c), nil
}

// client sends requests with the credentials of a context, which it does not send to other hosts.
func client(req *http.Request) *http.Client {
	c, _ := req.Context().Value(credentialsKey{}).(*credentials)
	if c == nil || len(c.header) == 0 {
		return http.DefaultClient
	}
	for name, values := range c.header {
		req.Header[name] = slices.Clone(values)
	}
	if host := c.header.Get("Host"); host != "" {
		req.Host = host
	}
	host := req.URL.Host
	return &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Host != host {
			for name := range c.header {
				next.Header.Del(name)
			}
		}
		if len(via) >= 10 {
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}}
}
