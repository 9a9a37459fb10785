package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/bottle"
	"github.com/bottleneck-go/bottleneck/contention"
	"github.com/bottleneck-go/bottleneck/exporters/pprof"
	"github.com/bottleneck-go/bottleneck/exporters/text"
	"github.com/bottleneck-go/bottleneck/internal/format"
	"github.com/bottleneck-go/bottleneck/internal/tracewaits"
	"github.com/bottleneck-go/bottleneck/timeline"
)

// TestMutexHasTheSameNumbersEverywhere: in text, CSV, JSON, the pprof profile and the data of the
// page, and in the bottle graph of the same trace.
func TestMutexHasTheSameNumbersEverywhere(t *testing.T) {
	const trace, group = "../../testdata/real/stdlog-file.trace.zst", "main.worker"
	waits := tracewaits.NewObserver(tracewaits.Options{})
	if _, err := timeline.ReadFile(t.Context(), trace, timeline.Options{}, waits); err != nil {
		t.Fatal(err)
	}
	p := waits.Profile()
	row := p.LockTable()[0]
	if row.Lock.Class != "log.Logger" {
		t.Fatalf("the lock that costs most is %s", row.Lock)
	}
	blocked, ready := format.Duration(row.Waited), format.Duration(row.Ready)

	var b bytes.Buffer
	if err := text.WriteContention(&b, p, text.Options{}); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("\n %s  92%%   %s", blocked, ready); !strings.Contains(b.String(), want) || !strings.Contains(b.String(), "  "+row.Lock.String()+"\n") {
		t.Errorf("no %q of %s in\n%s", want, row.Lock, b.String())
	}
	b.Reset()
	if err := contention.WriteJSON(&b, p); err != nil {
		t.Fatal(err)
	}
	if again, err := contention.ReadJSON(&b); err != nil {
		t.Error(err)
	} else if r := again.LockTable()[0]; r.Lock.String() != row.Lock.String() || r.Waited != row.Waited || r.Ready != row.Ready {
		t.Errorf("JSON has %s: %v, then %v", r.Lock, r.Waited, r.Ready)
	}
	prof, err := pprof.Contention(p, pprof.Options{View: contention.JoinedView})
	if err != nil {
		t.Fatal(err)
	}
	var delay [2]int64
	for _, s := range prof.Sample {
		if s.Label["kind"][0] == string(contention.MutexKind) && s.Label["lock"][0] == row.Lock.Title() {
			delay[0] += s.Value[1]
			delay[1] += s.Value[2]
		}
	}
	if delay != [2]int64{int64(row.Waited), int64(row.Ready)} {
		t.Errorf("pprof has %v, want %v and %v", delay, row.Waited, row.Ready)
	}
	packed, err := pack(object{"contention": contentionObject(&Data{Contention: p}, newNamer())})
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Contention struct{ Profile *contention.Profile }
	}
	unpack(t, packed, &page)
	onPage := page.Contention.Profile.LockTable()[0]
	if onPage.Lock.String() != row.Lock.String() || onPage.Waited != row.Waited || onPage.Ready != row.Ready {
		t.Errorf("the page has %v, then %v of %s", onPage.Waited, onPage.Ready, onPage.Lock)
	}
	g, err := bottle.ReadFile(t.Context(), trace, bottle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, box := range g.Boxes {
		if box.Group == group && (box.Waiting["mutex"]-row.Waited).Abs() > time.Microsecond {
			t.Errorf("the box is blocked on mutex for %v, the lock for %v", box.Waiting["mutex"], row.Waited)
		}
	}
}
