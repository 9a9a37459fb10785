package live

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/live/internal/page"
	"github.com/bottleneck-go/bottleneck/granularity"
)

// Names that an observed program may contain.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "a\"b\\c\nd", "x}\nbottleneck_share_seconds_total{group=\"forged\"} 1", "\xff\xfe invalid", "", " ",
	"\x1b[31mred", strings.Repeat("long", 500), "12 others", "(others)", "λ→😀", "{{.}}", "\u202eevil", "</style><script>", "-- \r\nSet-Cookie: a=b",
}

// hostileReport has a box, a lock and a class of tasks of each of these names.
func hostileReport() bottleneck.Live {
	live := report()
	p := live.Contention
	for i, name := range hostile {
		b := live.Bottle.Boxes[0]
		b.Group, b.Waiting = name, map[string]time.Duration{name: time.Second}
		live.Bottle.Boxes = append(live.Bottle.Boxes, b)
		l := &contention.Lock{ID: uint64(i + 2), Name: name, Class: name}
		s := &contention.Stack{Frames: []contention.Frame{{Func: name, File: name}}}
		p.Locks = append(p.Locks, l)
		party := contention.Party{Group: name, Stack: s}
		p.Waits = append(p.Waits, contention.Wait{Kind: name, Lock: l, Waiter: party, Contentions: 1, Waited: time.Second, Blamed: time.Second})
		p.Pairs = append(p.Pairs, contention.Wait{Kind: name, Lock: l, Waiter: party, Owner: party, Contentions: 1, Blamed: time.Second})
		p.Unfinished = append(p.Unfinished, contention.Wait{Kind: contention.MutexKind, Lock: &contention.Lock{Name: name}, Waiter: party, Owner: party, Contentions: 1, Waited: time.Second, Longest: time.Second})
	}
	live.Bottle.Warnings = append(live.Bottle.Warnings, hostile...)
	return live
}

type hostileLocks struct{}

func (hostileLocks) Snapshot() *contention.Profile {
	live := hostileReport()
	return live.Contention
}

// Hostile names remain text in pages, pictures, metrics and headers.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	tasks := granularity.NewRecorder()
	for _, name := range hostile {
		execute(tasks, name, func() {})
	}
	for _, title := range hostile {
		base := serve(t, newHandler(Options{Title: title}, nil, &made{live: hostileReport()}), nil)
		a := get(t, base)
		if a.StatusCode != 200 || strings.Contains(a.body, "<script") || strings.Contains(a.body, "<img src=x") || strings.Count(a.body, "</style>") != 1 {
			t.Errorf("title %q: %s", title, a.Status)
		}
	}
	base := serve(t, newHandler(Options{Title: hostile[0], Tasks: tasks, Locks: hostileLocks{}}, nil, &made{live: hostileReport()}), nil)
	for _, path := range []string{"graph?format=svg", "contention?format=svg", "tasks?format=svg"} {
		a := get(t, base+path)
		d := xml.NewDecoder(strings.NewReader(a.body))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "script" || e.Name.Local == "img" || e.Name.Local == "a") {
				t.Errorf("%s: an element %s", path, e.Name.Local)
			}
		}
		if n := strings.Count(a.Header.Get("Content-Security-Policy"), "sha256-"); n != 1 {
			t.Errorf("%s: %d style sheets are allowed", path, n)
		}
	}
	for _, e := range endpoints {
		if e == &wallEndpoint || e == &leaksEndpoint || e.name == "speedup" || e.name == "trace" {
			continue
		}
		for _, f := range e.forms {
			if f == formPNG {
				continue // pixels
			}
			path := e.name + "?format=" + string(f)
			if e == &metricsEndpoint {
				path = e.name
			}
			a := get(t, base+path)
			if a.StatusCode != http.StatusOK {
				t.Errorf("%s: %s %s", path, a.Status, a.body)
			}
			if f == formText && strings.ContainsAny(a.body, "\x1b\u202e\r") {
				t.Errorf("%s: control characters", path)
			}
			if a.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: forged headers", path)
			}
		}
	}
	m := get(t, base+"metrics").body
	line := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .*|[a-z_]+(\{[a-z]+="(\\[\\"n]|[^"\\\n])*"(,[a-z]+="(\\[\\"n]|[^"\\\n])*")*\})? [0-9.e+-]+(Inf)?)$`)
	for l := range strings.SplitSeq(strings.TrimSuffix(m, "\n"), "\n") {
		if !line.MatchString(l) {
			t.Errorf("metrics: %q", l)
		}
		if strings.HasPrefix(l, `bottleneck_share_seconds_total{group="forged"`) {
			t.Errorf("forged: %s", l)
		}
	}
}

// No answer except the raw trace reveals where or by whom the program was built, where it runs,
// its arguments or its environment.
func TestNoPaths(t *testing.T) {
	t.Setenv("LIVE_SECRET", "s3cr3t-value")
	r := &tape{data: recordHere(t)}
	tasks := granularity.NewRecorder()
	execute(tasks, "main.task", func() { busy(time.Millisecond) })
	secrets := []string{"s3cr3t-value", filepath.Dir(os.Args[0]), "-test."}
	if dir, err := os.Getwd(); err == nil {
		secrets = append(secrets, filepath.Dir(filepath.Dir(dir)))
	}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		secrets = append(secrets, home+"/")
	}
	_, file, _, _ := runtime.Caller(0)
	std, _ := runtime.FuncForPC(reflect.ValueOf(testing.AllocsPerRun).Pointer()).FileLine(0)
	secrets = append(secrets, filepath.Dir(filepath.Dir(filepath.Dir(file)))+"/", filepath.Dir(filepath.Dir(std))+"/")
	leaks := func(opt Options, path string) (found string) {
		base := serve(t, newHandler(opt, r, nil), nil)
		a := get(t, base+path)
		if a.StatusCode != http.StatusOK && !strings.HasPrefix(path, "speedup") && !strings.HasPrefix(path, "leaks") {
			t.Fatalf("%s: %s %s", path, a.Status, a.body)
		}
		text := a.body
		if p, err := profile.ParseData([]byte(a.body)); err == nil {
			text = p.String()
			for _, f := range p.Function {
				text += f.Filename + "\n"
			}
		}
		for _, s := range secrets {
			if i := strings.Index(text, s); i >= 0 {
				return text[max(0, i-200):min(len(text), i+200)]
			}
		}
		return ""
	}
	for _, opt := range []Options{{}, {Tasks: tasks}} {
		if s := leaks(opt, ""); s != "" {
			t.Errorf("index: %q", s)
		}
		for _, e := range endpoints {
			if e == &metricsEndpoint || e == &traceEndpoint {
				continue
			}
			for _, f := range e.forms {
				if f == formPNG {
					continue // pixels
				}
				path := e.name + "?format=" + string(f)
				if e == &wallEndpoint {
					path += "&seconds=0.2"
				}
				if s := leaks(opt, path); s != "" {
					t.Errorf("%s: %q", path, s)
				}
			}
		}
	}
	if leaks(Options{}, "trace") == "" {
		t.Error("the raw trace has no name of a file: the search finds nothing")
	}
}

// recordHere records a program that waits for locks and has regions.
func recordHere(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip("another recording is running: ", err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				trace.WithRegion(t.Context(), "step", func() {
					mu.Lock()
					busy(time.Millisecond)
					mu.Unlock()
				})
			}
		})
	}
	wg.Wait()
	trace.Stop()
	return buf.Bytes()
}

func busy(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// File names are those of -trimpath.
func TestSourceFile(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"main.main", "/home/ann/src/shop/main.go", "main/main.go"},
		{"example.com/shop/cart.(*Cart).Add", "/home/ann/src/shop/cart/cart.go", "example.com/shop/cart/cart.go"},
		{"net/http.(*conn).serve", "/usr/local/go/src/net/http/server.go", "net/http/server.go"},
		{"gopkg.in/yaml%2ev3.Unmarshal", "/root/go/pkg/mod/gopkg.in/yaml.v3@v3.0.1/yaml.go", "gopkg.in/yaml.v3/yaml.go"},
		{"example.com/q.Run[go.shape.struct { a/b.C }].func1", `C:\Users\Ann\q\run.go`, "example.com/q/run.go"},
		{"[lock] main.cache", "lock", "lock"},
		{"", "/home/ann/x.go", "x.go"},
		{"noDot", "/home/ann/x.go", "x.go"},
		{"main.f", "", ""},
	} {
		if got := page.SourceFile(c[0], c[1]); got != c[2] {
			t.Errorf("%s in %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// Trimming copies: the profile of the source is unchanged.
func TestTrimCopies(t *testing.T) {
	t.Parallel()
	live := report()
	p := live.Contention
	p.Locks[0].Created = p.Waits[0].Waiter.Stack
	p.Pairs[0].Owner.Stack = nil
	out := page.Trimmed(p)
	if f := p.Waits[0].Waiter.Stack.Frames[0].File; f != "/home/ann/secret/shop/cache.go" {
		t.Errorf("the source's file is now %s", f)
	}
	for _, s := range []*contention.Stack{out.Waits[0].Waiter.Stack, out.Pairs[0].Waiter.Stack, out.Locks[0].Created, out.Pairs[0].Lock.Created} {
		if f := s.Frames[0].File; f != "main/cache.go" {
			t.Errorf("trimmed: %s", f)
		}
	}
	if out.Pairs[0].Owner.Stack != nil || out.Pairs[0].Waiter.Stack != out.Waits[0].Waiter.Stack {
		t.Error("the copy has other stacks")
	}
	if out.Waits[0].Lock != out.Locks[0] || out.Pairs[0].Lock != out.Locks[0] {
		t.Error("rows refer to other locks than the list")
	}
}

const secretFile = "/home/ann/secret/shop/cache.go"

// fillPaths fills a value with one of everything, and puts a path into each field named File.
func fillPaths(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			fillPaths(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if depth < 11 { // so that no element is nil
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fillPaths(v.Index(0), depth+1)
			fillPaths(v.Index(1), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fillPaths(value, depth+1)
		v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); !f.IsExported() || f.Type == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[bottle.Stack]() {
				continue // the chains of a bottle graph are in profiles only: see trimProfile
			} else if f.Name == "File" {
				v.Field(i).SetString(secretFile)
			} else {
				fillPaths(v.Field(i), depth+1)
			}
		}
	}
}

// countPaths counts the fields named File that have the path.
func countPaths(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n = countPaths(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += countPaths(v.Index(i))
		}
	case reflect.Map:
		for _, e := range v.Seq2() {
			n += countPaths(e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); v.Type().Field(i).Name == "File" && f.String() == secretFile {
				n++
			} else if v.Type().Field(i).IsExported() {
				n += countPaths(f)
			}
		}
	}
	return n
}

// Trimming finds every path that the types can contain, and leaves the originals unchanged.
func TestTrimFindsEveryPath(t *testing.T) {
	t.Parallel()
	check := func(name string, original any, trim func() any) {
		t.Helper()
		v := reflect.ValueOf(original)
		fillPaths(v.Elem(), 0)
		paths := countPaths(v)
		if paths < 2 {
			t.Fatalf("%s: only %d paths to trim", name, paths)
		}
		if left := countPaths(reflect.ValueOf(trim())); left > 0 {
			t.Errorf("%s: %d of %d paths are left", name, left, paths)
		}
		if after := countPaths(v); after != paths {
			t.Errorf("%s: %d paths of the original were changed", name, paths-after)
		}
	}
	graph, waits, tasks := new(bottle.Graph), new(contention.Profile), new(granularity.Profile)
	check("graph", graph, func() any { return page.Trimmed(graph) })
	check("contention", waits, func() any { return page.Trimmed(waits) })
	check("tasks", tasks, func() any { return page.Trimmed(tasks) })
}
