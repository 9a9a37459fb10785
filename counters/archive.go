package counters

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bottleneck-go/bottleneck/internal/perfevent"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// Archives
//
// An archive is a ZIP file with three members, so that it can be looked into with anything:
//
//	meta.json    what was counted, and the totals (type meta); "format" is 1
//	trace.zst    the execution trace as runtime/trace wrote it, packed with zstd
//	samples.zst  the records of events as package internal/samplelog packs them, packed with zstd; absent
//	             if nothing was counted
//
// A reader of a format refuses later ones, and ignores members and fields that it does not know.

const archiveFormat = 1

// The members of an archive.
const (
	memberMeta    = "meta.json"
	memberTrace   = "trace.zst"
	memberSamples = "samples.zst"
)

const (
	maxMeta   = 64 << 20
	maxUnpack = 64 << 30 // of a member: no recording is so large, but a file may be made to unpack to more
)

// archive is what an archive is written from. The readers are read once.
type archive struct {
	meta    *meta
	trace   io.Reader
	samples io.Reader // nil if nothing was counted
	// packedSamples are the samples when they are packed already.
	packedSamples io.Reader
}

// write writes the archive. The trace comes last, so that one that is cut off still has the rest.
func (a *archive) write(w io.Writer) error {
	z := zip.NewWriter(w)
	b, err := json.MarshalIndent(a.meta, "", "\t")
	if err != nil {
		return fmt.Errorf("counters: archive: %w", err)
	}
	err = a.member(z, memberMeta, func(w io.Writer) error { _, err := w.Write(b); return err })
	if err == nil && a.samples != nil {
		err = a.member(z, memberSamples, packed(a.samples))
	}
	if err == nil && a.packedSamples != nil {
		err = a.member(z, memberSamples, func(w io.Writer) error { _, err := io.Copy(w, a.packedSamples); return err })
	}
	if err == nil {
		err = a.member(z, memberTrace, packed(a.trace))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return fmt.Errorf("counters: write the archive: %w", err)
	}
	return nil
}

func (a *archive) member(z *zip.Writer, name string, fill func(io.Writer) error) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: a.meta.Start})
	if err != nil {
		return err
	}
	return fill(w)
}

func packed(r io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		_, err = io.Copy(e, r)
		return errors.Join(err, e.Close())
	}
}

// IsArchive reports whether a file that begins so may be an archive.
func IsArchive(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

// ReadArchive returns the recording in the archive that "bottleneck record -counters" or
// [Session.StopTo] wrote.
//
// As with [Read], a trace or samples that cannot be read to their end give what could be read, and
// an error. The observers see its execution trace in the same pass.
func ReadArchive(ctx context.Context, name string, opt Options, observers ...timeline.Observer) (*Recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if opt.Name == "" {
		opt.Name = name
	}
	return ReadArchiveAt(ctx, f, st.Size(), opt, observers...)
}

// ReadArchiveAt is [ReadArchive] of an archive that is open already, of the given size.
func ReadArchiveAt(ctx context.Context, r io.ReaderAt, size int64, opt Options, observers ...timeline.Observer) (*Recording, error) {
	fail := func(err error) (*Recording, error) {
		if opt.Name != "" {
			return nil, fmt.Errorf("%s: %w", opt.Name, err)
		}
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return fail(fmt.Errorf("it is not an archive of counters: %w", err))
	}
	m, err := readMeta(z)
	if err != nil {
		return fail(err)
	}
	t, err := openMember(z, memberTrace)
	if err != nil {
		return fail(err)
	}
	defer t.Close()
	var samples io.Reader = bytes.NewReader(nil)
	if m.Begin != 0 {
		s, err := openMember(z, memberSamples)
		if err != nil {
			return fail(err)
		}
		defer s.Close()
		samples = s
	}
	return readJoined(ctx, t, samples, m, opt, observers...)
}

func readMeta(z *zip.Reader) (*meta, error) {
	f, err := z.Open(memberMeta)
	if err != nil {
		return nil, fmt.Errorf("it is not an archive of counters: %w", err)
	}
	defer f.Close()
	m := &meta{}
	if err := json.NewDecoder(io.LimitReader(f, maxMeta)).Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", memberMeta, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", memberMeta, err)
	}
	return m, nil
}

// member is an unpacked member of an archive.
type member struct {
	io.Reader
	close func() error
}

func (m *member) Close() error { return m.close() }

func openMember(z *zip.Reader, name string) (*member, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, fmt.Errorf("it is not a whole archive of counters: %w", err)
	}
	d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &member{io.LimitReader(d, maxUnpack), func() error { d.Close(); return f.Close() }}, nil
}

// StopTo ends the recording and writes it as an archive without analysing it, which takes no more
// than the packing. [ReadArchive] makes the recording of it, here or elsewhere.
func (s *Session) StopTo(w io.Writer) error {
	if s.opt.OwnTrace {
		return errors.New("counters: the program takes the trace itself: hand it to StopWith")
	}
	err := s.halt()
	if err == ErrStopped {
		return err
	}
	defer s.removeTrace()
	if _, serr := s.file.Seek(0, io.SeekStart); serr != nil {
		return errors.Join(err, serr)
	}
	s.fillMeta()
	a := &archive{meta: &s.c.meta, trace: s.file}
	if s.c.meta.Begin != 0 {
		a.samples = bytes.NewReader(s.c.buf)
	}
	return errors.Join(err, a.write(w))
}

// meta says what samples are: it is a part of an archive, as JSON.
type meta struct {
	// Format is that of the archive.
	Format int `json:"format"`
	// Command is what ran; nil if the program recorded itself.
	Command []string  `json:"command,omitempty"`
	Start   time.Time `json:"start"`
	System  string    `json:"system"` // GOOS/GOARCH

	// Begin and End are between which times of CLOCK_MONOTONIC was counted, in ns. Begin is 0
	// if nothing was.
	Begin int64 `json:"begin,omitempty"`
	End   int64 `json:"end,omitempty"`

	Switched []string      `json:"switched,omitempty"` // the counters that follow from switches of threads
	Clock    *eventMeta    `json:"clock,omitempty"`    // the total of task-clock, counted on its own
	Hits     []eventMeta   `json:"hits,omitempty"`
	Groups   [][]eventMeta `json:"groups,omitempty"`
	// AtSwitches is set when groups were read at switches of threads, and Extra how many values
	// a reading has before those of the group. Period is how often they were read otherwise.
	AtSwitches bool  `json:"at_switches,omitempty"`
	Extra      int   `json:"extra,omitempty"`
	Period     int64 `json:"period_ns,omitempty"`

	// Metrics are readings of runtime/metrics, of the process.
	MetricNames []string       `json:"metric_names,omitempty"`
	Metrics     []metricSample `json:"metrics,omitempty"`
	Warnings    []string       `json:"warnings,omitempty"`
}

// eventMeta is an event and what the kernel has counted in all.
type eventMeta struct {
	Name  string `json:"name"`
	User  bool   `json:"user,omitempty"` // only what happened in user mode
	Total int64  `json:"total"`
}

// source says in words where values of the event come from.
func (e eventMeta) source(how string) string {
	if e.User {
		return how + ", user mode only"
	}
	return how
}

func eventsOf(specs []perfevent.Spec) []eventMeta {
	out := make([]eventMeta, len(specs))
	for i, s := range specs {
		out[i] = eventMeta{Name: s.Name, User: s.ExcludeKernel}
	}
	return out
}

// check refuses what no recorder writes.
func (m *meta) check() error {
	switch {
	case m.Format < 1 || m.Format > archiveFormat:
		return fmt.Errorf("format %d; this version reads formats up to %d", m.Format, archiveFormat)
	case m.End < m.Begin || m.Begin < 0:
		return fmt.Errorf("counted from %d to %d ns", m.Begin, m.End)
	case m.Extra < 0 || m.Extra > 8 || len(m.Groups) > 64 || len(m.Hits) > 64:
		return fmt.Errorf("%d groups, %d hits", len(m.Groups), len(m.Hits))
	}
	for _, name := range m.MetricNames {
		if _, ok := metricOf[name]; !ok {
			return fmt.Errorf("no metric is called %q", name)
		}
	}
	for i, s := range m.Metrics {
		if len(s.Values) != len(m.MetricNames) || i > 0 && s.Wall < m.Metrics[i-1].Wall {
			return fmt.Errorf("reading %d of the metrics has %d values of %d, or is out of order", i, len(s.Values), len(m.MetricNames))
		}
	}
	return nil
}
