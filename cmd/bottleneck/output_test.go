package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/internal/output"
)

func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.svg"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
	}{
		{filepath.Join(dir, "missing", "x.svg"), "x.svg: no such file or directory"},
		{filepath.Join(dir, "folder.svg"), "folder.svg: is a directory"},
		{filepath.Join(locked, "x.svg"), "x.svg: permission denied"},
	} {
		if strings.Contains(tt.want, "permission") && (os.Getuid() <= 0 || runtime.GOOS == "windows") {
			continue // may write everywhere
		}
		// The error is found before the trace is opened.
		for _, args := range [][]string{{"graph", "missing.trace", "-o", tt.name}, {"demo", "-o", tt.name}} {
			r := bottleneck(args...)
			r.want(t, exitFailure, "", ": writing ")
			if !strings.Contains(r.err, tt.want) || strings.Count(r.err, "\n") != 1 {
				t.Errorf("%v: stderr %q, want %q", args, r.err, tt.want)
			}
		}
	}
}

// failing fails every write, as a full disk or a closed pipe does.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// graphObject is the JSON that other programs read, spelled out again.
type graphObject struct {
	Wall     int64    `json:"wall_ns"`
	Idle     int64    `json:"idle_ns"`
	Procs    int      `json:"gomaxprocs"`
	Version  string   `json:"go_version"`
	Start    int64    `json:"start_ns"`
	Warnings []string `json:"warnings"`
	Boxes    []struct {
		Group           string           `json:"group"`
		Kind            string           `json:"kind"`
		Goroutines      int              `json:"goroutines"`
		Share           int64            `json:"share_ns"`
		Running         int64            `json:"running_ns"`
		Parallelism     float64          `json:"parallelism"`
		SelfParallelism *float64         `json:"self_parallelism"`
		Runnable        int64            `json:"runnable_ns"`
		Waiting         map[string]int64 `json:"waiting_ns"`
	} `json:"boxes"`
}

func parseGraph(t *testing.T, text string) graphObject {
	t.Helper()
	var g graphObject
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&g); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	sum := g.Idle
	for _, b := range g.Boxes {
		sum += b.Share
	}
	if sum != g.Wall || g.Wall <= 0 {
		t.Errorf("shares and idle time sum to %d, the wall time is %d", sum, g.Wall)
	}
	return g
}

// checks parse each form back.
var checks = map[string]func(t *testing.T, content string){
	"text": func(t *testing.T, content string) {
		if !strings.HasPrefix(content, "Bottle graph by function: ") || strings.Contains(content, "\x1b") {
			t.Errorf("text:\n%s", content)
		}
	},
	"json": func(t *testing.T, content string) {
		if g := parseGraph(t, content); g.Version != "go1.26" || g.Procs != 2 || len(g.Boxes) < 2 {
			t.Errorf("%+v", g)
		}
	},
	"csv": func(t *testing.T, content string) {
		rows, err := csv.NewReader(strings.NewReader(content)).ReadAll()
		if err != nil || len(rows) < 3 || !strings.Contains(content, "main.") {
			t.Errorf("%d rows, error %v", len(rows), err)
		}
	},
	"md": func(t *testing.T, content string) {
		if !strings.Contains(content, "\n| group | kind | goroutines | share |") || !strings.Contains(content, "\n| **all** |") {
			t.Errorf("md:\n%s", content)
		}
	},
	"svg": func(t *testing.T, content string) {
		d := xml.NewDecoder(strings.NewReader(content))
		elements := 0
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok {
				if elements++; elements == 1 && e.Name.Local != "svg" {
					t.Errorf("the root is <%s>", e.Name.Local)
				}
			}
		}
		if elements < 10 {
			t.Errorf("%d elements", elements)
		}
	},
	"png": func(t *testing.T, content string) {
		if img, err := png.Decode(strings.NewReader(content)); err != nil || img.Bounds().Dx() < 500 {
			t.Errorf("error %v", err)
		}
	},
	"html": func(t *testing.T, content string) {
		if strings.Count(content, "<tr>") < 4 || !strings.Contains(content, "main.main") || !strings.Contains(content, `<img alt="Bottle graph`) {
			t.Errorf("%.500s", content)
		}
	},
	"pprof": func(t *testing.T, content string) {
		p, err := profile.ParseData([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		if p.DefaultSampleType != "share" && p.SampleType[0].Type != "share" || len(p.Sample) < 3 {
			t.Errorf("%v", p)
		}
	},
}

func TestFormats(t *testing.T) {
	for name, check := range checks {
		r := bottleneck("graph", "-format", name, computeTrace)
		if r.status != exitOK || r.err != "" {
			t.Errorf("-format %s: status %d, stderr %q", name, r.status, r.err)
		}
		check(t, r.out)
	}
	bottleneck("graph", computeTrace).want(t, exitOK, "Bottle graph by function: ", "")
}

// One run writes several files. Standard output then stays empty unless requested.
func TestOutputFiles(t *testing.T) {
	dir := t.TempDir()
	args := []string{"graph", computeTrace}
	extensions := map[string]string{}
	for _, form := range output.FormsIn(output.GraphForms) {
		extensions[output.ExtensionOf(form)] = form
	}
	for ext := range extensions {
		args = append(args, "-o", filepath.Join(dir, "graph"+ext))
	}
	bottleneck(args...).want(t, exitOK, "", "")
	for ext, form := range extensions {
		checks[form](t, string(read(t, filepath.Join(dir, "graph"+ext))))
	}
	bottleneck(append(args, "-format", "csv")...).want(t, exitOK, "main.", "")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(extensions) {
		t.Errorf("%d files instead of %d: temporary ones were left (%v)", len(entries), len(extensions), err)
	}
}

func TestFormOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.svg": "svg", "A.SVG": "svg", "dir.svg/a": "", "a.pb.gz": "pprof", "a.gz": "", "a.csv.txt": "text", "a.dot": "", "a.html": "html", "": "", "svg": "",
	} {
		if got := output.FormsIn(output.GraphForms).FormOf(name); got != want {
			t.Errorf("formOf(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestRowOfTraces: several traces come out in one picture or table, with a column for each.
func TestRowOfTraces(t *testing.T) {
	dir := t.TempDir()
	saved := filepath.Join(dir, "saved.json")
	bottleneck("graph", "-o", saved, mutexTrace).want(t, exitOK, "", "")
	files := []string{computeTrace, saved, phasesTrace}
	args := append([]string{"graph"}, files...)
	for _, form := range output.FormsIn(output.RowForms) {
		args = append(args, "-o", filepath.Join(dir, "row"+output.ExtensionOf(form)))
	}
	bottleneck(args...).want(t, exitOK, "", "")
	of := func(ext string) string { return string(read(t, filepath.Join(dir, "row"+ext))) }
	var row struct {
		Runs   []string
		Groups []map[string]any
	}
	if err := json.Unmarshal([]byte(of(".json")), &row); err != nil {
		t.Fatal(err)
	}
	if want := []string{"compute-go1.26.8", "saved", "phases-go1.26.8"}; !slices.Equal(row.Runs, want) {
		t.Errorf("runs %q, want %q", row.Runs, want)
	}
	for i, file := range files {
		sums := map[string]float64{}
		for _, g := range row.Groups {
			sums[g["group"].(string)] += g[fmt.Sprintf("share_ns_%d", i+1)].(float64)
		}
		single := parseGraph(t, bottleneck("graph", "-format", "json", file).out)
		want := map[string]float64{"[idle]": float64(single.Idle)}
		for _, b := range single.Boxes {
			want[b.Group] += float64(b.Share)
		}
		for group, sum := range sums {
			if sum != want[group] {
				t.Errorf("%s, %s: %v ns, alone %v", file, group, sum, want[group])
			}
		}
	}
	for ext, want := range map[string]string{".svg": ">phases-go1.26.8<", ".csv": "group,share_ns_1,share_ns_2,share_ns_3,kind", ".html": "<img alt=", ".md": "| saved |", ".txt": "saved"} {
		if !strings.Contains(of(ext), want) {
			t.Errorf("%s lacks %q:\n%.1000s", ext, want, of(ext))
		}
	}
	bottleneck("graph", computeTrace, "nowhere.trace").want(t, exitFailure, "", "nowhere.trace")
	bottleneck("graph", "-", "-").want(t, exitUsage, "", "standard input is named twice")
	bottleneck("graph", "-window", "1s", computeTrace, saved).want(t, exitUsage, "", "-window is for one trace, not 2")
	bottleneck("graph", "-fail", "parallelism<9", computeTrace, saved).want(t, exitUsage, "", "-fail is for one trace, not 2")
	bottleneck("graph", "-format", "pprof", computeTrace, saved).want(t, exitUsage, "", "several graphs cannot be written as pprof: want svg")
}

// The output has one object a line and window. The windows sum to the whole.
func TestWindows(t *testing.T) {
	whole := parseGraph(t, bottleneck("graph", "-format", "json", phasesTrace).out)
	r := bottleneck("graph", "-window", "100ms", "-format", "json", phasesTrace)
	if r.status != exitOK {
		t.Fatal(r.err)
	}
	var wall, idle int64
	running, sums := map[string]int64{}, map[string]int64{}
	for line := range strings.Lines(r.out) {
		w := parseGraph(t, line)
		if w.Start != wall {
			t.Errorf("a window starts at %d, not %d", w.Start, wall)
		}
		if full := int64(100 * time.Millisecond); w.Wall > full || w.Wall < full && wall+w.Wall != whole.Wall {
			t.Errorf("a window of %d ns at %d", w.Wall, w.Start)
		}
		wall += w.Wall
		idle += w.Idle
		for _, b := range w.Boxes {
			sums[b.Group] += b.Running
		}
	}
	for _, b := range whole.Boxes {
		running[b.Group] += b.Running
	}
	if wall != whole.Wall || idle != whole.Idle {
		t.Errorf("windows sum to %d (idle %d), the whole has %d (%d)", wall, idle, whole.Wall, whole.Idle)
	}
	for group, d := range running {
		if sums[group] != d {
			t.Errorf("%s ran for %d in the windows, %d in the whole", group, sums[group], d)
		}
	}
}

// The flags for drawing reach the graph.
func TestGraphFlags(t *testing.T) {
	plain := parseGraph(t, bottleneck("graph", "-format", "json", phasesTrace).out)
	get := func(args ...string) graphObject {
		r := bottleneck(append([]string{"graph", "-format", "json", phasesTrace}, args...)...)
		if r.status != exitOK {
			t.Errorf("%v: %s", args, r.err)
		}
		return parseGraph(t, r.out)
	}
	if g := get("-from", "200ms", "-to", "300ms"); g.Start != 2e8 || g.Wall != 1e8 {
		t.Errorf("-from, -to: start %d, wall %d", g.Start, g.Wall)
	}
	if g := get("-top", "1"); len(g.Boxes) >= len(plain.Boxes) {
		t.Errorf("-top 1: %d boxes of %d", len(g.Boxes), len(plain.Boxes))
	}
	if g := get("-top", "0"); len(g.Boxes) != len(plain.Boxes) {
		t.Errorf("-top 0: %d boxes of %d", len(g.Boxes), len(plain.Boxes))
	}
	if r := bottleneck("graph", "-offered", "-format", "json", phasesTrace); !strings.Contains(r.out, `"offered": true`) {
		t.Errorf("-offered: %s", r.out)
	}
	for by, want := range map[string]string{
		"function": "main.main", "creator": "(creator not known)", "goroutine": " #", "region": "(no region)", "task": "(no task)",
		"/^(main|runtime)[.]/": `"group": "main"`, "/nothing/": "(no match)",
	} {
		r := bottleneck("graph", "-group", by, "-format", "json", phasesTrace)
		r.want(t, exitOK, want, "")
	}
	bottleneck("graph", "-from", "1h", phasesTrace).want(t, exitFailure, "", "nothing is left from 1h")
	svg := bottleneck("graph", "-format", "svg", "-title", "Phases <&>", phasesTrace)
	svg.want(t, exitOK, "Phases &lt;&amp;&gt;", "")
	if !strings.Contains(svg.out, filepath.Base(phasesTrace)) {
		t.Error("the picture does not name the trace")
	}
}

// The library can read back the graph that -format json writes.
func TestReadBack(t *testing.T) {
	g, err := bottle.ReadJSON(bytes.NewReader([]byte(bottleneck("graph", "-format", "json", mutexTrace).out)))
	if err != nil || len(g.Boxes) == 0 {
		t.Errorf("%v, %v", g, err)
	}
}

// Tables for people begin with the names of the rows, and that of a graph with the neck.
func TestTablesForPeople(t *testing.T) {
	graph := bottleneck("graph", "-format", "md", realTrace("gocompile-c2"))
	graph.want(t, exitOK, "---: |\n| main.main | application |", "")
	waits := bottleneck("contention", "-format", "md", realTrace("stdlog-file"))
	waits.want(t, exitOK, "| mutex | log.Logger#2 | log.Logger | main.worker | log.(\\*Logger).output | main.worker | log.(\\*Logger).output | 2,409 | 1.18 s |", "")
	if strings.Contains(waits.out, " &lt; ") || strings.Contains(waits.out, "syscall=") {
		t.Errorf("a table for people has call chains, or nanoseconds:\n%s", waits.out)
	}
	bottleneck("diff", "-format", "md", mutexTrace, computeTrace).want(t, exitOK, "\n| group | kind | share before |", "")
	bottleneck("localhost:6060").want(t, exitUsage, "", `unknown command "localhost:6060"; a URL begins with http://`)
}
