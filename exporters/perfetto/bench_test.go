package perfetto_test

import (
	"path/filepath"
	"testing"

	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// A pass over a trace without output, and one with output.
func BenchmarkWrite(b *testing.B) {
	name := filepath.Join("..", "..", "testdata", "real", "stdlog-file.trace.zst")
	for _, part := range []string{"timeline", "perfetto"} {
		b.Run(part, func(b *testing.B) {
			var written int64
			var events int64
			for b.Loop() {
				var observers []timeline.Observer
				count := &counting{}
				w := perfetto.NewWriter(count, "")
				if part == "perfetto" {
					observers = append(observers, w.Observer())
				}
				info, err := timeline.ReadFile(b.Context(), name, timeline.Options{}, observers...)
				if err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
				written, events = count.n, info.Events
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
			b.ReportMetric(float64(written)/float64(events), "B/event")
		})
	}
}

type counting struct{ n int64 }

func (c *counting) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
