package quanta

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// The recording of an archive has the quanta of its trace, and the counts of its samples.
func TestArchivesHaveTheirTraces(t *testing.T) {
	trace, err := os.ReadFile(filepath.Join("..", "..", "testdata", "small", "sys-go1.26.8.trace.zst"))
	if err != nil {
		t.Fatal(err)
	}
	unpacker, err := zstd.NewReader(bytes.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(unpacker)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Read(t.Context(), bytes.NewReader(plain), Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &archive.Meta{Format: archive.Format, Begin: 1, End: 1 << 62, Hits: []archive.Event{{Name: "minor-faults", Total: 3}}}
	var e archive.Encoder
	var samples []byte
	for i := range 3 {
		samples = e.Append(samples, &perfevent.Record{Kind: perfevent.Hit, Thread: int(whole.Thread[0]), Time: int64(100 + i)})
	}
	var now bytes.Buffer
	if err := archive.Write(&now, m, bytes.NewReader(samples), bytes.NewReader(plain)); err != nil {
		t.Fatal(err)
	}
	b := now.Bytes()
	r, err := ReadArchiveAt(t.Context(), bytes.NewReader(b), int64(len(b)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Counter("minor-faults"); c == nil || c.Total != 3 || r.Len() != whole.Len() {
		t.Errorf("%d quanta, %+v", r.Len(), c)
	}
	in, err := TraceIn(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	alone, err := Read(t.Context(), in, Options{})
	if err != nil || !slices.Equal(alone.Begin, whole.Begin) {
		t.Errorf("the trace alone: %v", err)
	}
}
