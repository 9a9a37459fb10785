package live

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// What a query means, or what is wrong with it.
func TestQuery(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		query
		trouble string
	}{
		"":                        {},
		"seconds=2":               {query: query{seconds: 2 * time.Second}},
		"seconds=0.25":            {query: query{seconds: 250 * time.Millisecond}},
		"seconds=1e1":             {query: query{seconds: 10 * time.Second}},
		"seconds=3600":            {query: query{seconds: time.Hour}},
		"debug=0&seconds=2":       {query: query{seconds: 2 * time.Second}},
		"debug=1":                 {query: query{debug: true, form: formText}},
		"debug=2":                 {query: query{debug: true, form: formText}},
		"debug=1&format=text":     {query: query{debug: true, form: formText}},
		"format=svg&seconds=2":    {query: query{seconds: 2 * time.Second, form: formSVG}},
		"view=joined":             {query: query{view: contention.JoinedView, form: formPprof}},
		"seconds=2&seconds=2":     {query: query{seconds: 2 * time.Second}},
		"group=creator":           {query: query{group: "creator"}},
		"group=/a.b(c%2B)/":       {query: query{group: "/a.b(c+)/"}},
		"group=":                  {query: query{group: "function"}},
		"group=mine":              {trouble: "want function, start, creator"},
		"group=/(/":               {trouble: "missing closing )"},
		"seconds=2&debug=1":       {trouble: "do not go together"},
		"debug=1&format=svg":      {trouble: "debug=1 is text"},
		"seconds=0":               {trouble: "at least"},
		"seconds=-1":              {trouble: "at least"},
		"seconds=-Inf":            {trouble: "at least"},
		"seconds=1e9":             {trouble: "at most 3600"},
		"seconds=Inf":             {trouble: "want"},
		"seconds=1e999":           {trouble: "want"},
		"seconds=NaN":             {trouble: "want a number"},
		"seconds=":                {trouble: "want a number"},
		"seconds=five":            {trouble: "want a number"},
		"seconds=1&seconds=2":     {trouble: "2 times"},
		"second=5":                {trouble: `no parameter "second" here: there are seconds`},
		"format=gif":              {trouble: "there are svg"},
		"format=":                 {trouble: "no format"},
		"debug=x":                 {trouble: "want 0 or 1"},
		"debug=-1":                {trouble: "want 0 or 1"},
		"view=mine":               {trouble: "there are owner"},
		"view=owner&format=svg":   {trouble: "format=pprof only"},
		"a;b":                     {trouble: "cannot be read"},
		"%zz":                     {trouble: "cannot be read"},
		strings.Repeat("a", 2000): {trouble: "too long"},
	} {
		got, err := parseQuery(raw, append(contentionEndpoint.parameters[:len(contentionEndpoint.parameters):len(contentionEndpoint.parameters)], "group"), contentionEndpoint.forms)
		switch {
		case want.trouble != "":
			if err == nil || !strings.Contains(err.Error(), want.trouble) {
				t.Errorf("%s: %v; want %q", raw, err, want.trouble)
			}
		case err != nil || got != want.query:
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
}

// The form that a client gets if its query names none.
func TestAccept(t *testing.T) {
	t.Parallel()
	const chrome = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
	const chromeImage = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
	const prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	graph, wall, trace, metrics := graphEndpoint.forms, wallEndpoint.forms, traceEndpoint.forms, metricsEndpoint.forms
	for _, c := range []struct {
		who    string
		accept string // "-": no header
		forms  []form
		want   form // "" for none
	}{
		{"go tool pprof, and scrapers", "-", graph, formPprof},
		{"go tool pprof", "-", wall, formPprof},
		{"a program", "-", speedupEndpoint.forms, formText},
		{"a program", "-", trace, formTrace},
		{"curl", "*/*", graph, formText},
		{"curl", "*/*", wall, formText},
		{"curl", "*/*", trace, formTrace},
		{"Chromium", chrome, graph, formSVG},
		{"Chromium", chrome, wall, formText},
		{"Chromium", chrome, trace, formTrace},
		{"Chromium, an image", chromeImage, graph, formSVG},
		{"Prometheus", prometheus, metrics, formText},
		{"a script", "application/json", graph, formJSON},
		{"a script with a favourite", "image/png;q=0.5, application/json;q=0.4", graph, formPNG},
		{"any image", "image/*", graph, formSVG},
		{"any text", "text/*;q=0.1", graph, formText},
		{"not the picture", "image/svg+xml;q=0, image/*", graph, formPNG},
		{"a database", "application/octet-stream", graph, formPprof},
		{"nothing that is there", "video/mp4", graph, ""},
		{"no images here", "image/png", wall, ""},
		{"nothing at all", "*/*;q=0", graph, ""},
		{"quality that is no number", "*/*;q=abc", graph, ""},
		{"an empty header", "", graph, formPprof},
	} {
		h := http.Header{}
		if c.accept != "-" {
			h.Set("Accept", c.accept)
		}
		got, ok := choose(h, c.forms)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s (%s): %q, %v; want %q", c.who, c.accept, got, ok, c.want)
		}
	}
}

// A query is either valid within its bounds or refused with 400 and a text. A refused query
// collects nothing, and no query panics.
func FuzzQuery(f *testing.F) {
	testenv.BriefFuzzing(f)
	for _, s := range []string{"", "seconds=5", "seconds=-1&debug=1", "format=svg", "view=joined&seconds=0.1", "seconds=1e308", "a=b;c", "%00=%ff", "debug=256", "group=creator", "group=/x(/", "seconds=0x1p3"} {
		f.Add(s, "*/*")
	}
	f.Add("", "text/html;q=0.5, */*;q=")
	f.Fuzz(func(t *testing.T, raw, accept string) {
		for _, e := range endpoints {
			q, err := parseQuery(raw, e.parameters, e.forms)
			if err != nil {
				if err.Error() == "" {
					t.Error("an error without a text")
				}
				continue
			}
			if d := q.orDefault(); d < shortestTime || d > longestTime || math.IsNaN(d.Seconds()) {
				t.Errorf("%q: %v", raw, d)
			}
			if q.form != "" && !slices.Contains(e.forms, q.form) {
				t.Errorf("%q: form %q of %s", raw, q.form, e.name)
			}
			got, ok := choose(http.Header{"Accept": {accept}}, e.forms)
			if ok != slices.Contains(e.forms, got) {
				t.Errorf("%q: %q, %v", accept, got, ok)
			}
		}
		// The index takes no parameters; the names in it are text.
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host, r.URL = "127.0.0.1:1", "localhost", &url.URL{Path: "/", RawQuery: raw}
		w := httptest.NewRecorder()
		newHandler(Options{}, nil, nil).ServeHTTP(w, r)
		if w.Code != 200 && (w.Code != 400 || w.Header().Get("Content-Type") != media[formText].contentType) {
			t.Errorf("%q: %d %v", raw, w.Code, w.Header())
		}
	})
}
