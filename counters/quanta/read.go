package quanta

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Read returns the recording of the execution trace in r: a file, a stream or the bytes of a flight
// recorder, possibly compressed with gzip or zstd. It contains the counters of the trace itself;
// see [Observer].
//
// If the trace is truncated or damaged, Read returns the recording of the readable part, with a
// warning, and an error (a *[timeline.Error]). The recording is nil only if nothing could be read,
// or if it has too many quanta.
func Read(ctx context.Context, r io.Reader, opt Options, observers ...timeline.Observer) (*Recording, error) {
	return NewObserver(opt).read(ctx, r, observers)
}

func (o *Observer) read(ctx context.Context, r io.Reader, observers []timeline.Observer) (*Recording, error) {
	info, err := timeline.Read(ctx, r, timeline.Options{Name: o.opt.Name, Progress: o.opt.Progress, MaxMemory: o.opt.MaxMemory}, append(observers, o)...)
	if info.Generations == 0 {
		return nil, err
	}
	rec, tooMany := o.Recording()
	if tooMany != nil {
		return nil, tooMany
	}
	rec.Warnings = append(rec.Warnings, info.Warnings(err)...)
	return rec, err
}

// readJoined makes a recording of a trace and samples, which are nil if nothing was counted.
func readJoined(ctx context.Context, trace, samples io.Reader, m *archive.Meta, opt Options, observers []timeline.Observer) (*Recording, error) {
	o := NewObserver(opt)
	r, err := o.read(ctx, trace, observers)
	if r == nil {
		return nil, err
	}
	if r.Start.IsZero() {
		r.Start = m.Start
	}
	addMetrics(r, m.MetricNames, m.Metrics)
	r.Warnings = append(r.Warnings, m.Warnings...)
	if samples == nil {
		return r, err
	}
	s, serr := archive.ReadSamples(samples, m)
	if serr != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("The records of events could not be read to their end: %v.", serr))
		err = errors.Join(err, serr)
	}
	newJoiner(r, o.zero(), m).join(s)
	return r, err
}

// zero returns the monotonic clock at the beginning of the trace. Traces before Go 1.25 do not
// contain it, but their own clock is the same on Linux.
func (o *Observer) zero() int64 {
	if o.anchored {
		return o.mono
	}
	return int64(o.begin)
}

// maxSamples bounds the size of unpacked samples. No recording is that large, but a malicious file
// might be.
const maxSamples = 64 << 30

// IsArchive reports whether a file that begins with head may be an archive.
func IsArchive(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

// Stop ends a recording with the function that counters.Start returned, and returns it as a table.
// The error, if any, describes what is missing from it.
func Stop(ctx context.Context, stop func(io.Writer) error, opt Options) (*Recording, error) {
	var b bytes.Buffer
	err := stop(&b)
	if b.Len() == 0 {
		return nil, err
	}
	rec, rerr := ReadArchiveAt(ctx, bytes.NewReader(b.Bytes()), int64(b.Len()), opt)
	return rec, errors.Join(err, rerr)
}

// ReadFile returns the recording in a file: an execution trace, or an archive written by
// "bottleneck record -counters" or counters.Start. See [Read] and [ReadArchiveAt].
func ReadFile(ctx context.Context, name string, opt Options, observers ...timeline.Observer) (*Recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opt.Name = cmp.Or(opt.Name, name)
	head := make([]byte, 4)
	if n, _ := f.ReadAt(head, 0); !IsArchive(head[:n]) {
		return Read(ctx, f, opt, observers...)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return ReadArchiveAt(ctx, f, st.Size(), opt, observers...)
}

// ReadArchiveAt returns the recording in an open archive of the given size. As with [Read], if the
// trace or the samples cannot be read to the end, it returns the readable part and an error. The
// observers see the execution trace in the same pass.
func ReadArchiveAt(ctx context.Context, r io.ReaderAt, size int64, opt Options, observers ...timeline.Observer) (*Recording, error) {
	fail := func(err error) (*Recording, error) {
		if opt.Name != "" {
			return nil, fmt.Errorf("%s: %w", opt.Name, err)
		}
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return fail(fmt.Errorf("not an archive of counters: %w", err))
	}
	m, err := archive.ReadMeta(z)
	if err != nil {
		return fail(err)
	}
	t, err := traceOf(z, r)
	if err != nil {
		return fail(err)
	}
	if m.Begin == 0 {
		return readJoined(ctx, t, nil, m, opt, observers)
	}
	s, err := z.Open(archive.SamplesMember)
	if err != nil {
		return fail(fmt.Errorf("incomplete archive of counters: %w", err))
	}
	defer s.Close()
	return readJoined(ctx, t, io.LimitReader(s, maxSamples), m, opt, observers)
}

// TraceIn returns the execution trace in an archive, compressed as in the archive.
func TraceIn(r io.ReaderAt, size int64) (*io.SectionReader, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not an archive of counters: %w", err)
	}
	return traceOf(z, r)
}

func traceOf(z *zip.Reader, r io.ReaderAt) (*io.SectionReader, error) {
	for _, f := range z.File {
		if f.Name == archive.TraceMember && f.Method == zip.Store {
			at, err := f.DataOffset()
			return io.NewSectionReader(r, at, int64(f.CompressedSize64)), err
		}
	}
	return nil, fmt.Errorf("incomplete archive of counters: %s is missing", archive.TraceMember)
}
