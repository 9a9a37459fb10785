package timeline

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// A scan finds the beginning of a generation: that of decoding it.
func TestBeginsOfGenerations(t *testing.T) {
	for _, c := range corpus(t) {
		in, err := openInput(bytes.NewReader(c.data), anyFormat())
		if err != nil {
			t.Fatal(err)
		}
		cut := &cutter{src: in.source, scanner: scanner{version: in.version}, pos: headerSize}
		for {
			g, err := cut.next()
			if err != nil {
				break
			}
			d := (&decoding{ctx: t.Context(), version: in.version, stacks: newStackTable()}).decode(g.open)
			s := &selector{cut: cut, stacks: newStackTable()}
			if at, ok := s.begin(g); !ok || at != d.firstReal || timeOf(g.first, g.frequency) > at {
				t.Errorf("%s, generation %d: %d, %v; decoded %d; the first batch is at %d", c.name, g.index, at, ok, d.firstReal, timeOf(g.first, g.frequency))
			}
			d.release()
		}
	}
}

// Only the generations of a part are decoded, from a file, a stream and a compressed stream. They
// show the same as a trace of those generations alone.
func TestPart(t *testing.T) {
	for _, name := range []string{"compute-go1.22.12.trace", "compute-go1.26.8.trace", "phases-go1.26.8.trace", "pgzip.trace.zst"} {
		data := smallTrace(t, name)
		alone := generations(t, data)
		n := len(alone)
		var begins, starts []Time // the first events, and the first batches
		for _, g := range alone {
			cut := &cutter{src: &fileSource{r: bytes.NewReader(g), size: int64(len(g))}, scanner: scanner{version: versionOf(t, g)}, pos: headerSize}
			only, err := cut.next()
			if err != nil {
				t.Fatal(err)
			}
			starts = append(starts, timeOf(only.first, only.frequency))
			info, err := Read(t.Context(), bytes.NewReader(g), Options{})
			if err != nil {
				t.Fatal(err)
			}
			begins = append(begins, info.Start)
		}
		if n < 2 {
			t.Fatalf("%s has %d generations", name, n)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(data)
		z.Close()
		// read checks which generations are decoded.
		read := func(part Options, from, to int) *Info {
			t.Helper()
			var last *Info
			for how, r := range map[string]io.Reader{"file": bytes.NewReader(data), "stream": streamOnly{bytes.NewReader(data)}, "packed": bytes.NewReader(packed.Bytes())} {
				var mu sync.Mutex
				var decoded []int
				check := newChecker()
				part.decodes = func(index int) {
					mu.Lock()
					defer mu.Unlock()
					decoded = append(decoded, index)
				}
				info, err := Read(t.Context(), r, part, check)
				if err != nil {
					t.Fatalf("%s, %s, %+v: %v", name, how, part, err)
				}
				check.verify(t, info)
				slices.Sort(decoded)
				want := make([]int, 0, n)
				for i := from; i <= to; i++ {
					want = append(want, i)
				}
				if !slices.Equal(decoded, want) || info.Generations != len(want) || info.Skipped != from-1 || (len(info.Notes) > 0) != (from > 1) {
					t.Errorf("%s, %s, %+v: decoded %v, want %v; %d skipped, notes %q", name, how, part, decoded, want, info.Skipped, info.Notes)
				}
				last = info
			}
			return last
		}
		for first := 1; first <= n; first++ {
			for last := first; last <= n; last++ {
				info := read(Options{First: first, Last: last}, first, last)
				if info.Start != begins[first-1] {
					t.Errorf("%s: generations %d to %d begin at %d, want %d", name, first, last, info.Start, begins[first-1])
				}
				// In the middle of both.
				length := func(i int) time.Duration {
					if i == n {
						return time.Millisecond
					}
					return time.Duration(begins[i]-begins[i-1]) / 2
				}
				from := time.Duration(begins[first-1]-begins[0]) + length(first)
				to := time.Duration(begins[last-1]-begins[0]) + length(last) + 1
				if info := read(Options{From: from, To: to}, first, last); info.Start != begins[0] {
					t.Errorf("%s: from %v to %v: the trace begins at %d, want %d", name, from, to, info.Start, begins[0])
				}
			}
		}
		read(Options{}, 1, n)
		read(Options{From: time.Hour}, n, n) // the caller reports that there is nothing
		read(Options{To: 1}, 1, 1)
		read(Options{From: time.Duration(begins[1] - begins[0])}, 2, n)
		read(Options{To: time.Duration(starts[1] - begins[0])}, 1, 1)
		for _, r := range []io.Reader{bytes.NewReader(data), streamOnly{bytes.NewReader(data)}} {
			_, err := Read(t.Context(), r, Options{Name: "x", First: n + 1})
			if want := fmt.Sprintf("x: there is no generation %d: the trace has %d generations", n+1, n); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
	old, err := oldTraces()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), bytes.NewReader(old[0].data), Options{First: 2}); err == nil || !strings.Contains(err.Error(), "there is no generation 2: traces of go1.") {
		t.Error(err)
	}
}

func versionOf(t *testing.T, trace []byte) int {
	version, err := parseHeader(trace)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// A trace that is damaged after the part is read without an error. One that is damaged before it
// gives an error.
func TestPartOfBrokenTrace(t *testing.T) {
	data := bytes.Clone(smallTrace(t, "compute-go1.26.8.trace"))
	size := 0
	for _, g := range generations(t, data)[:3] {
		size += len(g) - headerSize
	}
	data[headerSize+size+40] ^= 0xff // in generation 4
	data = data[:headerSize+size+200]
	if info, err := Read(t.Context(), bytes.NewReader(data), Options{First: 2, Last: 3}); err != nil || info.Generations != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	var e *Error
	if _, err := Read(t.Context(), bytes.NewReader(data), Options{First: 4}); !errors.As(err, &e) || e.Generation != 4 {
		t.Errorf("%v", err)
	}
}

// FuzzPart: for every trace and part, the calls are balanced, no more is decoded than requested,
// and a stream shows the same as a file.
func FuzzPart(f *testing.F) {
	testenv.BriefFuzzing(f)
	for _, c := range corpus(f) {
		if len(c.data) < 10_000 && !c.real {
			f.Add(c.data, uint8(2), uint8(0), uint16(0), uint16(0))
			f.Add(c.data, uint8(0), uint8(2), uint16(500), uint16(1500))
		}
	}
	f.Add(handMade(22), uint8(0), uint8(0), uint16(1), uint16(0))
	f.Add(handMade(26), uint8(1), uint8(1), uint16(0), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, first, last uint8, from, to uint16) {
		if compression(data) != "" {
			return
		}
		part := Options{First: int(first), Last: int(last), From: time.Duration(from) * time.Millisecond, To: time.Duration(to) * time.Millisecond}
		var infos [2]*Info
		var calls [2]int
		for i, r := range []io.Reader{bytes.NewReader(data), streamOnly{bytes.NewReader(data)}} {
			check := newChecker()
			check.strict = false
			part.Workers = 1 + i*2
			info, err := Read(t.Context(), r, part, check)
			if info.Generations > 0 {
				check.verify(t, info)
			}
			if part.Last > 0 && info.Version >= firstGenerational && info.Generations+info.Skipped > part.Last {
				t.Errorf("%+v: %d generations after %d, %v", part, info.Generations, info.Skipped, err)
			}
			infos[i], calls[i] = info, check.calls
		}
		if calls[0] != calls[1] || infos[0].Skipped != infos[1].Skipped || infos[0].Generations != infos[1].Generations {
			t.Errorf("%+v: file: %d calls, %+v; stream: %d calls, %+v", part, calls[0], infos[0], calls[1], infos[1])
		}
	})
}
