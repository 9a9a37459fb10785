package timeline

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/bulk"
	"github.com/bottleneck-go/bottleneck/internal/race"
)

// atLeastTwo lets goroutines run in parallel.
func atLeastTwo(t *testing.T) {
	if before := runtime.GOMAXPROCS(0); before < 2 {
		runtime.GOMAXPROCS(2)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
}

// A parallel observer sees the same as others, in whole traces and in parts, in one pass and in
// two, and for truncated traces.
func TestBeside(t *testing.T) {
	atLeastTwo(t)
	for _, c := range corpus(t) {
		if len(c.data) > 600_000 || race.Enabled && len(c.data) > 100_000 {
			continue
		}
		for i, data := range [][]byte{c.data, c.data[:len(c.data)*2/3]} {
			for k, opt := range []Options{{}, {From: 1, First: 2}, {From: math.MaxInt32}} {
				if c.real && i != k {
					continue // the small traces have all combinations
				}
				want, here, others := &transcript{}, &transcript{}, &transcript{}
				_, wantErr := Read(t.Context(), bytes.NewReader(data), opt, want)
				_, err := Read(t.Context(), bytes.NewReader(data), opt, here, Beside(others))
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("%s: error %v, want %v", c.name, err, wantErr)
				}
				here.sameAs(t, c.name+" here", want)
				others.sameAs(t, c.name+" beside", want)
			}
		}
		twice := func(observers ...Observer) {
			if _, err := readTwice(t.Context(), bytes.NewReader(c.data), Options{}, anyFormat(), 0, nil, func(info *Info) (Time, []Observer) {
				return info.Start + Time(info.Duration())/2, observers
			}); err != nil {
				t.Fatal(err)
			}
		}
		want, here, others := &transcript{}, &transcript{}, &transcript{}
		twice(want)
		twice(here, Beside(others))
		here.sameAs(t, c.name+" again", want)
		others.sameAs(t, c.name+" again, beside", want)
	}
}

// rememberG keeps a goroutine that it is shown.
type rememberG struct {
	Base
	g *Goroutine
}

func (r *rememberG) Transition(t *Transition) { r.g = t.G }

// A parallel observer has its own goroutines, unless it is alone, there is one processor, or there
// are more goroutines than mostBeside.
func TestBesideOnlyWhereItHelps(t *testing.T) {
	small := smallTrace(t, "phases-go1.26.8.trace")
	written := func(name string, n int) []byte {
		var b bytes.Buffer
		if err := bulk.Named(name).Write(&b, n); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name  string
		data  []byte
		opt   Options
		procs int
		apart bool
	}{
		{"two processors", small, Options{}, 2, true},
		{"one processor", small, Options{}, 1, false},
		{"one worker", small, Options{Workers: 1}, 2, false},
		{"many goroutines", written("goroutines at the same time", mostBeside+1), Options{}, 2, false},
		{"many, but few at a time", written("goroutines, one after the other", mostBeside+1), Options{}, 2, true},
	} {
		before := runtime.GOMAXPROCS(c.procs)
		for _, read := range []func(observers ...Observer) (*Info, error){
			func(observers ...Observer) (*Info, error) {
				return Read(t.Context(), bytes.NewReader(c.data), c.opt, observers...)
			},
			func(observers ...Observer) (*Info, error) {
				return ReadTwice(t.Context(), bytes.NewReader(c.data), c.opt, 0, nil, func(*Info) []Observer { return observers })
			},
		} {
			here, others := &rememberG{}, &rememberG{}
			_, err := read(here, Beside(others))
			if err != nil || here.g == nil || others.g == nil || here.g.ID != others.g.ID {
				t.Fatalf("%s: error %v, goroutines %v and %v", c.name, err, here.g, others.g)
			}
			if apart := here.g != others.g; apart != c.apart {
				t.Errorf("%s: goroutines of its own: %v", c.name, apart)
			}
		}
		runtime.GOMAXPROCS(before)
	}
	alone := &rememberG{}
	if p, err := open(t.Context(), bytes.NewReader(small), Options{}, anyFormat(), 0, []Observer{Beside(alone)}); err != nil || p.beside != nil {
		t.Errorf("an observer beside none: error %v, replay %v", err, p.beside)
	}
}

// A panic of a parallel observer is one of the pass, which starts no later call of the other
// observers.
func TestBesidePanics(t *testing.T) {
	atLeastTwo(t)
	data := smallTrace(t, "phases-go1.26.8.trace")
	never := &panics{n: math.MaxInt}
	for _, observers := range [][]Observer{{never, Beside(&panics{n: 10})}, {&panics{n: 10}, Beside(never)}} {
		func() {
			defer func() {
				if p := recover(); p != "observer's own fault" {
					t.Errorf("panic %v", p)
				}
			}()
			Read(t.Context(), bytes.NewReader(data), Options{}, observers...)
		}()
		left := never.n
		runtime.Gosched()
		if never.n != left {
			t.Error("an observer was called after the pass")
		}
	}
}
