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

// A service that has the tracer of the standard library, and the same with the pages.
const (
	plainService = `package main

import (
	"log"
	"net/http"
	"os"
	"runtime/trace"
)

func main() {
	trace.Start(os.Stdout)
	defer trace.Stop()
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	recorder.Start()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { recorder.WriteTo(w) })
	log.Print(http.ListenAndServe("localhost:6060", nil))
}
`
	liveService = `package main

import (
	"log"
	"net/http"

	"github.com/bottleneck-go/bottleneck"
	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/exporters/live"
)

func main() {
	var recorder bottle.Recorder
	recorder.Start()
	c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{})
	c.Start()
	http.Handle("/", live.Handler(live.Options{Recorder: &recorder, Continuous: c}))
	log.Print(http.ListenAndServe("localhost:6060", nil))
}
`
)

// mostWeight returns how many bytes the pages and the analyses add to a program at most, with
// debugging information and without (-ldflags="-s -w"). Go 1.27 links more for the same source.
func mostWeight() (full, bare int64) {
	if strings.HasPrefix(runtime.Version(), "go1.26") {
		return 6_250_000, 4_420_000
	}
	return 7_200_000, 5_000_000
}

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
	full := build("live", liveService) - build("plain", plainService)
	symbols, err := exec.Command(goTool, "tool", "nm", filepath.Join(dir, "live")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, unused := range []string{"golang.org/x/exp/trace.(*Reader)", "compress/zstd.(*Decoder)", "html/template", "image/png"} {
		if strings.Contains(string(symbols), unused) {
			t.Errorf("the pages need no %s, but link it", unused)
		}
	}
	bare := build("live", liveService, "-ldflags=-s -w") - build("plain", plainService, "-ldflags=-s -w")
	t.Logf("%.2f MB, %.2f MB without debugging information", float64(full)/1e6, float64(bare)/1e6)
	if most, mostBare := mostWeight(); full > most || bare > mostBare {
		t.Errorf("the pages add %d bytes to a program, and %d without debugging information, want at most %d and %d", full, bare, most, mostBare)
	}
}
