// Package archive implements the file format of a recording of counters: the description of what
// was counted, the execution trace, and the records of events. Package counters writes it, and
// package counters/quanta reads it.
//
// An archive is a ZIP file with three members, so that other tools can read it:
//
//	meta.json  what was counted, and the totals (type [Meta]); "format" is 2
//	samples    the records of events, as [Encoder] packs them; absent if nothing was counted
//	trace.gz   the execution trace as runtime/trace wrote it, packed with gzip
//
// The trace is stored without further compression, so that a reader of traces can read it in place.
// Readers refuse other formats, and ignore unknown members and fields.
package archive

import (
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Format is the format of archives.
const Format = 2

// The members of an archive.
const (
	MetaMember    = "meta.json"
	TraceMember   = "trace.gz"
	SamplesMember = "samples"
)

const maxMeta = 64 << 20

// MarkCategory is the category of runtime/trace.Log for markers.
const MarkCategory = "bottleneck.mark"

// Write writes an archive. samples is nil if nothing was counted. The trace comes last, so that a
// truncated archive still has the other members.
func Write(w io.Writer, m *Meta, samples, trace io.Reader) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	put := func(name string, method uint16, fill func(io.Writer) error) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: m.Start})
		if err != nil {
			return err
		}
		return fill(w)
	}
	err := put(MetaMember, zip.Deflate, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "\t")
		return e.Encode(m)
	})
	if err == nil && samples != nil {
		err = put(SamplesMember, zip.Deflate, func(w io.Writer) error { _, err := io.Copy(w, samples); return err })
	}
	if err == nil {
		err = put(TraceMember, zip.Store, func(w io.Writer) error {
			g, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
			_, err := io.Copy(g, trace)
			return errors.Join(err, g.Close())
		})
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return fmt.Errorf("counters: writing the archive: %w", err)
	}
	return nil
}

// ReadMeta reads and checks the description in an archive.
func ReadMeta(z *zip.Reader) (*Meta, error) {
	f, err := z.Open(MetaMember)
	if err != nil {
		return nil, fmt.Errorf("not an archive of counters: %w", err)
	}
	defer f.Close()
	m := &Meta{}
	if err := json.NewDecoder(io.LimitReader(f, maxMeta)).Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", MetaMember, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", MetaMember, err)
	}
	return m, nil
}

// Meta describes the samples of an archive.
type Meta struct {
	// Format is the format of the archive.
	Format int `json:"format"`
	// Command is the recorded command; nil if the program recorded itself.
	Command []string  `json:"command,omitempty"`
	Start   time.Time `json:"start"`
	System  string    `json:"system"` // GOOS/GOARCH

	// Begin and End are the start and end of counting by CLOCK_MONOTONIC, in ns. Begin is 0 if
	// nothing was counted.
	Begin int64 `json:"begin,omitempty"`
	End   int64 `json:"end,omitempty"`

	Switched []string  `json:"switched,omitempty"` // counters derived from switches of threads
	Clock    *Event    `json:"clock,omitempty"`    // total of task-clock, counted separately
	Hits     []Event   `json:"hits,omitempty"`
	Groups   [][]Event `json:"groups,omitempty"`
	// AtSwitches is set if groups were read at switches of threads, and Extra is the number of
	// values in a reading before those of the group. Period is the interval of other readings.
	AtSwitches bool  `json:"at_switches,omitempty"`
	Extra      int   `json:"extra,omitempty"`
	Period     int64 `json:"period_ns,omitempty"`

	// Metrics are readings of runtime/metrics for the process.
	MetricNames []string       `json:"metric_names,omitempty"`
	Metrics     []MetricSample `json:"metrics,omitempty"`
	Warnings    []string       `json:"warnings,omitempty"`
}

// Event is an event with its total count from the kernel.
type Event struct {
	Name  string `json:"name"`
	User  bool   `json:"user,omitempty"` // counted in user mode only
	Total int64  `json:"total"`
}

// From returns a description of the source of the event's values.
func (e Event) From(how string) string {
	if e.User {
		return how + ", user mode only"
	}
	return how
}

// check returns an error for data that no recorder writes.
func (m *Meta) check() error {
	switch {
	case m.Format != Format:
		return fmt.Errorf("format %d; this version reads format %d", m.Format, Format)
	case m.End < m.Begin || m.Begin < 0:
		return fmt.Errorf("counted from %d to %d ns", m.Begin, m.End)
	case m.Extra < 0 || m.Extra > 8 || len(m.Groups) > 64 || len(m.Hits) > 64:
		return fmt.Errorf("%d groups, %d hits", len(m.Groups), len(m.Hits))
	}
	for _, name := range m.MetricNames {
		if _, ok := Metrics[name]; !ok {
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

// The counters that are derived from the records of thread switches.
const (
	TaskClock   = "task-clock"
	CtxSwitches = "context-switches"
	Preemptions = "preemptions"
	Migrations  = "migrations"
)

// MetricSample is one reading of runtime/metrics.
type MetricSample struct {
	// Wall is the time in ns since 1970, derived from the first one by the monotonic clock, even if
	// the wall clock was set.
	Wall   int64    `json:"t"`
	Values []uint64 `json:"v"`
}

// Metric is a counter from runtime/metrics.
type Metric struct {
	Name  string // name in the runtime
	Unit  string
	Level bool
}

// Metrics holds the metrics that can be recorded, by the names of their counters.
var Metrics = map[string]Metric{
	"goroutines":         {"/sched/goroutines:goroutines", "", true},
	"heap-allocs":        {"/gc/heap/allocs:bytes", "bytes", false},
	"heap-alloc-objects": {"/gc/heap/allocs:objects", "", false},
}

// Names lists events for a message.
func Names(events []Event) (s string) {
	for i, e := range events {
		if i > 0 {
			s += ", "
		}
		s += e.Name
	}
	return s
}

// Clamp returns v, or the largest int64.
func Clamp(v uint64) int64 { return int64(min(v, math.MaxInt64)) }
