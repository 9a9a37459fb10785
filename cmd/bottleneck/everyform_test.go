package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	bn "github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/critical"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/speedup"
)

func realTrace(name string) string {
	return filepath.Join("..", "..", "testdata", "real", name+".trace.zst")
}

// TestEveryResultInEveryForm: a result of a trace is the same from Go, in the text and the JSON of
// the command, and on a page: that of -o FILE.html or, with report, that of "bottleneck report".
func TestEveryResultInEveryForm(t *testing.T) {
	var (
		web, collecting = realTrace("nethttp-parallel4"), realTrace("json-gogc5")
		locks, packing  = realTrace("stdlog-file"), realTrace("pgzip")
		utilization     = utilized(t)
		used            = stackWithCounts(t)
	)
	marking := bn.Options{Want: bn.WantVerdict, Bottle: bottle.Options{During: "gc"}}
	decode := func(s string, v any) {
		if err := json.Unmarshal([]byte(s), v); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range testenv.Some([]struct {
		name   string
		args   string // without the input
		inputs []string
		report string     // input of "bottleneck report", if its page has the result
		opt    bn.Options // from Go
		// find returns what the text and the page contain, and whether the JSON agrees.
		find func(r *bn.Report, object string) (inText, onPage string, agrees bool)
	}{
		{"goroutines as tasks", "tasks", []string{web}, "", bn.Options{Want: bn.WantTasks}, func(r *bn.Report, object string) (string, string, bool) {
			const class = "net/http.(*connReader).backgroundRead"
			of := func(p *granularity.Profile) granularity.Class {
				return p.Classes[slices.IndexFunc(p.Classes, func(c granularity.Class) bool { return c.Name == class })]
			}
			var saved granularity.Profile
			decode(object, &saved)
			got, want := of(&saved), of(r.Tasks)
			return "5,001", "5,001", want.Tasks == 5001 && math.Abs(want.RunningNS.Quantile(.5)/384-1) < .02 &&
				got.Tasks == want.Tasks && got.RunningNS.Quantile(.5) == want.RunningNS.Quantile(.5) && got.Diagnosis == granularity.Fine
		}},
		{"critical paths", "critical", []string{web}, "", bn.Options{Want: bn.WantPaths}, func(r *bn.Report, object string) (string, string, bool) {
			saved, err := critical.ReadJSON(strings.NewReader(object))
			text := format.Duration(r.Paths.Paths[0].Elapsed)
			return "Critical path of the program, " + text, format.Duration(r.Paths.Paths[0].Rows[0].Time), err == nil && reflect.DeepEqual(saved.Paths, r.Paths.Paths) && len(saved.Paths) == 3
		}},
		{"the collector", "graph -group kind", []string{collecting}, collecting, bn.Options{Want: bn.WantBottle, Bottle: bottle.Options{Group: bottle.ByKind}}, func(r *bn.Report, object string) (string, string, bool) {
			var saved bottle.Graph
			decode(object, &saved)
			return r.Bottle.Collector.String(), r.Bottle.Collector.String(), saved.Collector == r.Bottle.Collector && saved.Collector.Cycles == 86
		}},
		{"each collection", "graph -group kind -collections", []string{collecting}, "", bn.Options{Want: bn.WantBottle, Bottle: bottle.Options{Group: bottle.ByKind, Collections: true}}, func(r *bn.Report, object string) (string, string, bool) {
			all, err := bottle.ReadJSON(strings.NewReader(object))
			agrees := err == nil && len(all.Windows) == len(r.Bottle.Windows)
			for i, w := range r.Bottle.Windows {
				agrees = agrees && all.Windows[i].Collector == w.Collector
			}
			return fmt.Sprint(len(r.Bottle.Windows), " windows"), "collector", agrees
		}},
		{"several runs", "graph", []string{collecting, packing}, "", bn.Options{Want: bn.WantBottle}, func(r *bn.Report, object string) (string, string, bool) {
			var saved struct {
				Runs   []string
				Groups []map[string]any
			}
			decode(object, &saved)
			share := 0.0
			for _, g := range saved.Groups {
				v, _ := g["share_ns_1"].(float64)
				share += v
			}
			return "pgzip", "pgzip", share == float64(r.Bottle.Wall) && slices.Equal(saved.Runs, []string{"json-gogc5", "pgzip"})
		}},
		{"graph of a part", "graph -during gc", []string{collecting}, "", marking, wallOf("wall_ns")},
		{"ledger of a part", "ledger -during gc", []string{collecting}, "", marking, wallOf("wall")},
		{"contention of a part", "contention -during gc", []string{collecting}, "", marking, wallOf("duration_ns")},
		{"tasks of a part", "tasks -during gc", []string{collecting}, "", marking, wallOf("run_ns")},
		{"speed-up of a part", "speedup -estimate -during gc", []string{collecting}, "", with(marking, bn.WantSpeedup), func(r *bn.Report, object string) (string, string, bool) {
			saved, err := speedup.ReadJSON(strings.NewReader(object))
			times := format.Parallelism(r.Speedup.Speedup)
			return times, times, err == nil && saved[0].Speedup == r.Speedup.Speedup && r.Speedup.Multi.Wall == r.Bottle.Wall
		}},
		{"speedup stacks", "speedup", []string{computeTrace, computeTrace, mutexTrace}, used, bn.Options{}, func(_ *bn.Report, object string) (string, string, bool) {
			saved, err := speedup.ReadJSON(strings.NewReader(object))
			return "speed-up", "page faults", err == nil && len(saved) == 2 && saved[0].CheckValid() == nil && saved[0].Speedup == 1
		}},
		{"counters", "counters -by how-ended -metric duration -stat sum", []string{packing}, packing, bn.Options{}, func(_ *bn.Report, object string) (string, string, bool) {
			rec, err := quanta.ReadFile(t.Context(), packing, quanta.Options{})
			if err != nil {
				t.Fatal(err)
			}
			blocked := int64(0)
			for row, ended := range rec.Ending {
				if ended == quanta.Blocked {
					blocked += rec.Duration[row]
				}
			}
			var rows []struct {
				Part string
				Sum  float64
			}
			decode(object, &rows)
			return format.Duration(time.Duration(blocked)), fmt.Sprintf(`"rows":%d`, rec.Len()), slices.ContainsFunc(rows, func(r struct {
				Part string
				Sum  float64
			}) bool {
				return r.Part == "blocked" && r.Sum == float64(blocked)
			})
		}},
		{"blame", "contention -v -by class,owner-func", []string{locks}, locks, bn.Options{Want: bn.WantContention}, func(r *bn.Report, object string) (string, string, bool) {
			saved, err := contention.ReadJSON(strings.NewReader(object))
			return r.Contention.Rates(), r.Contention.Rates(), err == nil && saved.Rates() == r.Contention.Rates() && strings.Contains(saved.Rates(), " for each contention.")
		}},
		{"utilization", "tasks", []string{utilization}, utilization, bn.Options{}, func(_ *bn.Report, object string) (string, string, bool) {
			var saved granularity.Profile
			decode(object, &saved)
			u := saved.Utilizations()
			return u[0].String(), u[2].String(), u[0].By == "the process" && u[1].Processors == 1.5 && math.Abs(u[1].Mean-.4) < 1e-9 && u[2].Half > 0
		}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			file := func(ending string) string { return filepath.Join(t.TempDir(), "result"+ending) }
			txt, object, page := file(".txt"), file(".json"), file(".html")
			bottleneck(append(append(strings.Fields(c.args), "-o", txt, "-o", object, "-o", page), c.inputs...)...).want(t, exitOK, "", "")
			if c.report != "" {
				bottleneck("report", "-o", page, c.report).want(t, exitOK, "", "")
			}
			var r *bn.Report
			if c.opt.Want != 0 {
				f, err := os.Open(c.inputs[0])
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if r, err = bn.Analyze(t.Context(), f, c.opt); err != nil {
					t.Fatal(err)
				}
			}
			inText, onPage, agrees := c.find(r, string(read(t, object)))
			if !agrees {
				t.Errorf("the JSON differs from Go:\n%.2000s", read(t, object))
			}
			if got := oneLineOf(string(read(t, txt))); !strings.Contains(got, oneLineOf(inText)) {
				t.Errorf("%q is not in the text:\n%.2000s", inText, read(t, txt))
			}
			shown := read(t, page)
			if dataElement.Match(shown) {
				shown = dataOf(t, shown)
			}
			if !strings.Contains(string(shown), onPage) {
				t.Errorf("%q is not on the page", onPage)
			}
		})
	}
	bottleneck("speedup", "-estimate", small("sys-go1.26.8.trace.zst")).want(t, exitFailure, "", speedup.ErrOutside.Error()+", because nothing ran for 59% of the time")
}

// wallOf checks that the time of a result is that of the graph.
func wallOf(field string) func(*bn.Report, string) (string, string, bool) {
	return func(r *bn.Report, object string) (string, string, bool) {
		var saved map[string]any
		err := json.Unmarshal([]byte(object), &saved)
		wall, _ := saved[field].(float64)
		return format.Duration(r.Bottle.Wall), "<", err == nil && time.Duration(wall) == r.Bottle.Wall
	}
}

func with(opt bn.Options, want bn.Want) bn.Options {
	opt.Want |= want
	return opt
}

// utilized is a profile with samples of the machine, as a file.
func utilized(t *testing.T) string {
	p := &granularity.Profile{Source: "rseq-clock", Accuracy: "thread-time", Hz: 2e9, Procs: 2, Wall: 3 * time.Second}
	for i, u := range []float64{.5, .6, .7} {
		p.Samples = append(p.Samples, granularity.Sample{At: int64(i+1) * 1e9, Wall: time.Second, CPU: time.Duration(2e9 * u), Utilization: u,
			CgroupCPU: 6e8, CgroupCapacity: 15e8, MachineCPU: time.Duration(2e9 * u), MachineCapacity: 8e9})
	}
	return asJSON(t, "utilized.json", p)
}

// stackWithCounts is a speedup stack with counters of the system, as a file.
func stackWithCounts(t *testing.T) string {
	s := &speedup.Stack{N: 2, Speedup: 1, Remainder: 1}
	s.Explain(&speedup.Usage{Per: "operation", Single: map[string]float64{"wall-time": 4e6, "processor-time": 4e6, "page-faults": 1},
		Multi: map[string]float64{"wall-time": 4e6, "processor-time": 8e6, "page-faults": 9}})
	return asJSON(t, "stack.json", s)
}
