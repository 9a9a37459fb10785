package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/require"
)

// A typical service, with the profiles and the tracer of the standard library and JSON; the same
// with the analyses, and with the pages.
const (
	plainService = `package main

import (
	"encoding/json"
	"log"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime/trace"
)

func main() {
	trace.Start(os.Stdout)
	defer trace.Stop()
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	recorder.Start()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { json.NewEncoder(w).Encode(r.Header) })
	log.Print(http.ListenAndServe("localhost:6060", nil))
}
`
	analyzedService = `package main

import (
	"encoding/json"
	"log"
	"net/http"
	_ "net/http/pprof"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
)

func main() {
	var recorder bottle.Recorder
	recorder.Start()
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
	c.Start()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { json.NewEncoder(w).Encode(r.Header); c.Last(0); recorder.WriteTo(w) })
	log.Print(http.ListenAndServe("localhost:6060", nil))
}
`
	liveService = `package main

import (
	"encoding/json"
	"log"
	"net/http"
	_ "net/http/pprof"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live"
)

func main() {
	var recorder bottle.Recorder
	recorder.Start()
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
	c.Start()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { json.NewEncoder(w).Encode(r.Header) })
	http.Handle("/debug/bottleneck/", live.Handler(live.Options{Recorder: &recorder, Continuous: c}))
	log.Print(http.ListenAndServe("localhost:6060", nil))
}
`
)

// weight is the size that something adds to a program, in bytes, with debugging information and
// without (-ldflags="-s -w").
type weight struct{ full, bare int64 }

// The maximum additions of the analyses and the pages, with both releases of Go.
var (
	mostAnalyses = weight{3_280_000, 2_295_000}
	mostPages    = weight{2_240_000, 1_590_000}
)

func TestWeight(t *testing.T) {
	goTool := require.Program(t, "go")
	if testing.Short() || runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("sizes are those of linux/amd64, and building takes seconds")
	}
	dir := t.TempDir()
	build := func(name, text string, flags ...string) int64 {
		file := filepath.Join(dir, name+".go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, name)
		cmd := exec.Command(goTool, append(append([]string{"build", "-o", out}, flags...), file)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		info, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	of := func(name, text string) weight {
		bare := build(name, text, "-ldflags=-s -w")
		return weight{build(name, text), bare}
	}
	plain, analyzed, live := of("plain", plainService), of("analyzed", analyzedService), of("live", liveService)
	symbols, err := exec.Command(goTool, "tool", "nm", filepath.Join(dir, "live")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, unused := range []string{"golang.org/x/exp/trace.(*Reader)", "internal/cycles.Open", "granularity.(*Recorder).Profile", "contention.(*Mutex)", "compress/zstd.(*Decoder)", "html/template", "image/png"} {
		if strings.Contains(string(symbols), unused) {
			t.Errorf("the pages need no %s, but link it", unused)
		}
	}
	for _, part := range []struct {
		name         string
		before, with weight
		most         weight
	}{
		{"the analyses", plain, analyzed, mostAnalyses},
		{"the pages", analyzed, live, mostPages},
	} {
		full, bare := part.with.full-part.before.full, part.with.bare-part.before.bare
		t.Logf("%s: %.2f MB, %.2f MB without debugging information", part.name, float64(full)/1e6, float64(bare)/1e6)
		if full > part.most.full || bare > part.most.bare {
			t.Errorf("%s add %d bytes to a program, and %d without debugging information, want at most %d and %d", part.name, full, bare, part.most.full, part.most.bare)
		}
	}
}
