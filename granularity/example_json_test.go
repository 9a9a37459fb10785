package granularity_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// A profile is saved now and analyzed later.
func ExampleWriteJSON() {
	rec := granularity.NewRecorder()
	ctx := granularity.WithRecorder(context.Background(), rec)
	for range 3 {
		granularity.Do(ctx, "index a file", func(context.Context) error { return nil })
	}
	var file bytes.Buffer
	if err := granularity.WriteJSON(&file, rec.Profile()); err != nil {
		log.Fatal(err)
	}
	p, err := granularity.ReadJSON(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Classes[0].Name, p.Classes[0].Tasks, p.Classes[0].Cycles.Count())
	// Output: index a file 3 3
}
