package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/proctime"
	"github.com/bottleneck-go/bottleneck/internal/tracetasks"
	"github.com/bottleneck-go/bottleneck/internal/tracewaits"
	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/speedup"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// analyses are the observers of a pass, by name.
var analyses = []struct {
	name string
	made func() timeline.Observer
}{
	{"boxes", func() timeline.Observer { return bottle.NewObserver(bottle.Options{}) }},
	{"ledger", func() timeline.Observer { return ledger.NewObserver(ledger.Options{}) }},
	{"contention", func() timeline.Observer { return tracewaits.NewObserver(tracewaits.Options{NoRoots: true}) }}, // as for the verdict
	{"tasks", func() timeline.Observer { return tracetasks.NewObserver(tracetasks.Options{}) }},
	{"survey", func() timeline.Observer { return speedup.NewEstimator(speedup.Options{}).First() }},
}

// replay decodes a trace, keeps it, and replays it to the analyses with the comma-separated names.
// It prints the processor time of the replay per event in ns.
func replay(names, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	begin, end := &stopwatch{}, &stopwatch{}
	info, err := timeline.ReadTwice(context.Background(), f, timeline.Options{Name: file}, 0, nil, func(*timeline.Info) []timeline.Observer {
		observers := []timeline.Observer{begin}
		for _, a := range analyses {
			if strings.Contains(","+names+",", ","+a.name+",") {
				observers = append(observers, a.made())
			}
		}
		return append(observers, end)
	})
	if err != nil {
		return err
	}
	fmt.Println((end.ended - begin.began).Seconds() * 1e9 / float64(info.Events))
	return nil
}

// stopwatch records the processor time of the process at the beginning and the end of a replay.
type stopwatch struct {
	timeline.Base
	began, ended time.Duration
}

func (w *stopwatch) Begin(timeline.Time, int) { w.began = proctime.Self() }

func (w *stopwatch) End(timeline.Time) { w.ended = proctime.Self() }

// compareObservers prints what each analysis adds to a replay for the boxes, in ns per event: the
// minimum of some runs, because other programs can only add to it.
func compareObservers(self, trace string, runs int) error {
	names := []string{"none", "boxes"}
	for _, a := range analyses[1:] {
		names = append(names, "boxes,"+a.name)
	}
	least := map[string]float64{}
	for range runs {
		for _, name := range names {
			out, err := exec.Command(self, "child", "replay", name, trace).Output()
			if err != nil {
				return err
			}
			ns, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			if err != nil {
				return err
			}
			least[name] = min(ns, cmp.Or(least[name], ns))
		}
	}
	fmt.Printf("processor time of a replay for each event: %.0f ns for no analysis, %.0f more for the boxes; more than that for\n", least["none"], least["boxes"]-least["none"])
	for _, a := range analyses[1:] {
		fmt.Printf("  %-12s %5.1f ns\n", a.name, least["boxes,"+a.name]-least["boxes"])
	}
	fmt.Println()
	return nil
}
