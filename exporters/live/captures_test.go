package live

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type fakeCaptures struct{}

func (fakeCaptures) ServeHTTP(w http.ResponseWriter, r *http.Request) { w.Write([]byte(r.Method)) }
func (fakeCaptures) Counts() (stored, suppressed, failed int64)       { return 1, 20, 3 }

// Captures are behind the same check of requests as all else, and take POST requests.
func TestCapturesAreGuarded(t *testing.T) {
	captures := fakeCaptures{}
	h := Handler(Options{Token: "0123456789abcdef", Captures: captures})
	for _, c := range []struct {
		method, target string
		status         int
	}{
		{"POST", "/debug/captures?reason=x", http.StatusUnauthorized},
		{"GET", "/debug/captures", http.StatusUnauthorized},
		{"POST", "/debug/captures?reason=x&token=0123456789abcdef", http.StatusOK},
		{"GET", "/debug/captures?token=0123456789abcdef", http.StatusOK},
		{"POST", "/debug/graph?token=0123456789abcdef", http.StatusMethodNotAllowed},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.target, nil))
		if w.Code != c.status || c.status == http.StatusOK && w.Body.String() != c.method {
			t.Errorf("%s %s: %d %q", c.method, c.target, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/?token=0123456789abcdef", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `href="captures"`) {
		t.Errorf("the index has no link to the captures: %d", w.Code)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/metrics?token=0123456789abcdef", nil))
	for _, want := range []string{"\nbottleneck_captures_total 1\n", "\nbottleneck_captures_suppressed_total 20\n", "\nbottleneck_captures_failed_total 3\n"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the metrics have no %q: %d\n%s", want, w.Code, w.Body)
		}
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/capture?token=0123456789abcdef", nil))
	if want := "metrics, captures; the index"; w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
		t.Errorf("a misspelled path: %d %s, want %q", w.Code, w.Body, want)
	}
	w = httptest.NewRecorder()
	Handler(Options{AllowRemote: true}).ServeHTTP(w, httptest.NewRequest("GET", "/debug/captures", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("without captures: %d", w.Code)
	}
}
