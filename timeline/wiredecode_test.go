package timeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"github.com/bottleneck-go/bottleneck/internal/race"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/internal/wireformat"
)

// The oracle of package wireformat is the Reader of golang.org/x/exp/trace: for each generation,
// both decoders must give the same records and tables.

// bothDecode decodes the one generation of a trace with both decoders. The Reader does without the
// statuses that only wireformat adds: then want is nil.
func bothDecode(t testing.TB, data []byte) (want, got *decoded) {
	t.Helper()
	table := newStackTable()
	rd := &decoding{ctx: context.Background(), stacks: table}
	want = decodeByReader(rd, func() io.Reader { return bytes.NewReader(data) })
	version, err := parseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	got, _ = rd.decodeBytes(data[headerSize:], wireformat.Options{Version: version})
	return want, got
}

// unlike describes the difference of two generations; "" if they are the same.
func unlike(want, got *decoded) string {
	w, g := recordsOf(want), recordsOf(got)
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("record %d of %d: %+v, the Reader has %+v", i, len(w), g[i], w[i])
		}
	}
	if len(w) != len(g) {
		return fmt.Sprintf("%d records, the Reader has %d", len(g), len(w))
	}
	a, b := *want, *got
	a.chunks, b.chunks, a.err, b.err, a.lost, b.lost = nil, nil, nil, nil, nil, nil
	if ag, bg := localGsOf(want), localGsOf(got); !slices.Equal(ag, bg) {
		return fmt.Sprintf("goroutines differ: %.300s, the Reader has %.300s", fmt.Sprintf("%+v", bg), fmt.Sprintf("%+v", ag))
	}
	a.gs, b.gs = localGs{}, localGs{}
	if reflect.DeepEqual(a, b) {
		return ""
	}
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range va.NumField() {
		name := va.Type().Field(i).Name
		if fmt.Sprintf("%+v", va.Field(i)) != fmt.Sprintf("%+v", vb.Field(i)) {
			return fmt.Sprintf("%s differs: %.300s, the Reader has %.300s", name, fmt.Sprintf("%+v", vb.Field(i)), fmt.Sprintf("%+v", va.Field(i)))
		}
	}
	return "something differs"
}

func localGsOf(d *decoded) (all []localG) {
	for i := range int32(d.gs.n) {
		all = append(all, *d.gs.at(i))
	}
	return all
}

// TestSameAsTheReader compares package wireformat with the Reader on traces of real programs.
func TestSameAsTheReader(t *testing.T) {
	files, _ := filepath.Glob("../testdata/*/*.trace")
	packed, _ := filepath.Glob("../testdata/*/*.zst")
	files = append(files, packed...)
	if more := os.Getenv("BOTTLENECK_TRACES"); more != "" {
		found, _ := filepath.Glob(more)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatal("no traces in ../testdata")
	}
	events := 0
	for _, file := range files {
		if info, err := os.Stat(file); race.Enabled && err == nil && info.Size() > 200_000 {
			continue // one goroutine decodes, and the others have all kinds of events
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := plain(t, file)
			if version, err := parseHeader(data); err != nil || !wireformat.Supports(version) {
				t.Skip("older than Go 1.22")
			}
			for i, part := range generations(t, data) {
				want, got := bothDecode(t, part)
				if want.err != nil && got.err == nil && len(got.lost) > 0 {
					continue // the Reader cannot read it
				}
				if want.err != nil || got.err != nil {
					t.Fatalf("generation %d: %v, the Reader: %v", i+1, got.err, want.err)
				}
				if what := unlike(want, got); what != "" {
					t.Fatalf("generation %d: %s", i+1, what)
				}
				events += got.events
				want.release()
				got.release()
			}
		})
	}
	t.Logf("%d events", events)
}

// agree compares both decoders on each complete generation of any input. If they stop, it must be
// at the same event.
func agree(t testing.TB, data []byte) (events, broken int) {
	t.Helper()
	version, err := parseHeader(data)
	if err != nil || !wireformat.Supports(version) {
		return 0, 0
	}
	c := &cutter{src: &fileSource{r: bytes.NewReader(data), size: int64(len(data))}, scanner: scanner{version: version}, pos: headerSize}
	for {
		g, err := c.next()
		if err != nil {
			return events, broken
		}
		if g.cut != nil {
			continue
		}
		part := append(bytes.Clone(data[:headerSize]), data[g.off:g.off+g.size]...)
		if endsInside(part) {
			continue
		}
		want, got := bothDecode(t, part)
		switch {
		case len(got.lost) > 0: // the Reader cannot read it
		case differByDesign(want, got):
		case want.err != nil && got.err != nil && strings.HasPrefix(want.err.Error(), "the trace reader failed"):
			// Its accessors have failed, in the middle of an event.
			if !slices.Equal(recordsOf(want), recordsOf(got)) {
				t.Fatalf("generation %d: %d records, the Reader has %d; %v", g.index, len(recordsOf(got)), len(recordsOf(want)), want.err)
			}
		case (want.err == nil) != (got.err == nil):
			t.Fatalf("generation %d: %v, the Reader: %v", g.index, got.err, want.err)
		default:
			if what := unlike(want, got); what != "" {
				t.Fatalf("generation %d: %s\nerrors: %v, the Reader: %v", g.index, what, got.err, want.err)
			}
			events += got.events
		}
		if got.err != nil {
			broken++
		}
		want.release()
		got.release()
	}
}

// endsInside reports whether the first event of a batch is the end mark, which the Reader takes for
// the end of the generation.
func endsInside(part []byte) bool {
	for rest := part[headerSize:]; len(rest) > 0; {
		h, err := wireformat.ParseHead(rest[:min(len(rest), maxBatchHead)])
		if err != nil {
			return false
		}
		data := rest[h.HeadLen : h.HeadLen+h.DataLen]
		if len(data) > 0 && data[0] == evEndOfGeneration {
			return true
		}
		rest = rest[h.HeadLen+h.DataLen:]
	}
	return false
}

// differByDesign reports whether only one decoder refuses an event or a generation for a reason
// that is known:
//
//   - no goroutine or processor has the number 2⁶⁴−1, which the Reader takes for none;
//   - a table that lacks the last number of an entry, which the Reader takes for the end of the
//     trace;
//   - experiments that the Reader does not know, whose data it refuses.
func differByDesign(want, got *decoded) bool {
	if got.err != nil {
		return strings.Contains(got.err.Error(), "there is no such number") ||
			want.err == nil && want.events == 0 && strings.Contains(got.err.Error(), "a number is not whole")
	}
	return want.err != nil && strings.Contains(want.err.Error(), "index out of range")
}

// FuzzSameAsTheReader: both decoders agree on any input.
func FuzzSameAsTheReader(f *testing.F) {
	testenv.BriefFuzzing(f)
	seeds(f)
	for _, data := range goTestTraces(f) {
		if len(data) <= maxSeed {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}

// TestSameOnGoTests compares both decoders on the traces of the tests of Go's own internal/trace,
// which cover rare orders of events, and on its fuzz corpus.
func TestSameOnGoTests(t *testing.T) {
	traces := goTestTraces(t)
	if len(traces) == 0 {
		t.Skip("the Go distribution has no tests")
	}
	all, sound := 0, 0
	for name, data := range traces {
		t.Run(name, func(t *testing.T) {
			events, _ := agree(t, data)
			if all += events; events > 0 {
				sound++
			}
		})
	}
	if sound < 15 {
		t.Errorf("only %d of %d traces have events", sound, len(traces))
	}
	t.Logf("%d events of %d traces", all, len(traces))
}

// TestSameOnRules: hand-made generations that keep the rules of the format, although the clocks of
// the threads differ, and some that violate one. Both decoders must accept or refuse the same
// ones.
func TestSameOnRules(t *testing.T) {
	f := stk("main.f")
	for _, tt := range []struct {
		what   string
		broken string // a part of the error
		trace  func(g *wireGen)
	}{
		{"a P is stolen out of the second system call by a thread whose clock is behind", "", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wSyscallBegin, 1, f).ev(1020, wSyscallEnd).ev(1030, wSyscallBegin, 2, f).ev(1040, wSyscallEndBlocked)
			g.thread(2).runs(1001, 1, 2).ev(1015, wProcSteal, 0, 3, 1).ev(1016, wHeapAlloc, 1)
		}},
		{"a goroutine is woken by a thread whose clock is behind", "", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wGoBlock, "select", f).ev(1030, wGoStart, 1, 2).ev(1040, wGoBlock, "select", f).ev(1060, wGoStart, 1, 4).ev(1070, wHeapAlloc, 1)
			g.thread(2).runs(1001, 1, 2).ev(1005, wGoUnblock, 1, 1, f).ev(1006, wGoUnblock, 1, 3, f).ev(1007, wHeapAlloc, 1)
		}},
		{"a P in a system call is reported as abandoned by who steals it", "", func(g *wireGen) {
			g.thread(1).ev(1001, wProcStatus, 0, pSyscall).ev(1002, wGoStatus, 1, 1, sSyscall).ev(1040, wSyscallEndBlocked)
			g.thread(2).runs(1003, 1, 2).ev(1010, wProcStatus, 0, 4).ev(1011, wProcSteal, 0, 1, 1).ev(1020, wHeapAlloc, 1)
		}},
		{"a status is a number of two bytes", "", func(g *wireGen) { // only the lower one counts
			g.thread(1).ev(1001, wProcStatus, 0, pSyscall).ev(1002, wGoStatus, 1, 1, 256+sSyscall).ev(1040, wSyscallEndBlocked)
			g.thread(2).runs(1003, 1, 2).ev(1010, wProcStatus, 0, 256+4).ev(1011, wProcSteal, 0, 1, 1).ev(1020, wHeapAlloc, 1)
		}},
		{"numbers are padded", "", func(g *wireGen) {
			t := g.thread(1).ev(1001, wProcStatus, 0)
			t.data = append(t.data, 0x80|pRunning, 0)
			t.data = append(t.data, wGoStatus, 0x81, 0, 0x81, 0, 0x81, 0x80, 0, 0x80|sRunning, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)
			t.ev(1010, wHeapAlloc, 1)
		}},
		{"a goroutine is stopped where it later blocks", "", func(g *wireGen) {
			x, y := stk("main.a", "main.x"), stk("main.b", "main.y")
			g.thread(1).runs(1001, 0, 1).ev(1010, wGoBlock, "select", y).ev(1020, wGoUnblock, 1, 1, f).ev(1030, wGoStart, 1, 2).
				ev(1040, wGoStop, "preempted", x).ev(1050, wGoStart, 1, 3).ev(1060, wGoBlock, "select", y).ev(1070, wGoUnblock, 1, 4, f).ev(1080, wGoStart, 1, 5).
				ev(1090, wGoBlock, "select", x)
		}},
		{"samples come in any order", "", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1050, wHeapAlloc, 1)
			for _, at := range []uint64{1040, 1020, 1030, 1020, 900} {
				g.sample(at, 1, 0, at, f)
			}
		}},
		{"an event of an experiment", "", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, 129, 1, 2, 3).ev(1010, wHeapAlloc, 1)
		}},
		{"GC begins twice", "do not alternate", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wGCBegin, 1, f).ev(1020, wGCBegin, 2, f)
		}},
		{"GC begins twice with one number", "no thread can go on", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wGCBegin, 1, f).ev(1020, wGCEnd, 1)
		}},
		{"GC is active twice", "active already", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wGCActive, 1).ev(1020, wGCActive, 2)
		}},
		{"another region ends", "another region", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wRegionBegin, 0, "a", f).ev(1020, wRegionEnd, 0, "b", f)
		}},
		{"a region ends that began before", "", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1020, wRegionEnd, 0, "b", f)
		}},
		{"a task begins twice", "open already", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wTaskBegin, 7, 0, "a", f).ev(1020, wTaskBegin, 7, 0, "a", f)
		}},
		{"a task begins anew", "", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wTaskBegin, 7, 3, "a", f).ev(1015, wTaskEnd, 7, f).ev(1020, wTaskBegin, 7, noM, "a", f).ev(1025, wTaskEnd, 8, f)
		}},
		{"a stop of the world ends that has not begun", "has not begun", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1020, wSTWEnd)
		}},
		{"two stops of the world end, the first one first", "", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wSTWBegin, "a", f).ev(1020, wSTWBegin, "b", f).ev(1030, wSTWEnd).ev(1040, wSTWEnd)
		}},
		{"a stop of the world begins twice", "begun already", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wSTWBegin, "a", f).ev(1020, wSTWBegin, "a", f)
		}},
		{"a sweep begins twice", "begun already", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wGCSweepBegin, f).ev(1020, wGCSweepBegin, f)
		}},
		{"a call chain is missing", "call chain 99 is missing", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1020, wGoBlock, "select", 99)
		}},
		{"a string is missing", "string 99 is missing", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wHeapAlloc, 1).ev(1020, wGoBlock, 99, f)
		}},
		{"a goroutine is created twice", "exists already", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wGoCreate, 5, f, f).ev(1020, wGoCreate, 5, f, f)
		}},
		{"a status is not the one that is known", "not the status", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wGoStatus, 1, 1, sWaiting)
		}},
		{"a system call has the wrong number", "not the next one", func(g *wireGen) {
			g.thread(1).runs(1001, 0, 1).ev(1010, wSyscallBegin, 2, f)
		}},
	} {
		w := newWire(26)
		tt.trace(w.generation(1, 1000))
		want, got := bothDecode(t, w.bytes())
		if what := unlike(want, got); what != "" {
			t.Errorf("%s: %s", tt.what, what)
		}
		if (want.err == nil) != (tt.broken == "") || (got.err == nil) != (tt.broken == "") || got.err != nil && !strings.Contains(got.err.Error(), tt.broken) {
			t.Errorf("%s: %v, the Reader: %v", tt.what, got.err, want.err)
		}
	}
}

// TestErrorIsAtTheEvent: the error of a trace that violates a rule has the offset of the event.
func TestErrorIsAtTheEvent(t *testing.T) {
	w := newWire(26)
	w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wGCBegin, 1, stk("main.f")).ev(1020, wGCBegin, 2, stk("main.f")).ev(1030, wGCEnd, 3)
	data := w.bytes()
	_, err := Read(t.Context(), bytes.NewReader(data), Options{})
	var e *Error
	if !errors.As(err, &e) || !bytes.HasPrefix(data[e.Offset:], []byte{wGCBegin, 10, 2}) {
		t.Errorf("%v", err)
	}
}

// TestDecoderThatPanics: a panic in a decoder, here because a table of call chains is missing, is
// an error of the generation.
func TestDecoderThatPanics(t *testing.T) {
	data := generations(t, handMade(26))[0]
	wd := &decoding{ctx: t.Context(), version: 26, header: data[:headerSize], other: decodeByReader}
	d := wd.decode(func() io.Reader { return bytes.NewReader(data[headerSize:]) })
	if d.err == nil || !strings.Contains(d.err.Error(), "failed: ") {
		t.Errorf("error %v", d.err)
	}
}

// TestFallback: if only the Reader can read a generation, its result is shown with a note.
func TestFallback(t *testing.T) {
	w := newWire(26)
	w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wGoStatus, noM, noM, sWaiting).ev(1020, wGoBlock, "select", stk("main.f")).ev(1030, wHeapAlloc, 1)
	fs := &facts{}
	info := mustRead(t, w.bytes(), Options{}, fs)
	if len(info.Notes) != 1 || !strings.Contains(info.Notes[0], "there is no such number") {
		t.Errorf("notes %q", info.Notes)
	}
	if got, want := fs.life(1), `waiting 1020-1030 select "select" in main.f`; got != want {
		t.Errorf("\n got  %s\n want %s", got, want)
	}
	// A version unknown to both decoders.
	data := append([]byte("go 1.24 trace\x00\x00\x00"), w.bytes()[headerSize:]...)
	if _, err := Read(t.Context(), bytes.NewReader(data), Options{}); err == nil {
		t.Error("Go 1.24 has no format of its own")
	}
}

// TestCutGenerationShowsAllIntervals: for a generation without its tables, which come last, all
// intervals are shown without names and reasons.
func TestCutGenerationShowsAllIntervals(t *testing.T) {
	for _, version := range []int{22, 25, 26} {
		w := newWire(version)
		f := stk("main.main")
		w.generation(1, 1000).thread(1).runs(1001, 0, 1).ev(1010, wProcsChange, 1, f).ev(1500, wGoBlock, "select", f).
			ev(1600, wGoUnblock, 1, 1, f).ev(1700, wGoStart, 1, 2).ev(1800, wHeapAlloc, 1)
		data := w.bytes()
		events := w.gens[0].threads[0].data
		rest := data[bytes.Index(data, events)+len(events):]
		data = data[:len(data)-len(rest)+bytes.Index(rest, []byte{2, 3, 1})+1] // where the call chains begin
		fs := &facts{}
		info, err := Read(t.Context(), bytes.NewReader(data), Options{}, fs)
		wait := "coroutine" // which has no reason either
		if version == 22 {
			wait = "other"
		}
		if want := fmt.Sprintf("running 1010-1500 P0; waiting 1500-1600 %s; runnable 1600-1700 %[1]s; running 1700-1800 P0", wait); err == nil || fs.life(1) != want {
			t.Errorf("Go 1.%d: %d events, %v\n got  %s\n want %s", version, info.Events, err, fs.life(1), want)
		}
	}
}

// TestNoAllocationForEvents: the events of a real trace take less than one allocation per hundred
// events, tables included.
func TestNoAllocationForEvents(t *testing.T) {
	for _, part := range generations(t, plain(t, "../testdata/real/nethttp-parallel4.trace.zst")) {
		version, _ := parseHeader(part)
		events := 0
		wd := &decoding{ctx: t.Context(), stacks: newStackTable()}
		allocs := testing.AllocsPerRun(1, func() {
			d, _ := wd.decodeBytes(part[headerSize:], wireformat.Options{Version: version})
			if d.err != nil {
				t.Fatal(d.err)
			}
			events = d.events
			d.release()
		})
		if allocs > float64(events)/100 {
			t.Errorf("%.0f allocations for %d events", allocs, events)
		}
	}
}

// TestSameWhenCut: both decoders stop at the same event of a generation that is truncated at any
// byte. Before Go 1.26 nothing marks the end, and the Reader shows what comes before the truncated
// batch: see salvage.
func TestSameWhenCut(t *testing.T) {
	for _, version := range []int{22, 23, 25, 26} {
		for i, part := range generations(t, handMade(version)) {
			for n := headerSize + 1; n < len(part); n++ {
				if version < 26 {
					agree(t, part[:n])
					continue
				}
				want, got := bothDecode(t, part[:n])
				if what := unlike(want, got); (want.err == nil) != (got.err == nil) && want.events > 0 || what != "" {
					t.Fatalf("Go 1.%d, generation %d, %d of %d bytes: %s; %v, the Reader: %v", version, i+1, n, len(part), what, got.err, want.err)
				}
			}
		}
	}
}

// TestSameWhenDamaged: a small real trace in which one byte is changed.
func TestSameWhenDamaged(t *testing.T) {
	for _, name := range testenv.Some([]string{"compute-go1.22.12.trace", "compute-go1.25.5.trace", "mutex-go1.26.8.trace"}) {
		data := smallTrace(t, name)
		step := 31
		if race.Enabled {
			step = 197
		}
		broken := 0
		for at := headerSize; at < len(data); at += step {
			for _, flip := range []byte{1, 0x80} {
				damaged := bytes.Clone(data)
				damaged[at] ^= flip
				_, b := agree(t, damaged)
				broken += b
			}
		}
		t.Logf("%s: %d broken generations", name, broken)
	}
}

// goTestTraces returns the traces of the tests of Go's internal/trace that the running Go has.
func goTestTraces(t testing.TB) map[string][]byte {
	t.Helper()
	traces := map[string][]byte{}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "src", "internal", "trace", "testdata")
	texts, _ := filepath.Glob(filepath.Join(dir, "tests", "*.test"))
	for _, file := range texts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data, err := fromText(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		traces[filepath.Base(file)] = data
	}
	inputs, _ := filepath.Glob(filepath.Join(dir, "fuzz", "FuzzReader", "*"))
	for _, file := range inputs {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, quoted, _ := strings.Cut(string(text), "[]byte(")
		if s, err := strconv.Unquote(strings.TrimSuffix(strings.TrimSpace(quoted), ")")); err == nil {
			traces[filepath.Base(file)] = []byte(s)
		}
	}
	return traces
}

// fromText makes a trace of the text form of Go's tests: one event per line, with its arguments in
// the order of the format.
func fromText(text string) ([]byte, error) {
	_, text, ok := strings.Cut(text, "-- trace --\n")
	if !ok {
		return nil, errors.New("no trace")
	}
	types := map[string]byte{}
	for i, name := range strings.Fields(`EventBatch Stacks Stack Strings String CPUSamples CPUSample Frequency ProcsChange ProcStart ProcStop
		ProcSteal ProcStatus GoCreate GoCreateSyscall GoStart GoDestroy GoDestroySyscall GoStop GoBlock GoUnblock GoSyscallBegin GoSyscallEnd
		GoSyscallEndBlocked GoStatus STWBegin STWEnd GCActive GCBegin GCEnd GCSweepActive GCSweepBegin GCSweepEnd GCMarkAssistActive
		GCMarkAssistBegin GCMarkAssistEnd HeapAlloc HeapGoal GoLabel UserTaskBegin UserTaskEnd UserRegionBegin UserRegionEnd UserLog
		GoSwitch GoSwitchDestroy GoCreateBlocked GoStatusStack ExperimentalBatch Sync ClockSnapshot EndOfGeneration`) {
		types[name] = byte(i + 1)
	}
	var out []byte
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if version, ok := strings.CutPrefix(line, "Trace Go"); ok {
			out = fmt.Appendf(out, "go %s trace\x00\x00\x00", strings.TrimSpace(version))
			continue
		}
		if quoted, ok := strings.CutPrefix(strings.TrimSpace(line), "data="); ok {
			s, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, err
			}
			out = append(binary.AppendUvarint(out, uint64(len(s))), s...)
			continue
		}
		if !strings.Contains(fields[0], "=") {
			typ, ok := types[fields[0]]
			if !ok {
				return nil, fmt.Errorf("unknown event %s", fields[0])
			}
			out, fields = append(out, typ), fields[1:]
		}
		for _, f := range fields {
			_, number, _ := strings.Cut(f, "=")
			v, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				return nil, err
			}
			out = binary.AppendUvarint(out, v)
		}
	}
	return out, nil
}

func recordsOf(d *decoded) (all []record) {
	for k := range d.chunks {
		rs := d.chunk(k)
		all = append(all, rs...)
	}
	return all
}

// plain returns the uncompressed trace in a file.
func plain(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if filepath.Ext(file) == ".zst" {
		u, done, err := unpack(f, "zstd")
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		r = u
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
