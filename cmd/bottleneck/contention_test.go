package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/output"
)

// contentionObject is the JSON that other programs read, spelled out again.
type contentionObject struct {
	Wait         int64    `json:"wait_ns"`
	HandOff      int64    `json:"handoff_ns"`
	Unattributed int64    `json:"unattributed_ns"`
	Contentions  int64    `json:"contentions"`
	Warnings     []string `json:"warnings"`
	Kinds        map[string]struct {
		Contentions int64 `json:"contentions"`
		Wait        int64 `json:"wait_ns"`
	} `json:"kinds"`
	Pairs []struct {
		Kind        string   `json:"kind"`
		Lock        string   `json:"lock"`
		Class       string   `json:"class"`
		WaiterGroup string   `json:"waiter_group"`
		WaiterStack []string `json:"waiter_stack"`
		OwnerGroup  string   `json:"owner_group"`
		OwnerStack  []string `json:"owner_stack"`
		Contentions int64    `json:"contentions"`
		Wait        int64    `json:"wait_ns"`
	} `json:"pairs"`
}

func parseContention(t *testing.T, content string) contentionObject {
	t.Helper()
	var o contentionObject
	if err := json.Unmarshal([]byte(content), &o); err != nil {
		t.Fatalf("%v in\n%s", err, content)
	}
	sum, kinds := o.HandOff+o.Unattributed, int64(0)
	for _, p := range o.Pairs {
		sum += p.Wait
	}
	for _, k := range o.Kinds {
		kinds += k.Wait
	}
	if sum != o.Wait || kinds != o.Wait {
		t.Errorf("pairs, hand-off and unattributed time sum to %d, kinds to %d, wait_ns is %d", sum, kinds, o.Wait)
	}
	return o
}

var contentionChecks = map[string]func(t *testing.T, content string){
	"text": func(t *testing.T, content string) {
		if !strings.HasPrefix(content, "Goroutines were blocked ") || !strings.Contains(content, "by owner-func > lock > waiter-func\n") || strings.Contains(content, "\x1b") {
			t.Errorf("text:\n%s", content)
		}
	},
	"json": func(t *testing.T, content string) {
		o := parseContention(t, content)
		frame := regexp.MustCompile(`^\S+ \S+:\d+$`)
		if len(o.Pairs) == 0 || o.Kinds["mutex"].Contentions < 100 || o.Warnings == nil || !frame.MatchString(o.Pairs[0].WaiterStack[0]) {
			t.Errorf("%+v", o)
		}
	},
	"csv": func(t *testing.T, content string) {
		rows, err := csv.NewReader(strings.NewReader(content)).ReadAll()
		if err != nil || len(rows) < 3 || rows[0][0] != "kind" || !strings.Contains(content, "mutexWorker") {
			t.Errorf("%d rows, error %v", len(rows), err)
		}
	},
	"svg": checks["svg"],
	"png": checks["png"],
	"pprof": func(t *testing.T, content string) {
		p, err := profile.ParseData([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		if p.DefaultSampleType != "delay" || len(p.Sample) < 2 {
			t.Errorf("%v", p)
		}
	},
	"md": func(t *testing.T, content string) {
		if !strings.Contains(content, "\n| kind | lock | class | waiter |") || !strings.Contains(content, "work.mutexWorker |") {
			t.Errorf("md:\n%s", content)
		}
	},
	"html": func(t *testing.T, content string) {
		if !strings.Contains(content, "<th scope=\"col\" title=") || !strings.Contains(content, "work.mutexWorker</td>") || !strings.Contains(content, "data:image/svg+xml") {
			t.Errorf("html:\n%s", content)
		}
	},
	"folded": func(t *testing.T, content string) {
		if !regexp.MustCompile(`(?m)^\S+mutexWorker;\[lock\] \S+mutexWorker;\[held by\];\S+mutexWorker \d+$`).MatchString(content) {
			t.Errorf("folded:\n%s", content)
		}
	},
}

func TestContentionForms(t *testing.T) {
	args := []string{"contention"}
	dir := t.TempDir()
	files := map[string]string{"svg": "a.svg", "png": "a.png", "pprof": "a.pb.gz", "json": "a.json", "csv": "a.csv", "md": "a.md", "html": "a.html", "text": "a.TXT", "folded": "a.folded"}
	for name, check := range contentionChecks {
		r := bottleneck("contention", "-format", name, mutexTrace)
		if r.status != exitOK || r.err != "" {
			t.Errorf("-format %s: status %d, stderr %q", name, r.status, r.err)
		}
		check(t, r.out)
		args = append(args, "-o", filepath.Join(dir, files[name]))
	}
	bottleneck(append(args, mutexTrace)...).want(t, exitOK, "", "")
	for name, file := range files {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		contentionChecks[name](t, string(b))
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(files) {
		t.Errorf("%d files, want %d, error %v", len(entries), len(files), err)
	}
	if len(output.ContentionForms) != len(contentionChecks) {
		t.Error("a form has no check")
	}
}

// contended makes the JSON of a profile of a program whose main goroutine waits once for the other
// one.
func contended(t *testing.T) (object string) {
	t.Helper()
	if err := contention.Start(contention.Options{Goroutines: true}); err != nil {
		t.Fatal(err)
	}
	mu := contention.NewMutex("the books")
	var wg sync.WaitGroup
	locked := make(chan bool)
	wg.Go(func() {
		mu.Lock()
		close(locked)
		time.Sleep(5 * time.Millisecond)
		mu.Unlock()
	})
	<-locked
	mu.Lock()
	mu.Unlock() //lint:ignore SA2001 the test is about the wait
	wg.Wait()
	if err := contention.Stop(); err != nil {
		t.Fatal(err)
	}
	object = filepath.Join(t.TempDir(), "run.json")
	f, err := os.Create(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := contention.WriteJSON(f, contention.Snapshot()); err != nil {
		t.Fatal(err)
	}
	return object
}

// JSON is read from files, pipes and servers.
func TestContentionInputs(t *testing.T) {
	object := contended(t)
	content, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(content) }))
	defer server.Close()
	var sums []int64
	for _, r := range []outcome{
		bottleneck("contention", "-format", "json", object),
		commandWith(bytes.NewReader(content), "contention", "-format=json"),
		bottleneck("contention", "-format", "json", server.URL),
	} {
		r.want(t, exitOK, `"lock": "the books"`, "")
		sums = append(sums, parseContention(t, r.out).Wait)
	}
	for _, s := range sums {
		if s != sums[0] || s <= 0 {
			t.Errorf("the inputs differ: %v", sums)
		}
	}
	bottleneck("contention", "-by", "lock,owner-goroutine", object).want(t, exitOK, "by lock > owner-goroutine\n", "")
}

// JSON without short rows states how much it omits and can be read back. So does the root of all
// waits.
func TestContentionMinAndRoots(t *testing.T) {
	r := bottleneck("contention", "-min", "1s", "-format", "json", mutexTrace)
	r.want(t, exitOK, "Waits shorter than 1s are left out (-min): ", "")
	p := parseContention(t, r.out)
	if len(p.Pairs) == 0 || len(p.Warnings) == 0 {
		t.Fatalf("%+v", p)
	}
	commandWith(strings.NewReader(r.out), "contention").want(t, exitOK, "are left out (-min)", "")
	// Main waits for the last worker, which waits for the lock most of the time.
	bottleneck("contention", "-kind", "waitgroup", "-by", "owner-func,root-func", mutexTrace).want(t, exitOK, "by owner-func > root-func\n", "")
	bottleneck("contention", "-format", "folded", "-pprof", "root", mutexTrace).want(t, exitOK, "work.mutexWorker ", "")
	bottleneck("contention", "-by", "root-fun", mutexTrace).want(t, exitUsage, "", "did you mean root-func?")
}

func TestContentionChoices(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
		not  string
	}{
		{"-by waiter-func,kind", "by waiter-func > kind\n", "[lock]"},
		{"-by owner-group", "by owner-group\n", ""},
		{"-kind waitgroup", "Goroutines were blocked 894 ms in 1 contention in ", "mutexWorker#1"},
		{"-kind locks", "mutexWorker#1", "Mutex#3"},
		{"-kind cond", "No goroutine waited in ", "waitgroup"},
		{"-kind cond", "for nothing that -kind and -focus keep", ""},
		{"-v", " for each contention.\n", ""},
		{"-focus nobody", "for nothing that -kind and -focus keep", ""},
		{"-focus Mutex", "mutexWorker", "-kind and -focus keep"},
		{"-focus Mutex$", "Mutex#3", "hand-off]\n     "},
		{"-min 1s", "(1 more lock)", "894 ms\n"},
		{"-top 1 -by kind,owner-func,waiter-func,owner-stack -kind locks", "work.mutexWorker", "#3"},
		{"-format folded -pprof waiter", "mutexWorker", "[lock]"},
		{"-format csv -min 1s", "owner_stack", "[hand-off]"},
		{"-format svg -title A<b -kind locks", "A&lt;b", ""},
	} {
		r := bottleneck(append(append([]string{"contention"}, strings.Fields(tt.args)...), mutexTrace)...)
		if r.want(t, exitOK, tt.want, ""); tt.not != "" && strings.Contains(r.out, tt.not) {
			t.Errorf("%s: there is %q in\n%s", tt.args, tt.not, r.out)
		}
	}
	if svg := bottleneck("contention", "-format", "svg", mutexTrace).out; !strings.Contains(svg, filepath.Base(mutexTrace)) || strings.Contains(svg, mutexTrace) {
		t.Error("the picture does not name the trace, or names folders of this machine")
	}
	r := bottleneck("contention", "-format", "pprof", "-pprof", "joined", mutexTrace)
	if p, err := profile.ParseData([]byte(r.out)); err != nil || !strings.Contains(p.String(), "[held by]") {
		t.Error(err, "or no joined stacks")
	}
}

func TestContentionFail(t *testing.T) {
	for _, tt := range []struct {
		expr string
		want string // of the error; empty if the condition does not hold
	}{
		{"waited>10s", ""},
		{"waited>1s, contentions>=1000", "-fail: waited>1s: got 3."},
		{"contentions<1000,waiting>=1", "contentions<1000: got 294.00; waiting>=1: got 3."},
		{"longest>1ms", "longest>1ms: got 894ms"},
		{"unattributed-%>50", ""},
		{"handoff-%<50%", "handoff-%<50%: got 0."},
		{"lock(nobody).waited>0s", ""},
		{"lock(work.mutexWorker#99).waited>0s", ""}, // of many locks made in one place, another one
		{"lock(work.mutexWorkr).waited>1h", `no goroutine waited for a lock "work.mutexWorkr"; did you mean "work.mutexWorker"?`},
		{"lock(work.mutexWorker#1).contentions>0, lock(proto/work.mutexWorker).waited>1s", "contentions>0: got "},
	} {
		r := bottleneck("contention", "-format", "csv", "-fail", tt.expr, mutexTrace)
		status := exitOK
		if tt.want != "" {
			status = exitFailure
		}
		r.want(t, status, "kind,lock", tt.want)
	}
}

func TestContentionBadInput(t *testing.T) {
	dir := t.TempDir()
	object := contended(t)
	cut := func(name string, drop int) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "cut-"+filepath.Base(name))
		if err := os.WriteFile(out, b[:len(b)-drop], 0o666); err != nil {
			t.Fatal(err)
		}
		return out
	}
	foreign := filepath.Join(dir, "foreign.json")
	if err := os.WriteFile(foreign, []byte(`{"wall_ns": 1}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   []string
		status int
		out    string
		want   string
	}{
		{[]string{"-by", "owner-fnc", mutexTrace}, exitUsage, "", `-by owner-fnc: unknown name "owner-fnc"; did you mean owner-func?`},
		{[]string{"-by", "owner,lock", mutexTrace}, exitUsage, "", `-by owner,lock: unknown name "owner"; did you mean owner-func?`},
		{[]string{"-by", "lock,lock", mutexTrace}, exitUsage, "", "-by lock,lock: lock is given twice"},
		{[]string{"-kind", "mutx", mutexTrace}, exitUsage, "", `-kind mutx: unknown name "mutx"; did you mean mutex?`},
		{[]string{"-kind", "nonsense", mutexTrace}, exitUsage, "", `want one of locks, mutex, `},
		{[]string{"-focus", "(", mutexTrace}, exitUsage, "", "-focus (: error parsing regexp"},
		{[]string{"-pprof", "up", "-format", "folded", mutexTrace}, exitUsage, "", "-pprof up: want owner, waiter, joined or root"},
		{[]string{"-min", "-1s", mutexTrace}, exitUsage, "", "-min -1s: want 0s or more"},
		{[]string{"-top", "-1", mutexTrace}, exitUsage, "", "-top -1: want a number"},
		{[]string{"-format", "gif", mutexTrace}, exitUsage, "", `-format gif: want svg, png, pprof, json, csv, md, html, text or folded`},
		{[]string{"-o", "a.gif", mutexTrace}, exitUsage, "", "want a file ending in .svg, .png, .pb.gz"},
		{[]string{"-o", "a.svg", "-o", "./a.svg", mutexTrace}, exitUsage, "", "given twice"},
		{[]string{"-fail", "waited", mutexTrace}, exitUsage, "", `"waited" is not a condition`},
		{[]string{"-fail", "waiter>1", mutexTrace}, exitUsage, "", `unknown name "waiter"; did you mean waited?`},
		{[]string{"-fail", "waited>1", mutexTrace}, exitUsage, "", "waited wants a duration"},
		{[]string{"-focs", "x", mutexTrace}, exitUsage, "", "unknown flag -focs; did you mean -focus?"},
		{[]string{mutexTrace, mutexTrace}, exitUsage, "", "more than one input"},
		{[]string{}, exitUsage, "", "no input: want a FILE, a URL"},
		{[]string{filepath.Join(dir, "missing")}, exitFailure, "", "missing: no such file"},
		{[]string{dir}, exitFailure, "", "is a directory"},
		{[]string{foreign}, exitFailure, "", "foreign.json: contention: reading JSON: not a contention profile"},
		{[]string{cut(object, 20)}, exitFailure, "", "cut-run.json: contention: reading JSON: the input ends inside the object"},
		{[]string{"-o", filepath.Join(dir, "no", "a.svg"), mutexTrace}, exitFailure, "", "writing "},
	} {
		r := bottleneck(append([]string{"contention"}, tt.args...)...)
		if tt.out != "" && r.out == "" {
			t.Errorf("%v: nothing was written", tt.args)
			continue
		}
		if tt.out != "" {
			tt.out = r.out[:1]
		}
		r.want(t, tt.status, tt.out, tt.want)
	}
	bottleneck("contention", "-h").want(t, exitOK, "  bottleneck contention [flags] [FILE | URL | -]\n", "")
}
