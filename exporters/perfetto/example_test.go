package perfetto_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"github.com/bottleneck-go/bottleneck/exporters/perfetto"
	"github.com/bottleneck-go/bottleneck/timeline"
)

func ExampleNew() {
	var out bytes.Buffer // usually a file called something.perfetto-trace
	o, finish := perfetto.New(&out, "phases")
	trace := filepath.Join("..", "..", "testdata", "small", "phases-go1.26.8.trace")
	if _, err := timeline.ReadFile(context.Background(), trace, timeline.Options{}, o); err != nil {
		fmt.Println(err)
	}
	if err := finish(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("written:", out.Len() > 1000)
	// Output: written: true
}
