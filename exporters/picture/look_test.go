package picture

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/bottleneck-go/bottleneck/bottle"
)

// samples are graphs for inspection and for tests.
func samples() map[string]*bottle.Graph {
	offered := lusearch()
	offered.Offered = true
	return map[string]*bottle.Graph{
		"lusearch":   lusearch(),
		"offered":    offered,
		"pipeline":   pipeline(),
		"three":      graph(2, 0, box("main.produce", bottle.Application, 210*ms, 1.1), box("main.consume", bottle.Application, 600*ms, 1.95), box("GC", bottle.GC, 12*ms, 1.2)),
		"one":        graph(1, 0, box("main.main", bottle.Application, 1234567, 1)),
		"many20":     many(20),
		"many300":    many(300),
		"empty":      {},
		"idle":       graph(4, 300*ms),
		"nothing":    graph(64, 250*ms, box("main.main", bottle.Application, 10*ms, 1)),
		"windows1":   phases(1),
		"windows8":   phases(8),
		"windows30":  phases(30),
		"windows100": phases(100),
	}
}

// TestLook writes the samples to the directory PICTURES for visual inspection.
func TestLook(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	write := func(name string, form func(io.Writer, *bottle.Graph, Options) error, g *bottle.Graph, opt Options) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := form(f, g, opt); err != nil {
			t.Error(name, err)
		}
	}
	for name, g := range samples() {
		opt := Options{}
		if name == "lusearch" {
			opt.Title = "lusearch, 4 query goroutines"
		}
		write(name+".svg", SVG, g, opt)
		write(name+".png", PNG, g, opt)
	}
}
