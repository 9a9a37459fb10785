package text_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/text"
)

// An estimated share is shown with its interval.
func TestShareError(t *testing.T) {
	g := &bottle.Graph{Wall: time.Second, Procs: 2, Capacity: 2 * time.Second, Boxes: []bottle.Box{
		{Group: "main.busy", Kind: bottle.Application, Goroutines: 1, Share: 470 * time.Millisecond, ShareError: 40 * time.Millisecond, Running: 470 * time.Millisecond, Parallelism: 1, Lost: 470 * time.Millisecond},
		{Group: "main.exact", Kind: bottle.Application, Goroutines: 1, Share: 530 * time.Millisecond, Running: 530 * time.Millisecond, Parallelism: 1, Lost: 530 * time.Millisecond},
	}}
	var b bytes.Buffer
	if err := text.Write(&b, g, text.Options{Width: 120}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "47% ± 4%") && !strings.Contains(got, "47% +- 4%") || strings.Count(got, "±")+strings.Count(got, "+-") != 1 {
		t.Error(got)
	}
}
