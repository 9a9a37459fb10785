package picture

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// TestPictureShowsTimeInC: under the title, in the tooltips with the place, and in the notes.
func TestPictureShowsTimeInC(t *testing.T) {
	g, err := bottle.ReadFile(context.Background(), "../../testdata/small/cgo-go1.26.8.trace", bottle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := SVG(&b, g, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4.5 s of goroutines in C code", "in C code 4.5 s, mostly at main.computing main.go:", " ran C code for 4.5 s, which the scheduler does not see"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}
