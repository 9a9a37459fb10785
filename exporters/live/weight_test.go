package live

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// service returns a typical service, with the profiles and the tracer of the standard library and
// JSON, and with more imports and statements.
func service(imports, statements string) string {
	return `package main

import (
	"encoding/json"
	"log"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime/trace"
	` + imports + `
)

func main() {
	trace.Start(os.Stdout)
	defer trace.Stop()
	flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	flight.Start()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { json.NewEncoder(w).Encode(r.Header) })
	` + statements + `
	log.Print(http.ListenAndServe("localhost:6060", nil))
}
`
}

// weight is the size that something adds to a program, in bytes, with debugging information and
// without (-ldflags="-s -w").
type weight struct{ full, bare int64 }

// build builds programs, all by one go command, which takes half the time of one each. It returns
// their files.
func build(t *testing.T, programs []string) (files []string) {
	goTool := testenv.Program(t, "go")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := map[string]string{} // packages of this module that are in no directory
	args := []string{"build", "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"), "-o", dir + "/"}
	for i, text := range programs {
		name := fmt.Sprintf("zz_weight_%d", i)
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file+".go", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(here, name, "main.go")] = file + ".go"
		args = append(args, "./"+name)
		files = append(files, file)
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(goTool, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return files
}

// sizes returns the sizes and the symbols of a program.
func sizes(t *testing.T, file string) (weight, []elf.Symbol) {
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	w := weight{info.Size(), info.Size()}
	for _, s := range program.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 { // what -ldflags='-s -w' leaves out
			w.bare -= int64(s.FileSize)
		}
	}
	symbols, err := program.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return w, symbols
}

func TestWeight(t *testing.T) {
	if testing.Short() || runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("sizes are those of linux/amd64, and building takes seconds")
	}
	if race.Enabled {
		t.Skip("the programs are the same as without the race detector")
	}
	t.Parallel()
	const (
		module     = `"github.com/bottleneck-go/bottleneck`
		recorder   = module + `/bottle"; `
		pages      = module + `/exporters/live"; `
		begin      = "rec := &bottle.Recorder{}; rec.Start()\n"
		continuous = "c := bottleneck.NewContinuous(bottleneck.ContinuousOptions{}); c.Start()\n"
	)
	mount := func(options string) string {
		return `http.Handle("/debug/bottleneck/", live.Handler(live.Options{` + options + `}))`
	}
	parts := []struct {
		name, imports, statements string
		most                      weight // with both releases of Go
	}{
		{"a Recorder", recorder, begin + `rec.WriteTo(os.Stdout)`, weight{580_000, 360_000}},
		{"pages with a Recorder", recorder + pages, begin + mount(`Recorder: rec`), weight{2_870_000, 1_970_000}},
		{"pages with a Recorder and a Continuous", module + `"; ` + recorder + pages, begin + continuous + mount(`Recorder: rec, Continuous: c`), weight{5_000_000, 3_540_000}},
		{"all pages", module + `"; ` + recorder + pages + module + `/exporters/live/full"`, begin + continuous + mount(`Recorder: rec, Continuous: c, Full: full.Pages`), weight{6_050_000, 4_280_000}},
	}
	programs := []string{service("", "")}
	for _, part := range parts {
		programs = append(programs, service(part.imports, part.statements))
	}
	files := build(t, programs)
	plain, _ := sizes(t, files[0])
	for i, part := range parts {
		with, symbols := sizes(t, files[i+1])
		full, bare := with.full-plain.full, with.bare-plain.bare
		t.Logf("%s: %.2f MB, %.2f MB without debugging information", part.name, float64(full)/1e6, float64(bare)/1e6)
		if full > part.most.full || bare > part.most.bare {
			t.Errorf("%s: %d bytes, and %d without debugging information, want at most %d and %d", part.name, full, bare, part.most.full, part.most.bare)
		}
		for _, unused := range []string{"golang.org/x/exp/trace.(*Reader)", "internal/cycles.Open", "granularity.(*Recorder).Profile", "contention.(*Mutex)", "compress/zstd.(*Decoder)", "html/template", "image/png"} {
			if slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return strings.Contains(s.Name, unused) }) {
				t.Errorf("%s: needs no %s, but links it", part.name, unused)
			}
		}
	}
}
