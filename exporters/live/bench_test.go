package live

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// The cost of an answer without the network: of a continuous analysis with three groups, and of a
// recorder with a trace of a busy HTTP server (0.15 s, 234,000 events).
func BenchmarkAnswer(b *testing.B) {
	c := newHandler(Options{}, nil, &made{live: report()})
	r := newHandler(Options{}, readTape(b, httpTrace), nil)
	for _, bb := range []struct {
		name string
		h    *handler
		path string
	}{
		{"index", c, "/"}, {"continuous-text", c, "/graph?format=text"}, {"continuous-json", c, "/graph?format=json"}, {"continuous-svg", c, "/graph?format=svg"},
		{"continuous-pprof", c, "/graph?format=pprof"}, {"continuous-contention-pprof", c, "/contention?format=pprof"}, {"metrics", c, "/metrics"},
		{"recorder-svg", r, "/graph?format=svg"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req := httptest.NewRequest("GET", bb.path, nil)
				req.RemoteAddr, req.Host = "127.0.0.1:1", "localhost"
				w := httptest.NewRecorder()
				bb.h.ServeHTTP(w, req)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
