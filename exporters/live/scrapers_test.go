package live

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

const fleet = "../../docs/fleet"

// The profiles in the configurations of Grafana Alloy and Parca exist, in answer to the requests
// of both: a User-Agent, no Accept, "seconds" for delta profiles (Alloy: one second less than its
// interval, and twice if its configuration has params; Parca: its interval), and "Accept-Encoding:
// gzip" of Go's HTTP client.
func TestScrapers(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*handler{
		"of a recorder":            newHandler(Options{}, readTape(t, smallTrace), nil),
		"of a continuous analysis": newHandler(Options{}, nil, &made{live: report()}),
		"with a recorder of tasks": newHandler(Options{Tasks: granularity.NewRecorder()}, readTape(t, smallTrace), nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := strings.TrimSuffix(serve(t, h, nil), "/debug/bottleneck/")
			for config, agent := range map[string]string{"alloy.alloy": "Alloy/v1.20.0", "parca.yaml": "conprof/v0.25"} {
				for _, path := range profilePaths(t, config) {
					queries := []string{"", "?seconds=1"}
					if agent[0] == 'A' {
						queries = []string{"?seconds=1", "?seconds=1&seconds=1"}
					}
					for _, query := range queries {
						if h.recorder == nil && strings.HasSuffix(path, "/wall") {
							continue // it needs a recorder
						}
						url := base + path + query
						a := get(t, url, "Accept", "", "User-Agent", agent)
						if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "application/octet-stream" || a.Header.Get("Content-Encoding") != "" {
							t.Errorf("%s: %s, %s, %s", url, a.Status, a.Header.Get("Content-Type"), a.body[:min(len(a.body), 200)])
							continue
						}
						checkProfile(t, url, a)
					}
				}
			}
		})
	}
}

// profilePaths returns the paths of the profiles in a configuration. Each is a delta, and there are
// four.
func profilePaths(t *testing.T, config string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fleet, config))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, m := range regexp.MustCompile(`path *[:=] *"?(/debug/bottleneck/[a-z]+)"?\n *delta *[:=] *true\b`).FindAllSubmatch(data, -1) {
		paths = append(paths, string(m[1]))
	}
	want := []string{"/debug/bottleneck/contention", "/debug/bottleneck/graph", "/debug/bottleneck/tasks", "/debug/bottleneck/wall"}
	if slices.Sort(paths); !slices.Equal(paths, want) {
		t.Fatalf("%s: paths %q, want %q", config, paths, want)
	}
	return paths
}

// promtool of Prometheus accepts the scrape configuration and the rules.
func TestPromtoolConfig(t *testing.T) {
	promtool := testenv.Program(t, "promtool")
	for _, c := range [][]string{{"config", "prometheus.yml"}, {"rules", "bottleneck.rules.yml"}} {
		cmd := exec.Command(promtool, "check", c[0], filepath.Join(fleet, c[1]))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "SUCCESS") {
			t.Errorf("%s: %v\n%s", c[1], err, out)
		}
	}
}

// All metrics in the dashboard and the rules are metrics of a handler or series that the rules
// record. The path in the configurations is that of the metrics.
func TestFleetMetrics(t *testing.T) {
	t.Parallel()
	tasks := granularity.NewRecorder()
	execute(tasks, "check", func() {})
	text := get(t, serve(t, newHandler(Options{Tasks: tasks}, nil, &made{live: report()}), nil)+"metrics").body
	known := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "# TYPE "), " "); ok && strings.HasPrefix(line, "# TYPE ") {
			known[name] = true
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[name+suffix] = strings.HasSuffix(line, " histogram")
			}
		}
	}
	names := regexp.MustCompile(`[a-z:]*bottleneck_[a-z0-9_:]+`)
	used := 0
	for _, file := range []string{"bottleneck.rules.yml", "grafana-dashboard.json"} {
		data, err := os.ReadFile(filepath.Join(fleet, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`record: (\S+)`).FindAllSubmatch(data, -1) {
			known[string(m[1])] = true
		}
		for _, name := range names.FindAllString(string(data), -1) {
			used++
			if !known[name] {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
	if used < 30 {
		t.Errorf("only %d metrics are used", used)
	}
	for _, file := range []string{"prometheus.yml", "alloy.alloy"} {
		data, err := os.ReadFile(filepath.Join(fleet, file))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`metrics_path *[:=] *"?/debug/bottleneck/metrics"?\n`).Match(data) {
			t.Errorf("%s: not the path of the metrics", file)
		}
	}
}
