package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// testData has n quanta of a program, one a microsecond, alternating on eight processors.
func testData(n int) *Data {
	r := &quanta.Recording{Wall: time.Second, Funcs: []string{""}, Groups: []quanta.Group{{Name: "main.work", Kind: timeline.Application}}}
	cycles := quanta.Counter{Name: "cycles", Accuracy: quanta.Exact}
	for i := range n {
		r.Goroutine, r.Group, r.Thread, r.Proc = append(r.Goroutine, 7), append(r.Group, 0), append(r.Thread, 4000), append(r.Proc, int32(i%8))
		r.Begin, r.Duration = append(r.Begin, int64(i)*1000), append(r.Duration, int64(700+i))
		r.Ending, r.Wait, r.Func = append(r.Ending, quanta.Blocked), append(r.Wait, timeline.WaitMutex), append(r.Func, 0)
		cycles.Values = append(cycles.Values, int64(2000+i))
	}
	r.Counters = []quanta.Counter{cycles}
	return &Data{Title: "made up", Counters: r}
}

func serve(t *testing.T, d *Data) *httptest.Server {
	t.Helper()
	h, err := NewHandler(d, "")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// request makes a request like a browser on this machine, modified by change.
func request(t *testing.T, s *httptest.Server, method, path, body string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// The server answers this machine's own page only.
func TestServerAnswersItsOwnPageOnly(t *testing.T) {
	s := serve(t, testData(50))
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(key, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(key, value) }
	}
	for _, c := range []struct {
		what, method, path, body string
		change                   func(*http.Request)
		want                     int
	}{
		{"the page", "GET", "/", "", nil, 200},
		{"by the name localhost", "GET", "/", "", host("localhost:1234"), 200},
		{"by IPv6", "GET", "/", "", host("[::1]:80"), 200},
		{"a name that resolves to this machine", "GET", "/", "", host("attacker.example:80"), 403},
		{"a name that looks like this machine's", "GET", "/", "", host("localhost.attacker.example"), 403},
		{"an address that others have", "GET", "/", "", host("192.168.1.2"), 403},
		{"a query", "POST", "/api/query", `{}`, nil, 200},
		{"a query of another page", "POST", "/api/query", `{}`, header("Origin", "http://attacker.example"), 403},
		{"a query from another port of this machine", "POST", "/api/query", `{}`, header("Origin", "http://127.0.0.1:1"), 403},
		{"a query that the browser calls foreign", "POST", "/api/query", `{}`, header("Sec-Fetch-Site", "cross-site"), 403},
		{"a form of another page", "POST", "/api/query", `{}`, header("Content-Type", "text/plain"), 415},
		{"a query by GET", "GET", "/api/query", "", nil, 405},
		{"a file", "GET", "/etc/passwd", "", nil, 404},
		{"what is no JSON", "POST", "/api/query", `{`, nil, 400},
		{"an unknown field", "POST", "/api/query", `{"filer":""}`, nil, 400},
		{"a wrong filter", "POST", "/api/query", `{"filter":"duration >"}`, nil, 422},
		{"a wrong metric", "POST", "/api/points", `{"x":"cycles","y":"cycels","most":10}`, nil, 422},
		{"too much", "POST", "/api/query", `{"filter":"` + strings.Repeat(" ", 2<<20) + `"}`, nil, 400},
	} {
		resp, body := request(t, s, c.method, c.path, c.body, c.change)
		if resp.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d: %.200s", c.what, resp.StatusCode, c.want, body)
		}
		h := resp.Header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: headers %v", c.what, h)
		}
		if strings.Contains(h.Get("Content-Security-Policy"), "unsafe") || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", c.what, h)
		}
	}
}

// A request from another machine is refused, whatever it contains.
func TestServerRefusesOtherMachines(t *testing.T) {
	h, err := NewHandler(testData(10), "")
	if err != nil {
		t.Fatal(err)
	}
	for remote, want := range map[string]int{"127.0.0.1:5": 200, "[::1]:5": 200, "127.8.8.8:5": 200, "192.168.0.7:5": 403, "[2001:db8::1]:5": 403, "": 403, "@": 403} {
		r := httptest.NewRequest("GET", "http://localhost/", nil)
		r.RemoteAddr = remote
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("from %q: status %d, want %d", remote, w.Code, want)
		}
	}
}

// An error names the wrong part of the query and its position.
func TestServerErrors(t *testing.T) {
	s := serve(t, testData(50))
	for _, c := range []struct{ path, body, part string }{
		{"/api/query", `{"filter":"duration > "}`, "filter"}, {"/api/points", `{"x":"a b","y":"cycles","most":1000}`, "x"}, {"/api/points", `{"filter":"(","x":"cycles","y":"cycles","most":1}`, "filter"},
	} {
		_, body := request(t, s, "POST", c.path, c.body, nil)
		var e struct {
			Error, Part string
			Pos         *int
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Part != c.part || e.Pos == nil || e.Error == "" {
			t.Errorf("%s %s: %s (%v)", c.path, c.body, body, err)
		}
	}
}

// A page without quanta has no queries. A recording that is not a table is refused.
func TestServerWithoutCounters(t *testing.T) {
	s := serve(t, &Data{Bottle: &bottle.Graph{}})
	if resp, _ := request(t, s, "POST", "/api/query", `{}`, nil); resp.StatusCode != 404 {
		t.Errorf("status %d", resp.StatusCode)
	}
	d := testData(10)
	d.Counters.Begin = d.Counters.Begin[:5]
	if _, err := NewHandler(d, ""); err == nil {
		t.Error("a table with columns of different lengths is served")
	}
	if _, err := NewHandler(nil, ""); err == nil {
		t.Error("nothing is served")
	}
}

// Data that is too large for one file is refused with advice, and nothing is written.
func TestSizeLimits(t *testing.T) {
	var page bytes.Buffer
	if err := Write(&page, testData(100)); err != nil {
		t.Fatal(err)
	}
	defer func(rows, bytes int) { maxRows, maxBytes = rows, bytes }(maxRows, maxBytes)
	for _, limits := range [][2]int{{99, maxBytes}, {maxRows, page.Len() - 1}} {
		maxRows, maxBytes = limits[0], limits[1]
		var buf bytes.Buffer
		err := Write(&buf, testData(100))
		if err == nil || buf.Len() > 0 || !strings.Contains(err.Error(), "-http") {
			t.Fatalf("%v: %v, %d bytes", limits, err, buf.Len())
		}
		var is, most float64
		if n, _ := fmt.Sscanf(err.Error(), "report: the page would have %g MiB, more than the %g MiB", &is, &most); maxBytes < page.Len() && (n != 2 || is <= most) {
			t.Error(err)
		}
	}
	if err := Write(io.Discard, nil); err == nil {
		t.Error("no data gives no error")
	}
}
