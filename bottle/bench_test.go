package bottle

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/timeline"
)

// recorder keeps the transitions that an observer sees, with the goroutines as they are at the end,
// to replay them.
type recorder struct {
	timeline.Base
	begin   timeline.Time
	version int
	trs     []timeline.Transition
	end     timeline.Time
}

func (r *recorder) Begin(t timeline.Time, version int) { r.begin, r.version = t, version }
func (r *recorder) Transition(t *timeline.Transition)  { r.trs = append(r.trs, *t) }
func (r *recorder) End(t timeline.Time)                { r.end = t }

// BenchmarkFold measures the fold per transition, without reading.
func BenchmarkFold(b *testing.B) {
	rec := &recorder{}
	if _, err := timeline.ReadFile(context.Background(), filepath.Join("..", "testdata", "real", "stdlog-file.trace.zst"), timeline.Options{}, rec); err != nil {
		b.Fatal(err)
	}
	for name, opt := range map[string]Options{
		"whole":        {},
		"windows=10ms": {Window: 10 * time.Millisecond},
		"windows=1ms":  {Window: time.Millisecond},
		"offered":      {Offered: true},
		"by-goroutine": {Group: ByGoroutine},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n, windows := 0, 0
			for n < b.N {
				o := NewObserver(opt)
				o.Begin(rec.begin, rec.version)
				for i := range rec.trs {
					o.Transition(&rec.trs[i])
				}
				o.End(rec.end)
				n += len(rec.trs)
				windows += len(o.windows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/transition")
			if windows > 0 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(windows), "ns/window")
			}
		})
	}
}

// Folding allocates nothing once every goroutine, box and window has been seen.
func TestFoldDoesNotAllocate(t *testing.T) {
	for name, opt := range map[string]Options{"whole": {}, "offered": {Offered: true}, "by goroutine": {Group: ByGoroutine}} {
		d := drive(opt, 0)
		g := d.appear(app(1, "main.f"), timeline.Running, timeline.WaitNone)
		block, run := timeline.Transition{To: timeline.Waiting}, timeline.Transition{To: timeline.Running}
		block.G, run.G = g, g
		at := timeline.Time(0)
		allocs := testing.AllocsPerRun(1000, func() {
			at += 64
			block.End = at
			d.o.Transition(&block)
			at += 64
			run.End = at
			d.o.Transition(&run)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations for two transitions", name, allocs)
		}
	}
}

// BenchmarkReadFile measures a graph including reading, and, in the part named "timeline", a pass
// without observers.
func BenchmarkReadFile(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join("..", "testdata", "real", "*.zst"))
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		packed, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		var events int64
		b.Run(name+"/timeline", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				info, err := timeline.Read(context.Background(), strings.NewReader(string(packed)), timeline.Options{})
				if err != nil {
					b.Fatal(err)
				}
				events = info.Events
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
		})
		for how, opt := range map[string]Options{"graph": {}, "stacks": {Stacks: true}} {
			b.Run(name+"/"+how, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := ReadTrace(context.Background(), strings.NewReader(string(packed)), opt); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
			})
		}
	}
}
