package speedup

import (
	"bytes"
	"testing"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// BenchmarkObserver measures what the analysis adds to a pass: compare it with "alone".
func BenchmarkObserver(b *testing.B) {
	data := corpus()["otel-old.trace"]
	for _, tt := range []struct {
		name      string
		observers func() []timeline.Observer
	}{
		{"alone", func() []timeline.Observer { return nil }},
		{"survey", func() []timeline.Observer { return []timeline.Observer{newSurvey(selector{})} }},
		{"account", func() []timeline.Observer {
			return []timeline.Observer{newObserver(Options{by: byFunction("main.consume"), N: 2})}
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			events := int64(0)
			for b.Loop() {
				info, err := timeline.Read(b.Context(), bytes.NewReader(data), timeline.Options{Workers: 1}, tt.observers()...)
				if err != nil {
					b.Fatal(err)
				}
				events += info.Events
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
