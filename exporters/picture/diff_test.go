package picture

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
)

func diffPairs() map[string][2]*bottle.Graph {
	return map[string][2]*bottle.Graph{
		"same":    {lusearch(), lusearch()},
		"changed": {pipeline(), lusearch()},
		"many":    {many(20), many(300)},
		"empty":   {{}, graph(4, 300*ms)},
	}
}

// TestDiffLook writes the samples into the directory PICTURES for a person to look at.
func TestDiffLook(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	for name, pair := range diffPairs() {
		f, err := os.Create(filepath.Join(dir, "diff-"+name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if err := DiffPNG(f, pair[0], pair[1], Options{}); err != nil {
			t.Error(err)
		}
		f.Close()
	}
}

func TestDiffForms(t *testing.T) {
	for name, pair := range diffPairs() {
		s, err := layoutDiff(pair[0], pair[1], Options{})
		if err != nil {
			t.Fatal(err)
		}
		walk(s.shapes, func(sh shape) {
			if x, ok := sh.(text); ok {
				if x0, y0, x1, y1 := x.bounds(); x0 < 0 || y0 < 0 || x1 > s.width+1 || y1 > s.height {
					t.Errorf("%s: %+v leaves the picture of %v × %v", name, x, s.width, s.height)
				}
			}
		})
		var b bytes.Buffer
		if err := DiffSVG(&b, pair[0], pair[1], Options{Subtitle: "a & b"}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"before, ", "after, "} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
		dec := xml.NewDecoder(&b)
		for {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(name, err)
			}
		}
	}
	if DiffSVG(io.Discard, nil, lusearch(), Options{}) == nil || DiffPNG(io.Discard, lusearch(), nil, Options{}) == nil || DiffPNG(io.Discard, lusearch(), lusearch(), Options{Scale: 99}) == nil {
		t.Error("no error for bad input")
	}
}
