package live

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck"
)

// Without Options.Full there is the graph. For the rest the answer is 501 with the way to get it, and
// the index has no link.
func TestLean(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*handler{
		"of a recorder":            newHandler(Options{}, readTape(t, smallTrace), nil),
		"of a continuous analysis": newHandler(Options{}, nil, &made{live: report()}),
	} {
		h.opt.Full, h.opt.PNG = nil, nil
		base := serve(t, h, nil)
		for path, want := range map[string]string{
			"graph?format=svg": "<svg", "graph?format=text": "main.", "graph?format=json": `"boxes"`,
		} {
			if a := get(t, base+path); a.StatusCode != http.StatusOK || !strings.Contains(a.body, want) {
				t.Errorf("%s, %s: %s\n%.300s", name, path, a.Status, a.body)
			}
		}
		for _, path := range []string{"graph?format=pprof", "contention?format=text", "contention?format=svg", "contention?view=waiter", "tasks", "tasks?format=json", "wall", "leaks"} {
			if a := get(t, base+path); a.StatusCode != http.StatusNotImplemented || !strings.Contains(a.body, "full.Pages") {
				t.Errorf("%s, %s: %s\n%.300s", name, path, a.Status, a.body)
			}
		}
		index := get(t, base).body
		for _, absent := range []string{"format=pprof", `href="contention`, `href="holders`, `href="wall`, `href="leaks`, `href="tasks`, `href="speedup`, "go tool pprof -"} {
			if strings.Contains(index, absent) {
				t.Errorf("%s: the index has %s", name, absent)
			}
		}
		if h.recorder != nil {
			if a := get(t, base+"holders"); a.StatusCode != http.StatusNotImplemented || !strings.Contains(a.body, "full.Pages") {
				t.Errorf("holders: %s\n%.300s", a.Status, a.body)
			}
			live, err := h.ofSnapshot(t.Context(), usualTime, bottleneck.Options{})
			if err != nil || live.Bottle == nil || live.Contention != nil || live.Verdict != nil {
				t.Errorf("%+v, %v", live, err)
			}
		}
	}
}
