package live

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/picture"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/snapshot"
)

// Every path serves every form that it advertises, with the right media type.
func TestForms(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*handler{
		"of a recorder":                newHandler(Options{}, readTape(t, smallTrace), nil),
		"of a continuous analysis too": newHandler(Options{}, readTape(t, smallTrace), &made{live: report()}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if race.Enabled { // drawing takes long with it
				h.opt.PNG = func(w io.Writer, _ *picture.Drawing) error {
					return png.Encode(w, image.NewGray(image.Rect(0, 0, 1, 1)))
				}
			}
			base := serve(t, h, nil)
			for _, e := range endpoints {
				for _, f := range e.forms {
					url := base + e.name + "?format=" + string(f)
					if f == formPNG && h.continuous == nil {
						continue // once is enough
					}
					if e == &metricsEndpoint {
						url = base + e.name
					}
					a := get(t, url)
					if e.missing(h) != "" {
						if a.StatusCode != http.StatusNotImplemented {
							t.Errorf("%s: %s", url, a.Status)
						}
						continue
					}
					if a.StatusCode != http.StatusOK || len(a.body) == 0 {
						t.Errorf("%s: %s, %s", url, a.Status, a.body)
						continue
					}
					checkForm(t, url, f, a)
				}
			}
		})
	}
}

// Without a function that writes PNG there is none, and the answer explains how to add one.
func TestNoPNGUnlessTheProgramHasIt(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), nil)
	h.opt.PNG = nil
	base := serve(t, h, nil)
	if a := get(t, base+"graph?format=png"); a.StatusCode != http.StatusNotImplemented || !strings.Contains(a.body, "live.Options.PNG") || !strings.Contains(a.body, "format=svg") {
		t.Errorf("%s %s", a.Status, a.body)
	}
	if a := get(t, base+"graph", "Accept", "image/png"); a.StatusCode != http.StatusNotAcceptable || strings.Contains(a.body, "png") {
		t.Errorf("%s %s", a.Status, a.body)
	}
	if a := get(t, base+"graph", "Accept", "image/png, image/*;q=0.5"); a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "image/svg") {
		t.Errorf("%s %s", a.Status, a.Header)
	}
	if a := get(t, base); strings.Contains(a.body, "format=png") {
		t.Error("the index links to pictures that are not there")
	}
}

// checkForm parses an answer by its media type.
func checkForm(t *testing.T, url string, f form, a answer) {
	t.Helper()
	if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, strings.TrimSuffix(media[f].contentType, "; charset=utf-8")) {
		t.Errorf("%s: %s", url, got)
	}
	var err error
	switch f {
	case formSVG:
		d := xml.NewDecoder(strings.NewReader(a.body))
		for err == nil {
			_, err = d.Token()
		}
		if err == io.EOF {
			err = nil
		}
		if !strings.Contains(a.Header.Get("Content-Security-Policy"), "style-src 'sha256-") {
			t.Errorf("%s: the policy does not allow the picture's own styles: %s", url, a.Header.Get("Content-Security-Policy"))
		}
	case formPNG:
		_, err = png.Decode(strings.NewReader(a.body))
	case formJSON:
		if !json.Valid([]byte(a.body)) {
			t.Errorf("%s: not JSON", url)
		}
		if strings.Contains(url, "/graph") {
			_, err = bottle.ReadJSON(strings.NewReader(a.body))
		}
	case formPprof:
		checkProfile(t, url, a)
	}
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
}

// checkProfile checks the requirements of the scrapers of Pyroscope, Parca and Grafana Alloy. Alloy
// checks the status, the media type and the first bytes. Parca requires the identifiers 1, 2, 3 …,
// and takes the time and the kind of profile from the profile itself, so that needs a period, and a
// duration if it covers some time. Pyroscope does not allow a "-" in a label name.
func checkProfile(t *testing.T, url string, a answer) *profile.Profile {
	t.Helper()
	if !strings.HasPrefix(a.body, "\x1f\x8b") {
		t.Errorf("%s: not packed by gzip", url)
	}
	if d := a.Header.Get("Content-Disposition"); !strings.HasPrefix(d, `attachment; filename="`) || !strings.HasSuffix(d, `.pb.gz"`) {
		t.Errorf("%s: Content-Disposition %s", url, d)
	}
	p, err := profile.ParseData([]byte(a.body))
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	if err := p.CheckValid(); err != nil {
		t.Errorf("%s: %v", url, err)
	}
	for _, s := range p.SampleType {
		if s.Type == "" || s.Unit == "" || strings.ContainsAny(s.Type, "-:") {
			t.Errorf("%s: sample type %q in %q", url, s.Type, s.Unit)
		}
	}
	if p.DefaultSampleType == "" || p.PeriodType == nil || p.PeriodType.Type == "" {
		t.Errorf("%s: default %q, period %v", url, p.DefaultSampleType, p.PeriodType)
	}
	if p.TimeNanos <= 0 || p.DurationNanos <= 0 {
		t.Errorf("%s: time %d, duration %d", url, p.TimeNanos, p.DurationNanos)
	}
	for i, m := range p.Mapping {
		if m.ID != uint64(i+1) {
			t.Errorf("%s: mapping %d is the %d. one", url, m.ID, i+1)
		}
	}
	for i, l := range p.Location {
		if l.ID != uint64(i+1) {
			t.Errorf("%s: location %d is the %d. one", url, l.ID, i+1)
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) {
			t.Errorf("%s: function %d is the %d. one", url, f.ID, i+1)
		}
	}
	if len(p.Sample) > 16000 || len(a.body) > 4<<20 {
		t.Errorf("%s: %d samples, %d bytes", url, len(p.Sample), len(a.body))
	}
	for _, s := range p.Sample {
		for name := range s.Label {
			if name == "" || strings.ContainsAny(name, "-. ") {
				t.Errorf("%s: label %q", url, name)
			}
		}
	}
	return p
}

// Every answer, including errors, has the headers that protect it.
func TestHeaders(t *testing.T) {
	t.Parallel()
	base := serve(t, newHandler(Options{}, readTape(t, smallTrace), nil), nil)
	for _, url := range []string{base, base + "graph", base + "graph?format=svg", base + "nothing", base + "graph?seconds=x", base + "metrics"} {
		a := get(t, url)
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", url, name, got)
			}
		}
		csp := a.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: %s", url, csp)
		}
		if a.StatusCode >= 400 {
			if a.Header.Get("X-Go-Pprof") != "1" || a.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasSuffix(a.body, "\n") {
				t.Errorf("%s: %v %q", url, a.Header, a.body)
			}
		}
	}
}

// Methods that change something are refused, and HEAD collects nothing.
func TestMethods(t *testing.T) {
	t.Parallel()
	r := readTape(t, smallTrace)
	base := serve(t, newHandler(Options{}, r, nil), nil)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		a := do(t, method, base+"graph")
		if a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %s, Allow: %s", method, a.Status, a.Header.Get("Allow"))
		}
	}
	for path, want := range map[string]string{"": "text/html", "graph": "text/plain", "graph?format=pprof": "application/octet-stream", "wall?seconds=3000": "application/octet-stream"} {
		a := do(t, http.MethodHead, base+path)
		if path == "wall?seconds=3000" {
			want = "text/plain" // curl accepts anything
		}
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), want) || a.body != "" {
			t.Errorf("HEAD %s: %s %v", path, a.Status, a.Header)
		}
	}
	if n := r.calls.Load(); n != 0 {
		t.Errorf("HEAD took %d snapshots", n)
	}
}

// The handler works at any mount point.
func TestMount(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), nil)
	mux := http.NewServeMux()
	mux.Handle("/a/stripped/", http.StripPrefix("/a/stripped", h))
	mux.Handle("/bare", http.StripPrefix("/bare", h))
	mux.Handle("/bare/", http.StripPrefix("/bare/", h))
	mux.Handle("/", h)
	server := httptest.NewServer(mux)
	defer server.Close()
	root := server.URL
	for path, want := range map[string]struct {
		status         int
		text, location string
	}{
		"/a/stripped/":      {200, root + "/a/stripped/graph?", ""},
		"/a/stripped/graph": {200, "of the capacity", ""},
		"/bare":             {301, "", "./bare/"},
		"/bare/":            {200, root + "/bare/graph?", ""},
		"/bare/?":           {200, "<h1>", ""},
		"/bare/graph":       {200, "of the capacity", ""},
		"/":                 {200, root + "/graph?", ""},
		"/graph":            {200, "of the capacity", ""},
	} {
		a := get(t, root+path)
		if a.StatusCode != want.status || !strings.Contains(a.body, want.text) || a.Header.Get("Location") != want.location {
			t.Errorf("%q: %s to %q: %s", path, a.Status, a.Header.Get("Location"), a.body)
		}
	}
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"":               {200, "<h1>"},
		"graph":          {200, "of the capacity"},
		"graph/":         {200, "<h1>"},
		"nothing":        {404, "there are graph, contention"},
		"%00":            {404, ""},
		"<script>":       {404, "there are"},
		"metrics":        {501, "nothing to count"},
		"trace?format=x": {400, "there are trace"},
	} {
		a := get(t, serve(t, h, nil)+path)
		if a.StatusCode != want.status || !strings.Contains(a.body, want.text) {
			t.Errorf("%q: %s %s", path, a.Status, a.body)
		}
	}
}

// A path without its source explains what it needs.
func TestMissingSourcesAreExplained(t *testing.T) {
	t.Parallel()
	base := serve(t, Handler(Options{AllowRemote: true}), nil)
	for _, e := range endpoints {
		a := get(t, base+e.name)
		if a.StatusCode != http.StatusNotImplemented || !strings.Contains(a.body, "live.Options.") {
			t.Errorf("%s: %s %s", e.name, a.Status, a.body)
		}
	}
	if a := get(t, base); a.StatusCode != 200 || !strings.Contains(a.body, "live.Options.Recorder is not set") {
		t.Errorf("index: %s", a.Status)
	}
}

// A grouping other than the default is that of a snapshot, also if a continuous analysis has the
// default one.
func TestGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]continuous{"recorder": nil, "both": &made{live: report()}} {
		base := serve(t, newHandler(Options{}, readTape(t, smallTrace), c), nil)
		for group, want := range map[string]string{"creator": "main.main", "goroutine": "mutexWorker #", "/mutex(.)orker/": "W", "task": "(no task)"} {
			a := get(t, base+"graph?format=json&group="+group)
			g, err := bottle.ReadJSON(strings.NewReader(a.body))
			if err != nil {
				t.Errorf("%s, %s: %s: %v", name, group, a.Status, err)
				continue
			}
			found := slices.ContainsFunc(g.Boxes, func(b bottle.Box) bool { return strings.Contains(b.Group, want) })
			if g.GroupBy != group || !found {
				t.Errorf("%s, %s: by %s, %+v", name, group, g.GroupBy, g.Boxes)
			}
		}
	}
	base := serve(t, newHandler(Options{}, nil, &made{live: report()}), nil)
	if a := get(t, base+"graph?group=function"); a.StatusCode != http.StatusOK || !strings.Contains(a.body, "main.work") {
		t.Errorf("the grouping that there is: %s %s", a.Status, a.body)
	}
	if a := get(t, base+"graph?group=creator"); a.StatusCode != http.StatusNotImplemented || !strings.Contains(a.body, "Options.Recorder") {
		t.Errorf("without a recorder: %s %s", a.Status, a.body)
	}
}

// A request for fewer seconds gets a shorter result. A request for more gets a warning.
func TestSeconds(t *testing.T) {
	t.Parallel()
	base := serve(t, newHandler(Options{}, readTape(t, "small/phases-go1.26.8.trace"), nil), nil)
	wall := func(seconds string) *bottle.Graph {
		g, err := bottle.ReadJSON(strings.NewReader(get(t, base+"graph?format=json&seconds="+seconds).body))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	short, long := wall("0.001"), wall("60")
	if short.Wall >= long.Wall {
		t.Errorf("a millisecond gives %v, a minute %v", short.Wall, long.Wall)
	}
	if !slices.ContainsFunc(long.Warnings, func(w string) bool { return strings.Contains(w, "Asked for the last") }) {
		t.Errorf("a minute of %v has no warning: %q", long.Wall, long.Warnings)
	}
	if slices.ContainsFunc(short.Warnings, func(w string) bool { return strings.Contains(w, "Asked for the last") }) {
		t.Errorf("warnings: %q", short.Warnings)
	}
	all, part := get(t, base+"trace").body, get(t, base+"trace?seconds=0.001").body
	if len(part) >= len(all) || !bytes.HasPrefix([]byte(part), []byte("go 1.")) {
		t.Errorf("a trace of %d bytes of %d", len(part), len(all))
	}
}

// A result has the time at which its snapshot was taken, however long the analysis takes.
func TestTimeOfSnapshot(t *testing.T) {
	t.Parallel()
	h := newHandler(Options{}, readTape(t, smallTrace), nil)
	var began time.Time
	h.analyze = func(ctx context.Context, data *snapshot.Buffer, d time.Duration, opt bottleneck.Options) (*bottleneck.Report, error) {
		began = time.Now()
		return h.analyzeSnapshot(ctx, data, d, opt)
	}
	live, err := h.ofSnapshot(t.Context(), time.Second, bottleneck.Options{})
	if err != nil || live.To.After(began) || live.To.Sub(live.From) != live.Covered {
		t.Errorf("from %v to %v, analyzed since %v: %v", live.From, live.To, began, err)
	}
}

// Old windows are not mistaken for the last seconds: the graph states its end.
func TestOldWindows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		to  time.Time
		old bool
	}{{time.Now().Add(-24 * time.Hour), true}, {time.Now().Add(time.Hour), false}, {time.Time{}, false}} {
		live := report()
		live.To = tt.to
		source := &made{live: live}
		a := get(t, serve(t, newHandler(Options{}, nil, source), nil)+"graph?format=text")
		if a.StatusCode != http.StatusOK || strings.Contains(a.body, "It ends 24 h ago") != tt.old {
			t.Errorf("it ends at %v: %s\n%s", tt.to, a.Status, a.body)
		}
		if n := len(source.Read().Bottle.Warnings); n > 0 {
			t.Errorf("the source's own graph got %d warnings", n)
		}
	}
}

// The profile of a snapshot's graph has the call chains of its boxes, also with another grouping.
func TestGraphProfileHasCallChains(t *testing.T) {
	t.Parallel()
	base := serve(t, newHandler(Options{}, readTape(t, smallTrace), nil), nil)
	for _, path := range []string{"graph?format=pprof", "graph?format=pprof&group=start"} {
		p := checkProfile(t, path, get(t, base+path))
		sources := map[string]int64{}
		for _, s := range p.Sample {
			if len(s.Label["source"]) != 1 {
				t.Fatalf("%s: labels %v", path, s.Label)
			}
			sources[s.Label["source"][0]] += s.Value[1]
		}
		if sources["scheduling events"] == 0 || sources["none"] != 0 {
			t.Errorf("%s: running by source: %v", path, sources)
		}
	}
}
