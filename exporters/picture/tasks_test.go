package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/granularity"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// tasksProfile has n classes over a second, each with tasks of lengths around a center of its own.
func tasksProfile(n, tasks int) *granularity.Profile {
	rng := rand.New(rand.NewPCG(1, 2))
	p := &granularity.Profile{
		Source: "rseq-clock", Accuracy: "thread-time", Hz: 2.3e9, Procs: 4, Start: 5e9, Wall: time.Second,
		Overhead: 310 * time.Nanosecond, OverheadOrigin: "the cost of an empty task",
	}
	for i := range n {
		c := granularity.Class{Name: fmt.Sprintf("example.com/shop/stock.(*Index).work%d", i), Tasks: uint64(tasks), Diagnosis: granularity.OK}
		middle := math.Pow(10, 3.2+5*float64(i)/float64(max(n, 2)))
		for range tasks {
			v := middle * math.Exp(rng.NormFloat64())
			c.Cycles.Add(uint64(v))
			c.WallNS.Add(uint64(v / 2))
		}
		for b := range 200 {
			c.Series = append(c.Series, granularity.Bin{At: p.Start + int64(b+1)*5e6, Ended: 3, Busy: time.Duration(5e6 * rng.Float64() * 4), Active: 0.5})
		}
		p.Classes = append(p.Classes, c)
	}
	if n > 0 {
		p.Classes[0].Diagnosis, p.Classes[0].Reasons = granularity.Fine, []string{"similar and small"}
		p.Classes[n-1].Diagnosis = granularity.Coarse
	}
	for i := range 10 {
		p.Samples = append(p.Samples, granularity.Sample{
			At: p.Start + int64(i+1)*1e8, Wall: granularity.SampleEvery, Voluntary: uint64(rng.IntN(900)), Utilization: rng.Float64(), Excluded: i == 7,
		})
	}
	p.Pauses = []granularity.GCPause{{At: p.Start + 3e8, Length: 2e5}, {At: p.Start + 71e7, Length: 6e7}}
	return p
}

func tasksSamples() map[string]*granularity.Profile {
	byTime := tasksProfile(4, 500)
	byTime.Source, byTime.Hz, byTime.Accuracy = granularity.SourceTrace, 0, "upper-bound"
	for i := range byTime.Classes {
		c := &byTime.Classes[i]
		c.RunningNS, c.Cycles = c.Cycles, granularity.Histogram{}
	}
	wild := tasksProfile(len(hostileNames), 50)
	for i, name := range hostileNames {
		c := &wild.Classes[i]
		c.Name, c.Diagnosis, c.Reasons = name, name, hostileNames
		c.Cycles.Add(math.MaxUint64)
		c.Cycles.Add(0)
		c.Series = append(c.Series, granularity.Bin{At: math.MinInt64, Busy: math.MaxInt64})
	}
	wild.Source, wild.Accuracy, wild.OverheadOrigin, wild.Warnings = hostileNames[0], hostileNames[7], hostileNames[8], hostileNames
	wild.Samples = append(wild.Samples, granularity.Sample{At: math.MinInt64, Wall: math.MaxInt64, Utilization: math.NaN(), Voluntary: math.MaxUint64})
	wild.Pauses = append(wild.Pauses, granularity.GCPause{At: math.MaxInt64, Length: math.MaxInt64})
	noHz := tasksProfile(3, 30)
	noHz.Hz, noHz.Samples, noHz.Pauses = 0, nil, nil
	forever := tasksProfile(3, 30)
	forever.Start, forever.Wall, forever.Overhead = 0, math.MaxInt64, math.MaxInt64
	return map[string]*granularity.Profile{
		"three": tasksProfile(3, 2000), "many300": tasksProfile(300, 200), "nine": tasksProfile(9, 20), "bytime": byTime, "wild": wild,
		"nohz": noHz, "empty": {}, "one": tasksProfile(1, 1), "forever": forever,
	}
}

// TestTasksLook writes the samples to the directory PICTURES for visual inspection.
func TestTasksLook(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	for name, p := range tasksSamples() {
		for form, write := range map[string]func(io.Writer, *granularity.Profile, Options) error{
			"cdf.svg": TasksSVG, "strip.svg": StripSVG, "cdf.png": TasksPNG, "strip.png": StripPNG,
		} {
			f, err := os.Create(filepath.Join(dir, name+"-"+form))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(write(f, p, Options{}), f.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// Texts neither leave the picture nor overlap in fonts 15 % wider. Shapes are inside.
func TestTasksLayout(t *testing.T) {
	for name, p := range tasksSamples() {
		for _, opt := range []Options{{}, {Top: -1}, {Top: 3, Title: strings.Repeat("long ", 100), Subtitle: hostileNames[7]}} {
			for what, draw := range map[string]func(*granularity.Profile, Options) (*Drawing, error){"cdf": DrawTasks, "strip": DrawStrip} {
				at := fmt.Sprintf("%s, %s, top %d", name, what, opt.Top)
				s, err := draw(p, opt)
				if err != nil {
					t.Fatal(err)
				}
				checkTexts(t, at, s)
				walk(s.shapes, func(sh shape) {
					inside := func(x, y float64) {
						if !(x >= -0.01 && y >= -0.01 && x <= s.width+0.01 && y <= s.height+0.01) {
							t.Errorf("%s: %v, %v is outside of %v × %v", at, x, y, s.width, s.height)
						}
					}
					switch sh := sh.(type) {
					case rect:
						inside(sh.x, sh.y)
						inside(sh.x+sh.w, sh.y+sh.h)
					case lines:
						for _, l := range sh.segments {
							inside(l.x1, l.y1)
							inside(l.x2, l.y2)
						}
					}
				})
			}
		}
	}
}

func checkTexts(t *testing.T, at string, s *Drawing) {
	t.Helper()
	const slip = 0.01
	all := texts(s)
	for i, a := range all {
		ax0, ay0, ax1, ay1 := a.bounds()
		if ax0 < 0 || ay0 < 0 || ax1 > s.width+slip || ay1 > s.height+slip {
			t.Errorf("%s: %q is outside: x %.1f to %.1f, y %.1f to %.1f", at, a.s, ax0, ax1, ay0, ay1)
		}
		for _, b := range all[i+1:] {
			bx0, by0, bx1, by1 := b.bounds()
			if ax0 < bx1-slip && bx0 < ax1-slip && ay0 < by1-slip && by0 < ay1-slip {
				t.Errorf("%s: %q and %q overlap", at, a.s, b.s)
			}
		}
	}
}

// Both forms of both pictures are well-formed, have the expected content, and fail if their writer
// fails.
func TestTasksForms(t *testing.T) {
	for name, p := range tasksSamples() {
		for _, write := range []func(io.Writer, *granularity.Profile, Options) error{TasksSVG, StripSVG} {
			var b bytes.Buffer
			if err := write(&b, p, Options{}); err != nil {
				t.Fatal(name, err)
			}
			for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if bytes.Contains(b.Bytes(), []byte("<script")) || bytes.Contains(b.Bytes(), []byte("NaN")) {
				t.Errorf("%s: a name became an element, or a number is none", name)
			}
			if len(b.Bytes()) > 400_000 {
				t.Errorf("%s: %d bytes", name, b.Len())
			}
		}
	}
	var b bytes.Buffer
	p := tasksProfile(3, 200)
	for _, write := range testenv.Some([]func(io.Writer, *granularity.Profile, Options) error{TasksPNG, StripPNG}) {
		b.Reset()
		if err := write(&b, p, Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(&b); err != nil {
			t.Error(err)
		}
		if err := write(io.Discard, nil, Options{}); err == nil {
			t.Error("no profile is accepted")
		}
	}
}

func TestTasksTexts(t *testing.T) {
	p := tasksProfile(300, 20)
	all := func(s *Drawing) string {
		var words []string
		for _, t := range texts(s) {
			words = append(words, t.s)
		}
		return strings.Join(words, "\n")
	}
	for _, tt := range []struct {
		draw func(*granularity.Profile, Options) (*Drawing, error)
		p    *granularity.Profile
		want []string
	}{
		{DrawTasks, p, []string{"6,000 tasks of 300 classes", "too small: 1; too large: 1", "292 others", "stock.(*Index).work299", "coarse-grained", "fine-grained", "10k", "4.35 µs", "310 ns"}},
		{DrawStrip, p, []string{"context switches a second", "CPU utilization of 4 processors", "2 pauses of the garbage collector", "at once", "coarse-grained: ", "time (s)"}},
		{DrawTasks, tasksSamples()["bytime"], []string{"running time", "10 µs"}},
		{DrawStrip, tasksSamples()["bytime"], []string{"goroutine switches a second"}},
		{DrawStrip, tasksSamples()["nohz"], []string{"Recorder.Start"}},
		{DrawTasks, &granularity.Profile{}, []string{"no tasks were measured"}},
	} {
		s, err := tt.draw(tt.p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if got := all(s); !strings.Contains(got, want) {
				t.Errorf("%q is not in\n%s", want, got)
			}
		}
	}
}
