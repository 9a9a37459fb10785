package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/critical"
)

// TestCritical: -class shows one path, in each form, of a trace and of saved JSON.
func TestCritical(t *testing.T) {
	const class, short = "net/http_test.benchmarkClientServerParallel.func1", "http_test.benchmarkClientServerParallel.func1"
	web := realTrace("nethttp-parallel4")
	file := func(name string) string { return filepath.Join(t.TempDir(), name) }
	saved, paths := file("paths.json"), file("paths.pb.gz")
	bottleneck("critical", "-o", saved, "-o", paths, web).want(t, exitOK, "", "")
	all, err := critical.ReadJSON(strings.NewReader(string(read(t, saved))))
	if err != nil {
		t.Fatal(err)
	}
	for i, input := range []string{saved, web} {
		for _, name := range []string{class, short}[i:] {
			bottleneck("critical", "-class", name, input).want(t, exitOK, "Critical paths of 3 × "+short+", mean 266 µs, longest 310 µs:", "")
		}
		bottleneck("critical", "-fail", "path("+class+").mean>100us", input).want(t, exitFailure, "Critical path", "path("+class+").mean>100us: got 26")
		if input == web {
			continue // which takes long to read
		}
		bottleneck("critical", "-class", "main.handle", input).want(t, exitFailure, "", `there is no path of class "main.handle": the classes are [program], net/http.(*conn).serve (request), `+class)
		bottleneck("critical", "-fail", "path("+class+").mean>1ms,path("+short+").tasks<3,running>90", input).want(t, exitOK, "Critical path of the program, 151 ms", "")
		bottleneck("critical", "-fail", "scheduling>10%", input).want(t, exitFailure, "Critical path", "scheduling>10%: got 1")
		bottleneck("critical", "-fail", "path(main.handle).mean>1ms", input).want(t, exitFailure, "Critical path", "there is no path of class")
		bottleneck("critical", "-class", class, "-fail", "scheduling>10%", input).want(t, exitFailure, "Critical path", "the path of the whole program is not shown")
	}
	p, err := profile.ParseData(read(t, paths))
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.Paths {
		path := &all.Paths[i]
		left := int64(path.Elapsed)
		for _, s := range p.Sample {
			root := s.Location[len(s.Location)-1].Line[0].Function.Name
			if labeled := s.Label["class"][0] == path.Class; labeled != (root == "[path] "+path.Class) {
				t.Errorf("the root of a sample of class %s is %s", s.Label["class"], root)
			} else if labeled {
				left -= s.Value[0]
			}
		}
		if left != 0 {
			t.Errorf("the samples of %s sum to %d ns less than %v", path.Class, left, path.Elapsed)
		}
	}
	bottleneck("merge", "-kind", "critical", "-format", "json", saved, web).want(t, exitOK, `"instances": 2`, "")
}

// TestCriticalFits: the text of a real trace has at most 30 lines of 80 columns.
func TestCriticalFits(t *testing.T) {
	for _, name := range []string{"nethttp-parallel4", "json-gogc5", "stdlog-file", "pgzip"} {
		r := bottleneck("critical", realTrace(name))
		if lines := strings.Split(strings.TrimSpace(r.out), "\n"); r.status != exitOK || len(lines) > 30 {
			t.Errorf("%s: status %d, %d lines", name, r.status, len(lines))
		}
	}
}
