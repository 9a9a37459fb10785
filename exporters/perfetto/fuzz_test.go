package perfetto_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// For every trace, the output can be read, and its slices nest.
func FuzzWrite(f *testing.F) {
	testenv.BriefFuzzing(f)
	for _, name := range []string{"compute-go1.22.12.trace", "phases-go1.26.8.trace", "mutex-go1.26.8.trace"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "small", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var buf bytes.Buffer
		w := perfetto.NewWriter(&buf, "")
		w.SetMax(4, 1000)
		// Data read before an error is written.
		_, _ = timeline.Read(t.Context(), bytes.NewReader(data), timeline.Options{Workers: 1}, w.Observer())
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		decode(t, buf.Bytes()).slices(t)
	})
}
