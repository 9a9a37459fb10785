package timeline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/exp/trace"
)

// TestInPlaceReadsTheSame holds the events that are read in place against the
// accessors of the Reader: every record and table must be the same.
func TestInPlaceReadsTheSame(t *testing.T) {
	if _, ok := theLayout(); !ok {
		t.Fatal("the Reader's events do not look as expected: passes go by the accessors and are slower")
	}
	files, _ := filepath.Glob("../testdata/*/*.trace")
	packed, _ := filepath.Glob("../testdata/*/*.zst")
	files = append(files, packed...)
	if len(files) == 0 {
		t.Fatal("no traces in ../testdata")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := plain(t, file)
			table := newStackTable()
			decode := func(byAccessors bool) *decoded {
				rd := &readerDecoder{ctx: context.Background(), stacks: table, byAccessors: byAccessors}
				return rd.decode(func() io.Reader { return bytes.NewReader(data) })
			}
			want, got := decode(true), decode(false)
			if want.err != nil || got.err != nil {
				t.Fatalf("errors: by accessors %v, in place %v", want.err, got.err)
			}
			if w, g := recordsOf(want), recordsOf(got); !reflect.DeepEqual(w, g) {
				for i := range min(len(w), len(g)) {
					if w[i] != g[i] {
						t.Fatalf("record %d of %d: in place %+v, by accessors %+v", i, len(w), g[i], w[i])
					}
				}
				t.Fatalf("%d records in place, %d by accessors", len(g), len(w))
			}
			want.chunks, got.chunks = nil, nil
			if !reflect.DeepEqual(want, got) {
				t.Fatal("the records are the same, but the tables are not")
			}
		})
	}
}

// TestStacksAreRightWhenTheLayoutIsNot: fields of events that moved or were renumbered are noticed, the pass goes on by the
// accessors with the same result, and says so.
func TestStacksAreRightWhenTheLayoutIsNot(t *testing.T) {
	right := theLayout
	defer func() {
		theLayout = right
		mislaid.Store(nil)
	}()
	data := plain(t, oneRealTrace(t))
	pass := func() ([]string, []string) {
		lines := &allLines{}
		info := mustRead(t, data, Options{}, lines)
		return lines.of, info.Notes
	}
	want, notes := pass()
	if len(notes) > 0 {
		t.Fatalf("notes of a good layout: %q", notes)
	}
	l, _ := right()
	for field, wrong := range map[string]eventLayout{
		"args one later":        {l.table, l.g, l.p, l.m, l.typ, l.time, l.args + 8},
		"args one earlier":      {l.table, l.g, l.p, l.m, l.typ, l.time, l.args - 8},
		"G and P exchanged":     {l.table, l.p, l.g, l.m, l.typ, l.time, l.args},
		"P and M exchanged":     {l.table, l.g, l.m, l.p, l.typ, l.time, l.args},
		"time is an argument":   {l.table, l.g, l.p, l.m, l.typ, l.args, l.args},
		"the type is something": {l.table, l.g, l.p, l.m, l.args, l.time, l.args},
	} {
		t.Run(field, func(t *testing.T) {
			mislaid.Store(nil)
			theLayout = func() (eventLayout, bool) { return wrong, true }
			got, notes := pass()
			if !slices.Equal(got, want) {
				t.Errorf("%d intervals, %d with the right layout, or they differ", len(got), len(want))
			}
			if field == "the type is something" && mislaid.Load() == nil {
				return // no event looked like one that is read in place
			}
			if len(notes) != 1 || !strings.Contains(notes[0], "not laid out as expected") {
				t.Errorf("notes %q", notes)
			}
			if mislaid.Load() == nil {
				t.Error("the next pass would try again")
			}
		})
	}
	mislaid.Store(nil)
	theLayout = func() (eventLayout, bool) { return eventLayout{}, false }
	if got, notes := pass(); !slices.Equal(got, want) || len(notes) != 1 {
		t.Errorf("without a layout: %d intervals, want %d; notes %q", len(got), len(want), notes)
	}
}

// TestEveryFieldReadInPlaceIsChecked: of each type of events that is read in place, each field that is read elsewhere than it is differs.
func TestEveryFieldReadInPlaceIsChecked(t *testing.T) {
	l, ok := theLayout()
	if !ok {
		t.Fatal("the Reader's events do not look as expected")
	}
	shifted := map[string]eventLayout{
		"goroutine": {l.table, l.p, l.p, l.m, l.typ, l.time, l.args},
		"processor": {l.table, l.g, l.m, l.m, l.typ, l.time, l.args},
		"thread":    {l.table, l.g, l.p, l.g, l.typ, l.time, l.args},
		"time":      {l.table, l.g, l.p, l.m, l.typ, l.args, l.args},
		"arguments": {l.table, l.g, l.p, l.m, l.typ, l.time, l.args + 8},
	}
	const context = "goroutine processor thread time"
	chain := trace.MakeStack([]trace.StackFrame{{PC: 1, Func: "main.f", File: "x.go", Line: 1}})
	for typ, tt := range map[uint8]struct {
		from, to trace.GoState
		reads    string
	}{
		evGoStart:        {trace.GoRunnable, trace.GoRunning, context + " arguments"},
		evGoDestroy:      {trace.GoRunning, trace.GoNotExist, context},
		evGoStop:         {trace.GoRunning, trace.GoRunnable, context + " arguments"},
		evGoBlock:        {trace.GoRunning, trace.GoWaiting, context + " arguments"},
		evGoUnblock:      {trace.GoWaiting, trace.GoRunnable, context + " arguments"},
		evGoSyscallBegin: {trace.GoRunning, trace.GoSyscall, context + " arguments"},
		evGoSyscallEnd:   {trace.GoSyscall, trace.GoRunning, context},
	} {
		tr := trace.MakeGoStateTransition(11, tt.from, tt.to)
		tr.Reason = "sync"
		ev, err := trace.MakeEvent(trace.EventConfig[trace.StateTransition]{
			Kind: trace.EventStateTransition, Time: 1234, Goroutine: 12, Proc: 3, Thread: 77, Stack: chain, Details: tr,
		})
		if err != nil {
			t.Fatal(err)
		}
		if what := (&cursor{direct: inPlace{eventLayout: l}}).differs(&ev, typ); what != "" {
			t.Errorf("type %d: %s differs in an event that is as it should be", typ, what)
		}
		for field, wrong := range shifted {
			what := (&cursor{direct: inPlace{eventLayout: wrong}}).differs(&ev, typ)
			if strings.Contains(tt.reads, field) != (what != "") {
				t.Errorf("type %d with other %s: %q differs", typ, field, what)
			}
		}
		for other := range uint8(evHeapAlloc + 1) {
			if what := (&cursor{direct: inPlace{eventLayout: l}}).differs(&ev, other); other != typ && readInPlace[other] && what == "" {
				t.Errorf("an event of type %d passes for one of type %d", typ, other)
			}
		}
	}
	ev, err := trace.MakeEvent(trace.EventConfig[trace.Metric]{
		Kind: trace.EventMetric, Time: 1234, Details: trace.Metric{Name: heapMetric, Value: trace.Uint64Value(5)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for field, l := range shifted {
		what := (&cursor{direct: inPlace{eventLayout: l}}).differs(&ev, evHeapAlloc)
		if reads := field == "time" || field == "arguments"; reads != (what != "") {
			t.Errorf("heap size with other %s: %q differs", field, what)
		}
	}
}

// readInPlace are the types of events that are read in place.
var readInPlace = map[uint8]bool{
	evGoStart: true, evGoDestroy: true, evGoStop: true, evGoBlock: true, evGoUnblock: true, evGoSyscallBegin: true, evGoSyscallEnd: true, evHeapAlloc: true,
}

// allLines writes down every interval with its reason and call chain.
type allLines struct {
	Base
	of []string
}

func (a *allLines) Transition(tr *Transition) {
	a.of = append(a.of, fmt.Sprint(tr.G.ID, tr.State, tr.Start, tr.End, tr.Wait, tr.Reason, tr.Stack, tr.Proc, tr.Thread, tr.WakerStack))
}

// oneRealTrace is a small trace of a real program.
func oneRealTrace(t *testing.T) string {
	t.Helper()
	files, _ := filepath.Glob("../testdata/*/*.zst")
	var best string
	var least int64
	for _, f := range files {
		st, err := os.Stat(f)
		if err == nil && (best == "" || st.Size() < least) {
			best, least = f, st.Size()
		}
	}
	if best == "" {
		t.Fatal("no traces in ../testdata")
	}
	return best
}

func recordsOf(d *decoded) (all []record) {
	for rs := range d.all() {
		all = append(all, rs...)
	}
	return all
}

// plain returns the trace in a file, unpacked.
func plain(t *testing.T, file string) []byte {
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
