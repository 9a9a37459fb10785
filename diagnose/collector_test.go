package diagnose_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bottleneck-go/bottleneck/diagnose"
	"github.com/bottleneck-go/bottleneck/ledger"
)

// The advice on the collector depends on the heap.
func TestCollectorAdviceFollowsFromTheHeap(t *testing.T) {
	const less = "llocate less (go tool pprof -sample_index=alloc_space)"
	for _, c := range []struct {
		heap *ledger.Heap
		want string
	}{
		{nil, "A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."},
		{&ledger.Heap{Collections: 1, Allocated: 3e6, Live: 1e6, Peak: 2e6}, "It ran 1 time: the program allocated 1.5 MB a second. A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."},
		{&ledger.Heap{Collections: 90, Allocated: 400e6, Live: 10e6, Peak: 12e6}, "It ran 90 times: the program allocated 200 MB a second, and the live heap of 10 MB grew by 20% until the next collection. That is little: raise GOGC or GOMEMLIMIT, or a" + less + "."},
		{&ledger.Heap{Collections: 90, Allocated: 400e6, Live: 10e6, Peak: 20e6}, "It ran 90 times: the program allocated 200 MB a second, and the live heap of 10 MB grew by 100% until the next collection. GOGC=400 would take some 30 MB more memory, and a quarter of the collections; or a" + less + "."},
		{&ledger.Heap{Collections: 9, Allocated: 8e9, Live: 1e9, Peak: 2e9}, "It ran 9 times: the program allocated 4 GB a second, and the live heap of 1 GB grew by 100% until the next collection. A" + less + ", or give it more memory (GOGC, GOMEMLIMIT)."},
	} {
		l := &ledger.Ledger{Wall: 2 * time.Second, Procs: 1, Capacity: 2 * time.Second, Heap: c.heap, Rows: []ledger.Row{
			{Category: ledger.GCWorker, Group: "GC (dedicated)", Time: time.Second, Count: 1},
			{Category: ledger.Code, Group: "main.main", Time: time.Second, Count: 1},
		}}
		f := diagnose.New(diagnose.Results{Ledger: l}).Findings[0]
		if f.Kind != diagnose.Collector || !strings.HasPrefix(f.Title, "The garbage collector took 50% of the capacity") || f.Advice != c.want {
			t.Errorf("%+v:\n got  %s\n want %s", c.heap, f.Advice, c.want)
		}
	}
}
