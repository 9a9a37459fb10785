package perfevent

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
)

// kernelRecord makes a record in the form of the kernel.
func kernelRecord(kind uint32, misc uint16, body ...uint64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = binary.NativeEndian.AppendUint16(b, uint16(headerBytes+8*len(body)))
	for _, v := range body {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// pair is two numbers of 32 bits, the first at the lower address.
func pair(a, b uint32) uint64 {
	return binary.NativeEndian.Uint64(binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, a), b))
}

func TestParse(t *testing.T) {
	sources := map[uint64]source{77: {Hit, 1}, 78: {Reading, 2}}
	tests := []struct {
		what   string
		record []byte
		want   Record
	}{
		{"a fault", kernelRecord(recordSample, 0, 77, pair(10, 11), 5000, pair(3, 0)), Record{Kind: Hit, Event: 1, CPU: 3, Thread: 11, Time: 5000}},
		{"a reading", kernelRecord(recordSample, 0, 78, pair(10, 11), 5000, pair(3, 0), 2, 900, 800, 40, 41),
			Record{Kind: Reading, Event: 2, CPU: 3, Thread: 11, Time: 5000, Enabled: 900, Running: 800, Values: []uint64{40, 41}}},
		{"onto a processor", kernelRecord(recordSwitch, 0, pair(10, 11), 5000, pair(3, 0), 70), Record{Kind: SwitchIn, CPU: 3, Thread: 11, Time: 5000}},
		{"off it, to wait", kernelRecord(recordSwitch, miscSwitchOut, pair(10, 11), 5000, pair(3, 0), 70), Record{Kind: SwitchOut, CPU: 3, Thread: 11, Time: 5000}},
		{"off it, ready", kernelRecord(recordSwitch, miscSwitchOut|miscSwitchPreempt, pair(10, 11), 5000, pair(3, 0), 70), Record{Kind: Preempted, CPU: 3, Thread: 11, Time: 5000}},
		{"a new thread", kernelRecord(recordFork, 0, pair(10, 10), pair(12, 11), 4900, pair(10, 11), 5000, pair(3, 0), 70), Record{Kind: ThreadBegin, CPU: 3, Thread: 12, Time: 4900}},
		{"a thread less", kernelRecord(recordExit, 0, pair(10, 10), pair(12, 11), 4900, pair(10, 12), 5000, pair(3, 0), 70), Record{Kind: ThreadEnd, CPU: 3, Thread: 12, Time: 4900}},
		{"a loss", kernelRecord(recordLost, 0, 70, 123, pair(10, 11), 5000, pair(3, 0), 70), Record{Kind: Lost, Value: 123, CPU: 3, Thread: 11, Time: 5000}},
	}
	for _, tt := range tests {
		var r Record
		ok, err := parse(tt.record, sources, &r)
		if len(r.Values) == 0 {
			r.Values = nil
		}
		if !ok || err != nil || !reflect.DeepEqual(r, tt.want) {
			t.Errorf("%s: %+v, %v, %v; want %+v", tt.what, r, ok, err, tt.want)
		}
		for n := headerBytes; n < len(tt.record); n += 8 { // cut short: never a panic
			parse(tt.record[:n], sources, &r)
		}
	}
	if ok, err := parse(kernelRecord(recordSample, 0, 99, 0, 0, 0), sources, &Record{}); ok || err != nil {
		t.Errorf("a sample of an event that is not ours: %v, %v", ok, err)
	}
}

// fakeRing is a ring whose kernel is the test.
func fakeRing(size int) *ring {
	const page = 4096
	r := newRing(make([]byte, page+size), page)
	return r
}

func (r *ring) write(records ...[]byte) {
	head := *r.word(headOffset)
	for _, rec := range records {
		for i, b := range rec {
			r.data[(head+uint64(i))&uint64(len(r.data)-1)] = b
		}
		head += uint64(len(rec))
	}
	*r.word(headOffset) = head
}

// TestRing: records are read as they were written, also across the end of the ring, and free their
// space.
func TestRing(t *testing.T) {
	r := fakeRing(256)
	n := uint64(0)
	for round := range 50 {
		var want, got []uint64
		for range round%5 + 1 {
			n++
			want = append(want, n)
			r.write(kernelRecord(recordSample, 0, slices.Repeat([]uint64{n}, 1+int(n)%5)...))
		}
		if err := r.drain(func(b []byte) error {
			got = append(got, binary.NativeEndian.Uint64(b[headerBytes:]))
			if last := binary.NativeEndian.Uint64(b[len(b)-8:]); last != got[len(got)-1] {
				t.Errorf("a record begins with %d and ends with %d", got[len(got)-1], last)
			}
			return nil
		}); err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
		if *r.word(tailOffset) != *r.word(headOffset) {
			t.Fatal("the room was not given back")
		}
	}
	bad := kernelRecord(recordSample, 0, 1)
	binary.NativeEndian.PutUint16(bad[6:], 4000)
	r.write(bad)
	if err := r.drain(func([]byte) error { return nil }); err == nil {
		t.Error("a record larger than the ring is no error")
	}
	if err := r.drain(func([]byte) error { t.Error("what follows is read"); return nil }); err != nil {
		t.Error(err)
	}
}

func FuzzRing(f *testing.F) {
	testenv.BriefFuzzing(f)
	f.Add(kernelRecord(recordSample, 0, 78, pair(10, 11), 5000, pair(3, 0), 2, 900, 800, 40, 41), uint16(0))
	f.Add(kernelRecord(recordFork, 0, pair(10, 10), pair(12, 11), 4900, pair(10, 11), 5000, pair(3, 0), 70), uint16(250))
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		r := fakeRing(256)
		*r.word(headOffset), *r.word(tailOffset), r.tail = uint64(at), uint64(at), uint64(at)
		r.write(b[:min(len(b), 256)])
		sources := map[uint64]source{77: {Hit, 1}, 78: {Reading, 2}}
		r.drain(func(b []byte) error {
			var rec Record
			_, err := parse(b, sources, &rec)
			return err
		})
		if *r.word(tailOffset) > *r.word(headOffset) {
			t.Error("the tail has overtaken the head")
		}
	})
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]Spec{
		"cycles":           {Name: "cycles", Type: 0, Config: 0},
		"minor-faults":     {Name: "minor-faults", Type: 1, Config: 5},
		"LLC-load-misses":  {Name: "LLC-load-misses", Type: 3, Config: 0x10002},
		"r1a8":             {Name: "r1a8", Type: 4, Config: 0x1a8},
		"dTLB-load-misses": {Name: "dTLB-load-misses", Type: 3, Config: 0x10003},
	} {
		if got, err := Named(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, bad := range []string{"", "cycle", "r", "rxyz", "../x", "../../etc/passwd", "a/b/c", "/"} {
		if got, err := Named(bad); err == nil {
			t.Errorf("%q: %+v; want an error", bad, got)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	if got, err := parseCPUs("0-2,5,7-8"); err != nil || !slices.Equal(got, []int{0, 1, 2, 5, 7, 8}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "x", "3-1", "1,", "0-999999"} {
		if got, err := parseCPUs(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q does not contain %q", got, w)
		}
	}
}
