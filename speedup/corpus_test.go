package speedup

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bottleneck-go/bottleneck/internal/race"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// corpus returns the recorded traces of the module, unpacked, by name.
var corpus = sync.OnceValue(func() map[string][]byte {
	out := map[string][]byte{}
	files, _ := filepath.Glob("../testdata/*/*.trace*")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			panic(err)
		}
		if filepath.Ext(f) == ".zst" {
			z, err := zstd.NewReader(bytes.NewReader(b))
			if err != nil {
				panic(err)
			}
			if b, err = io.ReadAll(z); err != nil {
				panic(err)
			}
			z.Close()
		}
		out[strings.TrimSuffix(filepath.Base(f), ".zst")] = b
	}
	return out
})

// selectorFor selects the workers of traces whose workers cannot be found.
func selectorFor(name string) string {
	if strings.HasPrefix(name, "sys-") {
		return "work.sysReader,work.sysWriter"
	}
	return ""
}

// passes makes both passes over a trace.
func (e *Estimator) passes(ctx context.Context, data []byte) (*timeline.Info, error) {
	if info, err := timeline.Read(ctx, bytes.NewReader(data), e.opt.pass(e.run.name), e.First()); err != nil {
		return info, err
	}
	second, err := e.Second()
	if err != nil {
		return nil, err
	}
	return timeline.Read(ctx, bytes.NewReader(data), e.opt.pass(e.run.name), second)
}

// fromTraces returns the stack of two runs.
func fromTraces(ctx context.Context, single, multi []byte, opt Options) (*Stack, error) {
	e := NewEstimator(opt)
	info, err := e.passes(ctx, multi)
	if err != nil {
		return nil, err
	}
	return e.Compare(ctx, bytes.NewReader(single), info)
}

// estimate returns the estimate from one run, also for traces that Estimator.Stack refuses.
func estimate(t *testing.T, data []byte, opt Options) (*Stack, error) {
	e := NewEstimator(opt)
	info, err := e.passes(t.Context(), data)
	if err == nil {
		err = e.ended(info)
	}
	if err != nil {
		return nil, err
	}
	return estimated(e.run.account), nil
}

// TestIdentities checks every trace of the corpus against the identities that are exact for all.
func TestIdentities(t *testing.T) {
	if len(corpus()) < 10 {
		t.Fatal("the corpus is missing")
	}
	for name, data := range corpus() {
		if testing.Short() && len(data) > 1<<20 || race.Enabled && len(data) > 1<<18 {
			continue
		}
		lanes := []int{0, 1, 5}
		if len(data) > 1<<20 {
			lanes = []int{3} // once is enough: it takes long
		}
		for _, n := range lanes[:max(1, len(lanes)/race.Slowdown)] {
			opt := Options{N: n, Workers: selectorFor(name), Window: 13 * time.Millisecond}
			s, err := estimate(t, data, opt)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			checkStack(t, s)
			checkSums(t, s.Multi)
			if len(s.Multi.Windows) < 2 {
				t.Errorf("%s: %d windows", name, len(s.Multi.Windows))
			}
			for _, w := range s.Windows() {
				checkStack(t, w)
			}
			opt.Window = 0
			whole, err := estimate(t, data, opt)
			if err != nil {
				t.Fatal(err)
			}
			checkSums(t, whole.Multi)
			for c := range whole.Multi.Time {
				if d := whole.Multi.Time[c] - s.Multi.Time[c]; d.Abs() > time.Duration(len(s.Multi.Windows)) {
					t.Errorf("%s: %v is %v without windows, %v with", name, Component(c), whole.Multi.Time[c], s.Multi.Time[c])
				}
			}
		}
	}
}

// TestPairs computes stacks of sensible and other pairs of traces. The identity holds for all.
func TestPairs(t *testing.T) {
	names := []string{"compute-go1.22.12.trace", "compute-go1.26.8.trace", "mutex-go1.26.8.trace", "phases-go1.26.8.trace", "json-gogc5.trace"}
	for _, single := range names {
		for _, multi := range names {
			s, err := fromTraces(t.Context(), corpus()[single], corpus()[multi], Options{Window: 50 * time.Millisecond})
			if err != nil {
				t.Errorf("%s, %s: %v", single, multi, err)
				continue
			}
			checkStack(t, s)
			checkSums(t, s.Multi)
			checkSums(t, s.Single)
			programA, _, _ := strings.Cut(single, "-")
			programB, _, _ := strings.Cut(multi, "-")
			foreign := len(s.Warnings) > 0 && strings.Contains(strings.Join(s.Warnings, " "), "different programs")
			if (programA != programB) != foreign {
				t.Errorf("%s, %s: warnings %q", single, multi, s.Warnings)
			}
		}
	}
}

// The traces agree with what their README states.
func TestTracesAgreeWithTheirREADME(t *testing.T) {
	for _, tt := range []struct {
		trace    string
		part     func(*Stack) float64
		from, to float64
	}{
		{"compute-go1.26.8.trace", func(s *Stack) float64 { return s.Speedup }, 1.9, 2},
		{"mutex-go1.26.8.trace", func(s *Stack) float64 { return s.Components[SyncMutex] }, 0.6, 0.8},
		{"phases-go1.26.8.trace", func(s *Stack) float64 { return s.Components[Imbalance] }, 0.25, 0.4},
		{"stdlog-file.trace", func(s *Stack) float64 { return s.Components[SyncMutex] }, 0.55, 0.7},
		{"gocompile-c2.trace", func(s *Stack) float64 { return s.Components[Sequential] }, 0.4, 0.5},
		{"pgzip.trace", func(s *Stack) float64 { return s.Speedup }, 1.7, 1.95},
	} {
		s, err := estimate(t, corpus()[tt.trace], Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v := tt.part(s); v < tt.from || v > tt.to {
			t.Errorf("%s: %v, want between %v and %v", tt.trace, v, tt.from, tt.to)
		}
	}
}

// The error for a bad input states what is wrong.
func TestErrors(t *testing.T) {
	data := corpus()["mutex-go1.26.8.trace"]
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		what          string
		ctx           context.Context
		single, multi []byte
		opt           Options
		want          string
	}{
		{"no trace", t.Context(), data, []byte("hello"), Options{MultiName: "b.trace"}, "b.trace: not a Go execution trace"},
		{"no single trace", t.Context(), nil, data, Options{SingleName: "a.trace"}, "a.trace: it is empty"},
		{"cut off", t.Context(), data, data[:len(data)*2/3], Options{}, "the trace: offset "},
		{"no such worker", t.Context(), data, data, Options{Workers: "main.nobody"}, `no goroutine is a worker by "main.nobody"; there are work.mutexWorker (4 goroutines)`},
		{"wrong workers", t.Context(), data, data, Options{Workers: "pool:"}, `workers "pool:": a name is missing`},
		{"canceled", canceled, data, data, Options{}, "context canceled"},
	} {
		s, err := fromTraces(tt.ctx, tt.single, tt.multi, tt.opt)
		if s != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.want)
		}
	}
	s, err := fromTraces(t.Context(), corpus()["compute-go1.25.5.trace"], corpus()["compute-go1.26.8.trace"], Options{N: 3})
	if err != nil || s.N != 3 || !strings.Contains(strings.Join(s.Warnings, " "), "The run never reached 3 workers: at most 2 lived") {
		t.Errorf("%v, %v", s, err)
	}
}

// Disturbed reports whether other programs used the processors during a run.
func TestDisturbed(t *testing.T) {
	data := corpus()["compute-go1.26.8.trace"]
	wall := func() time.Duration {
		info, err := timeline.Read(t.Context(), bytes.NewReader(data), timeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return info.Duration()
	}()
	for _, tt := range []struct {
		single, multi time.Duration
		want          int
	}{{0, 0, 0}, {wall * 2 / 100, wall * 2 / 100, 0}, {wall * 4 / 100, 0, 1}, {0, wall * 4 / 100, 1}, {wall, wall, 2}} {
		s, err := fromTraces(t.Context(), data, data, Options{SingleDelay: tt.single, MultiDelay: tt.multi})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(strings.Join(s.Warnings, " "), "Disturbed: "); got != tt.want || s.Disturbed != (tt.want > 0) {
			t.Errorf("%v, %v: %v, %q", tt.single, tt.multi, s.Disturbed, s.Warnings)
		}
	}
}
