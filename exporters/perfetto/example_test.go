package perfetto_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func ExampleWriter() {
	var out bytes.Buffer // usually a file called something.perfetto-trace
	w := perfetto.NewWriter(&out, perfetto.Options{Name: "phases"})
	trace := filepath.Join("..", "..", "testdata", "small", "phases-go1.26.8.trace")
	if _, err := timeline.ReadFile(context.Background(), trace, timeline.Options{}, w.Observer()); err != nil {
		fmt.Println(err)
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("written:", out.Len() > 1000)
	// Output: written: true
}
