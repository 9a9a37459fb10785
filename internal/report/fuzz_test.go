package report

import (
	"bytes"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/counters/quanta"
	"github.com/bottleneck-go/bottleneck/internal/testenv"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// named puts a name into every field.
func named(name string) *Data {
	lock := &contention.Lock{ID: 1, Name: name, Class: name}
	who := contention.Party{Group: name, Stack: &contention.Stack{Frames: []contention.Frame{{Func: name, File: name, Line: 1}}}}
	return &Data{
		Title: name, Source: name, Warnings: []string{name}, Missing: map[string]string{TasksSection: name},
		Bottle:     &bottle.Graph{Wall: time.Second, GoVersion: name, Warnings: []string{name}, Boxes: []bottle.Box{{Group: name, Share: time.Second, Running: time.Second, Parallelism: 1, Waiting: map[string]time.Duration{name: 1}}}},
		Contention: &contention.Profile{Locks: []*contention.Lock{lock}, Waits: []contention.Wait{{Lock: lock, Waiter: who, Waited: 1, Unattributed: 1}}},
		Counters: &quanta.Recording{Name: name, Groups: []quanta.Group{{Name: name}}, Funcs: []string{"", name}, Goroutine: []int64{1}, Group: []int32{0}, Thread: []int64{1}, Proc: []int32{0}, Begin: []int64{0}, Duration: []int64{1},
			Ending: []quanta.Ending{quanta.Exited}, Wait: make([]timeline.Wait, 1), Func: []int32{1}, Counters: []quanta.Counter{{Name: name, Values: []int64{1}}}, Markers: []quanta.Marker{{Text: name}}, Spans: []quanta.Span{{Name: name}}},
	}
}

// tags yields the positions at which elements and comments begin and end: <[!/]?[a-zA-Z-]*. The
// page is too long for a regular expression.
func tags(page string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			i := strings.IndexByte(page, '<')
			if i < 0 {
				return
			}
			page = page[i:]
			n := 1
			if len(page) > n && (page[n] == '!' || page[n] == '/') {
				n++
			}
			for len(page) > n && (page[n] == '-' || 'a' <= page[n]|0x20 && page[n]|0x20 <= 'z') {
				n++
			}
			if !yield(page[:n]) {
				return
			}
			page = page[n:]
		}
	}
}

// hostile are names that try to be more than text.
var hostile = []string{
	`<script>window.hacked = 1</script>`, `</script><img src=x onerror="window.hacked=1">`, `"><svg onload=window.hacked=1>`, `'; window.hacked = 1; //`, "evil\u202Egnp.exe\u2066x", "a\x00b\x1b[31m", "{{policy}}", "<!--", "]]>", `\u003cscript\u003e`, "=HYPERLINK(\"x\")", strings.Repeat("long.", 2000), "", "\xff\xfe", "한국어.함수", "مرحبا.دالة",
}

// FuzzNames looks for a name that adds an element to the page.
func FuzzNames(f *testing.F) {
	testenv.BriefFuzzing(f)
	for _, name := range hostile {
		f.Add(name)
	}
	end, err := thePage()
	if err != nil {
		f.Fatal(err)
	}
	elements := func(name string) string {
		d := named(name)
		form, err := newPageData(d, false)
		if err != nil {
			f.Fatal(err)
		}
		// The picture for readers without scripts has as many lines as the name needs; its
		// own tests cover it.
		d.Bottle = nil
		var page bytes.Buffer
		page.Grow(1 << 19)
		if _, err := writePage(&page, d, form, false); err != nil {
			f.Fatal(err)
		}
		// Most of the page is always the same.
		text, ok := strings.CutSuffix(page.String(), end.tail)
		if !ok {
			f.Fatalf("%.200q changes the end of the page", name)
		}
		var out strings.Builder
		for tag := range tags(text) {
			out.WriteString(tag + "\n")
		}
		return out.String()
	}
	plain := elements("x")
	f.Fuzz(func(t *testing.T, name string) {
		if got := elements(name); got != plain {
			t.Errorf("%.200q changes the elements of the page", name)
		}
	})
}
