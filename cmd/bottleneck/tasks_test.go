package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/granularity"
)

// tasksFile is a recorded profile of two classes, as a file.
func tasksFile(t *testing.T) string {
	t.Helper()
	p := &granularity.Profile{Source: "rseq-clock", Accuracy: "thread-time", Hz: 2e9, Procs: 2, Wall: time.Second}
	for _, name := range []string{"example.com/shop.price", "stock"} {
		c := granularity.Class{Name: name, ActiveShare: 1}
		site := granularity.Site{Pool: "shop", Created: []granularity.Frame{{Func: "main.create", File: "main.go", Line: 3}}, Submitted: []granularity.Frame{{Func: "main.submit", File: "main.go", Line: 4}}}
		for range 1000 {
			site.Cycles.Add(700)
			site.WallNS.Add(400)
		}
		site.Tasks, c.Tasks, c.Cycles, c.WallNS = 1000, 1000, site.Cycles, site.WallNS
		c.Sites = []granularity.Site{site}
		c.Series = []granularity.Bin{{At: 5e8, Ended: 1000, Busy: 4e5, Active: 0.1}}
		p.Classes = append(p.Classes, c)
	}
	p.Samples = []granularity.Sample{{At: 1e9, Wall: time.Second, Utilization: 0.5, Voluntary: 9}}
	p.Diagnose()
	var b bytes.Buffer
	if err := granularity.WriteJSON(&b, p); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "tasks.json")
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTasks(t *testing.T) {
	file := tasksFile(t)
	for _, tt := range []struct{ args, out string }{
		{"", "shop.price  1,000  700  700  700  700  700   700  fine"},
		{"", "1,000 tasks created at main.create (main.go:3)"},
		{"", "1,000 tasks submitted at main.submit (main.go:4)"},
		{"-class ^stock$", "1,000 tasks of 1 class "},
		{"-format csv", "example.com/shop.price,fine,shop,main.create (main.go:3),main.submit (main.go:4),1000,700,"},
		{"-format json -top 1", `{"source":"rseq-clock","accuracy":"thread-time","hz":2000000000,"warnings":[],"classes":[{"class":"example.com/shop.price","tasks":1000,"cycles":{"p1":700,`},
		{"-format svg -title Shopping", "<title>Shopping</title>"},
		{"-format svg -strip", "CPU utilization"},
		{"-format png", "\x89PNG"},
		{"-format png -strip", "\x89PNG"},
		{"-format pprof", "\x1f\x8b"},
	} {
		bottleneck(append(append([]string{"tasks"}, strings.Fields(tt.args)...), file)...).want(t, exitOK, tt.out, "")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	commandWith(bytes.NewReader(append([]byte("\n "), text...)), "tasks").want(t, exitOK, "2,000 tasks of 2 classes", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(text) }))
	defer server.Close()
	bottleneck("tasks", server.URL).want(t, exitOK, "2,000 tasks of 2 classes", "")
}

// The file name decides the output form. Written files can be read again.
func TestTasksFiles(t *testing.T) {
	dir, file := t.TempDir(), tasksFile(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	bottleneck("tasks", "-o", at("a.json"), "-o", at("a.pb.gz"), "-o", at("a.svg"), "-o", at("a.png"), "-o", at("a.csv"), "-o", at("a.txt"), file).want(t, exitOK, "", "")
	before, err1 := os.ReadFile(file)
	after, err2 := os.ReadFile(at("a.json"))
	if err1 != nil || err2 != nil || !bytes.Equal(before, after) {
		t.Errorf("the JSON is not the same: %v %v", err1, err2)
	}
	f, err := os.Open(at("a.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil || p.Sample[0].Location[1].Line[0].Function.Name != "main.create" {
		t.Errorf("%v: %v", err, p)
	}
}

func TestTasksOfTraces(t *testing.T) {
	for _, tt := range []struct{ args, out string }{
		{"", "Source: trace-running, accuracy: upper-bound"},
		{"-aggregate", "Granularity in running time"},
		{"-user-tasks", "Source: trace-running"},
		{"-format csv", "running_ns_p50"},
	} {
		bottleneck(append(append([]string{"tasks"}, strings.Fields(tt.args)...), phasesTrace)...).want(t, exitOK, tt.out, "")
	}
	bottleneck("tasks", computeTrace).want(t, exitOK, "There is no user region (runtime/trace.StartRegion) in the trace", "")
	bottleneck("tasks", "-fail", "tasks>1", computeTrace).want(t, exitFailure, "2 tasks created at ", "-fail: tasks>1: got 2")
	for format, want := range map[string]string{
		"csv": "work.computeWorker,ok,", "md": "work.computeWorker", "json": `"of":"goroutines"`, "svg": "work.computeWorker", "svg -strip": "goroutine switches", "pprof": "\x1f\x8b",
	} {
		bottleneck(append(append([]string{"tasks", "-format"}, strings.Fields(format)...), computeTrace)...).want(t, exitOK, want, "")
	}
	text, err := os.ReadFile(phasesTrace)
	if err != nil {
		t.Fatal(err)
	}
	commandWith(bytes.NewReader(text[:len(text)-100]), "tasks").want(t, exitFailure, "could not be read to its end", "standard input: offset ")
}

func TestTasksErrors(t *testing.T) {
	file := tasksFile(t)
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"source":"x"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   string
		status int
		err    string
	}{
		{"-class ( " + file, exitUsage, "-class (: error parsing regexp"},
		{"-class nothing " + file, exitFailure, `no class matches "nothing": the classes are example.com/shop.price, stock`},
		{"-top -1 " + file, exitUsage, "-top -1"},
		{"-aggregate " + file, exitUsage, "-aggregate is for traces"},
		{"-format dot " + file, exitUsage, `-format dot: want`},
		{"-o x.pdf " + file, exitUsage, "want a file ending in"},
		{"-strips " + file, exitUsage, "did you mean -strip?"},
		{"-o /nowhere/x.svg " + file, exitFailure, "writing /nowhere/x.svg"},
		{file + " " + file, exitUsage, "more than one input"},
		{"", exitUsage, "no input"},
		{"nowhere.json", exitFailure, "nowhere.json: no such file"},
		{"run_test.go", exitFailure, "run_test.go: not a Go execution trace"},
		{broken, exitFailure, "broken.json: granularity: reading JSON: this is no profile of tasks"},
	} {
		bottleneck(append([]string{"tasks"}, strings.Fields(tt.args)...)...).want(t, tt.status, "", tt.err)
	}
	bottleneck("tasks", "-h").want(t, exitOK, "  bottleneck tasks [flags] [FILE | URL | -]\n", "")
	bottleneck("help").want(t, exitOK, "  tasks       show how large the tasks are", "")
}
