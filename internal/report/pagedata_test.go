package report

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/speedup"
)

// TestPageHasThrottlingAndUsage: the page has whose utilization it shows, with its confidence
// interval, what the quota of a control group took away, and what the processes of speed-up stacks
// used.
func TestPageHasThrottlingAndUsage(t *testing.T) {
	tasks := &granularity.Profile{Procs: 2, Start: 5, Wall: 3 * time.Second}
	for i, u := range []float64{.5, .6, .7} {
		tasks.Samples = append(tasks.Samples, granularity.Sample{At: int64(i+1)*1e9 + 5, Wall: time.Second, Utilization: u, Throttles: 3, Throttled: 500 * time.Millisecond,
			MachineCPU: time.Duration(2 * u * 1e9), MachineCapacity: 4 * time.Second})
	}
	stack := &speedup.Stack{N: 2, Speedup: 1, Remainder: 1}
	stack.Explain(&speedup.Usage{Per: "operation",
		Single: map[string]float64{"wall-time": 4e6, "processor-time": 4e6, "page-faults": 1}, Multi: map[string]float64{"wall-time": 4e6, "processor-time": 8e6, "page-faults": 1}})
	data, err := newPageData(&Data{
		Bottle:  &bottle.Graph{Wall: time.Second, Idle: time.Second, Procs: 2, Capacity: 2 * time.Second, Throttles: 7, Throttled: 400 * time.Millisecond},
		Tasks:   tasks,
		Speedup: []*speedup.Stack{stack},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	page, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"utilization":["CPU utilization of 2 processors by the process: 60 % ± 25 % (95 % confidence)",` +
			`"CPU utilization by the control group: not counted","CPU utilization of 4 processors by all programs of the machine: 30 % ± 12 % (95 % confidence)"]`,
		`{"at_ns":2000000005,"wall_ns":1000000000,"paused_ns":0,"cpu_ns":0,"voluntary":0,"involuntary":0,"throttles":3,"throttled_ns":500000000,`,
		`"utilization":0.6}`,
		`"The control group of the process used up its quota of processor time 7 times and took away 20% of the capacity`,
		`"usage":[["per operation","1","2","growth","lost"],["wall time","4 ms","4 ms","1x",""],["processor time","4 ms","8 ms","2x","1.00"],["page faults","1","1","1x",""]]`,
		`"next":"Processor time per operation grows from 4 ms to 8 ms: an estimated 1.00 of 2 goes with it, `,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%s is not in\n%s", want, page)
		}
	}
}

// The script of a saved page finds each column of the table of quanta by its name in JSON.
func TestScriptFindsTheColumnsOfQuanta(t *testing.T) {
	script, err := os.ReadFile("page/quanta.js")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`constructor\(\{(.*)\}\)`).FindSubmatch(script)
	data := testData(3)
	page, err := countersObject(data.Counters, newNamer(), false)
	if err != nil {
		t.Fatal(err)
	}
	page["table"].(quanta.Recording).Counters[0].Values[0] = quanta.Unknown
	text, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ Table map[string]any }
	if err := json.Unmarshal(text, &read); err != nil || names == nil {
		t.Fatalf("%v, %q", err, names)
	}
	for name := range strings.SplitSeq(string(names[1]), ", ") {
		name, _, _ = strings.Cut(name, " =")
		if read.Table[name] == nil && page[name] == nil {
			t.Errorf("no column %s in %s", name, text)
		}
	}
	if !strings.Contains(string(text), `"values":[null,`) {
		t.Errorf("an unknown value is not null in %s", text)
	}
}
