package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/memory"
)

// recording is a trace on its way from a service into files.
type recording struct {
	flags  *recordFlags
	traces []string      // files for the trace
	graph  destination   // files for its graph
	keeps  time.Duration // the time that the service's recorder keeps; 0 if it is not known
}

func newRecording(f *recordFlags) *recording {
	r := &recording{flags: f, graph: destination{can: formsIn(graphForms.has)}}
	r.graph.draw.source = f.source.Redacted()
	for _, name := range f.outputs {
		if r.graph.can.formOf(name) == "" {
			r.traces = append(r.traces, name)
		} else {
			r.graph.outputs = append(r.graph.outputs, name)
		}
	}
	return r
}

// check finds out before anything is recorded whether the files can be written.
func (r *recording) check() error {
	for _, name := range r.flags.outputs {
		st, err := os.Stat(name)
		switch {
		case err == nil && st.Mode().IsRegular() && !r.flags.force:
			return fmt.Errorf("%s: there is such a file; -force replaces it", name)
		case err == nil && !st.Mode().IsRegular() && len(r.flags.outputs) > 1 && len(r.traces) > 0 && name == r.traces[0]:
			return usagef("-o %s: it is no regular file, so it can be the only one", name)
		}
		if err := checkFile(name); err != nil {
			return err
		}
	}
	return nil
}

// store writes the trace as it comes, and then what is made of it. What has come is worth keeping
// even when the rest does not come: nothing can be recorded a second time.
func (r *recording) store(ctx context.Context, std stdio) error {
	t, err := createTemp(r.traces[0])
	if err != nil {
		return err
	}
	defer t.discard()
	in := urlInput(r.flags.traceURL())
	in.answered = func(h http.Header) { r.keeps, _ = time.ParseDuration(h.Get("Bottleneck-Window")) }
	n, broken := readInput(ctx, std, in, func(_ context.Context, from io.Reader, head []byte) (int64, error) {
		if !mayBeTrace(head) {
			return 0, fmt.Errorf("%s: the answer is not an execution trace", in.label)
		}
		return copyTrace(t, from, in.label, r.flags.maxSize)
	})
	if n == 0 && broken == nil {
		broken = fmt.Errorf("%s: the server sends nothing", in.label)
	}
	if n == 0 {
		return hinted(broken)
	}
	if err := t.commit(); err != nil {
		return errors.Join(broken, err)
	}
	if broken != nil {
		broken = fmt.Errorf("%w; what had come is kept: %s in %s", broken, bytesOf(n), r.traces[0])
		if ctx.Err() != nil {
			fmt.Fprintf(std.err, "bottleneck: kept %s of the trace in %s\n", bytesOf(n), oneLine(r.traces[0]))
			return broken
		}
	} else if _, terminal := terminalOf(std.err); terminal {
		fmt.Fprintf(std.err, "Wrote %s, %s.\n", oneLine(r.traces[0]), bytesOf(n))
	}
	if asked := seconds(r.flags.seconds); r.keeps > 0 && r.keeps < asked {
		fmt.Fprintf(std.err, "bottleneck: the service keeps the last %v only: %v are not in %s\n", r.keeps, asked-r.keeps, oneLine(r.traces[0]))
	}
	return errors.Join(broken, r.use(ctx, std))
}

// hinted tells somebody who gave another path of the service what is wanted.
func hinted(err error) error {
	var status *statusError
	if errors.As(err, &status) && status.status == http.StatusNotFound {
		return fmt.Errorf("%w; give the URL where the service has mounted exporters/live, or that of /debug/pprof/", err)
	}
	return err
}

// mayBeTrace reports whether an answer begins like a trace, packed or not; so does an empty one, or
// one that breaks off at once.
func mayBeTrace(head []byte) bool {
	for _, magic := range []string{"go 1.", "\x1f\x8b", "\x28\xb5\x2f\xfd"} {
		if n := min(len(head), len(magic)); string(head[:n]) == magic[:n] {
			return true
		}
	}
	return false
}

// copyTrace copies what comes. Errors of the two sides are told apart.
func copyTrace(t *temp, from io.Reader, label string, most int64) (n int64, err error) {
	buf := make([]byte, 1<<16)
	for {
		m, readErr := from.Read(buf)
		if n+int64(m) > most {
			return n, fmt.Errorf("%s: the trace is longer than %s; raise the limit with -max-size", label, memory.Text(most))
		}
		if m > 0 {
			if _, err := t.file.Write(buf[:m]); err != nil {
				return n, writeError(t.name, err)
			}
			n += int64(m)
		}
		switch {
		case readErr == io.EOF:
			return n, nil
		case readErr != nil:
			return n, fmt.Errorf("%s: %w", label, readErr)
		}
	}
}

// use makes the other files from the first one.
func (r *recording) use(ctx context.Context, std stdio) error {
	var errs []error
	for _, name := range r.traces[1:] {
		errs = append(errs, copyFile(name, r.traces[0]))
	}
	if len(r.graph.outputs) == 0 {
		return errors.Join(errs...)
	}
	g, err := readGraph(ctx, std, fileInput(r.traces[0]), bottle.Options{})
	if errs = append(errs, err); g != nil {
		errs = append(errs, r.draw(std, g))
	}
	return errors.Join(errs...)
}

func copyFile(name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return fileError(from, err)
	}
	defer f.Close()
	return writeFile(name, func(w io.Writer) error { _, err := io.Copy(w, f); return err })
}

// draw writes the forms of the graph.
func (r *recording) draw(std stdio, g *bottle.Graph) error {
	return r.graph.write(std, func(w io.Writer, form string, d drawing) error { return graphForms[form](w, g, d) })
}

// fetchGraph asks a service that sends no traces for its graph.
func (r *recording) fetchGraph(ctx context.Context, std stdio) (*bottle.Graph, error) {
	p := startProgress(std.err, func(time.Duration) string { return "asking " + r.flags.source.Redacted() })
	defer p.stop()
	g, err := newTopLive(r.flags.mount(), r.flags.seconds).graph(ctx)
	if err != nil {
		return nil, urlError(ctx, r.flags.source.Redacted(), err)
	}
	return g, nil
}
