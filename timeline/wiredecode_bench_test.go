package timeline

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"golang.org/x/exp/trace"
)

// BenchmarkDecode compares the decoders of a generation, in ns per event, on one core.
// BOTTLENECK_TRACE names a trace to use.
func BenchmarkDecode(b *testing.B) {
	file := os.Getenv("BOTTLENECK_TRACE")
	if file == "" {
		file = "../testdata/real/nethttp-parallel4.trace.zst"
	}
	parts := generations(b, plain(b, file))
	each := func(b *testing.B, decode func(data []byte) int) {
		events := 0
		b.ReportAllocs()
		for b.Loop() {
			events = 0
			for _, part := range parts {
				events += decode(part)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
	}
	rd := &decoding{ctx: context.Background(), version: 26, stacks: newStackTable()}
	whole := func(decode func(open func() io.Reader) *decoded) func(data []byte) int {
		return func(data []byte) int {
			rd.header = data[:headerSize]
			got := decode(func() io.Reader { return bytes.NewReader(data[headerSize:]) })
			if got.err != nil {
				b.Fatal(got.err)
			}
			got.release()
			return got.events
		}
	}
	b.Run("records", func(b *testing.B) { each(b, whole(rd.decode)) })
	b.Run("Reader records", func(b *testing.B) {
		each(b, whole(func(open func() io.Reader) *decoded { return decodeByReader(rd, open) }))
	})
	b.Run("Reader events", func(b *testing.B) {
		each(b, func(data []byte) int {
			tr, err := trace.NewReader(bytes.NewReader(data))
			if err != nil {
				b.Fatal(err)
			}
			for n := 0; ; n++ {
				if _, err := tr.ReadEvent(); err != nil {
					return n
				}
			}
		})
	})
}
