package ledger

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// BenchmarkObserver reads traces with the bottle graph alone, and with the ledger in addition.
func BenchmarkObserver(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join("..", "testdata", "real", "*.trace.zst"))
	for _, with := range []string{"graph", "graph+ledger"} {
		b.Run(with, func(b *testing.B) {
			events := int64(0)
			for b.Loop() {
				for _, file := range files {
					observers := []timeline.Observer{bottle.NewObserver(bottle.Options{})}
					if with != "graph" {
						observers = append(observers, NewObserver(Options{}))
					}
					info, err := timeline.ReadFile(context.Background(), file, timeline.Options{Workers: 1}, observers...)
					if err != nil {
						b.Fatal(err)
					}
					events += info.Events
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
