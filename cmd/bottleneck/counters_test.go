package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bottleneck-go/bottleneck/counters"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/query"
)

// counterArchive records a few goroutines that take naps of a millisecond, into a file.
func counterArchive(t *testing.T) string {
	t.Helper()
	stop, err := counters.Start(counters.Options{Counters: []string{"heap-allocs", "goroutines", "minor-faults"}})
	if err != nil {
		t.Skip(err)
	}
	done := make(chan bool)
	for range 4 {
		go napping(done)
	}
	for range 4 {
		<-done
	}
	name := filepath.Join(t.TempDir(), "a.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func napping(done chan bool) {
	for range 20 {
		time.Sleep(time.Millisecond)
	}
	done <- true
}

// Every output form of an archive's counters agrees with the recording in the archive.
func TestCounters(t *testing.T) {
	archive := counterArchive(t)
	rec, err := quanta.ReadFile(t.Context(), archive, quanta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	blocked, ran := 0, int64(0)
	for row := range rec.Len() {
		if rec.Ending[row] == quanta.Blocked {
			blocked++
			ran += rec.Duration[row]
		}
	}
	out := func(name string) string { return filepath.Join(t.TempDir(), name) }
	table, object, samples, picture := out("a.csv"), out("a.json"), out("a.pb.gz"), out("a.svg")
	bottleneck("counters", "-by", "how-ended", "-metric", "duration", "-stat", "sum,p50", "-o", table, "-o", object, "-o", samples, "-o", picture, archive).want(t, exitOK, "", "")
	f, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil || strings.Join(records[0], " ") != "metric part unit sum p50 quanta known running" {
		t.Fatalf("%q, %v", records[0], err)
	}
	found := false
	for _, r := range records[1:] {
		if r[1] == "blocked" {
			found = r[3] == strconv.FormatInt(ran, 10) && r[5] == strconv.Itoa(blocked) && r[7] == r[3]
		}
	}
	if !found {
		t.Errorf("%d quanta were blocked and ran for %d ns: %q", blocked, ran, records)
	}
	var rows []map[string]any
	data, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &rows); err != nil || len(rows) != len(records)-1 || rows[0]["metric"] != "duration" {
		t.Errorf("%v, %s", err, data)
	}
	if data, err = os.ReadFile(samples); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	quanta, running := int64(0), int64(0)
	for _, s := range p.Sample {
		quanta += s.Value[0]
		running += s.Value[1]
	}
	all := int64(0)
	for _, d := range rec.Duration {
		all += d
	}
	if quanta != int64(rec.Len()) || running != all {
		t.Errorf("the profile has %d quanta of %d, %d ns of %d", quanta, rec.Len(), running, all)
	}
	if data, err = os.ReadFile(picture); err != nil || !strings.Contains(string(data), "duration of blocked") {
		t.Errorf("the picture: %v", err)
	}
}

// A valid question gets a text answer. An invalid one is a usage error.
func TestCountersAnswers(t *testing.T) {
	archive := counterArchive(t)
	bottleneck("counters", archive).want(t, exitOK, "heap_allocs", "")
	bottleneck("counters", "-where", `group =~ "napping"`, "-by", "caller", archive).want(t, exitOK, "bottleneck.napping", "")
	bottleneck("counters", "-compare", `group =~ "napping",all`, archive).want(t, exitOK, `A is group =~ "napping", B is all`, "")
	bottleneck("counters", "-metric", "gc_assist / duration", archive).want(t, exitOK, "Quotients", "")
	bottleneck("counters", "-list").want(t, exitOK, "sched-delay", "")
	bottleneck("counters", "-list", "-format", "json").want(t, exitOK, `{"counter":"sched-delay","how":"execution trace, always","reason":null}`, "")
	bottleneck("counters", "-list", "-format", "csv").want(t, exitOK, "\nsched-delay,\"execution trace, always\",\n", "")
	bottleneck("counters", "-where", "none", archive).want(t, exitOK, "quanta fulfills none.", "")
	bottleneck("counters", "-compare", "all,kind = gc && none", archive).want(t, exitOK, "quanta fulfills kind = gc && none.", "")
	bottleneck("counters", "-where", "none", "-o", filepath.Join(t.TempDir(), "x.svg"), archive).want(t, exitFailure, "", "no quantum fulfills none")
	for want, args := range map[string][]string{
		"unknown statistic":          {"-stat", "median", archive},
		"cannot group by":            {"-by", "color", archive},
		"-by: cannot group by \"x\"": {"-by", "x", "no such file"},
		"-where duratoin > 5: at character 1: this recording has no counter \"duratoin\"; did you mean duration?": {"-where", "duratoin > 5", archive},
		"-compare duration > 5ms && x,all: at character 19: this is a number":                                     {"-compare", "duration > 5ms && x,all", archive},
		"-compare duration = y: at character 12: this recording has no counter":                                   {"-compare", "all, duration = y", archive},
		"-metric heap_allocs + duration: at character 13: the units differ":                                       {"-metric", "heap_allocs + duration", archive},
		"want two conditions":         {"-compare", "all", archive},
		"-compare and -by":            {"-compare", "all,none", "-by", "group", archive},
		"-list is about this machine": {"-list", archive},
		"-list is for text":           {"-list", "-format", "svg"},
	} {
		bottleneck(append([]string{"counters"}, args...)...).want(t, exitUsage, "", want)
	}
}

// Every command that reads a trace reads the one in an archive.
func TestArchivesAreTraces(t *testing.T) {
	archive := counterArchive(t)
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(data) }))
	defer served.Close()
	for _, command := range [][]string{{"graph"}, {"ledger"}, {"contention"}, {"tasks"}, {"verdict"}, {"explain", "1"}, {"counters"}, {}} {
		of := map[string]outcome{"FILE": bottleneck(append(command, archive)...), "URL": bottleneck(append(command, served.URL)...), "-": commandWith(bytes.NewReader(data), append(command, "-")...)}
		for input, r := range of {
			// The last line has commands with the name of the input.
			got, _, _ := strings.Cut(r.out, "\nMore: ")
			if want, _, _ := strings.Cut(of["FILE"].out, "\nMore: "); r.status != exitOK || got != want || got == "" {
				t.Errorf("%q of an archive from %s: status %d, %s, %s", command, input, r.status, r.err, r.out)
			}
		}
	}
	if r := bottleneck("diff", archive, archive); r.status != exitOK || !strings.Contains(r.out, "before: ") {
		t.Errorf("diff of archives: status %d, %s", r.status, r.err)
	}
	bottleneck("speedup", "-estimate", archive).want(t, exitFailure, "", "the speed-up cannot be estimated from one trace") // the goroutines nap
	other := filepath.Join(t.TempDir(), "other.zip")
	if err := os.WriteFile(other, []byte("PK\x03\x04 and so on"), 0o666); err != nil {
		t.Fatal(err)
	}
	bottleneck("graph", other).want(t, exitFailure, "", "not an archive of counters")
}

// TestCountersOfOtherJSON: JSON of another kind is an error, not an empty recording.
func TestCountersOfOtherJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(file, []byte(`{"a":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	bottleneck("counters", file).want(t, exitUsage, "", "x.json is JSON: want a trace or an archive")
	bottleneck("graph", "-o", file, mutexTrace).want(t, exitOK, "", "")
	bottleneck("counters", file).want(t, exitUsage, "", "x.json is JSON: want a trace or an archive")
}

// Timelines in text, JSON and pictures: processors that are always busy until the program ends, and
// goroutines whose time slices are over.
func TestTimelines(t *testing.T) {
	trace := filepath.Join("..", "..", "testdata", "real", "pgzip.trace.zst")
	var l query.Lanes
	r := bottleneck("counters", "-timeline", "proc", "-format", "json", trace)
	r.want(t, exitOK, `{"by":"proc",`, "")
	if err := json.Unmarshal([]byte(r.out), &l); err != nil || len(l.Lanes) != 2 || l.By != "proc" || l.Width != 1000 {
		t.Fatalf("%+v, %v", l, err)
	}
	rec, err := quanta.ReadFile(t.Context(), trace, quanta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	busy, long := map[int64]int64{}, 0
	for row := range rec.Len() {
		busy[int64(rec.Proc[row])] += rec.Duration[row]
		if rec.Ending[row] == quanta.Preempted && rec.Duration[row] > 10*(l.To-l.From)/1000 {
			long++
		}
	}
	preempted := 0
	for _, lane := range l.Lanes {
		if int64(lane.Busy) != busy[*lane.Number] {
			t.Errorf("processor %d ran for %v, want %v", *lane.Number, int64(lane.Busy), busy[*lane.Number])
		}
		for _, c := range lane.Cells {
			if c.Ended == quanta.Preempted {
				preempted++
			}
		}
	}
	if preempted < long {
		t.Errorf("%d glyphs for %d long quanta", preempted, long)
	}
	text := bottleneck("counters", "-timeline", "proc", trace)
	text.want(t, exitOK, "▸ preempted, ◇ yielded, □ blocked.\n\n0  ", "")
	if n := strings.Count(text.out, "█"); n < 50 {
		t.Errorf("%d full columns:\n%s", n, text.out)
	}
	bottleneck("counters", "-timeline", "group", "-top", "2", trace).want(t, exitOK, " more, which ran for ", "")
	bottleneck("counters", "-timeline", "proc", "-format", "svg", trace).want(t, exitOK, ">Timelines<", "")
	bottleneck("counters", "-timeline", "proc", "-by", "group", trace).want(t, exitUsage, "", "without -by")
	bottleneck("counters", "-timeline", "func", trace).want(t, exitUsage, "", "no lanes by")
	bottleneck("counters", "-timeline", "proc", "-format", "csv", trace).want(t, exitUsage, "", "-timeline is for text, json, svg or png")
}
