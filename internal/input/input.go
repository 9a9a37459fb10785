// Package input opens what a command reads: a file, a URL or standard input.
package input

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
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/background"
	"github.com/bottleneck-go/bottleneck/internal/flags"
	"github.com/bottleneck-go/bottleneck/internal/memory"
	"github.com/bottleneck-go/bottleneck/result"
)

// Source is the source of a trace: a file, a URL or standard input.
type Source struct {
	Label string // name in errors and pictures
	meter meter
	// Decoded is called with the number of bytes processed, and the total; nil if Open counts.
	Decoded func(done, size int64)
	Open    func(ctx context.Context, cancel context.CancelCauseFunc) (io.ReadCloser, error)
	// Archives makes OpenTrace pass an archive of counters, rather than the trace in it.
	Archives bool
	// Answered, if not nil, is called with the headers of a server's answer.
	Answered func(http.Header)
	// progress returns the progress line, given the time since reading began.
	progress func(time.Duration) string
}

// Progress shows what say returns until stop is called.
type Progress func(say func(since time.Duration) string) (stop func())

// Read opens and reads an input that begins with head. With an error, the result may be that of the
// part that could be read.
func Read[P any](ctx context.Context, progress Progress, in *Source, read func(ctx context.Context, r io.Reader, head []byte) (P, error)) (P, error) {
	opened, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer progress(in.progress)()
	r, from, head, err := in.OpenTrace(opened, cancel)
	if err != nil {
		var none P
		return none, Reading(err)
	}
	defer r.Close()
	if HoldsJSON(head) {
		from = Saved(ctx, from)
	}
	p, err := read(opened, from, head)
	if err != nil && opened.Err() != nil && ctx.Err() == nil {
		// Such as a server that sends nothing, which read does not notice.
		err = context.Cause(opened)
	}
	return p, Reading(err)
}

// OpenTrace opens an input, or the trace in an archive of counters, and returns its beginning.
func (in *Source) OpenTrace(ctx context.Context, cancel context.CancelCauseFunc) (r io.ReadCloser, from io.Reader, head []byte, err error) {
	if r, err = in.Open(ctx, cancel); err != nil {
		return nil, nil, nil, err
	}
	if from, head = Peek(r); in.Archives || !quanta.IsArchive(head) {
		return r, from, head, nil
	}
	at, size, err := Seekable(from)
	if err == nil {
		from, err = quanta.TraceIn(at, size)
	}
	if err != nil {
		r.Close()
		return nil, nil, nil, FileError(in.Label, err)
	}
	from, head = Peek(from)
	return r, from, head, nil
}

// Reading returns an error with "reading " before each line, except for usage errors.
func Reading(err error) error {
	var usage *flags.Misuse
	if err == nil || errors.As(err, &usage) {
		return err
	}
	parts := Flatten(err)
	for i := range parts {
		parts[i] = fmt.Errorf("reading %w", parts[i])
	}
	return errors.Join(parts...)
}

// headLength is the number of bytes needed to recognize an input.
const headLength = 512

// Peek returns the first bytes of a reader, and a reader of all of it. For a file, that is the file
// itself, which supports random access.
func Peek(r io.Reader) (all io.Reader, head []byte) {
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

// HoldsJSON reports whether an input that begins with head is JSON.
func HoldsJSON(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{"))
}

// IsURL reports whether an argument is a URL rather than the name of a file.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// Find returns the input for an argument; "" and "-" are stdin. It reads nothing.
func Find(stdin io.Reader, arg string) (*Source, error) {
	switch {
	case arg == "-":
		return Stdin(stdin), nil
	case arg == "":
		if f, ok := stdin.(*os.File); stdin == nil || ok && !feeds(f) {
			return nil, flags.Errorf("no input: want a FILE, a URL, or data on standard input")
		}
		return Stdin(stdin), nil
	case IsURL(arg):
		u, err := url.Parse(arg)
		if err != nil || u.Host == "" {
			return nil, flags.Errorf("%q is not a URL", arg)
		}
		return URL(u), nil
	}
	return File(arg), nil
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
func newInput(label string, open func(ctx context.Context) (io.ReadCloser, error)) *Source {
	in := &Source{Label: label}
	in.Decoded = in.meter.decoded
	in.Open = func(ctx context.Context, _ context.CancelCauseFunc) (io.ReadCloser, error) { return open(ctx) }
	in.progress = func(time.Duration) string { return "reading " + label + in.meter.String() }
	return in
}

// File returns the input from a file, which may be a pipe.
func File(name string) *Source {
	return newInput(name, func(ctx context.Context) (io.ReadCloser, error) {
		f, err := os.Open(name)
		if err != nil && Address.MatchString(name) {
			return nil, fmt.Errorf("%w; a URL begins with http://", FileError(name, err))
		}
		if err != nil {
			return nil, FileError(name, err)
		}
		switch st, err := f.Stat(); {
		case err != nil:
			f.Close()
			return nil, FileError(name, err)
		case st.IsDir():
			f.Close()
			return nil, fmt.Errorf("%s: is a directory", name)
		case st.Mode().IsRegular():
			return f, nil
		}
		return interruptible(ctx, f), nil
	})
}

// Address is the beginning of a URL without a scheme, such as localhost:6060/trace.
var Address = regexp.MustCompile(`^[\w.-]+:\d+(/|$)`)

// Stdin returns the input from standard input.
func Stdin(r io.Reader) *Source {
	return newInput("standard input", func(ctx context.Context) (io.ReadCloser, error) {
		if f, ok := r.(*os.File); ok {
			if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
				return f, nil
			}
		}
		return interruptible(ctx, io.NopCloser(r)), nil
	})
}

// FileError returns the error of a file with its name, without the system call.
func FileError(name string, err error) error {
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
	background.Go(func() {
		defer stop()
		defer from.Close()
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	})
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
		return fmt.Sprintf(": %d%% of %s", min(100, 100*done/size), Bytes(size))
	}
	return ": " + Bytes(done)
}

// Bytes formats a number of bytes.
func Bytes(n int64) string { return result.Bytes.Format(result.Int(n)) }

// Patience is how long a server may send nothing, in addition to the time of a trace.
var Patience = time.Minute

// URL is a trace from a server, which is read as it arrives.
func URL(u *url.URL) *Source {
	in := &Source{Label: u.Redacted()}
	seconds := secondsOf(u)
	in.Open = func(ctx context.Context, cancel context.CancelCauseFunc) (io.ReadCloser, error) {
		limit := seconds + Patience
		idle := time.AfterFunc(limit, func() {
			cancel(fmt.Errorf("%s: the server has sent nothing for %v", in.Label, limit.Round(time.Second)))
		})
		resp, err := Fetch(ctx, u)
		if err != nil {
			idle.Stop()
			return nil, urlError(ctx, in.Label, err)
		}
		if in.Answered != nil {
			in.Answered(resp.Header)
		}
		return &download{body: resp.Body, meter: &in.meter, idle: idle, limit: limit}, nil
	}
	in.progress = func(since time.Duration) string {
		s := "fetching " + in.Label
		if seconds > 0 && since < seconds+time.Second {
			s += fmt.Sprintf(": tracing, %.0f of %.0f s", min(since, seconds).Seconds(), seconds.Seconds())
		}
		if n := in.meter.done.Load(); n > 0 {
			s += ", " + Bytes(n)
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

// Fetch requests a trace and rejects answers that cannot be one.
func Fetch(ctx context.Context, u *url.URL) (*http.Response, error) {
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
		err = &StatusError{resp.StatusCode, "the server answers " + resp.Status + explanation(resp.Body, media)}
		if resp.StatusCode == http.StatusUnauthorized && resp.Header.Get("WWW-Authenticate") == `Bearer realm="bottleneck"` {
			err = &StatusError{resp.StatusCode, "the server answers " + resp.Status + ": a token is needed, or another one; use -token-file FILE"}
		}
	case media == "text/html":
		err = errors.New("the server answers with an HTML page, not a trace" + hint(u))
	default:
		return resp, nil
	}
	resp.Body.Close()
	return nil, err
}

// StatusError is an answer with an error status.
type StatusError struct {
	Status int
	text   string
}

func (e *StatusError) Error() string { return e.text }

// explanation returns the first line of an error's body if it is plain text.
func explanation(body io.Reader, media string) string {
	if media != "text/plain" {
		return ""
	}
	line, _ := bufio.NewReader(io.LimitReader(body, 300)).ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		return ""
	}
	if strings.HasPrefix(line, "Could not enable tracing") { // of net/http/pprof
		line += "; another trace of that program is being taken: try again"
	}
	return ": " + line
}

// hint returns the end of an error for the URL of a service that is not the URL of its trace.
func hint(u *url.URL) string {
	if strings.Contains(u.Path, "trace") {
		return ""
	}
	return "; net/http/pprof serves traces at /debug/pprof/trace?seconds=5, and exporters/live at trace, below its index"
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

// Credentials holds headers for each request of a command.
type Credentials struct {
	Header http.Header
	Token  string // file with the token
}

// Add adds a header, "NAME: VALUE".
func (c *Credentials) Add(line string) error {
	name, value, ok := strings.Cut(line, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || strings.ContainsAny(line, "\r\n") || strings.ContainsAny(name, " \t\"(),/;<=>?@[\\]{}") {
		return flags.Errorf("-header: want 'NAME: VALUE'") // the value may be a secret
	}
	c.Header.Add(name, value)
	return nil
}

type credentialsKey struct{}

// Of returns a context whose requests carry the credentials.
func (c *Credentials) Of(ctx context.Context) (context.Context, error) {
	if c.Token != "" {
		data, err := os.ReadFile(c.Token)
		if err != nil {
			return nil, fmt.Errorf("-token-file: %w", FileError(c.Token, err))
		}
		token := strings.TrimSpace(string(data))
		if token == "" || strings.ContainsAny(token, "\r\n") {
			return nil, flags.Errorf("-token-file %s: want a token on one line", c.Token)
		}
		c.Header.Set("Authorization", "Bearer "+token)
	}
	return context.WithValue(ctx, credentialsKey{}, c), nil
}

// client sends requests with the credentials of a context, which it does not send to other hosts.
func client(req *http.Request) *http.Client {
	c, _ := req.Context().Value(credentialsKey{}).(*Credentials)
	if c == nil || len(c.Header) == 0 {
		return http.DefaultClient
	}
	for name, values := range c.Header {
		req.Header[name] = slices.Clone(values)
	}
	if host := c.Header.Get("Host"); host != "" {
		req.Host = host
	}
	host := req.URL.Host
	return &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Host != host {
			for name := range c.Header {
				next.Header.Del(name)
			}
		}
		if len(via) >= 10 {
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}}
}

// Saved limits the size of a saved result, which takes about eight times its bytes in memory.
func Saved(ctx context.Context, r io.Reader) io.Reader {
	limit := memory.Limit(ctx, 0)
	return &savedReader{r: r, left: limit / 8, err: fmt.Errorf("%w: it is longer than %s, and the limit is %s; raise it with -memory",
		memory.ErrLimit, memory.Text(limit/8), memory.Text(limit))}
}

type savedReader struct {
	r    io.Reader
	left int64
	err  error
}

func (s *savedReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return 0, s.err
	}
	return n, err
}

type seeker interface {
	io.ReadSeeker
	io.ReaderAt
}

// Seekable returns a reader that can be read several times: the file itself, or a copy in memory.
func Seekable(from io.Reader) (seeker, int64, error) {
	if f, ok := from.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			return f, st.Size(), nil
		}
	}
	data, err := io.ReadAll(from)
	return bytes.NewReader(data), int64(len(data)), err
}

// Mount returns the URL of the handlers that serve a page, and whether it is net/http/pprof.
func Mount(u *url.URL, page string) (mount *url.URL, pprof bool) {
	at := strings.TrimRight(u.Path, "/")
	if before, _, found := strings.Cut(at+"/", "/debug/pprof/"); found {
		return withPath(u, before+"/debug/pprof/"), true
	}
	return withPath(u, strings.TrimSuffix(at, page)+"/"), false
}

func withPath(u *url.URL, path string) *url.URL {
	out := *u
	out.Path, out.RawPath, out.Fragment = path, "", ""
	return &out
}

// Below returns a URL below a mount point, with parameters added to those of the user.
func Below(mount *url.URL, name string, parameters ...string) *url.URL {
	out := withPath(mount, path.Join("/", mount.Path, name))
	q := out.Query()
	for i := 0; i+1 < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	out.RawQuery = q.Encode()
	return out
}

// Seconds returns a duration.
func Seconds(s float64) time.Duration { return time.Duration(min(s, 1e9) * float64(time.Second)) }

// FormatSeconds formats the parameter of a URL.
func FormatSeconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// Flatten returns the parts of joined errors.
func Flatten(err error) (parts []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		parts = append(parts, Flatten(e)...)
	}
	return parts
}

// Short returns the name of a trace in pictures: a URL, or a file without directories.
func Short(label string) string {
	if strings.Contains(label, "://") {
		return label
	}
	return filepath.Base(label)
}
