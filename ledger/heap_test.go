package ledger_test

import (
	"bytes"
	"context"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/ledger"
	"github.com/bottleneck-go/bottleneck/timeline"
)

var sink []byte

// The ledger of a program has the number of its collections and its allocated bytes.
func TestHeapAgreesWithTheRuntime(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	kept := make([]byte, 32<<20)
	runtime.GC()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 40_000 {
		sink = make([]byte, 8<<10)
	}
	runtime.ReadMemStats(&after)
	trace.Stop()
	runtime.KeepAlive(kept)
	o := ledger.NewObserver(ledger.Options{})
	if _, err := timeline.Read(context.Background(), &buf, timeline.Options{}, o); err != nil {
		t.Fatal(err)
	}
	h := o.Ledger().Heap
	if h == nil {
		t.Fatal("no heap")
	}
	t.Logf("%+v, growth %.2f", h, h.Growth())
	if cycles := int64(after.NumGC - before.NumGC); h.Collections < cycles-1 || h.Collections > cycles+1 {
		t.Errorf("%d collections, the runtime counted %d", h.Collections, cycles)
	}
	if want := int64(after.TotalAlloc - before.TotalAlloc); h.Allocated < want*9/10 || h.Allocated > want*11/10+1<<20 {
		t.Errorf("%d bytes allocated, the runtime counted %d", h.Allocated, want)
	}
	if h.Live < 32<<20 || h.Peak < h.Live {
		t.Errorf("%d bytes lived, the collector ended at %d", h.Live, h.Peak)
	}
}

// Sizes are counted within the ledger's time only, and not across a gap.
func TestHeapOfAWindow(t *testing.T) {
	o := ledger.NewObserver(ledger.Options{From: 10, To: 100})
	o.Begin(0, 0)
	at := func(ts timeline.Time, size uint64) {
		o.Metric(ts, "/memory/classes/heap/objects:bytes", size, false)
	}
	collect := func(ts timeline.Time, size uint64) {
		at(ts, size)
		o.Range(&timeline.Span{Time: ts, Name: "GC concurrent mark phase"})
	}
	at(1, 100)
	at(9, 150) // before the window
	at(10, 170)
	collect(20, 60)
	at(30, 90)
	o.Gap(40, 50)
	at(51, 1000)
	at(60, 1030)
	collect(70, 500)
	at(111, 5000) // after the window
	collect(115, 20)
	o.End(120)
	want := ledger.Heap{Collections: 2, Allocated: 20 + 30 + 30, Live: 280, Peak: 600}
	if h := o.Ledger().Heap; h == nil || *h != want {
		t.Errorf("%+v, want %+v", h, want)
	}
	if got := want.Rate(time.Second); got != 80 {
		t.Errorf("%g bytes a second", got)
	}
}
