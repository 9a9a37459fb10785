package quanta

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/bottleneck-go/bottleneck/counters/internal/archive"
	"github.com/bottleneck-go/bottleneck/internal/perfevent"
)

// Archives of format 1, compressed with zstd, give the same recordings as those of the current
// format.
func TestOldArchives(t *testing.T) {
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
	var now, old bytes.Buffer
	if err := archive.Write(&now, m, bytes.NewReader(samples), bytes.NewReader(plain)); err != nil {
		t.Fatal(err)
	}
	packer, _ := zstd.NewWriter(nil)
	z := zip.NewWriter(&old)
	for name, data := range map[string][]byte{
		"meta.json":   []byte(`{"format":1,"begin":1,"end":4611686018427387904,"hits":[{"name":"minor-faults","total":3}]}`),
		"samples.zst": packer.EncodeAll(samples, nil), "trace.zst": trace,
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(data)
	}
	z.Close()
	var read []*Recording
	for _, b := range [][]byte{now.Bytes(), old.Bytes()} {
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
		read = append(read, r)
	}
	if a, b := fmt.Sprint(read[0].Counters), fmt.Sprint(read[1].Counters); a != b {
		t.Errorf("the counters differ: %s, %s", a, b)
	}
}
