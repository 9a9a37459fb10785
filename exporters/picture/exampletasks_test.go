package picture_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/granularity"
)

func ExampleDrawTasks() {
	p := &granularity.Profile{Hz: 2e9, Procs: 4, Classes: []granularity.Class{{Name: "main.resize", Tasks: 2, Diagnosis: granularity.OK}}}
	p.Classes[0].Cycles.Add(900_000)
	p.Classes[0].Cycles.Add(1_100_000)
	var svg bytes.Buffer
	d, err := picture.DrawTasks(p, picture.Options{Title: "thumbnails"})
	if err == nil {
		err = d.SVG(&svg)
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(svg.String(), "<title>main.resize: 2 tasks, median 900k (450 µs), ok</title>"))
	// Output: true
}
