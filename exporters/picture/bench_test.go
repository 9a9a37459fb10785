package picture

import (
	"io"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
)

func BenchmarkPicture(b *testing.B) {
	for _, bm := range []struct {
		name  string
		graph *bottle.Graph
	}{{"groups=7", lusearch()}, {"groups=300", many(300)}, {"windows=48", phases(48)}} {
		for form, write := range map[string]func(io.Writer, *bottle.Graph, Options) error{"SVG": SVG, "PNG": PNG} {
			b.Run(form+"/"+bm.name, func(b *testing.B) {
				b.ReportAllocs()
				size := 0
				for b.Loop() {
					var w counter
					if err := write(&w, bm.graph, Options{}); err != nil {
						b.Fatal(err)
					}
					size = int(w)
				}
				b.ReportMetric(float64(size)/1e3, "kB/picture")
			})
		}
	}
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
