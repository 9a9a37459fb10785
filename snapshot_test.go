package bottleneck

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/host"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// tape is a recorder of a trace.
type tape []byte

func (t tape) WriteTo(w io.Writer) (int64, error) { return bytes.NewReader(t).WriteTo(w) }

// Without the speedup estimate no events are kept. The other analyses of the last seconds do not
// change.
func TestSnapshotWithoutSpeedupFindsTheSame(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/real/*.zst")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(z)
		z.Close()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		info, err := timeline.Read(t.Context(), bytes.NewReader(data), timeline.Options{})
		if err != nil || (testing.Short() || race.Enabled) && info.Events > 50_000 {
			continue
		}
		lasts := []time.Duration{10 * time.Millisecond, info.Duration() / 2, 0, info.Duration() * 2}
		if info.Events > 50_000 { // the two others cover all, which takes long
			lasts = lasts[:2]
		}
		for _, last := range lasts {
			opt := Options{Last: last, Workers: 1}
			end := data
			if last > 0 {
				off := timeline.TailOffset(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), last)
				end = append(bytes.Clone(data[:16]), data[off:]...) // as ReadSnapshot does: both see the same generations
			}
			want := results(t, end, opt)
			opt.Want = WantVerdict | WantContention | WantTasks
			if got := results(t, data, opt); !bytes.Equal(got, want) {
				t.Errorf("%s, the last %v: %d bytes of results, want %d", name, last, len(got), len(want))
			}
			compared++
		}
		if info.Generations > 1 {
			compared += 1000
		}
	}
	if compared < 1000 {
		t.Error("no trace has several generations")
	}
}

// results returns the output of the analyses of a snapshot.
func results(t *testing.T, data []byte, opt Options) []byte {
	t.Helper()
	r, err := AnalyzeRecorder(context.Background(), tape(data), opt)
	if err != nil {
		t.Fatal(err)
	}
	if (r.SpeedupErr == errNoSpeedup) == opt.Want.has(WantSpeedup) {
		t.Errorf("wanted %b: %v", opt.Want, r.SpeedupErr)
	}
	var buf bytes.Buffer
	for _, err := range []error{bottle.WriteJSON(&buf, r.Bottle), contention.WriteJSON(&buf, r.Contention), granularity.WriteJSON(&buf, r.Tasks)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

// A graph of a recorder covers exactly its window, whatever the source holds, and has the
// processors of the machine, which a trace file alone does not have.
func TestGraphRecorderCoversTheWindow(t *testing.T) {
	data, err := os.ReadFile("testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	rec := &bottle.Recorder{Last: 100 * time.Millisecond, Source: tape(data)}
	r, err := GraphRecorder(t.Context(), rec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := r.Bottle
	if g.Wall != 100*time.Millisecond || len(g.Warnings) != 0 || g.CPUs != host.Processors() {
		t.Errorf("%v, %q, %v processors", g.Wall, g.Warnings, g.CPUs)
	}
	whole, err := bottle.ReadTrace(t.Context(), bytes.NewReader(data), bottle.Options{})
	if err != nil || whole.CPUs != 0 {
		t.Fatalf("%v processors; %v", whole.CPUs, err)
	}
	part, err := bottle.ReadTrace(t.Context(), bytes.NewReader(data), bottle.Options{From: whole.Wall - 100*time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if part.Idle != g.Idle || len(part.Boxes) != len(g.Boxes) {
		t.Fatalf("idle %v, %d boxes; by From %v, %d", g.Idle, len(g.Boxes), part.Idle, len(part.Boxes))
	}
	for i := range part.Boxes {
		a, b := &part.Boxes[i], &g.Boxes[i]
		if a.Group != b.Group || a.Share != b.Share || a.Running != b.Running || a.Blocked() != b.Blocked() || a.Goroutines != b.Goroutines {
			t.Errorf("%+v, by From %+v", b, a)
		}
	}
}

// Panics of observers, cancellations and sources without a trace are errors.
func TestGraphRecorderFaults(t *testing.T) {
	data, err := os.ReadFile("testdata/small/mutex-go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := GraphRecorder(t.Context(), tape(data), Options{Observers: []timeline.Observer{faulty{}}}); r != nil || err == nil || !strings.Contains(err.Error(), "panic: transition") {
		t.Errorf("%v, %v", r, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the client is gone")
	cancel(cause)
	if _, err := GraphRecorder(ctx, tape(data), Options{}); !errors.Is(err, cause) {
		t.Error(err)
	}
	if _, err := GraphRecorder(t.Context(), &bottle.Recorder{Source: tape("<html>")}, Options{}); err == nil || !strings.Contains(err.Error(), "HTML") {
		t.Error(err)
	}
}

// faulty is an observer that panics.
type faulty struct{ timeline.Base }

func (faulty) Transition(*timeline.Transition) { panic("transition") }
