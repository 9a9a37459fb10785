package png_test

import (
	"bytes"
	"fmt"
	"math"
	"time"

	decoder "image/png"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/exporters/picture/png"
)

// A PNG has two pixels for each unit, so that it is sharp on any screen.
func ExampleWrite() {
	g := &bottle.Graph{Wall: time.Second, Procs: 4, Boxes: []bottle.Box{{Group: "main.work", Goroutines: 4, Share: time.Second, Running: 3 * time.Second}}}
	d, err := picture.Draw(g, picture.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var b bytes.Buffer
	if err := png.Write(&b, d); err != nil {
		fmt.Println(err)
		return
	}
	c, err := decoder.DecodeConfig(&b)
	width, _ := d.Size()
	fmt.Println(c.Width == int(math.Ceil(2*width)), err)
	// Output: true <nil>
}
