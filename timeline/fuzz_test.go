package timeline

import (
	"bufio"
	"bytes"
	"io"
	"runtime/metrics"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// maxSeed keeps seeds so small that the targets reach at least 1,000 executions a second. The other
// tests read larger traces.
const maxSeed = 6000

// seeds adds small traces of all versions: whole, in pieces and hand-made.
func seeds(f *testing.F) {
	for _, c := range corpus(f) {
		if c.real || len(c.data) > 20000 {
			continue
		}
		parts := generations(f, c.data)
		for _, data := range [][]byte{c.data, parts[len(parts)-1], parts[0][:len(parts[0])*2/3]} {
			if len(data) <= maxSeed {
				f.Add(data)
			}
		}
	}
	for _, version := range []int{22, 23, 25, 26} {
		f.Add(handMade(version))
	}
	f.Add(coroutineEnds(26, false).bytes())
	for _, s := range []string{"", "go 1.22 trace\x00\x00\x00", "go 1.21 trace\x00\x00\x00", "go 1.99 trace\x00\x00\x00", "<html>", "\x1f\x8b\x08\x00"} {
		f.Add([]byte(s))
	}
	if old, err := oldTraces(); err == nil {
		for _, o := range old {
			f.Add(o.data[:min(len(o.data), 4000)])
			if len(o.data) <= maxSeed {
				f.Add(o.data)
			}
		}
	}
}

// FuzzCut: the cutter divides any bytes into adjacent pieces, the same from a stream as from a
// file.
func FuzzCut(f *testing.F) {
	testenv.BriefFuzzing(f)
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, version := range []int{22, 26} {
			file := &cutter{src: &fileSource{r: bytes.NewReader(data), size: int64(len(data))}, scanner: scanner{version: version}}
			stream := &cutter{src: &streamSource{r: bufio.NewReader(bytes.NewReader(data))}, scanner: scanner{version: version}}
			pos := int64(0)
			for i := 1; ; i++ {
				a, errA := file.next()
				b, errB := stream.next()
				if errA != errB {
					t.Fatalf("generation %d: file %v, stream %v", i, errA, errB)
				}
				if errA != nil {
					if errA != io.EOF {
						t.Fatal(errA)
					}
					break
				}
				if a.off != pos || a.size < 0 || a.size == 0 && a.cut == nil || a.index != i {
					t.Fatalf("generation %d: offset %d, size %d; the one before ended at %d", i, a.off, a.size, pos)
				}
				pos += a.size
				if a.off != b.off || a.size != b.size || a.number != b.number || a.at != b.at || (a.cut == nil) != (b.cut == nil) || a.cut != nil && a.cut.Error() != b.cut.Error() {
					t.Fatalf("generation %d: file %+v, stream %+v", i, a, b)
				}
				fromFile, err1 := io.ReadAll(a.open())
				fromStream, err2 := io.ReadAll(b.open())
				if err1 != nil || err2 != nil || !bytes.Equal(fromFile, fromStream) || !bytes.Equal(fromFile, data[a.off:a.off+a.size]) {
					t.Fatalf("generation %d: the bytes differ, %v, %v", i, err1, err2)
				}
			}
			if pos > int64(len(data)) {
				t.Fatalf("%d bytes cut from %d", pos, len(data))
			}
		}
	})
}

// FuzzRead: for every input the calls are balanced, an error is short, and the memory is
// proportional to the length.
func FuzzRead(f *testing.F) {
	testenv.BriefFuzzing(f)
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		_, first, err := checkBroken(t, bytes.NewReader(data))
		if grown := allocated() - before; grown > 64<<20+uint64(len(data))*4000 {
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), grown)
		}
		if compression(data) != "" || len(data) > headerSize && data[5] < '2' {
			return
		}
		second := newChecker()
		second.strict = false
		_, err2 := Read(t.Context(), streamOnly{bytes.NewReader(data)}, Options{Workers: 3}, second)
		if (err == nil) != (err2 == nil) || first.transitions != second.transitions || first.calls != second.calls {
			t.Errorf("file: %d calls, %v; stream: %d calls, %v", first.calls, err, second.calls, err2)
		}
	})
}

// allocated returns the number of bytes that the process has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
