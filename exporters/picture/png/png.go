// Package png writes the drawings of package picture as PNG, in the fonts of the Go project.
//
//	package main
//
//	import (
//		"log"
//		"os"
//		"time"
//
//		"github.com/bottleneck-go/bottleneck/bottle"
//		"github.com/bottleneck-go/bottleneck/exporters/picture"
//		"github.com/bottleneck-go/bottleneck/exporters/picture/png"
//	)
//
//	func main() {
//		g := &bottle.Graph{ // or one that package bottle has read from a trace
//			Wall: time.Second, Procs: 4,
//			Boxes: []bottle.Box{{Group: "main.work", Share: time.Second, Running: 3 * time.Second, Parallelism: 3}},
//		}
//		d, err := picture.Draw(g, picture.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		f, err := os.Create("bottle.png")
//		if err != nil {
//			log.Fatal(err)
//		}
//		if err := png.Write(f, d); err != nil {
//			log.Fatal(err)
//		}
//		if err := f.Close(); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// It is a separate package because of its size: the fonts, the rasterizer and the encoder add about
// 0.9 MB to a program. The fonts cover Latin, Greek and Cyrillic. Other scripts appear as empty
// boxes; use SVG for them.
//
// A picture of 7 groups takes 85 ms and 12 MB of memory (BenchmarkPicture of package picture).
package png

import (
	"io"

	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/picture/internal/pixels"
)

// Write writes a drawing as a PNG, with picture.Options.Scale pixels per unit.
//
// Write returns an error of the writer, or an error if the picture has more than 120 million
// pixels.
func Write(w io.Writer, d *picture.Drawing) error { return pixels.Write(w, d) }
