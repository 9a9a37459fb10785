package bottle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
	"github.com/bottleneck-go/bottleneck/verdict"
)

func ExampleWriteJSON() {
	g := &bottle.Graph{
		Wall: 3 * time.Millisecond, Idle: time.Millisecond, Procs: 4, GoVersion: "go1.26", GroupBy: "function",
		Boxes: []bottle.Box{{
			Group: "main.worker", Kind: bottle.Application, Goroutines: 4,
			Share: 2 * time.Millisecond, Running: 6 * time.Millisecond, Parallelism: 3, SelfParallelism: math.NaN(),
			Waiting: map[string]time.Duration{"mutex": 500 * time.Microsecond},
		}},
	}
	g.SetProcs(4)
	if err := bottle.WriteJSON(os.Stdout, g); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {
	//   "wall_ns": 3000000,
	//   "idle_ns": 1000000,
	//   "capacity_ns": 12000000,
	//   "idle_lost_ns": 4000000,
	//   "gomaxprocs": 4,
	//   "go_version": "go1.26",
	//   "start_ns": 0,
	//   "group_by": "function",
	//   "warnings": [],
	//   "boxes": [
	//     {
	//       "group": "main.worker",
	//       "kind": "application",
	//       "goroutines": 4,
	//       "share_ns": 2000000,
	//       "running_ns": 6000000,
	//       "lost_ns": 2000000,
	//       "parallelism": 3,
	//       "runnable_ns": 0,
	//       "waiting_ns": {
	//         "mutex": 500000
	//       },
	//       "self_parallelism": null
	//     }
	//   ]
	// }
}

func ExampleReadJSON() {
	g, err := bottle.ReadJSON(strings.NewReader(`{"wall_ns": 1000, "idle_ns": 400, "capacity_ns": 2000, "idle_lost_ns": 800, "gomaxprocs": 2, "boxes": [
		{"group": "main.main", "kind": "application", "goroutines": 1, "share_ns": 600, "running_ns": 600, "lost_ns": 600, "parallelism": 1}]}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Capacity, g.Lost(), g.IdleLost)
	// Output: 2µs 1.4µs 800ns
}

// full has a value in every field, and the special ones: no waits, an unknown self-parallelism, one
// of each kind.
func full() *bottle.Graph {
	g := &bottle.Graph{
		CPUs: 1.5, Throttles: 3, Throttled: 40, Start: 5 * time.Second, Wall: 1000, Idle: 100, Procs: 4, GoVersion: "go1.26", Offered: true, GroupBy: "creator",
		Boxes: []bottle.Box{
			{Group: "main.worker", Kind: bottle.Application, Goroutines: 3, Share: 500, Running: 1601, Parallelism: 1601. / 500, SelfParallelism: 1. / 3, Runnable: 7,
				Waiting: map[string]time.Duration{"mutex": 12, "chan-receive": 1 << 60}},
			{Group: "2 others", Kind: bottle.GC, Goroutines: 2, Share: 300, Running: 600, Parallelism: 2, SelfParallelism: math.NaN(), Waiting: map[string]time.Duration{}},
			{Group: "", Kind: bottle.Tracer, Share: 100, Running: 100, Parallelism: 1, SelfParallelism: 1, Waiting: map[string]time.Duration{}},
		},
		Warnings: []string{"The trace ends early: <half> & half."},
		Verdict: &verdict.Verdict{
			Wall: 1000, Procs: 4, Capacity: 4000, Goroutines: 3,
			Parts: []verdict.Part{{Name: "your code", Time: 2500, Share: .625}, {Name: "idle", Time: 1500, Share: .375}},
			Findings: []verdict.Finding{{Kind: "serial", Title: "It is <serial>.", Where: []timeline.Place{{Func: "main.worker", File: "/src/main.go", Line: 12}},
				Advice: "Divide it.", Lost: 1500, Share: .375, Gain: 1.6, Basis: "1500 of 4000", Rows: []int{1, 7}}},
			Warnings: []string{"A row is missing."},
		},
	}
	g.SetProcs(4)
	return g
}

// same compares two graphs; NaN equals NaN, and nil equals empty.
func same(t *testing.T, got, want *bottle.Graph) {
	t.Helper()
	normal := func(g *bottle.Graph) string {
		c := *g
		c.Windows, c.Boxes, c.Warnings, c.Verdict = nil, nil, nil, nil
		s := fmt.Sprintf("%#v %q %d windows %+v", c, g.Warnings, len(g.Windows), g.Verdict)
		for _, b := range g.Boxes {
			exported, _, _ := strings.Cut(fmt.Sprintf("%#v", b), ", exact:") // maps print sorted
			s += "\n" + exported
		}
		return s
	}
	if got, want := normal(got), normal(want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i := range want.Windows {
		same(t, got.Windows[i], want.Windows[i])
	}
}

func TestJSONRoundTrip(t *testing.T) {
	want := full()
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	byValue, err := json.Marshal(*want)
	if err != nil || !bytes.Equal(data, byValue) {
		t.Errorf("a graph by value gives %s, %v", byValue, err)
	}
	got := new(bottle.Graph)
	if err := json.Unmarshal(data, got); err != nil {
		t.Fatal(err)
	}
	same(t, got, want)

	var buf bytes.Buffer
	if err := bottle.WriteJSON(&buf, want); err != nil {
		t.Fatal(err)
	}
	got, err = bottle.ReadJSON(&buf)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
}

// Other programs rely on the form of the JSON. This is all of it.
func TestJSONForm(t *testing.T) {
	g := full()
	g.Boxes = g.Boxes[:2]
	data, err := g.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"wall_ns":1000,"idle_ns":100,"capacity_ns":4000,"idle_lost_ns":400,"gomaxprocs":4,"cpus":1.5,"throttles":3,"throttled_ns":40,"go_version":"go1.26","start_ns":5000000000,"offered":true,"group_by":"creator",` +
		`"warnings":["The trace ends early: <half> & half."],"boxes":[` +
		`{"group":"main.worker","kind":"application","goroutines":3,"share_ns":500,"running_ns":1601,"lost_ns":399,"parallelism":3.202,"runnable_ns":7,"waiting_ns":{"chan-receive":1152921504606846976,"mutex":12},"self_parallelism":0.3333333333333333},` +
		`{"group":"2 others","kind":"gc","goroutines":2,"share_ns":300,"running_ns":600,"lost_ns":600,"parallelism":2,"runnable_ns":0,"waiting_ns":{},"self_parallelism":null}],` +
		`"verdict":{"wall":1000,"procs":4,"capacity":4000,"goroutines":3,"parts":[{"name":"your code","time":2500,"share":0.625},{"name":"idle","time":1500,"share":0.375}],` +
		`"findings":[{"kind":"serial","title":"It is <serial>.","where":[{"func":"main.worker","file":"/src/main.go","line":12}],"advice":"Divide it.","lost":1500,"share":0.375,"gain":1.6,"basis":"1500 of 4000","rows":[1,7]}],` +
		`"warnings":["A row is missing."]}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}

	data, err = new(bottle.Graph).MarshalJSON()
	want = `{"wall_ns":0,"idle_ns":0,"capacity_ns":0,"idle_lost_ns":0,"gomaxprocs":0,"go_version":"","start_ns":0,"group_by":"","warnings":[],"boxes":[]}`
	if err != nil || string(data) != want {
		t.Errorf("an empty graph: got %s, %v, want %s", data, err, want)
	}
}

func TestJSONCannotHoldInfinity(t *testing.T) {
	for _, spoil := range []func(*bottle.Box){
		func(b *bottle.Box) { b.Parallelism = math.Inf(1) },
		func(b *bottle.Box) { b.Parallelism = math.NaN() },
		func(b *bottle.Box) { b.SelfParallelism = math.Inf(1) },
	} {
		g := full()
		spoil(&g.Boxes[0])
		if err := bottle.WriteJSON(new(bytes.Buffer), g); err == nil || !strings.Contains(err.Error(), "main.worker") {
			t.Errorf("want an error that names the box, got %v", err)
		}
	}
}

// A name that contains a terminal escape sequence or reverses the text direction is written
// escaped.
func TestJSONHostileNames(t *testing.T) {
	g := full()
	g.Boxes[0].Group = "\x1b[31m\u009b2J\u202e\U000e0041\u007f世界<-"
	var buf bytes.Buffer
	if err := bottle.WriteJSON(&buf, g); err != nil {
		t.Fatal(err)
	}
	if want := `"\u001b[31m\u009b2J\u202e\udb40\udc41\u007f世界<-"`; !strings.Contains(buf.String(), want) {
		t.Errorf("want %s in %s", want, buf.String())
	}
	got, err := bottle.ReadJSON(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if got.Boxes[0].Group != g.Boxes[0].Group {
		t.Errorf("name came back as %q", got.Boxes[0].Group)
	}
}

func TestJSONWindows(t *testing.T) {
	worker := bottle.Box{Group: "main.worker", Kind: bottle.Application, Goroutines: 4, Share: 80, Running: 240, Parallelism: 3, SelfParallelism: 2, Waiting: map[string]time.Duration{"mutex": 5}}
	later := bottle.Box{Group: "main.worker", Kind: bottle.Application, Goroutines: 2, Share: 40, Running: 40, Parallelism: 1, SelfParallelism: 1, Runnable: 3, Waiting: map[string]time.Duration{"mutex": 6, "select": 1}}
	init := bottle.Box{Group: "main.init", Kind: bottle.Application, Goroutines: 1, Share: 60, Running: 60, Parallelism: 1, SelfParallelism: math.NaN(), Waiting: map[string]time.Duration{}}
	g := &bottle.Graph{
		Start: 1000, Wall: 200, Idle: 20, Procs: 4, GroupBy: "function", GoVersion: "go1.26",
		Windows: []*bottle.Graph{
			{Start: 1000, Wall: 100, Idle: 20, Procs: 4, GroupBy: "function", GoVersion: "go1.26", Boxes: []bottle.Box{worker}, Warnings: []string{"W."}},
			{Start: 1100, Wall: 100, Procs: 2, GroupBy: "function", GoVersion: "go1.26", Boxes: []bottle.Box{init, later}, Warnings: []string{"W."}},
		},
		Warnings: []string{"W."},
	}
	var buf bytes.Buffer
	if err := bottle.WriteJSON(&buf, g); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n"); len(lines) != 2 {
		t.Errorf("want a line for each of 2 windows, got %q", lines)
	}
	got, err := bottle.ReadJSON(&buf)
	if err != nil {
		t.Fatal(err)
	}
	// A member of main.worker ran for 240/2 + 40/1 = 160 ns; 280 ns of running make 1.75.
	g.Boxes = []bottle.Box{
		{Group: "main.worker", Kind: bottle.Application, Goroutines: 4, Share: 120, Running: 280, Parallelism: 280. / 120, SelfParallelism: 1.75, Runnable: 3, Waiting: map[string]time.Duration{"mutex": 11, "select": 1}},
		init,
	}
	same(t, got, g)
}

func TestReadJSONErrors(t *testing.T) {
	const box = `{"group":"main.main","kind":"application","goroutines":1,"share_ns":6,"running_ns":6,"parallelism":1}`
	graph := func(boxes string) string { return `{"wall_ns":10,"idle_ns":4,"boxes":[` + boxes + `]}` }
	lost := func(capacity, box string) string {
		return `{"wall_ns":10,"idle_ns":4,` + capacity + `,"boxes":[` + box + `]}`
	}
	with := func(old, new string) string { return graph(strings.Replace(box, old, new, 1)) }
	if _, err := bottle.ReadJSON(strings.NewReader(graph(box))); err != nil {
		t.Fatalf("the graph that the cases spoil: %v", err)
	}
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "the input is empty"},
		{"blanks", " \n", "the input is empty"},
		{"not JSON", "<html>", "invalid character '<'"},
		{"an array", "[1]", "expected an object with wall_ns, idle_ns and boxes, found a JSON array"},
		{"null", "null", "not a bottle graph"},
		{"JSON of another program", `{"name":"x"}`, "not a bottle graph: wall_ns, idle_ns or boxes is missing"},
		{"cut", graph(box)[:40], "the input ends inside the object"},
		{"something after it", graph(box) + "]", "object 2, from byte 138: invalid character ']'"},
		{"a fraction of a nanosecond", with(`"share_ns":6`, `"share_ns":6.5`), "boxes.share_ns: expected int64, found a JSON number 6.5"},
		{"a name that is no string", with(`"main.main"`, `7`), "boxes.group: expected string, found a JSON number"},
		{"negative wall", `{"wall_ns":-1,"idle_ns":0,"boxes":[]}`, "wall_ns is negative: -1"},
		{"negative idle", `{"wall_ns":1,"idle_ns":-1,"boxes":[]}`, "idle_ns is negative: -1"},
		{"negative processors", `{"wall_ns":1,"idle_ns":1,"gomaxprocs":-2,"boxes":[]}`, "gomaxprocs is negative: -2"},
		{"start before the trace", `{"wall_ns":1,"idle_ns":1,"start_ns":-5,"boxes":[]}`, "start_ns is out of range: -5"},
		{"negative capacity", `{"wall_ns":1,"idle_ns":1,"capacity_ns":-2,"idle_lost_ns":0,"boxes":[]}`, "capacity_ns is negative: -2"},
		{"no idle capacity", `{"wall_ns":1,"idle_ns":1,"capacity_ns":2,"boxes":[]}`, "running, lost and idle capacity sum to"},
		{"more idle capacity than there is", `{"wall_ns":1,"idle_ns":1,"capacity_ns":2,"idle_lost_ns":3,"boxes":[]}`, "idle_lost_ns is out of range: 3"},
		{"lost capacity that does not sum", `{"wall_ns":1,"idle_ns":1,"capacity_ns":2,"idle_lost_ns":1,"boxes":[]}`, "running, lost and idle capacity sum to"},
		{"a box without lost capacity", lost(`"capacity_ns":20,"idle_lost_ns":8`, box), "running, lost and idle capacity sum to"},
		{"lost capacity above all that there is", lost(`"capacity_ns":20,"idle_lost_ns":8`, strings.Replace(box, `"share_ns"`, `"lost_ns":9223372036854775807,"share_ns"`, 1)), "lost_ns is out of range"},
		{"lost capacity without capacity", lost(`"capacity_ns":0,"idle_lost_ns":0`, strings.Replace(box, `"share_ns"`, `"lost_ns":1,"share_ns"`, 1)), "lost_ns is 1, but capacity_ns is 0"},
		{"parts of a verdict", `{"wall_ns":1,"idle_ns":1,"boxes":[],"verdict":{"wall":1,"capacity":4,"parts":[{"name":"idle","time":3,"share":0.75}]}}`, "the parts sum to 3 ns, and the capacity is 4 ns"},
		{"a finding without a title", `{"wall_ns":1,"idle_ns":1,"boxes":[],"verdict":{"findings":[{"kind":"lock"}]}}`, "finding 1 has no title"},
		{"negative throttles", `{"wall_ns":1,"idle_ns":1,"throttles":-1,"boxes":[]}`, "throttles is out of range: -1"},
		{"negative cpus", `{"wall_ns":1,"idle_ns":1,"cpus":-1,"boxes":[]}`, "cpus is out of range: -1"},
		{"end beyond all time", `{"wall_ns":9,"idle_ns":9,"start_ns":9223372036854775807,"boxes":[]}`, "start_ns is out of range"},
		{"no share", with(`"share_ns":6,`, ``), "idle_ns and the shares sum to 4, not to wall_ns, 10"},
		{"no running", with(`"running_ns":6,`, ``), `box 1 ("main.main"): running_ns is 0, but parallelism is 1`},
		{"no parallelism", with(`,"parallelism":1`, ``), "parallelism is missing"},
		{"negative share", with(`"share_ns":6`, `"share_ns":-6`), "share_ns is negative: -6"},
		{"negative running", with(`"running_ns":6`, `"running_ns":-6`), "running_ns is negative: -6"},
		{"negative runnable", with(`"running_ns"`, `"runnable_ns":-1,"running_ns"`), "runnable_ns is negative: -1"},
		{"negative parallelism", with(`"parallelism":1`, `"parallelism":-1`), "parallelism is negative: -1"},
		{"infinite parallelism", with(`"parallelism":1`, `"parallelism":1e999`), "parallelism: expected float64, found a JSON number 1e999"},
		{"negative self-parallelism", with(`"running_ns"`, `"self_parallelism":-1,"running_ns"`), "self_parallelism is negative: -1"},
		{"negative goroutines", with(`"goroutines":1`, `"goroutines":-1`), "goroutines is out of range: -1"},
		{"negative wait", with(`"running_ns"`, `"waiting_ns":{"mutex":-3},"running_ns"`), `waiting_ns "mutex" is negative: -3`},
		{"shares below the wall time", with(`"share_ns":6`, `"share_ns":5`), "idle_ns and the shares sum to 9, not to wall_ns, 10"},
		{"shares above the wall time", with(`"share_ns":6`, `"share_ns":7`), `idle_ns and the shares up to box 1 ("main.main") exceed wall_ns, 10`},
		{"sums that overflow", with(`"running_ns":6`, `"running_ns":9223372036854775807,"runnable_ns":1`), "sum to more than 292 years"},
		{"windows that overlap", graph(box) + graph(box), "object 2 starts at 0s, before object 1 ends at 10ns"},
		{"windows of two groupings", graph(box) + `{"wall_ns":0,"idle_ns":0,"start_ns":10,"group_by":"creator","boxes":[]}`, `graph 2 is grouped by "creator"`},
		{"offered after actual", graph(box) + `{"wall_ns":0,"idle_ns":0,"start_ns":10,"offered":true,"boxes":[]}`, "graph 2 and earlier ones are not all of offered parallelism"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := bottle.ReadJSON(strings.NewReader(c.in))
			// From Go 1.27 on, the path in an error of encoding/json has the index
			// of the element.
			if err == nil || !strings.Contains(strings.Replace(err.Error(), ": boxes.0.", ": boxes.", 1), c.want) {
				t.Errorf("%s:\ngot  %v\nwant …%s…", c.in, err, c.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "bottle: reading JSON: ") {
				t.Errorf("error does not name what was being read: %v", err)
			}
		})
	}
}

// FuzzReadJSON: no input causes a panic. An accepted input is a valid graph: its parts sum to the
// wall time, and it can be written and read back unchanged.
func FuzzReadJSON(f *testing.F) {
	testenv.BriefFuzzing(f)
	for _, g := range []*bottle.Graph{{}, full(), {Windows: []*bottle.Graph{full(), {Start: time.Hour, GroupBy: "creator", Offered: true}}}} {
		var buf bytes.Buffer
		if err := bottle.WriteJSON(&buf, g); err != nil {
			f.Fatal(err)
		}
		f.Add(buf.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		g, err := bottle.ReadJSON(bytes.NewReader(in))
		if err != nil {
			return
		}
		for _, part := range append(g.Windows, g, g.Top(1)) {
			sum := part.Idle
			for i := range part.Boxes {
				b := &part.Boxes[i]
				if b.Share < 0 || b.Running < 0 || b.Runnable < 0 || b.Blocked() < 0 || b.Goroutines < 0 || !(b.Parallelism >= 0) || b.SelfParallelism < 0 {
					t.Fatalf("accepted a box with something negative: %+v", b)
				}
				sum += b.Share
			}
			if sum != part.Wall {
				t.Fatalf("shares and idle sum to %d, wall is %d", sum, part.Wall)
			}
		}
		var buf bytes.Buffer
		if err := bottle.WriteJSON(&buf, g); err != nil {
			t.Fatal(err)
		}
		again, err := bottle.ReadJSON(&buf)
		if err != nil {
			t.Fatal(err)
		}
		if len(g.Windows) != 1 {
			same(t, again, g)
		}
	})
}
